"""Products of matrices that are equal where their rows are, so that no decision between equal ones hangs on where they stand.

On many processors BLAS computes the rows at the edge of a block by other instructions than those inside: the products of equal rows differ
in their last bits there. So each different row is computed once.
"""

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats

Places = npt.NDArray[np.intp]


def distinct_rows(rows: Floats) -> tuple[Floats, Places]:
    """Return the different rows, `[distinct, width]`, in the order in which they first stand, and which of them each row is, `[rows]`."""
    plain = np.ascontiguousarray(rows) + np.float32(0)  # -0 becomes 0
    whole = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1])))
    _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[numbers.reshape(-1)]


def products(rows: Floats, others: Floats) -> Floats:
    """Return `rows @ others.T`, in which equal rows are equal, and so are the columns of others that are.

    Args:
        rows: float32 `[rows, width]`.
        others: float32 `[others, width]`.
    """
    lines, line_of = distinct_rows(rows)
    columns, column_of = distinct_rows(others)
    found: Floats = (lines @ columns.T)[np.ix_(line_of, column_of)]
    return found
