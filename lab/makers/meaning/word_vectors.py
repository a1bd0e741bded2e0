"""The first vectors of words: word2vec's continuous bag of words (Mikolov et al. 2013, arXiv:1301.3781), by gensim."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from makers.meaning.corpus import Corpus
from makers.stage import Arrays
from retvec_lite.model.meaning_file import WIDTH
from retvec_lite.terminal import Progress

WINDOW: Final = 8
NEGATIVES: Final = 10
SUBSAMPLING: Final = 1e-4
FIRST_RATE: Final = 0.025
LAST_RATE: Final = 1e-4
"""Learning rates of the first and the last word: word2vec's own."""

_REPORTS: Final = 1000
"""Lines between two reports of progress."""


class _Sentences:
    """The lines of a corpus as lists of words, as often as they are asked for."""

    def __init__(self, corpus: Corpus, done: int, passes: int, progress: Progress) -> None:
        self._corpus, self._done, self._passes, self._progress = corpus, done, passes, progress
        self._problem: BaseException | None = None

    def __iter__(self) -> Iterator[list[str]]:
        words, read = self._corpus.words, 0
        for number, line in enumerate(self._corpus.lines()):
            read += len(line) + 1
            if number % _REPORTS == 0 and not self._report(read):
                return
            yield [words[token] for token in line]
        self._report(len(self._corpus.tokens))

    def raise_problem(self) -> None:
        """Raise what the progress raised: in gensim's thread, which reads the lines, it would never be seen."""
        if self._problem is not None:
            raise self._problem

    def _report(self, read: int) -> bool:
        size = len(self._corpus.tokens)
        try:
            self._progress("word vectors", self._done * size + read, self._passes * size)
        except BaseException as error:  # noqa: BLE001 - raised again by `raise_problem`
            self._problem = error
            return False
        return True


class WordVectors:
    """Vectors in training, a pass over the corpus at a time.

    The same corpus and seed give the same vectors, whether or not the state went through a file between passes: one worker
    trains, and each pass has random numbers of its own.
    """

    def __init__(self, corpus: Corpus, seed: int) -> None:
        from gensim.models import Word2Vec

        self._corpus, self._seed = corpus, seed
        self._model: Any = Word2Vec(
            vector_size=WIDTH,
            window=WINDOW,
            negative=NEGATIVES,
            sample=SUBSAMPLING,
            min_count=1,  # rare words have no numbers
            workers=1,
            sg=0,
            seed=seed,
            sorted_vocab=0,
        )
        self._model.build_vocab_from_freq(dict(zip(corpus.words, corpus.counts.tolist(), strict=True)))

    def train(self, done: int, passes: int, progress: Progress) -> None:
        """Take one pass of `passes`, after `done` others."""
        self._model.random = np.random.RandomState((self._seed, done))
        step = (FIRST_RATE - LAST_RATE) / passes
        sentences = _Sentences(self._corpus, done, passes, progress)
        self._model.train(
            sentences,
            total_examples=int((self._corpus.tokens < 0).sum()),
            epochs=1,
            start_alpha=FIRST_RATE - done * step,
            end_alpha=FIRST_RATE - (done + 1) * step,
        )
        sentences.raise_problem()

    def state(self) -> Arrays:
        """Return all that is trained: float32 `[words, 128]` twice."""
        return {"vectors": self._model.wv.vectors, "contexts": self._model.syn1neg}

    def restore(self, state: Arrays) -> None:
        """Go on from a state of the same corpus."""
        self._model.wv.vectors[:] = state["vectors"]
        self._model.syn1neg[:] = state["contexts"]
