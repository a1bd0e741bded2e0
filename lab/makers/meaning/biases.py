"""The biases of word vectors, measured: which groups of people stand nearer to which things.

The effect size of the Word Embedding Association Test (Caliskan, Bryson and Narayanan 2017, https://doi.org/10.1126/science.aal4230):
the difference between two groups of words in how much nearer each word is to one of two poles, in standard deviations.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from makers.meaning.neighbors import unit_rows
from retvec_lite.contract import Floats

NOT_FOR: Final = (
    "Not for decisions about people, such as hiring, credit, insurance, policing or medical care, and not for judging who somebody is by a "
    "name or a way of writing. Vectors of words know topics better than facts, and confuse a word with its opposite. They do not know words "
    "that are newer or rarer than the texts."
)
"""What every model card of meanings says."""


class Association(NamedTuple):
    """Two groups of words and two poles: whether the first group stands nearer to the first pole, and the second to the second."""

    groups: tuple[str, str]
    poles: tuple[str, str]
    words: tuple[str, str, str, str]


_WOMEN: Final = "she her hers woman women girl girls mother daughter sister wife aunt lady female"
_MEN: Final = "he his him man men boy boys father son brother husband uncle gentleman male"
_GOOD: Final = "good love happy peace wonderful pleasure friend honest lucky joy beautiful safe"
_BAD: Final = "bad hate sad war terrible pain enemy liar unlucky misery ugly dangerous"

ASSOCIATIONS: Final[Mapping[str, tuple[Association, ...]]] = {
    "en": (
        Association(
            ("men", "women"),
            ("careers", "family"),
            (_MEN, _WOMEN, "office salary business career manager profession corporation executive",
             "home parents children family marriage wedding relatives kitchen"),
        ),
        Association(
            ("men", "women"),
            ("science", "arts"),
            (_MEN, _WOMEN, "science physics engineering chemistry computer mathematics technology laboratory",
             "art poetry dance literature music painting theater novel"),
        ),
        Association(
            ("young people", "old people"),
            ("good", "bad"),
            ("young youth child children kid kids teenager student", "old elderly aged senior pensioner retired grandmother grandfather",
             _GOOD, _BAD),
        ),
        Association(
            ("European first names", "African and Arabic first names"),
            ("good", "bad"),
            ("james john michael thomas peter anna emily sarah laura julia", "jamal malik omar hassan mohammed fatima aisha kareem ali ahmed",
             _GOOD, _BAD),
        ),
        Association(
            ("Christian words", "Muslim words"),
            ("good", "bad"),
            ("christian christians church priest bible christianity", "muslim muslims mosque imam quran islam", _GOOD, _BAD),
        ),
        Association(
            ("flowers", "insects"),
            ("good", "bad"),
            ("rose tulip lily daisy orchid violet lavender blossom", "ant flea spider wasp mosquito cockroach fly beetle", _GOOD, _BAD),
        ),
    )
}  # fmt: skip
"""Language -> what is measured. The last one is harmless, to compare with."""

_FEWEST: Final = 3
"""Words of each list that have to be known."""


def describe_biases(words: Sequence[str], vectors: Floats, language: str) -> str:
    """Return the measured biases in a sentence or two, for a model card."""
    places = {word: place for place, word in enumerate(words)}
    said = []
    for association in ASSOCIATIONS.get(language, ()):
        lists = [[places[word] for word in names.split() if word in places] for names in association.words]
        if min(map(len, lists)) >= _FEWEST:
            effect = effect_size(*(vectors[numbers] for numbers in lists))
            said.append(f"{' and '.join(association.groups)} with {' and '.join(association.poles)} {effect:+.2f}")
    if not said:
        return "Not measured: there are no word lists for this language. Vectors of words repeat the prejudices of their texts."
    return (
        "Effect sizes of the Word Embedding Association Test, from -2 to 2; far from 0, the first group stands nearer to the first of two "
        f"things, the second nearer to the second: {'; '.join(said)}. A classifier can repeat such prejudices: test it on texts that "
        "differ in a name or a group alone."
    )


def effect_size(first: Floats, second: Floats, one_pole: Floats, other_pole: Floats) -> float:
    """Return the effect size of one association, -2 to 2.

    Args:
        first: vectors of a group of words, float32 `[n, width]`.
        second: those of the other group.
        one_pole: those of a pole.
        other_pole: those of the other pole.
    """
    poles = [unit_rows(pole)[0] for pole in (one_pole, other_pole)]
    nearer = [
        (group @ poles[0].T).mean(axis=1) - (group @ poles[1].T).mean(axis=1)
        for group in (unit_rows(first)[0], unit_rows(second)[0])
    ]
    spread = float(np.concatenate(nearer).std(ddof=1))
    return float(nearer[0].mean() - nearer[1].mean()) / spread if spread else 0.0
