"""`classify`: texts in, labels out; `teach`: what a text is, into a memory beside a classifier.

And what is found among texts and in one: `nearest`, `duplicates` and `detect-spans`.
"""

import argparse
import importlib.util
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from retvec_lite.classifier import Classifier
from retvec_lite.cli import MODEL, UNKNOWN, add_options, load_quietly, told_warnings
from retvec_lite.data.lines import Skipped, problem_in
from retvec_lite.data.texts import read_lines, read_texts
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.answers import Explanation, Prediction
from retvec_lite.scale.classify_files import classify_files
from retvec_lite.searching import duplicates, nearest
from retvec_lite.spans import detect_spans
from retvec_lite.terminal import counted, json_line, one_line, watched, weighted

NONE: Final = "none"
"""What is printed where a text has none of the labels that it may have several of; JSON has an empty list."""

_WHAT: Final = "Classifying (kB)"

_SHOWN: Final = 10
"""Groups of near-duplicates that are printed."""

_FOR_PRINTING: Final = ("top", "why", "memory", "json")
"""Options about the lines that are printed without --output."""


def declare_classify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="texts (default: one a line from standard input)")
    parser.add_argument(
        "--input",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="a .txt (one text a line), .csv, .tsv, .jsonl, .json or .parquet file of any size, also packed, classified on all "
        "cores; with --output any number of files, patterns or folders",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write all columns with label and probability to this .parquet, .csv, .tsv or .jsonl file",
    )
    add_options(parser, classify_files, without=("model", "inputs", "output", "progress"))
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="labels for each text (default: 1; all that it has where texts may have several)",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="also print how much each word speaks for the label: by how much its log probability falls without the word, as a "
        "share of the largest fall; with --json, the fall itself",
    )
    parser.add_argument(
        "--memory",
        metavar="FILE",
        help="what 'retvec-lite teach' has taught; with --json, the taught text that answered",
    )
    parser.add_argument("--json", action="store_true", help="print JSON Lines instead of label<TAB>probability")


def run_classify(args: argparse.Namespace) -> None:
    """Print one line for each text: at once for arguments and standard input, in bulk for a file."""
    if args.input is not None and args.texts:
        raise RetvecLiteError(f"Pass texts or --input, not both ({args.texts[0]!r} and {args.input[0]!r}).")
    if args.output is not None:
        _write_file(args)
        return
    if args.input is not None and len(args.input) > 1:
        raise RetvecLiteError("Several files need --output with the file to write, such as labels.parquet.")
    classifier = load_quietly(args.model, args.runtime, args.workers, args.isolated, args.languages)
    words = _words_for_none(_all_labels(classifier, args.memory), classifier.decision.unknown_label)
    # All that a text has, where it may have several.
    several = classifier.decision.multi_label and args.reject
    ask = {"top": 1 if args.top is None and not several else args.top, "reject": args.reject}
    skipped = Skipped(args.skip_bad_rows)
    if args.input:
        answered = _of_file(args, classifier, ask, skipped)
    else:
        texts = _checked(args.texts, skipped) if args.texts else _standard_input(skipped)
        answered = ((text, classifier.predict(text, **ask)) for text in texts)
    for text, found in answered:
        why = classifier.explain(text) if args.why else None
        print(_line(text, found, why, args.json, *words), flush=not args.input)
    _report_skipped(skipped.sentences())


def _write_file(args: argparse.Namespace) -> None:
    """Classify the files of `--input`, and report on standard error."""
    if args.input is None:
        raise RetvecLiteError("--output needs --input with the files to classify.")
    options = vars(args)
    del options["texts"]
    for name in _FOR_PRINTING:
        if options.pop(name):
            raise RetvecLiteError(f"--{name} is for answers that are printed: leave it out with --output.")
    model, inputs, output = (options.pop(name) for name in ("model", "input", "output"))
    done = classify_files(model, inputs, output, **options, progress=True)
    rate = f"{done.rows / done.seconds:,.0f} a second, {done.workers} at a time"
    print(f"{counted(done.rows, 'text')} in {done.output}; {done.seconds:.1f} s, {rate}", file=sys.stderr)
    _report_skipped(done.left_out)


def _of_file(
    args: argparse.Namespace, classifier: Classifier, ask: dict[str, Any], skipped: Skipped
) -> Iterator[tuple[str, list[Prediction]]]:
    """Yield the texts of a file with their answers; then tell how fast that was."""
    (path,) = args.input
    size = max(1, os.path.getsize(path) // 1000 if os.path.isfile(path) else 0)
    # A bar where standard error is a terminal and the answers go elsewhere; classifying must not need rich.
    is_shown = sys.stderr is not None and sys.stderr.isatty() and not sys.stdout.isatty()
    with watched(is_shown and importlib.util.find_spec("rich") is not None) as report:
        read = read_texts(
            path,
            args.text_column,
            lambda position: report(_WHAT, position // 1000, size),
            skipped,
            delimiter=args.delimiter,
        )
        # Answers come in the order of the texts, a little later: they are asked for first.
        texts, again = itertools.tee(read)
        count, start = 0, time.perf_counter()
        for found, text in zip(classifier.predict_many(texts, **ask), again, strict=True):
            yield text, found
            count += 1
        sys.stdout.flush()
        seconds = time.perf_counter() - start
    rate = count / seconds if seconds > 0 else 0.0
    print(
        f"{counted(count, 'text')} in {seconds:.1f} s: {rate:,.0f} a second, {classifier.workers} at a time",
        file=sys.stderr,
    )


def _report_skipped(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        print(one_line(sentence), file=sys.stderr)


def _all_labels(classifier: Classifier, memory: str | None) -> Sequence[str]:
    """Load a memory, where one is named; return the labels that a text may have."""
    if memory is None:
        return classifier.labels
    classifier.memory.load(memory)
    return *classifier.labels, *classifier.memory.labels


def _words_for_none(labels: Sequence[str], unknown_label: str | None) -> tuple[str, str]:
    """Return `UNKNOWN` and `NONE`, in ever more parentheses where a label that may be printed reads like one of them."""
    taken = {label.casefold() for label in labels if label != unknown_label}
    words = [UNKNOWN, NONE]
    for place, word in enumerate(words):
        while word in taken:
            word = f"({word})"
        words[place] = word
    return words[0], words[1]


def _line(
    text: str, predictions: Sequence[Prediction], why: Explanation | None, as_json: bool, unknown: str, none: str
) -> str:
    if as_json:
        found = [{"label": label, "probability": round(probability, 6)} for label, probability in predictions]
        spans = why and [{**span._asdict(), "weight": float(f"{span.weight:.6g}")} for span in why.spans]
        reasons = {"why": {"label": why.label, "spans": spans}} if why else {}
        taught = {"taught": predictions[0].taught} if predictions and predictions[0].taught is not None else {}
        return json_line({"text": text, "predictions": found, **taught, **reasons})
    line = "\t".join(
        f"{unknown if label is None else one_line(label)}\t{probability:.4f}" for label, probability in predictions
    )
    line = line or none
    if why is None:
        return line
    # A text that has no answer is explained by the label that it might have had.
    is_answer = any(label == why.label for label, _ in predictions)
    name = "" if is_answer else f"{one_line(why.label)}: "
    return f"{line}\n  {name}{weighted([(span.text, span.weight) for span in why.spans])}"


def _checked(texts: Sequence[str], skipped: Skipped) -> Iterator[str]:
    """Yield the texts that are Unicode; Python marks other bytes of an argument as `problem_in` knows them."""
    for number, text in enumerate(texts, 1):
        if problem := problem_in(text):
            skipped.bad(RetvecLiteError(f"Text {number}: {problem}."))
        else:
            if os.path.isfile(text):
                print(f"{one_line(text)} is also a file: --input {one_line(text)} reads it.", file=sys.stderr)
            yield text


def _standard_input(skipped: Skipped) -> Iterator[str]:
    """Yield lines without their ends."""
    if sys.stdin is None:
        raise RetvecLiteError("No texts: pass them as arguments, or one a line on standard input.")
    if sys.stdin.isatty():
        print("Reading texts from standard input, one a line. Ctrl-D ends.", file=sys.stderr)
    yield from read_lines(sys.stdin.buffer, "standard input", skipped)


def declare_teach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_options(parser, Classifier.teach, without=("self", "label"))
    parser.add_argument("label", metavar="LABEL", nargs="?", help="its label, which may be a new one")
    parser.add_argument(
        "--memory",
        required=True,
        metavar="FILE",
        help="the file of what was taught, made if missing, which 'classify --memory' reads; it holds the texts themselves",
    )
    parser.add_argument("--forget", action="store_true", help="forget the text; no label is named")


def run_teach(args: argparse.Namespace) -> None:
    """Teach or forget one text, and write the memory."""
    if (args.label is None) != args.forget:
        raise RetvecLiteError("Name the label of the text, or with --forget the text alone.")
    classifier = load_quietly(args.model, None)
    memory = classifier.memory
    if os.path.lexists(args.memory):
        memory.load(args.memory)
    if args.forget:
        classifier.forget(args.text)
    else:
        classifier.teach(args.text, args.label)
    memory.save(args.memory, force=True)
    print(f"{args.memory}: {counted(len(memory), 'text')}")


def declare_nearest(parser: argparse.ArgumentParser) -> None:
    add_options(parser, nearest, without=("progress",))
    parser.add_argument("--json", action="store_true", help="print JSON Lines instead of score<TAB>text")


def run_nearest(args: argparse.Namespace) -> None:
    """Print one line for each text."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = nearest(**options, progress=not as_json)
    for match in found:
        facts = {**match._asdict(), "score": round(match.score, 4)}
        print(json_line(facts) if as_json else f"{match.score:.4f}\t{one_line(match.text)}")


def declare_duplicates(parser: argparse.ArgumentParser) -> None:
    add_options(parser, duplicates, without=("progress",), output={"metavar": "FILE.csv"})


def run_duplicates(args: argparse.Namespace) -> None:
    """Print how many there are and the largest groups, and write all."""
    with told_warnings():
        found = duplicates(**vars(args), progress=True)
    count = sum(len(group.rows) - 1 for group in found)
    print(f"Groups of near-duplicates: {len(found):,}. Texts that repeat the first of a group: {count:,}.")
    for group in found[: 0 if args.output else _SHOWN]:
        print()
        for row, score, text in zip(group.rows, group.scores, group.texts, strict=True):
            print(f"{row}\t{score:.2f}\t{one_line(text)}")
    if args.output:
        print(f"Written to {args.output}.")


def declare_detect_spans(parser: argparse.ArgumentParser) -> None:
    add_options(parser, detect_spans)
    parser.add_argument(
        "--json", action="store_true", help="print JSON Lines instead of label<TAB>probability<TAB>part"
    )


def run_detect_spans(args: argparse.Namespace) -> None:
    """Print one line for each span."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = detect_spans(**options)
    for span in found:
        part = args.text[span.start : span.end]
        if as_json:
            print(json_line({**span._asdict(), "probability": round(span.probability, 6), "text": part}))
        else:
            print(
                f"{UNKNOWN if span.label is None else one_line(span.label)}\t{span.probability:.4f}\t{one_line(part.strip())}"
            )
