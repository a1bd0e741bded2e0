"""The allow-list: which builtin operators, up to which version, an exported graph may contain.

A runtime knows every operator up to some version and refuses a file with a newer one, so the list is what makes a file
run on the oldest runtime it promises. Its versions are those that tflite-runtime 2.14.0 registers, found by asking it
(`tests/converters/test_flatbuffer.py` asks again wherever that runtime is installed). Left out on purpose: custom and Flex
operators, variables and hash tables (a frozen graph has none), control flow, random numbers, strings.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from retvec_lite.converters.tflite.reading import Model
from retvec_lite.errors import RetvecLiteError


class Builtin(NamedTuple):
    """An operator of the TFLite schema: its `BuiltinOperator` code and the newest version allowed."""

    code: int
    version: int


ALLOWED: Final[Mapping[str, Builtin]] = {
    "ADD": Builtin(0, 5),
    "CONCATENATION": Builtin(2, 4),
    "CONV_2D": Builtin(3, 6),
    "DEPTHWISE_CONV_2D": Builtin(4, 6),
    "DEQUANTIZE": Builtin(6, 5),
    "FLOOR": Builtin(8, 1),
    "FULLY_CONNECTED": Builtin(9, 9),
    "L2_NORMALIZATION": Builtin(11, 2),
    "LOGISTIC": Builtin(14, 3),
    "MAX_POOL_2D": Builtin(17, 3),
    "MUL": Builtin(18, 7),
    "RELU": Builtin(19, 3),
    "RESHAPE": Builtin(22, 1),
    "SOFTMAX": Builtin(25, 3),
    "TANH": Builtin(28, 3),
    "PAD": Builtin(34, 4),
    "GATHER": Builtin(36, 6),
    "TRANSPOSE": Builtin(39, 6),
    "MEAN": Builtin(40, 3),
    "SUB": Builtin(41, 5),
    "DIV": Builtin(42, 2),
    "SQUEEZE": Builtin(43, 2),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Builtin(44, 4),
    "STRIDED_SLICE": Builtin(45, 8),
    "EXP": Builtin(47, 2),
    "SPLIT": Builtin(49, 4),
    "CAST": Builtin(53, 5),
    "MAXIMUM": Builtin(55, 4),
    "MINIMUM": Builtin(57, 4),
    "LESS": Builtin(58, 3),
    "NEG": Builtin(59, 1),
    "PADV2": Builtin(60, 4),
    "GREATER": Builtin(61, 2),
    "GREATER_EQUAL": Builtin(62, 3),
    "LESS_EQUAL": Builtin(63, 2),
    "SELECT": Builtin(64, 4),
    "SLICE": Builtin(65, 6),
    "TILE": Builtin(69, 3),
    "EXPAND_DIMS": Builtin(70, 1),
    "EQUAL": Builtin(71, 4),
    "NOT_EQUAL": Builtin(72, 3),
    "SUM": Builtin(74, 2),
    "SQRT": Builtin(75, 1),
    "RSQRT": Builtin(76, 2),
    "REDUCE_MAX": Builtin(82, 3),
    "PACK": Builtin(83, 4),
    "LOGICAL_OR": Builtin(84, 1),
    "LOGICAL_AND": Builtin(86, 1),
    "LOGICAL_NOT": Builtin(87, 1),
    "UNPACK": Builtin(88, 4),
    "REDUCE_MIN": Builtin(89, 3),
    "FLOOR_DIV": Builtin(90, 3),
    "REDUCE_ANY": Builtin(91, 1),
    "SQUARE": Builtin(92, 1),
    "ZEROS_LIKE": Builtin(93, 1),
    "FLOOR_MOD": Builtin(95, 2),
    "SQUARED_DIFFERENCE": Builtin(99, 2),
    "ABS": Builtin(101, 5),
    "REVERSE_V2": Builtin(105, 3),
    "GATHER_ND": Builtin(107, 4),
    "SCATTER_ND": Builtin(122, 1),
    "SELECT_V2": Builtin(123, 2),
    "BATCH_MATMUL": Builtin(126, 4),
    "CUMSUM": Builtin(128, 1),
    "BROADCAST_TO": Builtin(130, 3),
    "GELU": Builtin(150, 2),
}
"""Name -> code and newest version that tflite-runtime 2.14.0 computes correctly.

FULLY_CONNECTED ends at 9, not at the registered 10, and the convolutions at 6, not 7: the newest version is the int4
kernel, which no recipe uses.
"""

_NAMES: Final = {builtin.code: name for name, builtin in ALLOWED.items()}


def operator_name(code: int) -> str:
    """The schema's name of a builtin operator on the allow-list; `BUILTIN_<code>` for any other."""
    return _NAMES.get(code, f"BUILTIN_{code}")


def check_operators(model: Model, newer: Mapping[str, int] | None = None) -> None:
    """Make sure that a graph holds nothing but allowed operators.

    Args:
        model: the parsed file.
        newer: newer versions that are allowed besides, by operator name.

    Raises:
        RetvecLiteError: names every operator that is not allowed.
    """
    allowed = {name: builtin.version for name, builtin in ALLOWED.items()} | dict(newer or {})
    refused = [
        f"{name} version {version} ({count}x)"
        for name, version, count in operators(model)
        if version > allowed.get(name, 0)
    ]
    if refused:
        raise RetvecLiteError(
            f"Expected only builtin operators of the allow-list (converters/ops.py), received {', '.join(refused)}."
        )


def operators(model: Model) -> list[tuple[str, int, int]]:
    """Every kind of operator in a file as (name, version, how many), by name. Custom operators are `CUSTOM:<name>`."""
    counts: dict[tuple[str, int], int] = {}
    for graph in model.graphs:
        for operator in graph.operators:
            name = f"CUSTOM:{operator.custom}" if operator.custom else operator_name(operator.code)
            counts[name, operator.version] = counts.get((name, operator.version), 0) + 1
    return [(name, version, count) for (name, version), count in sorted(counts.items())]
