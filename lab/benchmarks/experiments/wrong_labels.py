"""Wrong labels: how many of those that were put in are among the most suspicious texts, beside cleanlab on the same probabilities.

    python -m benchmarks.experiments.wrong_labels [--set NAME] [--quick]

Of at most 3,000 training texts, 5, 10 and 20 % get another label, drawn at random. The probabilities are those that `rl.train` gives each
text when it is held out. Of as many suspects as there are wrong labels, the table tells the share that is wrong; texts that are wrong in
the data themselves count as right. `pip install cleanlab` first.
"""

import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import STARTER, read_part
from benchmarks.tables.cells import markdown_table
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.suspects import check_answers, suspicion

SETS: Final = ("Banking77", "SMS spam", STARTER)
SHARES: Final = (0.05, 0.1, 0.2)
TEXTS: Final = 3000
QUICK_TEXTS: Final = 300
METHODS: Final = ("self_confidence", "normalized_margin")
"""How cleanlab ranks texts."""


def spoil(data: Dataset, share: float, seed: int = 1) -> tuple[Dataset, np.ndarray[Any, Any]]:
    """Give a share of the texts another label; return them all, and which these are, bool `[texts]`."""
    draw = random.Random(seed)
    labels, wrong = list(data.labels), np.zeros(len(data), bool)
    for place in draw.sample(range(len(data)), round(share * len(data))):
        labels[place] = draw.choice([label for label in data.classes if label != labels[place]])
        wrong[place] = True
    return Dataset(data.texts, tuple(labels), data.path), wrong


def measure(data: Dataset, share: float) -> Row:
    """Train on spoiled texts, and look for those with wrong labels."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    spoiled, wrong = spoil(data, share)
    held_out = rl.train(spoiled).held_out
    assert held_out is not None
    probabilities, truth = held_out.clean.probabilities.astype(np.float64), held_out.clean.truth
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    count = int(wrong.sum())

    def precision(order: Any) -> float:
        return float(wrong[np.asarray(order, int)[:count]].sum() / count)

    found = {"ours": precision(np.argsort(-suspicion(truth, probabilities), kind="stable"))}
    issues = find_label_issues(truth, probabilities, return_indices_ranked_by="self_confidence")
    found["find_label_issues"] = precision(issues)
    for method in METHODS:
        found[method] = precision(
            np.argsort(get_label_quality_scores(truth, probabilities, method=method), kind="stable")
        )
    listed = [suspect.row for suspect in check_answers(held_out).suspects]
    is_wrong = int(wrong[listed].sum())
    return {
        "texts": len(data),
        "wrong": count,
        "precision": found,
        "listed": len(listed),
        "listed_wrong": is_wrong,
    }


def table(rows: Sequence[Row]) -> str:
    header = ["data", "wrong labels", "ours", *(f"cleanlab, `{name}`" for name in ("find_label_issues", *METHODS))]
    header += ["listed", "of these wrong"]
    body = []
    for row in rows:
        figures = [f"{value:.3f}" for value in row["precision"].values()]
        first = [row["data"], f"{row['wrong']} of {row['texts']:,}"]
        body.append([*first, *figures, str(row["listed"]), str(row["listed_wrong"])])
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="few texts of Banking77", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("wrong_labels", quick=args.quick), ("data", "share"), table)
    for name in SETS[:1] if args.quick else args.sets or SETS:
        texts = QUICK_TEXTS if args.quick else TEXTS
        data = read_part(args.data, name, "train", texts)
        for share in SHARES[-1:] if args.quick else SHARES:
            row: Row = {"data": name, "share": share, "settings": {"texts": texts}}
            rows.fill(row, measure, data, share)
    rows.show()


if __name__ == "__main__":
    main()
