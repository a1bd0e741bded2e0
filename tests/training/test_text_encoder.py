"""Texts as word ids that name the reference's words, however they were encoded, and as counts of the reference's n-grams."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from contract_cases import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Ints, Piece
from retvec_lite.ngrams import NgramConfig, ngram_buckets
from retvec_lite.training import run_table, text_encoder
from retvec_lite.training.run_table import Runs, RunTable, in_sizes
from retvec_lite.training.text_encoder import TextEncoder

TEXTS = ["", "  ", "hello hello world", "world", "漢字かな ไทยภาษา x", "wor\u200bld", "supercalifragilisticexpialidocious", "🙂 \ud800", "a b c d e f g h i j k l"]  # fmt: skip
CONFIG = EncoderConfig(max_chars=40, max_words=9)
OTHER_RULES = EncoderConfig(word_length=5, han_piece=Piece(3, 2), kana_piece=None, sea_piece=Piece(4, 4), overflow="truncate", drop_invisible=False)  # fmt: skip
ONE_CHARACTER = EncoderConfig(word_length=1, han_piece=None, kana_piece=None, sea_piece=None)

characters = st.one_of(st.characters(codec=None), st.sampled_from([chr(c) for kind in KINDS for c in kind if 0 <= c <= 0x10FFFF]))  # fmt: skip
texts = st.lists(st.text(characters, max_size=90), max_size=6)


def encode(found: Sequence[str], config: EncoderConfig) -> tuple[Ints, Ints]:
    (ids,), words = TextEncoder(found, config).encode([found], config)
    return ids, words


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


def test_a_text_is_cut_to_fewer_and_to_more_slots_than_before() -> None:
    encoder = TextEncoder(TEXTS, CONFIG)
    for slots in (2, 9, 4):
        config = dataclasses.replace(CONFIG, max_words=slots)
        ids, words = encoder.encode([TEXTS], config)
        assert_reference_words([TEXTS], ids, words, config)


def test_chunks_and_graphs_of_several_sizes_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*TEXTS, *(f"w{number} " * (number % 40) for number in range(60))]
    whole_ids, whole = encode(found, CONFIG)
    monkeypatch.setattr(text_encoder, "_CHARS_AT_ONCE", 128)
    monkeypatch.setattr(run_table, "_CHARS_AT_ONCE", 64)
    monkeypatch.setattr(run_table, "_WORTH_A_GRAPH", 256)
    monkeypatch.setattr(text_encoder, "_TEXTS_AT_ONCE", 7)
    seen: list[tuple[int, int]] = []
    encoder = TextEncoder(found, CONFIG, lambda what, done, total: seen.append((done, total)))
    encoder.count_words(found)
    (ids,), words = encoder.encode([found], CONFIG)
    np.testing.assert_array_equal(ids, whole_ids)
    np.testing.assert_array_equal(words, whole)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 20
    assert seen[-1] == (len(set(found)), len(set(found)))


def test_texts_share_graphs_of_few_sizes() -> None:
    few = np.array([3, 64, 65, 100, 129, 400, 401])
    assert [(size, places.tolist()) for size, places in in_sizes(few, 64)] == [(512, [0, 1, 2, 3, 4, 5, 6])]
    many = np.array([10] * 9000 + [120] * 5000)
    assert [(size, len(places)) for size, places in in_sizes(many, 64)] == [(64, 9000), (128, 5000)]
    assert list(in_sizes(many[:0], 64)) == []


@pytest.mark.parametrize(
    "text", ["e\u0301" * 30, "\u0958" * 30, "\u1112\u1161\u11ab " * 20], ids=["shorter", "longer", "hangul"]
)
def test_texts_are_composed_before_they_are_cut(text: str) -> None:
    config = EncoderConfig(max_chars=24, max_words=12)
    ids, words = encode([text], config)
    assert_reference_words([[text]], [ids], words, config)


def test_no_texts_and_no_words() -> None:
    ids, words = encode([], CONFIG)
    assert ids.shape == (0, CONFIG.max_words) and len(words) == 1
    assert len(encode(["", " "], CONFIG)[1]) == 1


def test_words_are_counted_beyond_every_limit() -> None:
    tiny = EncoderConfig(max_chars=1, max_words=1)
    found = ["7 " * 2047 + "漢" * 9]
    assert TextEncoder(found, tiny).count_words(found).tolist() == [2047 + 2], "the first 4,096 code points"


# --- n-grams ----------------------------------------------------------------------------------------------------------


def assert_reference_ngrams(found: list[str], config: EncoderConfig, ngrams: NgramConfig) -> None:
    """The counts are those of the reference's n-grams, also of texts that were read in other sizes before."""
    encoder = TextEncoder([*found, *TEXTS], config)
    encoder.count_words(found)
    groups = (found, TEXTS, [], found[::-1])
    for group, factors in zip(groups, encoder.count_ngrams(groups, config.max_chars, ngrams), strict=True):
        counts = factors.matrix()
        assert counts.dtype == np.float32 and counts.shape == (len(group), ngrams.buckets)
        assert counts.has_canonical_format, "each bucket once, in ascending order"
        for row, text in zip(counts.toarray(), group, strict=True):
            buckets = ngram_buckets(contract.codepoints(text, config.max_chars), config, ngrams)
            np.testing.assert_array_equal(row, np.bincount(buckets, minlength=ngrams.buckets))
        np.testing.assert_array_equal(factors.totals(), counts.toarray().sum(axis=0))


ngram_kinds = st.sampled_from([(1, 4, True), (3, 5, True), (1, 1, False), (2, 6, False)])


@pytest.mark.parametrize("rules", RULES)
@given(texts, chosen, ngram_kinds)
@settings(max_examples=12)
def test_counts_are_of_the_reference_s_ngrams(
    rules: str, found: list[str], size: tuple[int, int], kind: tuple[int, int, bool]
) -> None:
    config = dataclasses.replace(RULES[rules], max_chars=size[0], max_words=size[1])
    shortest, longest, plain = kind
    ngrams = NgramConfig(buckets=499, shortest=shortest, longest=longest, plain_letters=plain)
    assert_reference_ngrams(found, config, ngrams)


def test_ngrams_of_long_texts() -> None:
    assert_reference_ngrams(LONG, EncoderConfig(max_chars=300, max_words=60), NgramConfig(buckets=499, longest=3))


# --- runs -------------------------------------------------------------------------------------------------------------


def test_equal_runs_have_one_number_and_keep_their_characters() -> None:
    table = RunTable()

    def runs(*rows: tuple[int, list[float]]) -> Runs:
        hashes, characters = zip(*rows, strict=True)
        lengths = np.array([len(row) for row in characters])
        return Runs(np.array(hashes, np.uint64), lengths, np.concatenate(characters).astype(np.float32))

    table.add(runs((7, [1.0, 2.0]), (3, [5.0]), (7, [1.0, 2.0])))
    table.settle()
    first = table.numbers(np.array([7, 3], np.uint64)).tolist()
    table.add(runs((3, [5.0]), (5, [8.0, 9.0, 4.0])))
    table.add(runs((5, [8.0, 9.0, 4.0]), (1, [6.0])))
    table.settle()
    assert len(table) == 4
    assert table.numbers(np.array([7, 3], np.uint64)).tolist() == first, "numbers stay"
    numbers = table.numbers(np.array([5, 1, 7, 3], np.uint64)).astype(np.int64)
    assert sorted(numbers) == [0, 1, 2, 3]
    ((places, characters),) = table.matrices(numbers)
    order = np.argsort(places)
    assert characters[order][:, :4].tolist() == [[8, 9, 4, 0], [6, 0, 0, 0], [1, 2, 0, 0], [5, 0, 0, 0]]
