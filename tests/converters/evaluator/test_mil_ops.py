import functools

import numpy as np
import pytest
from mil_cases import CASES
from packages import mil_programs

from retvec_lite.converters.evaluator.package import NUMPY_TYPES
from retvec_lite.converters.evaluator.program import OPS, Program, load_package
from retvec_lite.errors import RetvecLiteError

TARGETS = ("iOS16", "iOS17", "iOS18")


@functools.cache
def program(target: str) -> Program:
    return load_package(mil_programs() / f"cases-{target}.mlpackage")


@pytest.mark.parametrize(
    ("name", "target"), [(name, target) for name, case in CASES.items() for target in case.targets]
)
def test_an_op_gives_what_its_formula_gives(name: str, target: str) -> None:
    case = CASES[name]
    loaded = program(target)
    inputs = {key: np.zeros(kind.shape, NUMPY_TYPES[kind.dtype]) for key, kind in loaded.inputs.items()}
    inputs |= {f"{name}__{key}": value for key, value in case.inputs.items()}
    names = [f"{name}__{number}" for number in range(len(case.expected))]
    found = loaded.run(inputs, names)
    for key, expected in zip(names, case.expected, strict=True):
        assert found[key].dtype == expected.dtype
        assert found[key].shape == expected.shape
        np.testing.assert_allclose(
            found[key].astype(np.float64), expected.astype(np.float64), rtol=1e-6, atol=case.atol
        )


def test_every_op_has_a_case() -> None:
    used = {kind for target in TARGETS for kind in (operation.kind for operation in program(target).operations)}
    assert set(OPS) - used == {"classify", "reduce_argmin", "reduce_prod"}


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("add", {"x": np.float32([1]), "y": np.float16([1])}, "values of one type, received float32 and float16"),
        ("real_div", {"x": np.int32([1]), "y": np.int32([2])}, "floating-point values, received int32"),
        ("gather", {"x": np.arange(3), "indices": np.int32([3])}, "indices from 0 to 2, received 3 to 3"),
        ("gather", {"x": np.arange(3), "indices": np.int32([-1])}, "indices from 0 to 2, received -1 to -1"),
        ("gather", {"x": np.arange(3), "indices": np.float32([1])}, "integer indices, received float32"),
        ("scatter_nd", {"data": np.zeros(2), "indices": np.int32([[2]]), "updates": np.ones(1)}, "indices from 0 to 1"),
        ("scatter_nd", {"data": np.zeros(2), "indices": np.int32([[1]]), "updates": np.ones(1), "mode": "div"}, "mode"),
        ("cast", {"x": np.float32([2**31]), "dtype": "int32"}, "numbers that fit int32"),
        ("cast", {"x": np.float32([np.nan]), "dtype": "int32"}, "numbers that fit int32"),
        ("cast", {"x": np.float32([1]), "dtype": "complex"}, "a data type, received 'complex'"),
        ("logical_and", {"x": np.int32([1]), "y": np.int32([1])}, "booleans, received int32, int32"),
        ("select", {"cond": np.int32([1]), "a": np.int32([1]), "b": np.int32([1])}, "a boolean condition"),
        ("gelu", {"x": np.float32([1]), "mode": "FAST"}, "a mode of gelu, received 'FAST'"),
        ("pad", {"x": np.float32([1]), "pad": np.int32([1, 1]), "mode": "wrap"}, "a mode of pad"),
        ("transpose", {"x": np.zeros((2, 2)), "perm": np.int32([0, 2])}, "an axis of 2 dimensions, received 2"),
        ("conv", {"x": np.zeros((1, 1, 4), np.float32), "weight": np.zeros((1, 1, 2), np.float32), "pad_type": "same"},
         "a padding with one meaning"),
        ("classify", {"probabilities": np.float32([0.5, 0.5]), "classes": ["a", "a"]}, "different classes"),
        ("tile", {"x": np.zeros((2, 2)), "reps": np.int32([2])}, "2 repetitions"),
        ("slice_by_size", {"x": np.arange(4), "begin": np.int32([3]), "size": np.int32([2])}, "a part of 4 elements"),
    ],
)  # fmt: skip
def test_what_is_undefined_or_unknown_is_refused(kind: str, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        OPS[kind](**arguments)


def test_sixteen_bit_sums_round_once_and_additions_every_time() -> None:
    ones = np.ones(4097, np.float16)
    assert OPS["reduce_sum"](x=ones) == np.float16(4096)
    assert OPS["add"](x=np.float16(2048), y=np.float16(1)) == 2048
    assert OPS["reduce_sum"](x=np.float16([2048, 1, 1])) == 2050
    assert OPS["cumsum"](x=np.float16([2048, 1, 1])).tolist() == [2048, 2048, 2050]
