"""The tables of the wrapper in Kotlin: current, and the same facts as the rules in Python."""

import re

from retvec_lite.condensing import ENTITIES, INLINE
from retvec_lite.contract import MAX_CODE_POINT, SEPARATING, UNSPACED
from retvec_lite.kinds import CODE_LETTERS, DIGITS, FROM_RIGHT, MARKS, OPTIONAL, PILED, SCRIPTS, SIGNS
from retvec_lite.letters import TWINS
from retvec_lite.normal_form import IGNORED, ranges_hold
from tools.wrapper_tables import KINDS, KOTLIN, kotlin


def test_the_committed_tables_are_those_of_the_rules() -> None:
    assert KOTLIN.read_text("ascii") == kotlin(), "run python -m tools.wrapper_tables"
    bits = {name.lower(): bit for name, bit in re.findall(r"internal const val (\w+) = (\w+)", kotlin())}
    assert bits == {name: hex(1 << bit) for bit, name in enumerate(KINDS)}


def read_kotlin() -> dict[str, list[str]]:
    tables = re.findall(r"internal val (\w+) =\n((?: .*\n)+)", kotlin())
    return {name.lower(): "".join(re.findall('"(.*)"', text)).split() for name, text in tables}


def test_a_look_up_says_what_the_rules_say_of_every_kind_and_its_neighbours() -> None:
    changes = [int(word, 16) for word in read_kotlin()["kinds"]]
    assert changes == sorted(changes) and changes[0] >> 9 == 0
    ranges = [*DIGITS, *SIGNS, *MARKS, *PILED, *IGNORED, *(part for parts in UNSPACED.values() for part in parts)]
    edges = {code for first, last in ranges for code in (first - 1, first, last, last + 1)}
    edges |= {code + step for code in SEPARATING for step in (-1, 0, 1)}
    for code in sorted(edges & set(range(MAX_CODE_POINT + 1))):
        kinds = max(change for change in changes if change >> 9 <= code) & 0x1FF
        expected = (
            code in SEPARATING,
            *(ranges_hold(part, code) for part in (SIGNS, MARKS, (*MARKS, *PILED), IGNORED)),
            *(ranges_hold(part, code) for part in UNSPACED.values()),
            ranges_hold(DIGITS, code),
        )
        assert [bool(kinds >> bit & 1) for bit in range(9)] == list(expected), f"{code:x}"


def test_names_and_scripts_are_all_there() -> None:
    tables = read_kotlin()
    assert set(tables["inline"]) == INLINE
    assert dict(zip(tables["entities"][::2], tables["entities"][1::2], strict=True)) == {
        name: f"{ord(char):x}" for name, char in ENTITIES.items()
    }
    for name, ranges in (
        ("scripts", SCRIPTS),
        ("leftward", FROM_RIGHT),
        ("optional", OPTIONAL),
        ("code_letters", CODE_LETTERS),
    ):
        assert [int(edge, 16) for edge in tables[name]] == [edge for edges in ranges for edge in edges]
    for words, twins in zip(" ".join(tables["twins"]).removesuffix(" 0").split(" 0 "), TWINS, strict=True):
        first, last, alike, *letters = (int(word, 16) for word in words.split())
        assert (first, last, alike) == (twins.first, twins.last, twins.alike)
        assert "".join(map(chr, letters)) == twins.latin + twins.own
