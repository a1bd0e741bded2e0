"""Labels saved by `rl.suggest`: accuracy with 10 suggested texts a label beside 10 and 20 random ones, and beside other rules.

    python -m benchmarks.experiments.suggest [--set NAME] [--only RULE] [--draws 0 1 2] [--test] [--quick]

Somebody labels texts of the training file, whose labels are hidden until they are asked for: so many texts in all as there are labels,
times 10 or 20. Rules with two rounds label half of them, train, and let that classifier help to choose the other half. Scores are those of
`rl.train` on the validation texts; `--test` takes the test split instead.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import load_corpus
from benchmarks.tables.cells import grouped, markdown_table
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.suggesting import sentence_vectors, uncertainty
from retvec_lite.terminal import silent

SETS: Final = ("Banking77", "SMS spam", "AG News")
POOL: Final = 10_000
"""Unlabelled texts of a set, at most."""
SHOTS: Final = 10
KEY: Final = ("data", "rule", "part", "seed")

Chosen = list[int]
_Fitted = Callable[[Sequence[str]], list[str]]


def suggested(pool: Dataset, count: int, seed: int) -> Chosen:
    """Two rounds of `rl.suggest`."""
    first = [found.row for found in rl.suggest(pool.texts, count=count // 2, seed=seed)]
    known = [pool.texts[row] for row in first]
    helper = trained(pool.select(first), seed)
    rest = rl.suggest(pool.texts, helper, count=count - len(first), labelled=known, seed=seed)
    return [*first, *(found.row for found in rest)]


def middles(pool: Dataset, count: int, seed: int) -> Chosen:
    """The middles of clusters, in one round."""
    return [found.row for found in rl.suggest(pool.texts, count=count, seed=seed)]


def typical(pool: Dataset, count: int, seed: int) -> Chosen:
    """The most typical text of each cluster (Hacohen et al. 2022, https://arxiv.org/abs/2202.02794), in one round."""
    from sklearn.cluster import KMeans

    vectors = sentence_vectors(pool.texts, silent)
    labels = KMeans(count, n_init=1, random_state=seed).fit(vectors).labels_
    found = []
    for cluster in range(count):
        members = np.flatnonzero(labels == cluster)
        near = np.sort(np.linalg.norm(vectors[members][:, None] - vectors[members], axis=2), axis=1)[:, 1:21]
        found.append(int(members[near.mean(axis=1).argmin()] if len(members) > 1 else members[0]))
    return found


def margin(pool: Dataset, count: int, seed: int) -> Chosen:
    """Random texts, then those of which the classifier is most unsure."""
    first = at_random(pool, count // 2, seed)
    helper = trained(pool.select(first), seed)
    unsure = np.zeros(len(pool)) if helper is None else uncertainty(helper, pool.texts, silent)
    unsure[first] = -1
    return [*first, *np.argsort(-unsure, kind="stable")[: count - len(first)].tolist()]


def at_random(pool: Dataset, count: int, seed: int) -> Chosen:
    return np.random.default_rng(seed).permutation(len(pool))[:count].tolist()


RULES: Final[dict[str, tuple[int, Callable[[Dataset, int, int], Chosen]]]] = {
    "20 random": (2 * SHOTS, at_random),
    "10 random": (SHOTS, at_random),
    "suggest, two rounds": (SHOTS, suggested),
    "suggest, one round": (SHOTS, middles),
    "most typical of clusters": (SHOTS, typical),
    "random, then least margin": (SHOTS, margin),
}
"""Name -> texts a label, and what chooses them."""


def trained(data: Dataset, seed: int) -> rl.Classifier | None:
    """Train on what was labelled; None where that is one label alone. Labels with one text are left out where training needs two."""
    try:
        return rl.train(data, seed=seed)
    except RetvecLiteError:
        counts = data.label_counts
        left = data.select(row for row, label in enumerate(data.labels) if counts[label] > 1)
        return rl.train(left, seed=seed) if len(left.classes) > 1 else None


def measure(pool: Dataset, judged: Dataset, rule: str, seed: int) -> Row:
    shots, choose = RULES[rule]
    chosen = choose(pool, shots * len(pool.classes), seed)
    classifier = trained(pool.select(chosen), seed)
    answers: Any = np.full(len(judged), pool.labels[chosen[0]])
    if classifier is not None:
        answers = np.array(classifier.labels)[classifier.probabilities(judged.texts).argmax(axis=1)]
    seen = len({pool.labels[row] for row in chosen})
    return {"accuracy": float((answers == np.array(judged.labels)).mean()), "texts": len(set(chosen)), "labels": seen}


def table(rows: Sequence[Row]) -> str:
    """Return a line for each rule and a column for each data set: mean accuracy ± standard error."""
    parts = []
    for (part,), found in grouped(rows, ["part"]).items():
        sets = [name for name in SETS if any(row["data"] == name for row in found)]
        body = []
        for rule in RULES:
            cells = []
            for name in sets:
                line = [row["accuracy"] for row in found if (row["data"], row["rule"]) == (name, rule)]
                error = f" ± {np.std(line, ddof=1) / len(line) ** 0.5:.3f}" if len(line) > 1 else ""
                cells.append(f"{np.mean(line):.3f}{error}" if line else "-")
            body.append([rule, *cells])
        parts.append(f"{part} texts\n\n{markdown_table(['texts a label', *sets], body)}")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="SMS spam, one draw", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="rules", choices=RULES, action="append", help="a rule; repeatable")
    parser.add_argument("--draws", type=int, nargs="+", default=(0, 1, 2), metavar="N", help="seeds (default: 0 1 2)")
    parser.add_argument("--test", action="store_true", help="score on the test split")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("suggest", quick=args.quick), KEY, table)
    for name in ["SMS spam"] if args.quick else args.sets or SETS:
        corpus = load_corpus(args.data, name)
        pool = corpus.training.select(at_random(corpus.training, POOL, 0))
        part = "test" if args.test else "validation"
        for seed in [0] if args.quick else args.draws:
            for rule in args.rules or RULES:
                row: Row = {"data": name, "rule": rule, "part": part, "seed": seed, "settings": {"pool": len(pool)}}
                rows.fill(row, measure, pool, corpus.test if args.test else corpus.validation, rule, seed)
    rows.show()


if __name__ == "__main__":
    main()
