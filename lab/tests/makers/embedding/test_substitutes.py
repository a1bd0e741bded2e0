"""The tables of what a typo puts in: keys that touch each other, look-alikes, alphabets, cases."""

import unicodedata

from makers.embedding.keyboards import LAYOUTS
from makers.embedding.substitutes import alphabets, keyboard_neighbors, lookalikes, other_case, upper_table
from retvec_lite.data.typos import neighbor_keys


def test_tables() -> None:
    neighbors = set(neighbor_keys(LAYOUTS["us"])["g"])
    assert neighbors == set("ftyhvb")
    assert set(neighbor_keys(LAYOUTS["us"])["q"]) == set("12wa")
    for rows in LAYOUTS.values():
        keys = [key for row in rows for key in row if key != " "]
        assert len(keys) == len(set(keys)) and len(rows[0]) == 12
        assert not any(unicodedata.category(key).startswith("C") for key in keys)  # none invisible or unassigned
    assert all(keyboard_neighbors().counts[ord(letter)] > 0 for letter in "йћқөαאكگकকਕકକகకಕകකកກကཀกკկㅏ")
    confusable = lookalikes()
    of_a = confusable.members[confusable.starts[ord("a")] :][: confusable.counts[ord("a")]]
    assert ord("а") in of_a  # the Cyrillic one
    assert alphabets().counts[ord("q")] == 26
    assert chr(other_case().members[other_case().starts[ord("я")]]) == "Я" and not other_case().counts[ord("東")]
    assert upper_table()[ord("ß")] == ord("ß") and upper_table()[ord("я")] == ord("Я")
