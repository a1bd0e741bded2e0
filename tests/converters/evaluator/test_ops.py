import functools
from typing import Any

import numpy as np
import pytest
from mil_cases import CASES
from packages import mil_programs

from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.evaluator.ops import OPS
from retvec_lite.converters.evaluator.package import NUMPY_TYPES
from retvec_lite.errors import RetvecLiteError


@functools.cache
def program() -> Program:
    return Program(mil_programs() / "cases.mlpackage")


def of_all(value: Any) -> Any:
    """An argument that is the same for all texts."""
    if isinstance(value, list):
        return [of_all(item) for item in value]
    return np.asarray(value)[None] if isinstance(value, np.ndarray | np.generic) else value


def computed(kind: str, arguments: dict[str, Any]) -> Any:
    """What an op gives for one text."""
    return OPS[kind](**{key: of_all(value) for key, value in arguments.items()})[0]


@pytest.mark.parametrize("name", CASES)
def test_an_op_gives_what_its_formula_gives(name: str) -> None:
    case, loaded = CASES[name], program()
    inputs = {key: np.zeros(kind.shape, NUMPY_TYPES[kind.dtype]) for key, kind in loaded.inputs.items()}
    inputs |= {f"{name}__{key}": value for key, value in case.inputs.items()}
    names = [f"{name}__{number}" for number in range(len(case.expected))]
    outputs = loaded.run(inputs, names)
    for found, expected in zip((outputs[key] for key in names), case.expected, strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-6, atol=case.atol)


@pytest.mark.parametrize("name", CASES)
def test_many_texts_at_once_give_what_each_gives_alone(name: str) -> None:
    """With other numbers in each text, so that one that gets another's shows."""
    loaded, rng = program(), np.random.default_rng(1)
    given = [
        {key: np.zeros(kind.shape, NUMPY_TYPES[kind.dtype]) for key, kind in loaded.inputs.items()}
        | {
            f"{name}__{key}": rng.permutation(value.reshape(-1)).reshape(value.shape)
            for key, value in CASES[name].inputs.items()
        }
        for _ in range(3)
    ]
    names = [f"{name}__{number}" for number in range(len(CASES[name].expected))]
    together = loaded.run_all({key: np.stack([text[key] for text in given]) for key in loaded.inputs}, names)
    for place, text in enumerate(given):
        alone = loaded.run(text, names)
        for key in names:
            np.testing.assert_array_equal(together[key][place], alone[key], strict=True)


@pytest.mark.parametrize(
    ("kind", "arguments", "texts"),
    [
        ("add", {"x": np.eye(3, dtype=np.float32)}, {"y": np.float32([[1, 2, 3], [4, 5, 6]])}),
        ("add", {"x": np.float32(2)}, {"y": np.float32([1, 2])}),
        ("gather", {"x": np.arange(12).reshape(3, 4), "axis": 1}, {"indices": np.int32([[0, 3], [2, 1]])}),
        ("gather", {"indices": np.int32([2, 0]), "axis": -1}, {"x": np.arange(12).reshape(2, 2, 3)}),
        ("gather", {"axis": 1}, {"x": np.arange(24).reshape(2, 3, 4), "indices": np.int32([[[0, 3]], [[2, 1]]])}),
        ("concat", {"axis": -1}, {"values": [np.eye(2), np.arange(4.0).reshape(2, 2)]}),
        ("reduce_sum", {"keep_dims": True}, {"x": np.arange(6).reshape(2, 3)}),
        ("reduce_max", {"axes": np.int32([-1])}, {"x": np.arange(12).reshape(2, 2, 3)}),
        ("cast", {"dtype": "int32"}, {"x": np.float32([1.5, -2.5])}),
    ],
)  # fmt: skip
def test_whatever_differs_between_texts_gives_what_each_gives_alone(
    kind: str, arguments: dict[str, object], texts: dict[str, Any]
) -> None:
    found = OPS[kind](**{key: of_all(value) for key, value in arguments.items()}, **texts)
    for place in range(2):
        own = {
            key: [item[place] for item in value] if isinstance(value, list) else value[place]
            for key, value in texts.items()
        }
        np.testing.assert_array_equal(found[place], computed(kind, {**arguments, **own}))


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("gather", {"x": np.arange(3)[None], "indices": np.int32([[0], [3]])}, "Indices from 0 to 3 are outside of 3 elements"),
        ("gather", {"x": np.arange(6).reshape(2, 3), "indices": np.int32([[0], [3]])}, "Indices from 0 to 3 are outside of 3"),
        ("cumsum", {"x": np.arange(6).reshape(2, 3), "axis": 1}, "There is no axis 1 of 1 dimensions"),
        ("reshape", {"x": np.arange(6)[None], "shape": np.int32([[2, 3], [3, 2]])}, "must be constant differs between texts"),
        ("linear", {"x": np.float32([[1, 2]]), "weight": np.zeros((2, 2, 2), np.float32)}, "must be constant differs"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one_of_many_texts_is_refused(kind: str, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        OPS[kind](**arguments)


def test_every_op_has_a_case() -> None:
    used = {operation.kind for operation in program().operations}
    assert used - {"const"} == set(OPS) - {"classify"}


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("add", {"x": np.float32([1]), "y": np.float16([1])}, "different types: float32 and float16"),
        ("real_div", {"x": np.int32([1]), "y": np.int32([2])}, "Floating-point values are needed, not int32"),
        ("gather", {"x": np.arange(3), "indices": np.int32([3])}, "Indices from 3 to 3 are outside of 3 elements"),
        ("gather", {"x": np.arange(3), "indices": np.int32([-1])}, "Indices from -1 to -1 are outside of 3 elements"),
        ("gather", {"x": np.arange(3), "indices": np.float32([1])}, "must be integers, not float32"),
        ("gather", {"x": np.eye(3), "indices": np.int32([1]), "batch_dims": 1}, "does not support batch_dims"),
        ("cumsum", {"x": np.arange(3), "exclusive": True}, "does not support exclusive"),
        ("concat", {"values": [np.eye(2)] * 2, "axis": 0, "interleave": True}, "does not support interleave"),
        ("matmul", {"x": np.eye(2), "y": np.eye(2), "transpose_x": True}, "does not support transpose_x"),
        ("cast", {"x": np.float32([2**31]), "dtype": "int32"}, "do not fit int32"),
        ("cast", {"x": np.float32([np.nan]), "dtype": "int32"}, "do not fit int32"),
        ("cast", {"x": np.float32([1]), "dtype": "complex"}, "'complex' is no data type"),
        ("logical_and", {"x": np.int32([1]), "y": np.int32([1])}, "Booleans are needed, not int32"),
        ("select", {"cond": np.int32([1]), "a": np.int32([1]), "b": np.int32([1])}, "Booleans are needed, not int32"),
        ("gelu", {"x": np.float32([1]), "mode": "TANH_APPROXIMATION"}, "does not support the mode 'TANH_APPROXIMATION'"),
        ("slice_by_index", {"x": np.eye(2), "begin": np.int32([0]), "end": np.int32([1])}, "does not fit a value of 2"),
        ("constexpr_affine_dequantize", {"quantized_data": np.int8([[1, 2]]), "zero_point": np.int8([0]),
         "scale": np.float32([1, 2, 3]), "axis": 0}, "One number or 1 are needed for axis 0"),
        ("constexpr_lut_to_dense", {"indices": np.uint8([1]), "lut": np.zeros((2, 1, 16, 1)), "shape": np.uint32([1, 1])},
         "A palette of 16 or 256"),
        ("constexpr_lut_to_dense", {"indices": np.uint8([1]), "lut": np.zeros(16), "shape": np.uint32([1, 3])},
         "1 bytes do not hold the 3 indices"),
        ("constexpr_lut_to_dense", {"indices": np.uint8([0x21, 0x10]), "lut": np.zeros(16), "shape": np.uint32([1, 3])},
         "2 bytes do not hold the 3 indices"),
        ("classify", {"probabilities": np.float32([0.5, 0.5]), "classes": ["a", "a"]}, "different classes"),
    ],
)  # fmt: skip
def test_what_is_undefined_or_unknown_is_refused(kind: str, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        computed(kind, arguments)


def test_sixteen_bit_sums_round_once_and_additions_every_time() -> None:
    assert computed("reduce_sum", {"x": np.ones(4097, np.float16)}) == np.float16(4096)
    assert computed("add", {"x": np.float16(2048), "y": np.float16(1)}) == 2048
    assert computed("reduce_sum", {"x": np.float16([2048, 1, 1])}) == 2050
    assert computed("cumsum", {"x": np.float16([2048, 1, 1])}).tolist() == [2048, 2048, 2050]
