"""How should scripts without spaces be cut (contract rule 4)? Accuracy on MASSIVE intents by piece length.

    python benchmarks/unspaced.py [--data DIR] [--quick]

Every variant trains the `pool` head on the same frozen embedding and is judged on rows set aside from training, never on
the test split, so that the contract can adopt the winner.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from common import command_parser, markdown_table, read_language, read_results, result_path, write_results

from retvec_lite.contract import EncoderConfig, Piece
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.weight_files import choose_embedding
from retvec_lite.training.examples import TextEncoder, prepare
from retvec_lite.training.fitting import NetworkFitter
from retvec_lite.training.settings import FitSettings

Rules = dict[str, Piece | None]

LOCALES: Final = {"han and kana": ("zh-CN", "zh-TW", "ja-JP"), "south-east asian": ("th-TH", "km-KH", "my-MM")}
PIECES: Final[dict[str, dict[str, Rules]]] = {
    "han and kana": {
        "white space only": {"han_piece": None, "kana_piece": None},
        "1": {"han_piece": Piece(1, 1), "kana_piece": Piece(1, 1)},
        "2": {"han_piece": Piece(2, 2), "kana_piece": Piece(2, 2)},
        "2, step 1": {"han_piece": Piece(2, 1), "kana_piece": Piece(2, 1)},
        "Han 1; kana 2, step 1": {"han_piece": Piece(1, 1), "kana_piece": Piece(2, 1)},
        "4": {"han_piece": Piece(4, 4), "kana_piece": Piece(4, 4)},
    },
    "south-east asian": {
        "white space only": {"sea_piece": None},
        "1": {"sea_piece": Piece(1, 1)},
        "2": {"sea_piece": Piece(2, 2)},
        "4": {"sea_piece": Piece(4, 4)},
        "4, step 2": {"sea_piece": Piece(4, 2)},
        "6, step 3": {"sea_piece": Piece(6, 3)},
    },
}
SLOTS: Final = 64


def measure(dataset: Dataset, rules: Rules, settings: FitSettings, embedding: str) -> dict[str, Any]:
    """Return validation accuracy, clean and with half of the words mistyped, and the mean number of pieces."""
    config = dataclasses.replace(EncoderConfig(max_chars=256, max_words=SLOTS), **rules)
    training, validation = split(dataset, 0.2, 0)
    chosen = choose_embedding(embedding)
    weights = chosen.weights if chosen else {}
    data = prepare(training, validation, config=config, **settings.typos)
    network = NetworkFitter(data, PoolHead(), weights, fine_tune=False, settings=settings)
    network.fit(held_out=data.held_out)
    truth = data.held_out.truth
    accuracy = {rate: float((network.logits(ids).argmax(1) == truth).mean()) for rate, ids in data.held_out.ids.items()}
    return {
        "accuracy": accuracy[0.0],
        "accuracy at 50 %": accuracy[0.5],
        "pieces": float(TextEncoder(dataset.texts, config).count_words(dataset.texts).mean()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all variants and write the table."""
    parser = command_parser(__doc__, quick="one locale of each group, few epochs", data=True)
    parser.add_argument("--embedding", default="default", metavar="FILE", help="(default: the one in the package)")
    parser.add_argument("--only", choices=tuple(LOCALES), help="one group of scripts (default: both)")
    args = parser.parse_args(arguments)
    settings = FitSettings(epochs=3 if args.quick else 12, copies=2, batch_size=128, learning_rate=3e-3, patience=12)
    path = result_path("unspaced", quick=args.quick)
    rows = [row for row in read_results(path) if args.only and row["group"] != args.only]
    for group in [args.only] if args.only else LOCALES:
        for locale in LOCALES[group][: 1 if args.quick else None]:
            dataset = read_language(args.data / "massive" / "train.csv", locale)
            for name, rules in PIECES[group].items():
                found = measure(dataset, rules, settings, args.embedding)
                rows.append({"group": group, "locale": locale, "piece": name, **found})
                print(json.dumps(rows[-1]), flush=True)
    write_results(path, rows, "\n".join(_table(rows, group) for group in LOCALES))


def _table(rows: list[dict[str, Any]], group: str) -> str:
    locales = LOCALES[group]
    return markdown_table(
        ["code points a piece", *locales, "mean"],
        [
            [
                name,
                *(
                    _cell([row for row in rows if row["locale"] in chosen and row["piece"] == name])
                    for chosen in groups
                ),
            ]
            for name in PIECES[group]
            for groups in [[*((locale,) for locale in locales), locales]]
        ],
    )


def _cell(rows: list[dict[str, Any]]) -> str:
    """Format mean accuracy, clean / half of the words mistyped (mean number of pieces)."""
    if not rows:
        return "-"
    clean, typos, pieces = (
        float(np.mean([row[key] for row in rows])) for key in ("accuracy", "accuracy at 50 %", "pieces")
    )
    return f"{clean:.3f} / {typos:.3f} ({pieces:.1f})"


if __name__ == "__main__":
    main()
