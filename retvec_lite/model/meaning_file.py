"""The file of a pre-training of meaning: the words of a language, and for each of them what it means, in 128 numbers coded in 16 or 32 bytes.

Product codes (Jegou, Douze and Schmid 2011, https://doi.org/10.1109/TPAMI.2010.57): the numbers of a vector are cut into subspaces, and a
byte names one of 256 centres in each of them.
"""

import bz2
import contextlib
import dataclasses
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.equal_rows import products
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import parse_json
from retvec_lite.model.weight_files import read_safetensors, typed_safetensors_bytes
from retvec_lite.ngrams import CODES, table_integers

Codes = npt.NDArray[np.uint8]

_PASSES: Final = 10
"""Passes of k-means at most: more made codes no better."""
_TINY: Final = 1e-12


def balanced_order(variances: Floats, subspaces: int) -> list[int]:
    """Order axes so that consecutive groups of them, one a subspace, have about as much to say.

    The larger ones first, each goes to the subspace whose product of variances is the smallest so far (Ge et al. 2013, Optimized
    product quantization, https://doi.org/10.1109/CVPR.2013.379, section 3.2).

    Args:
        variances: of each axis, float32 `[width]`.
        subspaces: how many bytes a vector has; a divisor of the width.

    Returns:
        The places of all axes.
    """
    logs = np.log(np.maximum(variances, _TINY))
    logs -= logs.min()
    groups: list[list[int]] = [[] for _ in range(subspaces)]
    for axis in np.argsort(-variances, kind="stable").tolist():
        room = [group for group in groups if len(group) < len(variances) // subspaces]
        min(room, key=lambda group: float(logs[group].sum())).append(axis)
    return [axis for group in groups for axis in group]


def nearest_codebooks(vectors: Floats, importance: Floats, subspaces: int, seed: int) -> Floats:
    """Return the codebooks of k-means in each subspace: float32 `[subspaces, 256, width / subspaces]`.

    Args:
        vectors: float32 `[words, width]`. Up to 256 of them are centres themselves.
        importance: how much each of them counts, float32 `[words]`, above 0.
        subspaces: how many bytes a vector has.
        seed: of the first centres.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    books = np.zeros((subspaces, CODES, vectors.shape[1] // subspaces), np.float32)
    if len(vectors) <= CODES:
        books[:, : len(vectors)] = parts_of(vectors, subspaces)
        return books
    shares = importance.astype(np.float64)
    start = np.random.default_rng((seed, CODES)).choice(len(vectors), CODES, replace=False, p=shares / shares.sum())
    for book, part in zip(books, parts_of(vectors, subspaces), strict=True):
        solver = KMeans(CODES, init=part[start], n_init=1, max_iter=_PASSES, tol=0)
        # Threads would add up in an order of chance.
        with threadpool_limits(1), warnings.catch_warnings():
            # Many vectors may share a part: then fewer centres are needed.
            warnings.simplefilter("ignore", ConvergenceWarning)
            book[:] = solver.fit(part, sample_weight=importance).cluster_centers_
    return books


def codes_of(vectors: Floats, codebooks: Floats) -> Codes:
    """Return the nearest row of each codebook, the same for equal parts of vectors: uint8 `[words, subspaces]`."""
    found = np.empty((len(vectors), len(codebooks)), np.uint8)
    for place, (part, book) in enumerate(zip(parts_of(vectors, len(codebooks)), codebooks, strict=True)):
        # |x - c|^2 without |x|^2, which is the same for all c.
        found[:, place] = (np.square(book).sum(axis=1) - 2 * products(part, book)).argmin(axis=1)
    return found


def decoded(codes: Codes, codebooks: Floats) -> Floats:
    """Return what codes stand for: float32 `[words, width]`."""
    return np.concatenate([book[codes[:, place]] for place, book in enumerate(codebooks)], axis=1)


def parts_of(vectors: Floats, subspaces: int) -> Floats:
    """Return the vectors in each subspace: float32 `[subspaces, words, width / subspaces]`."""
    return np.ascontiguousarray(vectors.reshape(len(vectors), subspaces, -1).transpose(1, 0, 2))


if TYPE_CHECKING:
    from importlib.abc import Traversable

MEANING_FORMAT: Final = "retvec-lite-meaning"
MEANING_VERSION: Final = "3"

WIDTH: Final = 128
"""Numbers of a word here. A training keeps 64 directions of them, in 8 bytes a word."""
WORD_BYTES: Final = (16, 32)
"""Bytes that a word may have: each of them names a row of a codebook."""
LONGEST_WORD: Final = 16
"""Characters of the longest word that has a meaning."""

_MOST_UNPACKED: Final = 64_000_000
"""Bytes of the most words or translations of a file, unpacked: far more than 65,536 words have."""


@dataclasses.dataclass(frozen=True)
class MeaningFile:
    """What the words of a language mean.

    Attributes:
        words: in plain letters, the most frequent first; 1 to 16 characters each.
        codes: uint8 `[W, bytes]`, for each word its row in each codebook.
        codebooks: float32 `[bytes, 256, 128 / bytes]`, all of them whole multiples, up to 127, of one scale.
        language: its tag, such as `en`.
        space: what the numbers mean: only files of one space go together.
        card: sources, licences, counts, limits and biases, by what they are about.
        translations: for words of the language whose space these are in, the words here that stand for them, each with its share in
            tenths, from 1 to 255; empty without.

    Raises:
        RetvecLiteError: on construction, for parts that do not fit together.

    Example:
        >>> import numpy as np
        >>> from retvec_lite.model.meaning_file import MeaningFile
        >>> codebooks = np.zeros((16, 256, 8), np.float32)
        >>> codebooks[0, 1, 0] = 127
        >>> file = MeaningFile(("the", "cat"), np.eye(2, 16, 1, dtype=np.uint8)[::-1], codebooks, "en", "mine", {})
        >>> file.vectors.shape
        (2, 128)
    """

    words: tuple[str, ...]
    codes: Codes
    codebooks: Floats
    language: str
    space: str
    card: Mapping[str, str]
    translations: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.words or len(set(self.words)) != len(self.words):
            raise RetvecLiteError("A file of meanings needs words, each of them once.")
        for word in self.words:
            if word.split() != [word] or len(word) > LONGEST_WORD:
                raise RetvecLiteError(f"A word of meaning has 1 to {LONGEST_WORD} letters, unlike {word[:40]!r}.")
        if self.codes.shape not in [(len(self.words), size) for size in WORD_BYTES] or self.codes.dtype != np.uint8:
            raise RetvecLiteError(
                f"{len(self.words)} words need codes of {' or '.join(map(str, WORD_BYTES))} bytes each, not {self.codes.shape}."
            )
        check_codebooks(self.codebooks, self.codes.shape[1])
        if not (self.language and self.space and all(isinstance(value, str) for value in self.card.values())):
            raise RetvecLiteError(
                "A file of meanings names its language and its space, and its card consists of strings."
            )
        shares = [(word, share) for shares in self.translations.values() for word, share in shares.items()]
        known = frozenset(self.words)
        if any(word not in known or not 1 <= share < CODES for word, share in shares):
            raise RetvecLiteError("Translations are words of the file, with shares from 1 to 255.")

    @property
    def vectors(self) -> Floats:
        """What each word means: float32 `[W, 128]`."""
        return decoded(self.codes, self.codebooks)

    def to_bytes(self) -> bytes:
        """Return the content of the file: the same bytes for equal meanings."""
        integers, scale = integers_of(self.codebooks)
        tensors: dict[str, npt.NDArray[np.generic]] = {
            "codebooks": integers,
            "codes": self.codes,
            "scale": scale,
            "words": _packed(self.words),
        }
        if self.translations:
            tensors |= {"sources": _packed(tuple(self.translations)), "translations": self._entries()}
        metadata = {
            "format": MEANING_FORMAT,
            "version": MEANING_VERSION,
            "language": self.language,
            "space": self.space,
            "card": json.dumps(dict(self.card), sort_keys=True, ensure_ascii=False),
        }
        return typed_safetensors_bytes(tensors, metadata)

    def _entries(self) -> Codes:
        """Return the translations, packed: uint8 `[5, n]`, the places of both words, two bytes each, lowest first, and the share."""
        places = {word: place for place, word in enumerate(self.words)}
        rows = [
            (place, places[word], share)
            for place, shares in enumerate(self.translations.values())
            for word, share in shares.items()
        ]
        entries = np.array([(a & 255, a >> 8, b & 255, b >> 8, share) for a, b, share in rows], np.uint8)
        return np.frombuffer(bz2.compress(entries.T.tobytes()), np.uint8)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "MeaningFile":
        """Read a file.

        Raises:
            RetvecLiteError: when it is missing, damaged or of another format.
        """
        with read_coded(path, MEANING_FORMAT, MEANING_VERSION) as (tensors, metadata, codes, codebooks, card):
            words = _words(tensors["words"])
            translations: dict[str, dict[str, int]] = {}
            if "translations" in tensors:
                sources = _words(tensors["sources"])
                entries = np.frombuffer(_unpacked(tensors["translations"]), np.uint8)
                for low, high, *target, share in entries.reshape(5, -1).T.astype(int).tolist():
                    word = words[target[0] + target[1] * 256]
                    translations.setdefault(sources[low + high * 256], {})[word] = share
            return cls(tuple(words), codes, codebooks, metadata["language"], metadata["space"], card, translations)


def packaged_meaning(language: str) -> MeaningFile | None:
    """Return the meanings of a language's words that ship with the package; None for a language without them."""
    if language not in packaged_languages():
        return None
    with resources.as_file(weights() / f"meaning_{language}.safetensors") as path:
        return MeaningFile.load(path)


def language_file(name: "str | os.PathLike[str] | MeaningFile") -> MeaningFile:
    """Return the meanings of a language that is named by its tag or by a file, or that is there already.

    Raises:
        RetvecLiteError: for a language that there are no meanings of, or a file that is none.
    """
    if isinstance(name, MeaningFile):
        return name
    found = packaged_meaning(name) if isinstance(name, str) else None
    if found:
        return found
    if Path(str(name)).suffix == ".safetensors":
        return MeaningFile.load(name)
    raise RetvecLiteError(
        f"There is no table of meanings for the language {str(name)!r}: choose from {', '.join(packaged_languages())}, or name a file such "
        "as de.safetensors."
    )


def packaged_languages() -> tuple[str, ...]:
    """Return the languages whose words' meanings ship with the package, by their tags."""
    names = (Path(entry.name) for entry in weights().iterdir())
    return tuple(
        sorted(
            name.stem.removeprefix("meaning_")
            for name in names
            if name.suffix == ".safetensors" and name.stem.startswith("meaning_")
        )
    )


def weights() -> "Traversable":
    """Return the folder of the files that ship with the package."""
    return resources.files("retvec_lite") / "weights"


@contextlib.contextmanager
def read_coded(
    path: str | os.PathLike[str], format_: str, version: str
) -> Iterator[tuple[dict[str, Any], Mapping[str, str], Codes, Floats, dict[str, str]]]:
    """Read a file of coded vectors: yield its tensors and metadata, and what all such files have, codes, codebooks and card.

    Raises:
        RetvecLiteError: when it is missing, damaged or of another format; what the body finds wrong is told as the file's fault.
    """
    tensors, metadata = read_safetensors(path)
    found = metadata.get("format"), metadata.get("version")
    if found != (format_, version):
        raise RetvecLiteError(
            f"{path} is not a {format_} file of version {version}: its format is {found[0]!r}, its version {found[1]!r}. Make one with "
            "`python -m makers.meaning`, from a checkout."
        )
    try:
        codebooks = multiples_of(tensors["codebooks"], tensors["scale"].reshape(()))
        card = dict(parse_json(metadata["card"], "its card"))
        yield tensors, metadata, bytes_of(tensors["codes"]), codebooks, card
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{path}: {error}") from error
    except (KeyError, IndexError, OSError, ValueError, TypeError, AttributeError) as error:
        raise RetvecLiteError(f"{path} is damaged: its parts do not fit together. Copy it again.") from error


def check_codebooks(codebooks: Floats, size: int) -> None:
    """Raise RetvecLiteError unless these are codebooks of `size` bytes for each vector, on a grid of 8 bits."""
    shape = (size, CODES, WIDTH // size)
    if codebooks.shape != shape or not np.isfinite(codebooks).all():
        raise RetvecLiteError(f"Codebooks of meaning are finite numbers, here of the shape {shape}.")
    if not np.array_equal(multiples_of(*integers_of(codebooks)), codebooks):
        raise RetvecLiteError("Codebooks of meaning are whole multiples, up to 127, of one scale.")


def integers_of(codebooks: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return the integers, int8 of the same shape, and their scale, float32 `[1]`."""
    integers, scale = table_integers(codebooks.reshape(-1, 1))
    return integers.reshape(codebooks.shape), scale


def multiples_of(integers: npt.NDArray[np.generic], scale: npt.NDArray[np.float32]) -> Floats:
    """Return what integers of one scale stand for: float32 of the same shape."""
    found: Floats = integers.astype(np.float32) * scale.astype(np.float32)
    return found


def _packed(words: Sequence[str]) -> Codes:
    """Return the words as bytes, packed: spelled out, they would take twice as many."""
    return np.frombuffer(bz2.compress("\n".join(words).encode()), np.uint8)


def _words(packed: Floats) -> list[str]:
    """Return packed words; raises OSError or ValueError for damaged ones."""
    return _unpacked(packed).decode().split("\n")


def _unpacked(packed: Floats) -> bytes:
    """Return what was packed; raises OSError or ValueError where it is damaged, or so much that it would fill the memory."""
    unpacker = bz2.BZ2Decompressor()
    found = unpacker.decompress(bytes_of(packed).tobytes(), _MOST_UNPACKED)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged, or too large")
    return found


def bytes_of(values: Floats) -> Codes:
    """Return what was read as float32 as bytes; raises ValueError for other numbers."""
    found = values.astype(np.uint8)
    if not np.array_equal(found, values):
        raise ValueError("not bytes")
    return found
