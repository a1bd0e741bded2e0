"""What words mean, in a training: in which language, which words there is room for, and what each text's words say together.

The words of the training texts come first, then the most frequent ones of the language. Two keys a word were best on validation
texts: the second one is a word without one of its letters, and undoes a typo (docs/meaning.md).
"""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import tensorflow as tf

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.meaning import DIMENSION, LONGEST, NO_WORD, MeaningConfig, is_meaning_letter
from retvec_lite.model.encoder_graph import sanitize
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.meaning_graph import find_meaning
from retvec_lite.model.network_graph import predictor
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.ngrams import folded_letters
from retvec_lite.runtime.interpreters import codepoint_rows
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.meaning_table import build_table, table_bytes
from retvec_lite.windows import answer_in_windows, combine

_KEYS: Final = 2
"""Keys a word."""

_LEAST_SHARE: Final = 0.2
"""Share of the texts in a language from which its words count."""

_TEXTS_TOLD: Final = 300
"""Texts whose language is told: so many tell a share of a fifth to 2 %."""

_DETECTOR: Final = "language"

_CODES_AT_ONCE: Final = 2**18


@dataclasses.dataclass(frozen=True)
class MeaningPart:
    """The table of a training.

    Attributes:
        config: its sizes.
        weights: `meaning/...` as in the exported file, without the projection.
        facts: what the report says of it.
    """

    config: MeaningConfig
    weights: Mapping[str, Floats]
    facts: Mapping[str, Any]

    def vectors(self, texts: Sequence[str], encoder: EncoderConfig) -> Floats:
        """Return what the words of each text mean together, float32 `[texts, 64]`, by the graph that is exported."""
        at_once = max(1, _CODES_AT_ONCE // encoder.max_chars)
        graph = self._graphs(encoder)
        parts = [
            graph(codepoint_rows(texts[start : start + at_once], encoder.max_chars)).numpy()
            for start in range(0, len(texts), at_once)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, DIMENSION), np.float32)

    @functools.cached_property
    def _graphs(self) -> Callable[[EncoderConfig], Callable[[Ints], Any]]:
        def make(encoder: EncoderConfig) -> Callable[[Ints], Any]:
            found: Callable[[Ints], Any] = tf.function(
                lambda rows: find_meaning(sanitize(rows, encoder), self.config, self.weights),
                input_signature=[tf.TensorSpec([None, encoder.max_chars], tf.int32)],
                autograph=False,
            )
            return found

        return functools.cache(make)


def choose_file(
    files: Sequence[MeaningFile], texts: Sequence[str], seed: int
) -> tuple[MeaningFile | None, dict[str, Any]]:
    """Return the file of the language that most texts are in, None where that is less than a fifth of them; and facts for the report."""
    shares = language_shares(texts, seed)
    found = max(files, key=lambda file: shares.get(file.language, 0.0), default=None)
    if found is None or shares.get(found.language, 0.0) < _LEAST_SHARE:
        known = " or ".join(file.language for file in files) or "any language"
        return None, {"left_out": f"less than {_LEAST_SHARE:.0%} of the texts are in {known}"}
    return found, {"share_of_texts": round(shares[found.language], 3)}


def language_shares(texts: Sequence[str], seed: int) -> Mapping[str, float]:
    """Return the share of the texts in each language by its tag, as the packaged detector tells from some; texts in none do not count."""
    detector = load_trained_model(_DETECTOR)
    rows = np.random.default_rng(seed).permutation(len(texts))[:_TEXTS_TOLD]
    chosen = [texts[row][: detector.encoder.max_chars] for row in rows]
    table = answer_in_windows(
        predictor(detector), chosen, detector.encoder, lambda rows: combine(rows, detector.labels, detector.decision)
    )
    unknown = detector.decision.unknown(chosen, table, detector.labels)
    columns = np.array(detector.decision.columns(detector.labels))
    best = columns[table[:, columns].argmax(axis=1)[~unknown]]
    return {detector.labels[place]: count / len(best) for place, count in Counter(best.tolist()).items()}


def make_part(file: MeaningFile, data: TrainingData, kilobytes: int) -> MeaningPart:
    """Choose the words of a file that fit into so many kilobytes (1,000 bytes), and build their table."""
    counts = count_words(data)
    places = {word: place for place, word in enumerate(file.words)}
    lengths = np.linalg.norm(file.vectors, axis=1)
    needed = [places[word] for word in counts if word in places]
    needed.sort(key=lambda place: (-counts[file.words[place]] * lengths[place], place))
    # The first words get the keys of their typos: those that say much, and often.
    order = list(dict.fromkeys([*needed, *range(len(file.words))]))[: _most_words(kilobytes, len(file.words))]
    words = [file.words[place] for place in order]
    config, weights = build_table(words, file.codes[order], file.codebooks, _KEYS * len(words))
    kept = sum(counts[word] for word in words)
    facts = {
        "language": file.language,
        "words": config.words,
        "rows": config.rows,
        "known_words": round(kept / max(counts.total(), 1), 4),
    }
    return MeaningPart(config, weights, facts)


def count_words(data: TrainingData) -> Counter[str]:
    """Return how often each word with letters occurs in the training texts, in plain letters, as far as they fit into the word slots."""
    used = np.bincount(data.clean_ids.reshape(-1), minlength=len(data.words))
    used[0] = 0
    folded = folded_letters(True)
    found: Counter[str] = Counter()
    for row in np.flatnonzero(used).tolist():
        chars = (folded.get(code, code) for code in data.words[row].tolist())
        for is_word, run in itertools.groupby(chars, is_meaning_letter):
            word = "".join(map(chr, run)) if is_word else ""
            if 0 < len(word) <= LONGEST:
                found[word] += int(used[row])
    return found


def _most_words(kilobytes: int, words: int) -> int:
    """Return how many words there is room for beside the codebooks."""
    fits = range(1, min(words, NO_WORD) + 1)
    room = 1000 * kilobytes - CODEBOOK_BYTES
    return bisect.bisect_right(fits, room, key=lambda count: table_bytes(count, _KEYS * count))
