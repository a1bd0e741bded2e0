"""A memory beside a classifier: texts that were taught with their label, which answer for texts like them.

The rule is that of engine/decision.c, in NumPy; docs/engine.md tells it. Only texts and labels are kept in files, so that a memory survives
every new classifier: vectors are computed again.
"""

import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BLANK, EncoderConfig, Floats
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.files import atomic_write, refuse_existing
from retvec_lite.foreign import read_file
from retvec_lite.kinds import SIGNS, class_of
from retvec_lite.runtime.retvec_file import checksum
from retvec_lite.windows import Kept, read_text

MOST_BYTES: Final = 256
"""UTF-8 bytes of a text that are kept; of a label, one less."""

MOST_ROWS: Final = 10_016
MOST_STRINGS: Final = 400_512
"""Texts and labels that a memory holds, together, and their bytes with a zero behind each: the largest that the engine opens (docs/engine.md)."""
_MOST_NAMES: Final = 256
"""Labels of a classifier whose names are compared with a text."""

_OWN, _NEARNESS, _UNNAMED, _CLOSER, _DOUBT, _AROUND = 0.5, 4.0, 0.35, 0.8, 0.025, 0.2
_CLOSE, _STEEP, _SAME, _LEAST = 0.415, 15.0, 0.995, 1e-6
"""The rule's numbers, chosen on held-out training texts of Banking77, CLINC150 and MASSIVE.

A text is close to a taught one by the cosine of its vector with that of the taught text and its label's mean, `_OWN` to 1. Closer than the
names of the classifier's labels are, from 0, by `_CLOSER`, and by `_CLOSE` beyond what speaks for the classifier: `_DOUBT` times the log of how much
likelier it finds its answer than the taught label, twice that for a label that it knows, and less within `_AROUND` of the taught text."""

_MAGIC: Final = b"RVLMEM\r\n"
_VERSION: Final = 1
_HEADER: Final = struct.Struct("<8sIIIIQ")

_GAP: Final = re.compile(f"[{re.escape(BLANK)}{class_of(SIGNS)}]")
_TELLING: Final = re.compile(f"[^{re.escape(BLANK)}{class_of(SIGNS)}0-9]{{3}}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")

_DAMAGED: Final = "is damaged: copy it again, or teach its texts again"

Reading = Callable[[Kept], tuple[Floats, str | None]]
"""From what is kept of a text to its vector, float32 `[dimension]`, and the label that the classifier gives it by itself."""


class _Rows(NamedTuple):
    """Vectors as the engine keeps them: integers of 8 bits, float64 `[rows, dimension]`, and 1 / their lengths or 0, float32 `[rows]`."""

    whole: npt.NDArray[np.float64]
    inverses: Floats

    def closeness(self, vectors: Floats) -> Floats:
        """Return the cosines with vectors, float32 `[vectors, rows]`, in the engine's bits: vectors are rounded to 16, so that sums are whole."""
        top = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
        limit = np.float32(min(32767, (2**31 - 1) // (128 * vectors.shape[1])))
        integers = np.rint(vectors * (limit / np.maximum(top, np.float32(1e-30)))).clip(-limit, limit)
        found: Floats = (integers.astype(np.float64) @ self.whole.T).astype(np.float32) * (top / limit * self.inverses)
        return found


class _Table(NamedTuple):
    """What is computed from the taught texts and the names of labels.

    Attributes:
        taught: the texts of which the classifier reads something, with their labels.
        of: the number of each text's label.
        rows: the vectors of the labels' names, then of the texts.
        reaches: of a label, 1 / the length of the sum of its vectors; of a text, of its vector beside the mean of its label. float32 `[rows]`.
        agrees: of which texts the classifier has the taught label by itself: there it speaks.
        names: the vectors of the classifier's labels' names that say something.
    """

    taught: list[tuple[str, str]]
    of: npt.NDArray[np.int64]
    rows: _Rows
    reaches: Floats
    agrees: list[bool]
    names: _Rows


class Memory:
    """The texts that a classifier was taught; `Classifier.memory` is one.

    It holds the texts themselves, up to 256 bytes of each, so a saved memory is as private as they are.

    Example:
        >>> import retvec_lite as rl
        >>> classifier = rl.load("classifier-int8.retvec")
        >>> classifier.teach("feed the cat at noon", "pets")
        >>> len(classifier.memory), classifier.memory.texts
        (1, [('feed the cat at noon', 'pets')])
        >>> classifier.memory.save("mine.memory")
        >>> again = rl.load("classifier-int8.retvec")
        >>> again.memory.load("mine.memory")
        >>> again.predict("feed my cat at noon", top=1)[0].label
        'pets'
    """

    def __init__(self, read: Reading, labels: Sequence[str], config: EncoderConfig, unknown_label: str | None) -> None:
        """Start empty. `read` asks the classifier, whose labels and configuration the others are."""
        self._read, self._labels, self._config, self._unknown = read, tuple(labels), config, unknown_label
        self._texts: dict[str, str] = {}
        self._known: dict[str, tuple[Floats, np.float32, str | None]] = {}
        self._table: _Table | None = None

    def __len__(self) -> int:
        """Return how many texts are taught."""
        return len(self._texts)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The taught texts, as they are kept, with their labels, in the order of teaching."""
        return list(self._texts.items())

    @property
    def labels(self) -> tuple[str, ...]:
        """The taught labels that the classifier does not have, in the order of teaching."""
        return tuple(label for label in dict.fromkeys(self._texts.values()) if label not in self._labels)

    def teach(self, text: str, label: str) -> None:
        """Take a text with its label, in place of what it was taught before; `Classifier.teach` describes it."""
        kept, label = self._kept(text), checked_label(label)
        if not kept or not self._asked(kept)[1]:
            raise RetvecLiteError("Nothing is left to read of this text: teach another one.")
        if self._texts.get(kept) == label:
            return
        texts = {other: its for other, its in self._texts.items() if other != kept}
        texts[kept] = label
        if not _fits(texts):
            raise RetvecLiteError(f"The memory is full: {_LIMIT}. Forget some texts.")
        self._replace(texts)

    def forget(self, text: str) -> None:
        """Drop a text; `Classifier.forget` describes it."""
        kept = text if text in self._texts else self._kept(text)
        if kept not in self._texts:
            raise RetvecLiteError(f"This text was not taught: {shown(text)}.")
        self._replace({other: label for other, label in self._texts.items() if other != kept})

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the memory to a file, whole or not at all, which the C engine and every package read.

        Args:
            path: the file to write.
            force: replace it if it exists.

        Raises:
            RetvecLiteError: when it exists and `force` is off, or cannot be written.
        """
        refuse_existing(path, force)
        atomic_write(path, self.to_bytes())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take what a file holds, in place of what was taught.

        Raises:
            RetvecLiteError: for a file that is missing, no memory, damaged or of a newer version; then nothing changes.
        """
        self._replace(from_bytes(read_file(Path(path)), os.fspath(path)))

    def to_bytes(self) -> bytes:
        """Return the memory as the bytes of a file."""
        body = b"".join(part.encode() + b"\0" for pair in self._texts.items() for part in pair)
        body += b"\0" * (-len(body) % 4)
        fields = (_MAGIC, _VERSION, _HEADER.size + len(body), len(self), 0)
        return _HEADER.pack(*fields, checksum(_HEADER.pack(*fields, 0) + body)) + body

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}, "_table": None}

    def _replace(self, texts: Mapping[str, str]) -> None:
        """Put texts in the place of those before; a call that is answering meanwhile sees either, whole."""
        self._texts, self._table = dict(texts), None

    def _kept(self, text: str) -> str:
        read = read_text(_SURROGATE.sub("\ufffd", text), self._config).replace("\0", "")
        return read.encode()[:MOST_BYTES].decode(errors="ignore")

    def _asked(self, text: str) -> tuple[Floats, np.float32, str | None]:
        if text not in self._known:
            vector, label = self._read(Kept(text))
            self._known[text] = *_rounded(vector), label
        return self._known[text]

    def _rows(self, texts: Sequence[str]) -> _Rows:
        known = [self._asked(text) for text in texts]
        rows = np.array([row for row, *_ in known], np.float64).reshape(len(known), -1)
        return _Rows(rows, np.array([inverse for _, inverse, _ in known], np.float32))

    def _name(self, label: str) -> str:
        name = label[:MOST_BYTES]
        return read_text(_GAP.sub(" ", name), self._config) if _TELLING.search(name) else ""

    def _compared(self) -> _Table:
        """Return what texts are compared with; the engine adds up in the same order."""
        if self._table is not None:
            return self._table
        taught = [(text, label) for text, label in self._texts.items() if self._asked(text)[1]]
        labels = list(dict.fromkeys(label for _, label in taught))
        of = np.array([labels.index(label) for _, label in taught], np.int64)
        rows = self._rows([*map(self._name, labels), *(text for text, _ in taught)])
        reaches = np.ones(len(rows.inverses))
        for place in range(len(labels)):
            members = np.append(place, len(labels) + np.flatnonzero(of == place))
            some = _Rows(rows.whole[members], rows.inverses[members])
            total = (some.whole.astype(np.float32) * some.inverses[:, None]).sum(axis=0)
            length = np.float32(_inverse(np.square(total.astype(np.float64)).sum()))
            shared = some.closeness(total[None])[0].astype(np.float64) * length
            reaches[members] = _inverse(_OWN * _OWN + 2 * _OWN * shared + 1)
            reaches[place] = length
        agrees = [self._asked(text)[2] == label for text, label in taught]
        names = [name for label in self._labels if label != self._unknown and (name := self._name(label))]
        self._table = _Table(taught, of, rows, reaches.astype(np.float32), agrees, self._rows(names[:_MOST_NAMES]))
        return self._table

    def answer(
        self, vectors: Floats, probabilities: Floats, columns: Sequence[int], labels: Sequence[str]
    ) -> list["MemoryAnswer | None"]:
        """Return what the memory answers to texts: nothing for those that it leaves to the classifier.

        Args:
            vectors: of the texts, float32 `[texts, dimension]`.
            probabilities: of the classifier, float32 `[texts, labels]`.
            columns: of the labels that can be an answer.
            labels: of the columns.
        """
        table = self._compared()
        if not table.taught:
            return [None] * len(vectors)
        dots, first = table.rows.closeness(vectors), len(table.reaches) - len(table.of)
        means, own = dots[:, :first], dots[:, first:].astype(np.float64)
        np.add.at(means.T, table.of, dots[:, first:].T)
        mixed = (_OWN * own + (means * table.reaches[:first])[:, table.of]) * table.reaches[first:]
        close = np.where(own > _SAME, 1 + own, mixed)
        found = close.argmax(axis=1)
        best = np.maximum(probabilities[:, columns].max(axis=1).astype(np.float64), np.finfo(np.float32).tiny)
        near = np.full(len(vectors), _UNNAMED)
        if len(table.names.whole):
            powers = np.exp(_NEARNESS * table.names.closeness(vectors).astype(np.float64))
            near = np.log(powers.mean(axis=1).clip(1)) / _NEARNESS
        answers: list[MemoryAnswer | None] = []
        for row, place in enumerate(found.tolist()):
            text, label = table.taught[place]
            is_known = label in labels
            share = float(probabilities[row, labels.index(label)]) if is_known else 1 - best[row]
            apart = min(1.0, (1 - float(own[row, place])) / _AROUND)
            doubt = (1 + is_known) * _DOUBT * apart * np.log(best[row] / max(share, _LEAST))
            closer = float(close[row, place]) - _CLOSER * near[row] - doubt if own[row, place] <= _SAME else 1.0
            strength = _STEEP * (closer - _CLOSE)
            speaks = strength > 0 and not table.agrees[place]
            answers.append(MemoryAnswer(text, label, float(1 / (1 + np.exp(-strength)))) if speaks else None)
        return answers


class MemoryAnswer(NamedTuple):
    """What a memory answers: the taught text that is like the one to answer, its label, and the weight of this answer, from 0.5 to 1."""

    text: str
    label: str
    weight: float


def _inverse(squares: Any) -> Any:
    """Return 1 / the lengths that belong to squares; of none, 1."""
    return np.where(squares > _LEAST, 1 / np.sqrt(np.maximum(squares, _LEAST)), 1)


def _rounded(vector: Floats) -> tuple[Floats, np.float32]:
    """Return a vector as the engine keeps it: integers of 8 bits, and 1 / their length, or 0."""
    most = np.abs(vector).max(initial=0.0)
    scaled = vector * (np.float32(127) / most if most > 0 else np.float32(0))
    whole = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    return whole, np.float32(_inverse(np.square(whole).sum(dtype=np.float64)) if most > 0 else 0)


def checked_label(label: str) -> str:
    """Return a label; raises RetvecLiteError for one that is empty, too long or has control characters."""
    if not label or _CONTROL.search(label) or len(label.encode()) >= MOST_BYTES:
        raise RetvecLiteError(
            f"{shown(label)} is no label: one has 1 to {MOST_BYTES - 1} bytes of UTF-8 without control characters."
        )
    return label


def from_bytes(data: bytes, name: str) -> dict[str, str]:
    """Return the texts in the bytes of a memory, with their labels; raises RetvecLiteError, with the name, for other bytes."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise RetvecLiteError(f"{name} is not a memory of taught texts: name another file, or remove it.")
    if len(data) < _HEADER.size:
        raise RetvecLiteError(f"{name} {_DAMAGED}.")
    _, version, size, count, _, expected = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise RetvecLiteError(f"{name} is of version {version}, which this release does not know: use a newer one.")
    if size != len(data) or size % 4 or checksum(data) != expected:
        raise RetvecLiteError(f"{name} {_DAMAGED}.")
    *parts, rest = data[_HEADER.size :].split(b"\0", 2 * min(count, size))
    try:
        if len(parts) != 2 * count or len(rest) > 3 or rest.strip(b"\0"):
            raise ValueError("more or fewer texts than it says")
        strings = [part.decode() for part in parts]
        if not all(0 < len(part) <= MOST_BYTES for part in parts):
            raise ValueError("an empty text, or a long one")
        pairs = [(text, checked_label(label)) for text, label in zip(strings[::2], strings[1::2], strict=True)]
    except (ValueError, RetvecLiteError) as error:
        raise RetvecLiteError(f"{name} {_DAMAGED}.") from error
    texts: dict[str, str] = {}
    for text, label in pairs:
        if texts.get(text) != label:
            texts.pop(text, None)
            texts[text] = label
    if not _fits(texts):
        raise RetvecLiteError(f"{name} holds more than a memory can: {_LIMIT}.")
    return texts


_LIMIT: Final = f"at most {MOST_ROWS:,} texts and labels together, and {MOST_STRINGS:,} bytes of them"


def _fits(texts: Mapping[str, str]) -> bool:
    """Return whether the engine has room for taught texts."""
    strings = [*texts, *set(texts.values())]
    return len(strings) <= MOST_ROWS and sum(len(string.encode()) + 1 for string in strings) <= MOST_STRINGS
