"""Ops of Core ML's MIL that look up, place and cut values by index, in NumPy. See `mil_ops.py`.

Newer opsets leave undefined what an index outside of its axis gives; here that is an error in every opset, because no input
may make a graph read or write out of bounds.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.ops import Array, Op, axis_of, require_same_type
from retvec_lite.errors import RetvecLiteError

_INDEX_TYPES: Final = ("int32", "int16", "uint16", "int8", "uint8")

_MODES: Final[Mapping[str, Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
"""What scattering does with the value that is there; `update` replaces it."""


def _inside(indices: Array, size: int) -> Array:
    """Indices as int64; raises RetvecLiteError when one is outside of `size` elements.

    A negative index counts from the end in the oldest opset and is outside in all others: it is refused in all.
    """
    if indices.dtype.name not in _INDEX_TYPES:
        raise RetvecLiteError(f"Expected integer indices, received {indices.dtype.name}.")
    if indices.size and not (indices.min() >= 0 and indices.max() < size):
        raise RetvecLiteError(f"Expected indices from 0 to {size - 1}, received {indices.min()} to {indices.max()}.")
    return indices.astype(np.int64)


def _gather(*, x: Array, indices: Array, axis: Any = 0, batch_dims: Any = 0, validate_indices: Any = False) -> Array:
    place, batch = axis_of(axis, x.ndim), int(batch_dims)
    chosen = _inside(indices, x.shape[place])
    if batch == 0:
        return np.asarray(np.take(x, chosen, axis=place))
    if batch > place or x.shape[:batch] != indices.shape[:batch]:
        raise RetvecLiteError(f"Expected {batch} equal first axes, received {x.shape} and {indices.shape}.")
    rows = [np.take(x[where], chosen[where], axis=place - batch) for where in np.ndindex(*x.shape[:batch])]
    return np.asarray(np.stack(rows).reshape(*x.shape[:batch], *rows[0].shape))


def _gather_along_axis(*, x: Array, indices: Array, axis: Any = 0, validate_indices: Any = False) -> Array:
    place = axis_of(axis, x.ndim)
    return np.take_along_axis(x, _inside(indices, x.shape[place]), place)


def _gather_nd(*, x: Array, indices: Array, batch_dims: Any = 0, validate_indices: Any = False) -> Array:
    batch, depth = int(batch_dims), indices.shape[-1]
    places = [_inside(indices[..., axis], x.shape[batch + axis]) for axis in range(depth)]
    if batch == 0:
        return np.asarray(x[tuple(places)])
    if x.shape[:batch] != indices.shape[:batch]:
        raise RetvecLiteError(f"Expected {batch} equal first axes, received {x.shape} and {indices.shape}.")
    grid = np.indices(x.shape[:batch])
    spare = indices.ndim - 1 - batch
    first = [part.reshape(*x.shape[:batch], *[1] * spare) for part in grid]
    where = (*first, *places)
    return np.asarray(x[where])


def _place(data: Array, where: tuple[Array, ...], updates: Array, mode: str) -> Array:
    require_same_type(data, updates)
    found = data.copy()
    if mode == "update":
        found[where] = updates
    elif mode in _MODES:
        _MODES[mode].at(found, where, updates)
    else:
        raise RetvecLiteError(f"Expected a mode out of update, {', '.join(_MODES)}, received {mode!r}.")
    return found


def _scatter(
    *, data: Array, indices: Array, updates: Array, axis: Any = 0, mode: str = "add", validate_indices: Any = False
) -> Array:
    place = axis_of(axis, data.ndim)
    if indices.ndim != 1 or updates.shape != (*data.shape[:place], len(indices), *data.shape[place + 1 :]):
        raise RetvecLiteError(f"Expected an update for each index, received {updates.shape} for {indices.shape}.")
    where = (*[slice(None)] * place, _inside(indices, data.shape[place]))
    return _place(data, where, updates, mode)  # type: ignore[arg-type]  # slices are indices too


def _scatter_nd(
    *, data: Array, indices: Array, updates: Array, mode: str = "add", validate_indices: Any = False
) -> Array:
    depth = indices.shape[-1]
    if updates.shape != (*indices.shape[:-1], *data.shape[depth:]):
        raise RetvecLiteError(f"Expected an update for each index, received {updates.shape} for {indices.shape}.")
    return _place(data, tuple(_inside(indices[..., a], data.shape[a]) for a in range(depth)), updates, mode)


def _scatter_along_axis(
    *, data: Array, indices: Array, updates: Array, axis: Any = 0, mode: str = "add", validate_indices: Any = False
) -> Array:
    place = axis_of(axis, data.ndim)
    if updates.shape != indices.shape:
        raise RetvecLiteError(f"Expected an update for each index, received {updates.shape} for {indices.shape}.")
    where = list(np.indices(indices.shape))
    where[place] = _inside(indices, data.shape[place])
    return _place(data, tuple(where), updates, mode)


def _one_hot(
    *, indices: Array, one_hot_vector_size: Any, axis: Any = -1, on_value: Any = None, off_value: Any = None
) -> Array:
    """Indices outside of the vector give one without an `on_value`."""
    size = int(one_hot_vector_size)
    on = np.asarray(np.int32(1) if on_value is None else on_value)
    off = np.asarray(np.zeros((), on.dtype) if off_value is None else off_value)
    require_same_type(on, off)
    hot = indices[..., None] == np.arange(size)
    return np.moveaxis(np.where(hot, on, off), -1, axis_of(axis, indices.ndim + 1))


def _slice_by_index(
    *,
    x: Array,
    begin: Array,
    end: Array,
    stride: Array | None = None,
    begin_mask: Array | None = None,
    end_mask: Array | None = None,
    squeeze_mask: Array | None = None,
) -> Array:
    no = np.zeros(x.ndim, np.bool_)
    masks = [no if mask is None else mask for mask in (begin_mask, end_mask, squeeze_mask)]
    steps = np.ones(x.ndim, np.int32) if stride is None else stride
    if any(len(part) != x.ndim for part in (begin, end, steps, *masks)):
        raise RetvecLiteError(f"Expected a slice of {x.ndim} dimensions, received {len(begin)}.")
    where: list[slice | int] = []
    for axis in range(x.ndim):
        first = None if masks[0][axis] else int(begin[axis])
        last = None if masks[1][axis] else int(end[axis])
        if masks[2][axis]:
            where.append(axis_of(first or 0, x.shape[axis]))
        else:
            where.append(slice(first, last, int(steps[axis])))
    return np.asarray(x[tuple(where)])


def _slice_by_size(*, x: Array, begin: Array, size: Array) -> Array:
    where = []
    for axis, (first, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        last = x.shape[axis] if length == -1 else first + length
        if not 0 <= first <= last <= x.shape[axis]:
            raise RetvecLiteError(f"Expected a part of {x.shape[axis]} elements, received {first} to {last}.")
        where.append(slice(first, last))
    return x[tuple(where)]


INDEXING: Final[Mapping[str, Op]] = {
    "gather": _gather,
    "gather_along_axis": _gather_along_axis,
    "gather_nd": _gather_nd,
    "scatter": _scatter,
    "scatter_nd": _scatter_nd,
    "scatter_along_axis": _scatter_along_axis,
    "one_hot": _one_hot,
    "slice_by_index": _slice_by_index,
    "slice_by_size": _slice_by_size,
}
"""The ops of this module by their MIL names."""
