"""Languages in a training: which one the texts are in, and variants of them in words of others.

Each word becomes one that stands for it in translations, or else one that means the same. So what reads letters learns words of languages
that no text is in. The order of the words stays, and so do words that no table has.
"""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import Floats, codepoints
from retvec_lite.equal_rows import distinct_rows
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import is_meaning_letter
from retvec_lite.model.meaning_file import MeaningFile, language_file, packaged_languages
from retvec_lite.model.pieces_file import PiecesFile, packaged_pieces
from retvec_lite.model.reference_network import shares as shares_of
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.ngrams import folded_letters, ngram_logits
from retvec_lite.training.request import Request
from retvec_lite.windows import cut_windows

_DETECTOR: Final = "language"
_LEAST_SHARE: Final = 0.2
"""Share of the texts in a language from which its words count."""
_SPOKEN: Final = 0.05
_COMMON: Final = 10_000
"""Share of the texts in a language from which its words stand around texts, and how many of them at most."""
_TEXTS_TOLD: Final = 200
"""Texts whose language is told: so many tell a share of a fifth to 3 %."""

_NEIGHBORS: Final = 5
"""Most words that a word may become."""
_SLACK: Final = 0.2
"""How much worse than the best one another may be."""
_LEAST: Final = 0.4
"""Cosine from which words mean the same."""
_RARE: Final = 0.05
"""What the logarithm of a word's rank costs: many rare words share the codes of a frequent one."""
_AT_ONCE: Final = 512


class Language(NamedTuple):
    """What the words of most texts mean, None where less than a fifth are in a known language; what the report says of the choice."""

    source: MeaningFile | None
    facts: Mapping[str, Any]


def choose_language(meanings: Sequence[MeaningFile | str], spoken: Mapping[str, float], request: Request) -> Language:
    """Return the language that most of the texts are in, of files and tags; a file that was named is taken as it is.

    `spoken` are the `language_shares` of the texts.
    """
    if not meanings:
        return Language(None, {})
    if request.options.meaning != "auto":
        return Language(language_file(meanings[0]), {})
    tags = [meaning if isinstance(meaning, str) else meaning.language for meaning in meanings]
    found = [spoken.get(tag, 0.0) for tag in tags]
    share = max(found)
    if share >= _LEAST_SHARE:
        several = {tag: round(part, 3) for tag, part in zip(tags, found, strict=True) if part >= _SPOKEN}
        facts = {"share_of_texts": round(share, 3), **({"spoken": several} if len(several) > 1 else {})}
        return Language(language_file(meanings[found.index(share)]), facts)
    known = tags[0] if len(tags) == 1 else "any language with a table of meanings"
    return Language(None, {"left_out": f"less than {_LEAST_SHARE:.0%} of the texts are in {known}"})


def choose_pieces(spoken: Mapping[str, float], request: Request) -> PiecesFile | None:
    """Return what n-grams mean of the language that most of the texts are in, unless meanings were named or left out; None without any.

    `spoken` are the `language_shares` of the texts; those of a language in several scripts add up.
    """
    shares: dict[str, float] = {}
    for tag, part in spoken.items():
        language = tag.partition("-")[0]
        shares[language] = shares.get(language, 0.0) + part
    language, share = max(shares.items(), key=lambda item: item[1], default=("", 0.0))
    is_wanted = request.options.meaning == "auto" and len(request.meanings) > 0
    return packaged_pieces(language) if is_wanted and share >= _LEAST_SHARE else None


def other_languages(source: MeaningFile | None, files: Sequence[MeaningFile]) -> Sequence[MeaningFile]:
    """Return the files of the languages that no text needs to be in, without that of the texts.

    Raises:
        RetvecLiteError: where the texts are in a language without a file, or the files were not made to go together.
    """
    if files and source is None:
        raise RetvecLiteError(
            "languages needs texts in a language with a built-in table, of which there are none here: leave it out."
        )
    others = [file for file in files if source and file.language != source.language]
    for file in others:
        if source and file.space != source.space:
            raise RetvecLiteError(
                f"The meanings of {file.language} were not learned in the space of those of {source.language}: "
                f"their numbers do not say the same. Leave {file.language} out of languages."
            )
    return others


def language_shares(texts: Sequence[str], seed: int) -> Mapping[str, float]:
    """Return the share of the texts in each language by its tag, as the packaged detector tells from some; texts in none do not count."""
    detector = load_trained_model(_DETECTOR)
    assert detector.ngrams is not None
    rows = np.random.default_rng(seed).permutation(len(texts))[:_TEXTS_TOLD]
    chosen = [cut_windows(texts[row], detector.encoder)[0] for row in rows.tolist()]
    # Compiling a graph would take longer than the reference does.
    logits = [
        ngram_logits(codepoints(text, detector.encoder.max_chars), detector.encoder, detector.ngrams, detector.weights)
        for text in chosen
    ]
    table = shares_of(np.stack(logits), detector.multi_label)
    unknown = detector.decision.unknown(chosen, table, detector.labels)
    columns = np.array(detector.decision.columns(detector.labels))
    best = columns[table[:, columns].argmax(axis=1)[~unknown]]
    return {detector.labels[place]: count / len(best) for place, count in Counter(best.tolist()).items()}


def common_words(spoken: Mapping[str, float]) -> list[Sequence[str]]:
    """Return the words of each language with a packaged table that at least a twentieth of the texts are in, the most frequent ones first.

    `spoken` are the `language_shares` of the texts.
    """
    known = packaged_languages()
    return [language_file(tag).words[:_COMMON] for tag in sorted(spoken) if tag in known and spoken[tag] >= _SPOKEN]


class Translation:
    """Puts words of other languages in place of those of one.

    Example:
        >>> from retvec_lite.model.meaning_file import packaged_meaning
        >>> from retvec_lite.training.languages import Translation
        >>> english = packaged_meaning("en")
        >>> len(Translation(english, [english]).variants(["wake me up"], 2, seed=0))
        2
    """

    def __init__(self, source: MeaningFile, targets: Sequence[MeaningFile]) -> None:
        self._source = source
        self._targets = targets
        self._vocabularies = [frozenset(source.words), *(frozenset(file.words) for file in targets)]
        self._found: list[Mapping[str, Sequence[str]]] = [{} for _ in targets]

    def variants(self, texts: Sequence[str], count: int, seed: int) -> list[list[str]]:
        """Return so many variants of the texts, each text in a language that chance alone decides, whatever the label.

        Texts that are rather in one of the other languages stay as they are.
        """
        words = {word for text in texts for word in plain_words(text)}
        self._found = [
            {**similar_words(self._source, target, sorted(words)), **self._translations(target)}
            for target in self._targets
        ]
        draw = random.Random(seed).random
        return [[self._translate(text, draw) for text in texts] for _ in range(count)]

    def _translations(self, target: MeaningFile) -> Mapping[str, Sequence[str]]:
        """Return each word's translations, as often as their share says; they are of the language whose space it is, which has none."""
        if self._source.translations:
            return {}
        return {
            word: [other for other, share in shares.items() for _ in range(share)]
            for word, shares in target.translations.items()
        }

    def _translate(self, text: str, draw: Callable[[], float]) -> str:
        words = plain_words(text)
        known = [sum(word in vocabulary for word in words) for vocabulary in self._vocabularies]
        if known[0] < max(known):
            return text
        return translate(text, self._found[int(draw() * len(self._found))], draw)


def translate(text: str, words: Mapping[str, Sequence[str]], draw: Callable[[], float]) -> str:
    """Return the text with every known word replaced by one of `words`, drawn by numbers from 0 to 1.

    Example:
        >>> from retvec_lite.training.languages import translate
        >>> translate("Wake me!", {"wake": ["weck"], "me": ["mich"]}, lambda: 0.5)
        'weck mich!'
    """
    parts = []
    for part, word in _parts(text):
        choice = words.get(word, ())
        parts.append(choice[int(draw() * len(choice))] if choice else part)
    return "".join(parts)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in plain letters, digits left out."""
    return [word for _, word in _parts(text) if word]


def similar_words(source: MeaningFile, target: MeaningFile, words: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return for each of some words of one language those of another that mean the same, if any."""
    places = {word: place for place, word in enumerate(source.words)}
    known = [word for word in words if word in places]
    vectors, rows = distinct_rows(directions(source)[[places[word] for word in known]])
    others, columns_of = distinct_rows(directions(target))
    cost = (_RARE * np.log1p(np.arange(len(columns_of)))).astype(np.float32)
    most = min(_NEIGHBORS, len(cost))
    found: list[Sequence[str]] = []
    for start in range(0, len(vectors), _AT_ONCE):
        cosines = (vectors[start : start + _AT_ONCE] @ others.T)[:, columns_of]
        scores = np.where(cosines >= _LEAST, cosines - cost, -np.inf)
        best = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        for row, columns in zip(scores, best, strict=True):
            least = max(row[columns].max() - _SLACK, np.finfo(np.float32).min)
            found.append([target.words[column] for column in np.sort(columns) if row[column] >= least])
    return {word: found[row] for word, row in zip(known, rows.tolist(), strict=True) if found[row]}


def directions(file: MeaningFile) -> Floats:
    """Return the vectors of a file's words at length 1, float32 `[words, 128]`."""
    vectors = file.vectors
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return found


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the runs of letters and of others, each with the word in plain letters that it is, or nothing."""
    folded = folded_letters(True)
    runs = ((is_word, "".join(run)) for is_word, run in itertools.groupby(text, _is_letter))
    return [
        (part, "".join(chr(folded.get(ord(char), ord(char))) for char in part) if is_word else "")
        for is_word, part in runs
    ]


@functools.cache
def _is_letter(char: str) -> bool:
    """Return whether a character is a letter as it stands, and not a digit that is read as one."""
    return (char.isalpha() or not char.isascii()) and is_meaning_letter(folded_letters(True).get(ord(char), ord(char)))
