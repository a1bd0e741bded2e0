"""Why this label: how much the log probability of a label falls when a part of the text is left out.

The answers are the file's own (leave one out), so they are exact whatever the network is. Zeiler and Fergus 2014,
https://arxiv.org/abs/1311.2901, call it occlusion.
"""

import itertools
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.contract import BLANK, UNSPACED, Floats
from retvec_lite.errors import RetvecLiteError

_SPACED: Final = "spaced"
_JOINING: Final = "joining"
_JOINS: Final = ("Mn", "Mc", "Me", "Cf")
"""Categories of what belongs to the character before it: marks, and invisible characters."""

LENGTHS: Final = {_SPACED: 3, "han_piece": 1, "kana_piece": 2, "sea_piece": 3}
"""Characters of a part, at most, where words are cut."""

_FEW: Final = 2
"""Words of a text that are cut, because whole words would say little."""


class Span(NamedTuple):
    """A part of a text, and how much it speaks for a label.

    Attributes:
        start: index of its first character.
        end: index behind its last character.
        text: what stands there.
        weight: by how much the natural logarithm of the label's probability falls without it; below 0 where the part speaks
            against the label.

    Example:
        >>> from retvec_lite import Span
        >>> text, span = "wake me up", Span(5, 7, "me", 0.25)
        >>> f"{text[:span.start]}[{span.text}]{text[span.end:]}"
        'wake [me] up'
    """

    start: int
    end: int
    text: str
    weight: float


class Explanation(NamedTuple):
    """Why a text has its label.

    Attributes:
        label: the label that is explained.
        probability: its probability.
        spans: the words of the text in order, or parts of them; what lies between them is white space.

    Example:
        >>> import retvec_lite as rl
        >>> found = rl.load("classifier-int8.tflite").explain("wake me up at six")
        >>> [span.text for span in found.spans]
        ['wake', 'me', 'up', 'at', 'six']
    """

    label: str
    probability: float
    spans: list[Span]


def explain(
    probabilities: Callable[[list[str]], Floats], labels: Sequence[str], text: str, label: str | None, max_chars: int
) -> Explanation:
    """Leave each part of a text out, as much as the classifier reads of it, and compare its `probabilities` for a label.

    A text of more than `max_chars` code points is read in windows.

    Raises:
        RetvecLiteError: for a label that the classifier does not know.
    """
    if label is not None and label not in labels:
        raise RetvecLiteError(f"The label {label!r} is not one of this classifier's labels.")
    parts = find_parts(text)
    table = probabilities([text, *(leave_out(text, start, end, len(text) > max_chars) for start, end in parts)])
    place = int(table[0].argmax()) if label is None else labels.index(label)
    # A probability may be rounded to 0.
    logs = np.log(np.maximum(table[:, place], np.finfo(np.float32).tiny).astype(np.float64))
    spans = [
        Span(start, end, text[start:end], float(logs[0] - log))
        for (start, end), log in zip(parts, logs[1:], strict=True)
    ]
    return Explanation(labels[place], float(table[0, place]), spans)


def find_parts(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a text start and end that are left out one by one: its words.

    A run of a script without spaces is cut: Han into single characters, kana and the scripts of South-East Asia into up to 2
    and 3. In a text of one or two words, all words are, into up to 3.

    Example:
        >>> from retvec_lite.runtime.explanation import find_parts
        >>> [text[start:end] for text in ("wake me up", "weather") for start, end in find_parts(text)]
        ['wake', 'me', 'up', 'we', 'at', 'her']
    """
    runs = list(_runs(text))
    whole = [part for script, run in runs for part in _cut(run, LENGTHS[script] if script != _SPACED else len(run))]
    if len(whole) > _FEW:
        return whole
    return [part for script, run in runs for part in _cut(run, LENGTHS[script])]


def leave_out(text: str, start: int, end: int, in_windows: bool = False) -> str:
    """Return a text without a part. A blank stands in its place, so that its neighbours do not become one word.

    In a text that is read in windows, as many blanks stand there as it had characters, so that other windows shift less.
    """
    if in_windows:
        return text[:start] + " " * (end - start) + text[end:]
    return f"{text[:start].rstrip(BLANK)} {text[end:].lstrip(BLANK)}"


def _runs(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each unbroken run of one script: the script, and where its characters start, and where the last one ends."""
    script, starts = _JOINING, list[int]()
    for at, char in enumerate(f"{text}\0"):
        found = _script(char)
        joins = _JOINING in (found, script)
        if starts and (found is None or (found != script and not joins)):
            yield (_SPACED if script == _JOINING else script), [*starts, at]
            script, starts, joins = _JOINING, [], False
        if found is not None:
            # A mark belongs to the character before it; at the start of a word, to the one behind it.
            if not (starts and joins):
                starts.append(at)
            script = script if found == _JOINING else found


def _script(char: str) -> str | None:
    """Return how a character is cut, `_JOINING` for a mark, or None for a separator."""
    if char in BLANK:
        return None
    if char.isascii():
        return _SPACED
    if unicodedata.category(char) in _JOINS:
        return _JOINING
    for script, ranges in UNSPACED.items():
        if any(first <= ord(char) <= last for first, last in ranges):
            return script
    return _SPACED


def _cut(run: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Cut a run into parts of similar length, of `most` characters at most."""
    length = len(run) - 1
    count = -(-length // most)
    edges = [run[part * length // count] for part in range(count + 1)]
    return list(itertools.pairwise(edges))
