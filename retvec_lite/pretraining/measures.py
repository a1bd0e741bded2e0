"""What is measured of an embedding: right words found, cosines of pairs, by language, kind of typo, script and precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.model import load_tensorflow
from retvec_lite.model.weight_files import LAYERS, Embedding
from retvec_lite.pretraining.retrieval import RetrievalSet, normalized
from retvec_lite.pretraining.word_typos import Indices, Mask

FLOAT32: Final = "float32"
PRECISIONS: Final = ("int8", "int4")
"""Those besides float32."""

_ROWS: Final = 1024
"""Words embedded at once: their hidden layers (a megabyte each) stay in the processor's cache."""

_QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Share:
    """How many of so many queries have the right one as their nearest candidate by cosine."""

    found: int
    queries: int

    @property
    def share(self) -> float:
        """The share, from 0 to 1."""
        return self.found / self.queries


@dataclass(frozen=True)
class SetScores:
    """One embedding on one retrieval set.

    Attributes:
        name: the set's.
        source: where its words come from.
        found: precision -> right words found.
        cosine_to_float: precision (but float32) -> mean cosine of the candidates' embeddings to the float32 ones.
        pairs: float32 [Q], cosine of each word and its mistyped form.
        randoms: float32 [Q], cosine of each word and the mistyped form of another.
        kinds: kind of typo -> right words found of words mistyped by it alone.
        scripts: script of the right word -> right words found.
    """

    name: str
    source: str
    found: Mapping[str, Share]
    cosine_to_float: Mapping[str, float]
    pairs: Floats
    randoms: Floats
    kinds: Mapping[str, Share]
    scripts: Mapping[str, Share]

    @property
    def gap(self) -> float:
        """How far the mean cosine of pairs is above that of random pairs."""
        return float(self.pairs.mean() - self.randoms.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "name": self.name,
            "source": self.source,
            "queries": self.found[FLOAT32].queries,
            "found": {precision: round(found.share, 5) for precision, found in self.found.items()},
            "cosine_to_float32": {name: round(cosine, 6) for name, cosine in self.cosine_to_float.items()},
            "pair_cosine": _distribution(self.pairs),
            "random_cosine": _distribution(self.randoms),
            "gap": round(self.gap, 5),
        }


@dataclass(frozen=True)
class FileScores:
    """One embedding on everything.

    Attributes:
        name: how reports call the file.
        languages: a score for each language, in the order of the sets.
        misspellings: people's own, where they were asked for.
    """

    name: str
    languages: tuple[SetScores, ...]
    misspellings: SetScores | None

    def found(self, precision: str) -> float:
        """Return the share of right words found, mean over languages."""
        return float(np.mean([scores.found[precision].share for scores in self.languages]))

    def cosine_to_float(self, precision: str) -> float:
        """Return the cosine to the float32 embeddings, mean over languages."""
        return float(np.mean([scores.cosine_to_float[precision] for scores in self.languages]))

    def cosines(self) -> tuple[float, float]:
        """Return the cosine of pairs and of random pairs, mean over languages."""
        pairs, randoms = zip(*((scores.pairs.mean(), scores.randoms.mean()) for scores in self.languages), strict=True)
        return float(np.mean(pairs)), float(np.mean(randoms))

    def kinds(self) -> dict[str, Share]:
        """Return the right words found for each kind of typo, of the words of all languages together."""
        return _pooled([scores.kinds for scores in self.languages])

    def scripts(self) -> dict[str, Share]:
        """Return the right words found for each script, of the words of all languages together, most words first."""
        shares = _pooled([scores.scripts for scores in self.languages])
        return dict(sorted(shares.items(), key=lambda item: (-item[1].queries, item[0])))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        pair_cosine, random_cosine = self.cosines()
        return {
            "name": self.name,
            "mean": {
                "found": {precision: round(self.found(precision), 5) for precision in (FLOAT32, *PRECISIONS)},
                "cosine_to_float32": {precision: round(self.cosine_to_float(precision), 6) for precision in PRECISIONS},
                "pair_cosine": round(pair_cosine, 5),
                "random_cosine": round(random_cosine, 5),
                "gap": round(pair_cosine - random_cosine, 5),
            },
            "languages": [scores.to_dict() for scores in self.languages],
            "kinds": _shares(self.kinds()),
            "scripts": _shares(self.scripts()),
            "misspellings": None if self.misspellings is None else self.misspellings.to_dict(),
        }


def score(rounded: Mapping[str, Embedding], asked: RetrievalSet) -> SetScores:
    """Score an embedding, as from `at_every_precision`, on one set; kinds of typos and scripts in float32 only."""
    answers, found, cosines = asked.queries.answers, {}, {}
    exact = rounded[FLOAT32]
    candidates, queries = embed(exact, asked.candidates), embed(exact, asked.queries.words)
    right = _right(candidates, queries, answers)
    for precision, embedding in rounded.items():
        if embedding is exact:
            found[precision], cosines[precision] = _share(right), 1.0
        else:
            others = embed(embedding, asked.candidates)
            found[precision] = _share(_right(others, embed(embedding, asked.queries.words), answers))
            cosines[precision] = float(_cosines(candidates, others).mean())
    del cosines[FLOAT32]
    kinds = {
        kind: _share(_right(candidates, embed(exact, mistyped.words), mistyped.answers))
        for kind, mistyped in asked.by_kind.items()
    }
    scripts = np.asarray(asked.scripts())
    words = candidates[answers]
    # Answers are in order of frequency: half the list away is another word, not its neighbour in the alphabet.
    others = np.roll(queries, max(len(queries) // 2, 1), axis=0)
    return SetScores(
        asked.name,
        asked.source,
        found,
        cosines,
        _cosines(words, queries),
        _cosines(words, others),
        kinds,
        {str(script): _share(right[scripts == script]) for script in np.unique(scripts)},
    )


def better_in(one: FileScores, other: FileScores) -> tuple[int, list[str]]:
    """Return in how many languages `one` finds more right words than `other` (float32), and where it finds fewer."""
    leads = {
        mine.name: mine.found[FLOAT32].found - theirs.found[FLOAT32].found
        for mine, theirs in zip(one.languages, other.languages, strict=True)
    }
    return sum(lead > 0 for lead in leads.values()), [name for name, lead in leads.items() if lead < 0]


def _right(candidates: Floats, queries: Floats, answers: Indices) -> Mask:
    nearest: Mask = (queries @ candidates.T).argmax(axis=1) == answers
    return nearest


def _share(right: Mask) -> Share:
    return Share(int(right.sum()), len(right))


def _cosines(one: Floats, other: Floats) -> Floats:
    cosines: Floats = np.einsum("nd,nd->n", one, other)
    return cosines


def _pooled(shares: Sequence[Mapping[str, Share]]) -> dict[str, Share]:
    pooled: dict[str, Share] = {}
    for mapping in shares:
        for name, share in mapping.items():
            before = pooled.get(name, Share(0, 0))
            pooled[name] = Share(before.found + share.found, before.queries + share.queries)
    return pooled


def _shares(shares: Mapping[str, Share]) -> dict[str, dict[str, float]]:
    return {name: {"found": round(share.share, 5), "queries": share.queries} for name, share in shares.items()}


def _distribution(cosines: Floats) -> dict[str, float]:
    quantiles = np.quantile(cosines, _QUANTILES)
    named = {f"p{round(100 * at):02d}": round(float(value), 5) for at, value in zip(_QUANTILES, quantiles, strict=True)}
    return {"mean": round(float(cosines.mean()), 5), **named}


def embed(embedding: Embedding, words: Ints) -> Floats:
    """Return the embeddings of words int32 [N, L], padded or cut off to its length, scaled to length 1: float32 [N, D]."""
    load_tensorflow()
    from retvec_lite.model.network_graph import embed_bits

    fitted = np.zeros((len(words), embedding.word_length), np.int32)
    kept = words[:, : embedding.word_length]
    fitted[:, : kept.shape[1]] = kept
    parts = [
        embed_bits(bits(fitted[start : start + _ROWS]), embedding.weights).numpy()
        for start in range(0, len(words), _ROWS)
    ]
    vectors: Floats = np.concatenate(parts) if parts else np.zeros((0, embedding.dimension), np.float32)
    return normalized(vectors)


def at_every_precision(embedding: Embedding) -> dict[str, Embedding]:
    """Return precision -> the embedding as an exported file stores it; the same object where nothing is rounded.

    Each kernel is on a symmetric integer grid per output. One that is on its 4-bit grid already (trained for it) stays as it is
    at either width, as in an export.
    """
    load_tensorflow()
    from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS, snap

    rounded = {FLOAT32: embedding}
    for precision, levels in zip(PRECISIONS, (EIGHT_BITS, FOUR_BITS), strict=True):
        weights = dict(embedding.weights)
        for layer in LAYERS:
            name = f"embedding/{layer}/kernel"
            if not np.array_equal(snap(weights[name], FOUR_BITS), weights[name]):
                weights[name] = snap(weights[name], levels)
        is_same = all(np.array_equal(value, embedding.weights[name]) for name, value in weights.items())
        rounded[precision] = embedding if is_same else Embedding(embedding.name, weights, embedding.card)
    return rounded
