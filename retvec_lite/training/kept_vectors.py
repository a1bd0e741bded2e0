"""What the linear part reads of texts and of their copies, in place of the texts: enough to go on learning, and nothing that a person can read.

It is no encryption. Who has the classifier can hash a text and tell whether it was there, and with patience guess words.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.kept import Keys
from retvec_lite.data.labels import check_labels, join_labels
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import parse_json
from retvec_lite.model.weight_files import check_format, read_safetensors, typed_safetensors_bytes
from retvec_lite.ngrams import PRIME
from retvec_lite.terminal import json_line
from retvec_lite.training.linear_features import Features, NgramCounts

_FORMAT: Final = "retvec-lite-vectors"
_VERSION: Final = "1"
_MOST: Final = 2**16 - 1
"""How often an n-gram of a text is counted at most."""


@dataclasses.dataclass(frozen=True)
class Vectors:
    """What is read of texts.

    Attributes:
        copies: of the texts as they are, if these are read, and of each differently written copy; n-grams as hashes.
        shares: how much each copy counts.
        keys: which text is which, see `text_keys`.
        targets: what is right for each text, see `LabelScheme.targets`.
        classes: all labels, in the order of the targets.
        weights: how much each text counts, float32 `[texts]`; None: all the same.
    """

    copies: Sequence[Features]
    shares: tuple[float, ...]
    keys: Keys
    targets: Ints
    classes: tuple[str, ...]
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def labels(self) -> list[str]:
        """The label of each text, several joined as in `Dataset.labels`."""
        if self.targets.ndim == 1:
            return [self.classes[place] for place in self.targets.tolist()]
        return [join_labels(self.classes[place] for place in np.flatnonzero(row)) for row in self.targets]

    def select(self, rows: Sequence[int]) -> "Vectors":
        """Return some of the texts."""
        places = np.array(rows, np.int64)
        return dataclasses.replace(
            self,
            copies=[copy[places] for copy in self.copies],
            keys=self.keys[places],
            targets=self.targets[places],
            weights=None if self.weights is None else self.weights[places],
        )

    def with_more(self, more: "Vectors") -> "Vectors":
        """Return these texts, and behind them others of which the same was read, each as heavy as these on average; they know all labels."""
        columns = np.array([more.classes.index(label) for label in self.classes], np.int64)
        if self.targets.ndim == 1:
            targets = columns[self.targets].astype(np.int32)
        else:
            targets = np.zeros((len(self), len(more.classes)), np.int32)
            targets[:, columns] = self.targets
        weights = None
        if self.weights is not None:
            weights = np.append(self.weights, np.full(len(more), self.weights.mean(), np.float32))
        return Vectors(
            [joined_features(pair) for pair in zip(self.copies, more.copies, strict=True)],
            self.shares,
            np.append(self.keys, more.keys),
            np.concatenate([targets, more.targets]),
            more.classes,
            weights,
        )

    def to_bytes(self) -> bytes:
        """Return the content of the file, the same bytes for equal vectors; numbers are rounded to float16."""
        arrays: dict[str, Any] = {"keys": self.keys.view("<u2").reshape(-1, 4), "targets": self.targets.astype("<u4")}
        if self.weights is not None:
            arrays["weights"] = self.weights
        for place, copy in enumerate(self.copies):
            counts = copy.counts.matrix()
            arrays[f"{place}/lengths"] = np.diff(counts.indptr).astype(np.uint32)
            arrays[f"{place}/hashes"] = counts.indices.astype(np.uint16)
            arrays[f"{place}/counts"] = np.minimum(counts.data, _MOST).astype(np.uint16)
            for name, value in (("vectors", copy.vectors), ("meaning", copy.meaning)):
                if value is not None:
                    arrays[f"{place}/{name}"] = value.astype(np.float16)
        known = {"classes": json_line(list(self.classes)), "shares": json_line(list(self.shares))}
        return typed_safetensors_bytes(arrays, {"format": _FORMAT, "version": _VERSION, **known})


def read_vectors_file(path: Path) -> Vectors:
    """Read the file; raises RetvecLiteError for anything but what `Vectors.to_bytes` writes."""
    arrays, metadata = read_safetensors(path)
    check_format(path, metadata, _FORMAT, _VERSION)
    try:
        classes = parse_json(metadata["classes"], "classes")
        check_labels(classes)
        shares = tuple(map(float, parse_json(metadata["shares"], "shares")))
        keys = np.ascontiguousarray(arrays["keys"].astype("<u2")).view(np.uint64).reshape(-1)
        targets = arrays["targets"].astype(np.int32)
        largest = 1 if targets.ndim == 2 else len(classes) - 1
        copies = [_copy(arrays, place, len(keys)) for place in range(len(shares))]
        shape = (len(keys), len(classes))[: targets.ndim]
        if targets.shape != shape or not copies or not 0 <= targets.min(initial=0) <= targets.max(initial=0) <= largest:
            raise ValueError("targets")
        weights = arrays.get("weights")
        if weights is not None and (
            weights.shape != keys.shape or not np.isfinite(weights).all() or weights.min(initial=1) < 0
        ):
            raise ValueError("weights")
        return Vectors(copies, shares, keys, targets, tuple(classes), weights)
    except (KeyError, TypeError, ValueError, IndexError, RetvecLiteError) as error:
        raise RetvecLiteError(
            f"{path} is damaged, and what was kept of the texts is lost: train again on all texts."
        ) from error


def _copy(arrays: dict[str, Floats], place: int, texts: int) -> Features:
    lengths, hashes, counts = (arrays[f"{place}/{name}"] for name in ("lengths", "hashes", "counts"))
    ends = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
    if len(ends) != texts + 1 or not ends[-1] == len(hashes) == len(counts) or hashes.max(initial=0) >= PRIME:
        raise ValueError("counts")
    runs = sparse.csr_matrix((counts, hashes.astype(np.int32), ends), (texts, PRIME))
    vectors, meaning = (arrays.get(f"{place}/{name}") for name in ("vectors", "meaning"))
    for table in (vectors, meaning):
        if table is not None and (table.ndim != 2 or len(table) != texts or not np.isfinite(table).all()):
            raise ValueError("vectors")
    return Features(NgramCounts(runs, sparse.identity(PRIME, np.float32, "csr")), vectors, meaning)


def joined_features(parts: Sequence[Features]) -> Features:
    """Return the texts of several features, whose n-grams need not be the same."""
    tables = {id(part.counts.ngrams): part.counts.ngrams for part in parts}
    if len(tables) == 1:
        return parts[0].joined(parts[1:])
    ngrams = sparse.vstack(list(tables.values()), format="csr")
    starts = dict(zip(tables, np.cumsum([0, *(table.shape[0] for table in tables.values())]), strict=False))
    shifted = []
    for part in parts:
        runs = part.counts.runs
        columns = runs.indices + starts[id(part.counts.ngrams)]
        wider = sparse.csr_matrix((runs.data, columns, runs.indptr), (runs.shape[0], ngrams.shape[0]))
        shifted.append(dataclasses.replace(part, counts=NgramCounts(wider, ngrams)))
    return shifted[0].joined(shifted[1:])
