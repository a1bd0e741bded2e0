"""Black-box attacks that change characters until a classifier errs: TextBugger, DeepWordBug, and Pruthi et al.

Written from the papers. Where a paper leaves a choice open or needs something that is not available offline, the docstring
says what is done instead. An attack sees only probabilities, and every query is counted. All are untargeted: they succeed
as soon as another label is the most probable. The same seed gives the same attack.
"""

import random
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.common import Row
from benchmarks.systems.trained import Probabilities

_TOKEN: Final = re.compile(r"\S+")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

LOOKALIKES: Final = dict(zip("abegilostz", "@639110572", strict=True))
"""Letter -> a similar-looking ASCII character, for TextBugger's Sub-C ("o" -> "0", "l" -> "1", "a" -> "@")."""

_STOPWORDS_TEXT: Final = (
    "a about after all also am an and any are as at be because been before being but by can could did do does for from had "
    "has have he her here him his how i if in into is it its just may me might more most my no nor not now of off on once "
    "only or other our out over own she should so some such than that the their them then there these they this those to "
    "too under up very was we were what when where which while who whom why will with would you your"
)
STOPWORDS: Final = frozenset(_STOPWORDS_TEXT.split())
"""Function words, which Pruthi et al. and TextBugger leave alone."""


class Found(NamedTuple):
    """The result of an attack on one text.

    Attributes:
        text: the changed text of the last step; misclassified if `success`.
        success: whether the label changed.
        queries: number of texts classified, without the original one.
        changed: number of changed words.
    """

    text: str
    success: bool
    queries: int
    changed: int


class Victim:
    """A classifier that shows an attack its probabilities and counts the queries.

    Args:
        probabilities: texts -> float `[texts, classes]`.
    """

    def __init__(self, probabilities: Probabilities) -> None:
        self._probabilities = probabilities
        self.queries = 0

    def ask(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return probabilities, float64 `[texts, classes]`; every text counts as a query."""
        self.queries += len(texts)
        return np.asarray(self._probabilities(texts), np.float64)


class Words:
    """A text as words between gaps of white space, of which some are replaced."""

    def __init__(self, text: str) -> None:
        self.words = _TOKEN.findall(text)
        self._gaps = _TOKEN.split(text)

    def join(self, replaced: dict[int, str] | None = None, only: range | None = None) -> str:
        """The text with words replaced by place, or `only` some of its words."""
        changed = replaced or {}
        places = range(len(self.words)) if only is None else only
        pieces = [self._gaps[0]] if only is None or (places and places.start == 0) else []
        for place in places:
            pieces.append(changed.get(place, self.words[place]))
            if only is None or place + 1 < places.stop:
                pieces.append(self._gaps[place + 1])
        return "".join(pieces)


def deep_word_bug(victim: Victim, text: str, label: int, draw: random.Random, most_edits: int = 30) -> Found:
    """DeepWordBug (Gao et al. 2018, arXiv:1801.04354).

    Words are ranked by the combined score of section III: temporal head score F(x1..xi) - F(x1..xi-1) plus temporal tail
    score F(xi..xn) - F(xi+1..xn), where F is the probability of the true label. From the top, each word is changed: two
    neighbouring letters swapped, or one substituted, deleted or inserted, at random places. The paper measures each of the
    four alone; here the one that lowers the true label's probability most is kept, as in later toolkits (a stronger
    attack). The edit distance is at most 30, the paper's largest (a swap counts 2).
    """
    words = Words(text)
    count = len(words.words)
    if not count:
        return Found(text, False, victim.queries, 0)
    heads = victim.ask([words.join(only=range(end)) for end in range(count + 1)])[:, label]
    tails = victim.ask([words.join(only=range(start, count)) for start in range(1, count + 1)])[:, label]
    tails = np.concatenate([heads[-1:], tails])  # the whole text was a query already
    scores = np.diff(heads) + (tails[:-1] - tails[1:])

    replaced: dict[int, str] = {}
    edits = 0
    for place in np.argsort(-scores, kind="stable").tolist():
        candidates = [
            (word, cost) for word, cost in _four_transformers(words.words[place], draw) if edits + cost <= most_edits
        ]
        if not candidates:
            continue
        found = victim.ask([words.join(replaced | {place: word}) for word, _ in candidates])
        best = int(found[:, label].argmin())
        replaced[place] = candidates[best][0]
        edits += candidates[best][1]
        if found[best].argmax() != label:
            return Found(words.join(replaced), True, victim.queries, len(replaced))
    return Found(words.join(replaced), False, victim.queries, len(replaced))


def _four_transformers(word: str, draw: random.Random) -> Iterator[tuple[str, int]]:
    """Yield DeepWordBug's changes of a word with their edit distance, without empty or unchanged words."""
    at = int(draw.random() * len(word))
    if len(word) > 1:
        left = int(draw.random() * (len(word) - 1))
        if word[left] != word[left + 1]:
            yield _swapped(word, left), 2
        yield word[:at] + word[at + 1 :], 1
    letters = [letter for letter in _LETTERS if letter != word[at].lower()]
    yield word[:at] + letters[int(draw.random() * len(letters))] + word[at + 1 :], 1
    yield word[:at] + _LETTERS[int(draw.random() * len(_LETTERS))] + word[at:], 1


def text_bugger(victim: Victim, text: str, label: int, draw: random.Random, most_changed: float = 0.2) -> Found:
    """TextBugger in the black-box setting (Li et al., NDSS 2019, arXiv:1812.05271), its four character-level bugs.

    Algorithm 3 of the paper: sentences that have the true label by themselves are ordered by its probability. Within a
    sentence, words are ordered by how much that probability falls without them. Each is replaced by its best bug until the
    label changes. Bugs: insert a space (words of fewer than 6 letters, not at the ends), delete an inner character, swap
    two inner ones, replace one by a similar-looking character or a neighbouring key. Sub-W is left out: it replaces
    words by neighbours among word vectors and is no character-level attack. The paper stops below a similarity of 0.8
    by the Universal Sentence Encoder, which is not available offline: here at most a fifth of the characters are edited.
    """
    words = Words(text)
    if not words.words:
        return Found(text, False, victim.queries, 0)
    whole_budget = most_changed * len(text)
    replaced: dict[int, str] = {}
    edits = 0
    for sentence in _important_sentences(victim, words, label):
        inside = [words.words[place] for place in sentence]
        shortened = [" ".join(inside[:skip] + inside[skip + 1 :]) for skip in range(len(inside))]
        found = victim.ask([" ".join(inside), *shortened])[:, label]
        for order in np.argsort(found[1:], kind="stable").tolist():
            place = sentence[order]
            word = words.words[place]
            if word.lower().strip(".,!?;:'\"()") in STOPWORDS:
                continue
            bugs = [(bug, cost) for bug, cost in _bugs(word, draw) if edits + cost <= whole_budget]
            if not bugs:
                continue
            answers = victim.ask([words.join(replaced | {place: bug}) for bug, _ in bugs])
            best = int(answers[:, label].argmin())
            replaced[place] = bugs[best][0]
            edits += bugs[best][1]
            if answers[best].argmax() != label:
                return Found(words.join(replaced), True, victim.queries, len(replaced))
    return Found(words.join(replaced), False, victim.queries, len(replaced))


def _important_sentences(victim: Victim, words: Words, label: int) -> list[list[int]]:
    """Return the word places of each sentence that has the true label by itself, most confident first."""
    sentences: list[list[int]] = [[]]
    for place, word in enumerate(words.words):
        sentences[-1].append(place)
        if word[-1] in ".!?" and place + 1 < len(words.words):
            sentences.append([])
    if len(sentences) == 1:
        return sentences  # nothing to choose, so no query
    found = victim.ask([" ".join(words.words[place] for place in sentence) for sentence in sentences])
    order = np.argsort(-found[:, label], kind="stable").tolist()
    # If no sentence has the label alone, all of them together do: keep all.
    return [sentences[at] for at in order if found[at].argmax() == label] or [sentences[at] for at in order]


def _bugs(word: str, draw: random.Random) -> Iterator[tuple[str, int]]:
    """Yield TextBugger's character-level bugs of a word with their edit distance."""
    if len(word) < 2:
        return
    if len(word) < 6:
        at = 1 + int(draw.random() * (len(word) - 1))
        yield word[:at] + " " + word[at:], 1
    if len(word) > 2:
        at = 1 + int(draw.random() * (len(word) - 2))
        yield word[:at] + word[at + 1 :], 1
    if len(word) > 3:
        at = 1 + int(draw.random() * (len(word) - 3))
        if word[at] != word[at + 1]:
            yield _swapped(word, at), 2
    places = [place for place, letter in enumerate(word) if letter.lower() in LOOKALIKES or neighbour_keys(letter)]
    if places:
        at = places[int(draw.random() * len(places))]
        letter = word[at]
        choices = LOOKALIKES.get(letter.lower(), "") + neighbour_keys(letter)
        yield word[:at] + choices[int(draw.random() * len(choices))] + word[at + 1 :], 1


def pruthi(victim: Victim, text: str, label: int, draw: random.Random, most_words: int = 1) -> Found:
    """The attack of "Combating Adversarial Misspellings" (Pruthi et al., ACL 2019, arXiv:1905.11268).

    In words of four letters or more that are no stop words, an inner character is swapped with its neighbour, dropped,
    replaced by a neighbouring key, or a letter is added before it; first and last character stay. Every such change of
    every word is tried, and the one that lowers the true label's probability most is kept (greedily for more than one).
    For an added letter, one random letter for each place is tried instead of all 26.
    """
    words = Words(text)
    replaced: dict[int, str] = {}
    for _ in range(most_words):
        candidates = [
            (place, changed)
            for place, word in enumerate(words.words)
            if place not in replaced and len(word) >= 4 and word.lower() not in STOPWORDS
            for changed in _inner_changes(word, draw)
        ]
        if not candidates:
            break
        found = victim.ask([words.join(replaced | {place: changed}) for place, changed in candidates])
        best = int(found[:, label].argmin())
        replaced[candidates[best][0]] = candidates[best][1]
        if found[best].argmax() != label:
            return Found(words.join(replaced), True, victim.queries, len(replaced))
    return Found(words.join(replaced), False, victim.queries, len(replaced))


def _inner_changes(word: str, draw: random.Random) -> Iterator[str]:
    """Yield every swap, drop, neighbouring key, and one added letter for each place, inside the word."""
    for at in range(1, len(word) - 1):
        if at + 1 < len(word) - 1 and word[at] != word[at + 1]:
            yield _swapped(word, at)
        yield word[:at] + word[at + 1 :]
        for key in neighbour_keys(word[at]):
            yield word[:at] + key + word[at + 1 :]
        yield word[:at] + _LETTERS[int(draw.random() * len(_LETTERS))] + word[at:]


def _swapped(word: str, at: int) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def neighbour_keys(letter: str) -> str:
    """Return the keys left, right, above and below a letter, in its case; an empty string for other characters."""
    small = letter.lower()
    for number, row in enumerate(_KEYS):
        at = row.find(small) if len(small) == 1 else -1
        if at >= 0:
            found = row[max(0, at - 1) : at] + row[at + 1 : at + 2]
            for other in _KEYS[max(0, number - 1) : number] + _KEYS[number + 1 : number + 2]:
                found += other[at : at + 1]
            return found.upper() if letter.isupper() else found
    return ""


ATTACKS: Final = {"TextBugger": text_bugger, "DeepWordBug": deep_word_bug, "Pruthi": pruthi}
"""Name -> the attack: `(victim, text, column of the true label, random numbers)` -> `Found`."""


def attack_many(name: str, probabilities: Probabilities, texts: Sequence[str], labels: Sequence[int], seed: int) -> Row:
    """Attack every correctly classified text. The others only lower the original accuracy.

    Args:
        name: a key of `ATTACKS`.
        probabilities: the classifier.
        texts: one or more texts.
        labels: the column of each text's true label.
        seed: gives each text its own random numbers, independent of the other texts.

    Returns:
        The number of texts; the share that was classified correctly before, and that still is afterwards; of those that were, the
        share whose label changed and the mean number of queries; the mean share of changed words in successful attacks.
    """
    right = np.asarray(probabilities(texts)).argmax(axis=1) == np.asarray(labels)
    queries, changed = [], []
    successes = 0
    for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if right[number]:
            victim = Victim(probabilities)
            found = ATTACKS[name](victim, text, label, random.Random(seed * 1_000_003 + number))
            queries.append(found.queries)
            if found.success:
                successes += 1
                changed.append(found.changed / max(1, len(text.split())))
        if (number + 1) % max(1, len(texts) // 10) == 0:
            print(f"  {name}: {number + 1:,} of {len(texts):,} texts", file=sys.stderr, flush=True)
    attacked = int(right.sum())
    return {
        "texts": len(texts),
        "original_accuracy": attacked / len(texts),
        "accuracy_under_attack": (attacked - successes) / len(texts),
        "success_rate": successes / attacked if attacked else 0.0,
        "mean_queries": float(np.mean(queries)) if queries else 0.0,
        "mean_changed": float(np.mean(changed)) if changed else 0.0,
    }
