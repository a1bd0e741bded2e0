"""Ops of Core ML's MIL that hold weights: matrix products, convolutions, LSTMs, norms, and stored weights unpacked. See `mil_ops.py`."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.ops import Array, Op, axes_of, axis_of, require_float, require_same_type, sigmoid
from retvec_lite.converters.evaluator.package import unpack_values
from retvec_lite.errors import RetvecLiteError

_ACTIVATIONS: Final[Mapping[str, Any]] = {
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "linear": lambda x: x,
}


def _wide(values: Array) -> Array:
    """16-bit floats as 32-bit ones, in which their products are added."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _linear(*, x: Array, weight: Array, bias: Array | None = None) -> Array:
    require_same_type(x, weight, *([] if bias is None else [bias]))
    product = _wide(x) @ _wide(weight).T
    return np.asarray(product if bias is None else product + _wide(bias)).astype(x.dtype)


def _matmul(*, x: Array, y: Array, transpose_x: Any = False, transpose_y: Any = False) -> Array:
    require_same_type(x, y)
    left = np.swapaxes(x, -1, -2) if transpose_x and x.ndim > 1 else x
    right = np.swapaxes(y, -1, -2) if transpose_y and y.ndim > 1 else y
    return np.asarray(_wide(left) @ _wide(right)).astype(x.dtype)


def _padding(pad_type: str, pad: Array | None, sizes: list[int], strides: list[int]) -> list[tuple[int, int]]:
    """Amounts before and after each spatial axis; `sizes` are those of the dilated kernel.

    The op reference describes `same` in two ways, which agree for odd kernels in steps of one; others are refused.
    """
    if pad_type == "custom" and pad is not None:
        return [(int(before), int(after)) for before, after in pad.reshape(-1, 2)]
    if pad_type == "valid":
        return [(0, 0)] * len(sizes)
    if pad_type in ("same", "same_lower") and all(size % 2 for size in sizes) and set(strides) == {1}:
        return [(size // 2, size // 2) for size in sizes]
    raise RetvecLiteError(
        f"Expected a padding with one meaning, received {pad_type!r}, kernel {sizes}, steps {strides}."
    )


def _conv(
    *,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    strides: Array | None = None,
    pad_type: str = "valid",
    pad: Array | None = None,
    dilations: Array | None = None,
    groups: Any = 1,
) -> Array:
    """Channels first; one product for each place of the kernel."""
    require_float(x)
    require_same_type(x, weight, *([] if bias is None else [bias]))
    spatial, parts = x.ndim - 2, int(groups)
    steps = [1] * spatial if strides is None else strides.tolist()
    spread = [1] * spatial if dilations is None else dilations.tolist()
    sizes = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], spread, strict=True)]
    amounts = _padding(pad_type, pad, sizes, steps)
    if weight.shape[1] * parts != x.shape[1] or weight.shape[0] % parts:
        raise RetvecLiteError(f"Expected {x.shape[1]} channels, received a kernel {weight.shape} in {parts} groups.")
    padded = np.pad(_wide(x), [(0, 0), (0, 0), *amounts])
    lengths = [(length - size) // step + 1 for length, size, step in zip(padded.shape[2:], sizes, steps, strict=True)]
    kernel = _wide(weight).reshape(parts, -1, *weight.shape[1:])
    grouped = padded.reshape(len(x), parts, -1, *padded.shape[2:])
    found = np.zeros((len(x), parts, kernel.shape[1], *lengths), padded.dtype)
    for place in np.ndindex(*weight.shape[2:]):
        where = tuple(
            slice(at * gap, at * gap + (length - 1) * step + 1, step)
            for at, gap, length, step in zip(place, spread, lengths, steps, strict=True)
        )
        tap: Any = (slice(None),) * 3 + place
        seen: Any = (slice(None),) * 3 + where
        found += np.einsum("ngi...,goi->ngo...", grouped[seen], kernel[tap])
    found = found.reshape(len(x), -1, *lengths)
    if bias is not None:
        found = found + _wide(bias).reshape(-1, *[1] * spatial)
    return found.astype(x.dtype)


def _max_pool(
    *,
    x: Array,
    kernel_sizes: Array,
    strides: Array | None = None,
    pad_type: str = "valid",
    pad: Array | None = None,
    ceil_mode: Any = False,
) -> Array:
    """Channels first; what is padded is never the maximum."""
    sizes = kernel_sizes.tolist()
    steps = [1] * len(sizes) if strides is None else strides.tolist()
    amounts = _padding(pad_type, pad, sizes, steps)
    if ceil_mode:
        raise RetvecLiteError("Expected max_pool without ceil_mode, received one with it.")
    padded = np.pad(x, [(0, 0), (0, 0), *amounts], constant_values=-np.inf)
    axes: Any = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, sizes, axes)
    first: Any = (slice(None), slice(None), *(slice(None, None, step) for step in steps))
    return np.asarray(windows[first].max(axis=tuple(range(-len(sizes), 0))))


def _layer_norm(
    *,
    x: Array,
    axes: Array | None = None,
    gamma: Array | None = None,
    beta: Array | None = None,
    epsilon: Any = 1e-5,
) -> Array:
    require_float(x)
    chosen, values = axes_of(axes, x.ndim), x.astype(np.float32)
    centred = values - values.mean(axis=chosen, keepdims=True)
    found = centred / np.sqrt((centred**2).mean(axis=chosen, keepdims=True) + np.float32(epsilon))
    shape = [size if axis in chosen else 1 for axis, size in enumerate(x.shape)]
    if gamma is not None:
        found = found * _wide(gamma).reshape(shape)
    if beta is not None:
        found = found + _wide(beta).reshape(shape)
    return np.asarray(found).astype(x.dtype)


def _lstm(
    *,
    x: Array,
    initial_h: Array,
    initial_c: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias: Array | None = None,
    weight_ih_back: Array | None = None,
    weight_hh_back: Array | None = None,
    bias_back: Array | None = None,
    direction: str = "forward",
    output_sequence: Any = False,
    recurrent_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    activation: str = "tanh",
) -> tuple[Array, Array, Array]:
    """Gates in the order input, forget, output, cell. Peepholes and clipping are not known here, so they are refused."""
    names = (recurrent_activation, cell_activation, activation)
    if not set(names) <= set(_ACTIVATIONS) or direction not in ("forward", "reverse", "bidirectional"):
        raise RetvecLiteError(f"Expected a known LSTM, received {direction} with {', '.join(names)}.")
    runs = [(weight_ih, weight_hh, bias, direction == "reverse")]
    if direction == "bidirectional":
        if weight_ih_back is None or weight_hh_back is None:
            raise RetvecLiteError("Expected weights for both directions, received those of one.")
        runs.append((weight_ih_back, weight_hh_back, bias_back, True))
    units = weight_hh.shape[1]
    sequences, states, cells = [], [], []
    for number, (kernel, recurrent, added, backwards) in enumerate(runs):
        require_same_type(x, initial_h, initial_c, kernel, recurrent, *([] if added is None else [added]))
        part = slice(number * units, (number + 1) * units)
        outputs, state, cell = _lstm_run(
            _wide(x[::-1] if backwards else x),
            _wide(initial_h[:, part]),
            _wide(initial_c[:, part]),
            _wide(kernel),
            _wide(recurrent),
            None if added is None else _wide(added),
            names,
        )
        if not output_sequence:
            outputs = outputs[-1:]
        elif backwards:
            outputs = outputs[::-1]
        sequences.append(outputs)
        states.append(state)
        cells.append(cell)
    joined = (np.concatenate(parts, axis=-1).astype(x.dtype) for parts in (sequences, states, cells))
    return next(joined), next(joined), next(joined)


def _lstm_run(
    x: Array,
    state: Array,
    cell: Array,
    kernel: Array,
    recurrent: Array,
    bias: Array | None,
    names: tuple[str, str, str],
) -> tuple[Array, Array, Array]:
    """All outputs `[steps, batch, units]`, the last state and the last cell state, in the type of `x`."""
    gate, squash, output = (_ACTIVATIONS[name] for name in names)
    entries = x @ kernel.T
    if bias is not None:
        entries = entries + bias
    outputs = []
    for entry in entries:
        let_in, forget, let_out, candidate = np.split(entry + state @ recurrent.T, 4, axis=-1)
        cell = gate(forget) * cell + gate(let_in) * squash(candidate)
        state = gate(let_out) * output(cell)
        outputs.append(state)
    return np.stack(outputs), state, cell


def _along(values: Array, rank: int, axis: int) -> Array:
    """A scalar or vector, shaped to be broadcast along one axis."""
    return values if values.ndim == 0 else values.reshape([-1 if place == axis else 1 for place in range(rank)])


def _affine_dequantize(*, quantized_data: Array, zero_point: Array, scale: Array, axis: Any) -> Array:
    place, rank = axis_of(axis, quantized_data.ndim), quantized_data.ndim
    for part in (zero_point, scale):
        if part.ndim > 1 or (part.ndim == 1 and len(part) != quantized_data.shape[place]):
            raise RetvecLiteError(
                f"Expected one number or {quantized_data.shape[place]} along axis {place}, received {part.shape}."
            )
    moved = quantized_data.astype(np.float32) - _along(zero_point, rank, place).astype(np.float32)
    return np.asarray(moved * _along(scale, rank, place).astype(np.float32)).astype(scale.dtype)


def _lut_to_dense(*, indices: Array, lut: Array, shape: Array | None = None, vector_axis: Any = None) -> Array:
    """A palette; with `shape` in the form of iOS16 (packed indices), without it in that of iOS18 (a palette per block)."""
    if shape is not None:
        if lut.ndim != 1 or len(lut) not in (2, 4, 16, 64, 256):
            raise RetvecLiteError(f"Expected a palette of 2, 4, 16, 64 or 256 numbers, received {lut.shape}.")
        sizes = tuple(int(size) for size in shape)
        kind = f"uint{len(lut).bit_length() - 1}"
        return lut[unpack_values(indices.tobytes(), kind, int(np.prod(sizes)))].reshape(sizes)
    if lut.ndim != indices.ndim + 2 or lut.shape[-1] != 1:
        raise RetvecLiteError(
            f"Expected a palette of single numbers with {indices.ndim + 2} dimensions, received {lut.shape}."
        )
    tables = _spread(lut[..., 0], indices.shape)
    return np.take_along_axis(tables, indices[..., None].astype(np.int64), -1)[..., 0]


def _shift_scale(*, data: Array, scale: Array, offset: Array | None = None) -> Array:
    if scale.ndim != data.ndim or (offset is not None and offset.shape != scale.shape):
        raise RetvecLiteError(f"Expected a scale for each block of {data.shape}, received {scale.shape}.")
    moved = data.astype(np.float32)
    if offset is not None:
        moved = moved - _spread(offset, data.shape).astype(np.float32)
    return np.asarray(moved * _spread(scale, data.shape).astype(np.float32)).astype(scale.dtype)


def _spread(values: Array, shape: tuple[int, ...]) -> Array:
    """Values of blocks repeated for each of their elements, along the axes of `shape`."""
    for axis, size in enumerate(shape):
        if size % values.shape[axis]:
            raise RetvecLiteError(f"Expected blocks that divide {shape}, received {values.shape}.")
        values = np.repeat(values, size // values.shape[axis], axis=axis)
    return values


def _constexpr_cast(*, source_val: Array, output_dtype: str) -> Array:
    if source_val.dtype != np.float16 or output_dtype != "fp32":
        raise RetvecLiteError(f"Expected fp16 to become fp32, received {source_val.dtype.name} and {output_dtype}.")
    return source_val.astype(np.float32)


NETWORK: Final[Mapping[str, Op]] = {
    "linear": _linear,
    "matmul": _matmul,
    "conv": _conv,
    "max_pool": _max_pool,
    "layer_norm": _layer_norm,
    "lstm": _lstm,
    "constexpr_affine_dequantize": _affine_dequantize,
    "constexpr_lut_to_dense": _lut_to_dense,
    "constexpr_blockwise_shift_scale": _shift_scale,
    "constexpr_cast": _constexpr_cast,
}
"""The ops of this module by their MIL names."""
