"""What the ops of Core ML's MIL compute, in NumPy: elementwise, reductions and shapes; the table of all ops.

Meanings are those of the op reference (https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html).
Each op is one function whose parameters bear the names of the op's inputs; the evaluator calls it with those that a program
gives, and refuses others. Values are arrays; a constant string is a `str`, several values in one input are a list.

Numbers of 16 bits are added and multiplied one rounding at a time; sums over many of them (reductions, matrix products) are
accumulated in 32 bits and rounded once, and functions like the exponential are computed in 32 bits and rounded once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.converters.evaluator.package import NUMPY_TYPES
from retvec_lite.errors import RetvecLiteError

Array = npt.NDArray[Any]
Op = Callable[..., Any]

_ERF: Final = np.frompyfunc(math.erf, 1, 1)


def in_float32(function: Callable[[Array], Array]) -> Op:
    """An op of one float input `x` that is computed in float32 and rounded to the input's type."""

    def op(*, x: Array) -> Array:
        require_float(x)
        return np.asarray(function(x.astype(np.float32)), dtype=x.dtype)

    return op


def require_float(values: Array) -> None:
    """Raise RetvecLiteError for anything but fp16 and fp32."""
    if values.dtype not in (np.float16, np.float32):
        raise RetvecLiteError(f"Expected floating-point values, received {values.dtype.name}.")


def require_same_type(*values: Array) -> None:
    """Raise RetvecLiteError when values that an op combines have different types; Core ML casts nothing by itself."""
    if len({value.dtype for value in values}) != 1:
        received = " and ".join(value.dtype.name for value in values)
        raise RetvecLiteError(f"Expected values of one type, received {received}.")


def axis_of(axis: Any, rank: int) -> int:
    """An axis counted from the front; raises RetvecLiteError when there is no such axis."""
    place = int(axis)
    if not -rank <= place < rank:
        raise RetvecLiteError(f"Expected an axis of {rank} dimensions, received {place}.")
    return place % rank


def axes_of(axes: Array | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; None means all of them."""
    return tuple(range(rank)) if axes is None else tuple(axis_of(axis, rank) for axis in np.atleast_1d(axes))


def erf(values: Array) -> Array:
    """The error function of float values, computed in float64."""
    return np.asarray(_ERF(values.astype(np.float64)), np.float64)


def _binary(function: Callable[[Array, Array], Any], *, floats_only: bool = False) -> Op:
    def op(*, x: Array, y: Array) -> Array:
        require_same_type(x, y)
        if floats_only:
            require_float(x)
        return np.asarray(function(x, y), dtype=x.dtype)

    return op


def _comparison(function: Callable[[Array, Array], Any]) -> Op:
    def op(*, x: Array, y: Array) -> Array:
        require_same_type(x, y)
        return np.asarray(function(x, y))

    return op


def _logical(function: Callable[[Array, Array], Any]) -> Op:
    def op(*, x: Array, y: Array) -> Array:
        _require_booleans(x, y)
        return np.asarray(function(x, y))

    return op


def _logical_not(*, x: Array) -> Array:
    _require_booleans(x)
    return np.asarray(np.logical_not(x))


def _require_booleans(*values: Array) -> None:
    if any(value.dtype != np.bool_ for value in values):
        raise RetvecLiteError(f"Expected booleans, received {', '.join(value.dtype.name for value in values)}.")


def _unary(function: Callable[[Array], Any]) -> Op:
    def op(*, x: Array) -> Array:
        return np.asarray(function(x), dtype=x.dtype)

    return op


def _gelu(*, x: Array, mode: str = "EXACT") -> Array:
    require_float(x)
    values = x.astype(np.float32)
    if mode == "EXACT":
        found = 0.5 * values * (1 + erf(values / math.sqrt(2.0)))
    elif mode == "TANH_APPROXIMATION":
        found = 0.5 * values * (1 + np.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)))
    elif mode == "SIGMOID_APPROXIMATION":
        found = values * sigmoid(1.702 * values)
    else:
        raise RetvecLiteError(f"Expected a mode of gelu, received {mode!r}.")
    return found.astype(x.dtype)


def sigmoid(values: Array) -> Array:
    """The logistic function, without overflow."""
    found: Array = 0.5 * (1 + np.tanh(0.5 * values))
    return found


def _softmax(*, x: Array, axis: Any = -1) -> Array:
    require_float(x)
    values = x.astype(np.float32)
    powers = np.exp(values - values.max(axis=int(axis), keepdims=True))
    return np.asarray(powers / powers.sum(axis=int(axis), keepdims=True), dtype=x.dtype)


def _clip(*, x: Array, alpha: Array, beta: Array) -> Array:
    require_same_type(x, alpha, beta)
    return np.minimum(np.maximum(x, alpha), beta)


def _threshold(*, x: Array, alpha: Array) -> Array:
    require_same_type(x, alpha)
    return np.maximum(x, alpha)


def _with_epsilon(function: Callable[[Array], Array], default: float) -> Op:
    def op(*, x: Array, epsilon: Array | None = None) -> Array:
        require_float(x)
        small = np.float32(default if epsilon is None else epsilon)
        return np.asarray(function(x.astype(np.float32) + small), dtype=x.dtype)

    return op


def cast(*, x: Array, dtype: str) -> Array:
    """Integers of 8 and 16 bits keep the low bits of what does not fit; 32 bits that do not fit are an error.

    Raises:
        RetvecLiteError: for an unknown type, or a number whose 32-bit integer is undefined.
    """
    if dtype not in NUMPY_TYPES:
        raise RetvecLiteError(f"Expected a data type, received {dtype!r}.")
    target = NUMPY_TYPES[dtype]
    if x.dtype.kind == "f" and np.issubdtype(target, np.integer):
        whole = np.trunc(x.astype(np.float64))
        if not (np.abs(whole) <= 2**31).all() or (target is np.int32 and (whole == 2**31).any()):
            raise RetvecLiteError(f"Expected numbers that fit {dtype}, received {x.min()} to {x.max()}.")
        return whole.astype(np.int64).astype(target)
    return x.astype(target)


def _select(*, cond: Array, a: Array, b: Array) -> Array:
    require_same_type(a, b)
    if cond.dtype != np.bool_:
        raise RetvecLiteError(f"Expected a boolean condition, received {cond.dtype.name}.")
    return np.where(cond, a, b)


def _reduction(function: Callable[..., Any]) -> Op:
    """Sums of 16-bit floats are accumulated in float32; integers stay what they are."""

    def op(*, x: Array, axes: Array | None = None, keep_dims: Any = False) -> Array:
        values = x.astype(np.float32) if x.dtype == np.float16 else x
        found = function(values, axis=axes_of(axes, x.ndim), keepdims=bool(keep_dims))
        return np.asarray(found).astype(x.dtype)

    return op


def _mean(values: Array, **how: Any) -> Array:
    require_float(values)
    return np.asarray(np.mean(values, **how))


def _reduce_arg(function: Callable[..., Any]) -> Op:
    def op(*, x: Array, axis: Any = -1, keep_dims: Any = False, output_dtype: str = "int32") -> Array:
        found = function(x, axis=axis_of(axis, x.ndim), keepdims=bool(keep_dims))
        return cast(x=np.asarray(found), dtype=output_dtype)

    return op


def _cumsum(*, x: Array, axis: Any = 0, exclusive: Any = False, reverse: Any = False) -> Array:
    place = axis_of(axis, x.ndim)
    values = np.flip(x, place) if reverse else x
    wide = values.astype(np.float32) if x.dtype == np.float16 else values
    found = np.cumsum(wide, axis=place, dtype=wide.dtype)
    if exclusive:
        found = found - wide
    return np.asarray(np.flip(found, place) if reverse else found).astype(x.dtype)


def _reshape(*, x: Array, shape: Array) -> Array:
    sizes = [int(size) for size in np.atleast_1d(shape)]
    if 0 in sizes and len(sizes) == x.ndim:
        sizes = [size or x.shape[axis] for axis, size in enumerate(sizes)]
    return x.reshape(sizes)


def _transpose(*, x: Array, perm: Array) -> Array:
    return np.transpose(x, [axis_of(axis, x.ndim) for axis in perm])


def _expand_dims(*, x: Array, axes: Array) -> Array:
    rank = x.ndim + len(np.atleast_1d(axes))
    return np.expand_dims(x, tuple(axis_of(axis, rank) for axis in np.atleast_1d(axes)))


def _squeeze(*, x: Array, axes: Array | None = None) -> Array:
    """Axes of more than one element stay, as the op reference has it."""
    chosen = axes_of(axes, x.ndim)
    return np.squeeze(x, tuple(axis for axis in chosen if x.shape[axis] == 1))


def _as_list(values: Any) -> list[Array]:
    return list(values) if isinstance(values, list) else [values]


def _concat(*, values: Any, axis: Any, interleave: Any = False) -> Array:
    arrays = _as_list(values)
    require_same_type(*arrays)
    if interleave:
        raise RetvecLiteError("Expected a concat without interleave, received one with it.")
    return np.concatenate(arrays, axis=axis_of(axis, arrays[0].ndim))


def _stack(*, values: Any, axis: Any) -> Array:
    arrays = _as_list(values)
    require_same_type(*arrays)
    return np.stack(arrays, axis=axis_of(axis, arrays[0].ndim + 1))


def _split(*, x: Array, axis: Any, num_splits: Any = None, split_sizes: Array | None = None) -> tuple[Array, ...]:
    place = axis_of(axis, x.ndim)
    if split_sizes is None:
        return tuple(np.split(x, int(num_splits), axis=place))
    if int(split_sizes.sum()) != x.shape[place] or (num_splits is not None and int(num_splits) != len(split_sizes)):
        raise RetvecLiteError(
            f"Expected sizes that add up to {x.shape[place]}, received {split_sizes.tolist()} for {num_splits} parts."
        )
    return tuple(np.split(x, np.cumsum(split_sizes)[:-1].tolist(), axis=place))


def _pad(*, x: Array, pad: Array, mode: str = "constant", constant_val: Any = 0.0) -> Array:
    """`pad` holds the amounts before and after for the last axes."""
    amounts = pad.reshape(-1, 2).tolist()
    widths = [[0, 0]] * (x.ndim - len(amounts)) + amounts
    if mode == "constant":
        return np.pad(x, widths, constant_values=np.asarray(constant_val, x.dtype))
    if mode == "reflect":
        return np.pad(x, widths, mode="reflect")
    if mode == "replicate":
        return np.pad(x, widths, mode="edge")
    raise RetvecLiteError(f"Expected a mode of pad, received {mode!r}.")


def _tile(*, x: Array, reps: Array) -> Array:
    if len(reps) != x.ndim:
        raise RetvecLiteError(f"Expected {x.ndim} repetitions, received {reps.tolist()}.")
    return np.tile(x, reps.tolist())


def _fill(*, shape: Array, value: Any = 0.0) -> Array:
    filled = np.asarray(value, np.float32) if isinstance(value, float) else np.asarray(value)
    return np.full(tuple(shape.tolist()), filled, dtype=filled.dtype)


def _range_1d(*, start: Array, end: Array, step: Array) -> Array:
    require_same_type(start, end, step)
    return np.arange(start, end, step).astype(start.dtype)


def _shape(*, x: Array) -> Array:
    return np.array(x.shape, np.int32)


def _reverse(*, x: Array, axes: Array | None = None) -> Array:
    return np.flip(x, axes_of(axes, x.ndim))


def _classify(*, probabilities: Array, classes: Sequence[str]) -> tuple[str, dict[str, float]]:
    """The label of the largest probability (the first of equal ones), and the probability of each."""
    values = probabilities.reshape(-1)
    if probabilities.dtype != np.float32 or len(classes) != values.size or len(set(classes)) != len(classes):
        raise RetvecLiteError(
            f"Expected fp32 probabilities of {len(classes)} different classes, "
            f"received {values.size} of {values.dtype.name}."
        )
    return classes[int(values.argmax())], dict(zip(classes, values.tolist(), strict=True))


ELEMENTWISE: Final[Mapping[str, Op]] = {
    "add": _binary(np.add),
    "sub": _binary(np.subtract),
    "mul": _binary(np.multiply),
    # What integers give is not documented (truncated, floored or a float); no graph should depend on it.
    "real_div": _binary(np.true_divide, floats_only=True),
    "floor_div": _binary(np.floor_divide),
    "mod": _binary(np.mod),
    "pow": _binary(np.power),
    "maximum": _binary(np.maximum),
    "minimum": _binary(np.minimum),
    "equal": _comparison(np.equal),
    "not_equal": _comparison(np.not_equal),
    "less": _comparison(np.less),
    "less_equal": _comparison(np.less_equal),
    "greater": _comparison(np.greater),
    "greater_equal": _comparison(np.greater_equal),
    "logical_and": _logical(np.logical_and),
    "logical_or": _logical(np.logical_or),
    "logical_xor": _logical(np.logical_xor),
    "logical_not": _logical_not,
    "identity": _unary(np.copy),
    "abs": _unary(np.abs),
    "sign": _unary(np.sign),
    "relu": _unary(lambda x: np.maximum(x, np.zeros((), x.dtype))),
    "square": _unary(np.square),
    "floor": _unary(np.floor),
    "ceil": _unary(np.ceil),
    "round": _unary(np.rint),
    "sqrt": in_float32(np.sqrt),
    "exp": in_float32(np.exp),
    "exp2": in_float32(np.exp2),
    "tanh": in_float32(np.tanh),
    "sigmoid": in_float32(sigmoid),
    "erf": in_float32(erf),
    "rsqrt": _with_epsilon(lambda x: 1 / np.sqrt(x), 1e-12),
    "inverse": _with_epsilon(lambda x: 1 / x, 1e-4),
    "log": _with_epsilon(np.log, 1e-45),
    "gelu": _gelu,
    "softmax": _softmax,
    "clip": _clip,
    "threshold": _threshold,
    "cast": cast,
    "select": _select,
    "reduce_sum": _reduction(np.sum),
    "reduce_mean": _reduction(_mean),
    "reduce_max": _reduction(np.max),
    "reduce_min": _reduction(np.min),
    "reduce_prod": _reduction(np.prod),
    "reduce_argmax": _reduce_arg(np.argmax),
    "reduce_argmin": _reduce_arg(np.argmin),
    "cumsum": _cumsum,
    "reshape": _reshape,
    "transpose": _transpose,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "concat": _concat,
    "stack": _stack,
    "split": _split,
    "pad": _pad,
    "tile": _tile,
    "fill": _fill,
    "range_1d": _range_1d,
    "shape": _shape,
    "reverse": _reverse,
    "classify": _classify,
}
"""The ops of this module by their MIL names."""
