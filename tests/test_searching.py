"""`rl.nearest` and `rl.duplicates` and their commands: what is found, what is not, how large it may be, and bad input."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_folder import ApiFolder, english
from command_line import Main, write_table

import retvec_lite as rl
from retvec_lite import searching
from retvec_lite.data.copies import edits, words_and_signs
from retvec_lite.searching import PairScore

FILE = Path(__file__).parents[1] / "golden" / "rejecting.retvec"


@pytest.mark.parametrize("text", ["my pracel is late", "wake me", "目覚まし"])
def test_the_nearest_are_those_of_the_largest_cosine(api_folder: ApiFolder, text: str) -> None:
    classifier, texts = rl.load(api_folder.classifier), [*english("test").texts, "", "目覚ましを六時に"]
    found = rl.nearest(classifier, texts, text, count=7)
    cosines = classifier.embed(texts) @ classifier.embed([text])[0]
    assert [match.row for match in found] == np.argsort(-cosines, kind="stable")[:7].tolist()
    assert [match.text for match in found] == [texts[match.row] for match in found]
    assert [match.score for match in found] == pytest.approx(np.sort(cosines)[::-1][:7], abs=1e-6)
    assert len(rl.nearest(classifier, texts[:3], text)) == 3


def test_all_that_holds_texts_is_searched(main: Main, api_folder: ApiFolder, tmp_path: Path) -> None:
    texts = english("test").texts[:30]
    path = write_table(tmp_path / "texts.csv", [(text, "") for text in texts])
    found = rl.nearest(api_folder.classifier, texts, "wake me", count=3)
    assert found == rl.nearest(api_folder.classifier, path, "wake me", count=3)
    call = ("nearest", str(api_folder.classifier), path, "wake me", "--count", "3")
    code, printed, _ = main(*call)
    assert code == 0 and printed.splitlines() == [f"{match.score:.4f}\t{match.text}" for match in found]
    code, printed, error = main(*call, "--json")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert code == 0 and not error and [line["row"] for line in lines] == [match.row for match in found]


GROUPS = {
    "mistyped": ("why was my top-up declined yesterday", "why was my tpo-up delcined yesterday"),
    "reordered": ("will i be charged for a transfer", "for a transfer, will i be charged?"),
    "greeted": ("how do i change my address", "hi, how do i change my address please"),
    "written otherwise": ("Is gate 12 open today?", "is GATE 14 open today"),
    "equal": ("what does the blue light mean", "what does the blue light mean"),
}
OTHERS = (
    "why was my payment declined yesterday",
    "will i be charged for a refund",
    "how do i change my password",
    "what does the green light mean",
    "when does the market close today",
    "how long is a transfer in the pending status",
    "why do i see the wrong address in the app",
    "what is my password for the market",
    "when was the refund of the payment",
    "is the app open for a refund",
)


SIGNS = (
    ":)",
    ":(",
    "*",
    "*****",
    "★★★★☆",
    "★☆☆☆☆",
    "$",
    "$$$$",
    "👍👍👎",
    "👎👎👍",
    "🇩🇪",
    "🇫🇷",
    "->",
    "<-",
    "۞",
    "(-)",
    "(+)",
)


def test_texts_with_other_signs_are_no_duplicates(api_folder: ApiFolder) -> None:
    for front, behind in (
        ("", ""),
        ("coffee", ""),
        ("how do i change my address ", ""),
        ("", " what does the blue light mean"),
    ):
        texts = [f"{front}{sign}{behind}" for sign in SIGNS]
        found = rl.duplicates(api_folder.classifier, [*texts, *(text.upper() for text in texts)])
        assert [group.rows for group in found] == [(row, row + len(SIGNS)) for row in range(len(SIGNS))]
    (found,) = rl.duplicates(api_folder.classifier, ["how do i change my address", "how do i change my address :)"])
    assert 0.5 < found.scores[1] < 1, "what only one has is like a greeting"


def test_near_duplicates_and_what_differs_in_a_noun(api_folder: ApiFolder) -> None:
    firsts, seconds = zip(*GROUPS.values(), strict=True)
    texts = [*firsts, "", *OTHERS, "?!", *seconds, ""]
    found = rl.duplicates(api_folder.classifier, texts)
    first = len(firsts) + 1 + len(OTHERS) + 1
    assert sorted(group.rows for group in found) == [(place, first + place) for place in range(len(firsts))]
    for group in found:
        assert group.texts == tuple(texts[row] for row in group.rows)
        assert group.scores[0] == 1.0 and all(searching.THRESHOLD <= score <= 1 for score in group.scores)


@pytest.mark.parametrize("seed", range(4))
def test_every_member_is_a_duplicate_of_the_first_and_none_is_left_out(api_folder: ApiFolder, seed: int) -> None:
    """Against all pairs, each scored by itself."""
    base = [*english("test").texts[:25], *OTHERS]
    draw = np.random.default_rng(seed)
    texts = [
        rl.mistype(base[place], 0.3, seed=number)
        for number, place in enumerate(draw.integers(0, len(base), 90).tolist())
    ]
    classifier = rl.load(api_folder.classifier)
    found = rl.duplicates(classifier, texts, threshold=0.6)
    rows = [row for group in found for row in group.rows]
    assert len(rows) == len(set(rows)) > 40
    words = list(dict.fromkeys(words_and_signs(texts)))
    place = {text: words.index(key) for text, key in zip(texts, words_and_signs(texts), strict=True)}
    firsts = {}
    for text in texts:
        firsts.setdefault(place[text], text)
    vectors = classifier.embed([firsts[number] for number in range(len(words))])
    pair = PairScore(words, vectors)
    for group in found:
        for text, score in zip(group.texts[1:], group.scores[1:], strict=True):
            one, other = place[group.texts[0]], place[text]
            assert score >= 0.6 and score == pytest.approx(1.0 if one == other else pair(one, other), abs=1e-5)
    alone = sorted({place[text] for text in texts} - {place[texts[row]] for row in rows})
    heads = [place[group.texts[0]] for group in found]
    for one in alone:
        for other in (*alone, *heads):
            assert (
                one == other or pair(one, other) < 0.6 + 1e-5 or vectors[one] @ vectors[other] < searching._FLOOR + 1e-5
            )


def test_blocks_give_what_the_whole_gives(api_folder: ApiFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [rl.mistype(text, 0.3, seed=seed) for text in english("test").texts[:20] for seed in range(3)]
    classifier = rl.load(api_folder.classifier)
    expected, told = rl.duplicates(classifier, texts), list[Any]()
    monkeypatch.setattr(searching, "_AT_ONCE", 7)
    assert rl.duplicates(classifier, texts, progress=lambda *step: told.append(step)) == expected and expected
    assert {what for what, _, _ in told} == {"embedding texts", "comparing texts"}
    assert all(told[-1][1] == step[2] for step in told[-1:])


@pytest.mark.parametrize("seed", range(3))
def test_edits_are_counted_as_a_plain_table_counts_them(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(400):
        one, other = ("".join(draw.choice(list("abc"), draw.integers(1, 7))) for _ in range(2))
        table = np.add.outer(np.arange(len(one) + 1), np.arange(len(other) + 1))
        for row in range(1, len(one) + 1):
            for column in range(1, len(other) + 1):
                same = one[row - 1] == other[column - 1]
                table[row, column] = min(
                    table[row - 1, column] + 1, table[row, column - 1] + 1, table[row - 1, column - 1] + (not same)
                )
                if row > 1 and column > 1 and one[row - 2 : row] == other[column - 2 : column][::-1]:
                    table[row, column] = min(table[row, column], table[row - 2, column - 2] + 1)
        assert edits(one, other) == edits(other, one) == min(3, table[-1, -1])


def test_the_command_writes_all_groups(main: Main, api_folder: ApiFolder, tmp_path: Path) -> None:
    texts = [text for pair in GROUPS.values() for text in pair] + list(OTHERS)
    path, output = write_table(tmp_path / "texts.csv", [(text, "") for text in texts]), tmp_path / "found.csv"
    call = ("duplicates", str(api_folder.classifier), path)
    code, printed, _ = main(*call)
    assert code == 0 and "Groups of near-duplicates: 5. Texts that repeat the first of a group: 5." in printed
    assert all(text in printed for pair in GROUPS.values() for text in pair)
    code, printed, _ = main(*call, "--output", str(output))
    assert code == 0 and f"Written to {output}." in printed
    with output.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["group", "row", "score", "text"] and len(rows) == 10
    assert all(texts[int(each["row"])] == each["text"] for each in rows)
    code, _, error = main(*call, "--output", str(output))
    assert code == 2 and "already exists" in error


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nearest", "{file}", "{texts}", " "), "The query has no words that can be searched for."),
        (("nearest", "language", "{texts}", "wake me"), "This model has no signature 'embed'"),
        (("nearest", "{file}", "{texts}", "wake me", "--count", "0"), "count must be at least 1, not 0."),
        (("nearest", "nowhere", "{texts}", "wake me"), "There is nothing at nowhere."),
        (("nearest", "{file}", "nowhere.csv", "wake me"), "nowhere.csv"),
        (
            ("duplicates", "{file}", "{texts}", "--threshold", "1.5"),
            "threshold must be above 0 and at most 1, not 1.5.",
        ),
        (("duplicates", "{file}", "{texts}", "--threshold", "0"), "threshold must be above 0 and at most 1, not 0."),
        (
            ("duplicates", "{file}", "{texts}", "--threshold", "nan"),
            "threshold must be above 0 and at most 1, not nan.",
        ),
        (("duplicates", "{file}", "{texts}", "--threshold", "high"), "threshold must be a number, not 'high'."),
        (("duplicates", "language", "{texts}"), "This model has no signature 'embed'"),
        (("duplicates", "{file}", "{texts}", "--output", "found.json"), "written as .csv, not as found.json"),
        (("duplicates", "{file}", "{texts}", "--output", "{texts}", "--force"), "is an input, too"),
    ],
)
def test_bad_input_gets_one_sentence(main: Main, tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    texts = write_table(tmp_path / "texts.csv", [("wake me", ""), ("play jazz", "")])
    places = {"file": FILE, "texts": texts}
    code, printed, error = main(*(part.format(**places) for part in arguments))
    assert code == 2 and not printed and sentence in error and "Traceback" not in error
    assert error.startswith("retvec-lite: error: ") and error.count("\n") == 1


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(rl.RetvecLiteError, match="query must be a string, not 3"):
        rl.nearest(FILE, ["wake me"], 3)  # type: ignore[arg-type]
    with pytest.raises(rl.RetvecLiteError, match="Texts must be strings, but the one at index 1"):
        rl.duplicates(FILE, ["wake me", None])
    assert rl.duplicates(FILE, ["", "?!"]) == []


def test_equal_texts_are_found_in_their_order(api_folder: ApiFolder) -> None:
    texts = [text for text in english("test").texts[:7] for _ in range(53)]
    found = rl.nearest(api_folder.classifier, texts, texts[100], count=len(texts))
    assert [match.row for match in found] == sorted(
        range(len(texts)), key=lambda row: (-found[[match.row for match in found].index(row)].score, row)
    )
    assert len({(match.text, match.score) for match in found}) == len(set(texts))


def test_texts_of_equal_vectors_have_the_same_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_AT_ONCE", 100)
    few = np.random.default_rng(0).normal(size=(3, 255)).astype(np.float32)
    vectors = np.repeat(few / np.linalg.norm(few, axis=1, keepdims=True), 41, axis=0)
    found = list(searching._neighbors(vectors, 0.7, lambda *step: None))
    expected = [(row, row + step) for row in range(123) for step in range(1, 11) if row // 41 == (row + step) // 41]
    assert found == expected
