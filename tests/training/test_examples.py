"""Texts as examples: variants and sizes fit the data."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from tiny_data import tiny_dataset

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.data.typos import Way
from retvec_lite.training import reading
from retvec_lite.training.examples import choose_sizes, count_uncut_words, make_examples, write_variants
from retvec_lite.training.reading import TextReader
from retvec_lite.windows import read_text

MISTYPED = (Way.CLEAN, Way.FEW_TYPOS, Way.MANY_TYPOS)


def sized(found: Sequence[str]) -> EncoderConfig:
    rules = EncoderConfig()
    return choose_sizes(found, count_uncut_words(found, rules), rules)


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_the_size_is_the_99th_percentile_in_eights() -> None:
    found = ["7 " * n for n in [5] * 195 + [25] * 4 + [400]]
    config = sized(found)
    assert config.max_words == 32 and config.max_chars % 8 == 0 and config.max_chars >= 2 * 25
    long = sized(["wv" * 2_500] * 3)
    assert (long.max_words, long.max_chars) == (256, 4096), "longer texts are read in windows"


@pytest.mark.parametrize("found", [["w"], [" "], ["lights on", "wake me", "play jazz"] * 500])
def test_short_examples_leave_room_for_sentences(found: list[str]) -> None:
    config = sized(found)
    assert config.max_words == 24 and config.max_chars >= 24


@pytest.mark.parametrize("length", [3, 12, 30])
def test_chars_rarely_cut_what_slots_could_hold(length: int) -> None:
    rng = np.random.default_rng(length)
    found = [" ".join("w" * max(1, int(rng.poisson(length))) for _ in range(rng.integers(1, 40))) for _ in range(200)]
    counts = count_uncut_words(found, EncoderConfig())
    config = choose_sizes(found, counts, EncoderConfig())
    assert np.mean(TextReader(found, config).count_words(found) < counts) <= 0.03


# --- variants ---------------------------------------------------------------------------------------------------------

COPIED = ["one two three four five six seven eight"] * 400


def test_without_typos_there_is_one_copy_the_texts_themselves() -> None:
    assert write_variants(COPIED, variants=6, typo_rate=0.0, seed=0) == [COPIED]


def test_copies_are_mistyped_disguised_and_ended_whatever_their_label() -> None:
    variants = write_variants(COPIED, variants=3, typo_rate=0.4, seed=0)
    assert len(variants) == 3 and len({tuple(variant) for variant in variants}) == 3
    original = COPIED[0].split()
    for variant in variants:
        assert 0.1 < sum(text == COPIED[0] for text in variant) / len(variant) < 0.3
        # Without an ending, and mistyped or with disguised words.
        rewritten = [text.split() for text in variant if text != COPIED[0] and len(text.split()) == len(original)]
        changed = [sum(a != b for a, b in zip(words, original, strict=True)) / 8 for words in rewritten]
        assert 0.35 < len(changed) / len(variant) < 0.6
        assert min(changed) == 1 / 8 and max(changed) == 1
        for shown in ("ONE TWO THREE", "0n3 7w0", "eno owt eerht", "onetwo threefour", "https://", "!!", " #", " @"):
            assert any(shown in text for text in variant), shown


def test_copies_follow_the_seed() -> None:
    one, again, other = (write_variants(COPIED[:50], variants=6, typo_rate=0.4, seed=seed) for seed in (1, 1, 2))
    assert one == again != other


# --- everything together ----------------------------------------------------------------------------------------------


def test_a_distinct_text_is_read_once_in_the_sizes_of_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The training texts are read twice: before the sizes are known, and in these."""
    passes: Counter[tuple[str, int]] = Counter()
    plain = reading.condense_texts

    def counting(texts: Sequence[str], config: EncoderConfig) -> list[str]:
        passes.update((text, config.max_chars) for text in texts)
        return plain(texts, config)

    monkeypatch.setattr(reading, "condense_texts", counting)
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    long = training.texts[0] + " and" * 60
    training = dataclasses.replace(training, texts=(long, *training.texts[1:]))
    data = make_examples(training, validation, variants=3, typo_rate=0.3, seed=5)
    groups = (training.texts, *data.variant_texts, *data.held_out_texts.values())
    most = data.config.max_chars
    assert len(long) > most
    counted = Counter((text, reading.LONGEST_COUNTED) for text in {*training.texts})
    assert passes == counted + Counter((text, most) for text in {text for part in groups for text in part})
    assert data.share_cut == 1 / len(training)


def test_prepared_data_is_the_texts_and_their_labels() -> None:
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    data = make_examples(training, validation, variants=2, typo_rate=0.2, seed=3, config=EncoderConfig(max_words=6))
    assert data.share_cut == 1.0, "texts of seven words"
    assert data.labels == training.classes == tuple(sorted(set(training.labels)))
    assert [data.labels[place] for place in data.examples.targets] == list(training.labels)
    assert [data.labels[place] for place in data.held_out.truth] == list(validation.labels)
    assert tuple(data.held_out.ids) == (*MISTYPED, Way.DISGUISED) and data.examples.classes == 4
    groups = [*write_variants(training.texts, variants=2, typo_rate=0.2, seed=3), validation.texts]
    ids = [*data.examples.variants, data.held_out.ids[Way.CLEAN]]
    for group, part in zip(groups, ids, strict=True):
        for row, text in zip(part, group, strict=True):
            read = read_text(text, data.config)
            expected = contract.words(contract.codepoints(read, data.config.max_chars), data.config)
            np.testing.assert_array_equal(data.words[row], expected)
    assert sum(a != b for a, b in zip(data.held_out_texts[Way.DISGUISED], validation.texts, strict=True)) > 8
    plain = make_examples(training, validation, variants=2, typo_rate=0.0, seed=3)
    assert tuple(plain.held_out.ids) == MISTYPED, "without typos, nothing is disguised either"
