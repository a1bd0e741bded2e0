"""What words mean, in a training: the language, the words that are kept, texts as the file reads them, and only where it helps."""

from typing import Any

import numpy as np
import pytest
from fitted import asked, linear_of, train
from modeling_cases import random_embedding
from refusals import refusal
from synonyms import UNSEEN, synonyms
from tiny_data import FILLERS, QUICK, TINY_CONFIG, WORDS, tiny_dataset

from retvec_lite import contract
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import look_up, text_vector
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.trained import TrainedClassifier
from retvec_lite.training import languages, linear_part, meaning_reader
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.languages import choose_language, choose_pieces, language_shares
from retvec_lite.training.meaning_reader import MeaningReader, make_reader, word_frequencies
from retvec_lite.training.reading import TextReader
from retvec_lite.training.train import Trained

KB = 25
ENGLISH = ("Where is my parcel?", "Please wake me up at half past six.", "What will the weather be like tomorrow?")
GERMAN = (
    "Wo ist mein Paket geblieben?",
    "Bitte weck mich morgen um halb sieben.",
    "Wie wird das Wetter am Wochenende?",
)


def numbers(synonym_reader: MeaningReader, *words: str) -> list[int]:
    return look_up([tuple(map(ord, word)) for word in words], synonym_reader.config, synonym_reader.weights)


# --- language ---------------------------------------------------------------------------------------------------------


def test_the_detector_tells_the_languages_of_some_texts() -> None:
    found = language_shares(ENGLISH + GERMAN + ("12:30", ""), 0)
    assert found == {"en": 0.5, "de": 0.5}, "texts in no language do not count"
    assert language_shares(["!", "12"], 0) == {}


@pytest.mark.parametrize(("texts", "language", "taken"), [(ENGLISH, "en", 1), (ENGLISH, "de", 0), (GERMAN, "en", 0)])
def test_a_table_of_another_language_is_left_out(texts: tuple[str, ...], language: str, taken: bool) -> None:
    file = synonyms(language)
    left_out = {"left_out": f"less than 20% of the texts are in {language}"}
    expected = (file, {"share_of_texts": 1.0}) if taken else (None, left_out)
    assert choose_language((file,), language_shares(texts, 0), asked()) == expected
    named = choose_language((file,), language_shares(texts, 0), asked(meaning=file))
    assert named == (file, {}), "a file that was named is taken as it is"


def test_the_language_of_most_texts_is_chosen() -> None:
    files = synonyms("en"), synonyms("de")
    found = choose_language(files, language_shares((*ENGLISH[:1], *GERMAN), 0), asked())
    assert found == (files[1], {"share_of_texts": 0.75, "spoken": {"en": 0.25, "de": 0.75}}), (
        "and which others are spoken"
    )
    rare = choose_language(files, {"de": 0.96, "en": 0.04}, asked())
    assert rare == (files[1], {"share_of_texts": 0.96})


def test_a_table_of_the_package_is_read_once_its_language_is_chosen() -> None:
    found, facts = choose_language(("de", "en", "xx"), language_shares(ENGLISH, 0), asked())
    assert found is not None and (found.language, facts) == ("en", {"share_of_texts": 1.0})
    left_out = choose_language(("de", "es"), language_shares(ENGLISH, 0), asked())
    assert left_out == (None, {"left_out": "less than 20% of the texts are in any language with a table of meanings"})


def test_pieces_are_those_of_the_language_of_most_texts_unless_meanings_were_named_or_left_out() -> None:
    spoken = {"zh-Hans": 0.3, "zh-Hant": 0.3, "bn": 0.4}
    found = choose_pieces(spoken, asked())
    assert found is not None and found.language == "zh", "scripts of one language add up"
    for options in ({"meaning": "none"}, {"meaning": synonyms()}, {"ngram_kb": 0}):
        assert choose_pieces(spoken, asked(**options)) is None
    for others in ({}, {"sw": 1.0}, {"bn": 0.1}):
        assert choose_pieces(others, asked()) is None


# --- words ------------------------------------------------------------------------------------------------------------


def test_words_are_counted_in_plain_letters(synonym_data: TrainingData) -> None:
    texts = ("Wake, wake!", "café c4fe Ｗake", "rain-coat 99 " + "x" * 17)
    training = Dataset(texts, ("a", "b", "a"))
    told = make_examples(training, training, variants=1, typo_rate=0.0, seed=0, config=TINY_CONFIG)
    assert word_frequencies(told) == {"wake": 3, "cafe": 2, "rain": 1, "coat": 1, "gg": 1, **_rest("x" * 17)}


def _rest(word: str) -> dict[str, int]:
    """A longer word is two slots; the normal form leaves two of the same letter."""
    return {word[:2]: 1}


def test_words_of_the_texts_come_first_then_frequent_ones(
    synonym_data: TrainingData, synonym_reader: MeaningReader
) -> None:
    file, (_, facts) = synonyms(), make_reader(synonyms(), synonym_data, KB)
    small, _ = make_reader(file, synonym_data, 20)
    needed = [word for words in WORDS.values() for word in words if word in file.words]
    assert len(needed) > 8 and small.config.words < synonym_reader.config.words < len(file.words)
    for found in (small, synonym_reader):
        assert min(numbers(found, *needed, *FILLERS)) >= 0
        assert numbers(found, file.words[-1]) == [-1], "the rarest has no room"
    assert numbers(synonym_reader, "wke", "alrm", "rqin") == numbers(synonym_reader, "wake", "alarm", "rain"), (
        "they get the keys of typos"
    )
    assert (
        max(numbers(synonym_reader, *needed))
        < len(needed) + len(FILLERS)
        <= min(numbers(synonym_reader, *UNSEEN.values()))
    )
    counts = word_frequencies(synonym_data)
    known = sum(count for word, count in counts.items() if word in file.words)
    assert facts["known_words"] == pytest.approx(known / counts.total(), abs=1e-4) and 0.5 < facts["known_words"] < 1
    assert facts["words"] == synonym_reader.config.words


@pytest.mark.parametrize("kilobytes", [20, 22, 30])
def test_the_table_takes_the_kilobytes_that_it_may(synonym_data: TrainingData, kilobytes: int) -> None:
    found, _ = make_reader(synonyms(), synonym_data, kilobytes)
    size = sum(value.size for value in found.weights.values())
    assert size <= 1000 * kilobytes and (size > 1000 * kilobytes - 50 or found.config.words == len(synonyms().words))


def test_codes_of_many_texts_are_fitted_to_some_of_all_of_them(synonym_data: TrainingData, monkeypatch: Any) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(meaning_reader, "_TEXTS", 10)
    monkeypatch.setattr(
        meaning_reader, "text_meanings", lambda words, vectors: seen.append(words) or np.zeros((3, 128))
    )
    make_reader(synonyms(), synonym_data, KB)
    some = np.arange(0, len(synonym_data.clean), -(-len(synonym_data.clean) // 10))
    assert len(seen[0]) == len(some) <= 10
    used = np.unique(synonym_data.clean_ids[some])
    np.testing.assert_array_equal(used[seen[0]], synonym_data.clean_ids[some])


def test_texts_are_read_as_the_reference_reads_them(synonym_data: TrainingData, synonym_reader: MeaningReader) -> None:
    texts = [
        *synonym_data.clean[:20],
        *synonym_data.variant_texts[0][:20],
        "don't e-mail, naïve 手机 wa-ke rqin",
        "",
        "12",
        "z" * 17,
        "Wake " * 20,
    ]
    found = synonym_reader.vectors(TextReader(texts, synonym_data.config), texts)
    for text, vector in zip(texts, found, strict=True):
        codes = contract.codepoints(text, synonym_data.config.max_chars)
        expected = text_vector(codes, synonym_data.config, synonym_reader.config, synonym_reader.weights)
        np.testing.assert_array_equal(vector, expected)
    lengths = np.linalg.norm(found, axis=1)
    assert np.allclose(lengths[:20], 1.0, atol=1e-5) and not lengths[-4:-1].any()
    assert synonym_reader.vectors(synonym_data.reader, []).shape == (0, 64)


# --- trained ----------------------------------------------------------------------------------------------------------


def trained_on(data: Dataset, **given: Any) -> Trained:
    options = {"head": "linear", "ngram_kb": 20, "meaning": synonyms(), **given}
    return train(data, embedding=random_embedding(dimension=64), settings=QUICK, **options)


@pytest.fixture(scope="module")
def taught() -> Trained:
    return trained_on(tiny_dataset(12))


def answers(trained: Trained) -> list[str]:
    found = TrainedClassifier(trained.model).probabilities(list(UNSEEN.values()))
    return [trained.model.labels[best] for best in found.argmax(axis=1)]


def test_it_knows_words_that_no_training_text_has(taught: Trained) -> None:
    assert answers(taught) == list(UNSEEN)
    facts = taught.model.training["meaning"]
    assert (
        taught.model.meaning is not None
        and facts["used"]
        and facts["language"] == "en"
        and facts["words"] == taught.model.meaning.words
    )
    assert "It knows what " in str(TrainedClassifier(taught.model))
    without = trained_on(tiny_dataset(12), meaning="none")
    assert without.model.meaning is None and answers(without) != list(UNSEEN)
    assert not without.model.training["meaning"]["used"]
    assert not any(name.startswith("meaning/") for name in without.model.weights)


def test_the_estimate_counts_the_table(taught: Trained) -> None:
    without = trained_on(tiny_dataset(12), meaning="none").model.training["estimated_bytes"]
    for recipe, size in taught.model.training["estimated_bytes"].items():
        assert 20_000 < size - without[recipe] < 60_000, recipe


@pytest.mark.parametrize(
    "options",
    [{"unknown_label": "other, 🙂"}, {"validation": 0.25}, {"head": "pool"}],
    ids=lambda options: next(iter(options)),
)
def test_it_goes_with_other_options(options: dict[str, Any]) -> None:
    model = trained_on(tiny_dataset(12), **options).model
    assert model.meaning is not None and model.training["meaning"]["used"]
    assert model.weights["meaning/projection"].shape == (64, len(model.labels))


def test_several_labels_a_text() -> None:
    single = tiny_dataset(12)
    labels = [label if place % 5 else f"{label}|music" for place, label in enumerate(single.labels)]
    data = Dataset(single.texts, tuple("|".join(dict.fromkeys(label.split("|"))) for label in labels), multi_label=True)
    model = trained_on(data, multi_label=True).model
    assert model.multi_label and model.meaning is not None


def test_codebooks_of_ngrams_read_it_beside_them(
    synonym_data: TrainingData, synonym_reader: MeaningReader, monkeypatch: Any
) -> None:
    monkeypatch.setattr(linear_part, "choose_codebooks", lambda *_: 1)
    fitter = linear_of(synonym_data, meaning=synonym_reader)
    logits = fitter.fit_and_answer()
    assert fitter.config.codebooks == 1
    assert {"ngrams/codes", "meaning/projection"} <= set(fitter.model.weights)
    assert synonym_data.scheme.score(logits[Way.CLEAN], synonym_data.held_out.truth) > 0.9


def test_a_file_without_room_for_it_has_none() -> None:
    data = tiny_dataset(4)
    with pytest.raises(RetvecLiteError, match=r"Raise --max-kb \(max_kb\) to \d+") as refused:
        trained_on(data, ngram_kb=90, meaning="none", max_kb=100)
    least = int(str(refused.value).partition("(max_kb) to ")[2].partition(",")[0])
    trained = trained_on(data, ngram_kb=90, max_kb=least + 15)
    model, facts = trained.model, trained.model.training["meaning"]
    assert not facts["used"] and facts["left_out"] == "the file has no room for it"
    assert model.meaning is None and "meaning/rows" not in model.weights
    assert "It does not know what words mean: the file has no" in str(TrainedClassifier(model))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"meaning": "x.safetensors", "ngram_kb": 0}, "meaning needs n-grams: the linear part reads both.")],
)
def test_what_cannot_be(options: dict[str, Any], sentence: str) -> None:
    assert refusal(asked, **options).startswith(sentence)


def test_a_file_that_is_none_is_refused_before_the_work(tmp_path: Any) -> None:
    (tmp_path / "words.safetensors").write_bytes(b"no")
    for name in ("words.safetensors", "missing.safetensors"):
        with pytest.raises(RetvecLiteError, match=name):
            asked(meaning=tmp_path / name)
    (tmp_path / "good.safetensors").write_bytes(synonyms().to_bytes())
    (found,) = asked(meaning=str(tmp_path / "good.safetensors")).meanings
    assert isinstance(found, MeaningFile) and found.words == synonyms().words
    assert not asked(meaning="none").meanings


def test_detector_is_not_asked_about_a_named_file(monkeypatch: Any) -> None:
    monkeypatch.setattr(languages, "language_shares", lambda *_: pytest.fail("asked"))
    assert choose_language((synonyms(),), language_shares(ENGLISH, 0), asked(meaning=synonyms()))[0] is not None
    assert choose_language((), language_shares(ENGLISH, 0), asked(meaning="none"))[0] is None
