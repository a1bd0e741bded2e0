"""Numbers of embeddings whose answers are known by hand."""

import json

import numpy as np
import pytest
from modeling_cases import random_embedding

from retvec_lite.contract import Ints
from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining import measures
from retvec_lite.pretraining.augment import TYPO_KINDS
from retvec_lite.pretraining.evaluation_network import quantized
from retvec_lite.pretraining.evaluation_plot import box_plot, dot_plot
from retvec_lite.pretraining.evaluation_report import Table, markdown, sentences, tables, to_dict
from retvec_lite.pretraining.measures import FileScores, Measured, Share, TaskScores, better_in
from retvec_lite.pretraining.tasks import Task
from retvec_lite.pretraining.words import encode_words

# Words of one letter and where they lie on the circle, in degrees.
ANGLES = {"a": 0, "б": 90, "c": 180, "1": 270, "x": 10, "y": 80, "z": 100, "w": 200}


def on_the_circle(_: Embedding, words: Ints) -> np.ndarray:
    angles = np.deg2rad([ANGLES[chr(code)] for code in words[:, 0]])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def circle_task() -> Task:
    candidates, queries = encode_words(["a", "б", "c", "1"]), encode_words(["x", "y", "z", "w"])
    answers = np.array([0, 1, 2, 2])  # z lies nearer to б than to its right word c
    kinds = np.array([3, 3, 5])
    return Task("xx", "list", candidates, queries, answers, queries[:3], answers[:3], kinds)


def test_every_number_of_a_hand_made_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "embed", on_the_circle)
    scores = Measured("circle", random_embedding()).score(circle_task())
    assert scores.found == {name: Share(3, 4) for name in ("float32", "int8", "int4")}
    assert scores.kinds == {TYPO_KINDS[3]: Share(2, 2), TYPO_KINDS[5]: Share(0, 1)}
    assert scores.scripts == {"Latin": Share(2, 3), "Cyrillic": Share(1, 1)}
    degrees = np.cos(np.deg2rad([10, 10, 80, 20]))
    np.testing.assert_allclose(scores.pairs, degrees, atol=1e-6)
    # Half the list away: a with z, б with w, c with x, c with y.
    np.testing.assert_allclose(scores.randoms, np.cos(np.deg2rad([100, 110, 170, 100])), atol=1e-6)
    assert scores.gap == pytest.approx(degrees.mean() - scores.randoms.mean(), abs=1e-6)
    np.testing.assert_allclose(list(scores.cosine_to_float.values()), [1.0, 1.0], atol=1e-6)


def random_task(name: str, mistyped: bool, seed: int = 0) -> Task:
    """Words of random letters; queries are the words themselves, or other random words, that nothing can find."""
    letters = np.random.default_rng(seed).integers(0x61, 0x7B, (600, 16), dtype=np.int32)
    letters[:, 9:] = 0
    queries = letters[400:500] if mistyped else letters[:100]
    answers = np.arange(100)
    return Task(name, "list", letters[:400], queries, answers, queries[:4], answers[:4], np.arange(4))


def test_words_that_are_not_mistyped_are_all_found_and_strangers_hardly_ever() -> None:
    measured = Measured("random", random_embedding())
    clean, strange = measured.score(random_task("aa", False)), measured.score(random_task("bb", True))
    assert clean.found["float32"].share == 1.0 and clean.pairs.min() > 0.9999 and clean.gap > 0.05
    assert strange.found["float32"].share <= 0.05 and abs(strange.gap) < 0.05


def test_rounding_costs_what_it_costs_and_nothing_on_the_grid() -> None:
    embedding = random_embedding()
    scores = Measured("random", embedding).score(random_task("aa", False))
    assert 0.5 < scores.cosine_to_float["int4"] < scores.cosine_to_float["int8"] < 1
    snapped = Measured("snapped", quantized(embedding, 7)).score(random_task("aa", True))
    assert snapped.cosine_to_float == {"int8": 1.0, "int4": 1.0}
    assert len(set(snapped.found.values())) == 1


def made_scores(name: str, found: int) -> TaskScores:
    rng = np.random.default_rng(found)
    pairs, randoms = rng.uniform(0.6, 1, 40).astype(np.float32), rng.uniform(-0.1, 0.3, 40).astype(np.float32)
    shares = {"float32": Share(found, 40), "int8": Share(found, 40), "int4": Share(found // 2, 40)}
    kinds = {"deletion": Share(found // 4, 10), "case_substitution": Share(1, 2)}
    return TaskScores(
        name, "list", shares, {"int8": 0.999, "int4": 0.7}, pairs, randoms, kinds, {"Latin": Share(found, 40)}
    )


def made_files(languages: int = 3) -> tuple[FileScores, FileScores]:
    names = [f"l{number}" for number in range(languages)]
    one = FileScores("one|$x", tuple(made_scores(name, 30) for name in names), made_scores("m.csv", 20))
    counts = (20, 30, 36, *([10] * languages))
    return one, FileScores("two", tuple(map(made_scores, names, counts)), made_scores("m.csv", 10))


def test_means_and_comparison() -> None:
    one, two = made_files()
    assert one.found("float32") == 0.75 and one.found("int4") == 0.375
    assert two.found("float32") == pytest.approx((20 + 30 + 36) / 120)
    assert two.kinds() == {"deletion": Share(5 + 7 + 9, 30), "case_substitution": Share(3, 6)}
    assert better_in(one, two) == (1, ["l2"])  # better, the same, worse
    assert sentences((one, two), ["qq"]) == [
        "one|$x is better than two in 1 of 3 languages; worse in l2.",
        "Skipped for want of words that pre-training never saw: qq.",
    ]


def table(title: str, found: list[Table]) -> Table:
    (only,) = [table for table in found if table.title == title]
    return only


def test_tables_hold_both_files_and_their_difference() -> None:
    found = tables(made_files())
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)
    summary = {row[0]: row[1:] for row in table("Mean over 3 languages", found).rows}
    assert summary["right word found, float32"] == ("0.750", "0.717", "+0.033")
    assert summary["int4: cosine to float32"] == ("0.70000", "0.70000", "+0.00000")
    assert summary["40 human misspellings, float32"] == ("0.500", "0.250", "+0.250")
    languages = table("Right word found", found)
    assert languages.columns == ("language", "words", "queries", "one|$x", "two", "difference")
    assert languages.rows[2] == ("l2", "list", "40", "0.750", "0.900", "-0.150")
    alone = tables(made_files()[:1])
    assert table("Right word found", alone).rows[0] == ("l0", "list", "40", "0.750")


def test_markdown_and_json() -> None:
    files = made_files()
    text = markdown(files, [])
    rows = [line for line in text.splitlines() if line.startswith("| l2 ")]
    assert rows[0] == "| l2 | list | 40 | 0.750 | 0.900 | -0.150 |" and "one\\|$x" in text
    facts = json.loads(json.dumps(to_dict(files, ["qq"])))
    assert facts["comparisons"] == [{"against": "two", "better_in": 1, "worse_in": ["l2"]}]
    assert facts["files"][1]["languages"][2]["found"] == {"float32": 0.9, "int8": 0.9, "int4": 0.45}
    assert facts["files"][0]["misspellings"]["queries"] == 40 and facts["skipped"] == ["qq"]
    quantiles = facts["files"][0]["languages"][0]["pair_cosine"]
    assert quantiles["p05"] < quantiles["p25"] < quantiles["p50"] < quantiles["p75"] < quantiles["p95"]


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_plots_grow_with_languages_and_files() -> None:
    few, many = made_files(3), made_files(50)
    width, height = size_of(box_plot(few))
    assert size_of(box_plot(many)) > (1800, height - 1) and size_of(box_plot(few[:1]))[1] < height
    assert size_of(dot_plot(many))[0] > 1500 > width
    assert dot_plot(few) == dot_plot(few) != dot_plot(few[::-1])
