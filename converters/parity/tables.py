"""The weights of a file that computes as a .tflite does: tables of n-grams and of meaning are gathered from, everything else is a constant."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters.parity.oracle import EXACT, Constant, Match, match_constants, require_table
from retvec_lite.meaning import CODEBOOK_ROWS, CODEBOOKS, letter_table
from retvec_lite.ngrams import fold_table


def match_tables(
    plain: Sequence[Constant],
    gathered: Sequence[npt.NDArray[Any]],
    reference: Mapping[str, Floats],
    plain_letters: bool = False,
) -> dict[str, Match]:
    """Return what a file computes with in the place of every reference weight, see `match_constants`.

    Args:
        plain: its constants, in float32.
        gathered: the tables that it gathers from, int8 or uint8.
        reference: the weights of the classifier.
        plain_letters: whether its n-grams read plain letters, see `fold_table`.

    Raises:
        RetvecLiteError: for weights that are not in the file, or tables of letters that are not the contract's.
    """
    codes = [table.astype(np.float32) for table in gathered if table.dtype == np.uint8]
    values = [constant.values for constant in plain]
    # With meaning, n-grams that read plain letters read those of its table.
    if "ngrams/table" in reference and not (plain_letters and "meaning/rows" in reference):
        places, levels = fold_table(plain_letters)
        require_table(places, codes)
        require_table(levels, values)
    if "meaning/rows" in reference:
        table = letter_table()
        require_table(table.places, codes)
        for numbers in (table.levels, table.letters):
            require_table(numbers, values)
    return match_constants([*_ngram_tables(plain, codes, gathered), *plain], reference)


def _ngram_tables(
    plain: Sequence[Constant], codes: Sequence[Floats], gathered: Sequence[npt.NDArray[Any]]
) -> Iterator[Constant]:
    """Yield tables of n-grams, the squares beside them, and the codes of hashes where there are codebooks.

    A table is an int8 constant `[buckets, labels + 1]`; its last column are the squares. Its scales are one of the constants of `labels`
    numbers: values tell which. A table of low rank has none. Training leaves both on this grid, so they count as exact.
    """
    for table in codes:
        # Codes of n-grams, or the displacements, rows and codes of words with a meaning.
        yield Constant("codes", table, EXACT)
    for integers in gathered:
        if integers.dtype != np.int8 or integers.ndim != 2:
            continue
        stored = integers.astype(np.float32)
        if stored.shape == CODEBOOK_ROWS:
            yield Constant("codebooks of meaning", stored.reshape(CODEBOOKS), EXACT)
        yield Constant("squares", stored[:, -1], EXACT)
        yield Constant("table of low rank", stored[:, :-1], EXACT)
        for scales in plain:
            if scales.values.size == stored.shape[1] - 1:
                yield Constant("table", stored[:, :-1] * scales.values.reshape(-1), scales.bits)
