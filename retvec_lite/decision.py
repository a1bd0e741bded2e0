"""From probabilities to an answer: the best label of a text, several labels, or none of them.

The rules are the same wherever a file runs; docs/contract.md states them.
"""

import dataclasses
import difflib
import functools
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.condensing import condense
from retvec_lite.contract import BLANK, Floats
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.letters import compatibility_forms, is_rare, lookalikes
from retvec_lite.ngrams import folded_letters

_CLOSE: Final = 0.7
"""Least likeness, from 0 to 1, of a label that is offered in place of a wrong one."""

UNKNOWN_POWER: Final = 0.2
"""`Decision.unknown_power` where there is an unknown label; chosen on CLINC150's dev split (docs/benchmarks.md)."""

_LISTS: Final = frozenset(("thresholds", "shares"))
"""Fields with a number for each label, which are left out where there is none."""

_BEGINNING: Final = 512
"""Code points of a text that say whether it has letters or digits."""
_FEW_SIGNS: Final = 0.01
"""Share of the texts without letters and digits below which their punctuation is a slip."""

_FEW: Final = 5
"""Most labels that are all listed where none is like a wrong one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """Which labels a text has, and when it has none. Immutable, validated, with an exact JSON round trip.

    Attributes:
        threshold: a text whose best label is less probable than this is unknown, above 0 and below 1; None: no text is.
        unknown_label: the label of the texts that belong to no other; it is never an answer. None: there is none.
        unknown_power: how much the probability of that label counts, 0 to 1: raised to this power, it multiplies the threshold,
            which may then be 1 or more. 0 without such a label.
        characters: the letters and digits that training texts contained, in either case, and signs of texts that had nothing else,
            sorted. A text without any of them is unknown, and so is an empty one. Empty: no text is.
        shares: how common each label is among the training texts, above 0; None: all alike. Windows of a long text count more the
            more they differ from them, see `windows.combine`.
        thresholds: one for each label, above 0 and below 1: a text has every label that is at least as probable, so it may
            have several or none. None: a text has one label.

    Raises:
        RetvecLiteError: on construction, for a value of another type or out of range.

    Example:
        >>> from retvec_lite.decision import Decision
        >>> decision = Decision(threshold=0.5, characters="ab")
        >>> decision.reads("a!"), decision.reads("?")
        (True, False)
        >>> Decision.from_dict(decision.to_dict()) == decision
        True
    """

    threshold: float | None = None
    unknown_label: str | None = None
    unknown_power: float = 0.0
    characters: str = ""
    thresholds: tuple[float, ...] | None = None
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        threshold, power = self.threshold, self.unknown_power
        if not (isinstance(power, float) and 0.0 <= power <= 1.0) or (power and self.unknown_label is None):
            raise RetvecLiteError(
                f"unknown_power must be a number from 0 to 1, 0 without unknown_label, not {shown(power)}."
            )
        most = math.inf if power else 1.0
        if threshold is not None and not (isinstance(threshold, float) and 0.0 < threshold < most):
            raise RetvecLiteError(
                f"threshold must be a number between 0 and {most:g}, or null, not {shown(threshold)}."
            )
        if not (self.unknown_label is None or isinstance(self.unknown_label, str)):
            raise RetvecLiteError(f"unknown_label must be a label or null, not {shown(self.unknown_label)}.")
        if not isinstance(self.characters, str):
            raise RetvecLiteError(f"characters must be a string, not {shown(self.characters)}.")
        if self.shares is not None and not all(
            isinstance(share, float) and 0.0 < share <= 1.0 for share in self.shares
        ):
            raise RetvecLiteError(
                f"shares must be numbers above 0, at most 1, or null, not {shown(list(self.shares))}."
            )
        if self.thresholds is not None:
            several = self.thresholds
            if not all(isinstance(value, float) and 0.0 < value < 1.0 for value in several):
                raise RetvecLiteError(
                    f"thresholds must be numbers between 0 and 1, or null, not {shown(list(several))}."
                )
            if threshold is not None or self.unknown_label is not None:
                raise RetvecLiteError("With thresholds for several labels, threshold and unknown_label must be null.")

    def __str__(self) -> str:
        """Return in three lines what gives a text one label, none or several.

        Example:
            >>> from retvec_lite.decision import Decision
            >>> print(Decision(threshold=0.25, characters="ab"))
            One label: the most probable one.
            None of these: a text whose best label is below 0.2500, or without any of the 2 letters and digits of the training texts.
            Several labels: never.
        """
        from retvec_lite.terminal import one_line

        forms = {*compatibility_forms(), *lookalikes()}
        has_signs = any(not char.isalnum() and ord(char) not in forms for char in self.characters)
        kinds = "letters, digits and signs" if has_signs else "letters and digits"
        none = [f"without any of the {len(self.characters):,} {kinds} of the training texts"]
        none *= bool(self.characters)
        if self.thresholds is not None:
            least, most = f"{min(self.thresholds):.2f}", f"{max(self.thresholds):.2f}"
            each = f"{least} to {most}" if least != most else f"{least} for all"
            one, several = (
                "where only one reaches its threshold.",
                f"all that reach their thresholds, {each} ({len(self.thresholds):,} labels).",
            )
            none.insert(0, "none of whose labels reaches its threshold")
        else:
            one, several = "the most probable one.", "never."
            if self.unknown_label is not None:
                one = f"the most probable one, {self.unknown_label!r} aside."
                none.insert(0, f"for which {self.unknown_label!r} is the most probable")
            if self.threshold is not None:
                none.insert(0, f"whose best label is {self.rule}")
        never_or = f"a text {', or '.join(none)}" if none else "never"
        return "\n".join(
            map(one_line, (f"One label: {one}", f"None of these: {never_or}.", f"Several labels: {several}"))
        )

    @property
    def rejects(self) -> bool:
        """Whether any text can be unknown."""
        return dataclasses.replace(self, shares=None) != Decision()

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels, or none."""
        return self.thresholds is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values, which `from_dict` turns into an equal object; lists only if there are any."""
        fields = dataclasses.asdict(self)
        lists = {name: fields.pop(name) for name in _LISTS}
        return fields | {name: list(found) for name, found in lists.items() if found is not None}

    def entry(self) -> dict[str, Any]:
        """Return the entry `decision` of a file's metadata: none when it says nothing."""
        return {"decision": self.to_dict()} if self != Decision() else {}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any] | None) -> "Decision":
        """Rebuild a decision from the values of `to_dict`; None rejects nothing.

        Raises:
            RetvecLiteError: for something else, a missing or unknown field, or a bad value.
        """
        if fields is None:
            return cls()
        names = {field.name for field in dataclasses.fields(cls)} - _LISTS
        if not isinstance(fields, Mapping) or set(fields) - _LISTS != names:
            raise RetvecLiteError(f"The decision must have the fields {', '.join(sorted(names))}, not {shown(fields)}.")
        lists = {name: fields.get(name) for name in _LISTS}
        for name, found in lists.items():
            if found is not None and not isinstance(found, list):
                raise RetvecLiteError(f"{name} must be a list of numbers or null, not {shown(found)}.")
        return cls(**{**fields, **{name: None if found is None else tuple(found) for name, found in lists.items()}})

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise RetvecLiteError when the unknown label is not among the labels, or they need another number of thresholds or shares."""
        if self.unknown_label is not None and self.unknown_label not in labels:
            raise RetvecLiteError(f"The unknown label {shown(self.unknown_label)} is not among the labels.")
        if self.thresholds is not None and len(self.thresholds) != len(labels):
            raise RetvecLiteError(f"There are {len(labels)} labels, but {len(self.thresholds)} thresholds.")
        if self.shares is not None and len(self.shares) != len(labels):
            raise RetvecLiteError(f"There are {len(labels)} labels, but {len(self.shares)} shares.")

    def of_columns(self, columns: Sequence[int] | None) -> "Decision":
        """Return the decision between some of the labels, by their columns; None: all."""
        if self.shares is None or columns is None:
            return self
        total = sum(self.shares[column] for column in columns)
        return dataclasses.replace(self, shares=tuple(self.shares[column] / total for column in columns))

    def reads(self, text: str) -> bool:
        """Return whether a text has one of the known characters."""
        return not self.characters or not self._known.isdisjoint(text)

    def columns(self, labels: Sequence[str]) -> list[int]:
        """Return the columns of the labels that can be an answer: all but the unknown one."""
        return [column for column, label in enumerate(labels) if label != self.unknown_label]

    def limited(self, labels: Sequence[str], chosen: Sequence[str]) -> list[int]:
        """Return the columns of chosen labels and of the unknown one, in the order of the labels; case does not matter.

        Raises:
            RetvecLiteError: for no label, or one that is not among the labels; for a classifier that gives a text several.
        """
        if self.multi_label:
            raise RetvecLiteError("Only a classifier with one label a text can be limited to some of its labels.")
        if isinstance(chosen, str) or not chosen:
            raise RetvecLiteError(f"Name the labels to choose from in a list such as {[labels[0]]!r}, not {chosen!r}.")
        found: set[str] = set()
        for name in chosen:
            if not isinstance(name, str):
                raise RetvecLiteError(f"Name the labels to choose from as strings, not as {shown(name)}.")
            found |= {name} if name in labels else _in_any_case(name, labels)
        return [column for column, label in enumerate(labels) if label in found or label == self.unknown_label]

    def unknown(self, texts: Sequence[str], probabilities: Floats, labels: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts belong to none of the labels, bool `[texts]`.

        Args:
            texts: as `windows.decided_text` returns them.
            probabilities: float32 `[texts, classes]`.
            labels: the classes, in the order of the columns.
        """
        found = np.array([not self.reads(text) for text in texts], bool)
        best, none = self._best_and_none(probabilities, labels)
        if self.threshold is not None:
            found |= best < self.threshold * none**self.unknown_power
        if self.unknown_label is not None:
            found |= none > best
        return found

    def scores(self, probabilities: Floats, labels: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return what is compared with the threshold, float64 `[texts]`; arguments as for `unknown`."""
        best, none = self._best_and_none(probabilities, labels)
        found: npt.NDArray[np.float64] = best / np.maximum(none, np.finfo(np.float32).tiny) ** self.unknown_power
        return found

    @property
    def rule(self) -> str:
        """When the best label is too improbable, in words."""
        if self.threshold is None:
            return "never"
        factor = f" * p({self.unknown_label}) ** {self.unknown_power:g}" if self.unknown_power else ""
        return f"below {self.threshold:.4f}{factor}"

    def _best_and_none(
        self, probabilities: Floats, labels: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the probabilities of the best and of the unknown label, in float64 as wrappers in other languages have them."""
        best = probabilities[:, self.columns(labels)].max(axis=1).astype(np.float64)
        if self.unknown_label is None:
            return best, np.zeros_like(best)
        return best, probabilities[:, list(labels).index(self.unknown_label)].astype(np.float64)

    def has(self, texts: Sequence[str], probabilities: Floats) -> npt.NDArray[np.bool_]:
        """Return which labels texts have where they may have several, bool `[texts, classes]`; arguments as for `unknown`."""
        reads = np.array([self.reads(text) for text in texts], bool)
        return reads[:, None] & (probabilities.astype(np.float64) >= np.array(self.thresholds))

    @functools.cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.characters)


def _in_any_case(name: str, labels: Sequence[str]) -> set[str]:
    """Return the labels that differ from a name in case only; raises RetvecLiteError, with labels that are like it, for none."""
    folded, forms = name.casefold(), [label.casefold() for label in labels]
    if folded in forms:
        return {label for label, form in zip(labels, forms, strict=True) if form == folded}
    like = [label for label, form in zip(labels, forms, strict=True) if form.startswith(f"{folded}-")]
    if not like:
        like = [labels[forms.index(form)] for form in difflib.get_close_matches(folded, forms, cutoff=_CLOSE)]
    if not like and len(labels) > _FEW:
        raise RetvecLiteError(f"There is no label {name!r}. `retvec-lite info` lists all {len(labels):,}.")
    raise RetvecLiteError(f"There is no label {name!r}, but there are {', '.join(like or labels)}.")


def known_characters(texts: Iterable[str]) -> str:
    """Return the letters and digits in some texts with their upper and lower case, sorted. Case forms of several code points are left out.

    Also the signs of texts that hold nothing else, such as emoji; see `_signs_alone`. Also the forms that the graph replaces by one of them
    (rule 2b), Latin letters with accents and rare lookalikes, so that wrappers need no table.
    Other letters that only look Latin are not among them: without a Latin letter or a rare lookalike, no text becomes Latin.

    Example:
        >>> from retvec_lite.decision import known_characters
        >>> [char for char in known_characters(["Ja, um 6!"]) if char.isascii()]
        ['6', 'A', 'J', 'M', 'U', 'a', 'j', 'm', 'u']
    """
    texts = list(texts)
    accented = {code: plain for code, plain in folded_letters(True).items() if plain < 0x80 <= code}
    rare = {code: letter for code, letter in lookalikes().items() if is_rare(code)}
    forms_of = accented | compatibility_forms() | rare
    new = {chr(forms_of.get(ord(char), ord(char))) for char in set().union(*texts) if char.isalnum()}
    known: set[str] = set()
    while new:
        known |= new
        forms = {form for char in new for form in (char.lower(), char.upper())}
        new = {form for form in forms if len(form) == 1} - known
    known |= _signs_alone(texts)
    known |= {chr(form) for form, target in forms_of.items() if chr(target) in known}
    return "".join(sorted(known))


def _signs_alone(texts: Sequence[str]) -> set[str]:
    """Return what is read of the texts without letters and digits.

    Punctuation and what keyboards have stand in texts of every script, which would all be known by it. It counts where one text in a hundred
    is such; fewer are slips.
    """
    read = (set(condense(text, _BEGINNING)).difference(BLANK) for text in texts if not text.lstrip()[:1].isalnum())
    alone = [found for found in read if found and not any(map(str.isalnum, found))]
    are_few = len(alone) < _FEW_SIGNS * len(texts)
    return {sign for sign in set().union(*alone) if not are_few or unicodedata.category(sign) == "So"}
