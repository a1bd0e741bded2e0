"""Whether the metadata of a .retvec say what its engine does: Python sizes arrays by the one, and the engine fills them by the other."""

import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.decision import Decision
from retvec_lite.meaning import CODEBOOKS, DIMENSION, MeaningConfig
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.retvec_file import HEADS, SETTINGS, sections_of, settings_of

_NGRAMS: Final = HEADS.index("ngrams")


def labels_section(labels: Sequence[str]) -> bytes:
    """Return the section of labels: where each ends, then their bytes with a zero behind each."""
    encoded = [label.encode() + b"\0" for label in labels]
    ends = itertools.accumulate(map(len, encoded))
    return struct.pack(f"<{len(encoded)}I", *ends) + b"".join(encoded)


def decision_settings(decision: Decision, labels: Sequence[str]) -> dict[str, int]:
    """Return the settings of a decision, by their names in `SETTINGS`."""
    unknown = decision.unknown_label
    return {
        "multi_label": int(decision.multi_label),
        "unknown_label": 0 if unknown is None else labels.index(unknown) + 1,
        "has_threshold": int(decision.threshold is not None),
    }


def ngram_settings(ngrams: NgramConfig | None) -> dict[str, int]:
    """Return the settings of n-grams, by their names in `SETTINGS`."""
    names = ("buckets", "longest", "shortest", "codebooks", "rank", "plain_letters")
    return {name: 0 if ngrams is None else int(getattr(ngrams, name)) for name in names}


def ranges_of(characters: str) -> bytes:
    """Return code points as (first, last) of each run: the section `characters_known`."""
    codes = np.array(sorted(map(ord, characters)), np.int64)
    starts = np.flatnonzero(np.diff(codes, prepend=-2) != 1)
    ends = np.append(starts[1:], len(codes)) - 1
    return np.stack([codes[starts], codes[ends]], axis=1).astype("<u4").tobytes() if len(codes) else b""


def disagreement(
    data: bytes,
    labels: Sequence[str],
    config: EncoderConfig,
    decision: Decision,
    dimensions: tuple[int, int],
    ngrams: NgramConfig | None,
    meaning: MeaningConfig | None,
) -> str | None:
    """Return what the metadata say otherwise than the engine, of a file that `read_retvec` read; None where they agree.

    All but `data` are what the metadata say; `dimensions` are those of a text's and of a word's embedding.
    """
    sections = sections_of(data)
    if len(sections["settings"]) != 4 * len(SETTINGS):
        return "settings"
    found = dict(zip(SETTINGS, struct.unpack(f"<{len(SETTINGS)}I", sections["settings"]), strict=True))
    if sections["labels"] != labels_section(labels):
        return "labels"
    told = {"labels": len(labels)} | settings_of(config) | decision_settings(decision, labels) | ngram_settings(ngrams)
    for name, value in told.items():
        if found[name] != value:
            return name
    numbers = struct.pack("<2d", decision.threshold or 0.0, decision.unknown_power)
    thresholds = struct.pack(f"<{len(decision.thresholds or ())}d", *(decision.thresholds or ()))
    if (sections.get("numbers"), sections.get("thresholds", b"")) != (numbers, thresholds):
        return "thresholds"
    if sections.get("characters_known", b"") != ranges_of(decision.characters):
        return "characters"
    if _meaning(sections) != (meaning and meaning.to_dict()):
        return "meaning"
    return None if _dimensions(sections, found) == dimensions else "dimension"


def _meaning(sections: Mapping[str, bytes]) -> dict[str, int] | None:
    """Return the sizes of the table of meaning; None where there is none."""
    sizes = {"words": ("codes", CODEBOOKS[0]), "rows": ("rows", 3), "displacements": ("displacements", 1)}
    found = {name: len(sections.get(f"meaning/{part}", b"")) // size for name, (part, size) in sizes.items()}
    return found if any(found.values()) else None


def _dimensions(sections: Mapping[str, bytes], settings: Mapping[str, int]) -> tuple[int, int]:
    """Return the numbers of a text's and of a word's embedding."""
    if settings["head"] == _NGRAMS:
        return 0, 0
    of_word = settings["word_length"] * BITS
    if settings["has_embedding"]:
        of_word = int.from_bytes(sections.get("embedding/dense_2", b"")[4:8], "little")
    return of_word + (DIMENSION if "meaning/rows" in sections else 0), of_word
