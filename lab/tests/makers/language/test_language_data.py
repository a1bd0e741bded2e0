"""The language detector's data and measure: labels, drawn texts, cut texts and tables."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.data.converters import TATOEBA_CODES
from makers.language import draw, measure
from makers.language import labels as detector_labels
from makers.language import sources as detector_sources
from makers.language.labels import (
    COMMON,
    LABELS,
    MERGED,
    TATOEBA,
    UNKNOWN,
    WEIGHTS,
    massive_tag,
    tag_of,
    udhr_labels,
)

ENGLISH = detector_sources.Source({"the": 5.0, "station": 1.0}, ["Where is the station?", "Good morning to all"], {})
THAI = detector_sources.Source({"สวัสดี": 1.0}, ["สวัสดีชาวโลกวันนี้"], {})


def test_labels_are_distinct_tags() -> None:
    assert len(set(LABELS)) == len(LABELS) > 150 and LABELS[-1] == UNKNOWN
    assert {"en", "zh-Hans", "zh-Hant", "sr-Cyrl", "sr-Latn", "pt"} <= set(LABELS)
    assert not {"zh", "sr"} & set(LABELS)
    assert set(WEIGHTS) <= set(LABELS)
    assert set(COMMON) <= {measure.plain(label) for label in LABELS}


def test_tatoebas_languages_are_those_of_the_data_set() -> None:
    assert set(TATOEBA) == {*TATOEBA_CODES, "eng"}


def test_what_is_merged_has_the_label_that_it_names() -> None:
    assert TATOEBA["kzj"] == TATOEBA["dtp"] == "dtp" and TATOEBA["tgl"] == massive_tag("tl-PH") == "fil"
    for labels, _ in MERGED.values():
        assert set(labels.split(", ")) <= set(LABELS)
    assert "bs-Cyrl" in udhr_labels("sr-Cyrl")


def test_scripts_divide_serbian_and_chinese() -> None:
    traditional, simplified = frozenset("說"), frozenset("说")
    assert tag_of("srp", "Dobro jutro", traditional, simplified) == "sr-Latn"
    assert tag_of("cmn", "他說", traditional, simplified) == "zh-Hant"
    assert tag_of("cmn", "他说", traditional, simplified) == tag_of("cmn", "你好", traditional, simplified) == "zh-Hans"


def test_texts_are_drawn_by_language_and_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (draw, detector_labels):
        monkeypatch.setattr(module, "LABELS", ("en", "th", UNKNOWN))
    sources = {"en": ENGLISH, "th": THAI}
    drawn = draw.draw(sources, seed=3, share=0.02)
    again = draw.draw(sources, seed=3, share=0.02)
    assert drawn.texts == again.texts and drawn.labels.tolist() == again.labels.tolist()
    counts = Counter(drawn.labels.tolist())
    assert counts[0] > counts[1] > 0 and counts[2] == int(0.02 * 8000)
    english = [text for text, label in zip(drawn.texts, drawn.labels, strict=True) if label == 0]
    assert len(english) > len(set(english)) and any(text.lower() == "the" for text in english)
    assert {min(5, text.count(" ")) for text in english} >= {0, 1, 2, 3}
    more = draw.draw(sources, seed=3, share=0.02, everyday=500)
    added = {label: Counter(more.labels.tolist())[label] - counts[label] for label in counts}
    expected = [int(0.02 * 500 * WEIGHTS[tag]) for tag in ("en", "th")]
    assert added == {**{label: count + count // 2 for label, count in enumerate(expected)}, 2: int(0.02 * 500)}
    words = (Counter(more.texts) - Counter(drawn.texts)).keys()
    everyday = {*ENGLISH.words, *ENGLISH.train, *THAI.words, *THAI.train}
    assert {"the", "Good morning to all"} <= words <= {*everyday, *draw._PRODUCTS}
    nothing = {text for text, label in zip(drawn.texts, drawn.labels, strict=True) if label == 2}
    assert all(nothing) and nothing & set(draw._PRODUCTS) and any(text.endswith(".com") for text in nothing)


def test_every_language_has_names_of_sites_and_products_behind_its_texts() -> None:
    rng = random.Random(1)
    typed = [draw._typed("ja", rng).partition(" ")[2] for _ in range(3000)]
    assert 0.02 < sum(map(bool, typed)) / 3000 < 0.06
    assert {"Gmail", "iPhone"} & set(typed) and any("." in text for text in typed)


def test_cuts_have_a_word_a_pair_and_the_sentence() -> None:
    found = measure.cuts([{"en": ENGLISH.train, "th": THAI.train}], 10)
    assert [len(found[length].texts) for length in measure.LENGTHS] == [3, 3, 3]
    assert [len(text.split()) for text in found["pairs"].texts[:2]] == [2, 2]
    assert len(found["words"].texts[2]) == 2 and found["words"].tags == ["en", "en", "th"]
    clean = found["sentences"].texts
    assert measure.mistyped(clean, 0.0) == clean != measure.mistyped(clean, 1.0)


def test_the_detector_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"en": ["Where is the station?"] * 3 + ["asdf"], "de": ["Guten Morgen, wie geht es dir?"] * 2}
    monkeypatch.setattr(measure, "read_tests", lambda _: {"Tatoeba": texts})
    monkeypatch.setattr(measure, "result_path", lambda name, quick: tmp_path / name)
    measure.measure("language", tmp_path, quick=False)
    weak = (tmp_path / "language_weak.md").read_text(encoding="utf-8")
    assert "| `en` | .750 |" in weak and "1 languages have at least 0.80" in weak
    (first, *_, last) = json.loads((tmp_path / "language_tatoeba.json").read_text())
    assert first["rate"] == 0.0 and first["accuracy"] == pytest.approx(5 / 6) and last["rate"] == 1.0
