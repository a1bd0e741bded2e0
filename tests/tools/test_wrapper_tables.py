"""The tables of the wrapper in Kotlin: current, and the same facts as the rules in Python."""

import re

from retvec_lite.condensing import ENTITIES, INLINE
from retvec_lite.contract import MAX_CODE_POINT, SEPARATING, UNSPACED
from retvec_lite.kinds import FROM_RIGHT, MARKS, PILED, SCRIPTS, SIGNS
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
    assert changes == sorted(changes) and changes[0] >> 8 == 0
    ranges = [*SIGNS, *MARKS, *PILED, *IGNORED, *(part for parts in UNSPACED.values() for part in parts)]
    edges = {code for first, last in ranges for code in (first - 1, first, last, last + 1)}
    edges |= {code + step for code in SEPARATING for step in (-1, 0, 1)}
    for code in sorted(edges & set(range(MAX_CODE_POINT + 1))):
        kinds = max(change for change in changes if change >> 8 <= code) & 0xFF
        expected = (
            code in SEPARATING,
            *(ranges_hold(part, code) for part in (SIGNS, MARKS, (*MARKS, *PILED), IGNORED)),
            *(ranges_hold(part, code) for part in UNSPACED.values()),
        )
        assert [bool(kinds >> bit & 1) for bit in range(8)] == list(expected), f"{code:x}"


def test_names_and_scripts_are_all_there() -> None:
    tables = read_kotlin()
    assert set(tables["inline"]) == INLINE
    assert dict(zip(tables["entities"][::2], tables["entities"][1::2], strict=True)) == {
        name: f"{ord(char):x}" for name, char in ENTITIES.items()
    }
    assert [int(edge, 16) for edge in tables["scripts"]] == [edge for edges in SCRIPTS for edge in edges]
    assert [int(edge, 16) for edge in tables["leftward"]] == [edge for edges in FROM_RIGHT for edge in edges]
