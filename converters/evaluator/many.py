"""Ops of many texts at once: each op of `ops.py` keeps its meaning for one text, and is told here of the axis of texts in front.

An op costs NumPy more time to call than to compute for one text. What is written for single texts alone is asked for one after the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.ops import OPS


@dataclass(frozen=True)
class Texts:
    """A value that differs between texts: an array `[texts, *shape]`, or a list of what is no array."""

    values: Any


Arguments = Mapping[str, Any]
Way = Callable[[Callable[..., Any], Arguments], Any]
"""Computes an op for many texts from its arguments, of which some are `Texts`; it returns what the op does, with the axis of texts."""


def compute(kind: str, arguments: Arguments) -> tuple[Any, ...]:
    """Return each result of an op, as the values of `Texts`.

    Raises:
        Exception: what the op raises for one of the texts.
    """
    way = _WAYS.get(kind)
    if kind in _OF_X and any(has_texts(value) for key, value in arguments.items() if key != "x"):
        way = None
    if way is not None:
        try:
            found = way(OPS[kind], arguments)
        except Exception:  # noqa: BLE001 - the op says of a single text what is wrong
            way = None
    if way is None:
        found = _one_by_one(OPS[kind], arguments)
    return found if isinstance(found, tuple) else (found,)


def _one_by_one(op: Callable[..., Any], arguments: Arguments) -> tuple[Any, ...]:
    count = _count(arguments)
    found = []
    for index in range(count):
        result = op(**{key: _of_one(value, index) for key, value in arguments.items()})
        found.append(result if isinstance(result, tuple) else (result,))
    return tuple(
        np.stack(items) if all(isinstance(item, np.ndarray | np.generic) for item in items) else list(items)
        for items in zip(*found, strict=True)
    )


def _of_one(value: Any, index: int) -> Any:
    if isinstance(value, list):
        return [_of_one(item, index) for item in value]
    return value.values[index] if isinstance(value, Texts) else value


def has_texts(value: Any) -> bool:
    """Return whether an argument, or one of a list, differs between texts."""
    return any(isinstance(item, Texts) for item in (value if isinstance(value, list) else (value,)))


def _count(arguments: Arguments) -> int:
    """Return how many texts there are."""
    flat = (item for value in arguments.values() for item in (value if isinstance(value, list) else [value]))
    return next(len(item.values) for item in flat if isinstance(item, Texts))


def _plain(arguments: Arguments) -> dict[str, Any]:
    return {key: value.values if isinstance(value, Texts) else value for key, value in arguments.items()}


def _aligned(op: Callable[..., Any], arguments: Arguments) -> Any:
    """Broadcast: axes of one stand behind that of the texts, where another operand has more of them."""
    ranks = {
        key: value.values.ndim - 1 if isinstance(value, Texts) else np.ndim(value) for key, value in arguments.items()
    }
    most = max(ranks.values())
    plain = _plain(arguments)
    for key, value in arguments.items():
        if isinstance(value, Texts):
            shape = value.values.shape
            plain[key] = value.values.reshape(shape[0], *[1] * (most - ranks[key]), *shape[1:])
    return op(**plain)


def _along(name: str, default: Any) -> Way:
    """Return the way of an op along one axis, or several, of its `x`."""

    def way(op: Callable[..., Any], arguments: Arguments) -> Any:
        plain = _plain(arguments)
        rank = plain["x"].ndim - 1
        axes = plain.get(name, default)
        if axes is None:
            return op(**{**plain, name: np.arange(1, rank + 1)})
        return op(**{**plain, name: _behind(axes, rank)})

    return way


def _behind(axes: Any, rank: int) -> Any:
    """Return axes of one text, counted with the axis of texts in front; IndexError where a text has none such."""
    places = np.asarray(axes).astype(np.int64)
    if ((places < -rank) | (places >= rank)).any():
        raise IndexError(axes)
    return places % rank + 1


def _gather(op: Callable[..., Any], arguments: Arguments) -> Any:
    x, indices = arguments["x"], arguments["indices"]
    plain = _plain(arguments)
    rank = plain["x"].ndim - isinstance(x, Texts)
    axis = int(_behind(plain.get("axis", 0), rank)) - 1
    if not isinstance(indices, Texts):
        return op(**{**plain, "axis": axis + 1})
    if not isinstance(x, Texts):
        return np.moveaxis(op(**{**plain, "axis": axis}), axis, 0)
    # All texts' elements in one row, and each text's indices counted from its own.
    rows = np.moveaxis(x.values, axis + 1, 1)
    size = rows.shape[1]
    if indices.values.size and not (indices.values.min() >= 0 and indices.values.max() < size):
        raise IndexError(axis)
    starts = np.arange(len(rows)).reshape(-1, *[1] * (indices.values.ndim - 1)) * size
    found = op(
        **{
            **plain,
            "x": rows.reshape(-1, *rows.shape[2:]),
            "indices": (indices.values + starts).astype(np.int32),
            "axis": 0,
        }
    )
    places = range(1, indices.values.ndim)
    return np.moveaxis(found, list(places), [axis + place for place in places])


def _slice(op: Callable[..., Any], arguments: Arguments) -> Any:
    plain = _plain(arguments)
    begin, end = ([first, *plain[key]] for key, first in (("begin", 0), ("end", len(plain["x"]))))
    return op(x=plain["x"], begin=begin, end=end)


def _reshape(op: Callable[..., Any], arguments: Arguments) -> Any:
    plain = _plain(arguments)
    return op(x=plain["x"], shape=np.array([len(plain["x"]), *np.atleast_1d(plain["shape"])]))


def _concat(op: Callable[..., Any], arguments: Arguments) -> Any:
    count = _count(arguments)
    given = arguments["values"] if isinstance(arguments["values"], list) else [arguments["values"]]
    arrays = [item.values if isinstance(item, Texts) else np.broadcast_to(item, (count, *item.shape)) for item in given]
    others = {key: value for key, value in arguments.items() if key not in ("values", "axis")}
    return op(values=arrays, axis=_behind(arguments["axis"], arrays[0].ndim - 1), **others)


def _as_it_is(op: Callable[..., Any], arguments: Arguments) -> Any:
    return op(**_plain(arguments))


_OPERANDS: Final = (
    "add", "sub", "mul", "real_div", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "select", "matmul",
)  # fmt: skip
_OF_X: Final[Mapping[str, Way]] = {
    **dict.fromkeys(("floor", "sqrt", "tanh", "gelu", "sigmoid", "cast", "linear"), _as_it_is),
    "softmax": _along("axis", -1),
    "cumsum": _along("axis", 0),
    "reduce_sum": _along("axes", None),
    "reduce_max": _along("axes", None),
    "slice_by_index": _slice,
    "reshape": _reshape,
}
"""MIL name -> how it is computed for many texts where only `x` differs between them."""

_WAYS: Final[Mapping[str, Way]] = {
    **_OF_X,
    **dict.fromkeys(_OPERANDS, _aligned),
    "gather": _gather,
    "concat": _concat,
}
"""MIL name -> how it is computed for many texts; other ops are computed one by one."""
