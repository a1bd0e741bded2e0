"""What each part of pre-training is worth: short runs that differ in one thing, judged by classifiers on them.

    python -m benchmarks.experiments.embedding_ablation [--data DIR] [--only NAME] [--set NAME] [--steps N] [--seeds N] [--work DIR] [--quick]

Each variant is pre-trained for the same number of steps and then judged by the protocol of `embedding_choice.py`. The embeddings
are kept in the work folder, and an interrupted run continues there. `unilex` is a folder of frequency lists among the data sets.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import WORK, Rows, command_parser, result_path
from benchmarks.experiments.embedding_choice import KEY, SETS, judge, tables
from retvec_lite.model.weight_files import load_embedding
from retvec_lite.pretraining.options import PretrainSettings
from retvec_lite.pretraining.pretrain import Every, pretrain
from retvec_lite.pretraining.retrieval import retrieval_set
from retvec_lite.pretraining.words import WORDFREQ, load_words, wordfreq_words

LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
SHIPPED: Final = PretrainSettings(warmup=200)


def _changed(**changed: Any) -> PretrainSettings:
    return dataclasses.replace(SHIPPED, **changed)


VARIANTS: Final = {
    "as it ships": SHIPPED,
    "typos: all kinds alike": _changed(sampling="kinds"),
    "typos: four categories alike": _changed(sampling="categories"),
    "width 64": _changed(embedding_dim=64),
    "width 128": _changed(embedding_dim=128),
    "width 384": _changed(embedding_dim=384),
    "words of 8 characters": _changed(word_length=8),
    "words of 12 characters": _changed(word_length=12),
    "words of 20 characters": _changed(word_length=20),
    "loss: on a fourth layer": _changed(projection=True),
    "no dropout": _changed(dropout=0.0),
    "twice the dropout": _changed(dropout=1 / 8),
    "weight decay 0.1": _changed(weight_decay=0.1),
    "Adam, 1e-3 to 1e-4": _changed(muon=False, final_rate=1e-4),
    "no 4-bit training": _changed(quantized_share=0.0),
    "more words: unilex": SHIPPED,
}
"""Name -> settings. Each differs from what ships in one thing; the width is that of all three layers."""
_MORE_WORDS: Final = "more words: unilex"


def pretrained(name: str, steps: int, data: Path, work: Path) -> Path:
    """Return the embedding of a variant; pre-train it where the work folder has none."""
    slug = "-".join(name.replace(":", "").replace(",", "").split())
    out = work / f"{slug}-{steps}.safetensors"
    if not out.is_file():
        settings = dataclasses.replace(VARIANTS[name], steps=steps)
        length = settings.word_length
        more = sorted((data / "unilex").glob("*.csv")) if name == _MORE_WORDS else []
        sets = [retrieval_set(language, wordfreq_words(language, length)[0], seed=0) for language in LANGUAGES]
        words = load_words([Path(WORDFREQ), *more], length)
        run, every = out.with_suffix(".run"), Every(evaluate=steps)
        pretrain(words, settings, out, run_dir=run, sets=sets, every=every, log=print)
    return out


def words_found(file: Path) -> float:
    """Return the share of right words found at the end of a pre-training, mean of its languages."""
    return float(np.mean(list(load_embedding(file).card["metrics"]["right_word_found"].values())))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(
        __doc__, quick="100 steps, Banking77 with ten texts a label, two variants, one seed", data=True
    )
    parser.add_argument("--steps", type=int, default=2000, help="steps of pre-training (default: 2,000)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each kind (default: 3)")
    parser.add_argument("--only", choices=tuple(VARIANTS), action="append", help="a variant; repeatable (default: all)")
    parser.add_argument(
        "--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable (default: all)"
    )
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps the embeddings")
    args = parser.parse_args(arguments)
    steps, seeds = (100, 1) if args.quick else (args.steps, args.seeds)
    names = args.only or (list(VARIANTS)[:2] if args.quick else list(VARIANTS))
    args.work.mkdir(parents=True, exist_ok=True)
    files = {name: pretrained(name, steps, args.data, args.work) for name in names}
    rows = Rows(result_path("embedding_ablation", quick=args.quick), KEY, tables)
    facts = {name: {"found": words_found(file), "steps": steps} for name, file in files.items()}
    judge(rows, files, args.data, SETS[-1:] if args.quick else args.sets or SETS, seeds, facts)
    rows.show()


if __name__ == "__main__":
    main()
