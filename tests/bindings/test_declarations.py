"""What can be told of the bindings without their tools: they declare the engine's functions as the C header does, and share names and version."""

import re
from collections.abc import Iterable

import pytest

from retvec_lite.version import __version__
from tools.c_archive import HEADER, ROOT

_KINDS = {"i32": "int|int32_t|c_int|i32", "u32": "uint32_t|u32|uint", "size": "size_t|usize|Size", "void": "void|"}
"""Kind of a parameter or result -> what it is called in C, Rust and C#; all others are pointers."""


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
    found = re.findall(r"static extern (\w+) (rvl_\w+)\((.*?)\);", text)
    return {
        name: (cs_kind(result), *map(cs_kind, (one.rpartition(" ")[0] for one in split(given))))
        for result, name, given in found
    }


def split(parameters: str) -> list[str]:
    return [one for one in " ".join(parameters.split()).split(", ") if one]


def c_kind(parameter: str) -> str:
    return "pointer" if "*" in parameter else kind(parameter.removeprefix("const ").split()[0])


def cs_kind(type_: str) -> str:
    return "pointer" if re.search(r"out |\[\]|IntPtr", type_) else kind({"Size": "size_t"}.get(type_, type_))


@pytest.mark.parametrize("path", ["rust/src/lib.rs", "csharp/RetvecClassifier.cs"])
def test_the_engine_is_declared_as_in_the_header(path: str) -> None:
    header, found = declared(f"engine/{HEADER}"), declared(f"bindings/{path}")
    assert header["rvl_teach_utf8"] == ("i32", "pointer", "pointer", "size", "pointer")
    assert len(header) == read(f"engine/{HEADER}").count("\nRVL_API ") and len(found) > 20
    assert found == {name: header[name] for name in found}
    used = set(re.findall(r"rvl_\w+_?\w*(?=\()", read(f"bindings/{path}")))
    assert used <= set(found)


def test_the_version_is_that_of_python() -> None:
    places = {
        f"engine/{HEADER}": r'RVL_LIBRARY_VERSION "([^"]+)"',
        "bindings/rust/Cargo.toml": r'^version = "([^"]+)"',
        "bindings/csharp/RetvecLite.csproj": r"<Version>([^<]+)</Version>",
    }
    for place, form in places.items():
        assert re.findall(form, read(place), re.M) == [__version__], f"set the version in {place}"


SOURCES = {
    "Python": ("retvec_lite/classifier.py", "retvec_lite/api.py", "retvec_lite/errors.py"),
    "JavaScript": ("npm/src/*.ts",),
    "Kotlin, Java": ("android/retvec-lite/src/main/kotlin/org/retveclite/*.kt",),
    "Swift": ("swift/RetvecLite/*.swift",),
    "C, C++": (f"engine/{HEADER}",),
    "Go": ("bindings/go/retvec.go",),
    "Rust": ("bindings/rust/src/lib.rs",),
    "C#": ("bindings/csharp/RetvecClassifier.cs",),
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
    unlike, shared = UNLIKE.get(language, {}), names_in(row[1] for row in calls)
    if language != "C, C++":
        shared = [
            unlike.get(name) or in_case_of(language, name) for row in calls for name in names_in([row[2], row[0]])
        ]
    assert len(shared) > 10
    files = [file for place in SOURCES[language] for file in (sorted(ROOT.glob(place)) or [ROOT / place])]
    source = "\n".join(file.read_text("utf-8") for file in files)
    code = re.sub(r"//.*|/\*(?s:.*?)\*/|(?m:^ *#.*)", "", source)
    assert not {name for name in [*names_in(own[2:5]), *shared] if not re.search(rf"\b{name}\b", code)}
