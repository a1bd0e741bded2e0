"""The table of languages without a training text, and the few texts of its quick form."""

from benchmarks.experiments.transfer import QUICK_TEXTS, few_of, pictured, table
from retvec_lite.data.dataset import Dataset


def test_the_mean_is_that_of_the_other_languages() -> None:
    accuracy = {"en": 0.9, "de": 0.5, "es": 0.7}
    without = {"languages": "none", "shots": 0, "accuracy": {**accuracy, "zu": 0.1}, "bytes": 950_000}
    written = table([{**without, "languages": "de, es", "accuracy": accuracy}, without])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines()[-2:]]
    assert lines[0] == ["de, es", "0", "0.900", "0.600", "de 0.500 es 0.700", "950 kB"]
    assert lines[1] == ["none", *lines[0][1:]], "languages that no other row has are left out"


def test_the_quick_form_has_some_texts_of_every_label() -> None:
    labels = ("a",) * 20 + ("b",) * 3
    texts = few_of(Dataset(tuple(f"text {place}" for place in range(23)), labels))
    assert {label: texts.labels.count(label) for label in "ab"} == {"a": QUICK_TEXTS, "b": 3}


def test_the_plot_has_a_mark_for_each_way_to_a_language() -> None:
    rows = [
        {"languages": "de, es", "shots": 0, "accuracy": {"en": 0.9, "es": 0.7, "de": 0.5}},
        {"languages": "de", "shots": 10, "accuracy": {"en": 0.9, "de": 0.8}},
        {"languages": "none", "shots": 0, "accuracy": {"en": 0.9, "de": 0.3, "es": 0.4, "zu": 0.1}},
    ]
    assert pictured(rows) == {
        "English alone": {"de": 0.3, "es": 0.4},
        "with it and 1 others": {"de": 0.5, "es": 0.7},
        "with it, 10 texts a label": {"de": 0.8},
    }
