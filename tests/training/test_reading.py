"""Texts as word ids that name the reference's words, and as counts of the reference's n-grams, by the engine and without it."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from contract_cases import KINDS, draws
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite import contract
from retvec_lite.condensing import MOST_GIVEN
from retvec_lite.contract import EncoderConfig, Ints
from retvec_lite.ngrams import NgramConfig, ngram_buckets
from retvec_lite.runtime import native
from retvec_lite.training import reading
from retvec_lite.training.examples import count_uncut_words
from retvec_lite.training.linear_features import count_ngrams
from retvec_lite.training.reading import Ragged, TextReader
from retvec_lite.windows import Kept, read_text

TEXTS = ["", "  ", "hello hello world", "world", "漢字かな ไทยภาษา x", "wor\u200bld", "supercalifragilisticexpialidocious", "🙂 \ud800", "a b c d e f g h i j k l"]  # fmt: skip
CONFIG = EncoderConfig(max_chars=40, max_words=9)
OTHER_RULES = EncoderConfig(word_length=6, letters_only=True)

characters = st.one_of(st.characters(codec=None), st.sampled_from([chr(c) for kind in KINDS for c in kind if 0 <= c <= 0x10FFFF]))  # fmt: skip
texts = st.lists(st.text(characters, max_size=90), max_size=6)


def encode(found: Sequence[str], config: EncoderConfig) -> tuple[Ints, Ints]:
    reader = TextReader(found, config)
    return reader.word_ids(found), reader.words


# --- word ids ---------------------------------------------------------------------------------------------------------


def assert_reference_words(groups: Sequence[Sequence[str]], ids: Sequence[Ints], words: Ints, config: EncoderConfig) -> None:  # fmt: skip
    """The ids name the words that the contract's reference finds under `config`, each kept once."""
    assert words.dtype == np.int32 and not words[0].any()
    assert len(np.unique(words, axis=0)) == len(words), "every distinct word stands there once"
    for group, part in zip(groups, ids, strict=True):
        assert part.dtype == np.int32 and part.shape == (len(group), config.max_words)
        for row, text in zip(part, group, strict=True):
            expected = contract.words(contract.codepoints(read_text(text, config), config.max_chars), config)
            np.testing.assert_array_equal(words[row], expected)
            np.testing.assert_array_equal(row != 0, expected[:, 0] != 0)


RULES = {"usual": EncoderConfig(), "other": OTHER_RULES}
chosen = st.sampled_from([(24, 5), (64, 9), (128, 200)])


def count_reference_words(text: str, rules: EncoderConfig) -> int:
    longest = dataclasses.replace(rules, max_chars=reading.LONGEST_COUNTED)
    return len(contract._pieces(list(map(ord, read_text(text, longest)[: longest.max_chars])), rules))


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@given(texts, chosen)
@draws(12)
def test_ids_name_the_reference_s_words(rules: EncoderConfig, found: list[str], size: tuple[int, int]) -> None:
    config = dataclasses.replace(rules, max_chars=size[0], max_words=size[1])
    groups = [found, found[::-1], TEXTS]
    assert count_uncut_words(found, rules).tolist() == [count_reference_words(text, rules) for text in found]
    reader = TextReader([*found, *TEXTS], config)
    ids = [reader.word_ids(group) for group in groups]
    assert_reference_words(groups, ids, reader.words, config)
    assert reader.count_words(found).tolist() == (ids[0] != 0).sum(axis=1).tolist()


def test_equal_words_have_equal_ids() -> None:
    ids, _ = encode(TEXTS, CONFIG)
    assert ids[2, 0] == ids[2, 1] != ids[2, 2] == ids[3, 0] == ids[5, 0]


LONG = ["word " * 300, "漢字かな" * 200, "ไทยภาษา" * 90 + " abc" * 60, "x" * 999, "ab cd " * 900, "w " * 2600, "short", "漢" * 70]  # fmt: skip


@pytest.mark.parametrize(
    "size", [(8, 8), (200, 60), (1000, 400), pytest.param((5000, 4000), marks=pytest.mark.exhaustive)], ids=str
)
def test_long_texts_and_unspaced_scripts(size: tuple[int, int]) -> None:
    config = EncoderConfig(max_chars=size[0], max_words=size[1])
    counts = count_uncut_words(LONG, config)
    assert counts.tolist() == [count_reference_words(text, config) for text in LONG]
    ids, words = encode(LONG, config)
    assert_reference_words([LONG], [ids], words, config)


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*TEXTS, *(f"w{number} " * (number % 40) for number in range(60))]
    whole_ids, whole = encode(found, CONFIG)
    monkeypatch.setattr(reading, "_CHARS_AT_ONCE", 64)
    seen: list[tuple[int, int]] = []
    reader = TextReader(found, CONFIG, lambda what, done, total: seen.append((done, total)))
    np.testing.assert_array_equal(reader.word_ids(found), whole_ids)
    np.testing.assert_array_equal(reader.words, whole)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 20
    assert seen[-1] == (len(set(found)), len(set(found)))


def test_without_the_engine_the_reference_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    by_engine = TextReader(LONG + TEXTS, CONFIG)
    for module in (native, reading):
        monkeypatch.setattr(module, "is_built", lambda: False)
    monkeypatch.delattr(reading, "normal_forms")
    told: list[str] = []
    without = TextReader(LONG + TEXTS, CONFIG, lambda what, done, total: told.append(what))
    assert told[0].startswith("Texts are read slowly. The engine") and "pip install" in told[0]
    assert set(told[1:]) == {"encoding texts"}
    for one, other in ((by_engine.runs, without.runs), (by_engine.runs_of(TEXTS), without.runs_of(TEXTS))):
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.counts, other.counts)


def test_the_engine_reads_what_windows_read() -> None:
    found = [*LONG, *TEXTS, "<b>f r e e</b> &amp;amp; m\u0430ney", Kept("a&amp;amp;b <i>"), " " * MOST_GIVEN + "end"]
    assert native.condense_texts(found, CONFIG) == [read_text(text, CONFIG) for text in found]


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
    assert count_uncut_words(found, tiny).tolist() == [2047 + 2], "the first 4,096 code points"


# --- n-grams ----------------------------------------------------------------------------------------------------------


def assert_reference_ngrams(found: list[str], config: EncoderConfig, ngrams: NgramConfig) -> None:
    reader = TextReader([*found, *TEXTS], config)
    groups = (found, TEXTS, [], found[::-1])
    for group, factors in zip(groups, count_ngrams(reader, groups, ngrams), strict=True):
        counts = factors.matrix()
        assert counts.dtype == np.float32 and counts.shape == (len(group), ngrams.buckets)
        assert counts.has_canonical_format, "each bucket once, in ascending order"
        for row, text in zip(counts.toarray(), group, strict=True):
            buckets = ngram_buckets(contract.codepoints(read_text(text, config), config.max_chars), config, ngrams)
            np.testing.assert_array_equal(row, np.bincount(buckets, minlength=ngrams.buckets))
        np.testing.assert_array_equal(factors.totals(), counts.toarray().sum(axis=0))


ngram_kinds = st.sampled_from([(1, 4, True), (3, 5, True), (1, 1, False), (2, 6, False)])


@pytest.mark.parametrize("rules", RULES)
@given(texts, chosen, ngram_kinds)
@draws(12)
def test_counts_are_of_the_reference_s_ngrams(
    rules: str, found: list[str], size: tuple[int, int], kind: tuple[int, int, bool]
) -> None:
    config = dataclasses.replace(RULES[rules], max_chars=size[0], max_words=size[1])
    shortest, longest, plain = kind
    ngrams = NgramConfig(buckets=499, shortest=shortest, longest=longest, plain_letters=plain)
    assert_reference_ngrams(found, config, ngrams)


def test_ngrams_of_long_texts() -> None:
    assert_reference_ngrams(LONG, EncoderConfig(max_chars=300, max_words=60), NgramConfig(buckets=499, longest=3))


# --- rows of different lengths ----------------------------------------------------------------------------------------

rows = st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=6)


def ragged(found: list[list[int]]) -> Ragged:
    return Ragged(np.array(joined(found), np.uint32), np.array([len(row) for row in found], np.int64))


def joined(found: Iterable[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(found))


def lists(found: Ragged) -> list[list[int]]:
    ends = np.cumsum(found.counts)
    return [found.items[end - count : end].tolist() for end, count in zip(ends, found.counts, strict=True)]


@given(rows, st.data())
def test_rows_are_chosen_replaced_and_padded(found: list[list[int]], data: st.DataObject) -> None:
    whole = ragged(found)
    assert lists(whole) == found
    assert whole.rows.tolist() == [row for row, items in enumerate(found) for _ in items]
    assert whole.slots.tolist() == [slot for items in found for slot in range(len(items))]
    assert whole.totals(whole.items).tolist() == list(map(sum, found))
    assert whole.matrix(5).tolist() == [items + [0] * (5 - len(items)) for items in found]
    chosen = data.draw(st.lists(st.integers(0, len(found) - 1), max_size=9)) if found else []
    assert lists(whole[np.array(chosen, np.int64)]) == [found[row] for row in chosen]
    inner = [[1, 2], [], [3], [4, 5, 6]]
    assert lists(whole.within(ragged(inner))) == [joined(inner[item] for item in items) for items in found]


@given(rows)
def test_rows_are_split_and_told_apart(found: list[list[int]]) -> None:
    whole = ragged(found)
    pieces, counts = whole.split(whole.items > 0)
    expected = [[list(run) for kept, run in itertools.groupby(items, bool) if kept] for items in found]
    assert lists(pieces) == list(itertools.chain.from_iterable(expected))
    assert counts.tolist() == list(map(len, expected))
    _, distinct, numbers = pieces.distinct()
    assert [lists(distinct)[number] for number in numbers] == lists(pieces)
    assert len(lists(distinct)) == len(set(map(tuple, lists(pieces))))
