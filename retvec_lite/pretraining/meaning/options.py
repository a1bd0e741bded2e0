"""The options of a pre-training of meaning: names, defaults, help and limits. Imports nothing heavy, for the command line."""

import dataclasses
import os
import re
from collections.abc import Sequence
from typing import Any, Final

from retvec_lite.option_fields import Limits, Options, integer, option

FEWEST_KEPT: Final = 256
"""Words that a pre-training keeps at least: as many as a codebook has rows."""

_TAG: Final = re.compile("[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_LANGUAGE: Final = Limits(
    lambda value: isinstance(value, str) and _TAG.fullmatch(value) is not None,
    "{name} must be the tag of a language, such as en, not {value!r}.",
    {"metavar": "TAG"},
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainMeaningOptions(Options):
    """The options of `retvec_lite.pretrain_meaning` and of `retvec-lite pretrain-meaning`."""

    out: str | os.PathLike[str] = option(
        "meaning.safetensors", "the file to write (default: meaning.safetensors)", metavar="FILE"
    )
    language: str = option("en", "tag of the texts' language (default: en)", _LANGUAGE)
    words: int = option(40_000, "words to keep, the most frequent ones (default: 40,000)", integer(FEWEST_KEPT))
    least_count: int = option(15, "how often a word has to occur (default: 15)", integer(1))
    passes: int = option(4, "how often word2vec reads the texts (default: 4)", integer(1))
    steps: int = option(9000, "steps in which halves of texts learn to find each other (default: 9,000)", integer(0))
    code_steps: int = option(
        3000, "steps in which codes learn to keep the neighbours of texts (default: 3,000)", integer(0)
    )
    valence: str | os.PathLike[str] | None = option(
        None,
        "CSV file with the columns word and valence, how good or bad a word is, for one direction of the vectors: neighbours "
        "confuse good with bad (default: none)",
        metavar="FILE",
    )
    about: str | os.PathLike[str] | None = option(
        None,
        "text file about the sources of the texts and their licences, for the model card (default: none)",
        metavar="FILE",
    )
    translations: Sequence[str | os.PathLike[str]] | None = option(
        None,
        "in place of texts: files of pairs, English, a tab and the language (.tsv, also packed), or folders of files named like "
        "pairs_de.tsv.bz2; the language's words join the space of the English ones (default: none)",
        nargs="+",
        metavar="FILE",
    )
    space: str | os.PathLike[str] | None = option(
        None, "file of the English meanings that translations join (default: the one in the package)", metavar="FILE"
    )
    seed: int = option(0, "seed of everything random (default: 0)", integer(0))
    resume: str | os.PathLike[str] | None = option(
        None,
        "folder of checkpoints: continue there, or begin there (default: beside the file, named after it)",
        metavar="DIR",
    )
    force: bool = option(False, "replace an existing file")


def stage_settings(options: PretrainMeaningOptions, texts: str, valence: str | None) -> dict[str, dict[str, Any]]:
    """Return what the result of each stage depends on, by the names that messages use; a stage builds on those before it.

    Args:
        options: of the run.
        texts: digest of the files.
        valence: digest of the file, if there is one.
    """
    reading: dict[str, Any] = {"texts": texts, "least_count": options.least_count}
    vectors = {**reading, "passes": options.passes, "seed": options.seed}
    neighbors = {**vectors, "steps": options.steps}
    codes = {**neighbors, "words": options.words, "code_steps": options.code_steps, "valence": valence}
    return {"corpus": reading, "word_vectors": vectors, "neighbors": neighbors, "codes": codes}
