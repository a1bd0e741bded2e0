"""Near-duplicates of questions: precision at 90 % recall of `rl.duplicates`' score, of embeddings alone, of n-grams alone, and of both.

    python -m benchmarks.experiments.duplicates FILE [FILE ...] [--test] [--show N]

To 1,000 questions of Banking77 and CLINC150 a copy is added that is mistyped (three words in ten), or reordered, or has a greeting or a
"please"; to every question that has one, another in which one noun is replaced by another; and 3,000 more questions. The copies are to be
found, among all pairs of texts. Beside them, and counted by themselves, stand 500 pairs of questions that people put in other words: English
sentences of Tatoeba with one translation.

What else is found may be a duplicate nobody planted, since people ask the same twice. So precision has two figures: the lower counts all
such pairs as wrong, the other one only those with a replaced noun. `--show` prints some of them, to be judged by hand.
"""

import bz2
import collections
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import retvec_lite as rl
from benchmarks.common import command_parser, write_results
from benchmarks.common import result_path as path_of
from benchmarks.data.sets import load_corpus
from benchmarks.tables.cells import markdown_table
from retvec_lite.data.copies import find_copies, read_words, words_and_signs
from retvec_lite.data.typos import mistype
from retvec_lite.searching import PairScore

EACH: Final = 500
"""Questions of a set that get a copy."""
OTHERS: Final = 1000
RECALL: Final = 0.9
_COSINE: Final = 0.65
_GRAMS: Final = 0.3
"""Least cosines of embeddings and n-grams of the pairs that are scored, or twice as much of n-grams: others count as not found."""
_NOUN: Final = re.compile(r"\b(my|the|a|an|your|this|any|new)\s+([a-z]{3,})\b", re.IGNORECASE)
_NO_NOUNS: Final = frozenset(
    [
        "new",
        "same",
        "other",
        "first",
        "last",
        "next",
        "best",
        "right",
        "few",
        "little",
        "lot",
        "way",
        "one",
        "following",
    ]
)
_BEFORE_LAST: Final = re.compile(r"\s(when|if|while|after|before|for|on|in|from|at|with|because|to)\s")
_FRONT: Final = ("please tell me, ", "hi, ", "can you tell me: ", "hello there, ", "quick question: ")
_BEHIND: Final = (" please", " thanks", ", can you help me", " thank you")


class Questions(NamedTuple):
    """Texts; pairs of places that are duplicates, with their kind; and the places of texts with a replaced noun."""

    texts: list[str]
    pairs: dict[tuple[int, int], str]
    replaced: set[int]


def make_questions(data: Path, part: str) -> Questions:
    draw = random.Random(5)
    found = Questions([], {}, set())
    for name in ("Banking77", "CLINC150"):
        corpus = load_corpus(data, name)
        source = [text for text in dict.fromkeys(getattr(corpus, part).texts) if 4 <= len(text.split()) <= 25]
        draw.shuffle(source)
        nouns = nouns_of(source)
        for number, text in enumerate(source[:EACH]):
            is_mistyped = number % 2 == 0
            copy = mistype(text, 0.3, seed=number) if is_mistyped else reordered(text, draw)
            _add(found, text, copy, "mistyped" if is_mistyped else "reordered, greeted", nouns, draw)
        found.texts.extend(source[EACH : EACH + OTHERS])
    pairs, others = paraphrases(data / "translations")
    draw.shuffle(pairs)
    nouns = nouns_of(others)
    for text, copy in pairs[:EACH] if part == "validation" else pairs[EACH : 2 * EACH]:
        _add(found, text, copy, "in other words", nouns, draw)
    found.texts.extend(draw.sample(others, OTHERS))
    return found


def _add(found: Questions, text: str, copy: str, kind: str, nouns: Sequence[str], draw: random.Random) -> None:
    found.texts.append(text)
    if copy != text:
        found.pairs[len(found.texts) - 1, len(found.texts)] = kind
        found.texts.append(copy)
    places = [place for place in _NOUN.finditer(text) if place[2].lower() in nouns]
    if places:
        place = draw.choice(places)
        noun = draw.choice([noun for noun in nouns if noun.rstrip("s") != place[2].lower().rstrip("s")])
        found.replaced.add(len(found.texts))
        found.texts.append(text[: place.start(2)] + noun + text[place.end(2) :])


def nouns_of(texts: Sequence[str]) -> list[str]:
    """Return the words that follow an article or the like three times or more."""
    counts = collections.Counter(place[2].lower() for text in texts for place in _NOUN.finditer(text))
    return [word for word, count in counts.items() if count >= 3 and word not in _NO_NOUNS]


def reordered(text: str, draw: random.Random) -> str:
    """Return a text with its last phrase in front, or with words of politeness."""
    places = list(_BEFORE_LAST.finditer(text))
    if places and draw.random() < 0.7:
        first, last = text[: places[-1].start()].rstrip(" ?.!"), text[places[-1].start() + 1 :].rstrip(" ?.!")
        if min(len(first.split()), len(last.split())) > 1:
            return f"{last}, {first}"
    return draw.choice(_FRONT) + text if draw.random() < 0.5 else text.rstrip(" ?.!") + draw.choice(_BEHIND)


def paraphrases(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return pairs of English questions with one translation, none with a question of another pair, and questions of no pair."""
    same: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    for path in sorted(folder.glob("pairs_*.tsv.bz2")):
        with bz2.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                english, other = line.rstrip("\n").split("\t")[:2]
                if english.endswith("?") and len(english.split()) >= 4:
                    same[path.name, other].add(english)
    pairs, taken = list[tuple[str, str]](), set[str]()
    for group in same.values():
        if len(group) > 1:
            first, second = sorted(group)[:2]
            if not taken & {first, second} and read_words([first]) != read_words([second]):
                pairs.append((first, second))
            taken |= group
    return pairs, sorted({text for group in same.values() for text in group} - taken)


def measure(questions: Questions, scores: Any, pairs: list[tuple[int, int]], show: int = 0) -> dict[str, Any]:
    """Return the figures where so many of the planted copies are found as `RECALL` says, of pairs with a score each."""
    kinds = np.array([questions.pairs.get(pair, "") for pair in pairs], object)
    planted = (kinds != "") & (kinds != "in other words")
    wanted = sum(kind != "in other words" for kind in questions.pairs.values())
    threshold = np.sort(scores[planted])[::-1][int(RECALL * wanted) - 1]
    found = scores >= threshold
    replaced = np.array([not questions.replaced.isdisjoint(pair) for pair in pairs])
    right, unplanted = int((found & planted).sum()), found & (kinds == "")
    for place in random.Random(0).sample(np.flatnonzero(unplanted & ~replaced).tolist(), show):
        print(f"{scores[place]:.2f}", *(questions.texts[row] for row in pairs[place]), sep=" | ")
    recall = {
        kind: float((found & (kinds == kind)).sum() / list(questions.pairs.values()).count(kind))
        for kind in sorted({*questions.pairs.values()})
    }
    return {
        "threshold": float(threshold),
        "precision": right / (right + int(unplanted.sum())),
        "precision_nouns": right / (right + int((unplanted & replaced).sum())),
        "unplanted": int((unplanted & ~replaced).sum()),
        "recall": recall,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True)
    parser.add_argument("files", nargs="+", metavar="FILE", help="what `rl.load` takes")
    parser.add_argument("--test", action="store_true", help="questions of the test splits")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many pairs that nobody planted")
    args = parser.parse_args(arguments)
    questions = make_questions(args.data, "test" if args.test else "validation")
    words = words_and_signs(questions.texts)
    grams = ngram_cosines([" ".join(each) for each in words])
    rows: list[Any] = []
    for file in args.files:
        vectors = rl.load(file).embed(questions.texts)
        cosines = vectors @ vectors.T
        likely = np.triu(((cosines >= _COSINE) & (grams >= _GRAMS)) | (grams >= 2 * _GRAMS), 1)
        pairs = [(one, other) for one, other in np.argwhere(likely).tolist() if words[one] != words[other]]
        first, second = np.array(pairs).T
        score = PairScore(words, vectors)
        by = {
            "n-grams alone": grams[first, second],
            "embeddings alone": cosines[first, second],
            "mean of both": (grams[first, second] + cosines[first, second]) / 2,
            "`duplicates`": np.array([score(*pair) for pair in pairs]),
        }
        for name, values in by.items():
            shown = args.show if name == "`duplicates`" else 0
            rows.append({"file": Path(file).name, "score": name, **measure(questions, values, pairs, shown)})
    groups = find_copies(questions.texts)
    copies = [kind for (one, other), kind in questions.pairs.items() if groups[one] == groups[other]]
    table = [
        [
            row["file"],
            row["score"],
            f"{row['threshold']:.2f}",
            f"{row['precision']:.2f}",
            f"{row['precision_nouns']:.2f}",
            *(f"{value:.2f}" for value in row["recall"].values()),
        ]
        for row in rows
    ]
    header = [
        "file",
        "score",
        "threshold",
        "precision, all others wrong",
        "replaced nouns wrong",
        *(f"recall: {kind}" for kind in rows[0]["recall"]),
    ]
    found = ", ".join(f"{kind}: {copies.count(kind)}" for kind in rows[0]["recall"])
    text = f"{len(questions.texts):,} questions, {len(questions.pairs):,} pairs\n\n{markdown_table(header, table)}\n`data.copies` finds {found}\n"
    write_results(path_of("duplicates", quick=not args.test), rows, text)


def ngram_cosines(texts: Sequence[str]) -> Any:
    """Return the cosines of TF-IDF of character n-grams of all pairs, float32 `[texts, texts]`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(texts)
    return (found @ found.T).toarray().astype(np.float32)


if __name__ == "__main__":
    main()
