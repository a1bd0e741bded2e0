"""The two canonical forms of a word: composed ("é" is one code point) and decomposed ("e" and an accent).

They look alike and mean the same, but keyboards and file systems differ in which of them they write (Unicode Standard Annex 15,
https://unicode.org/reports/tr15/).
"""

import functools
import unicodedata

import numpy as np

from retvec_lite.contract import MAX_CODE_POINT, Ints
from retvec_lite.pretraining.augment import Indices, Mask

_HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)  # Python's unicodedata.decomposition() leaves them out


@functools.cache
def _decomposable() -> Mask:
    """Return which code points have a canonical decomposition: bool [1114112]."""
    found = np.zeros(MAX_CODE_POINT + 1, np.bool_)
    for code in range(0x80, 0x30000):  # compatibility ideographs are the last that have one
        decomposition = unicodedata.decomposition(chr(code))
        found[code] = bool(decomposition) and not decomposition.startswith("<")
    found[_HANGUL_SYLLABLES.start : _HANGUL_SYLLABLES.stop] = True
    return found


def have_two_forms(words: Ints) -> Indices:
    """Return the rows of int32 [B, L] whose words are written differently in decomposed form: int64 [R]."""
    return np.flatnonzero(_decomposable()[words].any(axis=1))


def decomposed(words: Ints) -> Ints:
    """Return words in decomposed form (NFD), cut off at their L places: int32 [B, L] of int32 [B, L]."""
    result = words.copy()
    for row in have_two_forms(words):
        text = "".join(map(chr, words[row][words[row] > 0].tolist()))
        codes = [ord(char) for char in unicodedata.normalize("NFD", text)][: words.shape[1]]
        result[row] = 0
        result[row, : len(codes)] = codes
    return result
