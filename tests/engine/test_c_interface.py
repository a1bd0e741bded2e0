"""The header alone is enough: it compiles everywhere, says what the library has, and installs for pkg-config and CMake."""

import ctypes
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_calls import Calls
from patience import PATIENCE

from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine
from retvec_lite.version import __version__
from tools.build_engine import SOURCE
from tools.c_archive import HEADER, ROOT, write

ENGINE = SOURCE.parent
FILE = ROOT / "golden" / "rejecting.retvec"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

needs = pytest.mark.skipif


def run(*command: str | Path, cwd: Path | None = None, succeeds: bool = True) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode == 0) is succeeds, done.stderr
    return done.stdout if succeeds else done.stderr


def header() -> str:
    return (ENGINE / HEADER).read_text("utf-8")


@needs(shutil.which("gcc") is None or shutil.which("g++") is None, reason="gcc or g++ is not installed")
@pytest.mark.parametrize("standard", ["c99", "c17", "c++11", "c++17"])
def test_the_header_compiles_alone_without_a_warning(standard: str, tmp_path: Path) -> None:
    is_c = not standard.startswith("c++")
    source = tmp_path / ("use.c" if is_c else "use.cpp")
    source.write_text(
        f'#include "{HEADER}"\nint main() {{ return rvl_library_version() == 0; }}\n'.replace("()", "(void)", 1)
    )
    run("gcc" if is_c else "g++", f"-std={standard}", *STRICT, f"-I{ENGINE}", "-c", source, "-o", tmp_path / "use.o")


@needs(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("options", [(), ("-DRVL_DEBUG",), ("-DRVL_PLAIN_ONLY",), ("-DRVL_FREESTANDING",)])
def test_the_engine_compiles_as_c99_without_a_warning(options: Sequence[str]) -> None:
    run("gcc", "-std=c99", "-fsyntax-only", *STRICT, *options, SOURCE)


def test_the_library_has_the_functions_of_the_header_and_no_others(library: Path) -> None:
    declared = re.findall(r"^RVL_API .*?(rvl_\w+)\(", header(), re.M)
    assert len(declared) == len(set(declared)) > 35
    loaded = ctypes.CDLL(str(library))
    assert all(hasattr(loaded, name) for name in declared)
    if shutil.which("nm"):
        exported = re.findall(r" T (\w+)", run("nm", "-D", "--defined-only", library))
        assert sorted(exported) == sorted(declared)


def test_problems_have_the_names_and_numbers_of_the_header(library: Path) -> None:
    loaded = ctypes.CDLL(str(library))
    for name in ("rvl_code", "rvl_message", "rvl_library_version"):
        getattr(loaded, name).restype = ctypes.c_char_p
    (listed,) = re.findall(r"enum \{\n  RVL_OK = 0,(.*?)\};", header(), re.S)
    names = ["RVL_OK", *re.findall(r"^  (RVL_\w+)", listed, re.M)]
    assert [loaded.rvl_code(number).decode() for number in range(len(names))] == names
    assert len({loaded.rvl_message(number) for number in range(len(names))}) == len(names)
    assert loaded.rvl_code(len(names)) == loaded.rvl_code(-1) == b"RVL_UNKNOWN"
    assert loaded.rvl_library_version().decode() == __version__


def test_a_file_tells_what_it_says_of_itself(library: Path) -> None:
    artifact = read_artifact(FILE)
    loaded, engine = ctypes.CDLL(str(library)), NativeEngine(artifact, library)
    loaded.rvl_metadata.restype, size = ctypes.c_void_p, ctypes.c_size_t()
    start = loaded.rvl_metadata(engine._engine, ctypes.byref(size))
    assert json.loads(ctypes.string_at(start, size.value)) == artifact.metadata
    assert Calls(library, engine).explain(b"") == []


@pytest.mark.parametrize("name", ["plain", "rejecting", "several"])
def test_spans_are_those_of_the_text_as_it_was_given(library: Path, name: str) -> None:
    golden, artifact = (
        json.loads((ROOT / "golden" / "explained.json").read_text("ascii")),
        read_artifact(FILE.with_stem(name)),
    )
    calls, tolerance = Calls(library, NativeEngine(artifact, library)), golden["tolerance"][".retvec"]
    for case in golden["cases"]:
        text, label = case["text"], -1 if case["label"] is None else artifact.labels.index(case["label"])
        bytes_before = [len(text[:place].encode()) for place in range(len(text) + 1)]
        for given, places in ((text, range(len(text) + 1)), (text.encode(), bytes_before)):
            found = calls.explain(given, label)
            assert [span[:2] for span in found] == [(places[start], places[end]) for start, end in case["spans"]], given
            assert [span[2] for span in found] == pytest.approx(case["weights"][name], rel=0, abs=tolerance), given


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "retvec_lite.h"

static uint64_t file[1 << 17];
static long turns;
static const char *text = "wake me up at six and play some jazz on the way";

static void *answer(void *engine) {
  rvl_answer found;
  for (long turn = 0; turn < turns; turn++) rvl_classify_utf8((rvl *)engine, text, strlen(text), &found, 1);
  return NULL;
}

int main(int count, char **arguments) {
  rvl *engines[2];
  pthread_t threads[2];
  FILE *source = fopen(arguments[1], "rb");
  turns = atol(arguments[2]);
  size_t size = fread(file, 1, sizeof file, source), bytes;
  rvl_block_size(file, size, 0, &bytes);
  for (int n = 0; n < 2; n++)
    if (rvl_open(file, size, 0, malloc(bytes), bytes, engines + n)) return 2;
  for (int n = 0; n < 2; n++) pthread_create(threads + n, NULL, answer, engines[count > 3 ? 0 : n]);
  for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
  return 0;
}
"""


@needs(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.slow
def test_a_debug_build_catches_an_engine_that_two_threads_use(tmp_path: Path) -> None:
    (tmp_path / "threads.c").write_text(THREADS)
    command = ("gcc", "-std=gnu99", "-O1", "-ffp-contract=off", "-DRVL_DEBUG", f"-I{ENGINE}", "threads.c", SOURCE)
    run(*command, "-pthread", "-o", "threads", cwd=tmp_path)
    # Threads that share an engine meet at once, so they may try for very long.
    for turns, shared in (("300", ()), ("100000000", ("shared",))):
        told = run(tmp_path / "threads", FILE, turns, *shared, succeeds=not shared)
        assert ("two threads use one engine at the same time" in told) is bool(shared)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The archive as another project unpacks it, a folder with the program of docs/engine.md, and the commands there."""
    place, app = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("app")
    with zipfile.ZipFile(write(place)) as archive:
        archive.extractall(place / "engine")
    text = (ROOT / "docs" / "engine.md").read_text("utf-8")
    (program,) = re.findall(r"```c\n(#include.*?)```", text, re.S)
    (commands,) = re.findall(r"```sh\n(RETVEC=.*?)```", text, re.S)
    (app / "main.c").write_text(program)
    shutil.copy(FILE, app / "classifier-int8.retvec")
    return place / "engine", app, commands.replace("/path/to/retvec-lite", f"'{place}'")


@needs(shutil.which("cc") is None or shutil.which("c++") is None, reason="a C or C++ compiler is not installed")
@pytest.mark.slow
def test_the_page_leads_from_an_empty_folder_to_a_right_answer(page: tuple[Path, Path, str]) -> None:
    _, app, commands = page
    assert run("sh", "-e", "-c", commands, cwd=app) == "alarm\n"
    assert run("sh", "-e", "-c", commands.replace("cc -I", f"c++ -x c++ -std=c++17 {' '.join(STRICT)} -I").replace(
        "main.c retvec_lite.o", "main.c -x none retvec_lite.o"), cwd=app) == "alarm\n"  # fmt: skip
    (app / "classifier-int8.retvec").write_bytes(b"")
    assert "not a .retvec file" in run(app / "main", cwd=app, succeeds=False)
    shutil.copy(FILE, app / "classifier-int8.retvec")


@needs(any(shutil.which(tool) is None for tool in ("make", "cc", "c++")), reason="make or a compiler is not installed")
@pytest.mark.slow
def test_make_install_serves_pkg_config_and_cmake(page: tuple[Path, Path, str], tmp_path: Path) -> None:
    engine, app, _ = page
    prefix, stage = tmp_path / "prefix", tmp_path / "stage"
    run("make", "-C", engine, "install", f"PREFIX={prefix}")
    run("make", "-C", engine, "install", "PREFIX=/usr", f"DESTDIR={stage}", "LIBDIR=/usr/lib/multiarch")
    names = {"include/retvec_lite.h", "lib/libretvec_lite.a", "lib/pkgconfig/retvec-lite.pc"}
    names |= {f"lib/cmake/retvec-lite/retvec-lite-config{suffix}.cmake" for suffix in ("", "-version")}
    assert names < {file.relative_to(prefix).as_posix() for file in prefix.rglob("*")}
    moved = {file.relative_to(stage / "usr").as_posix() for file in stage.rglob("*")}
    assert {name.replace("lib/", "lib/multiarch/") for name in names} < moved
    assert str(tmp_path) not in (stage / "usr/lib/multiarch/pkgconfig/retvec-lite.pc").read_text()
    if shutil.which("pkg-config"):
        command = f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig pkg-config"
        assert run("sh", "-c", f"{command} --modversion retvec-lite").strip() == __version__
        run("sh", "-c", f"cc main.c $({command} --cflags --libs retvec-lite) -o shared", cwd=app)
        assert (
            run("sh", "-c", f"LD_LIBRARY_PATH={prefix}/lib DYLD_LIBRARY_PATH={prefix}/lib ./shared", cwd=app)
            == "alarm\n"
        )
    if shutil.which("cmake"):
        lists = "cmake_minimum_required(VERSION 3.10)\nproject(app CXX)\nfind_package(retvec-lite 0.1 REQUIRED)\n"
        shutil.copy(app / "main.c", tmp_path / "main.cpp")
        lists += "add_executable(app main.cpp)\ntarget_link_libraries(app retvec-lite::retvec-lite)\n"
        (tmp_path / "CMakeLists.txt").write_text(lists)
        run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", tmp_path / "build")
        assert run(tmp_path / "build" / "app", cwd=app) == "alarm\n"
        (tmp_path / "CMakeLists.txt").write_text(lists.replace("0.1 REQUIRED", "9.0 REQUIRED"))
        told = run("cmake", "-S", tmp_path, "-B", tmp_path / "new", f"-DCMAKE_PREFIX_PATH={prefix}", succeeds=False)
        assert __version__ in told
