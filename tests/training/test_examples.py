"""Texts as examples: the ids name the reference's words, however they were encoded; copies and sizes fit the data."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from contract_cases import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_data import tiny_dataset

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Ints, Piece
from retvec_lite.training import examples
from retvec_lite.training.examples import (
    DISGUISED,
    VALIDATION_RATES,
    TextEncoder,
    augmented_copies,
    choose_sizes,
    make_examples,
)

TEXTS = ["", "  ", "hello hello world", "world", "漢字かな ไทยภาษา x", "wor\u200bld", "supercalifragilisticexpialidocious", "🙂 \ud800", "a b c d e f g h i j k l"]  # fmt: skip
CONFIG = EncoderConfig(max_chars=40, max_words=9)
OTHER_RULES = EncoderConfig(word_length=5, han_piece=Piece(3, 2), kana_piece=None, sea_piece=Piece(4, 4), overflow="truncate", drop_invisible=False)  # fmt: skip
ONE_CHARACTER = EncoderConfig(word_length=1, han_piece=None, kana_piece=None, sea_piece=None)

characters = st.one_of(st.characters(codec=None), st.sampled_from([chr(c) for kind in KINDS for c in kind if 0 <= c <= 0x10FFFF]))  # fmt: skip
texts = st.lists(st.text(characters, max_size=90), max_size=6)


def encode(found: Sequence[str], config: EncoderConfig) -> tuple[Ints, Ints]:
    (ids,), words = TextEncoder(found, config).encode([found], config)
    return ids, words


def sized(found: Sequence[str], max_words: int | None = None) -> EncoderConfig:
    rules = EncoderConfig()
    return choose_sizes(found, TextEncoder(found, rules).count_words(found), rules, max_words)


# --- word ids ---------------------------------------------------------------------------------------------------------


def assert_reference_words(groups: Sequence[Sequence[str]], ids: Sequence[Ints], words: Ints, config: EncoderConfig) -> None:  # fmt: skip
    """The ids name exactly the words that the contract's reference finds under `config`, each kept once."""
    assert words.dtype == np.int32 and not words[0].any()
    assert len(np.unique(words, axis=0)) == len(words), "every distinct word stands there once"
    assert set(np.concatenate([[0], *(part.ravel() for part in ids)])) == set(range(len(words)))
    for group, part in zip(groups, ids, strict=True):
        assert part.dtype == np.int32 and part.shape == (len(group), config.max_words)
        for row, text in zip(part, group, strict=True):
            expected = contract.words(contract.codepoints(text, config.max_chars), config)
            np.testing.assert_array_equal(words[row], expected)
            np.testing.assert_array_equal(row != 0, expected[:, 0] != 0)


RULES = {"usual": EncoderConfig(), "other": OTHER_RULES, "characters": ONE_CHARACTER}
chosen = st.sampled_from([(24, 5), (64, 9), (128, 200)])


def assert_counted_and_cut_is_encoded(rules: EncoderConfig, found: list[str], size: tuple[int, int]) -> None:
    """Counted first and then cut, as training does it, or encoded directly: the words are the same."""
    config = dataclasses.replace(rules, max_chars=size[0], max_words=size[1])
    groups = [found, found[::-1], TEXTS]
    encoder = TextEncoder([*found, *TEXTS], rules)
    counts = encoder.count_words(found)
    assert counts.tolist() == [contract.count_pieces([ord(char) for char in text], rules) for text in found]
    ids, words = encoder.encode(groups, config)
    assert_reference_words(groups, ids, words, config)
    assert encoder.count_words(found, config).tolist() == (ids[0] != 0).sum(axis=1).tolist()
    directly = TextEncoder([*found, *TEXTS], rules).encode(groups, config)
    np.testing.assert_array_equal(directly[1], words)
    for one, other in zip(directly[0], ids, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rules", RULES)
@given(texts, chosen)
@settings(max_examples=12)
def test_ids_name_the_reference_s_words(rules: str, found: list[str], size: tuple[int, int]) -> None:
    assert_counted_and_cut_is_encoded(RULES[rules], found, size)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rules", RULES)
@given(texts, chosen)
@settings(max_examples=200)
def test_ids_name_the_reference_s_words_in_many_texts(rules: str, found: list[str], size: tuple[int, int]) -> None:
    assert_counted_and_cut_is_encoded(RULES[rules], found, size)


def test_equal_words_have_equal_ids() -> None:
    ids, _ = encode(TEXTS, CONFIG)
    assert ids[2, 0] == ids[2, 1] != ids[2, 2] == ids[3, 0] == ids[5, 0]


LONG = ["word " * 300, "漢字かな" * 200, "ไทยภาษา" * 90 + " abc" * 60, "x" * 999, "ab cd " * 900, "w " * 2600, "short", "漢" * 70]  # fmt: skip


@pytest.mark.parametrize(
    "size", [(8, 8), (200, 60), (1000, 400), pytest.param((5000, 4000), marks=pytest.mark.exhaustive)], ids=str
)
def test_long_texts_and_unspaced_scripts(size: tuple[int, int]) -> None:
    config = EncoderConfig(max_chars=size[0], max_words=size[1])
    encoder = TextEncoder(LONG, config)
    counts = encoder.count_words(LONG)
    assert counts.tolist() == [contract.count_pieces([ord(char) for char in text[:4096]], config) for text in LONG]
    ids, words = encoder.encode([LONG], config)
    assert_reference_words([LONG], ids, words, config)


def test_more_slots_than_before_are_encoded_again() -> None:
    encoder = TextEncoder(TEXTS, CONFIG)
    for slots in (2, 9, 4):
        config = dataclasses.replace(CONFIG, max_words=slots)
        ids, words = encoder.encode([TEXTS], config)
        assert_reference_words([TEXTS], ids, words, config)


def test_chunks_and_graphs_of_several_sizes_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*TEXTS, *(f"w{number} " * (number % 40) for number in range(60))]
    whole_ids, whole = encode(found, CONFIG)
    monkeypatch.setattr(examples, "_CHARS_AT_ONCE", 128)
    monkeypatch.setattr(examples, "_WORTH_A_GRAPH", 256)
    monkeypatch.setattr(examples, "_TEXTS_AT_ONCE", 7)
    seen: list[tuple[int, int]] = []
    encoder = TextEncoder(found, CONFIG, lambda what, done, total: seen.append((done, total)))
    encoder.count_words(found)
    (ids,), words = encoder.encode([found], CONFIG)
    np.testing.assert_array_equal(ids, whole_ids)
    np.testing.assert_array_equal(words, whole)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 20
    assert seen[-1] == (len(set(found)), len(set(found)))


def test_texts_share_graphs_of_few_sizes() -> None:
    found = {key: "w" * length for key, length in enumerate([3, 64, 65, 100, 129, 400, 401])}
    alike = list(examples._alike(found, 16))
    assert alike == [(512, 256, [0, 1, 2, 3, 4, 5, 6])], "few texts share the longest's"
    many = {key: "漢 " * (5 if key < 9000 else 60) for key in range(14_000)}
    assert [(size, slots, len(keys)) for size, slots, keys in examples._alike(many, 16)] == [(64, 64, 9000), (128, 128, 5000)]  # fmt: skip


def test_no_texts_and_no_words() -> None:
    ids, words = encode([], CONFIG)
    assert ids.shape == (0, CONFIG.max_words) and len(words) == 1
    assert len(encode(["", " "], CONFIG)[1]) == 1


def test_words_are_counted_beyond_every_limit() -> None:
    tiny = EncoderConfig(max_chars=1, max_words=1)
    found = ["7 " * 2047 + "漢" * 9]
    assert TextEncoder(found, tiny).count_words(found).tolist() == [2047 + 2], "the first 4,096 code points"


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_the_size_is_the_99th_percentile_in_eights() -> None:
    found = ["7 " * n for n in [5] * 195 + [17] * 4 + [400]]
    config = sized(found)
    assert config.max_words == 24 and config.max_chars % 8 == 0 and config.max_chars >= 2 * 17
    assert sized(found, 10).max_words == 10
    assert sized(["w"]).max_words == 8
    assert sized([" "]).max_words == 8
    long = sized(["wv" * 2_500] * 3)
    assert long.max_words == 256 and 4096 <= long.max_chars <= 65536


@pytest.mark.parametrize("length", [3, 12, 30])
def test_chars_rarely_cut_what_slots_could_hold(length: int) -> None:
    rng = np.random.default_rng(length)
    found = [" ".join("w" * max(1, int(rng.poisson(length))) for _ in range(rng.integers(1, 40))) for _ in range(200)]
    encoder = TextEncoder(found, EncoderConfig())
    counts = encoder.count_words(found)
    config = choose_sizes(found, counts, EncoderConfig())
    assert np.mean(encoder.count_words(found, config) < counts) <= 0.03


# --- augmented copies -------------------------------------------------------------------------------------------------

COPIED = ["one two three four five six seven eight"] * 400


def test_without_typos_there_is_one_copy_the_texts_themselves() -> None:
    assert augmented_copies(COPIED, copies=6, typo_rate=0.0, seed=0) == [COPIED]


def test_copies_are_mistyped_disguised_and_ended_whatever_their_label() -> None:
    copies = augmented_copies(COPIED, copies=3, typo_rate=0.4, seed=0)
    assert len(copies) == 3 and len({tuple(copy) for copy in copies}) == 3
    original = COPIED[0].split()
    for copy in copies:
        assert 0.1 < sum(text == COPIED[0] for text in copy) / len(copy) < 0.3
        # Without an ending, and mistyped or with disguised words.
        rewritten = [text.split() for text in copy if text != COPIED[0] and len(text.split()) == len(original)]
        changed = [sum(a != b for a, b in zip(words, original, strict=True)) / 8 for words in rewritten]
        assert 0.35 < len(changed) / len(copy) < 0.6
        assert min(changed) == 1 / 8 and max(changed) == 1
        for shown in ("ONE TWO THREE", "0n3 7w0", "eno owt eerht", "onetwo threefour", "https://", "!!", " #", " @"):
            assert any(shown in text for text in copy), shown


def test_copies_follow_the_seed() -> None:
    one, again, other = (augmented_copies(COPIED[:50], copies=6, typo_rate=0.4, seed=seed) for seed in (1, 1, 2))
    assert one == again != other


# --- everything together ----------------------------------------------------------------------------------------------


def test_a_distinct_text_passes_the_encoder_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a text longer than `max_chars` passes twice: before the sizes are known, and cut."""
    passes: Counter[str] = Counter()
    plain = examples.codepoint_rows

    def counting(found: Sequence[str], max_chars: int) -> Any:
        passes.update(found)
        return plain(found, max_chars)

    monkeypatch.setattr(examples, "codepoint_rows", counting)
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    long = training.texts[0] + " and" * 60
    training = dataclasses.replace(training, texts=(long, *training.texts[1:]))
    data = make_examples(training, validation, copies=3, typo_rate=0.3, seed=5)
    groups = (training.texts, *data.mistyped, *data.held_out_texts.values(), data.names.texts)
    distinct = {text for part in groups for text in part}
    most = data.config.max_chars
    assert len(long) > most and long in passes
    counted = [text for text in {*training.texts} if len(text) > most]
    assert passes == Counter([*counted, *(text[:most] for text in distinct)])
    assert data.share_cut == 1 / len(training)


def test_prepared_data_is_the_texts_and_their_labels() -> None:
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    data = make_examples(training, validation, copies=2, typo_rate=0.2, seed=3, max_words=6)
    assert data.config.max_words == 6 and data.share_cut == 1.0, "texts of seven words"
    assert data.labels == training.classes == tuple(sorted(set(training.labels)))
    assert [data.labels[place] for place in data.examples.targets] == list(training.labels)
    assert [data.labels[place] for place in data.held_out.truth] == list(validation.labels)
    assert tuple(data.held_out.ids) == (*VALIDATION_RATES, DISGUISED) and data.examples.classes == 4
    groups = [*augmented_copies(training.texts, copies=2, typo_rate=0.2, seed=3), validation.texts]
    ids = [*data.examples.copies, data.held_out.ids[0.0]]
    for group, part in zip(groups, ids, strict=True):
        for row, text in zip(part, group, strict=True):
            expected = contract.words(contract.codepoints(text, data.config.max_chars), data.config)
            np.testing.assert_array_equal(data.words[row], expected)
    assert sum(a != b for a, b in zip(data.held_out_texts[DISGUISED], validation.texts, strict=True)) > 8
    plain = make_examples(training, validation, copies=2, typo_rate=0.0, seed=3)
    assert tuple(plain.held_out.ids) == VALIDATION_RATES, "without typos, nothing is disguised either"
