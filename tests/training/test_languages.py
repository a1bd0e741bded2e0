"""Languages that no training text is in: texts in their words, a table of them all, and answers to texts that were never seen."""

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from fitted import asked, train
from modeling_cases import random_embedding
from refusals import refusal
from synonyms import UNSEEN, foreign, in_georgian, synonyms
from tiny_data import FILLERS, QUICK, TINY_CONFIG, WORDS, tiny_dataset

from retvec_lite.card import describe_meaning
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import look_up
from retvec_lite.trained import TrainedClassifier
from retvec_lite.training import meaning_reader
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.languages import Translation, other_languages, plain_words, similar_words, translate
from retvec_lite.training.meaning_reader import LEAST_WORDS, MeaningReader, make_reader
from retvec_lite.training.train import Trained

KB = 50
KNOWN = {word for words in WORDS.values() for word in words if word.isascii()}


def backwards(word: str) -> str:
    return "q" + word[::-1]


@pytest.fixture(scope="module")
def translation() -> Translation:
    return Translation(synonyms(), [foreign(), foreign("xx", backwards)])


@pytest.fixture(scope="module")
def data(translation: Translation) -> TrainingData:
    training = tiny_dataset(12)
    return make_examples(
        training, training, variants=2, typo_rate=0.2, seed=0, config=TINY_CONFIG, translation=translation
    )


# --- words for words --------------------------------------------------------------------------------------------------


def test_only_known_words_are_replaced() -> None:
    draws = iter((0.0, 0.9))
    found = translate("Wáke ME, 9am 🙂 wake_up", {"wake": ["weck", "wach"], "me": ["mich"]}, lambda: next(draws, 0.0))
    assert found == "weck mich, 9am 🙂 weck_up"
    assert plain_words("Größe 2024, c4fe дом") == ["große", "c", "fe", "дом"]


def test_words_that_mean_the_same_are_found() -> None:
    found = similar_words(synonyms(), foreign(), ["wake", "rain", "nonsense", *FILLERS])
    groups = {
        word: {in_georgian(other) for other in (*WORDS[label], UNSEEN[label])}
        for label in WORDS
        for word in WORDS[label]
    }
    assert set(found) == {"wake", "rain"}, "fillers mean nothing, and nonsense is not known"
    for word, others in found.items():
        assert set(others) <= groups[word] and others


def test_the_frequent_one_of_equals_is_preferred() -> None:
    """Of twenty words with the same codes, those at the end of the file are not taken."""
    file = foreign()
    codes = file.codes.copy()
    codes[-20:] = codes[file.words.index(in_georgian("wake"))]
    (found,) = similar_words(synonyms(), dataclasses.replace(file, codes=codes), ["wake"]).values()
    assert not set(found) & set(file.words[-20:])


def test_chance_alone_decides_the_language(translation: Translation) -> None:
    texts = ["wake wake"] * 300
    first, second = translation.variants(texts, 2, seed=1)
    assert (first, second) == tuple(translation.variants(texts, 2, seed=1)) and first != second
    share = np.mean(["ა" <= text[0] <= "ჰ" for text in first])
    assert 0.4 < share < 0.6
    assert all("ა" <= text[0] <= "ჰ" or text[0] == "q" for text in first)
    assert len({len({word[0] == "q" for word in text.split()}) for text in first}) == 1, "a text is in one language"


def test_texts_in_the_other_language_stay(translation: Translation) -> None:
    texts = [in_georgian("wake me now"), in_georgian("play a song") + " wake", "", "12"]
    assert translation.variants(texts, 1, seed=0) == [texts]


def test_translations_come_before_words_that_mean_the_same() -> None:
    word, other = in_georgian("wake"), in_georgian("thanks")
    target = dataclasses.replace(foreign(), translations={"wake": {other: 9, word: 1}, "please": {word: 1}})
    (found,) = Translation(synonyms(), [target]).variants(["wake"] * 200 + ["please rain"], 1, seed=0)
    assert 0.8 < np.mean([text == other for text in found[:200]]) < 1.0 and set(found[:200]) == {word, other}
    assert found[-1].startswith(f"{word} "), "a word without a meaning of its own has translations"
    elsewhere = dataclasses.replace(synonyms(), translations={"a": {"the": 1}})
    (found,) = Translation(elsewhere, [target]).variants(["wake"] * 20, 1, seed=0)
    assert other not in found, "they are of the words of another language"


def test_every_second_variant_is_a_translation(data: TrainingData) -> None:
    assert len(data.variant_texts) == len(data.examples.variants) == 4
    for variant, is_translated in zip(data.variant_texts, (False, True, False, True), strict=True):
        left = sum(word in KNOWN for text in variant for word in text.split())
        assert (left == 0) == is_translated
    assert len(data.held_out_texts[Way.TRANSLATED]) == len(data.clean) and Way.TRANSLATED in data.held_out.ids
    assert data.is_translated and set("გო") <= set("".join(data.spelled))
    plain = make_examples(tiny_dataset(3), tiny_dataset(3), variants=2, typo_rate=0.2, seed=0)
    assert not plain.is_translated and len(plain.variant_texts) == 2


# --- one table --------------------------------------------------------------------------------------------------------


def numbers(part: MeaningReader, *words: str) -> list[int]:
    return look_up([tuple(map(ord, word)) for word in words], part.config, part.weights)


def test_languages_share_a_table(data: TrainingData) -> None:
    part, facts = make_reader(synonyms(), data, KB, [foreign()])
    assert set(facts["languages"]) == {"en", "ka"} and sum(facts["languages"].values()) == facts["words"]
    assert abs(facts["languages"]["en"] - facts["languages"]["ka"]) <= 1 and facts["language"] == "en"
    assert sum(value.size for value in part.weights.values()) <= 1000 * KB
    known = sorted(KNOWN)
    assert min(numbers(part, *known, *map(in_georgian, known))) >= 0
    alone, facts = make_reader(synonyms(), data, KB)
    assert "languages" not in facts and numbers(alone, in_georgian("wake")) == [-1]


def test_files_of_one_space_need_no_codebooks_in_common(data: TrainingData) -> None:
    file = foreign()
    other = dataclasses.replace(file, codes=255 - file.codes, codebooks=file.codebooks[:, ::-1])
    np.testing.assert_array_equal(other.vectors, file.vectors)
    assert other_languages(synonyms(), [other]) == [other]
    first, second = (make_reader(synonyms(), data, KB, [each])[0].weights for each in (file, other))
    assert all(np.array_equal(value, second[name]) for name, value in first.items())


def test_words_like_those_of_the_texts_come_first(data: TrainingData) -> None:
    """The rarest words of the language are kept if they mean what words of the texts mean."""
    file = foreign()
    last = dataclasses.replace(file, words=file.words[::-1], codes=file.codes[::-1])
    part, facts = make_reader(synonyms(), data, 47, [last])
    assert facts["languages"]["ka"] < len(last.words)
    assert min(numbers(part, *map(in_georgian, (*KNOWN, *UNSEEN.values())))) >= 0


def test_a_word_of_the_texts_keeps_its_meaning(data: TrainingData) -> None:
    """`wake` of the other language means something else, and is its most frequent word."""
    words = tuple({"please": "wake"}.get(word, "z" + word) for word in synonyms().words)
    part, _ = make_reader(synonyms(), data, KB, [dataclasses.replace(synonyms("xx"), words=words)])
    wake, same, please = part.weights["meaning/codes"][numbers(part, "wake", UNSEEN["alarm"], "please")]
    assert (wake == same).all() and (wake != please).any()


def test_too_many_languages_are_refused(data: TrainingData, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [foreign(f"x{letter}", lambda word, letter=letter: word + letter) for letter in "bcdf"]
    assert refusal(make_reader, synonyms(), data, 40, others) == (
        "5 languages, en included, need 1,000 words each, but a table of 40 kB has room for 1,547: leave languages out."
    )
    with pytest.raises(RetvecLiteError, match=r"room for 4,[0-9]{3}: name at most 3 in languages\."):
        make_reader(synonyms(), data, 85, others)
    assert 5000 <= make_reader(synonyms(), data, 93, others)[1]["words"] < 5100
    monkeypatch.setattr(meaning_reader, "LEAST_WORDS", 4000)
    with pytest.raises(RetvecLiteError, match=r"leave languages out\.$"):
        make_reader(synonyms(), data, 93, others)


def test_languages_go_together() -> None:
    english, other = synonyms(), foreign()
    assert other_languages(english, [synonyms(), other]) == [other], "that of the texts is there already"
    assert not other_languages(None, [])
    with pytest.raises(RetvecLiteError, match="languages needs texts in a language with a built-in table"):
        other_languages(None, [other])
    apart = dataclasses.replace(other, space="another")
    with pytest.raises(RetvecLiteError, match=r"of ka were not learned in the space of those of en: .* Leave ka out"):
        other_languages(english, [apart])


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"languages": "de"}, "languages must be a sequence or None, not 'de'."),
        ({"languages": ["de"], "meaning": "none"}, "languages needs n-grams and what words mean"),
        ({"languages": ["de"], "ngram_kb": 0}, "languages needs n-grams and what words mean"),
        (
            {"languages": ["tlh"]},
            "There is no table of meanings for the language 'tlh': choose from .*en.*, or name a file such as de.safetensors.",
        ),
        ({"languages": ["de", "no.safetensors"]}, "no.safetensors"),
    ],
)
def test_what_cannot_be(options: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = foreign("de")
    monkeypatch.setattr(
        "retvec_lite.training.request.language_file", lambda name: known if name == "de" else _real(name)
    )
    with pytest.raises(RetvecLiteError, match=sentence):
        asked(**options)


def _real(name: Any) -> Any:
    from retvec_lite.model.meaning_file import language_file

    return language_file(name)


def test_a_file_of_a_language_can_be_named(tmp_path: Any) -> None:
    (tmp_path / "ka.safetensors").write_bytes(foreign().to_bytes())
    request = asked(languages=[str(tmp_path / "ka.safetensors"), foreign("xx"), "en"])
    assert [file.language for file in request.languages] == ["ka", "xx", "en"]


# --- trained ----------------------------------------------------------------------------------------------------------


def trained(**given: Any) -> Trained:
    options = {"head": "linear", "ngram_kb": 20, "meaning": synonyms(), **given}
    return train(tiny_dataset(12), embedding=random_embedding(dimension=64), settings=QUICK, **options)


@pytest.fixture(scope="module")
def taught() -> Trained:
    return trained(languages=[foreign()])


def test_texts_of_a_language_that_no_text_is_in_are_answered(taught: Trained) -> None:
    draw = random.Random(4)
    rows = [
        (label, draw.choices([word for word in WORDS[label] if word.isascii()], k=4))
        for label in WORDS
        for _ in range(10)
    ]
    texts = [in_georgian(" ".join(words)) for _, words in rows]

    def right(found: Trained) -> float:
        best = TrainedClassifier(found.model).probabilities(texts).argmax(axis=1)
        return float(
            np.mean([found.model.labels[place] == label for place, (label, _) in zip(best, rows, strict=True)])
        )

    assert right(taught) > 0.9 and right(trained()) < 0.6
    assert TrainedClassifier(taught.model).predict(texts[0]), "letters of the language are no reason for no answer"
    assert taught.held_out.validation[0.0].accuracy > 0.9 and min(taught.held_out.validation) == 0.0


def test_words_that_no_translation_has_are_known_by_what_they_mean(taught: Trained) -> None:
    found = TrainedClassifier(taught.model).probabilities([in_georgian(word) for word in UNSEEN.values()])
    assert [taught.model.labels[best] for best in found.argmax(axis=1)] == list(UNSEEN)


def test_the_report_says_which_languages(taught: Trained) -> None:
    facts = taught.model.training["meaning"]
    assert facts["used"] and facts["languages"]["ka"] >= LEAST_WORDS
    about = describe_meaning(facts)
    assert f"{facts['languages']['ka']:,} words of ka" in about
    unmeasured = " It read words of ka, but no texts in ka were measured: evaluate it on some."
    assert about.endswith(unmeasured)
    assert describe_meaning({**facts, "used": False, "left_out": "no room"}).endswith(f"no room.{unmeasured}")


def test_a_network_learns_from_translations_too() -> None:
    found = trained(head="pool", languages=[foreign()])
    texts = [in_georgian(f"{words[0]} {words[1]} {words[2]}") for words in WORDS.values()]
    best = TrainedClassifier(found.model).probabilities(texts).argmax(axis=1)
    assert [found.model.labels[place] for place in best] == list(WORDS)
