"""Pieces of another language in the space of the English words: n-grams such that a sentence means what its translation means.

They are learned by the hashes that a training counts, for scripts without spaces, too. A training divides the sum of a text's n-grams by a
length in which frequent ones count little; here they count little as well.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse

from makers.meaning.biases import NOT_FOR
from makers.meaning.codes import balanced_axes, coded, importance
from makers.meaning.corpus import read_lines
from makers.meaning.languages import conjugate_gradients
from makers.meaning.translations import FEWEST_PAIRS, split_pairs, translation_files
from makers.meaning.words import meaning_words_of
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import packaged_meaning
from retvec_lite.model.pieces_file import PIECE_BYTES, PiecesFile
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.terminal import Progress
from retvec_lite.training.linear_features import count_ngrams, usual_kind
from retvec_lite.training.reading import TextReader
from retvec_lite.version import __version__

LANGUAGES: Final = ("zh", "ja", "bn", "ta")
PIECES: Final = 4_500
"""Pieces of a language that are kept: those with the largest root of how many pairs have them times the length of their vector."""

MOST_PAIRS: Final = 90_000
"""Pairs that are read, spread over all: more take memory."""
RIDGE: Final = 5.0
"""What the squared length of a vector costs, against the squared error of a pair whose translation has length 1."""
RARITY: Final = 2
"""Power of the inverse document frequency that n-grams count by."""
_READ: Final = EncoderConfig(max_chars=512, max_words=96)
_TINY: Final = 1e-6

SOURCES_OF_PIECES: Final = (
    "Pairs: everyday sentences of Tatoeba by way of OPUS-MT and LASER, and of Tanaka (ja; CC BY 2.0 FR); phrases of Thunderbird and Wikipedia for Android "
    "(Apache-2.0), OpenStreetMap's editor (ISC), mozilla.org (MPL-2.0), Electron (MIT), Home Assistant and tldr pages (CC BY 4.0), the "
    "documentation of TensorFlow (CC BY 4.0; zh, ja); names of CLDR (Unicode-3.0); XQuAD (CC BY-SA 4.0; zh), TICO-19 (CC0), translated "
    "Wikipedia (CC BY-SA 3.0; bn, ta)."
)


def learn_pieces(language: str, folder: Path, progress: Progress) -> PiecesFile:
    """Learn what n-grams of a language mean.

    Args:
        language: its tag.
        folder: of translations, see `translation_files`; dictionaries are not read.
        progress: told of each stage.

    Raises:
        RetvecLiteError: for translations that cannot be read or do not suffice.
    """
    files = [file for file in translation_files(folder, language) if file.name.startswith("pairs_")]
    pairs = list(split_pairs(read_lines(files, progress)))
    rows = np.random.default_rng(0).permutation(len(pairs))[:MOST_PAIRS]
    meanings, is_known = _meanings([pairs[row][0] for row in rows])
    texts = [pairs[row][1] for row, known in zip(rows, is_known, strict=True) if known]
    if len(texts) < FEWEST_PAIRS:
        raise RetvecLiteError(
            f"{folder} has {len(texts):,} pairs of English and {language}: at least {FEWEST_PAIRS:,} are needed."
        )
    kind = usual_kind(texts)
    ngrams = NgramConfig(buckets=PRIME, longest=kind[1], shortest=kind[0], plain_letters=True)
    counts = count_ngrams(TextReader(texts, _READ, progress), [texts], ngrams)[0].matrix()
    frequency = np.bincount(counts.indices, minlength=PRIME)
    vectors = _align(counts, frequency, meanings, progress)
    worth = np.sqrt(frequency) * np.linalg.norm(vectors, axis=1)
    kept = np.sort(np.argsort(-worth, kind="stable")[:PIECES])
    kept = kept[worth[kept] > 0]
    # Once more, of these alone: they say some of what the others said.
    seen = counts @ sparse.csr_matrix((np.ones(len(kept), np.float32), (kept, kept)), (PRIME, PRIME))
    vectors = _align(seen, frequency, meanings, progress)[kept]
    counted = importance(frequency[kept])
    codes, codebooks = coded(vectors @ balanced_axes(vectors, counted, PIECE_BYTES), counted, PIECE_BYTES)
    card = {
        "biases": "Not measured. The vectors repeat the prejudices of the translations, and of the English words they lead to.",
        "counts": f"{len(texts):,} translations; {np.count_nonzero(frequency):,} hashes of n-grams; {len(kept):,} kept",
        "created_by": f"retvec-lite {__version__}, makers.meaning",
        "files": ", ".join(file.name for file in files),
        "method": "ridge regression: the n-grams of a sentence add up to the mean of the words of its translation",
        "not_for": NOT_FOR,
        "sources": SOURCES_OF_PIECES,
    }
    return PiecesFile(kept.astype(np.int32), codes, codebooks, language, kind[1], card)


def _meanings(sentences: list[str]) -> tuple[Floats, list[bool]]:
    """Return what English sentences mean, centred, of length 1, float32 `[known, 128]`; and of which that is known."""
    english = packaged_meaning("en")
    assert english is not None
    places, vectors = {word: place for place, word in enumerate(english.words)}, english.vectors
    known = [[places[word] for word in meaning_words_of(sentence) if word in places] for sentence in sentences]
    found = np.stack([vectors[words].mean(axis=0) for words in known if words] or [vectors[0]])
    found -= found.mean(axis=0)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _TINY)
    return found, [bool(words) for words in known]


def _align(counts: Any, frequency: Any, meanings: Floats, progress: Progress) -> Floats:
    """Return a vector for each hash, float32 `[65521, 128]`: ridge regression of the texts, each of length 1."""
    rarity = (1 + np.log((1 + len(meanings)) / (1 + frequency))).astype(np.float32) ** RARITY
    texts = counts @ sparse.diags(rarity)
    lengths = np.sqrt(np.asarray(texts.multiply(texts).sum(axis=1))).ravel()
    texts = (sparse.diags(1 / np.maximum(lengths, _TINY)) @ texts).astype(np.float32).tocsr()
    back = texts.T.tocsr()
    diagonal = np.asarray(back.multiply(back).sum(axis=1)).astype(np.float32) + np.float32(RIDGE)
    solved = conjugate_gradients(
        lambda vectors: back @ (texts @ vectors) + np.float32(RIDGE) * vectors, back @ meanings, diagonal, progress
    )
    found: Floats = solved * rarity[:, None]
    return found
