"""What fits into a file: heads give way to smaller ones, and what cannot fit is told before the first step."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest
from fitted import asked, train
from tiny_data import QUICK, TINY_CONFIG, tiny_dataset

import retvec_lite as rl
from retvec_lite.data.dataset import read_dataset, starter_file
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import MeaningConfig
from retvec_lite.model.file_sizes import estimate_bytes, estimate_files
from retvec_lite.ngrams import MOST_BUCKETS
from retvec_lite.training import budget, request
from retvec_lite.training.budget import Budget
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.plan import FitSettings, recommended
from retvec_lite.training.reading import TextReader
from retvec_lite.training.request import FEW


@pytest.fixture(scope="module")
def data() -> TrainingData:
    training = tiny_dataset(9)
    return make_examples(training, training, variants=1, typo_rate=0.0, seed=0, config=TINY_CONFIG)


def room(data: TrainingData, **options: Any) -> tuple[Budget, TrainingData, str]:
    """The first arguments of `choose_parts`, for the packaged embedding."""
    request = asked(**{"embedding": "default", **options})
    return Budget.of(request, data), data, request.options.head


def parts(data: TrainingData, labels: int = 4, **options: Any) -> tuple[str, int]:
    names = tuple(f"label {number}" for number in range(labels))
    told = dataclasses.replace(data, labels=names)
    head, buckets = budget.choose_parts(*room(told, **options), lambda: 300)
    return head.name, buckets


def test_head_and_ngrams_are_fitted_into_a_limit(data: TrainingData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", 3)
    assert [parts(data, max_kb=limit)[0] for limit in (1000, 760, 650, 405, 370)] == [
        "cnn",
        "cnn",
        "pool",
        "pool",
        "linear",
    ]
    assert parts(data, labels=1000) == ("pool", 0) and parts(data, labels=1000, max_kb=1500)[0] == "cnn"
    assert parts(data, labels=1000, max_kb=5000)[1] > 128, "a larger limit has room for n-grams"


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        (
            9000,
            {},
            r"^9,000 labels with the head \w+ take up to ([\d,]+) kB in an int8 file, but max_kb is 1,000\. Raise --max-kb \(max_kb\) to \1,",
        ),
        (4, {"max_kb": 200}, "with the head pool take up to .* but max_kb is 200"),
        (4, {"max_kb": 400, "head": "cnn"}, "with the head cnn take up to"),
        (
            3000,
            {"head": "linear"},
            r"^The head linear needs n-grams: for 3,000 labels raise --max-kb \(max_kb\) to 1,\d\d\d \(now 1,000\), have fewer",
        ),
        (
            99,
            {"head": "linear", "ngram_kb": 5},
            r"raise --ngram-kb \(ngram_kb\) to 13 \(now 5\), have fewer labels, or",
        ),
        (77, {"ngram_kb": 2000}, "with the head linear take up to .* a smaller --head, --ngram-kb or --embedding"),
    ],
)
def test_too_much_is_told_before_the_first_step(
    data: TrainingData, labels: int, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        parts(data, labels, **options)


def test_sizes_are_told_before_the_first_step_and_in_the_report() -> None:
    told: list[tuple[str, int, int]] = []
    facts = train(
        tiny_dataset(4), head="linear", ngram_kb=3, settings=QUICK, progress=lambda *step: told.append(step)
    ).model.training
    (place,) = (place for place, (_, _, total) in enumerate(told) if not total)
    assert told[place][0].startswith("A .tflite will take about ") and " as int4." in told[place][0]
    assert {what for what, _, _ in told[:place]} == {"encoding texts"} and told[place + 1 :]
    assert facts["max_kb"] == 1000 and 0 < facts["estimated_bytes"]["int4"] < facts["estimated_bytes"]["int8"]


def test_meaning_gets_what_ngrams_can_spare(data: TrainingData, monkeypatch: pytest.MonkeyPatch) -> None:
    def kilobytes(labels: int, ngrams: int = 40_000, **options: Any) -> int:
        names = tuple(f"label {number}" for number in range(labels))
        told = dataclasses.replace(data, labels=names)
        return budget.choose_meaning_kb(*room(told, **options), lambda: ngrams)

    few, usual, many = (kilobytes(labels) for labels in (2, 30, 150))
    assert 250 >= few > usual > many > 40, "few labels leave n-grams more room than they use"
    assert kilobytes(2, max_kb=1500) == 250 and kilobytes(1000) == 40
    assert kilobytes(4, ngrams=5_000) == 250 > kilobytes(4), "few texts leave n-grams more room than they use"
    assert kilobytes(30, ngrams=100) == 250 > kilobytes(30, ngrams=5_000) > usual
    assert kilobytes(30, head="cnn") < usual
    monkeypatch.setattr(request, "FEW", 3)
    assert kilobytes(30) == kilobytes(30, head="cnn"), "many texts get a larger network"


@pytest.mark.parametrize("limit", [600, 900, 1000, 1100])
def test_every_format_has_room_and_short_texts_cost_no_more_than_they_must(data: TrainingData, limit: int) -> None:
    plans = 0
    for labels, slots, words in itertools.product((2, 5, 10, 27, 77, 150), (4, 8, 16, 24, 32, 64), (0, 1500, 12_000)):
        names = tuple(f"label {number}" for number in range(labels))
        encoder = dataclasses.replace(TINY_CONFIG, max_chars=6 * slots, max_words=slots)
        told = dataclasses.replace(data, labels=names, reader=TextReader(data.clean, encoder))
        meaning = MeaningConfig(words=words, rows=2 * words, displacements=words) if words else None
        for head in ("auto", "linear"):
            given = room(told, head=head, max_kb=limit)
            try:
                spec, buckets = budget.choose_parts(*given, lambda: 300, meaning)
            except RetvecLiteError:
                continue
            sizes = estimate_files(given[0].shapes(spec, meaning, buckets), encoder, names, given[0].decision)
            assert max(sizes.values()) < 1000 * limit, (labels, slots, words, head)
            is_full = max(sizes.values()) > 1000 * limit - 4_000
            assert is_full or not meaning or buckets in (0, MOST_BUCKETS), (labels, slots, words, head)
            plans += 1
    assert plans > 150


@pytest.mark.parametrize("labels", [4, 130])
def test_files_with_meaning_stay_below_their_limits(
    data: TrainingData, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The int4 file of `cnn` is a third smaller, the int8 file of every head below 1 MB with the output of embeddings."""
    names = tuple(f"a label of usual length {number}" for number in range(labels))
    encoder = dataclasses.replace(TINY_CONFIG, max_chars=136, max_words=24)
    told = dataclasses.replace(data, labels=names, reader=TextReader(data.clean, encoder))
    for head in ("linear", "pool", "cnn"):
        given = room(told, head=head)
        kilobytes = budget.choose_meaning_kb(*given, lambda: 300)
        words = (1000 * kilobytes - 16_384) // 15
        config = MeaningConfig(words=words, rows=2 * words, displacements=words)
        spec, buckets = budget.choose_parts(*given, lambda: 300, config)
        sizes = estimate_bytes(given[0].shapes(spec, config, buckets), encoder, names)
        assert buckets > 128 and sizes["int8"] < 970_000
        assert head != "cnn" or sizes["int4"] < 0.69 * sizes["int8"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", ["linear", "pool", "cnn"])
def test_what_fills_the_room_also_fits_the_largest_format(head: str, tmp_path: Path) -> None:
    """The .mlpackage of a classifier that reads what words mean."""
    pytest.importorskip("coremltools")
    starter = read_dataset(starter_file("train"))
    told = rl.load("language").predict(starter.texts, top=1)
    english = [row for row, (best, *_) in enumerate(told) if best.label == "en"]
    texts, labels = ([column[row] for row in english] for column in (starter.texts, starter.labels))
    classifier = rl.train(texts, labels, head=head, epochs=1)
    (package,) = classifier.export(tmp_path / "dist", formats="coreml").artifacts
    assert package.result.ok and 990_000 < package.result.bytes


def test_settings_follow_the_size_of_the_data_and_what_is_trained() -> None:
    few, many = 19_999, 20_000
    assert [recommended(texts).epochs for texts in (few, many)] == [13, 8]
    assert [recommended(texts).epochs for texts in (FEW, FEW + 1, 9_000)] == [20, 30, 30]
    assert [recommended(texts, multi_label=True).epochs for texts in (few, many)] == [60, 32]
    assert [recommended(few, multi_label=several).patience for several in (False, True)] == [7, 10]
    assert recommended(few, multi_label=True, epochs=3).epochs == 3, "what is asked for wins"
    assert [recommended(texts).linear_variants for texts in (40, FEW, 19_999, 20_000)] == [2, 2, 2, 1]
    assert recommended(FEW, linear_variants=1).linear_variants == 1


@pytest.mark.parametrize("texts", [4, 50, 400, 2000])
def test_few_texts_get_a_least_number_of_steps(texts: int) -> None:
    found = recommended(texts)
    steps_an_epoch = found.steps(texts) // found.epochs
    assert 480 <= found.steps(texts) < 480 + steps_an_epoch or found.epochs == 20


@pytest.mark.parametrize(("texts", "batch", "steps"), [(1, 1, 10), (7, 1, 70), (40, 10, 40), (255, 63, 40), (1000, 128, 70)])  # fmt: skip
def test_very_few_texts_take_four_steps_an_epoch(texts: int, batch: int, steps: int) -> None:
    assert ((settings := FitSettings(epochs=10)).batch(texts), settings.steps(texts)) == (batch, steps)
