"""The linear part of few texts: a machine for each label, and which names of labels are texts as well."""

import random

import numpy as np
import pytest
from fitted import linear_of
from tiny_data import TINY_CONFIG, WORDS, tiny_dataset

import retvec_lite as rl
from retvec_lite.card import describe_meaning
from retvec_lite.data.dataset import Dataset
from retvec_lite.training import linear_part, request
from retvec_lite.training import train as trainer
from retvec_lite.training.described import Origin, describe
from retvec_lite.training.examples import make_examples
from retvec_lite.training.linear_model import FIRM, PENALTY
from retvec_lite.training.meaning_reader import MeaningReader
from retvec_lite.training.train import choose_folds


@pytest.mark.parametrize(
    ("few", "meaning", "expected"), [(True, True, True), (True, False, True), (False, True, False)]
)
def test_texts_get_with_meaning_names_of_labels(
    synonym_reader: MeaningReader, monkeypatch: pytest.MonkeyPatch, few: bool, meaning: bool, expected: bool
) -> None:
    training = tiny_dataset(6)
    named = Dataset(training.texts, tuple(f"{WORDS[label][0]}_please" for label in training.labels), training.path)
    told = make_examples(
        named, named, variants=1, typo_rate=0.2, seed=0, config=TINY_CONFIG, described=describe(named, few=True)
    )
    assert (told.texts, told.count(Origin.NAME), len(told.clean_ids)) == (24, 4, 28)
    monkeypatch.setattr(request, "FEW", 3_000 if few else 10)
    seen, plain = [], linear_part.fit_linear

    def fit_linear(features, targets, classes, **options):  # type: ignore[no-untyped-def]
        seen.append(len(targets))
        return plain(features, targets, classes, **options)

    monkeypatch.setattr(linear_part, "fit_linear", fit_linear)
    fitter = linear_of(told, meaning=synonym_reader if meaning else None)
    fitter.read()
    fitter._fit_rows(np.arange(28))
    assert told.are_few == expected
    assert seen == [2 * (24 + 4 * meaning)], "texts, a mistyped variant, and names"


def test_progress_counts_all_fits(synonym_reader: MeaningReader) -> None:
    training = tiny_dataset(12)
    told = make_examples(
        training, training, variants=2, typo_rate=0.2, seed=0, config=TINY_CONFIG, folds=choose_folds(training, 0)
    )
    seen: list[tuple[int, int]] = []
    linear_of(told, meaning=synonym_reader, progress=lambda _, done, total: seen.append((done, total))).fit_and_answer()
    assert seen == [(done, len(seen)) for done in range(1, len(seen) + 1)]


def test_a_name_is_no_text_where_it_means_what_other_labels_texts_mean(
    synonym_reader: MeaningReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = tiny_dataset(counts={"alarm": 6, "music": 6})
    labels = sorted(set(training.labels))
    words = [WORDS[label][0] for label in labels]

    def learned(names: list[str]) -> int:
        renamed = dict(zip(labels, names, strict=True))
        named = Dataset(training.texts, tuple(renamed[label] for label in training.labels), training.path)
        told = make_examples(
            named, named, variants=1, typo_rate=0.2, seed=0, config=TINY_CONFIG, described=describe(named, few=True)
        )
        fitter = linear_of(told, meaning=synonym_reader)
        fitter.read()
        seen: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(linear_part, "fit_linear", lambda features, *_, **__: seen.append(len(features.counts)))
            fitter._fit_rows(np.arange(14))
        return seen[0] // 2 - 12

    assert learned(words) == 2
    assert learned(words[::-1]) == 0, "names in the places of one another"


# --- pieces: a language without a table of words --------------------------------------------------------------------------

WEATHER = ("明天会下雨吗", "今天气温多少度", "周末天气怎么样", "外面在下雪吗", "今天风大不大", "明天多云吗")
MUSIC = ("播放一首歌", "放点爵士乐", "我想听音乐", "下一首歌曲", "请暂停播放", "打开我的歌单")
UNKNOWN = {"weather": ("台风", "雷暴", "暴风", "晴朗", "寒冷"), "music": ("吉他", "钢琴", "乐队", "唱片", "演唱")}
"""Words that share hardly a letter with the texts."""
CHINESE = (*WEATHER, *MUSIC), ("weather",) * 6 + ("music",) * 6


def right(classifier: rl.Classifier) -> int:
    """Return how many of the unknown words get the right label."""
    return sum(
        answers[0].label == label
        for label, words in UNKNOWN.items()
        for answers in classifier.predict(list(words), 1, reject=False)
    )


def test_words_of_chinese_that_no_text_has_are_known_by_their_pieces() -> None:
    found, without = rl.train(*CHINESE), rl.train(*CHINESE, meaning="none")
    assert right(found) == 10 > right(without)
    assert found.training["meaning"] == {"used": False, "pieces": "zh"}
    assert without.training["meaning"] == {"used": False}
    told = describe_meaning(found.training["meaning"])
    assert told == "It knows what pieces of words of zh mean, and repeats their biases."
    learned = found.learn([("明天有雾吗", "weather")])
    assert right(learned) == 10, "what goes on learning reads them again"


@pytest.mark.parametrize("change", ["many texts", "other n-grams"])
def test_pieces_are_left_out_where_they_were_not_learned_for(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if change == "many texts":
        monkeypatch.setattr(request, "FEW", 10)
    else:
        for module in (trainer, linear_part):
            monkeypatch.setattr(module, "usual_kind", lambda _: (1, 3))
    assert "pieces" not in rl.train(*CHINESE, head="linear").training["meaning"]


PLACES = [
    "the parcel came late {}",
    "we saw the shop {} by the river",
    "she said {} in the end",
    "my brother {} wrote again",
    "nobody knew {} what to do",
    "they play {} on sundays",
]
SOONER = [
    "it was fine all week",
    "the manual is long",
    "our team met yesterday",
    "the train was full",
    "i cannot find the keys",
    "he asked twice",
    "this one is mine",
]


@pytest.mark.parametrize("signs", [(":)", ":("), ("C", "C++", "C#"), ("½", "¼"), ("१", "२")], ids=" ".join)
def test_one_sign_tells_texts_apart(signs: tuple[str, ...]) -> None:
    rng = random.Random(1)

    def drawn(count: int) -> list[str]:
        return [
            f"{rng.choice(SOONER)} {rng.choice(PLACES).format(signs[place % len(signs)])}" for place in range(count)
        ]

    found = rl.train(drawn(80), [f"kind {place % len(signs)}" for place in range(80)], keep="nothing")
    answers = [answer.label for (answer,) in found.predict(drawn(120), top=1, reject=False)]
    assert np.mean([answer == f"kind {place % len(signs)}" for place, answer in enumerate(answers)]) > 0.97


def test_texts_of_words_keep_the_usual_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, plain = [], linear_part.fit_linear
    monkeypatch.setattr(linear_part, "fit_linear", lambda *a, **o: (seen.append(o["penalty"]), plain(*a, **o))[1])
    rl.train(tiny_dataset(6), keep="nothing")
    assert FIRM in seen and seen[-1] == PENALTY
