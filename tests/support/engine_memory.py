"""The memory of the engine in C, which Python does not call: it has the rule in NumPy."""

import ctypes
from pathlib import Path

import numpy as np
from engine_calls import _Answer

from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine, _room

(UNTEACHABLE, NO_MEMORY, NO_TEXT, LABEL, FULL, NOT_TAUGHT, NOT_A_MEMORY, VERSION, DAMAGED) = range(8, 17)


class EngineMemory:
    """An engine with a memory for so many texts; functions return the engine's codes."""

    def __init__(self, library: Path, file: Path, texts: int = 200) -> None:
        self.engine = NativeEngine(read_artifact(file), library)
        self._library = ctypes.CDLL(str(library))
        self._library.rvl_memory_size.restype = self._library.rvl_memory_save.restype = ctypes.c_size_t
        self._library.rvl_classify_utf8.restype = ctypes.c_size_t
        self._library.rvl_label.restype = self._library.rvl_taught_text.restype = ctypes.c_char_p
        self._library.rvl_message.restype = ctypes.c_char_p
        self._handle = self.engine._engine
        self.size = self._library.rvl_memory_size(self._handle, texts)
        self.opened = self.open(self.size)

    def open(self, size: int) -> int:
        self._blocks = [*getattr(self, "_blocks", []), _room(max(1, size))]
        self._blocks[-1][:] = 0xA5  # it has been used for something else
        return self._call("rvl_memory_open", ctypes.c_void_p(self._blocks[-1].ctypes.data), ctypes.c_size_t(size))

    def teach(self, text: str | bytes, label: str | bytes) -> int:
        name = label if isinstance(label, bytes) else label.encode()
        return self._call("rvl_teach_utf8", *_text(text), name)

    def forget(self, text: str | bytes) -> int:
        return self._call("rvl_forget_utf8", *_text(text))

    def texts(self) -> list[tuple[str, str]]:
        label, found = ctypes.c_char_p(), []
        for number in range(self._call("rvl_taught")):
            text = self._library.rvl_taught_text(self._handle, ctypes.c_uint32(number), ctypes.byref(label))
            found.append((text.decode(), (label.value or b"").decode()))
        return found

    def label(self, number: int) -> str | None:
        name: bytes | None = self._library.rvl_label(self._handle, ctypes.c_uint32(number))
        return None if name is None else name.decode()

    def classify(self, text: str, most: int = 1000) -> list[tuple[str | None, float]]:
        answers = (_Answer * most)()
        count = self._call("rvl_classify_utf8", *_text(text), answers, ctypes.c_size_t(most))
        return [(None if each.label < 0 else self.label(each.label), each.probability) for each in answers[:count]]

    def speaker(self) -> str | None:
        number = ctypes.c_int32(self._call("rvl_speaker")).value
        return None if number < 0 else self.texts()[number][0]

    def save(self) -> bytes:
        size = self._call("rvl_memory_save", None, ctypes.c_size_t(0))
        out = np.full(size + 8, 0xEE, np.uint8)
        assert self._call("rvl_memory_save", ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(size)) == size
        assert (out[size:] == 0xEE).all()
        return out[:size].tobytes()

    def load(self, data: bytes) -> int:
        return self._call("rvl_memory_load", data, ctypes.c_size_t(len(data)))

    def message(self, problem: int) -> str:
        return str(self._library.rvl_message(problem).decode())

    def _call(self, name: str, *arguments: object) -> int:
        return int(getattr(self._library, name)(self._handle, *arguments))


def _text(text: str | bytes) -> tuple[bytes, ctypes.c_size_t]:
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return content, ctypes.c_size_t(len(content))
