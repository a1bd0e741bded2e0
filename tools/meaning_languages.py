"""Make the meanings of words of other languages that the package has, from pairs of sentences and dictionaries.

    python -m tools.meaning_languages --translations DIR [--out DIR] [--words N] [LANGUAGE ...]

DIR holds files named like `pairs_de.tsv.bz2` and `dictionary_de.tsv.bz2`: English, a tab, the other language. A language takes about a
minute. Finished files stay, so the same command goes on after an interruption.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import retvec_lite as rl

LANGUAGES: Final = (
    "de", "es", "fr", "it", "pt", "nl", "sv", "da", "no", "pl", "cs",
    "ru", "uk", "ro", "hu", "tr", "el", "id", "vi", "ar", "hi", "ko",
)  # fmt: skip
WORDS: Final = 10_000
WEIGHTS: Final = Path(rl.__file__).parent / "weights"

SOURCES: Final = (
    "Pairs: everyday sentences of Tatoeba by way of OPUS-MT and LASER (CC BY 2.0 FR); phrases of Thunderbird and Wikipedia for Android "
    "(Apache-2.0), OpenStreetMap's editor (ISC), mozilla.org (MPL-2.0), Electron (MIT), Home Assistant and tldr pages (CC BY 4.0), "
    "the documentation of TensorFlow (CC BY 4.0; es, ko, pt) and Python (CC0 and PSF; es); names of CLDR (Unicode-3.0); XQuAD (CC BY-SA "
    "4.0), TICO-19 (CC0), translated Wikipedia (CC BY-SA 3.0; hi). Dictionaries: English Wiktionary by way of "
    "open-dsl-dict/wiktionary-dict (CC BY-SA; none for ru, uk). Frequent words: wordfreq (CC BY-SA 4.0)."
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help="tags (default: those in the package)")
    parser.add_argument("--translations", required=True, metavar="DIR", help="folder of the files")
    parser.add_argument("--out", type=Path, default=WEIGHTS, metavar="DIR", help="default: the package")
    parser.add_argument(
        "--words", type=int, default=WORDS, metavar="N", help=f"words of a language (default: {WORDS:,})"
    )
    args = parser.parse_args(arguments)
    for language in args.languages or LANGUAGES:
        make(language, args.translations, args.out / f"meaning_{language}.safetensors", args.words)


def make(language: str, translations: str, out: Path, words: int) -> None:
    """Write the file of a language, unless there is one."""
    if out.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder, "sources.txt")
        about.write_text(SOURCES, encoding="utf-8")
        found = rl.pretrain_meaning(translations=translations, language=language, words=words, about=about, out=out)
    print(f"{language}: {found.card['counts']}; {out.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
