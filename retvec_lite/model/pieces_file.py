"""The file of pieces: what n-grams of a language mean, by their hashes, for languages without a table of words.

Their numbers lie in the space of the English words, turned, and are coded as those of words are (`meaning_file`). A training adds them to its
table of n-grams: exported files know nothing of them.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import meaning_file as coded
from retvec_lite.model.weight_files import typed_safetensors_bytes
from retvec_lite.ngrams import PRIME

PIECES_FORMAT: Final = "retvec-lite-pieces"
PIECES_VERSION: Final = "1"
PIECE_BYTES: Final = coded.WORD_BYTES[0]

_LONGEST: Final = 9
"""Letters of the longest n-grams that a file may be about."""


@dataclasses.dataclass(frozen=True)
class PiecesFile:
    """What n-grams of a language mean.

    Attributes:
        hashes: of the n-grams, ascending, int32 `[pieces]`.
        codes: uint8 `[pieces, 16]`, for each of them its row in each codebook.
        codebooks: float32 `[16, 256, 8]`, all of them whole multiples, up to 127, of one scale.
        language: its tag, such as `bn`.
        longest: the n-grams have 1 to so many letters.
        card: sources, licences, counts and limits, by what they are about.

    Raises:
        RetvecLiteError: on construction, for parts that do not fit together.
    """

    hashes: Ints
    codes: coded.Codes
    codebooks: Floats
    language: str
    longest: int
    card: Mapping[str, str]

    def __post_init__(self) -> None:
        if not len(self.hashes) or np.diff(self.hashes).min(initial=1) < 1:
            raise RetvecLiteError("A file of pieces needs hashes of n-grams, each of them once, the smallest first.")
        if self.hashes[0] < 0 or self.hashes[-1] >= PRIME:
            raise RetvecLiteError(f"Hashes of pieces are integers from 0 to {PRIME - 1:,}.")
        if self.codes.shape != (len(self.hashes), PIECE_BYTES) or self.codes.dtype != np.uint8:
            raise RetvecLiteError(
                f"{len(self.hashes):,} pieces need codes of {PIECE_BYTES} bytes each, not {self.codes.shape}."
            )
        coded.check_codebooks(self.codebooks, PIECE_BYTES)
        if not 1 <= self.longest <= _LONGEST:
            raise RetvecLiteError(f"Pieces have up to 1 to {_LONGEST} letters, not {self.longest}.")
        if not (self.language and all(isinstance(value, str) for value in self.card.values())):
            raise RetvecLiteError("A file of pieces names its language, and its card consists of strings.")

    def table(self, buckets: int) -> Floats:
        """Return what each bucket of n-grams means, float32 `[buckets, 128]`: the mean of its pieces, 0 where there is none."""
        columns = self.hashes % buckets
        found = np.zeros((buckets, self.codebooks.shape[0] * self.codebooks.shape[2]), np.float32)
        np.add.at(found, columns, coded.decoded(self.codes, self.codebooks))
        found /= np.maximum(np.bincount(columns, minlength=buckets), 1)[:, None].astype(np.float32)
        return found

    def to_bytes(self) -> bytes:
        """Return the content of the file: the same bytes for equal pieces."""
        integers, scale = coded.integers_of(self.codebooks)
        known = np.zeros(PRIME, bool)
        known[self.hashes] = True
        tensors: dict[str, npt.NDArray[np.generic]] = {
            "codebooks": integers,
            "codes": self.codes,
            "known": np.packbits(known),
            "scale": scale,
        }
        metadata = {
            "format": PIECES_FORMAT,
            "version": PIECES_VERSION,
            "language": self.language,
            "longest": str(self.longest),
            "card": json.dumps(dict(self.card), sort_keys=True, ensure_ascii=False),
        }
        return typed_safetensors_bytes(tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "PiecesFile":
        """Read a file.

        Raises:
            RetvecLiteError: when it is missing, damaged or of another format.
        """
        with coded.read_coded(path, PIECES_FORMAT, PIECES_VERSION) as (tensors, metadata, codes, codebooks, card):
            hashes = np.flatnonzero(np.unpackbits(coded.bytes_of(tensors["known"]))).astype(np.int32)
            return cls(hashes, codes, codebooks, metadata["language"], int(metadata["longest"]), card)


def packaged_pieces(language: str) -> PiecesFile | None:
    """Return the pieces of a language that ship with the package; None for a language without them."""
    found = coded.weights() / f"pieces_{language}.safetensors"
    if not (language.isalpha() and found.is_file()):
        return None
    with resources.as_file(found) as path:
        return PiecesFile.load(path)
