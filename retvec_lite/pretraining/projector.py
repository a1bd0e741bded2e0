"""Files for the TensorBoard embedding projector: words and their mistyped forms as points (RETVec paper, appendix)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining.augment import TYPO_KINDS, apply_typos
from retvec_lite.pretraining.evaluation_network import embed
from retvec_lite.pretraining.tasks import Task, script_of
from retvec_lite.pretraining.words import decode_word

_LANGUAGES: Final = 12
_WORDS: Final = 25  # of each language
_VARIANTS: Final = 4  # of each word

_CONFIG: Final = """embeddings {
  tensor_name: "words"
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def projector_files(embedding: Embedding, tasks: Sequence[Task], seed: int) -> Mapping[str, str]:
    """Points of some 300 unseen words of 12 languages, each with up to four forms that hold one typo.

    Args:
        embedding: what to show.
        tasks: languages to choose from.
        seed: of the typos.

    Returns:
        File name -> text: `tensors.tsv` (a line of numbers for each point), `metadata.tsv` (a header, then word, original,
        language and typo kind of each point; "none" for the word itself) and `projector_config.pbtxt`.
    """
    rng = np.random.default_rng(seed)
    rows, facts = [], ["word\toriginal\tlanguage\ttypo kind"]
    for task in _many_scripts(tasks):
        words = task.candidates[task.answers[:_WORDS]]
        originals = [decode_word(word) for word in words]
        rows.append(words)
        facts += [f"{word}\t{word}\t{task.name}\tnone" for word in originals]
        for _ in range(_VARIANTS):
            kinds = rng.integers(0, len(TYPO_KINDS), len(words))
            mistyped = apply_typos(words, kinds, rng)
            changed = np.flatnonzero((mistyped != words).any(axis=1))
            rows.append(mistyped[changed])
            facts += [
                f"{decode_word(mistyped[index])}\t{originals[index]}\t{task.name}\t{TYPO_KINDS[kinds[index]]}"
                for index in changed
            ]
    vectors = embed(embedding, np.concatenate(rows))
    lines = ("\t".join(f"{value:.6g}" for value in vector) for vector in vectors.tolist())
    return {
        "tensors.tsv": "\n".join(lines) + "\n",
        "metadata.tsv": "\n".join(facts) + "\n",
        "projector_config.pbtxt": _CONFIG,
    }


def _many_scripts(tasks: Sequence[Task]) -> list[Task]:
    """A language of each script first (of Latin English, which most readers know), then the others."""
    first: list[Task] = []
    others: list[Task] = []
    seen: set[str] = set()
    for task in sorted(tasks, key=lambda task: task.name != "en"):
        script = script_of(decode_word(task.candidates[task.answers[0]]))
        (others if script in seen else first).append(task)
        seen.add(script)
    return [*first, *others][:_LANGUAGES]
