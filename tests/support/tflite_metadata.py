"""Read standard TFLite metadata back, by the field numbers of its published schema."""

from typing import Any

from flatbuffers import number_types
from flatbuffers.table import Table

_AXIS_LABELS = 2


def read_metadata(buffer: bytes) -> dict[str, Any]:
    """The buffer TFLITE_METADATA of a model as a dict."""
    assert buffer[4:8] == b"M001"
    position = int.from_bytes(buffer[:4], "little")
    root = Table(bytearray(buffer), position)
    graphs = _tables(root, 3)
    return {
        "about": [_text(root, field) for field in (0, 1, 2, 4, 5)],
        "min_parser_version": _text(root, 7),
        "graphs": len(graphs),
        "inputs": [_tensor(tensor) for tensor in _tables(graphs[0], 2)],
        "outputs": [_tensor(tensor) for tensor in _tables(graphs[0], 3)],
        "files": [_text(file, 0) for file in _tables(root, 6)],
    }


def _tensor(table: Table) -> tuple[str, list[tuple[str, bool]]]:
    """Name and associated files, each with whether it holds the labels of an axis."""
    files = _tables(table, 6)
    kinds = [file.GetSlot(4 + 2 * 2, 0, number_types.Int8Flags) for file in files]
    return _text(table, 0), [(_text(file, 0), kind == _AXIS_LABELS) for file, kind in zip(files, kinds, strict=True)]


def _text(table: Table, field: int) -> str:
    offset = table.Offset(4 + 2 * field)
    return table.String(offset + table.Pos).decode() if offset else ""


def _tables(table: Table, field: int) -> list[Table]:
    offset = table.Offset(4 + 2 * field)
    if not offset:
        return []
    start = table.Vector(offset)
    return [Table(table.Bytes, table.Indirect(start + 4 * index)) for index in range(table.VectorLen(offset))]
