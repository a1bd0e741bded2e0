"""Texts longer than a classifier's input: cut into windows that end at words, answered window by window.

docs/contract.md states the rule, which wrappers in other languages repeat. The cut into windows of similar length, their ends and the
maximum for several labels were chosen on texts of AG News, Banking77 and NLU++ with small talk around them; the weights on validation texts
of SMS spam, Banking77 and the starter data, before, behind and between 200 words of news, books and dialogues.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

import numpy as np

from retvec_lite.condensing import condense
from retvec_lite.contract import BLANK, MOST_DECOMPOSED, EncoderConfig, Floats
from retvec_lite.decision import Decision

_ENDING: Final = frozenset(".!?")
"""What ends a sentence: a request and the small talk around it are best not in one window."""

_MOST_WINDOWS: Final = 32
_MOST_CHARS: Final = 16_384
"""More is not read: each further window takes time, and composing twice as much of a hostile text takes four times as long."""

_TINY: Final = 2.0**-126
"""The least positive normal float32: a probability may be rounded to 0."""


def read_limit(config: EncoderConfig) -> int:
    """Return how many code points of a condensed text a classifier reads at most."""
    return max(MOST_DECOMPOSED * config.max_chars, min(_MOST_WINDOWS * config.max_chars, _MOST_CHARS))


def describe_reading(config: EncoderConfig) -> str:
    """Return what a classifier reads of a text, in words."""
    limit = read_limit(config)
    windows = f", in windows of {config.max_chars:,}" if limit > config.max_chars else ""
    return f"the first {limit:,} code points of a text{windows}"


class Kept(str):
    """What was read of a text before, and is not condensed again: `a&amp;amp;b` is kept as `a&amp;b`, not as `a&b`."""

    __slots__ = ()


def read_text(text: str, config: EncoderConfig) -> str:
    """Return what is read of a text: condensed; what is `Kept` as it is.

    Example:
        >>> from retvec_lite.contract import EncoderConfig
        >>> from retvec_lite.windows import read_text
        >>> read_text("<b>Hello</b>" + 1000 * ".", EncoderConfig())
        'Hello.'
    """
    return text if isinstance(text, Kept) else condense(text, read_limit(config))


def decided_text(text: str, config: EncoderConfig) -> str:
    """Return where a `Decision` looks for known letters: in the windows of a text."""
    return "".join(cut_windows(text, config))


def cut_windows(text: str, config: EncoderConfig) -> list[str]:
    """Read a text and cut it into windows of at most `max_chars` code points; one for a text that fits.

    Example:
        >>> from retvec_lite.contract import EncoderConfig
        >>> from retvec_lite.windows import cut_windows
        >>> cut_windows("Hello again! Where is my parcel?", EncoderConfig(max_chars=20))
        ['Hello again!', 'Where is my parcel?']
    """
    rest = read_text(text, config)
    most = config.max_chars
    if len(rest) <= most:
        return [rest]
    rest = rest.strip(BLANK)
    windows = []
    while len(rest) > most:
        end = _window_end(rest, most)
        windows.append(rest[:end])
        rest = rest[end:].lstrip(BLANK)
    return [*windows, rest]


def _window_end(text: str, most: int) -> int:
    """Return how many code points the first window of a text takes that is longer than `most`."""
    # Windows of similar length: a rest of a few letters would count as much as a full window.
    length = math.ceil(len(text) / math.ceil(len(text) / most))
    tried = chain(range(length, most + 1), range(length - 1, math.ceil(most / 2) - 1, -1))
    ends = [end for end in tried if text[end] in BLANK]
    sentences = (end for end in ends if text[end - 1] in _ENDING)
    return next(sentences, ends[0] if ends else length)


def combine(table: Floats, labels: Sequence[str], decision: Decision, windows: Sequence[str]) -> Floats:
    """Return the probabilities of a text, float32 `[classes]`, from those of its windows, float32 `[windows, classes]`.

    Windows count most that say what few texts say, those without a known letter not at all. Where a text may have several labels, it has
    those of any window.

    Example:
        >>> import numpy as np
        >>> from retvec_lite.decision import Decision
        >>> from retvec_lite.windows import combine
        >>> table, windows = np.array([[0.8, 0.2], [0.1, 0.9]], np.float32), ["You won a prize.", "See you at noon."]
        >>> rare = Decision(shares=(0.1, 0.9))
        >>> [round(float(combine(table, ["spam", "no"], of, windows)[0]), 2) for of in (Decision(), rare)]
        [0.39, 0.76]
    """
    reads = np.array([decision.reads(window) for window in windows])
    if reads.any():
        table = table[reads]
    if decision.multi_label:
        most: Floats = table.max(axis=0)
        return most
    columns = decision.columns(labels)
    known = np.maximum(table[:, columns].astype(np.float64), _TINY)
    shares = np.array(decision.shares or [1 / len(labels)] * len(labels))[columns]
    weights = np.exp(2 * (known * np.log(known / shares)).sum(axis=1))
    mean: Floats = (weights @ table / weights.sum()).astype(np.float32)
    return mean


def mean_embedding(table: Floats) -> Floats:
    """Return the embedding of a text, float32 `[dimension]`, from those of its windows: their mean, scaled to length 1."""
    mean = table.astype(np.float64).mean(axis=0)
    found: Floats = (mean / max(float(np.linalg.norm(mean)), _TINY)).astype(np.float32)
    return found


def answer_in_windows(
    answer: Callable[[list[str]], Floats],
    parts: Sequence[Sequence[str]],
    join: Callable[[Floats, Sequence[str]], Floats],
) -> Floats:
    """Return a row for each text, float32 `[texts, columns]`: every different window is answered once, and `join` makes one of several.

    `answer` makes a table of texts that fit into the input, float32 `[texts, columns]`. `parts` are the windows of each text. `join` gets the rows of a text's windows, and the windows.
    """
    if all(len(windows) == 1 for windows in parts):
        return answer([window for (window,) in parts])
    rows = {window: row for row, window in enumerate(dict.fromkeys(window for windows in parts for window in windows))}
    table = answer(list(rows))
    found = [(table[[rows[window] for window in windows]], windows) for windows in parts]
    return np.stack([join(part, windows) if len(part) > 1 else part[0] for part, windows in found])
