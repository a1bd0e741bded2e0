"""What can be told of the sources for Dart and React Native without their tools: syntax, types, and that all sides name the same functions.

Declarations of the engine's functions are compared with the C header in every language that repeats them.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import browser
import pytest
from patience import PATIENCE

from retvec_lite.version import __version__
from tools.c_archive import HEADER, ROOT

BINDINGS = ROOT / "bindings"
NATIVE = BINDINGS / "react-native"
TSC = ROOT / "node_modules" / ".bin" / "tsc"

_KINDS = {
    "i32": "int|int32_t|c_int|i32|Int|Int32",
    "u32": "uint32_t|u32|uint|Uint32",
    "size": "size_t|usize|Size|size",
    "void": "void|Void|",
}
"""Kind of a parameter or result -> what it is called in C, Rust, C# and Dart; all others are pointers."""


def kind(type_: str) -> str:
    return next((name for name, forms in _KINDS.items() if re.fullmatch(forms, type_)), "pointer")


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def declared(path: str) -> dict[str, tuple[str, ...]]:
    """The functions of the engine that a source declares: the kinds of the result and of each parameter."""
    text = read(path)
    if path.endswith(".h"):
        found = re.findall(r"^RVL_API ([\w *]*?)(rvl_\w+)\(([^;]*)\);", text, re.M)
        return {name: (c_kind(result), *map(c_kind, split(given))) for result, name, given in found}
    if path.endswith(".rs"):
        found = re.findall(r"^    fn (rvl_\w+)\((.*?)\)(?: -> (.*))?;", text, re.M)
        return {
            name: (kind(result), *(kind(one.split(": ")[1]) for one in split(given))) for name, given, result in found
        }
    if path.endswith(".cs"):
        found = re.findall(r"static extern (\w+) (rvl_\w+)\((.*?)\);", text)
        return {
            name: (cs_kind(result), *map(cs_kind, (one.rpartition(" ")[0] for one in split(given))))
            for result, name, given in found
        }
    found = re.findall(r"^@Native<(\S+) Function\((.*)\)>\(\)\nexternal \S+ (rvl_\w+)\((.*)\);", text, re.M)
    assert all(len(split(types)) == len(split(given)) for _, types, _, given in found)
    return {name: (kind(result), *map(kind, split(types))) for result, types, name, _ in found}


def split(parameters: str) -> list[str]:
    """The parameters of a declaration; commas between angle brackets are no ends."""
    return [one for one in re.split(r", (?![^<]*>(?!>))", " ".join(parameters.split())) if one]


def c_kind(parameter: str) -> str:
    return "pointer" if "*" in parameter else kind(parameter.removeprefix("const ").split()[0])


def cs_kind(type_: str) -> str:
    return "pointer" if re.search(r"out |\[\]|IntPtr", type_) else kind({"Size": "size_t"}.get(type_, type_))


@pytest.mark.parametrize("path", ["rust/src/lib.rs", "csharp/RetvecClassifier.cs", "dart/lib/retvec_lite.dart"])
def test_the_engine_is_declared_as_in_the_header(path: str) -> None:
    header, found = declared(f"engine/{HEADER}"), declared(f"bindings/{path}")
    assert header["rvl_teach_utf8"] == ("i32", "pointer", "pointer", "size", "pointer")
    assert len(header) == read(f"engine/{HEADER}").count("\nRVL_API ") and len(found) > 20
    assert found == {name: header[name] for name in found}
    used = set(re.findall(r"rvl_\w+_?\w*(?=\()", read(f"bindings/{path}")))
    assert used <= set(found)


def test_the_structs_of_dart_are_those_of_the_header() -> None:
    dart, header = read("bindings/dart/lib/retvec_lite.dart"), read(f"engine/{HEADER}")
    names = {"int32_t": "Int32", "uint32_t": "Uint32", "float": "Float", "double": "Double"}
    for struct, fields in (("Answer", "rvl_answer"), ("Part", "rvl_span")):
        (body,) = re.findall(rf"typedef struct {{([^}}]*)}} {fields};", header)
        in_c = [
            (names[type_], name)
            for type_, all_ in re.findall(r"^  (\w+) ([\w, ]+);", body, re.M)
            for name in all_.split(", ")
        ]
        (body,) = re.findall(rf"final class {struct} extends Struct {{(.*?)\n}}", dart, re.S)
        assert re.findall(r"@(\w+)\(\)\n  external \w+ (\w+);", body) == in_c


def test_dart_can_be_parsed() -> None:
    tree_sitter = pytest.importorskip(
        "tree_sitter", reason="tree-sitter is not installed: pip install tree-sitter tree-sitter-dart"
    )
    grammar = pytest.importorskip("tree_sitter_dart", reason="tree-sitter-dart is not installed")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    sources = list((BINDINGS / "dart").rglob("*.dart"))
    assert len(sources) == 2 and parser.parse(b"int a = ;").root_node.has_error
    assert not [file for file in sources if parser.parse(file.read_bytes()).root_node.has_error]


def test_all_sides_of_react_native_name_the_same_functions() -> None:
    (interface,) = re.findall(r"interface Native \{\n(.*?)\n\}", read("bindings/react-native/src/index.ts"), re.S)
    in_types = {name: given.count(":") for name, given in re.findall(r"^  (\w+)\((.*?)\): Promise", interface, re.M)}
    kotlin = (NATIVE / "android/src/main/kotlin/org/retveclite/reactnative/RetvecLiteModule.kt").read_text("utf-8")
    in_kotlin = {name: given.count(":") - 1 for name, given in re.findall(r"@ReactMethod fun (\w+)\((.*?)\)", kotlin)}
    swift = (NATIVE / "ios/RetvecLiteModule.swift").read_text("utf-8")
    in_swift = {
        name: re.findall(r"(\w+)(?: \w+)?:", given.replace("@escaping ", ""))
        for name, given in re.findall(r"@objc func (\w+)\((.*?)\) \{", swift)
    }
    bridge = (NATIVE / "ios/RetvecLiteModule.m").read_text("utf-8")
    in_bridge = {
        name: ["_", *re.findall(r"(\w+) : ", rest)]
        for name, rest in re.findall(r"RCT_EXTERN_METHOD\((\w+) : \([^)]*\)\w+ (.*)\)", bridge)
    }
    assert len(in_types) == 13 and in_types == in_kotlin
    assert in_bridge == in_swift and {name: len(names) - 2 for name, names in in_swift.items()} == in_types
    assert all(f'"{name}"' in read("bindings/react-native/src/index.ts") for name in in_types)


REACT_NATIVE = "export declare const NativeModules: Record<string, unknown>;\n"
USE = """
const react = require("react-native"), { RetvecClassifier, RetvecError } = require("./built/index.js");
const calls = [];
const fail = (code) => async () => { throw Object.assign(new Error("Too bad."), { code }); };
(async () => {
  const told = [await RetvecClassifier.open("f").catch((error) => [error instanceof RetvecError, error.code])];
  react.NativeModules.RetvecLite = {
    open: async (...given) => (calls.push(given), { id: 7, labels: ["a", "b"], metadata: "{}" }),
    predict: async (id, texts) => (calls.push([id, texts]), texts.map((label) => ({ label, probability: 1, taught: null }))),
    explain: async (...given) => (calls.push(given), []),
    memorySave: async (...given) => (calls.push(given), null),
    teach: fail("RVL_LABEL"),
  };
  const classifier = await RetvecClassifier.open("f");
  told.push(classifier.labels, (await classifier.predict("x")).label, (await classifier.predictMany(["y", "z"])).length);
  await classifier.explain("x");
  await classifier.memory.save("m");
  told.push(await classifier.teach("x", "").catch((error) => [error instanceof RetvecError, error.code, error.message]));
  console.log(JSON.stringify([told, calls]));
})();
"""


@pytest.mark.slow
@pytest.mark.skipif(browser.no_node() is not None, reason=f"{browser.no_node()}")
def test_the_types_of_react_native_are_sound_and_errors_have_their_code(tmp_path: Path) -> None:
    stub = tmp_path / "node_modules" / "react-native"
    stub.mkdir(parents=True)
    (stub / "package.json").write_text('{"name": "react-native", "main": "index.js", "types": "index.d.ts"}')
    (stub / "index.d.ts").write_text(REACT_NATIVE)
    (stub / "index.js").write_text("exports.NativeModules = {};")
    shutil.copytree(NATIVE / "src", tmp_path / "src")
    strict = ("--strict", "--noUncheckedIndexedAccess", "--noImplicitOverride", "--noPropertyAccessFromIndexSignature")
    options = (*strict, "--target", "es2022", "--module", "node16", "--outDir", "built", "--declaration", "--types", "")
    for command in ([TSC, *options, "src/index.ts"], ["node", "use.cjs"]):
        (tmp_path / "use.cjs").write_text(USE)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
    told, calls = json.loads(done.stdout)
    assert told == [[True, "NO_ENGINE"], ["a", "b"], "x", 2, [True, "RVL_LABEL", "Too bad."]]
    assert calls == [["f"], [7, ["x"]], [7, ["y", "z"]], [7, "x", None], [7, "m"]]


def test_the_version_is_that_of_python() -> None:
    places = {
        f"engine/{HEADER}": r'RVL_LIBRARY_VERSION "([^"]+)"',
        "bindings/rust/Cargo.toml": r'^version = "([^"]+)"',
        "bindings/csharp/RetvecLite.csproj": r"<Version>([^<]+)</Version>",
        "bindings/dart/pubspec.yaml": r"^version: (\S+)",
        "bindings/react-native/package.json": r'"version": "([^"]+)"',
        "bindings/react-native/android/build.gradle": r"retvec-lite:retvec-lite:([\w.]+)",
    }
    for place, form in places.items():
        assert re.findall(form, read(place), re.M) == [__version__], f"set the version in {place}"


SOURCES = {
    "Python": ("retvec_lite/classifier.py", "retvec_lite/teaching.py", "retvec_lite/api.py", "retvec_lite/errors.py"),
    "JavaScript": ("npm/src/*.ts",),
    "Kotlin, Java": ("android/retvec-lite/src/main/kotlin/org/retveclite/*.kt",),
    "Swift": ("swift/RetvecLite/*.swift",),
    "C, C++": (f"engine/{HEADER}",),
    "Go": ("bindings/go/retvec.go",),
    "Rust": ("bindings/rust/src/lib.rs",),
    "C#": ("bindings/csharp/RetvecClassifier.cs",),
    "Dart, Flutter": ("bindings/dart/lib/retvec_lite.dart",),
}
PASCAL = ("Go", "C#")
SNAKE = ("Python", "Rust")
UNLIKE = {"Python": {"predict_all": "predict", "RetvecError": "RetvecLiteError", "code": "RetvecLiteError"}}
"""What the page says in words: a language -> the name of all others -> its own."""


def table_behind(heading: str) -> list[list[str]]:
    """The rows of the first table behind a line of the page."""
    (table,) = re.findall(rf"{heading}\n.*?\n\|[-|]+\|\n(.*?)\n\n", read("docs/bindings.md"), re.S)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]


def names_in(cells: Iterable[str]) -> list[str]:
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def in_case_of(language: str, name: str) -> str:
    """A name of all languages as one of them writes it."""
    if language in SNAKE or name[0].isupper():
        return name
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    return camel[0].upper() + camel[1:] if language in PASCAL else camel


def test_the_page_has_every_language() -> None:
    assert [re.sub(r"\[(.*)\]\(.*\)", r"\1", row[0]) for row in table_behind("# In your language")] == list(SOURCES)


@pytest.mark.parametrize("language", SOURCES)
def test_the_tables_have_the_names_of_every_language(language: str) -> None:
    (own,) = [row for row in table_behind("# In your language") if row[0].startswith(f"[{language}]")]
    calls = table_behind("## Names")
    if language == "C, C++":
        shared = names_in(row[1] for row in calls)
    else:
        unlike = UNLIKE.get(language, {})
        shared = [
            unlike.get(name) or in_case_of(language, name) for row in calls for name in names_in([row[2], row[0]])
        ]
    assert len(shared) > 10
    source = "\n".join(file.read_text("utf-8") for place in SOURCES[language] for file in sorted(ROOT.glob(place)))
    code = re.sub(r"//.*|/\*(?s:.*?)\*/|(?m:^ *#.*)", "", source)
    assert not {name for name in [*names_in(own[2:5]), *shared] if not re.search(rf"\b{name}\b", code)}
