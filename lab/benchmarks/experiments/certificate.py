"""How many words of a text anybody may change before a smoothed classifier answers otherwise: a proof, not an attack.

    python -m benchmarks.experiments.certificate [--data DIR] [--quick]

A smoothed classifier answers what most copies of a text are said to be in which each word was left out with a chance p. In two texts that
differ in r words, put in, taken out or replaced, all of these are left out with the chance p^r, and then the copies are the same. So the
share of the copies that get an answer changes by 1 - p^r at most, and an answer that leads by d stays while 1 - p^r < d / 2 (after Huang et
al. 2023, https://arxiv.org/abs/2302.01757; of words: Huang et al. 2024, https://arxiv.org/abs/2408.00728). For the lead, bounds of Clopper
and Pearson are taken, which are wrong in one text of a thousand. Of the texts of each label, the table tells the share that is answered right and can bear r changes, in the mean of the labels.

The classifier learned from the texts, and from two copies of each with words left out.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.stats import beta

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import read_part
from benchmarks.tables.cells import markdown_table
from retvec_lite.classifier import Classifier
from retvec_lite.data.dataset import Dataset

SETS: Final = ("SMS spam", "AG News")
LEFT_OUT: Final = (0.7, 0.8, 0.9)
"""Chances p of a word to be left out."""
COPIES, TRAINED, TESTED = 1000, 6000, 500
"""Copies of a text that are asked about; texts that are learned from, and tested on."""
RADII: Final = (1, 2, 3, 5)
_RISK: Final = 0.001


def thinned(text: str, share: float, draw: random.Random) -> str:
    """Leave each word out with a chance."""
    return " ".join(word for word in text.split() if draw.random() >= share)


def radius(votes: Sequence[int], copies: int, share: float) -> int:
    """Return how many words may change while the first of all answers, by falling votes, stays the first; -1 if that is not sure of the text itself.

    Example:
        >>> [radius(votes, 1000, share) for votes, share in (([1000, 0], 0.9), ([1000, 0], 0.7), ([510, 490], 0.9))]
        [6, 1, -1]
    """
    risk = _RISK / len(votes)
    least = float(beta.ppf(risk, votes[0], copies - votes[0] + 1))
    most = min(float(beta.ppf(1 - risk, votes[1] + 1, copies - votes[1])), 1 - least)
    return math.ceil(math.log(1 - (least - most) / 2) / math.log(share)) - 1 if least > most else -1


def certify(
    classifier: Classifier, tested: Dataset, share: float, copies: int, seed: int = 1
) -> list[tuple[bool, int]]:
    """Return of each text whether most of its copies get the right label, and the radius of that answer."""
    draw, found = random.Random(seed), []
    for text, label in zip(tested.texts, tested.labels, strict=True):
        # Few words have few ways to be left out: each is asked about once.
        drawn = [thinned(text, share, draw) for _ in range(copies)]
        told = dict.fromkeys(drawn, "")
        answers = classifier.predict(list(told), 1, reject=False)
        told = {each: str(answer.label) for each, (answer,) in zip(told, answers, strict=True)}
        votes = Counter(dict.fromkeys(classifier.labels, 0))
        votes.update(told[each] for each in drawn)
        (first, _), *_ = votes.most_common()
        found.append((first == label, radius([count for _, count in votes.most_common()], copies, share)))
    return found


def measure(training: Dataset, tested: Dataset, share: float, copies: int) -> Row:
    """Train on thinned copies as well, and certify every tested text."""
    draw = random.Random(0)
    texts = [*training.texts, *(thinned(text, share, draw) for _ in range(2) for text in training.texts)]
    kept = [(text, label) for text, label in zip(texts, training.labels * 3, strict=True) if text]
    classifier = rl.train(*map(list, zip(*kept, strict=True)), typo_rate=0.0, head="linear", keep="nothing")
    answers = classifier.predict(list(tested.texts), 1, reject=False)
    plain = [answer.label == label for (answer,), label in zip(answers, tested.labels, strict=True)]
    start = time.perf_counter()
    found = certify(classifier, tested, share, copies)
    seconds = (time.perf_counter() - start) / len(tested)

    def mean(right: Sequence[bool]) -> float:
        """Return the share of right answers, every label counting the same: most SMS are innocent."""
        labels = np.array(tested.labels)
        return float(np.mean([np.array(right)[labels == label].mean() for label in tested.classes]))

    sure = {str(r): mean([is_right and bears >= r for is_right, bears in found]) for r in RADII}
    smoothed = mean([is_right for is_right, _ in found])
    return {"plain": mean(plain), "smoothed": smoothed, "sure": sure, "seconds": seconds}


def table(rows: Sequence[Row]) -> str:
    """Return the table of the pages."""
    header = ["data", "words left out", "plain", "smoothed", *(f"{r} changed" for r in RADII), "seconds a text"]
    body = [
        [row["data"], f"{row['left_out']:.0%}", f"{row['plain']:.3f}", f"{row['smoothed']:.3f}"]
        + [f"{row['sure'][str(r)]:.3f}" for r in RADII]
        + [f"{row['seconds']:.2f}"]
        for row in rows
    ]
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    args = command_parser(__doc__, quick="few texts of SMS spam", data=True).parse_args(arguments)
    rows = Rows(result_path("certificate", quick=args.quick), ("data", "left_out"), table)
    copies, trained, tested = (50, 300, 10) if args.quick else (COPIES, TRAINED, TESTED)
    for name in SETS[:1] if args.quick else SETS:
        parts = read_part(args.data, name, "train", trained), read_part(args.data, name, "test", tested)
        for share in LEFT_OUT[-1:] if args.quick else LEFT_OUT:
            row: Row = {
                "data": name,
                "left_out": share,
                "settings": {"copies": copies, "texts": trained, "tested": tested},
            }
            rows.fill(row, measure, *parts, share, copies)
    rows.show()


if __name__ == "__main__":
    main()
