"""The encoder graph against the reference: the same words and bits for any int32 input and any config, alone or batched."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from contract_cases import HOSTILE, INT32, KINDS, code_points, configs, draws, padded, random_code_points
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite import contract
from retvec_lite.contract import BITS, UNSPACED, EncoderConfig, Piece
from retvec_lite.model import encoder_graph as encoder
from retvec_lite.model.encoder_graph import cut_words, sanitize, word_bits

Rows = npt.NDArray[np.int32]


def encode_words(rows: Any, config: EncoderConfig) -> tf.Tensor:
    return cut_words(sanitize(rows, config), config)


def oracle(rows: Rows, config: EncoderConfig) -> Rows:
    return np.stack([contract.words(row, config) for row in rows])


def assert_same(rows: Rows, words: Any, config: EncoderConfig) -> None:
    expected = oracle(rows, config)
    words = np.asarray(words)
    assert words.dtype == np.int32 and words.shape == expected.shape
    for row, found, right in zip(rows, words, expected, strict=True):
        assert found.tolist() == right.tolist(), f"{[hex(value) for value in row]} under {config}"


@given(st.data())
@draws(20)
def test_any_input_under_any_config(data: st.DataObject) -> None:
    config = data.draw(configs())
    rows = np.stack([padded(data.draw(code_points(config.max_chars)), config.max_chars) for _ in range(3)])
    together = encode_words(tf.constant(rows), config)
    assert_same(rows, together, config)
    alone = encode_words(tf.constant(rows[1:2]), config)
    assert_same(rows[1:2], alone, config)
    digits = word_bits(together).numpy()
    assert digits.dtype == np.float32
    np.testing.assert_array_equal(digits, np.stack([contract.bits(words) for words in together.numpy()]))


CONFIGS = [
    EncoderConfig(max_chars=96, max_words=24),
    EncoderConfig(max_chars=96, max_words=200),
    EncoderConfig(max_chars=96, max_words=1),
    EncoderConfig(max_chars=64, max_words=12, word_length=6),
    EncoderConfig(max_chars=1, max_words=3),
    EncoderConfig(max_chars=7, max_words=8, word_length=64),
]


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_the_compiled_graph_on_many_texts(config: EncoderConfig) -> None:
    """As in training: a batch of unknown size, with texts that reach every limit."""
    graph = tf.function(
        lambda rows: encode_words(rows, config), input_signature=[tf.TensorSpec([None, config.max_chars], tf.int32)]
    )
    rows = random_code_points(np.random.default_rng(7), 60, config.max_chars)
    assert_same(rows, graph(rows), config)
    assert graph(rows[:0]).shape == (0, config.max_words, config.word_length)


def test_the_graph_of_one_text_as_it_is_exported() -> None:
    config = CONFIGS[0]
    graph = tf.function(
        lambda rows: word_bits(encode_words(rows, config)),
        input_signature=[tf.TensorSpec([1, config.max_chars], tf.int32)],
    )
    concrete = graph.get_concrete_function()
    assert concrete.output_shapes == (1, config.max_words, config.word_length * BITS)
    for row in random_code_points(np.random.default_rng(8), 20, config.max_chars):
        np.testing.assert_array_equal(graph(row[None]).numpy()[0], contract.bits(contract.words(row, config)))


def test_every_border_of_the_character_classes() -> None:
    """Inside a word: the ends of every range and page, all separators and invisible characters, and their neighbours."""
    config = EncoderConfig(max_chars=3, max_words=6)
    borders = {code for ranges in UNSPACED.values() for span in ranges for code in span}
    pages = {page * 256 for page in range(0x1100)}
    codes = {*borders, *pages, *HOSTILE, *(code for kind in KINDS for code in kind)}
    codes = sorted({near for code in codes for near in (code - 1, code, code + 1) if INT32[0] <= near <= INT32[1]})
    rows = np.array([[0x61, code, 0x61] for code in codes], np.int32)
    assert_same(rows, encode_words(tf.constant(rows), config), config)


@pytest.mark.parametrize("fill", [*HOSTILE, 0, 0x20, 0x4E00, 0x200B, 0x61])
def test_a_text_of_one_value_alone(fill: int) -> None:
    for config in (CONFIGS[0], CONFIGS[2], EncoderConfig(max_chars=40, max_words=50, word_length=6)):
        rows = np.full((2, config.max_chars), fill, np.int32)
        assert_same(rows, encode_words(tf.constant(rows), config), config)


@given(st.lists(st.integers(*INT32) | st.sampled_from(HOSTILE), min_size=16, max_size=16))
@draws(30)
def test_no_index_ever_leaves_its_tensor(values: list[int]) -> None:
    """Every index passed to `tf.gather` and `tf.scatter_nd` must be in range: TFLite does not check."""
    config = EncoderConfig(max_chars=16, max_words=3, word_length=6)
    asked: list[tuple[int, int, int]] = []
    gather, scatter = tf.gather, tf.scatter_nd

    def watched_gather(params: Any, indices: Any, **options: Any) -> Any:
        found = np.asarray(indices)
        asked.append((int(found.min()), int(found.max()), int(np.asarray(params).shape[0])))
        return gather(params, indices, **options)

    def watched_scatter(indices: Any, updates: Any, shape: Any) -> Any:
        found = np.asarray(indices)
        asked.append((int(found.min()), int(found.max()), int(shape[0])))
        return scatter(indices, updates, shape)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf, "gather", watched_gather)
        patch.setattr(tf, "scatter_nd", watched_scatter)
        encode_words(tf.constant([values, values[::-1]], tf.int32), config)
    assert len(asked) >= 4
    assert all(0 <= low <= high < size for low, high, size in asked), asked


@given(st.lists(st.integers(0, 0x10FFFF), min_size=12, max_size=12))
def test_bits_are_exact(values: list[int]) -> None:
    words = np.array(values, np.int32).reshape(2, 3, 2)
    digits = word_bits(tf.constant(words)).numpy()
    assert "".join(str(int(digit)) for digit in digits.reshape(-1)) == "".join(
        format(value, "021b") for value in values
    )


def test_bits_of_every_power_and_its_neighbours() -> None:
    values = sorted({near for k in range(21) for near in (2**k - 1, 2**k, 2**k + 1)} | {0x10FFFF})
    values = [value for value in values if value <= 0x10FFFF]
    digits = word_bits(tf.constant(values, tf.int32)[None, :, None]).numpy()[0]
    assert ["".join(map(str, row.astype(int))) for row in digits] == [format(value, "021b") for value in values]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 11, 13, 48, 63, 64])
def test_the_longest_run_starts_a_piece_at_every_step(step: int) -> None:
    """The fraction of a step is the only rounded number in the graph; here it is as far from its start as possible."""
    length = 65536
    config = EncoderConfig(max_chars=length, max_words=1)
    rules = [*([Piece(64, 64)] * 3), Piece(64, step)]
    codepoints = tf.fill([1, length], 0x0E01)
    places = np.arange(length)
    shows_more = (places == 0) | (places + 64 - step < length)
    starts = encoder._starts_piece(tf.floor(encoder.sanitize(codepoints, config) / 2.0**BITS), rules)
    np.testing.assert_array_equal(starts.numpy()[0], (places % step == 0) & shows_more)


def test_matrix_products_with_rounded_factors_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs may round factors of matrix products to 11 bits (TensorFloat-32), so no code point may be a factor."""
    products, matmul = [], tf.matmul

    def rounded(values: tf.Tensor) -> tf.Tensor:
        return tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(values, tf.int32), -(1 << 13)), tf.float32)

    def rough(left: tf.Tensor, right: Any) -> tf.Tensor:
        products.append(left)
        return matmul(rounded(left), rounded(tf.constant(right)))

    monkeypatch.setattr(tf, "matmul", rough)
    config = CONFIGS[0]
    rows = random_code_points(np.random.default_rng(9), 20, config.max_chars)
    words = encode_words(tf.constant(rows), config)
    assert_same(rows, words, config)
    np.testing.assert_array_equal(word_bits(words).numpy(), np.stack([contract.bits(row) for row in words.numpy()]))
    assert products
