"""What each part of pre-training is worth: short runs that differ in one thing, judged by classifiers on them.

    python benchmarks/embedding_ablation.py [--data DIR] [--only NAME] [--steps N] [--seeds N] [--work DIR] [--quick]

Each variant is pre-trained for the same number of steps and then judged by the protocol of `embedding_choice.py`. The embeddings
are kept in the work folder, and an interrupted run continues there. `unilex` is a folder of frequency lists among the data sets.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import WORK, Rows, command_parser, result_path
from embedding_choice import KEY, SETS, judge, table

from retvec_lite.model.weight_files import load_embedding
from retvec_lite.pretraining.model import NetworkSettings
from retvec_lite.pretraining.pretrain import pretrain
from retvec_lite.pretraining.settings import PretrainSettings
from retvec_lite.pretraining.tasks import retrieval_task
from retvec_lite.pretraining.words import WORDFREQ, load_words, wordfreq_words

LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
_SHIFTS: Final = PretrainSettings(warmup=200, sampling="shifts", dropout=1 / 16, weight_decay=0.0, decomposed_share=0.0)
_KINDS: Final = dataclasses.replace(_SHIFTS, sampling="kinds")


def _kinds(**changed: Any) -> PretrainSettings:
    return dataclasses.replace(_KINDS, **changed)


VARIANTS: Final = {
    "shifts more often": _SHIFTS,
    "all kinds alike": _KINDS,
    "four categories alike": _kinds(sampling="categories"),
    "kinds, weight decay 0.1": _kinds(weight_decay=0.1),
    "kinds, no spatial dropout": _kinds(dropout=0.0),
    "kinds, a tenth decomposed": _kinds(decomposed_share=0.1),
    "kinds, words of unilex": _KINDS,
    "kinds, no 4-bit training": _kinds(quantized_share=0.0),
    "kinds, projection layer": _kinds(network=NetworkSettings(projection=True)),
    "kinds, 128 dimensions": _kinds(network=NetworkSettings(embedding_dim=128)),
    "kinds, words of 20 characters": _kinds(network=NetworkSettings(word_length=20)),
    "kinds, Adam, 1e-3 to 1e-4": _kinds(muon=False, final_rate=1e-4),
}
_MORE_WORDS: Final = "kinds, words of unilex"


def pretrained(name: str, steps: int, data: Path, work: Path) -> Path:
    """Return the embedding of a variant; pre-train it where the work folder has none."""
    out = work / f"{name.replace(' ', '-').replace(',', '')}-{steps}.safetensors"
    if not out.is_file():
        settings = dataclasses.replace(VARIANTS[name], steps=steps)
        length = settings.network.word_length
        more = sorted((data / "unilex").glob("*.csv")) if name == _MORE_WORDS else []
        tasks = [retrieval_task(language, wordfreq_words(language, length)[0], seed=0) for language in LANGUAGES]
        words = load_words([Path(WORDFREQ), *more], length)
        pretrain(words, settings, out, run_dir=out.with_suffix(".run"), tasks=tasks, evaluate_every=steps, log=print)
    return out


def words_found(file: Path) -> float:
    """Return the share of right words found at the end of a pre-training, mean of its languages."""
    return float(np.mean(list(load_embedding(file).card["metrics"]["right_word_found"].values())))


def main(arguments: Sequence[str] | None = None) -> None:
    """Pre-train and judge the chosen variants; write the table of everything judged so far."""
    parser = command_parser(
        __doc__, quick="100 steps, Banking77 with ten texts a label, two variants, one seed", data=True
    )
    parser.add_argument("--steps", type=int, default=2000, help="steps of pre-training (default: 2,000)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each kind (default: 3)")
    parser.add_argument("--only", choices=tuple(VARIANTS), action="append", help="a variant; repeatable (default: all)")
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps the embeddings")
    args = parser.parse_args(arguments)
    steps, seeds = (100, 1) if args.quick else (args.steps, args.seeds)
    names = args.only or (list(VARIANTS)[:2] if args.quick else list(VARIANTS))
    args.work.mkdir(parents=True, exist_ok=True)
    files = {name: pretrained(name, steps, args.data, args.work) for name in names}
    rows = Rows(result_path("embedding_ablation", quick=args.quick), KEY, table)
    facts = {name: {"found": words_found(file), "steps": steps} for name, file in files.items()}
    judge(rows, files, args.data, SETS[-1:] if args.quick else SETS, seeds, facts)
    rows.show()


if __name__ == "__main__":
    main()
