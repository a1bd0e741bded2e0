"""What is read of a text (rule 0 of the contract): the engine's rule, from code points and from UTF-8, against the one in Python."""

import random
import sys
import unicodedata
from collections.abc import Iterable
from operator import mul
from pathlib import Path

import pytest
from engine_calls import Calls
from engine_cases import CASES, engine_of, file_of
from engine_program import MARKUP
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retvec_lite.condensing import ENTITIES, INLINE, condense
from retvec_lite.contract import SEPARATING
from retvec_lite.converters.parity.golden_texts import golden_texts, long_texts
from retvec_lite.kinds import CODE_LETTERS, DIGITS, FROM_RIGHT, MARKS, OPTIONAL, SCRIPTS, SIGNS
from retvec_lite.normal_form import IGNORED, Ranges
from retvec_lite.windows import read_limit, read_text

CONFIG = CASES["pool"].encoder
LIMIT = read_limit(CONFIG)

SHAPES = (
    *("<a =====", "<", "<!--", "[", "[a", "](a](a", "](", "&", "&#1", "&lt", "%", "%C3", "%C3%C3", "\\u00", "\\ud83d"),
    *(
        "*",
        "*a ",
        "a* ",
        "~~",
        "**a",
        "7",
        "7777777777777777a",
        "\u0301",
        "\u0323\u0301",
        "a\u05b0\u05b1",
        "\u1ea1\u0308",
    ),
    *(
        "\U0001d17b\U0001d185",
        "\U00011366\U0001134d",
        "\u1100\u1161\u11a8",
        "\U0002f800",
        "\u200b",
        "a\u200b",
        " ",
        "\0",
    ),
    *(
        "a\b",
        "\b",
        "\u202e",
        "\u202ea",
        "\u202ea\u202c",
        "\u202e\u2066a",
        "\u2066\u2069",
        "\u202eא\u05b0 a",
        "\u202e\n",
        "\u2069",
        "\u202c",
    ),
    *(1000 * "a" + 1000 * "\b", 60 * "\u202ea\u2066" + 120 * "\u2069", " *a", "'*a"),
    *("!?", ". ", "x", "a.", "a ", "a  b ", "1 ", "<b>x</b>", "&amp;", "%20", "word "),
)
"""Repeated very often, what might take long: markup that never ends, and what leaves nothing."""


@pytest.fixture(scope="module")
def calls(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return Calls(library, engine_of(file_of("pool"), tmp_path_factory.mktemp("file"), library))


def assert_as_python_reads_it(calls: Calls, text: str) -> None:
    right = condense(text, LIMIT)
    assert calls.condense(text) == right == calls.condense_by(text, (0, CONFIG.max_chars))
    if not any(unicodedata.category(char) == "Cs" for char in text):
        assert calls.condense(text.encode()) == right


DIRECTIONS = tuple("\u202a\u202b\u202c\u202d\u202e\u202e\u202e\u2066\u2067\u2068\u2069")


def edges(ranges: Ranges) -> list[str]:
    """The first and last code points of ranges, and those beside them."""
    found = {code + step for pair in ranges for code in pair for step in (-1, 0, 1)}
    return [chr(code) for code in sorted(found) if not 0xD800 <= code <= 0xDFFF and 0 <= code <= 0x10FFFF]


def pieces() -> st.SearchStrategy[str]:
    """What the rules name, whole and in parts, and what lies beside it."""
    markup = [piece for pool in MARKUP for piece in pool]
    names = st.sampled_from([*ENTITIES, *INLINE, "p", "div", "h1", "x" * 16, "y" * 17])
    tags = st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["<", "</"]),
        names,
        st.sampled_from(["", " ", "/", " a=b", " c"]),
        st.sampled_from([">", ""]),
    )
    entities = st.builds("&{};".format, names)
    numbers = st.builds("&#{};".format, st.integers(0, 0x110000)) | st.builds(
        "&#x{:X};".format, st.integers(0, 0x110000)
    )
    escaped = st.characters().map(
        lambda char: "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    )
    units = st.integers(0, 0xFFFF).map("\\u{:04X}".format)
    repeated = st.builds(mul, st.sampled_from([*"aAАαԱ1٣〇①我!★😀xi", "1A", "1a", "★ ", "٣1"]), st.integers(1, 24))
    mixed = st.text("аОoOоуyykкmέαaνoվսuшzë", min_size=2, max_size=9)
    optional = st.sampled_from([*"اסܐ\u0654ـ", *edges(OPTIONAL)])
    letters = st.sampled_from(
        [
            *"abé1٣дאกक가我ßẞ",
            *edges(DIGITS),
            *edges(CODE_LETTERS),
            *edges(SIGNS),
            *edges(SCRIPTS),
            *edges(IGNORED),
            *edges(MARKS),
        ]
    )
    marks = st.sampled_from(
        [chr(code) for first, last in MARKS for code in (first, last)] + ["\u0301", "\u0323", "\u0336", "\u20dd"]
    )
    blanks = st.sampled_from(sorted(map(chr, SEPARATING)))
    display = st.sampled_from(
        [
            *"\b\x7f\u202a\u202b\u202c\u202c\u202d\u202e\u202e\u202e\u2066\u2067\u2068\u2069\u2069\nאم",
            *edges(FROM_RIGHT),
        ]
    )
    return st.one_of(
        st.sampled_from(markup),
        tags,
        entities,
        numbers,
        escaped,
        units,
        letters,
        letters,
        repeated,
        repeated,
        mixed,
        optional,
        display,
        display,
        marks,
        blanks,
        st.text(max_size=3),
    )


def texts() -> st.SearchStrategy[str]:
    """Few pieces over and over, so that they meet: in runs, in turn, with gaps between single letters."""
    chosen = st.lists(pieces(), min_size=1, max_size=8)
    runs = chosen.flatmap(
        lambda some: st.lists(
            st.tuples(st.sampled_from(some), st.sampled_from([1, 1, 1, 2, 3, 9, 17, 40])), max_size=40
        )
    )
    spread = st.lists(
        st.tuples(st.sampled_from("abcdeé19🇫🇷"), st.sampled_from([" ", "-", " - ", "  ", ".", "... ", "🙂"])),
        max_size=20,
    )
    return st.one_of(
        runs.map(lambda some: "".join(piece * count for piece, count in some)),
        spread.map(lambda some: "".join(letter + gap for letter, gap in some)),
        st.lists(pieces(), max_size=30).map("".join),
    )


def is_known(text: str) -> bool:
    """Whether this Python knows all code points, as the engine's tables do."""
    return not any(unicodedata.category(char) == "Cn" for char in text)


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts().filter(is_known))
@example("\u0485\u0486abc")
@example("a! ? . b!?!? c")
def test_any_text(calls: Calls, text: str) -> None:
    assert_as_python_reads_it(calls, text)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.sampled_from(
            ["a", "b ", "c!", "ד", "ه ", "क\u093f", 300 * "x", 99 * "y ו", "\b", "\b\b", 300 * "\b", *DIRECTIONS]
        ),
        max_size=90,
    )
)
def test_what_is_displayed(calls: Calls, parts: list[str]) -> None:
    """Longer than a line that is held, deeper than can be."""
    assert_as_python_reads_it(calls, "".join(parts))
    assert_as_python_reads_it(calls, "".join(part * 70 if part in DIRECTIONS else part for part in parts))


def test_golden_texts(calls: Calls) -> None:
    texts = [golden.text for golden in golden_texts(CONFIG) if golden.text is not None]
    for text in (*texts, *long_texts(CONFIG).values()):
        assert_as_python_reads_it(calls, text)


def in_parts(items: Iterable[str], size: int) -> list[str]:
    found = list(items)
    return ["".join(found[start : start + size]) for start in range(0, len(found), size)]


def test_every_code_point(calls: Calls) -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1))
    for text in in_parts((f"x{char}y " for char in every if unicodedata.category(char) not in ("Cn", "Cs", "Co")), 300):
        assert_as_python_reads_it(calls, text)


def test_letters_with_marks_are_composed(calls: Calls) -> None:
    """Any letter that is composed or composes, any marks behind it: in all orders, blocked by each other, more than fit."""
    draw = random.Random(2)
    parts = {chr(code): unicodedata.decomposition(chr(code)) for code in range(sys.maxunicode + 1)}
    parts = {char: found for char, found in parts.items() if found and found[0] != "<"}
    seconds = sorted({chr(int(found.split()[-1], 16)) for found in parts.values()})
    letters = [*parts, *sorted({chr(int(found.split()[0], 16)) for found in parts.values()}), *"\u1100\u1161\u11a8가각"]
    marks = [chr(code) for code in range(0x300, 0x20000) if unicodedata.combining(chr(code))]
    for _ in range(400):
        some = (
            draw.choice(letters if draw.random() < 0.4 else draw.choice((marks, seconds, seconds))) for _ in range(200)
        )
        assert_as_python_reads_it(calls, "".join(some))


@pytest.mark.parametrize("size", [200_000, pytest.param(1_000_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("shape", SHAPES, ids=ascii)
def test_many_code_points_of_any_shape(calls: Calls, shape: str, size: int) -> None:
    assert_as_python_reads_it(calls, f"<p>{shape * (size // len(shape))} end")


def test_surrogates_and_what_is_no_code_point(calls: Calls) -> None:
    assert_as_python_reads_it(calls, "a\ud83d\ude00b &#xD800; %ED%A0%80 \\ud83d\\u0041")
    for content in (b"a\xff\xe2\x82b", b"\xf4\x90\x80\x80a", b"a\xf0\x9f\x98", b"<\xffb>", b"%F0%9F\x98"):
        assert calls.condense(content) == condense(content.decode(errors="replace"), LIMIT)


@pytest.mark.parametrize("most", [0, 1, 5, 10, 2000])
def test_no_more_is_written_than_there_is_room_for(calls: Calls, most: int) -> None:
    assert calls.condense("<b>where</b> is it", most) == "where is it"[:most]


@pytest.mark.parametrize("name", ["pool", "linear", "cnn", "meaning"])
def test_answers_are_those_of_what_is_read(name: str, library: Path, tmp_path: Path) -> None:
    """The decision too: whether there is anything to read is asked of what is read."""
    engine, model = engine_of(file_of(name), tmp_path, library), CASES[name]
    calls = Calls(library, engine)
    for text in (
        "<b>f - r - e - e</b> m&#111;ney",
        "%61 &#98;",
        "<abc>",
        "[a](b)",
        "",
        "🙂",
        "x" * 300,
        "a b c d e f. " * 40,
    ):
        read = read_text(text, model.encoder)
        found = calls.probabilities(text)
        assert (found == engine.probabilities([read])[0]).all()
        assert (found == calls.probabilities(text.encode())).all()
        assert (calls.embed(text) == engine.embeddings([read])[0]).all()
        if model.decision.multi_label:
            assert set(calls.classify(text)) == set(model.decision.has([read], found[None])[0].nonzero()[0])
        else:
            assert (calls.classify(text)[0] == -1) == model.decision.unknown([read], found[None], model.labels)[0]
            assert calls.classify(text) == calls.classify(text.encode())
