"""What texts without labels add: Banking77 with ten texts a label, and all other training texts without theirs.

    python benchmarks/unlabelled.py [--head linear pool] [--draws 0 1 2] [--quick]

Measured on the test split, in float32. Rows already in the JSON are kept.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from common import Row, Rows, command_parser, markdown_table, result_path
from data_sets import sampled
from few_shot import RATES_OF_ALL, draw_texts, load_corpus
from few_shot_systems import accuracy

import retvec_lite as rl

SET: Final = "Banking77"
SHOTS: Final = 10
QUICK_TEXTS: Final = 300


def measure(head: str, seed: int, *, learns: bool, quick: bool, data: Any) -> Row:
    """Return the accuracy by share of mistyped words, with or without the unlabelled texts."""
    corpus = load_corpus(data, SET)
    drawn = draw_texts(corpus.training, SHOTS, seed)
    labelled = set(drawn.texts)
    others = [text for text in corpus.training.texts if text not in labelled]
    test = corpus.test.select(sampled(len(corpus.test), QUICK_TEXTS if quick else 0))
    began = time.perf_counter()
    trained = rl.train(drawn, head=head, unlabelled=others[: QUICK_TEXTS if quick else None] if learns else None)
    seconds = round(time.perf_counter() - began, 1)
    labels = np.array(trained.labels)

    def guess(texts: Sequence[str]) -> Sequence[str]:
        found: list[str] = labels[trained.probabilities(list(texts)).argmax(axis=1)].tolist()
        return found

    return {
        "accuracy": {f"{rate:g}": accuracy(guess, test, rate) for rate in RATES_OF_ALL},
        "unlabelled": trained.training.get("unlabelled_texts", 0),
        "training_seconds": seconds,
    }


def table(rows: Sequence[Row]) -> str:
    """Return the mean over the draws as Markdown."""
    body = []
    for key in dict.fromkeys((row["head"], row["learns"]) for row in rows):
        line = [row for row in rows if (row["head"], row["learns"]) == key]
        means = [np.mean([row["accuracy"][f"{rate:g}"] for row in line]) for rate in RATES_OF_ALL]
        used = f"{np.mean([row['unlabelled'] for row in line]):,.0f}"
        body.append([key[0], used, str(len(line)), *(f"{mean:.3f}" for mean in means)])
    header = ["head", "unlabelled texts learned from", "draws", *(f"{rate:.0%} mistyped" for rate in RATES_OF_ALL)]
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the table."""
    parser = command_parser(__doc__, quick="few texts", data=True)
    parser.add_argument("--head", dest="heads", nargs="+", default=("linear", "pool"), help="heads")
    parser.add_argument("--draws", type=int, nargs="+", default=(0,), metavar="N", help="seeds of the draws")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("unlabelled", quick=args.quick), ("head", "learns", "seed"), table)
    for head in args.heads:
        for seed in args.draws:
            for learns in (False, True):
                row: Row = {"head": head, "learns": learns, "seed": seed, "settings": {"shots": SHOTS}}
                if not rows.has(row):
                    rows.add(row | measure(head, seed, learns=learns, quick=args.quick, data=args.data))
    rows.show()


if __name__ == "__main__":
    main()
