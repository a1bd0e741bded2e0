"""Make what words mean: those of a language of your own from open text, those of other languages from translations.

python -m makers.meaning texts TEXTS... --valence CSV --about FILE
python -m makers.meaning languages DIR
python -m makers.meaning pieces DIR
"""

import argparse
import sys
from pathlib import Path

from makers.command import Command
from retvec_lite.files import atomic_write
from retvec_lite.model.meaning_file import MeaningFile


def texts(args: argparse.Namespace) -> None:
    """Learn what the words of a language mean from open text."""
    from makers.meaning.texts import Settings, learn_texts
    from retvec_lite.data.lines import read_text
    from retvec_lite.terminal import watched

    about = "" if args.about is None else read_text(args.about)
    settings = Settings(passes=1, steps=20) if args.quick else Settings()
    folder = args.out / f"meaning_{args.language}"
    with watched(True) as progress:
        found = learn_texts(
            args.texts, args.language, folder, progress, settings=settings, valence=args.valence, about=about
        )
    _save(found, folder.with_suffix(".safetensors"))


def languages(args: argparse.Namespace) -> None:
    """Learn words of other languages from translations; those that are done stay."""
    from makers.meaning.languages import LANGUAGES, learn_language
    from retvec_lite.terminal import watched

    for language in args.languages or LANGUAGES[: 1 if args.quick else None]:
        file = args.out / f"meaning_{language}.safetensors"
        if not file.exists():
            with watched(True) as progress:
                found = learn_language(language, args.translations, progress)
            _save(found, file)


def pieces(args: argparse.Namespace) -> None:
    """Learn pieces of languages without a table from translations; those that are done stay."""
    from makers.meaning.pieces import LANGUAGES, learn_pieces
    from retvec_lite.terminal import watched

    for language in args.languages or LANGUAGES[: 1 if args.quick else None]:
        file = args.out / f"pieces_{language}.safetensors"
        if not file.exists():
            with watched(True) as progress:
                found = learn_pieces(language, args.translations, progress)
            atomic_write(file, found.to_bytes())
            print(f"{found.card['counts']}.\nWritten to {file}.")


def _save(found: MeaningFile, file: Path) -> None:
    atomic_write(file, found.to_bytes())
    print(
        f"{found.card['counts']}.\nWritten to {file}. Train a classifier with it: retvec-lite train DATA --meaning {file}"
    )


def command() -> Command:
    """Declare the command line."""
    found = Command("meaning", __doc__)
    parser = found.add("texts", texts)
    parser.add_argument(
        "texts",
        nargs="+",
        type=Path,
        metavar="TEXTS",
        help="UTF-8 text files, a sentence or paragraph a line, in which neighbouring lines belong together: .txt, also packed",
    )
    parser.add_argument("--language", default="en", metavar="TAG", help="of the texts (default: en)")
    parser.add_argument(
        "--valence",
        type=Path,
        metavar="CSV",
        help="columns word and mean, how good or bad a word is: neighbours confuse good with bad (default: none)",
    )
    parser.add_argument(
        "--about", type=Path, metavar="FILE", help="text about the sources and their licences, for the model card"
    )
    for name, run in (("languages", languages), ("pieces", pieces)):
        parser = found.add(name, run)
        parser.add_argument(
            "translations",
            type=Path,
            metavar="DIR",
            help="folder of files named like pairs_de.tsv.bz2 and dictionary_de.tsv.bz2: English, a tab, the other language",
        )
        parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help="tags (default: those in the package)")
    return found


if __name__ == "__main__":
    sys.exit(command().main())
