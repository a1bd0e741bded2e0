"""Texts that are equal, or nearly so: of two copies, one must not be learned from where the other one is tested on.

Two texts are copies when they have the same words, in any order, but for case, punctuation and numbers. More than that may differ:

- a word that is mistyped: one letter is missing, added, wrong, or swapped with the next one, in a word of four letters or more that
  stands in no other text;
- a tenth of the words;
- words in front of a text or behind it, such as a greeting: a fifth of all.

Texts of one or two words tell too little for that: they are copies only when the same is written, numbers included. What is a copy of a
copy belongs to the same group.

Pairs to compare are found by MinHash (Broder 1997, https://doi.org/10.1109/SEQUEN.1997.666900) of character trigrams, so that the time
grows with the number of texts and not with its square.
"""

import functools
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.data.texts import is_missing
from retvec_lite.errors import RetvecLiteError
from retvec_lite.kinds import MARKS, class_of
from retvec_lite.normal_form import IGNORED, hex_ranges, ranges_hold

Groups = npt.NDArray[np.int64]
"""The number of each text's group, int64 `[texts]`; groups are counted from 0 by their first text."""

_FEWEST: Final = 3
"""Words from which texts may be nearly equal: *play jazz* and *play rock* share half of theirs."""
_CHANGED: Final = 0.1
"""Share of the words of the longer text that may differ."""
_ADDED: Final = 0.2
"""Share of the words of the longer text that may stand in front of the other one, or behind it."""
_MISTYPED: Final = 4
"""Letters of a word from which it may be mistyped: shorter words are often one letter apart."""
_MOST_MISTYPED: Final = 100
"""Words that only one of two texts has, up to which mistyped ones are looked for: each is compared with each."""

_ORDERS, _ROWS = 16, 4
"""Texts are sorted by their hashes that many times, each time by others first; so many hashes that are the same make neighbors."""
_NEIGHBORS: Final = 8
"""Texts behind it in an order that each is compared with."""
_ALIKE: Final = 0.5
"""Share of the hashes that must be the same in texts that are compared: where copies share six trigrams in ten, it rarely is less."""
_CHUNK: Final = 1_000_000
"""Trigrams that are hashed at a time."""

_DIGITS: Final = re.compile(r"\d+")
_LETTER: Final = rf"\w{class_of((*MARKS, *IGNORED))}"
_ENDS: Final = re.compile(rf"(?<=[{_LETTER}])[.,;!?'\"’”…،؛؟۔।॥။።՞։、。]+(?=\s|$)|(?<!\S)['\"‘’“”]+(?=[{_LETTER}])")
"""What ends a word, and quotes around it."""
_TELLING: Final = re.compile(
    rf"\S*\d\S*|[^\s{_LETTER}]{{2,}}|(?<![{_LETTER}])[^\s{_LETTER}]|[^\s{_LETTER}](?![{_LETTER}])"
)
"""Words with a number, and signs but for single ones inside of words, as in *can't*."""
_SIGN: Final = re.compile(rf"[^\s{_LETTER}]")
_UNSPACED: Final = hex_ranges("E00-EFF 1000-109F 1780-17FF 3040-30FF 3400-9FFF 20000-3FFFF")
"""Letters of scripts that write no spaces between words: each counts as one."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class CopyGroup:
    """Texts that are equal, or nearly so.

    Attributes:
        rows: of the texts, in order, two at least.
        text: the first of them.
        labels: theirs, each once, sorted; several where nobody can tell which is right.
    """

    rows: tuple[int, ...]
    text: str
    labels: tuple[str, ...]


def find_copies(texts: Sequence[str]) -> Groups:
    """Return which texts are copies of each other, see above.

    Example:
        >>> from retvec_lite.data.copies import find_copies
        >>> texts = ["Where is my parcel?", "hi, where is my parcel", "wher is my parcel", "where is my order", "play jazz", "play rock"]
        >>> find_copies(texts).tolist()
        [0, 0, 0, 1, 2, 3]
    """
    keys = read_words(texts)
    distinct = {words: place for place, words in enumerate(dict.fromkeys(keys))}
    union = list(range(len(distinct)))
    written = list(distinct)
    known = Counter(word for words in written for word in set(words))
    long = [place for place, words in enumerate(written) if len(words) >= _FEWEST]
    for pair in _pairs([" ".join(written[place]) for place in long]):
        one, other = (long[place] for place in pair)
        first, second = _root(union, one), _root(union, other)
        if first != second and _are_copies(written[one], written[other], known):
            union[max(first, second)] = min(first, second)
    roots = [_root(union, distinct[words]) for words in keys]
    numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    return np.array([numbers[root] for root in roots], np.int64)


def copy_groups(
    texts: Sequence[str], labels: Sequence[str], groups: Groups, rows: Sequence[int] | None = None
) -> list[CopyGroup]:
    """Return the groups of two texts or more, see `alike_but_for_labels`; `rows` are those of the texts in the data they come from."""
    rows = rows or range(len(texts))
    return [
        CopyGroup(
            tuple(rows[place] for place in places), texts[places[0]], tuple(sorted({labels[place] for place in places}))
        )
        for places in alike_but_for_labels(texts, labels, groups)
    ]


def alike_but_for_labels(texts: Sequence[str], labels: Sequence[str], groups: Groups) -> list[list[int]]:
    """Return the places of the texts of each group of two or more.

    Where they have several labels, their numbers and signs may be why: those that have the same ones are a group of their own.
    """
    found: list[list[int]] = []
    for places in places_of_copies(groups):
        parts = defaultdict[Words, list[int]](list)
        several = len({labels[place] for place in places}) > 1
        told = telling([texts[place] for place in places]) if several else [()] * len(places)
        for place, words in zip(places, told, strict=True):
            parts[words].append(place)
        found += [part for part in parts.values() if len(part) > 1]
    return found


def as_written(texts: Sequence[str]) -> list[str]:
    """Return each text without case, blanks between others, and what ends a word or sentence: signs and their order tell texts apart.

    Example:
        >>> from retvec_lite.data.copies import as_written
        >>> as_written(["Good!  :)", "good :)", "good :(", "1,000", "1.000"])
        ['good :)', 'good :)', 'good :(', '1,000', '1.000']
    """
    plain = (unicodedata.normalize("NFKC", text).casefold() for text in texts)
    return [" ".join(_ENDS.sub("", text).split()) or " ".join(text.split()) for text in plain]


def telling(texts: Sequence[str]) -> list[Words]:
    """Return the numbers and signs of each text, in order: they may make two texts of copies.

    Example:
        >>> from retvec_lite.data.copies import telling
        >>> telling(["I can't, sorry :(", "-5 degrees", "nice*****", "top-up?"])
        [(':(',), ('-5',), ('*****',), ()]
    """
    return [tuple(_TELLING.findall(text)) for text in as_written(texts)]


def words_and_signs(texts: Sequence[str]) -> list[Words]:
    """Return the words of each text, see `read_words`, and behind them what is `telling` and has a sign, with 0 for each number.

    Example:
        >>> from retvec_lite.data.copies import words_and_signs
        >>> words_and_signs(["Good coffee :)", "good coffee *****"])
        [('good', 'coffee', ':)'), ('good', 'coffee', '*****')]
        >>> words_and_signs(["a<b", "a>b"])
        [('a', '<', 'b'), ('a', '>', 'b')]
    """
    return [
        (
            *(word for word in words if not has_sign(word) or word not in "".join(marks)),
            *(_DIGITS.sub("0", word) for word in marks if has_sign(word)),
        )
        for words, marks in zip(read_words(texts), telling(texts), strict=True)
    ]


def has_sign(word: str) -> bool:
    """Return whether not all of a word are letters, marks and digits."""
    return _SIGN.search(word) is not None


def different(texts: Sequence[str], known: Sequence[str]) -> list[int]:
    """Return the rows of the texts that are not empty, the first of several copies each, and none of which a copy is known.

    Copies with other numbers or signs are other texts.
    """
    spoken = [row for row, text in enumerate(texts) if not is_missing(text)]
    compared = [*known, *(texts[row] for row in spoken)]
    keys = list(zip(find_copies(compared).tolist(), telling(compared), strict=True))
    seen = set(keys[: len(known)])
    found = []
    for row, key in zip(spoken, keys[len(known) :], strict=True):
        if key not in seen:
            found.append(row)
        seen.add(key)
    return found


def places_of_copies(groups: Groups) -> list[list[int]]:
    """Return the places of the texts of each group of two or more, by their first text."""
    members: dict[int, list[int]] = defaultdict(list)
    for place, group in enumerate(groups.tolist()):
        members[group].append(place)
    return [places for places in members.values() if len(places) > 1]


def undivided(groups: Groups, strata: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """Return the texts of each group of copies, by place, which must not be divided, and its stratum: the rarest of its texts.

    Where all texts of a stratum are copies of each other, they are divided nevertheless: a label that is not learned cannot be tested.
    """
    spread: dict[str, set[int]] = defaultdict(set)
    for group, stratum in zip(groups.tolist(), strata, strict=True):
        spread[stratum].add(group)
    single = {group for found in spread.values() if len(found) == 1 for group in found}
    units: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, group in enumerate(groups.tolist()):
        units[group, place if group in single else -1].append(place)
    rarest = [
        min((strata[place] for place in unit), key=lambda name: (len(spread[name]), name)) for unit in units.values()
    ]
    return list(units.values()), rarest


def split_rows(groups: Groups, strata: Sequence[str], fraction: float, seed: int) -> tuple[list[int], list[int]]:
    """Return rows of a training and a validation part, with a share of every stratum in the latter; the same seed gives the same split everywhere.

    Shares are rounded by largest remainder, so that the whole comes out right even with many small strata. Every stratum
    keeps at least one training example, and both parts keep the order of the file. Copies of a text stay on one side, see `undivided`.

    Raises:
        RetvecLiteError: for a fraction that is not between 0 and 1 (exclusive).
    """
    if not 0.0 < fraction < 1.0:
        raise RetvecLiteError(f"The validation share must lie between 0 and 1, not {fraction!r}.")
    draw = random.Random(seed).random
    units, of_units = undivided(groups, strata)
    rows: dict[str, list[int]] = {label: [] for label in sorted(set(of_units))}
    for unit, label in enumerate(of_units):
        rows[label].append(unit)
    shuffled = {label: sorted(members, key=lambda _: draw()) for label, members in rows.items()}
    counts = {label: min(int(fraction * len(members)), len(members) - 1) for label, members in rows.items()}
    remainders = {label: fraction * len(members) - counts[label] for label, members in rows.items()}
    missing = max(1, round(fraction * len(units))) - sum(counts.values())
    by_remainder = sorted(rows, key=lambda label: (-remainders[label], draw()))
    for label in [label for label in by_remainder if counts[label] < len(rows[label]) - 1][: max(0, missing)]:
        counts[label] += 1
    held_out = {row for label, members in shuffled.items() for unit in members[: counts[label]] for row in units[unit]}
    return [row for row in range(len(strata)) if row not in held_out], sorted(held_out)


def count_copies(groups: Groups) -> dict[str, int]:
    """Return how many texts repeat another one, which is all of each group but one, and how many groups of copies there are."""
    counts = np.bincount(groups)
    return {"texts": int((counts - 1).sum()), "groups": int((counts > 1).sum())}


def count_independent(groups: Groups) -> float:
    """Return how many texts without copies say as much as these: all of a group are right, or wrong, together (Kish 1965)."""
    return float(len(groups) ** 2 / np.square(np.bincount(groups)).sum()) if len(groups) else 0.0


def read_words(texts: Sequence[str]) -> list[Words]:
    """Return the words of each text that decide whether it is a copy: without case and punctuation, numbers as 0 if there are enough others."""
    return [_without_numbers(words) for words in written_words(texts)]


def written_words(texts: Sequence[str]) -> list[Words]:
    """Return the words of each text without case and punctuation; a text without words is one."""
    plain = [unicodedata.normalize("NFKC", text).casefold() for text in texts]
    table = {ord(character): _written(character) for character in set().union(*plain)}
    return [tuple(text.translate(table).split()) or (text.strip(),) for text in plain]


def _written(character: str) -> str:
    kind = unicodedata.category(character)
    if character in "'’":
        return ""
    if kind[0] in "PZC":
        return "" if kind == "Cf" else " "
    is_word = kind[0] == "S" or ranges_hold(_UNSPACED, ord(character))
    return f" {character} " if is_word else character


def _without_numbers(words: Words) -> Words:
    folded = tuple(_DIGITS.sub("0", word) for word in words)
    return folded if sum(word != "0" for word in folded) >= _FEWEST else words


def _root(union: list[int], place: int) -> int:
    while union[place] != place:
        union[place] = place = union[union[place]]
    return place


def _pairs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts, by place, that share many trigrams: those that are near each other when sorted by their hashes."""
    hashes, found = _hashes(texts), [np.empty(0, np.int64)]
    for order in range(_ORDERS):
        first = np.roll(hashes, -order * _ROWS, axis=1)[:, : 2 * _ROWS]
        places = np.lexsort(first.T[::-1])
        for step in range(1, min(len(texts), _NEIGHBORS + 1)):
            ones, others = places[:-step], places[step:]
            near = np.flatnonzero((first[ones, :_ROWS] == first[others, :_ROWS]).all(axis=1))
            ones, others = ones[near], others[near]
            alike = np.count_nonzero(hashes[ones] == hashes[others], axis=1) >= _ALIKE * hashes.shape[1]
            found.append(ones[alike] * len(texts) + others[alike])
    for pair in np.unique(np.concatenate(found)):
        yield divmod(int(pair), len(texts))


def _hashes(texts: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Return the least value of each hash function over the trigrams of each text, uint32 `[texts, hashes]`."""
    draw = np.random.default_rng(0)
    factors, shifts = (draw.integers(1, 2**32, _ORDERS * _ROWS, np.uint32) | np.uint32(1) for _ in range(2))
    marked = [f" {text} " for text in texts]
    lengths = np.array([len(text) for text in marked], np.int64)
    ends = np.cumsum(lengths)
    found = np.zeros((len(texts), len(factors)), np.uint32)
    first = 0
    while first < len(texts):
        begin = ends[first] - lengths[first]
        last = max(first + 1, int(np.searchsorted(ends, begin + _CHUNK, side="right")))
        points = np.frombuffer("".join(marked[first:last]).encode("utf-32-le", "surrogatepass"), np.uint32)
        starts = ends[first:last] - lengths[first:last] - begin
        # A trigram that would reach into the next text is the last one of its own text instead.
        places = np.minimum(np.arange(len(points)), np.repeat(starts + lengths[first:last] - 3, lengths[first:last]))
        trigrams = np.uint32(0)
        for step in range(3):
            trigrams = (trigrams ^ points[places + step]) * np.uint32(0x9E3779B1)
            trigrams = trigrams ^ (trigrams >> np.uint32(15))
        for number, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
            found[first:last, number] = np.minimum.reduceat((trigrams ^ shift) * factor, starts)
        first = last
    return found


def _are_copies(one: Words, other: Words, known: Counter[str]) -> bool:
    """Return whether two texts of at least three words are copies; `known` says in how many texts each word stands."""
    short, long = sorted((one, other), key=len)
    added = len(long) - len(short)
    if added > _ADDED * len(long):
        return False
    left = Counter(long)
    left.subtract(short)
    lacking, more = list((-left).elements()), list(left.elements())
    for word in list(lacking) if len(more) <= _MOST_MISTYPED else ():
        if match := next((match for match in more if _is_mistyped(word, match, known)), None):
            lacking.remove(word)
            more.remove(match)
            long = tuple(word if each == match else each for each in long)
    return len(more) <= _CHANGED * len(long) or short in (long[added:], long[: len(short)])


def _is_mistyped(one: str, other: str, known: Counter[str]) -> bool:
    """Return whether one of two words is the other one with a letter missing, added, wrong, or swapped with the next one."""
    return min(known[one], known[other]) <= 1 and min(len(one), len(other)) >= _MISTYPED and edits(one, other) <= 1


@functools.lru_cache(2**18)
def edits(one: str, other: str) -> int:
    """Return by how many letters that are missing, added, wrong, or swapped with the next one two words differ; 3 stands for more than 2.

    Example:
        >>> from retvec_lite.data.copies import edits
        >>> edits("parcel", "pracel"), edits("parcel", "parce"), edits("parcel", "money")
        (1, 1, 3)
    """
    # One edit adds a letter, takes one away, or both: most pairs of words are told apart by their letters alone.
    if abs(len(one) - len(other)) > 2 or max(len(set(one) - set(other)), len(set(other) - set(one))) > 2:
        return 3
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 < column and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return min(last[-1], 3)
