"""The functions of the engine that take whole texts, which Python does not call: it condenses, cuts and decides itself."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.runtime.native import NativeEngine


class _Span(ctypes.Structure):
    """rvl_span."""

    _fields_ = (("start", ctypes.c_uint32), ("end", ctypes.c_uint32), ("weight", ctypes.c_double))


class _Answer(ctypes.Structure):
    """rvl_answer."""

    _fields_ = (("label", ctypes.c_int32), ("probability", ctypes.c_float))


class Calls:
    """Calls an open engine; texts are strings, or bytes of UTF-8."""

    def __init__(self, library: Path, engine: NativeEngine) -> None:
        self._library, self._engine = ctypes.CDLL(str(library)), engine
        self.read_limit = int(self._library.rvl_read_limit(engine._engine))

    def condense(self, text: str | bytes, most: int | None = None) -> str:
        """What is read of a text: as much as fits into `most` code points."""
        most = self.read_limit if most is None else most
        out = np.full(self.read_limit + 1, 0xFFFFFFFF, np.uint32)
        count = self._call("rvl_condense", text, ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(most))
        assert count <= self.read_limit
        assert (out[min(count, most) :] == 0xFFFFFFFF).all()  # nothing else was written
        return "".join(map(chr, out[: min(count, most)].tolist()))

    def condense_by(self, text: str, rules: tuple[int, int]) -> str:
        """What is read of a text by rules alone: `rvl_condense_by`."""
        codes = np.array(list(map(ord, text)), np.uint32)
        out = np.full(32 * rules[1] + 1, 0xFFFFFFFF, np.uint32)
        given = np.array(rules, np.uint32)
        call = self._library.rvl_condense_by
        call.restype, call.argtypes = (
            ctypes.c_size_t,
            [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p],
        )
        count = call(given.ctypes.data, codes.ctypes.data, codes.size, out.ctypes.data)
        assert out[-1] == 0xFFFFFFFF  # nothing was written behind the room
        return "".join(map(chr, out[:count].tolist()))

    def probabilities(self, text: str | bytes) -> Floats:
        return self._floats("rvl_probabilities", text, self._engine._sizes["labels"])

    def embed(self, text: str | bytes) -> Floats:
        return self._floats("rvl_embed", text, self._engine._sizes["dimension"])

    def classify(self, text: str | bytes) -> list[int]:
        """The labels of a text; -1 for none of them."""
        answers = (_Answer * self._engine._sizes["labels"])()
        count = self._call("rvl_classify", text, answers, ctypes.c_size_t(len(answers)))
        return [answer.label for answer in answers[:count]]

    def explain(self, text: str | bytes, label: int = -1) -> list[tuple[int, int, float]]:
        """Spans in code points, of UTF-8 in bytes, and their weights."""
        spans = (_Span * 4000)()
        count = self._call("rvl_explain", text, ctypes.c_int32(label), spans, ctypes.c_size_t(len(spans)))
        return [(span.start, span.end, span.weight) for span in spans[:count]]

    def _floats(self, name: str, text: str | bytes, count: int) -> Floats:
        found = np.zeros(count, np.float32)
        self._call(name, text, ctypes.c_void_p(found.ctypes.data))
        return found

    def _call(self, name: str, text: str | bytes, *more: Any) -> int:
        is_utf8 = isinstance(text, bytes)
        call: Callable[..., int] = getattr(self._library, f"{name}_utf8" if is_utf8 else name)
        call.restype = ctypes.c_size_t  # type: ignore[attr-defined]
        content = text if isinstance(text, bytes) else text.encode("utf-32-le", "surrogatepass")
        return call(self._engine._engine, content, ctypes.c_size_t(len(text)), *more)
