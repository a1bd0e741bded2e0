"""Train the packaged language detector, and write it with its weights and its model card.

    python -m tools.language_detector.train [--data DIR] [--work DIR] [--out DIR] [--share 1] [--epochs 2] [--tune 3] [--quick]

The full table and the codebooks are fitted on two draws of texts. Steps that are done already are read from the folder `--work`.
"""

import dataclasses
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import ROOT, WORK, command_parser
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.export import export_model
from retvec_lite.decision import Decision
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.terminal import watched
from retvec_lite.windows import describe_reading
from tools.language_detector.draw import EVERYDAY_TEXTS, UNKNOWN_TEXTS, draw
from tools.language_detector.labels import LABELS, MERGED, UNKNOWN, WEIGHTS
from tools.language_detector.low_rank import LowRank, Texts, curvature, fit, read_texts, share_rows, weights_of
from tools.language_detector.sources import read_sources

ENCODER: Final = EncoderConfig(max_chars=128, max_words=1, letters_only=True)
RANK: Final = 48
CODEBOOKS: Final = 6
LONGEST: Final = 5

FULL: Final = NgramConfig(buckets=PRIME, longest=LONGEST, rank=RANK)
SHARED: Final = NgramConfig(buckets=256 * CODEBOOKS, longest=LONGEST, codebooks=CODEBOOKS, rank=RANK)
"""The table that is fitted first, with a row for each hash, and the one that ships."""

_PRIOR: Final = 0.15
_NOTHING: Final = 2.0
"""What is added to the bias: a share of the logarithm of a language's weight, and so much for texts in no language. Validation texts
and greetings chose both. Widely written languages gain from the first; others lose a little."""

_CERTAIN: Final = 0.1
"""By how much texts in no language have the largest bias, so that a text without letters is unknown."""

_COUNTED: Final = 200_000
"""Texts that tell what an error in each row costs."""

_EVEN: Final = 0.1
"""How much the directions in which an error costs little still count: an error that is not small gets there too."""


def texts_of(work: Path, data: Path, share: float, seed: int) -> tuple[Texts, np.typing.NDArray[Any]]:
    """Return training texts and their labels, of another draw for each seed; they are drawn once.

    The later draws have more texts in no language and more everyday words: codebooks blur what has little weight.
    """
    file = work / f"texts-{seed}-{share}.npz"
    if not file.is_file():
        sources = read_sources(data)
        (work / "sources.json").write_text(json.dumps({tag: found.places for tag, found in sources.items()}))
        drawn = draw(sources, seed, share, UNKNOWN_TEXTS * (5 if seed else 1), EVERYDAY_TEXTS if seed else 0)
        texts = read_texts(drawn.texts, ENCODER)
        np.savez(file, codes=texts.codes.astype(np.int32), starts=texts.starts, labels=drawn.labels)
    with np.load(file) as found:
        return Texts(found["codes"].astype(np.int64), found["starts"]), found["labels"].astype(np.int64)


def fitted(work: Path, name: str, make: Any) -> tuple[LowRank, Floats | None]:
    """Return the fitted part of a file in `work`, with its codes if any; `make` makes it once."""
    file = work / f"{name}.npz"
    if not file.is_file():
        model, codes = make()
        more = {} if codes is None else {"codes": codes}
        np.savez(file, rows=model.rows, projection=model.projection, bias=model.bias, **more)
    with np.load(file) as found:
        return LowRank(found["rows"], found["projection"], found["bias"]), found.get("codes")


def shared(model: LowRank, texts: Texts) -> tuple[LowRank, Floats]:
    """Return a full table as codebooks, and the codes.

    Errors of rows are measured where they count, in the loss: the rows are turned so that an error costs the same in all directions.
    """
    chosen = np.random.default_rng(0).choice(len(texts), min(_COUNTED, len(texts)), replace=False)
    second, costs = curvature(model, texts, chosen, FULL)
    turn = np.linalg.cholesky(second + _EVEN * np.trace(second) / RANK * np.eye(RANK))
    # The power keeps rare n-grams, which tell languages apart, from counting nothing.
    weights = (costs / costs.mean()) ** 0.75 + 0.02
    books, codes = share_rows((model.rows @ turn).astype(np.float32), weights, CODEBOOKS, rounds=10)
    projection = np.linalg.solve(turn, model.projection).astype(np.float32)
    return LowRank(books, projection, model.bias), codes


def classifier(model: LowRank, codes: Floats, facts: dict[str, Any]) -> TrainedModel:
    """Return the classifier that ships."""
    decision = Decision(unknown_label=UNKNOWN)
    prior = np.array([_NOTHING if label == UNKNOWN else _PRIOR * np.log(WEIGHTS.get(label, 1.0)) for label in LABELS])
    bias = (model.bias + prior).astype(np.float32)
    # A text without letters has nothing but the bias.
    bias[LABELS.index(UNKNOWN)] = max(bias[LABELS.index(UNKNOWN)], bias.max() + _CERTAIN)
    model = dataclasses.replace(model, bias=bias)
    weights = weights_of(model, codes)
    return TrainedModel(ENCODER, NgramHead(), LABELS, weights, {"name": "none"}, facts, SHARED, decision)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True, quick="few texts, to try the command")
    parser.add_argument("--work", type=Path, default=WORK / "language", metavar="DIR", help="folder of the steps")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "retvec_lite" / "prebuilt", metavar="DIR", help="where to write"
    )
    parser.add_argument("--share", type=float, default=1.0, help="training texts, next to the numbers in draw.py")
    parser.add_argument("--epochs", type=float, default=2.0, help="passes that fit the full table")
    parser.add_argument("--tune", type=float, default=3.0, help="passes that fit the codebooks")
    args = parser.parse_args(arguments)
    if args.quick:
        args.share, args.epochs, args.tune = 0.01, 1.0, 1.0
    args.work.mkdir(parents=True, exist_ok=True)

    def fit_full() -> tuple[LowRank, None]:
        texts, labels = texts_of(args.work, args.data, args.share, 0)
        with watched(True) as progress:
            found = fit(texts, labels, len(LABELS), FULL, rank=RANK, epochs=args.epochs, rate=0.04, progress=progress)
        return found, None

    full, _ = fitted(args.work, f"full-{args.share}-{args.epochs}", fit_full)

    texts, labels = texts_of(args.work, args.data, args.share, 1)

    def fit_shared() -> tuple[LowRank, Floats]:
        start, codes = shared(full, texts)
        with watched(True) as progress:
            found = fit(
                texts, labels, len(LABELS), SHARED, rank=RANK, epochs=args.tune, rate=0.01, start=start, codes=codes,
                progress=progress,
            )  # fmt: skip
        return found, codes

    tuned, codes = fitted(args.work, f"shared-{args.share}-{args.epochs}-{args.tune}", fit_shared)
    assert codes is not None
    facts = {
        "made_by": "tools/language_detector/train.py",
        "texts": sum(len(texts_of(args.work, args.data, args.share, seed)[0]) for seed in (0, 1)),
        "passes": [args.epochs, args.tune],
        "data": "Unilex, FrequencyWords, wordfreq, CLDR, UDHR, Tatoeba, MASSIVE, translations, starter texts: see language.md",
    }
    write(classifier(tuned, codes, facts), args.out, json.loads((args.work / "sources.json").read_text()))


def write(model: TrainedModel, out: Path, places: dict[str, dict[str, int]]) -> None:
    """Write the weights, the `.tflite` and the model card."""
    out.mkdir(parents=True, exist_ok=True)
    atomic_write(out / "language.safetensors", model.to_bytes())
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder) / "dist"
        report = export_model(model, dist)
        print(report)
        atomic_write(out / "language.tflite", (dist / "classifier-int8.tflite").read_bytes())
    atomic_write(out / "language.md", model_card(model, places).encode())


_LICENCES: Final = {
    "unilex": ("[Unilex](https://github.com/unicode-org/unilex): words by frequency", "Unicode licence v3"),
    "freqwords": ("[FrequencyWords](https://github.com/hermitdave/FrequencyWords), subtitles of 2018: words by frequency", "CC BY-SA 4.0"),
    "wordfreq": ("[wordfreq](https://github.com/rspeer/wordfreq) 3.1: words by frequency", "Apache-2.0, data CC BY-SA 4.0"),
    "CLDR": ("CLDR, in Babel 2.18: names of days and months", "Unicode licence v3"),
    "UDHR": ("[Universal Declaration of Human Rights](https://github.com/wooorm/udhr): sentences, without articles 6, 12, 18, 24 and 30", "MIT (collection)"),
    "Tatoeba": ("[Tatoeba](https://tatoeba.org), a training split: sentences", "CC BY 2.0 FR"),
    "MASSIVE": ("[MASSIVE](https://github.com/alexa/massive) 1.1, training split, at most 2,500 texts of a language: commands", "CC BY 4.0"),
    "translations": ("short sentences of everyday life and of programs, which have English translations", "CC BY 2.0 FR and 4.0, CC0, Apache-2.0, MIT, ISC, MPL-2.0, Unicode licence v3 and others"),
    "starter": ("[starter texts](../starter/README.md) of this project: messages", "Apache-2.0"),
}  # fmt: skip
"""Source -> what it is, and its licence."""


def model_card(model: TrainedModel, places: Mapping[str, Mapping[str, int]]) -> str:
    """Return the card as Markdown.

    Args:
        model: the classifier.
        places: tag -> source -> words or sentences that it was drawn from.
    """
    lines = [
        "# `language.tflite`",
        "",
        'Tells which language a text is in. `retvec-lite classify language TEXT`, `rl.load("language")`. '
        "`language.safetensors` has its weights, for `retvec-lite export language --out DIST`.",
        "",
        "| | |",
        "|---|---|",
        f"| labels | {len(model.labels) - 1} languages as BCP 47 tags. A text in no language (numbers, emoji, links, code, products) gets none |",
        f"| reads | letters among {describe_reading(model.encoder)}, and no links, addresses, mentions or hashtags: hashed n-grams of 1 to "
        f"{model.ngrams.longest} characters |",
        f"| weights | {model.ngrams.codebooks} codebooks of 256 rows of {model.ngrams.rank} numbers, 8 bits each; a dense layer to the labels |",
        f"| made by | `python -m tools.language_detector.train`: {model.training['texts']:,} drawn texts, "
        f"{' and '.join(map(str, model.training['passes']))} passes; no GPU |",
        "| training texts | words by frequency, pairs, phrases of three to five words, sentences; 64 % of them mistyped; everyday words and brief sentences as they are; some in upper "
        "case, title case or without diacritics, some with a site or a product behind them; more of the languages that are written most |",
        "| license | weights and code Apache-2.0; the weights hold sums over n-grams of the sources below, no text of theirs |",
        "| measured | [docs/language.md](../../docs/language.md) |",
        "",
        "## Sources",
        "",
        "| source | licence | languages | words or sentences |",
        "|---|---|---:|---:|",
    ]
    for source, (what, licence) in _LICENCES.items():
        found = [counts[source] for counts in places.values() if source in counts]
        lines.append(f"| {what} | {licence} | {len(found)} | {sum(found):,} |")
    lines += [
        "",
        "Texts that are also among the test texts were left out.",
        "",
        "## One label for several",
        "",
        "| what | label | why |",
        "|---|---|---|",
        *(f"| {what} | {label} | {why} |" for what, (label, why) in MERGED.items()),
        "",
        "## Limits",
        "",
        "- One word is often a word of several languages. The answer is then the language that is written more.",
        "- Close languages are confused, most of all in single words: Bosnian, Croatian and Serbian; Danish and Norwegian; Indonesian and "
        "Malay; Czech and Slovak; Chinese, Cantonese and Wu; Arabic and its dialects. docs/language.md has a picture.",
        "- Romanised text is known only where the sources have it: Serbian, Uzbek, Uyghur, Kurdish, Tatar, and some Hindi.",
        "- A text in two languages gets one of them.",
        "- Of some languages there is no more than one declaration and a list of words to learn from: "
        + ", ".join(f"`{tag}`" for tag in _poor(model, places))
        + ".",
        "- Odia (`or`) was learned from a list of words alone.",
        "",
        f"## Labels\n\n{', '.join(f'`{label}`' for label in model.labels if label != UNKNOWN)}",
        "",
    ]
    return "\n".join(lines)


def _poor(model: TrainedModel, places: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the languages without sentences from people."""
    return [tag for tag in model.labels if tag in places and not {"Tatoeba", "MASSIVE"} & set(places[tag])]


if __name__ == "__main__":
    main()
