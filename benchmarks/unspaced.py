"""How should scripts without spaces be cut (contract rule 4)? Accuracy on MASSIVE intents by piece length.

    python benchmarks/unspaced.py [--data DIR] [--quick]

Every variant trains the `pool` head on the same frozen embedding and is judged on a validation split of the training rows
(never on the test split), so that the winner can be pinned in the contract.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from common import DATA, RESULTS, markdown_table, read_language, write_results

from retvec_lite.config import EncoderConfig, Piece
from retvec_lite.dataset import Dataset, split
from retvec_lite.heads import PoolHead
from retvec_lite.training.fit import fit
from retvec_lite.training.settings import FitSettings
from retvec_lite.training.texts import count_words
from retvec_lite.training.train import choose_embedding

LOCALES = {"cjk_piece": ("zh-CN", "zh-TW", "ja-JP"), "sea_piece": ("th-TH", "km-KH", "my-MM")}
PIECES: dict[str, Piece | None] = {
    "white space only": None,
    "1": Piece(1, 1),
    "2": Piece(2, 2),
    "pairs, overlapping": Piece(2, 1),
    "3, step 2": Piece(3, 2),
    "4": Piece(4, 4),
    "4, step 2": Piece(4, 2),
    "6, step 3": Piece(6, 3),
}
SLOTS = 64


def measure(dataset: Dataset, rule: str, piece: Piece | None, settings: FitSettings, embedding: str) -> dict[str, Any]:
    """Validation accuracy without typos and with half of the words mistyped, and the mean number of pieces."""
    config = dataclasses.replace(EncoderConfig(max_chars=256, max_words=SLOTS), **{rule: piece})
    training, validation = split(dataset, 0.2, 0)
    chosen = choose_embedding(embedding)
    weights = chosen.weights if chosen else {}
    labels = training.classes
    result = fit(training, validation, labels, config, PoolHead(), weights, fine_tune=False, settings=settings)
    truth = np.array([labels.index(label) for label in validation.labels])
    accuracy = {rate: float((logits.argmax(1) == truth).mean()) for rate, logits in result.validation_logits.items()}
    return {
        "accuracy": accuracy[0.0],
        "accuracy at 50 %": accuracy[0.5],
        "pieces": float(count_words(dataset.texts, config).mean()),
    }


def main(arguments: Iterable[str] | None = None) -> None:
    """Run all variants and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedding", default="default")
    parser.add_argument("--quick", action="store_true", help="one locale of each group, few epochs")
    args = parser.parse_args(None if arguments is None else list(arguments))
    settings = FitSettings(epochs=3 if args.quick else 14, copies=2, batch_size=128, learning_rate=4e-3, patience=14)
    rows = []
    for rule, locales in LOCALES.items():
        for locale in locales[: 1 if args.quick else None]:
            dataset = read_language(args.data / "massive" / "train.csv", locale)
            for name, piece in PIECES.items():
                found = measure(dataset, rule, piece, settings, args.embedding)
                rows.append({"locale": locale, "piece": name, **found})
                print(json.dumps(rows[-1]), flush=True)
    table = markdown_table(
        ["piece", *(locale for group in LOCALES.values() for locale in group)],
        [
            [name, *(_cell(rows, locale, name) for group in LOCALES.values() for locale in group)]
            for name in PIECES
        ],
    )
    write_results(RESULTS / ("unspaced-quick" if args.quick else "unspaced"), rows, table)


def _cell(rows: list[dict[str, Any]], locale: str, piece: str) -> str:
    found = [row for row in rows if row["locale"] == locale and row["piece"] == piece]
    return f"{found[0]['accuracy']:.3f} / {found[0]['accuracy at 50 %']:.3f} ({found[0]['pieces']:.1f})" if found else "-"


if __name__ == "__main__":
    main()
