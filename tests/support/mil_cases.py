"""Single ops with inputs, and what they must give, computed by formulas that are written out here."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RNG = np.random.default_rng(5)
F = RNG.normal(0, 2, (2, 3, 4)).astype(np.float32)
G = RNG.normal(0, 2, (2, 3, 4)).astype(np.float32)
H = F.astype(np.float16)
I = RNG.integers(-9, 9, (2, 3, 4)).astype(np.int32)  # noqa: E741
J = RNG.integers(1, 5, (2, 3, 4)).astype(np.int32)
WEIGHT = RNG.normal(0, 0.5, (5, 4)).astype(np.float32)
BIAS = RNG.normal(0, 0.5, 5).astype(np.float32)
PLANE = RNG.normal(0, 1, (1, 4, 6, 5)).astype(np.float32)
KERNEL = RNG.normal(0, 0.3, (6, 2, 3, 2)).astype(np.float32)
LINE = RNG.normal(0, 1, (1, 4, 7)).astype(np.float32)
LSTM_X = RNG.normal(0, 1, (6, 1, 3)).astype(np.float32)
LSTM = {
    part: [RNG.normal(0, 0.6, shape).astype(np.float32) for shape in ((20, 3), (20, 5), (20,))]
    for part in ("ahead", "back")
}

Builder = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Case:
    """An op: `build` takes the MIL builder and the inputs' variables, `expected` are its outputs; `atol` of their error."""

    inputs: dict[str, np.ndarray]
    build: Builder
    expected: tuple[np.ndarray, ...]
    atol: float = 1e-6
    targets: tuple[str, ...] = ("iOS16", "iOS17", "iOS18")


@dataclass
class _Cases:
    found: dict[str, Case] = field(default_factory=dict)

    def add(self, name: str, inputs: dict[str, np.ndarray], build: Builder, *expected: Any, **more: Any) -> None:
        assert name not in self.found
        self.found[name] = Case(inputs, build, tuple(map(np.asarray, expected)), **more)


def unary(name: str, expected: np.ndarray, **more: Any) -> None:
    C.add(name, {"x": F}, lambda mb, v: getattr(mb, name)(x=v["x"]), expected.astype(np.float32), **more)


def binary(name: str, x: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
    C.add(f"{name}_{x.dtype.name}", {"x": x, "y": y}, lambda mb, v: getattr(mb, name)(x=v["x"], y=v["y"]), expected)


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x.astype(np.float64))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def convolved(x: np.ndarray, weight: np.ndarray, groups: int, strides: list[int], pads: list[list[int]]) -> np.ndarray:
    """By the definition, one output at a time; spatial axes are two."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
    height = (x.shape[2] - weight.shape[2]) // strides[0] + 1
    width = (x.shape[3] - weight.shape[3]) // strides[1] + 1
    out = np.zeros((x.shape[0], weight.shape[0], height, width))
    for o in range(weight.shape[0]):
        first = o // (weight.shape[0] // groups) * weight.shape[1]
        for i in range(height):
            for j in range(width):
                a, b = i * strides[0], j * strides[1]
                part = x[:, first : first + weight.shape[1], a : a + weight.shape[2], b : b + weight.shape[3]]
                out[:, o, i, j] = (part * weight[o]).sum(axis=(1, 2, 3))
    return out.astype(np.float32)


def lstm(weights: list[np.ndarray], x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All outputs, last state, last cell; gates input, forget, output, cell, from zero states."""
    kernel, recurrent, bias = (part.astype(np.float64) for part in weights)
    state, cell, outputs = np.zeros((1, 5)), np.zeros((1, 5)), []
    for row in x:
        gates = row @ kernel.T + state @ recurrent.T + bias
        i, f, o, z = (gates[:, 5 * k : 5 * k + 5] for k in range(4))
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(z)
        state = sigmoid(o) * np.tanh(cell)
        outputs.append(state)
    return np.stack(outputs).astype(np.float32), state.astype(np.float32), cell.astype(np.float32)


def build_lstm(direction: str, sequence: bool) -> Builder:
    both = direction == "bidirectional"
    zeros = np.zeros((1, 10 if both else 5), np.float32)

    def build(mb: Any, v: dict[str, Any]) -> Any:
        ahead = dict(zip(("weight_ih", "weight_hh", "bias"), LSTM["ahead"], strict=True))
        back = dict(zip(("weight_ih_back", "weight_hh_back", "bias_back"), LSTM["back"], strict=True)) if both else {}
        return mb.lstm(
            x=v["x"], initial_h=zeros, initial_c=zeros, direction=direction, output_sequence=sequence, **ahead, **back
        )

    return build


C = _Cases()

# Elementwise.
for name, function in (
    ("exp", np.exp), ("tanh", np.tanh), ("floor", np.floor), ("ceil", np.ceil), ("abs", np.abs), ("sign", np.sign),
    ("square", np.square), ("sigmoid", sigmoid), ("erf", erf), ("exp2", np.exp2), ("identity", np.array),
):  # fmt: skip
    unary(name, function(F), atol=1e-5)
unary("relu", F * (F > 0))
halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.49], np.float32)
C.add("round", {"x": halves}, lambda mb, v: mb.round(x=v["x"]), np.array([-2, -2, 0, 0, 2, 2, 3], np.float32))
positive = np.abs(F) + 1
C.add("sqrt", {"x": positive}, lambda mb, v: mb.sqrt(x=v["x"]), positive**0.5)
C.add("rsqrt", {"x": positive}, lambda mb, v: mb.rsqrt(x=v["x"], epsilon=0.5), (positive + np.float32(0.5)) ** -0.5)
C.add("log", {"x": positive}, lambda mb, v: mb.log(x=v["x"]), np.log(positive.astype(np.float64)).astype(np.float32))
C.add("inverse", {"x": positive}, lambda mb, v: mb.inverse(x=v["x"], epsilon=1.0), 1 / (positive + np.float32(1)))
exact = (F * (1 + erf(F / 2**0.5)) / 2).astype(np.float32)
C.add("gelu", {"x": F}, lambda mb, v: mb.gelu(x=v["x"], mode="EXACT"), exact)
approximated = F / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (F + 0.044715 * F**3)))
C.add(
    "gelu_tanh",
    {"x": F},
    lambda mb, v: mb.gelu(x=v["x"], mode="TANH_APPROXIMATION"),
    approximated.astype(np.float32),
)
C.add("gelu_sigmoid", {"x": F}, lambda mb, v: mb.gelu(x=v["x"], mode="SIGMOID_APPROXIMATION"),
      (F * sigmoid(1.702 * F)).astype(np.float32))  # fmt: skip
H64 = H.astype(np.float64)
C.add("gelu_fp16", {"x": H}, lambda mb, v: mb.gelu(x=v["x"], mode="EXACT"),
      (H64 * (1 + erf(H64 / 2**0.5)) / 2).astype(np.float16), atol=2e-3)  # fmt: skip
for name, function in (
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum),
    ("real_div", np.divide),
):  # fmt: skip
    binary(name, F, G, function(F, G))
    if name != "real_div":
        binary(name, I, J, function(I, J))
binary("floor_div", I, J, np.array([a // b for a, b in zip(I.flat, J.flat, strict=True)], np.int32).reshape(I.shape))
binary("mod", I, J, np.array([a % b for a, b in zip(I.flat, J.flat, strict=True)], np.int32).reshape(I.shape))
C.add("pow", {"x": positive, "y": G}, lambda mb, v: mb.pow(x=v["x"], y=v["y"]), positive**G, atol=2e-3)
C.add("add_broadcast", {"x": H, "y": H[:1, :, :1]}, lambda mb, v: mb.add(x=v["x"], y=v["y"]), H + H[:1, :, :1])
for name, function in (
    ("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
    ("greater", np.greater), ("greater_equal", np.greater_equal),
):  # fmt: skip
    binary(name, I, J, function(I, J))
for name, function in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
    C.add(
        f"logical_{name}",
        {"x": F},
        lambda mb, v, name=name: getattr(mb, f"logical_{name}")(
            x=mb.greater(x=v["x"], y=0.0), y=mb.less(x=v["x"], y=1.0)
        ),
        function(F > 0, F < 1),
    )
C.add("logical_not", {"x": F}, lambda mb, v: mb.logical_not(x=mb.greater(x=v["x"], y=0.0)), ~(F > 0))
C.add(
    "select",
    {"x": F, "y": G},
    lambda mb, v: mb.select(cond=mb.greater(x=v["x"], y=0.0), a=v["x"], b=v["y"]),
    np.array([a if a > 0 else b for a, b in zip(F.flat, G.flat, strict=True)]).reshape(F.shape),
)
C.add(
    "clip", {"x": F}, lambda mb, v: mb.clip(x=v["x"], alpha=-1.0, beta=0.5), np.sort([F, F * 0 - 1, F * 0 + 0.5], 0)[1]
)
C.add("threshold", {"x": F}, lambda mb, v: mb.threshold(x=v["x"], alpha=0.25), np.where(F < 0.25, np.float32(0.25), F))
C.add("cast_to_int", {"x": F}, lambda mb, v: mb.cast(x=v["x"], dtype="int32"), np.fix(F).astype(np.int32))
C.add("cast_to_half", {"x": F}, lambda mb, v: mb.cast(x=v["x"], dtype="fp16"), H)
C.add("cast_to_bool", {"x": I}, lambda mb, v: mb.cast(x=v["x"], dtype="bool"), I != 0)
CODES = np.array([[0x41, 0x1F600, 0xFFFF, 0x10FFFF]], np.int32)
C.add("cast_to_uint16", {"x": CODES}, lambda mb, v: mb.cast(x=v["x"], dtype="uint16"), (CODES % 65536).astype(np.uint16),
      targets=("iOS17", "iOS18"))  # fmt: skip
C.add("cast_to_int16", {"x": CODES}, lambda mb, v: mb.cast(x=v["x"], dtype="int16"),
      np.array([[0x41, 0xF600 - 65536, -1, -1]], np.int16), targets=("iOS17", "iOS18"))  # fmt: skip

# Reductions.
W = np.array(F, np.float64)
C.add("softmax", {"x": F}, lambda mb, v: mb.softmax(x=v["x"], axis=1),
      (np.exp(W) / np.exp(W).sum(axis=1)[:, None]).astype(np.float32))  # fmt: skip
C.add("reduce_sum", {"x": F}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[0, 2]), np.einsum("abc->b", F), atol=1e-5)
C.add("reduce_sum_int", {"x": I}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[-1], keep_dims=True),
      np.einsum("abc->ab", I)[..., None].astype(np.int32))  # fmt: skip
many = np.full((1, 4000), 1, np.float16)
C.add("reduce_sum_fp16", {"x": many}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[1]), np.array([4000], np.float16))
C.add("reduce_mean", {"x": F}, lambda mb, v: mb.reduce_mean(x=v["x"], axes=[1]), W.mean(axis=1).astype(np.float32))
C.add("reduce_max", {"x": F}, lambda mb, v: mb.reduce_max(x=v["x"], axes=[1]), np.sort(F, 1)[:, -1])
C.add("reduce_min", {"x": F}, lambda mb, v: mb.reduce_min(x=v["x"], axes=[1]), np.sort(F, 1)[:, 0])
C.add(
    "reduce_argmax",
    {"x": F},
    lambda mb, v: mb.reduce_argmax(x=v["x"], axis=1),
    np.argsort(F, 1)[:, -1].astype(np.int32),
)
C.add("cumsum", {"x": I}, lambda mb, v: mb.cumsum(x=v["x"], axis=1),
      np.stack([I[:, 0], I[:, 0] + I[:, 1], I.sum(axis=1, dtype=np.int32)], axis=1))  # fmt: skip
C.add("cumsum_exclusive_reverse", {"x": F}, lambda mb, v: mb.cumsum(x=v["x"], axis=1, exclusive=True, reverse=True),
      np.stack([F[:, 1] + F[:, 2], F[:, 2], F[:, 2] * 0], axis=1), atol=1e-5)  # fmt: skip

# Looking up and placing.
TABLE = np.arange(70_000, dtype=np.int32) * 3
C.add("gather", {"i": CODES[:, :3]}, lambda mb, v: mb.gather(x=np.arange(200_000, dtype=np.int32) * 3, indices=v["i"], axis=0),
      CODES[:, :3] * 3)  # fmt: skip
C.add("gather_axis", {"x": F}, lambda mb, v: mb.gather(x=v["x"], indices=np.array([2, 0], np.int32), axis=-2),
      np.stack([F[:, 2], F[:, 0]], axis=1))  # fmt: skip
C.add("gather_batch", {"x": F}, lambda mb, v: mb.gather(
    x=v["x"], indices=np.array([[2, 0], [1, 1]], np.int32), axis=1, batch_dims=1),
    np.stack([np.stack([F[0, 2], F[0, 0]]), np.stack([F[1, 1], F[1, 1]])]))  # fmt: skip
picks = np.array([[[0, 1, 2, 0]], [[2, 2, 1, 0]]], np.int32)
C.add("gather_along_axis", {"x": F}, lambda mb, v: mb.gather_along_axis(x=v["x"], indices=picks, axis=1),
      np.array([[[F[b, picks[b, 0, k], k] for k in range(4)]] for b in range(2)]))  # fmt: skip
C.add("gather_nd", {"x": F}, lambda mb, v: mb.gather_nd(x=v["x"], indices=np.array([[0, 2], [1, 0]], np.int32)),
      np.stack([F[0, 2], F[1, 0]]))  # fmt: skip
C.add("gather_nd_batch", {"x": F}, lambda mb, v: mb.gather_nd(
    x=v["x"], indices=np.array([[[2, 1]], [[0, 3]]], np.int32), batch_dims=1),
    np.array([[F[0, 2, 1]], [F[1, 0, 3]]]))  # fmt: skip
base, twice = np.arange(6, dtype=np.float32), np.array([[1], [4], [1]], np.int32)
C.add("scatter_nd_add", {"x": base}, lambda mb, v: mb.scatter_nd(
    data=v["x"], indices=twice, updates=np.array([10, 20, 30], np.float32), mode="add"),
    np.array([0, 41, 2, 3, 24, 5], np.float32))  # fmt: skip
C.add("scatter_nd_update", {"x": base}, lambda mb, v: mb.scatter_nd(
    data=v["x"], indices=twice[:2], updates=np.array([10, 20], np.float32), mode="update"),
    np.array([0, 10, 2, 3, 20, 5], np.float32))  # fmt: skip
C.add("scatter_along_axis", {"x": F}, lambda mb, v: mb.scatter_along_axis(
    data=v["x"], indices=picks, updates=np.full((2, 1, 4), 7, np.float32), axis=1, mode="update"),
    np.array([[[7 if picks[b, 0, k] == r else F[b, r, k] for k in range(4)] for r in range(3)] for b in range(2)],
             np.float32))  # fmt: skip
C.add("scatter", {"x": base}, lambda mb, v: mb.scatter(
    data=v["x"], indices=np.array([5, 0], np.int32), updates=np.array([1, 2], np.float32), axis=0, mode="add"),
    np.array([2, 1, 2, 3, 4, 6], np.float32))  # fmt: skip
ids = np.array([[0, 2, 5, -1]], np.int32)
C.add("one_hot", {"i": ids}, lambda mb, v: mb.one_hot(indices=v["i"], one_hot_vector_size=3, axis=1, on_value=2.0, off_value=-1.0),
      np.array([[[2, -1, -1, -1], [-1, -1, -1, -1], [-1, 2, -1, -1]]], np.float32))  # fmt: skip
C.add("slice_by_index", {"x": F}, lambda mb, v: mb.slice_by_index(
    x=v["x"], begin=[1, 0, -1], end=[0, 3, -4], stride=[1, 2, -1], begin_mask=[False, True, False],
    squeeze_mask=[True, False, False]),
    np.stack([F[1, [0, 2], 3], F[1, [0, 2], 2], F[1, [0, 2], 1]], axis=1))  # fmt: skip
C.add(
    "slice_by_size", {"x": F}, lambda mb, v: mb.slice_by_size(x=v["x"], begin=[0, 1, 2], size=[1, -1, 2]), F[:1, 1:, 2:]
)

# Shapes.
C.add("concat", {"x": F, "y": G}, lambda mb, v: mb.concat(values=[v["x"], v["y"]], axis=-1), np.dstack([F, G]))
C.add(
    "stack", {"x": F, "y": G}, lambda mb, v: mb.stack(values=[v["x"], v["y"]], axis=1), np.array([F, G]).swapaxes(0, 1)
)
C.add("split", {"x": F}, lambda mb, v: mb.split(x=v["x"], num_splits=2, axis=2), F[..., :2], F[..., 2:])
C.add("split_sizes", {"x": F}, lambda mb, v: mb.split(x=v["x"], split_sizes=[1, 3], axis=-1), F[..., :1], F[..., 1:])
C.add("pad", {"x": F}, lambda mb, v: mb.pad(x=v["x"], pad=[1, 0, 0, 2], mode="constant", constant_val=9.0),
      np.pad(F, [(0, 0), (1, 0), (0, 2)], constant_values=9))  # fmt: skip
C.add(
    "pad_reflect", {"x": F}, lambda mb, v: mb.pad(x=v["x"], pad=[1, 2], mode="reflect"), F[..., [1, 0, 1, 2, 3, 2, 1]]
)
C.add(
    "pad_replicate",
    {"x": F},
    lambda mb, v: mb.pad(x=v["x"], pad=[1, 2], mode="replicate"),
    F[..., [0, 0, 1, 2, 3, 3, 3]],
)
C.add("reshape", {"x": F}, lambda mb, v: mb.reshape(x=v["x"], shape=[4, -1]), np.array(F.flat).reshape(4, 6))
C.add("transpose", {"x": F}, lambda mb, v: mb.transpose(x=v["x"], perm=[2, 0, -2]), np.einsum("abc->cab", F))
C.add("expand_dims", {"x": F}, lambda mb, v: mb.expand_dims(x=v["x"], axes=[0, -2]), F[None, :, :, None])
C.add("squeeze", {"x": F[:1]}, lambda mb, v: mb.squeeze(x=v["x"], axes=[0]), F[0])
C.add("tile", {"x": F}, lambda mb, v: mb.tile(x=v["x"], reps=[1, 2, 1]), np.hstack([F, F]))
C.add("fill", {"x": base}, lambda mb, v: mb.add(x=v["x"], y=mb.fill(shape=[6], value=2.5)), base + np.float32(2.5))
C.add("range_1d", {"x": base}, lambda mb, v: mb.add(x=v["x"], y=mb.range_1d(start=0.0, end=12.0, step=2.0)), base * 3)
C.add("shape", {"x": F}, lambda mb, v: mb.shape(x=v["x"]), np.array([2, 3, 4], np.int32))
C.add("reverse", {"x": F}, lambda mb, v: mb.reverse(x=v["x"], axes=[1]), F[:, [2, 1, 0]])

# Weights.
WIDE = np.einsum("abi,oi->abo", W, WEIGHT.astype(np.float64)) + BIAS
C.add(
    "linear", {"x": F}, lambda mb, v: mb.linear(x=v["x"], weight=WEIGHT, bias=BIAS), WIDE.astype(np.float32), atol=1e-5
)
C.add("linear_fp16", {"x": H}, lambda mb, v: mb.linear(x=v["x"], weight=WEIGHT.astype(np.float16), bias=BIAS.astype(np.float16)),
      WIDE.astype(np.float16), atol=1e-2)  # fmt: skip
long = np.full((1, 4096), 1, np.float16)
C.add("linear_fp16_accumulates_wide", {"x": long}, lambda mb, v: mb.linear(x=v["x"], weight=np.ones((1, 4096), np.float16)),
      np.array([[4096]], np.float16))  # fmt: skip
C.add("matmul", {"x": F, "y": G}, lambda mb, v: mb.matmul(x=v["x"], y=v["y"], transpose_y=True),
      np.einsum("abi,aci->abc", F, G), atol=1e-5)  # fmt: skip
C.add("matmul_transposed", {"x": F, "y": G}, lambda mb, v: mb.matmul(x=v["x"], y=v["y"], transpose_x=True),
      np.einsum("aib,aic->abc", F, G), atol=1e-5)  # fmt: skip
C.add("conv_2d", {"x": PLANE}, lambda mb, v: mb.conv(
    x=v["x"], weight=KERNEL, bias=np.ones(6, np.float32), strides=[2, 1], pad_type="custom", pad=[1, 0, 0, 2], groups=2),
    convolved(PLANE, KERNEL, 2, [2, 1], [[1, 0], [0, 2]]) + 1, atol=1e-5)  # fmt: skip
depthwise = RNG.normal(0, 1, (4, 1, 3)).astype(np.float32)
C.add("conv_1d_depthwise", {"x": LINE}, lambda mb, v: mb.conv(x=v["x"], weight=depthwise, pad_type="same", groups=4),
      convolved(LINE[..., None, :], depthwise[:, :, None], 4, [1, 1], [[0, 0], [1, 1]])[:, :, 0], atol=1e-5)  # fmt: skip
C.add("max_pool", {"x": LINE}, lambda mb, v: mb.max_pool(
    x=v["x"], kernel_sizes=[2], strides=[2], pad_type="custom", pad=[0, 1], ceil_mode=False),
    np.stack([LINE[..., 0:2].max(-1), LINE[..., 2:4].max(-1), LINE[..., 4:6].max(-1), LINE[..., 6]], -1))  # fmt: skip
centred = W - W.mean(axis=2, keepdims=True)
normed = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + 0.01) * np.arange(4) + 2
C.add("layer_norm", {"x": F}, lambda mb, v: mb.layer_norm(
    x=v["x"], axes=[-1], gamma=np.arange(4, dtype=np.float32), beta=np.full(4, 2, np.float32), epsilon=0.01),
    normed.astype(np.float32), atol=1e-5)  # fmt: skip
AHEAD, BACK = lstm(LSTM["ahead"], LSTM_X), lstm(LSTM["back"], LSTM_X[::-1])
REVERSED = lstm(LSTM["ahead"], LSTM_X[::-1])
C.add("lstm", {"x": LSTM_X}, build_lstm("forward", True), *AHEAD, atol=1e-5)
C.add("lstm_last", {"x": LSTM_X}, build_lstm("forward", False), AHEAD[0][-1:], *AHEAD[1:], atol=1e-5)
C.add("lstm_reverse", {"x": LSTM_X}, build_lstm("reverse", True), REVERSED[0][::-1], *REVERSED[1:], atol=1e-5)
C.add("lstm_bidirectional", {"x": LSTM_X}, build_lstm("bidirectional", True), np.concatenate([AHEAD[0], BACK[0][::-1]], -1),
      *(np.concatenate(pair, -1) for pair in zip(AHEAD[1:], BACK[1:], strict=True)), atol=1e-5)  # fmt: skip

# Stored weights, unpacked. They are given out by adding them to zeros.
ZEROS = np.zeros((4, 6), np.float32)
BYTES = RNG.integers(0, 256, (4, 6)).astype(np.uint8)
SCALES = np.array([0.5, 0.25, 2, 1], np.float32)
POINTS = np.array([3, 128, 255, 0], np.uint8)
C.add("constexpr_affine_dequantize", {"x": ZEROS}, lambda mb, v: mb.add(x=v["x"], y=mb.constexpr_affine_dequantize(
    quantized_data=BYTES, zero_point=POINTS, scale=SCALES, axis=np.int32(0))),
    ((BYTES.astype(int) - POINTS[:, None]) * SCALES[:, None]).astype(np.float32))  # fmt: skip
C.add("constexpr_affine_dequantize_int8", {"x": ZEROS}, lambda mb, v: mb.add(x=v["x"], y=mb.constexpr_affine_dequantize(
    quantized_data=BYTES.view(np.int8), zero_point=np.int8(-5), scale=np.float32(0.5), axis=np.int32(1))),
    ((BYTES.view(np.int8).astype(int) + 5) * 0.5).astype(np.float32))  # fmt: skip
C.add("constexpr_cast", {"x": F}, lambda mb, v: mb.add(x=v["x"], y=mb.constexpr_cast(source_val=H, output_dtype="fp32")),
      F + H.astype(np.float32))  # fmt: skip
for bits in (1, 2, 4, 6, 8):
    colours = RNG.normal(0, 1, 2**bits).astype(np.float32)
    chosen = RNG.integers(0, 2**bits, 24)
    stream = sum(int(index) << (bits * place) for place, index in enumerate(chosen))
    packed = np.frombuffer(stream.to_bytes(3 * bits, "little"), np.uint8)
    C.add(f"constexpr_lut_to_dense_{bits}_bits", {"x": ZEROS}, lambda mb, v, colours=colours, packed=packed: mb.add(
        x=v["x"], y=mb.constexpr_lut_to_dense(indices=packed, lut=colours, shape=np.array([4, 6], np.uint32))),
        colours[chosen].reshape(4, 6), targets=("iOS16", "iOS17"))  # fmt: skip


def small(values: np.ndarray, kind: str) -> np.ndarray:
    """Values in coremltools' own NumPy type for less than eight bits."""
    from coremltools.converters.mil.mil import types

    found: np.ndarray = values.astype(types.nptype_from_builtin(getattr(types, kind)))
    return found


for kind in ("uint1", "uint2", "uint3", "uint4", "uint6", "uint8"):
    bits = int(kind[4:])
    tables = RNG.normal(0, 1, (2, 1, 2**bits, 1)).astype(np.float32)
    chosen = RNG.integers(0, 2**bits, (4, 6))
    C.add(f"constexpr_lut_to_dense_{kind}", {"x": ZEROS}, lambda mb, v, tables=tables, chosen=chosen, kind=kind: mb.add(
        x=v["x"], y=mb.constexpr_lut_to_dense(
            indices=chosen.astype(np.uint8) if kind == "uint8" else small(chosen, kind), lut=tables)),
        np.array([[tables[row // 2, 0, chosen[row, column], 0] for column in range(6)] for row in range(4)]),
        targets=("iOS18",))  # fmt: skip
NIBBLES = RNG.integers(-8, 8, (4, 6))
BLOCKS = RNG.normal(1, 0.1, (2, 3)).astype(np.float32)
OFFSETS = RNG.integers(-8, 8, (2, 3))
C.add("constexpr_blockwise_shift_scale", {"x": ZEROS}, lambda mb, v: mb.add(x=v["x"], y=mb.constexpr_blockwise_shift_scale(
    data=small(NIBBLES, "int4"), scale=BLOCKS, offset=small(OFFSETS, "int4"))),
    np.array([[(NIBBLES[r, c] - OFFSETS[r // 2, c // 2]) * BLOCKS[r // 2, c // 2] for c in range(6)] for r in range(4)],
             np.float32), targets=("iOS18",))  # fmt: skip
C.add("constexpr_blockwise_int8", {"x": ZEROS}, lambda mb, v: mb.add(x=v["x"], y=mb.constexpr_blockwise_shift_scale(
    data=BYTES.view(np.int8), scale=SCALES[:, None])),
    (BYTES.view(np.int8) * SCALES[:, None]).astype(np.float32), targets=("iOS18",))  # fmt: skip

CASES = C.found
