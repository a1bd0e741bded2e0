"""The judge of few texts: our classifier, its parts and plain rivals on many sets and languages, clean and with half of the words mistyped.

    python -m benchmarks.experiments.bench [--split validation|test] [--shots 5 10 50 0] [--only SYSTEM] [--rival SYSTEM] [--inbox N] [--show]

Sets are all folders `bench/NAME` of `--data` with a train.csv and a test.csv (`open`; a name such as `de_news` tells the language, others are
English), and the four of few_shot.py (`old`). Learned texts are drawn from the training split, so many a label, or all of a label that
has fewer. Choices are made with `--split validation`, whose texts to test on are set aside from the training split; `--split test` only
reports. At most 500 texts are tested, the same for all draws and systems.

Each cell (system, set, texts a label, draw, split) is a line of `--out`: a stopped run continues where it was. A system may be a function
of yours, `module:function`, from (texts, labels, language) to a function from texts to labels. `--tag` keeps the figures of a
changed system beside earlier ones: they are those of `SYSTEM@TAG`.

The summary has three lines a system: means; sets won and lost against the best of `--rival` at each set; worst losses. A set is won or lost
beyond the noise if the mean difference, paired over draws and texts, is above two standard errors, the larger of that over the draws and that
over the texts. Figures are clean / half mistyped.
"""

import argparse
import dataclasses
import functools
import itertools
import json
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import DATA, WORK, Row, command_parser
from benchmarks.data.sets import FOLDERS, read_part, sampled, sampled_of_each
from benchmarks.systems.few import SYSTEMS, Fit, system_of
from benchmarks.systems.names import SVM
from benchmarks.systems.trained import fingerprint
from benchmarks.tables.judged import RATES, cell_table, grouped_rows, summary
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

OPEN: Final = "bench"
"""The folder of the sets of other people."""
OLD: Final = ("AG News", "SMS spam", "CLINC150", "Banking77")
GROUPS: Final = ("open", "old")
SPLITS: Final = ("validation", "test")
SHOTS: Final = (5, 10, 50, 0)
ALL: Final = 0
"""Instead of a number of texts a label: all texts, which are the same in every draw."""
DRAWS: Final = (0, 1, 2)
TEST_TEXTS: Final = 500
INBOX: Final = 4_000
"""Unlabelled texts, most, of systems that read some, unless `--inbox` says otherwise: they have the attribute `reads_inbox`, and the argument `inbox`."""
UNEVEN: Final = 1.5
"""Labels are uneven where the largest has this many times its even share of the training texts."""
WORKERS: Final = 2
KEY: Final = ("system", "data", "shots", "draw", "split", "texts")
"""What identifies a line."""
OUT: Final = WORK / "bench.jsonl"
_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


@dataclasses.dataclass(frozen=True)
class Cell:
    """What a system learns from, and is asked.

    Attributes:
        data: name of the set.
        language: tag such as `en`.
        shots: texts a label; `ALL` for all.
        draw: which texts these are.
        split: where the texts to test on come from.
        learned: labelled texts to learn from.
        others: texts of the training split whose labels nobody may see.
        asked: labelled texts to test on.
        uneven: whether the labels of the set are uneven.
    """

    data: str
    language: str
    shots: int
    draw: int
    split: str
    learned: Dataset
    others: tuple[str, ...]
    asked: Dataset
    uneven: bool

    @property
    def key(self) -> Row:
        """What tells this cell from others, JSON-ready; its texts included."""
        texts = (part for data in (self.learned, self.asked) for part in (*data.texts, *data.labels))
        named = {name: getattr(self, name) for name in KEY[1:-1]}
        return {**named, "texts": fingerprint(list(texts))}


def measure(system: Fit, cell: Cell) -> Row:
    """Train a system on a cell and test it, clean and mistyped.

    Returns:
        The cell's `key`, and by the share of mistyped words: `accuracy`, macro-`f1`, and which answers were `right`, packed as
        hexadecimal bits. `cpu_seconds` are those of the training.
    """
    from sklearn.metrics import f1_score

    began = time.process_time()
    inbox = {"inbox": cell.others} if getattr(system, "reads_inbox", False) else {}
    guess = system(cell.learned.texts, cell.learned.labels, cell.language, **inbox)
    row: Row = {**cell.key, "language": cell.language, "uneven": cell.uneven, "tested": len(cell.asked)}
    row |= {"cpu_seconds": round(time.process_time() - began, 2), "accuracy": {}, "f1": {}, "right": {}}
    truth = np.array(cell.asked.labels)
    for rate in RATES:
        found = np.array(guess(mistype_many(cell.asked.texts, rate, TYPO_SEED)))
        right, name = found == truth, f"{rate:g}"
        row["accuracy"][name] = float(right.mean())
        row["f1"][name] = float(f1_score(truth, found, average="macro", zero_division=0))
        row["right"][name] = np.packbits(right).tobytes().hex()
    return row


def set_names(data: Path, group: str) -> list[str]:
    """Return the names of the sets of a group that are in the folder of all data sets."""
    if group == "open":
        return sorted(path.parent.name for path in (data / OPEN).glob("*/train.csv"))
    return [name for name in OLD if (data / FOLDERS[name] / "train.csv").is_file()]


def cells(
    data: Path = DATA,
    sets: Iterable[str] | None = None,
    *,
    shots: int = 10,
    draws: Sequence[int] = DRAWS,
    split: str = "validation",
) -> Iterator[Cell]:
    """Yield the cells of some sets, or of all open ones; a single draw of all texts."""
    for name in set_names(data, "open") if sets is None else sets:
        for draw in draws if shots != ALL else draws[:1]:
            yield make_cell(data, name, shots, draw, split)


def make_cell(data: Path, name: str, shots: int, draw: int, split: str, inbox: int = INBOX) -> Cell:
    """Draw the texts of a cell, at most so many of them for the inbox.

    Raises:
        SystemExit: a file of the set is missing.
    """
    training, asked = _parts(data, name, split)
    prefix, _, rest = name.partition("_")
    language = prefix if name not in OLD and rest and len(prefix) == 2 else "en"
    counts = Counter(training.labels)
    uneven = max(counts.values()) * len(counts) >= UNEVEN * len(training)
    learned = draw_texts(training, shots, draw)
    known = {*learned.texts, *asked.texts}
    others = [text for text in dict.fromkeys(training.texts) if text not in known]
    random.Random(draw).shuffle(others)  # some files are sorted by label
    return Cell(name, language, shots, draw, split, learned, tuple(others[:inbox]), asked, uneven)


def draw_texts(training: Dataset, shots: int, seed: int) -> Dataset:
    """Draw so many texts of each label; all of a label that has fewer; all texts for `ALL`."""
    return training.select(sampled_of_each(training.labels, shots, seed))


@functools.cache
def _parts(data: Path, name: str, split: str) -> tuple[Dataset, Dataset]:
    """Return the texts to draw from, and those to test on: at most `TEST_TEXTS`, of a small training split at most half of it."""
    folder = name if name in OLD else f"{OPEN}/{name}"
    training = read_part(data, folder, "train")
    if split == "test":
        return training, read_part(data, folder, "test", TEST_TEXTS)
    training, asked = training.split(min(0.5, TEST_TEXTS / len(training)), 0)
    return training, asked.select(sampled(len(asked), TEST_TEXTS))


# --- the run ---


def read_lines(path: Path) -> list[Row]:
    """Return the rows of a file, the last of each cell; a line that a kill has cut off is left out."""
    rows: dict[tuple[object, ...], Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[tuple(row[field] for field in KEY)] = row
    return list(rows.values())


def append_line(path: Path, row: Row) -> None:
    """Add a row in one write, so that several runs may share a file, behind a line that a kill has cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        whole = file.read(1) in (b"", b"\n")
        file.write((b"" if whole else b"\n") + json.dumps(row, ensure_ascii=False).encode() + b"\n")


Job = tuple[str, str, int, int, str]
"""System, set, texts a label, draw, split."""


def _measured(data: Path, job: Job, inbox: int) -> Row:
    system, *cell = job
    return measure(system_of(system), make_cell(data, *cell, inbox))


def _jobs(args: argparse.Namespace) -> Iterator[Job]:
    for split, shots, system, name in itertools.product(args.splits, args.shots, args.systems, args.sets):
        for draw in args.draws if shots != ALL else args.draws[:1]:
            yield system, name, shots, draw, split


def _todo(args: argparse.Namespace) -> list[Job]:
    """Return the jobs that have no row of the same texts yet."""
    found = {tuple(row[field] for field in KEY) for row in read_lines(args.out)}

    @functools.cache
    def texts(*cell: object) -> str:
        return str(make_cell(args.data, *cell).key["texts"])

    jobs = _jobs(args)
    if args.again or not found:
        return list(jobs)
    return [job for job in jobs if (_tagged(job[0], args.tag), *job[1:], texts(*job[1:])) not in found]


def _tagged(system: str, tag: str | None) -> str:
    return f"{system}@{tag}" if tag else system


def run(args: argparse.Namespace) -> int:
    """Measure what is missing; return how many cells failed. Each failure is told, and the others go on."""
    jobs = _todo(args)
    for system in dict.fromkeys(job[0] for job in jobs):
        system_of(system)
    failed = 0
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1") | {"TF_CPP_MIN_LOG_LEVEL": "3"})
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as workers:
        futures: dict[Future[Row], Job] = {workers.submit(_measured, args.data, job, args.inbox): job for job in jobs}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                system, *cell = futures[future]
                name = _tagged(system, args.tag)
                if isinstance(error := future.exception(), BrokenProcessPool):
                    raise error
                if error:
                    failed += 1
                    said = "".join(traceback.format_exception(error))
                else:
                    said = _keep({"system": name, **future.result()}, args.out)
                print(
                    f"[{done}/{len(jobs)}]", *(f"{part}," for part in (name, *cell)), said, file=sys.stderr, flush=True
                )
        finally:
            workers.shutdown(cancel_futures=True)
    return failed


def _keep(row: Row, out: Path) -> str:
    append_line(out, row)
    accuracies = " / ".join(f"{accuracy:.3f}" for accuracy in row["accuracy"].values())
    return f"{accuracies} in {row['cpu_seconds']:.1f} s of a core"


def report(args: argparse.Namespace) -> str:
    """Return for each split, number of texts and group of sets the table of all cells, and three lines a system."""
    rows = read_lines(args.out)
    names = [_tagged(system, args.tag) for system in args.systems]
    parts = []
    for split, shots, group in itertools.product(args.splits, args.shots, GROUPS):
        sets = [name for name in set_names(args.data, group) if name in args.sets]
        chosen = [row for row in rows if (row["split"], row["shots"]) == (split, shots) and row["data"] in sets]
        found = grouped_rows(chosen)
        if shown := [name for name in names if name in found]:
            title = f"{split}, {f'{shots} texts a label' if shots else 'all texts'}, {len(sets)} {group} sets"
            columns = list(dict.fromkeys([*(rival for rival in args.rivals if rival in found), *shown]))
            parts += [f"**{title}**\n", cell_table(found, columns)]
            parts += [summary(found, name, [rival for rival in args.rivals if rival != name]) for name in shown]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True)
    sets = "a data set, or open or old for a group; repeatable (default: all)"
    parser.add_argument("--set", dest="sets", metavar="NAME", action="append", help=sets)
    systems = f"a system, or module:function; repeatable (default: {'; '.join(SYSTEMS)})"
    parser.add_argument("--only", dest="systems", metavar="SYSTEM", action="append", help=systems)
    rivals = f"compare with this system, or with the best of several; repeatable (default: {SVM})"
    parser.add_argument("--rival", dest="rivals", metavar="SYSTEM", action="append", help=rivals)
    parser.add_argument(
        "--split", dest="splits", choices=SPLITS, nargs="+", default=SPLITS[:1], help="default: validation"
    )
    parser.add_argument("--shots", type=int, nargs="+", default=(10,), metavar="N", help="texts a label, 0 for all")
    parser.add_argument("--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="default: 0 1 2")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="JSON lines (default: %(default)s)")
    parser.add_argument("--inbox", type=int, default=INBOX, metavar="N", help="unlabelled texts, most; give it a --tag")
    parser.add_argument("--tag", help="what to call a changed system: SYSTEM@TAG")
    parser.add_argument("--workers", type=int, choices=(1, WORKERS), default=WORKERS, help="processes (default: 2)")
    parser.add_argument("--again", action="store_true", help="measure cells again that are there")
    parser.add_argument("--show", action="store_true", help="only print the summary of what is there")
    args = parser.parse_args(arguments)
    args.sets = _named_sets(args.data, args.sets or GROUPS)
    args.systems, args.rivals = args.systems or list(SYSTEMS), args.rivals or [SVM]
    failed = 0 if args.show else run(args)
    print(report(args))
    if failed:
        raise SystemExit(f"{failed} cells failed, as told above: run this again to measure them.")


def _named_sets(data: Path, given: Iterable[str]) -> list[str]:
    """Return the sets of groups and names.

    Raises:
        SystemExit: there is no such set.
    """
    known = {group: set_names(data, group) for group in GROUPS}
    every = list(itertools.chain(*known.values()))
    found = list(dict.fromkeys(itertools.chain(*(known.get(name, [name]) for name in given))))
    for name in found:
        if name not in every:
            raise SystemExit(f"No set {name!r} in {data}: choose from {', '.join((*GROUPS, *every))}.")
    if not found:
        raise SystemExit(f"No set of few texts in {data}: name the folder of the data sets with --data DIR.")
    return found


if __name__ == "__main__":
    main()
