"""Texts whose labels may be wrong, and labels that may be: what the answers to held-out texts say about the data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Suspect:
    """A text whose label may be wrong.

    Attributes:
        row: in the data, counted from 0, without the header.
        label: the one that it has; in multi-label data its labels, joined by `|`.
        suggestion: the label that the other texts suggest; empty where none fits.
        score: how suspicious the label is, from 0 to 1.
        text: the text as it was given.
        why: what speaks against the label, in a few words.
    """

    row: int
    label: str
    suggestion: str
    score: float
    text: str
    why: str


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


@dataclass(frozen=True)
class Twins:
    """Two labels that may be one under two names.

    Attributes:
        first: a label.
        second: the other one.
        confused: share of the texts of the two that are taken for the other one: a half where chance decides.
    """

    first: str
    second: str
    confused: float


@dataclass(frozen=True)
class Check:
    """What is doubtful in labelled texts. `print(check)` shows the worst of each kind.

    Attributes:
        name: what messages call the data.
        texts: how many there are.
        suspects: texts whose labels may be wrong, most suspicious first.
        copies: groups of equal and nearly equal texts, largest first.
        twins: pairs of labels that may be one, most alike first.
        small: (label, texts) of labels with too few texts, smallest first.
    """

    name: str
    texts: int
    suspects: tuple[Suspect, ...]
    copies: tuple[CopyGroup, ...]
    twins: tuple[Twins, ...]
    small: tuple[tuple[str, int], ...]

    @property
    def repeats(self) -> int:
        """How many texts repeat another one: all of each group but one."""
        return sum(len(group.rows) - 1 for group in self.copies)

    @property
    def contradictions(self) -> tuple[CopyGroup, ...]:
        """Groups of copies under different labels."""
        return tuple(group for group in self.copies if len(group.labels) > 1)
