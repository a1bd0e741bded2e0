"""Training texts as word ids: every text passes through the exported encoder once, every distinct word is kept once."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import EncoderConfig, Ints
from retvec_lite.model.encoder_graph import encode_words, word_bits
from retvec_lite.model.network_graph import Tensors, embed_bits

Advance = Callable[[int], None]

_CHARS_AT_ONCE = 2**18
_LONGEST_COUNTED = 4096
_WORDS_AT_ONCE = 8192


@dataclasses.dataclass(frozen=True)
class EncodedTexts:
    """Texts as rows of word ids.

    Attributes:
        ids: int32 `[texts, max_words]`; 0 is the empty slot.
        words: int32 `[distinct words, word_length]`; row 0 is the empty word.
    """

    ids: Ints
    words: Ints


def codepoint_rows(texts: Sequence[str], max_chars: int) -> npt.NDArray[np.int32]:
    """The input of the graph, int32 `[texts, max_chars]`: code points, cut or zero-padded. Surrogates are passed on."""
    rows = np.zeros((len(texts), max_chars), np.int32)
    for row, text in zip(rows, texts, strict=True):
        values = np.frombuffer(text[:max_chars].encode("utf-32-le", "surrogatepass"), np.int32)
        row[: len(values)] = values
    return rows


def encode_texts(texts: Sequence[str], config: EncoderConfig, advance: Advance = lambda count: None) -> EncodedTexts:
    """Run texts through the encoder graph and number their distinct words.

    Ints are told apart by a 64-bit hash of their code points: among ten million words the chance that any two collide is
    below 3e-6.

    Args:
        texts: any texts.
        config: the contract's parameters.
        advance: called with the number of texts done since the last call.
    """
    encode = tf.function(
        lambda rows: encode_words(rows, config),
        input_signature=[tf.TensorSpec([None, config.max_chars], tf.int32)],
        autograph=False,
    )
    multipliers = _hash_multipliers(config.word_length)
    hashes, known, known_words = [], [], []
    at_once = max(1, _CHARS_AT_ONCE // config.max_chars)
    for start in range(0, len(texts), at_once):
        chunk = texts[start : start + at_once]
        words = encode(codepoint_rows(chunk, config.max_chars)).numpy()
        hashed = (words.astype(np.uint64) * multipliers).sum(axis=-1, dtype=np.uint64)
        hashed ^= hashed >> np.uint64(32)
        hashes.append(hashed)
        distinct, first = np.unique(hashed, return_index=True)
        known.append(distinct)
        known_words.append(words.reshape(-1, config.word_length)[first])
        advance(len(chunk))
    empty = np.zeros((1, config.word_length), np.int32)
    distinct, first = np.unique(np.concatenate([np.zeros(1, np.uint64), *known]), return_index=True)
    words = np.concatenate([empty, *known_words])[first]
    ids = np.searchsorted(distinct, np.concatenate(hashes)) if hashes else np.zeros((0, config.max_words))
    return EncodedTexts(ids.astype(np.int32), words)


def embed_words(words: Ints, weights: Tensors, advance: Advance = lambda count: None) -> npt.NDArray[np.float16]:
    """Word vectors, float16 `[distinct words, dimension]`; row 0, the empty word, is zeros as heads see unused slots.

    Float16 holds a tanh output to 2.4e-4, below what dropout and typos do to a training text, at half the memory.
    """
    embed = tf.function(
        lambda chunk: tf.cast(embed_bits(word_bits(chunk[None]), weights)[0], tf.float16),
        input_signature=[tf.TensorSpec([_WORDS_AT_ONCE, words.shape[1]], tf.int32)],
        jit_compile=True,
        autograph=False,
    )

    vectors = []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        chunk = words[start : start + _WORDS_AT_ONCE]
        padded = np.pad(chunk, ((0, _WORDS_AT_ONCE - len(chunk)), (0, 0)))
        vectors.append(embed(padded).numpy()[: len(chunk)])
        advance(len(chunk))
    table: npt.NDArray[np.float16] = np.concatenate(vectors)
    table[0] = 0.0
    return table


def count_words(texts: Sequence[str], config: EncoderConfig) -> npt.NDArray[np.int64]:
    """How many word slots each text asks for, whatever `max_words` and `max_chars` are.

    Counted over the first 4,096 code points of a text, which is more than any phone will classify.
    """
    longest = min(max(map(len, texts)), _LONGEST_COUNTED)
    probe = dataclasses.replace(config, max_chars=_round_up(longest), max_words=_round_up(longest))
    counts: npt.NDArray[np.int64] = (encode_texts(texts, probe).ids != 0).sum(axis=1)
    return counts


def fitting_config(texts: Sequence[str], base: EncoderConfig, max_words: int | None = None) -> EncoderConfig:
    """Choose `max_words` (99th percentile of the texts' words, unless given) and a `max_chars` that rarely cuts before it.

    Both are rounded up to a multiple of 8, which costs little and lets slightly longer texts of the field fit.
    """
    counts = count_words(texts, base)
    slots = (
        min(_round_up(math.ceil(float(np.percentile(counts, 99, method="lower")))), 4096)
        if max_words is None
        else max_words
    )
    lengths = np.minimum(np.array([len(text) for text in texts]), _LONGEST_COUNTED)
    # What the texts that fit the slots need in code points, and what full slots of this data's words would.
    fits = counts <= slots
    needed = float(np.percentile(lengths[fits], 99.5)) if fits.any() else 0.0
    per_word = float(np.percentile(lengths[counts > 0] / counts[counts > 0], 90)) if counts.any() else 1.0
    chars = max(needed, min(per_word, base.word_length + 1.0) * slots)
    return dataclasses.replace(base, max_words=slots, max_chars=min(_round_up(math.ceil(chars)), 65536))


def _round_up(value: int) -> int:
    return max(8, -(-value // 8) * 8)


def _hash_multipliers(width: int) -> npt.NDArray[np.uint64]:
    """Fixed odd multipliers: the hash only names words within one run, so that any good constants do."""
    return np.random.default_rng(2023).integers(1, 2**63, width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
