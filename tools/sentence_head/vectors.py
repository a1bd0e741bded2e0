"""What a large sentence encoder says of the sentences: all-MiniLM-L6-v2, as the benchmarks run it."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.systems.sentence_encoder import load_encoder
from retvec_lite.contract import Floats

PART: Final = 20_000
"""Sentences of a file of vectors."""


def embed_sentences(sentences: Sequence[str], folder: Path, progress: Callable[[int, int], None]) -> None:
    """Write the vectors of sentences, float16 `[PART, 384]` a file. Files that are there stay, so a second call goes on.

    Raises:
        SystemExit: when the folder has vectors of other sentences.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digest, note = hashlib.sha256("\n".join(sentences).encode()).hexdigest(), folder / "sentences.sha256"
    if note.exists() and note.read_text() != digest:
        raise SystemExit(f"{folder} has the vectors of other sentences: name another --run.")
    note.write_text(digest)
    for start in range(0, len(sentences), PART):
        file = part_file(folder, start // PART)
        if not file.exists():
            # Each part has an encoder of its own: it keeps the vectors of all that it has read.
            load_encoder.cache_clear()
            unfinished = file.with_suffix(".tmp.npy")
            np.save(unfinished, load_encoder().embed(sentences[start : start + PART]).astype(np.float16))
            unfinished.replace(file)
        progress(min(start + PART, len(sentences)), len(sentences))


def read_part(folder: Path, part: int) -> Floats:
    """Return the vectors of a part, float32 `[sentences, 384]`."""
    found: Floats = np.load(part_file(folder, part)).astype(np.float32)
    return found


def part_file(folder: Path, part: int) -> Path:
    """Return the file of a part."""
    return folder / f"{part:03d}.npy"
