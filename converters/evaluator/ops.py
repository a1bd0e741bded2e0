"""The ops of Core ML's MIL that our graphs use, in NumPy.

Meanings are those of https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html. Each op is one
function; its parameters have the names of the op's inputs. Inputs, and values of inputs, that no graph of ours has are errors.

An op computes many texts at once, since a call takes NumPy longer than one text does: values are arrays with an axis of texts in front,
of one where a value is the same for all. What an op does to a text is done behind this axis. A constant string is a `str`, several
values in one input are a list.

fp16: elementwise arithmetic rounds each result to fp16. Sums over many values (reductions, matrix products) accumulate in
fp32 and round once; functions like tanh compute in fp32 and round once.
"""

import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.package import NUMPY_TYPES, Array
from retvec_lite.errors import RetvecLiteError

Op = Callable[..., Any]

_INDEX_TYPES: Final = ("int32", "int8", "uint8")
_ERF: Final = np.frompyfunc(math.erf, 1, 1)


def _require_float(values: Array) -> None:
    if values.dtype not in (np.float16, np.float32):
        raise RetvecLiteError(f"Floating-point values are needed, not {values.dtype.name}.")


def _require_same_type(*values: Array) -> None:
    """Core ML never casts implicitly."""
    if len({value.dtype for value in values}) != 1:
        raise RetvecLiteError(f"Values of different types: {' and '.join(value.dtype.name for value in values)}.")


def _require_boolean(values: Array) -> None:
    if values.dtype != np.bool_:
        raise RetvecLiteError(f"Booleans are needed, not {values.dtype.name}.")


def _require_default(**flags: Any) -> None:
    """Flags that are always given, and always off, in our graphs."""
    given = [name for name, value in flags.items() if _fixed(value)]
    if given:
        raise RetvecLiteError(f"The evaluator does not support {', '.join(given)}.")


def _fixed(value: Any) -> Any:
    """Return what must be the same for all texts."""
    if not isinstance(value, np.ndarray):
        return value
    if len(value) != 1:
        raise RetvecLiteError("What must be constant differs between texts.")
    return value[0]


def _axis(axis: Any, values: Array) -> int:
    """Return where an axis of a text stands, counted from the front of some values."""
    place, rank = int(_fixed(axis)), values.ndim - 1
    if not -rank <= place < rank:
        raise RetvecLiteError(f"There is no axis {place} of {rank} dimensions.")
    return place % rank + 1


def _aligned(*values: Array) -> list[Array]:
    """Return values that can be broadcast: axes of one stand behind that of the texts, where another one has more of them."""
    most = max(value.ndim for value in values)
    return [value.reshape(len(value), *[1] * (most - value.ndim), *value.shape[1:]) for value in values]


def _wide(values: Array) -> Array:
    """Return fp16 values as float32, so that their sums accumulate in float32."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


_widened: dict[int, tuple["weakref.ref[Array]", Array]] = {}


def _forget(key: int, widened: dict[int, Any], _: Any) -> None:
    widened.pop(key, None)


def _wide_weight(weight: Array) -> Array:
    """Return `_wide` of a matrix that every run of a program multiplies with: once, as long as it lives."""
    reference, wide = _widened.get(id(weight), (None, weight))
    if reference is None or reference() is not weight:
        key, wide = id(weight), _wide(weight)
        # At the end of the interpreter, names of this module are gone.
        _widened[key] = weakref.ref(weight, functools.partial(_forget, key, _widened)), wide
    return wide


def _binary(function: Callable[[Array, Array], Any], require: Callable[[Array], None] = lambda _: None) -> Op:
    """Return an op of two values of one type, which `require` checks."""

    def op(*, x: Array, y: Array) -> Array:
        _require_same_type(x, y)
        require(x)
        return np.asarray(function(*_aligned(x, y)))

    return op


def _unary(function: Callable[[Array], Any]) -> Op:
    """Return an op of floats that computes in float32."""

    def op(*, x: Array) -> Array:
        _require_float(x)
        return np.asarray(function(x.astype(np.float32))).astype(x.dtype)

    return op


def _gelu(*, x: Array, mode: str) -> Array:
    _require_float(x)
    if mode != "EXACT":
        raise RetvecLiteError(f"The evaluator does not support the mode {mode!r} of gelu.")
    return _half_gelu()[x.view(np.uint16)] if x.dtype == np.float16 else _exact_gelu(x)


def _exact_gelu(x: Array) -> Array:
    values = x.astype(np.float32)
    erf = np.asarray(_ERF((values / math.sqrt(2.0)).astype(np.float64)), np.float64)
    return np.asarray(0.5 * values * (1 + erf)).astype(x.dtype)


@functools.cache
def _half_gelu() -> Array:
    """Return the result for each fp16 number by its bits: there are fewer of them than a few texts have activations."""
    with np.errstate(all="ignore"):
        return _exact_gelu(np.arange(1 << 16, dtype=np.uint16).view(np.float16))


def _sigmoid(values: Array) -> Array:
    """The logistic function, by tanh so that nothing overflows."""
    found: Array = 0.5 * (1 + np.tanh(0.5 * values))
    return found


def _softmax(*, x: Array, axis: Any = -1) -> Array:
    _require_float(x)
    values, place = x.astype(np.float32), _axis(axis, x)
    powers = np.exp(values - values.max(axis=place, keepdims=True))
    return np.asarray(powers / powers.sum(axis=place, keepdims=True), dtype=x.dtype)


def _cast(*, x: Array, dtype: str) -> Array:
    """Integers of 8 bits keep the low bits of a larger number; a float outside of int32 is an error."""
    if dtype not in NUMPY_TYPES:
        raise RetvecLiteError(f"{dtype!r} is no data type.")
    target = NUMPY_TYPES[dtype]
    if x.dtype.kind == "f" and np.issubdtype(target, np.integer):
        whole = np.trunc(x.astype(np.float64))
        if not ((whole >= -(2**31)) & (whole < 2**31)).all():
            raise RetvecLiteError(f"Numbers from {x.min()} to {x.max()} do not fit {dtype}.")
        return whole.astype(np.int64).astype(target)
    return x.astype(target)


def _select(*, cond: Array, a: Array, b: Array) -> Array:
    _require_same_type(a, b)
    _require_boolean(cond)
    condition, one, other = _aligned(cond, a, b)
    return np.where(condition, one, other)


def _reduction(function: Callable[..., Any]) -> Op:
    def op(*, x: Array, axes: Array | None = None, keep_dims: Any = False) -> Array:
        places = range(1, x.ndim) if axes is None else (_axis(axis, x) for axis in np.atleast_1d(_fixed(axes)))
        found = function(_wide(x), axis=tuple(places), keepdims=bool(_fixed(keep_dims)))
        return np.asarray(found).astype(x.dtype)

    return op


def _cumsum(*, x: Array, axis: Any = 0, exclusive: Any = False, reverse: Any = False) -> Array:
    _require_default(exclusive=exclusive, reverse=reverse)
    wide = _wide(x)
    return np.cumsum(wide, axis=_axis(axis, x), dtype=wide.dtype).astype(x.dtype)


def _gather(*, x: Array, indices: Array, axis: Any = 0, batch_dims: Any = 0, validate_indices: Any = False) -> Array:
    """An index outside of the axis is an error, a negative one too: what it reads is undefined, so no input may cause one."""
    _require_default(batch_dims=batch_dims)
    place = _axis(axis, x)
    size = x.shape[place]
    if indices.dtype.name not in _INDEX_TYPES:
        raise RetvecLiteError(f"Indices must be integers, not {indices.dtype.name}.")
    if indices.size and not (indices.min() >= 0 and indices.max() < size):
        raise RetvecLiteError(f"Indices from {indices.min()} to {indices.max()} are outside of {size} elements.")
    chosen = indices.astype(np.int64)
    if len(indices) == 1:
        return np.asarray(np.take(x, chosen[0], axis=place))
    if len(x) == 1:
        return np.asarray(np.moveaxis(np.take(x[0], chosen, axis=place - 1), place - 1, 0))
    # All texts' elements in one row, and each text's indices counted from its own.
    rows = np.moveaxis(x, place, 1)
    starts = np.arange(len(rows)).reshape(-1, *[1] * (indices.ndim - 1)) * size
    found = np.take(rows.reshape(-1, *rows.shape[2:]), chosen + starts, axis=0)
    axes = range(1, indices.ndim)
    return np.moveaxis(found, list(axes), [place - 1 + axis for axis in axes])


def _slice_by_index(*, x: Array, begin: Array, end: Array) -> Array:
    edges = [list(map(int, _fixed(edge))) for edge in (begin, end)]
    if {len(edge) for edge in edges} != {x.ndim - 1}:
        raise RetvecLiteError(f"A slice of {len(edges[0])} dimensions does not fit a value of {x.ndim - 1}.")
    place = (slice(None), *map(slice, *edges))
    return np.asarray(x[place])


def _reshape(*, x: Array, shape: Array) -> Array:
    return x.reshape([len(x), *(int(size) for size in np.atleast_1d(_fixed(shape)))])


def _concat(*, values: Any, axis: Any, interleave: Any = False) -> Array:
    _require_default(interleave=interleave)
    arrays = values if isinstance(values, list) else [values]
    _require_same_type(*arrays)
    count = max(map(len, arrays))
    whole = [np.broadcast_to(array, (count, *array.shape[1:])) for array in arrays]
    return np.concatenate(whole, axis=_axis(axis, arrays[0]))


def _linear(*, x: Array, weight: Array, bias: Array | None = None) -> Array:
    _require_same_type(x, weight, *([] if bias is None else [bias]))
    product = _wide(x) @ _fixed(_wide_weight(weight)).T
    return np.asarray(product if bias is None else product + _wide(_fixed(bias))).astype(x.dtype)


def _matmul(*, x: Array, y: Array, transpose_x: Any = False, transpose_y: Any = False) -> Array:
    _require_default(transpose_x=transpose_x)
    _require_same_type(x, y)
    left, right = _aligned(x, y)
    right = np.swapaxes(right, -1, -2) if _fixed(transpose_y) else right
    return np.asarray(_wide(left) @ _wide(right)).astype(x.dtype)


def _affine_dequantize(*, quantized_data: Array, zero_point: Array, scale: Array, axis: Any) -> Array:
    place, size = _axis(axis, quantized_data), quantized_data.shape[_axis(axis, quantized_data)]

    def along(values: Array) -> Array:
        values = _fixed(values)
        if values.ndim > 1 or (values.ndim == 1 and len(values) != size):
            raise RetvecLiteError(f"One number or {size} are needed for axis {place - 1}, not {list(values.shape)}.")
        shape = [-1 if number == place else 1 for number in range(quantized_data.ndim)] if values.ndim else []
        return values.reshape(shape).astype(np.float32)

    return np.asarray((quantized_data.astype(np.float32) - along(zero_point)) * along(scale)).astype(scale.dtype)


def _lut_to_dense(*, indices: Array, lut: Array, shape: Array) -> Array:
    """A palette of 16 or 256 numbers for the whole tensor; two indices of 16 share a byte, the first in the low half."""
    packed, levels = _fixed(indices), _fixed(lut)
    sizes = tuple(int(size) for size in _fixed(shape))
    count = math.prod(sizes)
    if levels.shape not in ((16,), (256,)) or packed.dtype != np.uint8 or packed.ndim != 1:
        raise RetvecLiteError(f"A palette of 16 or 256 numbers is needed, not one of the shape {list(levels.shape)}.")
    places = packed if len(levels) == 256 else np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)
    if len(packed) != (count if len(levels) == 256 else -(-count // 2)) or places[count:].any():
        raise RetvecLiteError(f"{len(packed)} bytes do not hold the {count} indices of {list(sizes)}.")
    return np.asarray(levels[places[:count]].reshape(1, *sizes))


def _classify(*, probabilities: Array, classes: Sequence[str]) -> tuple[list[str], list[dict[str, float]]]:
    """Return the label of each text's largest probability (the first of equal ones), and the probability of each label."""
    rows = probabilities.reshape(len(probabilities), -1)
    if probabilities.dtype != np.float32 or len(classes) != rows.shape[1] or len(set(classes)) != len(classes):
        raise RetvecLiteError(
            f"{len(classes)} different classes need one fp32 probability each, not {rows.shape[1]} of {probabilities.dtype.name}."
        )
    return [classes[int(row.argmax())] for row in rows], [dict(zip(classes, row.tolist(), strict=True)) for row in rows]


OPS: Final[Mapping[str, Op]] = {
    "add": _binary(np.add),
    "sub": _binary(np.subtract),
    "mul": _binary(np.multiply),
    # Core ML's documentation leaves the quotient of integers open.
    "real_div": _binary(np.true_divide, _require_float),
    "maximum": _binary(np.maximum),
    "minimum": _binary(np.minimum),
    "equal": _binary(np.equal),
    "not_equal": _binary(np.not_equal),
    "less": _binary(np.less),
    "less_equal": _binary(np.less_equal),
    "greater": _binary(np.greater),
    "greater_equal": _binary(np.greater_equal),
    "logical_and": _binary(np.logical_and, _require_boolean),
    "logical_or": _binary(np.logical_or, _require_boolean),
    "logical_xor": _binary(np.logical_xor, _require_boolean),
    "floor": _unary(np.floor),
    "sqrt": _unary(np.sqrt),
    "tanh": _unary(np.tanh),
    "gelu": _gelu,
    "sigmoid": _unary(_sigmoid),
    "softmax": _softmax,
    "cast": _cast,
    "select": _select,
    "reduce_sum": _reduction(np.sum),
    "reduce_max": _reduction(np.max),
    "cumsum": _cumsum,
    "gather": _gather,
    "slice_by_index": _slice_by_index,
    "reshape": _reshape,
    "concat": _concat,
    "linear": _linear,
    "matmul": _matmul,
    "constexpr_affine_dequantize": _affine_dequantize,
    "constexpr_lut_to_dense": _lut_to_dense,
    "classify": _classify,
}
"""MIL name -> function; constants are the program's own."""
