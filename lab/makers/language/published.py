"""Measure the detector by the accuracy test of Lingua (https://github.com/pemistahl/lingua-py, `language-testdata`), beside ELD.

A thousand words, pairs of words and sentences of each language. Our detector was not trained on these texts, and nothing was chosen by them;
what ELD was trained on is not known here.
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import retvec_lite as rl
from benchmarks.common import result_path, write_results
from benchmarks.tables.cells import markdown_table
from makers.language.labels import ROMANIZED
from makers.language.measure import plain, share_text
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import locate

LENGTHS: Final = ("single-words", "word-pairs", "sentences")
"""Folders of the test."""

_TAGS: Final = {"fil": "tl", "nb": "no"}
"""Our tag -> that of ELD and of the test's files: one name for each language. The test has no Nynorsk that ELD tells apart."""

_QUICK: Final = 20


class Rival(NamedTuple):
    """Another detector, limited to no language.

    Attributes:
        name: in the table.
        size: bytes of its file.
        answer: text -> tag.
    """

    name: str
    size: int
    answer: Callable[[str], str]


def published(file: Path | str, texts: Path, *, quick: bool) -> None:
    """Write the table `language_lingua`.

    Args:
        file: the detector.
        texts: folder of the test, with `single-words`, `word-pairs` and `sentences`.
        quick: a few texts of each language; its table has a name of its own.

    Raises:
        RetvecLiteError: without the texts, or without the packages of `lab/benchmarks/requirements-baselines.txt`.
    """
    rivals, known = _rivals()
    ours = [tag for tag in rl.load(file).labels if _tag(tag) in known and tag not in ROMANIZED]
    rows: list[dict[str, Any]] = []
    for name, limit in (("retvec-lite, limited to them", ours), ("retvec-lite", None)):
        detector = rl.load(file, languages=limit)

        def answers(found: Sequence[str], detector: rl.Classifier = detector) -> list[str]:
            return [_tag(answer[0].label or "") for answer in detector.predict_many(found, top=1)]

        rows.append({"detector": name, "size": locate(file).stat().st_size, **_shares(texts, known, answers, quick)})
    for rival in rivals:

        def theirs(found: Sequence[str], rival: Rival = rival) -> list[str]:
            return [rival.answer(text) for text in found]

        shares = _shares(texts, known, theirs, quick)
        rows.append({"detector": rival.name, "size": rival.size, **shares})
    header = [f"{rows[0]['languages']} languages", "file", "words", "pairs", "sentences"]
    cells = [
        [row["detector"], f"{row['size'] / 1e6:.2f} MB", *(share_text(row[length]) for length in LENGTHS)]
        for row in rows
    ]
    write_results(result_path("language_lingua", quick=quick), rows, markdown_table(header, cells))


def _rivals() -> tuple[list[Rival], frozenset[str]]:
    """Return ELD's small and large form, and the languages that it knows."""
    missing = [name for name in ("eld", "eldc") if importlib.util.find_spec(name) is None]
    if missing:
        raise RetvecLiteError(
            f"The package {missing[0]} is not installed. Run: pip install -r lab/benchmarks/requirements-baselines.txt"
        )
    import eld
    import eldc
    from eldc import _eldc

    eldc.init()
    small = eld.LanguageDetector()
    place = Path(eld.__file__).parent / "resources" / "ngrams" / "ngramsM60.py"
    return [
        Rival("ELD 1.0.6 (Python)", place.stat().st_size, lambda text: str(small.detect(text).language)),
        Rival("ELD-C 0.4.0", Path(_eldc.__file__).stat().st_size, eldc.detect),
    ], frozenset(eldc.LANGUAGES)


def _shares(
    folder: Path, known: frozenset[str], answers: Callable[[Sequence[str]], list[str]], quick: bool
) -> dict[str, Any]:
    """Return the mean over the languages of the share of right answers, by length; and how many languages they are."""
    found: dict[str, Any] = {}
    for length in LENGTHS:
        shares = []
        for tag, texts in _read(folder / length, known):
            texts = texts[: _QUICK if quick else None]
            shares.append(sum(answer == tag for answer in answers(texts)) / len(texts))
        found |= {length: sum(shares) / len(shares), "languages": len(shares)}
    return found


def _read(folder: Path, known: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise RetvecLiteError(
            f"No texts in {folder}. Clone https://github.com/pemistahl/lingua-py and name its folder language-testdata with --texts."
        )
    for path in files:
        tag = _TAGS.get(path.stem, path.stem)
        if tag in known:
            yield tag, path.read_text(encoding="utf-8").splitlines()


def _tag(label: str) -> str:
    return _TAGS.get(plain(label), plain(label))
