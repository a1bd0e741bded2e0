# Everything of this project in one word each: `make help`. Needs Python 3.10 to 3.13 (3.11 on Linux runs every check,
# the old runtime included) and make; the rest is installed into .venv from requirements.lock.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.10 python3.12 python3.13 python3,$(if $(shell command -v $(name)),$(name))))
VENV ?= .venv
OUT ?= out/demo
PYTEST_ARGS ?=

# Linux and macOS; the Windows jobs call pytest directly.
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RETVEC := $(BIN)/retvec-lite
# What `npm ci` writes last.
NODE_MODULES := node_modules/.package-lock.json
PACKAGES := setup.py retvec_lite converters tests web_demo/scripts examples tools

# A slow network is no reason to fail.
export UV_HTTP_TIMEOUT ?= 300

.DEFAULT_GOAL := help
.PHONY: attack c-archive help install install-lab engines demo docs test test-all test-fast test-android android-model web typed lint lab format lock clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

install: $(STAMP)  ## the locked environment in .venv

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14) and "Expected Python 3.10 to 3.13, received " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

# uv is faster; pip also knows registries that only its own configuration names. Both compile bytecode here: where Python is told
# to write none (PYTHONDONTWRITEBYTECODE), every process would compile TensorFlow anew, for five seconds.
$(STAMP): requirements.lock installer.lock pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement installer.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --requirements requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(RETVEC) --version
	@touch $@

engines: $(VENV)/.engines  ## Ray, Spark and Dask as well, for the tests that run them (Spark needs Java 17)

$(VENV)/.engines: examples/scale/requirements.lock $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirements examples/scale/requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement examples/scale/requirements.lock
	@touch $@

install-lab: $(VENV)/.lab  ## what makes files and tables, in .venv as well: `python -m makers...`, `python -m benchmarks...`

$(VENV)/.lab: lab/requirements.lock lab/pyproject.toml $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirements lab/requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement lab/requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable lab
	@touch $@

demo: $(STAMP)  ## train on the starter data, export, verify on every runtime, classify: all in out/demo
	$(BIN)/python examples/demo.py $(OUT)

# Two processes, of one thread each; each file's tests stay together, so that they share what they built.
test test-all test-fast: export OPENBLAS_NUM_THREADS = 1
test: $(STAMP) | $(NODE_MODULES)  ## the tests: nine minutes on two idle cores
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not exhaustive" $(PYTEST_ARGS)

test-all: $(STAMP) $(VENV)/.engines | $(NODE_MODULES)  ## every test, the exhaustive ones too: before a release, and nightly
	$(BIN)/python -m pytest -n 2 --dist loadfile --hypothesis-profile explore $(PYTEST_ARGS)

test-fast: $(STAMP)  ## the tests that take seconds
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not exhaustive" $(PYTEST_ARGS)

test-android: $(STAMP)  ## the Android libraries and app: every source compiled, every test that needs no device
	@if command -v java >/dev/null && command -v mvn >/dev/null; then \
		$(BIN)/python -m tools.build_ports jvm && cd android && mvn --batch-mode --quiet test; \
	else echo "Skipped the Android tests: Java 17 and Maven are not installed." >&2; fi

test-swift: $(STAMP)  ## the Swift package, on stand-ins for Core ML and CryptoKit; root on Debian needs nothing, and others swift
	@swift/Linux/test.sh $(BIN)/python

.PHONY: android release-check test-swift
android: $(STAMP)  ## the libraries for Android and other JVMs, as a Maven repository in dist/maven (needs Java 17 and Maven)
	for port in android jar jvm; do $(BIN)/python -m tools.build_ports $$port || exit; done
	cd android && mvn --batch-mode --quiet deploy

release-check: $(STAMP) | $(NODE_MODULES)  ## all that a release publishes, in dist/ with checksums and sizes; nothing is sent
	rm -rf dist && mkdir dist
	$(BIN)/python -m tools.build_wheels --out dist
	npm pack --silent --workspace npm --pack-destination dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./models
	npm pack --silent ./models --pack-destination dist
	$(BIN)/python -m tools.c_archive
	$(BIN)/python -m tools.native_archive
	$(BIN)/python -m tools.ready_archive
	$(MAKE) --no-print-directory android
	$(BIN)/python -m tools.release

android-model: $(STAMP)  ## train the starter model and put it into the Android app
	rm -rf out/android
	$(RETVEC) train starter --head pool --ngram-kb 0 --out out/android/classifier
	$(RETVEC) export out/android/classifier --out out/android/dist --recipe int8 --embed --android android_demo --force

# The built page is in git, so that users need no Node.js: this is for who changes it.
web: $(STAMP)  ## build the playground into retvec_lite/web (needs Node.js 20.19 or newer)
	npm ci && PYTHON="$(CURDIR)/$(BIN)/python" npm run build --workspaces && npm run lint --workspaces

# npm 10 may end with 0 and leave half of the folder behind where it reaches no registry.
$(NODE_MODULES): package-lock.json
	@if ! command -v npm >/dev/null; then echo "Node.js is not installed: the tests of the playground will be skipped." >&2; \
	else rm -f $@; npm ci --no-audit --no-fund && test -e $@ || { rm -rf node_modules; \
		echo "npm cannot fetch the page's packages: the tests of the playground will be skipped." >&2; }; fi

# mypy and import-linter follow no import hook, which is how an editable installation finds converters/ as
# retvec_lite.converters: they get the tree as it will be installed, made of links.
typed:
	@rm -rf build/typed && mkdir -p build/typed/retvec_lite
	@for entry in retvec_lite/*; do ln -s "$(CURDIR)/$$entry" build/typed/retvec_lite/; done
	@ln -s "$(CURDIR)/converters" build/typed/retvec_lite/converters

lint: $(STAMP) typed  ## ruff, mypy and import-linter, nothing changed; then whether the project stays below its ceilings
	$(BIN)/ruff check $(PACKAGES)
	$(BIN)/ruff format --check $(PACKAGES)
	MYPYPATH=build/typed $(BIN)/mypy --package retvec_lite
	cd build/typed && "$(CURDIR)/$(BIN)/lint-imports" --no-logo --no-cache --config ../../pyproject.toml
	@$(BIN)/python -m tools.house

lab: $(VENV)/.lab typed  ## lint and test what makes files and tables: five minutes on two idle cores
	$(BIN)/ruff check lab
	$(BIN)/ruff format --check lab
	cd lab && MYPYPATH=../build/typed "$(CURDIR)/$(BIN)/mypy" --package makers
	cd lab && "$(CURDIR)/$(BIN)/python" -m pytest -n 2 --dist loadfile -m "not exhaustive" $(PYTEST_ARGS)

format: $(STAMP)  ## let ruff put the code in order
	$(BIN)/ruff check --fix $(PACKAGES) lab
	$(BIN)/ruff format $(PACKAGES) lab

docs: $(STAMP)  ## build the documentation site into site/, with every link checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

attack: $(STAMP)  ## 43,000 mutated and hostile files against their readers: an hour at most
	$(BIN)/python -m tools.fuzz
	$(BIN)/python -m tools.fuzz_engine
	$(BIN)/python -m tools.hostile

# Paths count from here.
.PHONY: micro
micro:  ## the engine on a microcontroller in QEMU: BOARD=microbit TEXTS=texts.txt MODEL=classifier.retvec
	@$(MAKE) --no-print-directory -C engine/micro run OUT=$(CURDIR)/build/micro TEXTS=$(abspath $(TEXTS)) \
		MODEL=$(abspath $(if $(MODEL),$(MODEL),golden/plain.retvec))

c-archive: $(STAMP)  ## the C engine as an archive of two sources, and the Go module with them, in dist/
	$(BIN)/python -m tools.c_archive

lock: | $(BIN)/python  ## pin what pyproject.toml allows; `make lock LOCK_ARGS=--upgrade` for newer releases
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement installer.lock
	echo 'uv>=0.13,<0.14' | $(BIN)/uv pip compile - --universal --python-version 3.10 --generate-hashes --no-annotate \
		--no-emit-index-url --custom-compile-command "make lock" --quiet $(LOCK_ARGS) --output-file installer.lock
	# 1.3.1 says that it does not run on Python 3.11 and later, which uv ignores and pip does not.
	echo 'backports-strenum<1.3' | $(BIN)/uv pip compile pyproject.toml --constraints - --universal --python-version 3.10 --all-extras --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --quiet $(LOCK_ARGS) --output-file requirements.lock
	$(BIN)/uv pip compile lab/pyproject.toml --constraints requirements.lock --universal --python-version 3.10 --generate-hashes --no-annotate \
		--no-emit-package retvec-lite --no-emit-index-url --custom-compile-command "make lock" --quiet $(LOCK_ARGS) --output-file lab/requirements.lock
	$(BIN)/uv pip compile examples/scale/requirements.in --constraints requirements.lock --universal --python-version 3.10 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --quiet $(LOCK_ARGS) --output-file examples/scale/requirements.lock

clean:  ## remove what was built or measured; .venv stays
	rm -rf build dist out site *.egg-info android/*/target android/*/build android_demo/target android_demo/build android_demo/app/build android_demo/.gradle
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find retvec_lite converters tests lab -name __pycache__ -type d -prune -exec rm -rf {} +
