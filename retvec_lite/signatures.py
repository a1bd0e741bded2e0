"""The entry points of one exported file: which there are, and which of them answers a text.

A graph has a fixed number of word slots and pays for all of them. So a file holds the classifier several times over the same
weights, for short texts as well as long ones, and whoever runs it takes the smallest that a text fits into: the answer is
that of the full one. NumPy-free; the Android and web wrappers apply the same rule to the same list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retvec_lite.config import EncoderConfig
from retvec_lite.errors import RetvecLiteError

CLASSIFY: Final = "classify"
EMBED: Final = "embed"

METADATA_KEY: Final = "signatures"

SHORT: Final = ((16, 128), (32, 256))
"""Word slots and code points of the signatures for short texts, eight of these for each of those, as in the full default
(64, 512). Under that config, with the head `pool`, an answer takes 0.33 to 0.35 and 0.53 to 0.58 of the full one's time (LiteRT
2.3.0, one thread, float32 and int8-dynamic), and they add 16 and 19 kB to the file. Eight slots would take 0.22: less to gain."""


@dataclass(frozen=True)
class Signature:
    """One entry point of an exported file.

    Attributes:
        name: the name of the signature in the file.
        kind: `classify` (code points -> probabilities) or `embed` (code points -> words, embeddings, text).
        max_chars: code points of its input, int32 `[1, max_chars]`.
        max_words: its word slots. A short signature also answers `slots`: more than `max_words` means that the text does
            not fit and the answer does not count.
        dimension: numbers of an embedding; None for `classify`.
    """

    name: str
    kind: str
    max_chars: int
    max_words: int
    dimension: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, as in `retvec_lite.json`."""
        fields = {"name": self.name, "kind": self.kind, "max_chars": self.max_chars, "max_words": self.max_words}
        return fields if self.dimension is None else {**fields, "dimension": self.dimension}


def short_signatures(config: EncoderConfig) -> tuple[Signature, ...]:
    """The signatures for short texts that a file of this config gets besides `classify`, in rising order; maybe none."""
    # What the encoder costs grows with the code points: a short signature has fewer of them, too.
    most = config.max_chars * 3 // 4
    return tuple(
        Signature(f"{CLASSIFY}_{words}", CLASSIFY, min(chars, most), words)
        for words, chars in SHORT
        if words < config.max_words and most > 0
    )


def full_signature(config: EncoderConfig) -> Signature:
    """The signature `classify`, which every file has."""
    return Signature(CLASSIFY, CLASSIFY, config.max_chars, config.max_words)


def read_signatures(metadata: Mapping[str, Any], config: EncoderConfig) -> tuple[Signature, ...]:
    """What a file's metadata lists; `classify` alone where it lists nothing, as files of earlier releases do.

    Args:
        metadata: `retvec_lite.json`.
        config: the contract it holds.

    Raises:
        RetvecLiteError: for a list that is no list of signatures, or lacks the `classify` of the config.
    """
    listed = metadata.get(METADATA_KEY)
    full = full_signature(config)
    if listed is None:
        return (full,)
    try:
        found = tuple(_signature(fields) for fields in listed)
    except (TypeError, ValueError, KeyError) as error:
        raise RetvecLiteError(f"Expected {METADATA_KEY} as export writes them, received {listed!r}.") from error
    if full not in found or len({signature.name for signature in found}) != len(found):
        raise RetvecLiteError(
            f"Expected {METADATA_KEY} with distinct names and {full.to_dict()} among them, received {listed!r}."
        )
    return found


def classify_signatures(signatures: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """Those that classify, in the order in which they are tried: fewest slots first."""
    return tuple(sorted((s for s in signatures if s.kind == CLASSIFY), key=lambda signature: signature.max_words))


def _signature(fields: Mapping[str, Any]) -> Signature:
    sizes = [fields["max_chars"], fields["max_words"]] + ([fields["dimension"]] if "dimension" in fields else [])
    if not all(type(size) is int and size > 0 for size in sizes) or not isinstance(fields["name"], str):
        raise ValueError("no sizes")
    if fields["kind"] not in (CLASSIFY, EMBED):
        raise ValueError("another kind")
    return Signature(fields["name"], fields["kind"], *sizes)
