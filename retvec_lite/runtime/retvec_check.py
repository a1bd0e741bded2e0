"""Whether the metadata of a .retvec say what its engine does: Python sizes arrays by the one, and the engine fills them by the other."""

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


def settings_in(sections: Mapping[str, bytes]) -> dict[str, int]:
    """Return the settings that the engine computes with, by their names; raises ValueError for a section of another size."""
    content = sections.get("settings", b"")
    if len(content) != 4 * len(SETTINGS):
        raise ValueError("it lacks settings")
    return dict(zip(SETTINGS, struct.unpack(f"<{len(SETTINGS)}I", content), strict=True))


def labels_in(sections: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the labels as the engine reads them; raises ValueError for a section that does not hold them."""
    count, content = settings_in(sections)["labels"], sections.get("labels", b"")
    if len(content) < 4 * count:
        raise ValueError("it lacks labels")
    ends, names = struct.unpack_from(f"<{count}I", content), content[4 * count :]
    starts = (0, *ends)
    if any(not start < end <= len(names) or names[end - 1] for start, end in zip(starts, ends, strict=False)):
        raise ValueError("its labels have no ends")
    found = tuple(names[start:end].split(b"\0", 1)[0].decode() for start, end in zip(starts, ends, strict=False))
    if "" in found or len(set(found)) < len(found):
        raise ValueError("a label is empty or there twice")
    return found


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
    """Return what the metadata of a file that `check_frame` passed say otherwise than its engine; None where they agree.

    `labels` to `meaning` are what the metadata say; `dimensions` are those of a text's and of a word's embedding.
    """
    sections = sections_of(data)
    try:
        found = settings_in(sections)
        if labels_in(sections) != tuple(labels):
            return "labels"
        told = settings_of(config) | decision_settings(decision, labels) | ngram_settings(ngrams)
        for name, value in told.items():
            if found[name] != value:
                return name
        numbers = struct.pack("<2d", decision.threshold or 0.0, decision.unknown_power)
        thresholds = b"".join(struct.pack("<d", value) for value in decision.thresholds or ())
        if (sections.get("numbers"), sections.get("thresholds", b"")) != (numbers, thresholds):
            return "thresholds"
        if sections.get("characters_known", b"") != ranges_of(decision.characters):
            return "characters"
        if _meaning(sections) != (meaning and meaning.to_dict()):
            return "meaning"
        return None if _dimensions(sections, found) == dimensions else "dimension"
    except (ValueError, struct.error) as error:
        return f"labels ({error})" if isinstance(error, ValueError) else "dimension"


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
        (of_word,) = struct.unpack_from("<I", sections.get("embedding/dense_2", b""), 4)
    return of_word + (DIMENSION if "meaning/rows" in sections else 0), of_word
