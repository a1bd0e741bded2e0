"""The engine in Go, Rust and C#: each binding is compiled as an app would, where its tools are installed, and answers as Python does.

A small program for each language, `driver.*`, does what the lines of standard input say and prints one line for each, with tabs between the
parts: `open FILE`, `predict TEXT`, `explain LABEL TEXT` and so on; `error CODE` where it fails.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from engine_cases import file_of
from patience import PATIENCE

import retvec_lite as rl
from tools.build_engine import compiler
from tools.c_archive import ROOT, go_module, rust_crate

GOLDEN = ROOT / "golden"
HERE = Path(__file__).parent
ENGINE_FLAGS = "-O2 -DRVL_DEBUG"


def run(*command: str | Path, cwd: Path, given: str = "", **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        input=given.encode(),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return done.stdout.decode()


@dataclasses.dataclass(frozen=True)
class Driver:
    """A compiled program, and how its language counts places in a text."""

    command: tuple[str | Path, ...]
    encoding: str
    unit: int = 1
    environment: tuple[tuple[str, str], ...] = ()

    def ask(self, *lines: Sequence[str | Path]) -> list[list[str]]:
        given = "".join("\t".join(map(str, line)) + "\n" for line in lines)
        told = run(*self.command, cwd=GOLDEN, given=given, **dict(self.environment)).split("\n")
        assert len(told) == len(lines) + 1, told[-3:]
        return [line.split("\t") if line else [] for line in told[:-1]]

    def place(self, text: str, start: int) -> int:
        """Where a code point of a text begins."""
        return len(text[:start].encode(self.encoding)) // self.unit


def packed_go(folder: Path) -> Path:
    """The Go module as a release has it, at its place in a checkout without anything else."""
    place = folder / "bindings" / "go"
    place.mkdir(parents=True)
    for name, text in go_module().items():
        (place / name).write_text(text, "utf-8")
    return folder


def packed_rust(folder: Path) -> Path:
    """The crate as `cargo package` packs it, unpacked at its place in a checkout without anything else."""
    source = rust_crate(folder / "crate")
    run("cargo", "package", "--offline", "--no-verify", "--quiet", "--allow-dirty", "--target-dir", folder, cwd=source)
    (packed,) = (folder / "package").glob("*.crate")
    shutil.unpack_archive(packed, folder, "gztar")
    place = folder / "bindings" / "rust"
    place.parent.mkdir()
    (folder / packed.stem).rename(place)
    return folder


def packed_csharp(folder: Path) -> Path:
    """The source of the class and the engine's."""
    for name in ("engine", "bindings/csharp"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def follow(page: Path, checkout: Path, app: Path) -> str:
    """Do what a README says in an empty folder: write its program, and run its commands. Returns what they print."""
    language, main = {"go": ("go", "main.go"), "rust": ("rust", "src/main.rs"), "csharp": ("csharp", "Main.cs")}[
        page.parent.name
    ]
    (program,) = re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.S)
    (commands,) = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S)
    (app / main).parent.mkdir(parents=True, exist_ok=True)
    (app / main).write_text(program, "utf-8")
    shutil.copy(GOLDEN / "rejecting.retvec", app / "classifier-int8.retvec")
    script = commands.replace("RETVEC=/path/to/retvec-lite", f"RETVEC='{checkout}'")
    assert script != commands
    offline = {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "CARGO_NET_OFFLINE": "true"}
    return run("sh", "-e", "-c", script, cwd=app, **offline, CFLAGS=ENGINE_FLAGS, CGO_CFLAGS=ENGINE_FLAGS)


def go(folder: Path, app: Path) -> Driver:
    shutil.copy(HERE / "driver.go", app / "main.go")
    run("go", "build", "-o", "driver", cwd=app, GOPROXY="off", CGO_CFLAGS=ENGINE_FLAGS)
    return Driver((app / "driver",), "utf-8")


def rust(folder: Path, app: Path) -> Driver:
    shutil.copy(HERE / "driver.rs", app / "src" / "main.rs")
    run("cargo", "build", "--release", "--offline", "--quiet", cwd=app)
    return Driver((app / "target" / "release" / "app",), "utf-8")


def csharp(folder: Path, app: Path) -> Driver:
    sources = (HERE / "Driver.cs", folder / "bindings" / "csharp" / "RetvecClassifier.cs")
    run("mcs", "-warnaserror", "-out:driver.exe", *sources, cwd=app)
    return Driver(("mono", app / "driver.exe"), "utf-16-le", 2, (("LD_LIBRARY_PATH", str(app / "lib")),))


def dotnet(folder: Path, app: Path) -> Driver:
    """The same driver on .NET, which the package of PyPI brings without the run bit."""
    root = Path(pytest.importorskip("dotnetcore2", reason="dotnetcore2 is not installed").__file__).parent / "bin"
    (version,) = (path.name for path in (root / "shared" / "Microsoft.NETCore.App").iterdir())
    config = {"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": version}}}
    (app / "driver.runtimeconfig.json").write_text(json.dumps(config), "utf-8")
    (root / "dotnet").chmod(0o755)
    mono = csharp(folder, app)
    command = (root / "dotnet", "exec", "--runtimeconfig", app / "driver.runtimeconfig.json", app / "driver.exe")
    return dataclasses.replace(
        mono, command=command, environment=(*mono.environment, ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"))
    )


TOOLS: dict[str, tuple[str, Callable[[Path], Path], Callable[[Path, Path], Driver]]] = {
    "go": ("go", packed_go, go),
    "rust": ("cargo", packed_rust, rust),
    "csharp": ("mcs", packed_csharp, csharp),
    "dotnet": ("mcs", packed_csharp, dotnet),
}


FOLLOWED: dict[Path, tuple[Path, Path, str]] = {}
"""README -> what `followed` made of it: two languages here share one."""


@pytest.fixture(scope="module", params=TOOLS)
def language(request: pytest.FixtureRequest) -> str:
    tool = TOOLS[request.param][0]
    if shutil.which(tool) is None or compiler() is None:
        pytest.skip(f"{tool} or a C compiler is not installed: the binding was not compiled")
    return str(request.param)


@pytest.fixture(scope="module")
def followed(language: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The package, the app that its README makes in an empty folder, and what that prints."""
    page = ROOT / "bindings" / {"dotnet": "csharp"}.get(language, language) / "README.md"
    if page not in FOLLOWED:
        folder, app = (tmp_path_factory.mktemp(f"{language}-{name}") for name in ("package", "app"))
        FOLLOWED[page] = folder, app, follow(page, TOOLS[language][1](folder), app)
    return FOLLOWED[page]


@pytest.fixture(scope="module")
def driver(language: str, followed: tuple[Path, Path, str]) -> Driver:
    return TOOLS[language][2](*followed[:2])


@pytest.mark.slow
def test_a_readme_leads_from_an_empty_folder_to_a_right_answer(followed: tuple[Path, Path, str]) -> None:
    assert followed[2].splitlines()[-1] == "alarm"


def is_line(text: str) -> bool:
    """Whether a text can be given to a driver."""
    return not re.search("[\0\t\r\n\ud800-\udfff]", text)


def lines_of(name: str) -> Iterator[tuple[str, list[float], object]]:
    """The golden texts that fit into a line, with their probabilities, and their label where that is certain."""
    golden = json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    (key,) = (key for key in golden["tolerance"] if key.startswith("engine-"))
    for case in (*golden["cases"], *golden["long"]):
        text = case["text"]
        if text is not None and is_line(text):
            yield text, case["probabilities"][key], case.get("labels", {}).get(key, ...)


def triples(parts: Sequence[str]) -> list[tuple[str, str, str]]:
    assert len(parts) % 3 == 0
    return list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "rejecting", "several"])
def test_a_binding_answers_the_golden_texts_as_python_does(driver: Driver, name: str) -> None:
    python, cases = rl.load(GOLDEN / f"{name}.retvec"), list(lines_of(name))
    texts = [text for text, *_ in cases]
    asked = [[command, text] for text in texts for command in ("probabilities", "predict", "all", "embed")]
    opened, labels, metadata, many, *told = driver.ask(
        ["open", f"{name}.retvec"], ["labels"], ["metadata"], ["many", *texts[:50]], *asked
    )
    assert opened == [] and tuple(labels) == python.labels and json.loads(metadata[0]) == python.metadata
    assert len(cases) > 100
    single = []
    for (text, golden, label), right, probabilities, first, answers, vector in zip(
        cases, python.predict(texts), *(told[at::4] for at in range(4)), strict=True
    ):
        np.testing.assert_allclose(np.array(probabilities, float), golden, atol=2e-3, err_msg=text)
        np.testing.assert_allclose(
            np.array(probabilities, float), python.probabilities(text)[0], rtol=2e-6, err_msg=text
        )
        np.testing.assert_allclose(np.array(vector, float), python.embed(text)[0], atol=1e-6, err_msg=text)
        labelled = [one for one in (right if name == "several" else right[:1]) if one.label]
        assert [answer for answer, *_ in triples(answers)] == [one.label for one in labelled], text
        np.testing.assert_allclose(
            [float(one[1]) for one in triples(answers)], [one.probability for one in labelled], rtol=2e-6
        )
        ((answer, probability, taught),) = triples([*first, *[""] * (3 - len(first))])
        assert taught == "" and (answer or None) == (right[0].label if right else None), text
        assert float(probability) == pytest.approx(
            right[0].probability if right else max(map(float, probabilities)), rel=2e-6
        )
        if isinstance(label, str | None):
            assert answer == (label or ""), text
        single += [answer, probability, taught]
    assert ("\t".join(many)).rstrip("\t") == "\t".join(single[:150]).rstrip("\t")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "rejecting", "several"])
def test_a_binding_explains_the_text_as_it_was_given(driver: Driver, name: str) -> None:
    golden = json.loads((GOLDEN / "explained.json").read_text("ascii"))
    cases = [case for case in golden["cases"] if is_line(case["text"])]
    assert len(cases) > 35
    _, *told = driver.ask(
        ["open", f"{name}.retvec"], *(["explain", case["label"] or "", case["text"]] for case in cases)
    )
    for case, found in zip(cases, told, strict=True):
        text = case["text"]
        shown = [(text[start:end], str(driver.place(text, start))) for start, end in case["spans"]]
        assert [one[:2] for one in triples(found)] == shown, text
        np.testing.assert_allclose(
            [float(one[2]) for one in triples(found)],
            case["weights"][name],
            rtol=0,
            atol=golden["tolerance"][".retvec"],
            err_msg=text,
        )


@pytest.mark.slow
def test_a_binding_is_taught_and_forgets(driver: Driver, tmp_path: Path) -> None:
    golden = json.loads((GOLDEN / "taught.json").read_text("ascii"))
    many = [f"item {number % 17} in box {number // 17}" for number in range(300)]
    for name in ("plain", "rejecting"):
        cases = golden[name]
        lessons = [["teach", label, text] for text, label in golden["lessons"]]
        saved = tmp_path / f"{name}.memory"
        told = driver.ask(
            *(["open", f"{name}.retvec"], *lessons, ["texts"], ["save", saved]),
            *(["predict", case["text"]] for case in cases),
            *(
                ["open", f"{name}.retvec"],
                ["load", "taught.memory"],
                ["texts"],
                ["forget", golden["lessons"][0][0]],
                ["texts"],
            ),
            *(["teach", "number", text] for text in many),
            *(["texts"], ["predict", many[0]], ["forget", "never taught"], ["clear"], ["texts"]),
        )
        places = iter(told[len(lessons) + 1 :])
        assert told[: len(lessons) + 1] == [[]] * (len(lessons) + 1)
        kept = [part for pair in golden["kept"] for part in pair]
        assert next(places) == kept and next(places) == []
        assert saved.read_bytes() == (GOLDEN / "taught.memory").read_bytes()
        for case in cases:
            label, _, *taught = next(places)
            assert (label or None, (taught or [None])[0] or None) == (case["label"], case["taught"]), case
        assert [next(places) for _ in range(5)] == [[], [], kept, [], kept[2:]]
        assert [next(places) for _ in many] == [[]] * 300
        assert next(places) == [*kept[2:], *(part for text in many for part in (text, "number"))], "the block grew"
        label, _, taught = next(places)
        assert (label, taught) == ("number", many[0])
        assert list(places) == [["error", "RVL_NOT_TAUGHT"], [], []]


@pytest.mark.slow
def test_a_binding_names_each_problem_as_the_engine_does(driver: Driver, tmp_path: Path) -> None:
    content = (GOLDEN / "plain.retvec").read_bytes()
    damaged = {
        "RVL_NOT_RETVEC": b"x" * 1000,
        "RVL_TRUNCATED": content[:-64],
        "RVL_CHANGED": content[:-1] + bytes([content[-1] ^ 1]),
        "RVL_VERSION": content[:8] + b"\x09" + content[9:],
    }
    for code, file in damaged.items():
        (tmp_path / code).write_bytes(file)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "ngrams").write_bytes(file_of("ngrams"))
    told = driver.ask(
        *(["open", tmp_path / code] for code in damaged),
        *(["open", tmp_path / "empty"], ["open", tmp_path / "nowhere"], ["open", "several.retvec"]),
        *(["teach", "a", "some text"], ["open", "plain.retvec"], ["teach", "", "some text"], ["teach", "a", "<b></b>"]),
        *(
            ["clear"],
            ["load", tmp_path / "empty"],
            ["explain", "no such label", "text"],
            ["texts"],
            ["close"],
            ["close"],
        ),
        *(["predict", "text"], ["open", tmp_path / "ngrams"], ["embed", "text"]),
    )
    errors = [line[1] if line[:1] == ["error"] else None for line in told]
    assert errors == [
        *damaged, "RVL_NOT_RETVEC", "CANNOT_LOAD", None, "RVL_UNTEACHABLE", None, "RVL_LABEL", "RVL_NO_TEXT", None, "RVL_NOT_A_MEMORY",
        "WRONG_CALL", None, None, None, "CLOSED", None, "WRONG_CALL",
    ]  # fmt: skip


@pytest.mark.slow
def test_threads_may_share_a_classifier(language: str, driver: Driver) -> None:
    if language == "rust":
        pytest.skip("the compiler of Rust forbids it")
    # The engine is a debug build, which ends the program where two threads are in it.
    _, told = driver.ask(["open", "rejecting.retvec"], ["threads", "wake me up at six"])
    assert told == ([f"[{' '.join(['true'] * 8)}]"] if language == "go" else [" ".join(["True"] * 8)])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None or compiler() is None, reason="go or a C compiler is not installed")
def test_the_go_module_of_a_checkout_finds_the_engine(tmp_path: Path) -> None:
    for name in ("engine", "bindings/go"):
        shutil.copytree(ROOT / name, tmp_path / name)
    run("go", "vet", ".", cwd=tmp_path / "bindings" / "go", GOPROXY="off")
    assert follow(ROOT / "bindings" / "go" / "README.md", tmp_path, tmp_path / "app").splitlines()[-1] == "alarm"
