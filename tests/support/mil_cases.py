"""Single ops with inputs and what they must give, computed here by formulas of their own."""

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
Builder = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Case:
    """An op: `build` takes the MIL builder and the inputs' variables; `expected` are the outputs, `atol` their error."""

    inputs: dict[str, np.ndarray]
    build: Builder
    expected: tuple[np.ndarray, ...]
    atol: float = 1e-6


@dataclass
class _Cases:
    found: dict[str, Case] = field(default_factory=dict)

    def add(self, name: str, inputs: dict[str, np.ndarray], build: Builder, *expected: Any, **more: Any) -> None:
        assert name not in self.found
        self.found[name] = Case(inputs, build, tuple(map(np.asarray, expected)), **more)


def binary(name: str, x: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
    C.add(f"{name}_{x.dtype.name}", {"x": x, "y": y}, lambda mb, v: getattr(mb, name)(x=v["x"], y=v["y"]), expected)


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x.astype(np.float64))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


C = _Cases()

# Elementwise.
C.add("tanh", {"x": F}, lambda mb, v: mb.tanh(x=v["x"]), np.tanh(F.astype(np.float64)).astype(np.float32))
C.add("floor", {"x": F}, lambda mb, v: mb.floor(x=v["x"]), np.array([math.floor(x) for x in F.flat], np.float32).reshape(F.shape))  # fmt: skip
C.add("sqrt", {"x": G * G}, lambda mb, v: mb.sqrt(x=v["x"]), np.abs(G))
exact = (F * (1 + erf(F / 2**0.5)) / 2).astype(np.float32)
C.add("gelu", {"x": F}, lambda mb, v: mb.gelu(x=v["x"], mode="EXACT"), exact)
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
C.add(
    "select",
    {"x": F, "y": G},
    lambda mb, v: mb.select(cond=mb.greater(x=v["x"], y=0.0), a=v["x"], b=v["y"]),
    np.array([a if a > 0 else b for a, b in zip(F.flat, G.flat, strict=True)]).reshape(F.shape),
)
C.add("cast_to_int", {"x": F}, lambda mb, v: mb.cast(x=v["x"], dtype="int32"), np.fix(F).astype(np.int32))
C.add("cast_to_half", {"x": F}, lambda mb, v: mb.cast(x=v["x"], dtype="fp16"), H)
C.add("cast_to_bool", {"x": I}, lambda mb, v: mb.cast(x=v["x"], dtype="bool"), I != 0)
CODES = np.array([[0x41, 0x1F600, 0xFFFF, 0x10FFFF]], np.int32)
# Reductions.
W = np.array(F, np.float64)
C.add("softmax", {"x": F}, lambda mb, v: mb.softmax(x=v["x"], axis=1),
      (np.exp(W) / np.exp(W).sum(axis=1)[:, None]).astype(np.float32))  # fmt: skip
C.add("sigmoid", {"x": F}, lambda mb, v: mb.sigmoid(x=v["x"]), (1 / (1 + np.exp(-W))).astype(np.float32))
C.add("sigmoid_far_out", {"x": F * 100}, lambda mb, v: mb.sigmoid(x=v["x"]),
      (1 / (1 + np.exp(-100 * W))).astype(np.float32))  # fmt: skip
C.add("reduce_sum", {"x": F}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[0, 2]), np.einsum("abc->b", F), atol=1e-5)
C.add("reduce_sum_int", {"x": I}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[-1], keep_dims=True),
      np.einsum("abc->ab", I)[..., None].astype(np.int32))  # fmt: skip
many = np.full((1, 4000), 1, np.float16)
C.add("reduce_sum_fp16", {"x": many}, lambda mb, v: mb.reduce_sum(x=v["x"], axes=[1]), np.array([4000], np.float16))
C.add("reduce_max", {"x": F}, lambda mb, v: mb.reduce_max(x=v["x"], axes=[1]), np.sort(F, 1)[:, -1])
C.add("cumsum", {"x": I}, lambda mb, v: mb.cumsum(x=v["x"], axis=1),
      np.stack([I[:, 0], I[:, 0] + I[:, 1], I.sum(axis=1, dtype=np.int32)], axis=1))  # fmt: skip

# Looking up and cutting.
C.add("gather", {"i": CODES[:, :3]}, lambda mb, v: mb.gather(x=np.arange(200_000, dtype=np.int32) * 3, indices=v["i"], axis=0),
      CODES[:, :3] * 3)  # fmt: skip
C.add("gather_axis", {"x": F}, lambda mb, v: mb.gather(x=v["x"], indices=np.array([2, 0], np.int32), axis=-2),
      np.stack([F[:, 2], F[:, 0]], axis=1))  # fmt: skip
C.add("slice_by_index", {"x": F}, lambda mb, v: mb.slice_by_index(x=v["x"], begin=[1, 0, 1], end=[2, 3, 3]),
      np.stack([F[1:, :, 1], F[1:, :, 2]], axis=-1))  # fmt: skip

# Shapes.
C.add("concat", {"x": F, "y": G}, lambda mb, v: mb.concat(values=[v["x"], v["y"]], axis=-1), np.dstack([F, G]))
C.add("reshape", {"x": F}, lambda mb, v: mb.reshape(x=v["x"], shape=[4, -1]), np.array(F.flat).reshape(4, 6))

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
C.add("matmul", {"x": F, "y": G.transpose(0, 2, 1)}, lambda mb, v: mb.matmul(x=v["x"], y=v["y"]),
      np.einsum("abi,aci->abc", F, G), atol=1e-5)  # fmt: skip
C.add("matmul_transposed", {"x": F, "y": G}, lambda mb, v: mb.matmul(x=v["x"], y=v["y"], transpose_y=True),
      np.einsum("abi,aci->abc", F, G), atol=1e-5)  # fmt: skip
# Stored weights, unpacked. Adding zeros makes them outputs.
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


for bits in (4, 8):
    colours = RNG.normal(0, 1, 2**bits).astype(np.float32)
    chosen = RNG.integers(0, 2**bits, (4, 6))
    stream = sum(int(index) << (bits * place) for place, index in enumerate(chosen.flat))
    packed = np.frombuffer(stream.to_bytes(3 * bits, "little"), np.uint8)
    C.add(f"constexpr_lut_to_dense_{bits}_bits", {"x": ZEROS}, lambda mb, v, colours=colours, packed=packed: mb.add(
        x=v["x"], y=mb.constexpr_lut_to_dense(indices=packed, lut=colours, shape=np.array([4, 6], np.uint32))),
        colours[chosen])  # fmt: skip

CASES = C.found
