"""`retvec-lite evaluate-embedding`: how well an embedding sees through typos, language by language, beside others."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retvec_lite.cli.options import positive_integer
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, refuse_existing

# The light imports only: the command line builds its parser without loading word lists and Keras.
if TYPE_CHECKING:
    from retvec_lite.pretraining.measures import FileScores, Measured
    from retvec_lite.pretraining.tasks import Task, WordSource

REPORT_FILES = ("embedding.json", "embedding.md", "embedding.png", "embedding-found.png")
PROJECTOR_FILES = ("tensors.tsv", "metadata.tsv", "projector_config.pbtxt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="embedding file (.safetensors)")
    parser.add_argument(
        "--against", type=Path, nargs="+", default=[], metavar="FILE", help="other embedding files to compare with"
    )
    parser.add_argument(
        "--words",
        type=Path,
        metavar="DIR",
        help="folder of frequency lists <language>.csv with the columns word,count; languages that it lacks, and all "
        "without it, use the words of wordfreq that pre-training leaves out",
    )
    parser.add_argument(
        "--misspellings",
        type=Path,
        metavar="FILE",
        help="people's misspellings of English words: .csv with the columns text (as written) and label (right)",
    )
    parser.add_argument(
        "--queries",
        type=positive_integer,
        default=500,
        metavar="N",
        help="mistyped words a language (default %(default)s)",
    )
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the typos (default %(default)s)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"write {', '.join(REPORT_FILES[:3])} there")
    parser.add_argument(
        "--projector", type=Path, metavar="DIR", help="write files for the TensorBoard embedding projector there"
    )
    parser.add_argument("--force", action="store_true", help="replace what is in these folders")


def _natural(text: str) -> int:
    if int(text) < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, received {text!r}")
    return int(text)


_natural.__name__ = "integer"  # argparse puts it into "invalid integer value: 'x'"


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    # Everything that can be missing or wrong is found before the work starts.
    import rich.console  # noqa: F401

    from retvec_lite.data.dataset import read_dataset
    from retvec_lite.model.weight_files import load_embedding

    _check_folders(args)
    paths = [args.file, *args.against]
    embeddings = [load_embedding(path) for path in paths]
    pairs = read_dataset(args.misspellings) if args.misspellings else None

    from retvec_lite.progress import watched
    from retvec_lite.pretraining.evaluation_report import print_tables
    from retvec_lite.pretraining.measures import Measured
    from retvec_lite.pretraining.projector import projector_files
    from retvec_lite.pretraining.tasks import misspelling_task, word_sources

    sources = word_sources(args.words)
    human = misspelling_task(pairs, seed=args.seed, queries=args.queries) if pairs else None
    files = [Measured(name, embedding) for name, embedding in zip(file_names(paths), embeddings, strict=True)]
    with contextlib.ExitStack() as folders:
        # Made before the work, so that a place that cannot be written is told before it, too.
        out, points = (
            folders.enter_context(atomic_directory(folder, force=args.force, owned=owned)) if folder else None
            for folder, owned in ((args.out, REPORT_FILES), (args.projector, PROJECTOR_FILES))
        )
        with watched(True) as report:
            tasks, skipped = _collect(sources, args, report)
            results = _score(files, tasks, human, report)
        if out:
            _write_report(out, args, results, skipped)
        if points:
            for name, text in projector_files(embeddings[0], tasks, args.seed).items():
                (points / name).write_text(text, encoding="utf-8", newline="\n")
    print_tables(results, skipped)
    if args.out:
        print(f"Written to {args.out}: {', '.join(REPORT_FILES[: 3 + bool(args.against)])}")
    if args.projector:
        print(f"Written to {args.projector}; next: tensorboard --logdir {args.projector}")
    return 0


def file_names(paths: Sequence[Path]) -> list[str]:
    """How reports call the files: by their stem, by the whole path where two have the same, numbered if one comes twice."""
    stems = [path.stem for path in paths]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: index + 1].count(name)})"
        for index, name in enumerate(names)
    ]


def _check_folders(args: argparse.Namespace) -> None:
    for folder in filter(None, (args.out, args.projector)):
        refuse_existing(folder, args.force)
    if args.out and args.projector:
        out, points = args.out.resolve(), args.projector.resolve()
        if out == points or out in points.parents or points in out.parents:
            raise RetvecLiteError(
                f"Expected two folders beside each other for --out and --projector, "
                f"received {args.out} and {args.projector}."
            )
    if args.out:
        import matplotlib.figure  # noqa: F401


def _collect(
    sources: Sequence[WordSource], args: argparse.Namespace, report: Callable[[str, int, int], None]
) -> tuple[list[Task], list[str]]:
    """The tasks of all languages, and the languages without enough words to ask for."""
    from retvec_lite.pretraining.tasks import FEWEST_QUERIES, word_task

    tasks, skipped = [], []
    for index, source in enumerate(sources):
        task = word_task(source, seed=args.seed, queries=args.queries)
        if task is None:
            skipped.append(source.language)
        else:
            tasks.append(task)
        report("Mistyping", index + 1, len(sources))
    if not tasks:
        raise RetvecLiteError(
            f"Expected a language with at least {FEWEST_QUERIES} words that pre-training never saw, received none."
        )
    return tasks, skipped


def _score(
    files: Sequence[Measured], tasks: Sequence[Task], human: Task | None, report: Callable[[str, int, int], None]
) -> list[FileScores]:
    from retvec_lite.pretraining.measures import FileScores

    results = []
    asked = [*tasks, human] if human else [*tasks]
    for number, file in enumerate(files):
        scores = []
        for index, task in enumerate(asked):
            scores.append(file.score(task))
            report("Measuring", number * len(asked) + index + 1, len(files) * len(asked))
        results.append(FileScores(file.name, tuple(scores[: len(tasks)]), scores[-1] if human else None))
    return results


def _write_report(
    folder: Path, args: argparse.Namespace, results: Sequence[FileScores], skipped: Sequence[str]
) -> None:
    from retvec_lite.pretraining.evaluation_plot import box_plot, dot_plot
    from retvec_lite.pretraining.evaluation_report import markdown, to_dict

    facts = {"seed": args.seed, "queries": args.queries, **to_dict(results, skipped)}
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    (folder / "embedding.json").write_text(text, encoding="utf-8", newline="\n")
    (folder / "embedding.md").write_text(markdown(results, skipped), encoding="utf-8", newline="\n")
    (folder / "embedding.png").write_bytes(box_plot(results))
    if len(results) > 1:
        (folder / "embedding-found.png").write_bytes(dot_plot(results))
