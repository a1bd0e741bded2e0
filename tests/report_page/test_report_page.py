"""The page of a report: complete, safe whatever texts and labels hold, small, and the same bytes for the same findings."""

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_cases import HOSTILE, checked, findings, page
from standin import classifier
from tiny_data import tiny_dataset

from retvec_lite.api import check, train, write_report
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.loading import load
from retvec_lite.report_page import check_page
from retvec_lite.report_page.elements import counts, element, markup, shares
from retvec_lite.trained import TrainedClassifier


class Read(HTMLParser):
    """What a browser reads of a page: elements with their attributes, and all text outside of scripts and styles."""

    def __init__(self, made: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._is_text = True
        self.feed(made.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._is_text = tag not in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._is_text = True

    def handle_data(self, data: str) -> None:
        self.text += data if self._is_text else ""

    @property
    def ids(self) -> list[str]:
        return [found["id"] or "" for tag, found in self.elements if tag == "section"]


def test_it_says_all_that_was_found_out() -> None:
    found = Read(page(findings()))
    assert found.ids == ["labels", "confusions", "typos", "learning", "calibration", "answered", "doubtful"]
    for said in (
        "Report on made.csv",
        "This page quotes texts",
        "Ship it if",
        "Next: ",
        "taken for",
        "50% of the words mistyped",
        "disguised",
        "always the largest label: 25%",
        "label may be wrong",
        "1 text is odd: 'wake me at six'.",
        "of 200 texts repeat others",
        "copies under different labels",
    ):
        assert said in found.text


def test_figures_are_those_of_the_scores() -> None:
    found = findings()
    made = Read(page(found)).text
    assert found.held_out
    for rate, scores in found.validation.items():
        right = found.held_out.outcomes[Way(rate)].is_right
        assert right.mean() == pytest.approx(scores.accuracy) and f"{scores.accuracy:.1%}" in made
    for row in found.validation[0.0].classes:
        assert f"{row.texts}{row.precision:.0%}{row.recall:.0%}" in re.sub(r"\s", "", made)


def test_another_threshold_answers_other_texts() -> None:
    for threshold in (0.4, 0.9):
        made = findings().with_threshold(threshold)
        answered = 1 - (made.held_out.clean.scores < threshold).mean()  # type: ignore[union-attr]
        assert 0 < answered < 1 and f"{answered:.0%} answered" in Read(page(made)).text


def test_the_same_findings_give_the_same_bytes() -> None:
    assert page(findings(HOSTILE, HOSTILE)) == page(findings(HOSTILE, HOSTILE))
    assert check_page(checked(HOSTILE, HOSTILE)) == check_page(checked(HOSTILE, HOSTILE))


def test_whatever_texts_and_labels_hold_is_text() -> None:
    harmless = [f"text {number}" for number in range(len(HOSTILE))]
    for hostile, plain in (
        (page(findings(HOSTILE, HOSTILE)), page(findings(harmless, harmless))),
        (check_page(checked(HOSTILE, HOSTILE)), check_page(checked(harmless, harmless))),
    ):
        found = Read(hostile)
        assert {tag for tag, _ in found.elements} == {tag for tag, _ in Read(plain).elements}
        assert sum(tag == "script" for tag, _ in found.elements) == 1
        names = {name for _, attributes in found.elements for name in attributes}
        assert names == {name for _, attributes in Read(plain).elements for name in attributes}
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", hostile.decode())
        assert all(text in found.text for text in HOSTILE[:4])
        assert "\\u202egnp.exe" in found.text and "nul \\x00" in found.text and "half \\ud800 pair" in found.text
        assert len(hostile) < 200_000


def test_what_is_shown_of_many_texts_and_labels_is_bounded_and_said() -> None:
    labels = [f"label {number} {'name ' * 100}" for number in range(300)]
    texts = [f"text {number} {'word ' * 200}" for number in range(10_000)]
    made = page(findings(labels, texts, 2000))
    assert len(made) < 1_000_000 and "200 of 300 are here" in Read(made).text
    made = check_page(checked(texts, labels))
    found = Read(made)
    assert len(made) < 1_000_000 and "The first 150 of each kind are here" in found.text
    assert sum("data-kind" in attributes for _, attributes in found.elements) == 301


def test_two_labels_and_a_hundred_and_fifty_have_a_matrix() -> None:
    for count, shown in ((2, 2), (10, 10), (11, 9), (150, 9)):
        made = Read(page(findings([f"label {number}" for number in range(count)], count=600)))
        told = [found["aria-label"] for tag, found in made.elements if tag == "svg" and found.get("class") == "matrix"]
        assert told == [f"Confusions of {shown} labels; the table of labels says the same in words."]
        assert (f"The 9 of {count} labels that are confused most" in made.text) == (count > 10)


def test_a_check_has_a_page_of_its_own() -> None:
    found = Read(check_page(checked(["wake me", "my parcel?"])))
    assert found.ids == ["doubtful"] and "Check of made.csv" in found.text
    for said in (
        "alarm → delivery",
        "a reason; row 0, score 1.00",
        "rows 0, 3",
        "alarm and one_time_code",
        "order, 🙂: 2",
    ):
        assert said in found.text


def test_nothing_doubtful_is_said_so() -> None:
    empty = dataclasses.replace(checked(["a"]), suspects=(), outsiders=(), copies=(), twins=(), small=())
    found = Read(check_page(empty))
    assert "No label looks wrong." in found.text and "form" not in {tag for tag, _ in found.elements}


def test_it_is_written_beside_a_classifier_that_was_just_trained(tmp_path: Path) -> None:
    found = findings()
    found.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "report.html").read_bytes().startswith(b"<!doctype html>")
    found.save(tmp_path / "saved", force=True)
    TrainedClassifier(classifier("pool")).save(tmp_path / "saved", force=True)
    assert not (tmp_path / "saved" / "report.html").exists()


def test_a_file_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    found = findings()
    write_report(found, tmp_path / "page.html")
    made = (tmp_path / "page.html").read_bytes()
    with pytest.raises(RetvecLiteError, match="already exists"):
        write_report(found, tmp_path / "page.html")
    write_report(found, tmp_path / "page.html", force=True)
    assert (tmp_path / "page.html").read_bytes() == made


def test_a_loaded_classifier_has_no_texts_to_report_on(tmp_path: Path) -> None:
    TrainedClassifier(classifier("pool")).save(tmp_path / "saved")
    with pytest.raises(RetvecLiteError, match="no texts to report on"):
        write_report(load(tmp_path / "saved"), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("multi_label", [False, True])
def test_real_findings_have_a_page(multi_label: bool, tmp_path: Path) -> None:
    texts = tiny_dataset(12)
    labels = [f"{label}|any" for label in texts.labels] if multi_label else list(texts.labels)
    found = train(texts.texts, labels, head="linear", ngram_kb=20, multi_label=multi_label)
    write_report(found, tmp_path / "page.html")
    made = Read((tmp_path / "page.html").read_bytes())
    wanted = ["labels", "confusions", "typos", "learning", "calibration", "answered", "doubtful"]
    assert made.ids == [name for name in wanted if not (multi_label and name in ("confusions", "answered"))]
    said = ("threshold", "micro F1") if multi_label else ("disguised", "other, 🙂")
    assert all(word in made.text for word in said)


@pytest.mark.slow
def test_a_check_writes_its_page(tmp_path: Path) -> None:
    texts = tiny_dataset(6)
    found = check(list(texts.texts), list(texts.labels), output=tmp_path / "page.HTML")
    assert (tmp_path / "page.HTML").read_bytes() == check_page(found)
    with pytest.raises(RetvecLiteError, match="already exists"):
        check(list(texts.texts), list(texts.labels), output=tmp_path / "page.HTML")


def test_an_element_holds_any_characters() -> None:
    made = markup(element("p", "a & ", element("b", "\0<"), " > \ud800", title='"\u202e'))
    assert made == '<p title="&quot;\\u202e">a &amp; <b>\\x00&lt;</b> &gt; \\ud800</p>'
    assert markup(element("p", "of Windows\r\nof old\rof today\n")) == "<p>of Windows\nof old\nof today\n</p>"


@pytest.mark.parametrize("most", [1, 2, 3, 9, 10, 67, 267, 1999, 50_000, 1_234_567])
def test_an_axis_of_counts_has_a_few_round_ticks(most: int) -> None:
    axis = counts("texts", most)
    assert 2 <= len(axis.ticks) <= 6 and axis.ticks[0] == 0 and axis.ticks[-1] <= most
    assert all(float(tick).is_integer() for tick in axis.ticks)


@pytest.mark.parametrize("least", [0.0, 0.01, 0.14, 0.5, 0.72, 0.86, 0.99, 1.0])
def test_an_axis_of_shares_starts_below_the_data_and_says_so(least: float) -> None:
    axis = shares("right", [least, 1.0])
    assert axis.low <= least and (axis.low > least - 0.13 or axis.low == 0)
    assert ("starts at" in axis.title) == (axis.low > 0)
    assert 2 <= len(axis.ticks) <= 6 and all(axis.low - 1e-9 <= tick <= 1 for tick in axis.ticks)
