"""Training of the packaged language detector, and its files: weights, `.tflite` and model card."""

import dataclasses
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from makers.language.draw import EVERYDAY_TEXTS, UNKNOWN_TEXTS, draw
from makers.language.labels import LABELS, MERGED, UNKNOWN, WEIGHTS
from makers.language.low_rank import LowRank, Texts, curvature, fit, read_texts, share_rows, weights_of
from makers.language.sources import SPELLED, read_sources
from makers.stage import Arrays, Stage
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.export import export_model
from retvec_lite.decision import Decision
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.terminal import watched
from retvec_lite.windows import describe_reading

ENCODER: Final = EncoderConfig(max_chars=128, max_words=1, letters_only=True)
RANK: Final = 96
CODEBOOKS: Final = 8
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


class Drawn(NamedTuple):
    """Training texts as arrays.

    Attributes:
        texts: composed and read.
        labels: places in `LABELS`, int64 `[texts]`.
        places: tag -> source -> words or sentences that were drawn from.
    """

    texts: Texts
    labels: "np.typing.NDArray[np.int64]"
    places: Mapping[str, Mapping[str, int]]


def drawn_texts(folder: Path, data: Path, share: float, seed: int) -> Drawn:
    """Return training texts, of another draw for each seed; they are drawn once.

    The later draw has more texts in no language and more everyday words: codebooks blur what has little weight.
    """

    def make() -> Arrays:
        sources = read_sources(data)
        drawn = draw(sources, seed, share, UNKNOWN_TEXTS * (5 if seed else 1), EVERYDAY_TEXTS if seed else 0)
        texts = read_texts(drawn.texts, ENCODER)
        places = json.dumps({tag: found.places for tag, found in sources.items()})
        codes = texts.codes.astype(np.int32)
        return {"codes": codes, "starts": texts.starts, "labels": drawn.labels, "places": np.asarray(places)}

    def read(found: Arrays) -> Drawn:
        texts = Texts(found["codes"].astype(np.int64), found["starts"])
        return Drawn(texts, found["labels"].astype(np.int64), json.loads(str(found["places"])))

    return Stage(folder / f"texts{seed}.npz", {"share": share}).once(make, read)


def train(folder: Path, data: Path, *, quick: bool) -> TrainedModel:
    """Train the detector and write its files, or go on where an earlier call was interrupted.

    Args:
        folder: of the files and of what is done.
        data: of the data sets.
        quick: a hundredth of the texts, read once.
    """
    share, epochs, tune = (0.01, 1.0, 1.0) if quick else (1.0, 2.0, 4.0)

    def fit_table() -> Arrays:
        drawn = drawn_texts(folder, data, share, 0)
        with watched(True) as progress:
            found = fit(drawn.texts, drawn.labels, len(LABELS), FULL, epochs=epochs, rate=0.04, progress=progress)
        return vars(found)

    on: dict[str, Any] = {"share": share, "epochs": epochs}
    full = Stage(folder / "full.npz", on).once(fit_table, lambda arrays: LowRank(**arrays))
    drawn = drawn_texts(folder, data, share, 1)

    def fit_codebooks() -> Arrays:
        start, codes = shared(full, drawn.texts)
        with watched(True) as progress:
            found = fit(
                drawn.texts, drawn.labels, len(LABELS), SHARED, epochs=tune, rate=0.01, start=start, codes=codes,
                progress=progress,
            )  # fmt: skip
        return {**vars(found), "codes": codes}

    def read(arrays: Arrays) -> tuple[LowRank, Floats]:
        codes = arrays.pop("codes")
        return LowRank(**arrays), codes

    tuned, codes = Stage(folder / "shared.npz", {**on, "tune": tune}).once(fit_codebooks, read)
    facts = {
        "made_by": "python -m makers.language train",
        "texts": len(drawn_texts(folder, data, share, 0).texts) + len(drawn.texts),
        "passes": [epochs, tune],
        "data": "Unilex, FrequencyWords, wordfreq, CLDR, UDHR, Tatoeba, MASSIVE, translations, starter texts: see language.md",
    }
    model = classifier(tuned, codes, facts)
    write(model, folder, drawn.places)
    return model


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


def write(model: TrainedModel, out: Path, places: Mapping[str, Mapping[str, int]]) -> None:
    """Write the weights, the `.tflite` and the model card."""
    atomic_write(out / "language.safetensors", model.to_bytes())
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder) / "dist"
        report = export_model(model, dist, formats=["tflite", "engine"])
        print(report)
        for suffix in (".tflite", ".retvec"):
            atomic_write(out / f"language{suffix}", (dist / f"classifier-int8{suffix}").read_bytes())
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
        f"{SHARED.longest} characters |",
        f"| weights | {SHARED.codebooks} codebooks of 256 rows of {SHARED.rank} numbers, 8 bits each; a dense layer to the labels |",
        f"| made by | `python -m makers.language train`: {model.training['texts']:,} drawn texts, "
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
        "Malay; Czech and Slovak; Chinese, Cantonese and Wu; Arabic and its dialects. docs/language.md names the weakest.",
        "- Hindi, Japanese, Greek and Russian in Latin letters have labels of their own (`hi-Latn`, ...): their training texts were "
        "spelled by rules, not by people. Other languages are known in Latin letters only where the sources have it: Serbian, Uzbek, "
        "Uyghur, Kurdish, Tatar.",
        "- A text in two languages gets one of them; `rl.detect_spans` says where each is.",
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
    return [tag for tag in model.labels if tag in places and not {"Tatoeba", "MASSIVE", SPELLED} & set(places[tag])]
