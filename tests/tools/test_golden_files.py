"""The golden files: every runtime here gives their answers. The packages for other languages test themselves with the same files."""

import hashlib
import json
import unicodedata
from typing import Any

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite.runtime import is_built
from retvec_lite.runtime.artifact import read_artifact
from tools.golden import CHECKSUMS, EXPLAINED, FILES, FOLDER, LEAST_LEAD

CASES = [
    (name, kind.suffix, f"engine-{recipe}" if kind.suffix == ".retvec" else recipe)
    for name, (recipe, formats, _) in FILES.items()
    for kind in formats
]


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    return found


def test_nothing_was_changed_and_nothing_is_large() -> None:
    sums = {}
    for line in (FOLDER / CHECKSUMS).read_text(encoding="ascii").splitlines():
        sums[line[66:]] = line[:64]
    files = [path for path in FOLDER.iterdir() if path.name not in (CHECKSUMS, "README.md")]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == sums
    assert sum(path.stat().st_size for path in files) <= 1_000_000


def opened(name: str, suffix: str) -> rl.Classifier:
    if suffix == ".retvec" and not is_built():
        pytest.skip("The C engine is not built")
    if suffix == ".tflite":
        pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    return rl.load(FOLDER / f"{name}{suffix}")


@pytest.mark.parametrize(("name", "suffix", "key"), CASES)
def test_the_answers_are_those_of_the_reference(name: str, suffix: str, key: str) -> None:
    golden, classifier = read(name), opened(name, suffix)
    assert list(classifier.labels) == golden["labels"]
    cases = [case for case in (*golden["cases"], *golden["long"]) if case["text"] is not None]
    assert len(cases) > 100 and len(golden["long"]) == 6
    texts = [case["text"] for case in cases]
    found = classifier.probabilities(texts)
    expected = np.array([case["probabilities"][key] for case in cases])
    assert np.abs(found - expected).max() <= golden["tolerance"][key]
    for case, answers in zip(cases, classifier.predict(texts, reject=True), strict=True):
        if key not in case.get("labels", {}):
            continue
        wanted = case["labels"][key]
        if name == "several":
            assert {answer.label for answer in answers} - {None} == set(wanted), case["name"]
        else:
            assert answers[0].label == wanted, case["name"]


@pytest.mark.parametrize(("name", "suffix", "key"), CASES)
def test_words_count_what_the_golden_file_says(name: str, suffix: str, key: str) -> None:
    golden, classifier = read(EXPLAINED), opened(name, suffix)
    for case in golden["cases"]:
        text, label = case["text"], case["label"]
        found = classifier.explain(text, label).spans
        assert [[span.start, span.end] for span in found] == case["spans"], text
        off = [abs(span.weight - weight) for span, weight in zip(found, case["weights"][name], strict=True)]
        assert max(off, default=0) <= golden["tolerance"][suffix], text
        if label is None:
            second, first = sorted(classifier.probabilities(text)[0])[-2:]
            assert first - second > LEAST_LEAD, "another runtime may take another label for the most probable one"


def test_what_is_explained_is_counted_in_other_ways_elsewhere() -> None:
    cases = read(EXPLAINED)["cases"]
    texts = [case["text"] for case in cases]
    assert len(cases) > 40 and "" in texts
    assert sum(len(text.encode("utf-16-le")) // 2 > len(text) for text in texts) > 6
    assert sum(unicodedata.normalize("NFC", text) != text for text in texts) > 5
    assert sum(len(text) > 256 for text in texts) == 1, "several windows of every file"
    assert {case["label"] for case in cases} > set(read("plain")["labels"])
    assert sum(case["label"] is None for case in cases) > 15


def test_every_kind_of_answer_is_there() -> None:
    answers = {
        name: [label for case in read(name)["cases"] for label in case.get("labels", {}).values()] for name in FILES
    }
    assert all(isinstance(label, str) for label in answers["plain"]) and len(set(answers["plain"])) >= 9
    assert None in answers["rejecting"] and len(set(answers["rejecting"])) >= 9
    assert {0, 1, 2} <= {len(labels) for labels in answers["several"]}
    facts = read_artifact(FOLDER / "rejecting.retvec").metadata
    assert facts["meaning"] and facts["ngrams"]
    assert any(case["text"] is None and case["codepoints"] for case in read("plain")["cases"])
