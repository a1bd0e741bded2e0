"""The stages of a pre-training of meaning, each with a checkpoint in the run's folder from which it goes on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.meaning import SUBSPACES
from retvec_lite.model.product_codes import Codes, codes_of, nearest_codebooks
from retvec_lite.pretraining.checkpoints import damaged, read_arrays, require_same, write_arrays
from retvec_lite.pretraining.meaning.codes import RATE as CODE_RATE
from retvec_lite.pretraining.meaning.codes import (
    TEXTS,
    CodeTrainer,
    balanced_axes,
    importance,
    on_grid,
)
from retvec_lite.pretraining.meaning.corpus import Corpus, read_corpus
from retvec_lite.pretraining.meaning.neighbors import Neighbors, draw_halves, starting_vectors, weights_of
from retvec_lite.pretraining.meaning.options import PretrainMeaningOptions
from retvec_lite.pretraining.meaning.valence import with_valence
from retvec_lite.pretraining.meaning.word_vectors import WordVectors
from retvec_lite.terminal import Progress

_CHECKPOINT: Final = 1000
"""Steps between two checkpoints."""
_REPORT: Final = 20
"""Steps between two reports of progress."""

_Arrays = dict[str, npt.NDArray[Any]]


class Stages:
    """A run: its folder, what its stages depend on, and its options."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Mapping[str, Any]],
        options: PretrainMeaningOptions,
        progress: Progress,
    ) -> None:
        self._folder, self._settings = folder, settings
        self._options, self._progress = options, progress

    def read(self, files: Sequence[Path]) -> Corpus:
        """Read the texts; raises RetvecLiteError for files that cannot be read or do not suffice."""
        found: Corpus | None = self._restore("corpus", Corpus.from_arrays)
        if found is None:
            found = read_corpus(files, self._options.least_count, self._progress)
            self._keep("corpus", found.arrays())
        return found

    def learn(self, corpus: Corpus) -> Floats:
        """Return the vectors of all words of a corpus, of length 1 to begin with: float32 `[words, 64]`."""
        options, weights = self._options, weights_of(corpus.shares)
        trainer = Neighbors(starting_vectors(self._word_vectors(corpus)), weights)
        stream = corpus.known

        def state() -> _Arrays:
            return {"vectors": trainer.vectors, "squares": trainer.squares}

        def restore(arrays: _Arrays) -> int:
            trainer.vectors[:], trainer.squares[:] = arrays["vectors"], arrays["squares"]
            return int(arrays["done"])

        def step(number: int) -> None:
            trainer.step(*draw_halves(stream, options.seed, number))

        self._steps("neighbors", "neighbours", options.steps, step, state, restore)
        return trainer.vectors

    def encode(self, corpus: Corpus, vectors: Floats, valence: Mapping[str, float] | None) -> tuple[Codes, Floats]:
        """Return the codes and codebooks of the most frequent words: uint8 `[W, 8]`, float32 `[8, 256, 8]`."""
        options = self._options
        words = corpus.words[: options.words]
        exact = vectors[: len(words)]
        if valence is not None:
            exact = with_valence(exact, words, valence)
        exact = exact * weights_of(corpus.shares)[: len(words), None]
        counts = corpus.counts[: len(words)]
        exact = exact @ balanced_axes(exact, counts)
        trainer = CodeTrainer(exact, nearest_codebooks(exact, importance(counts), SUBSPACES, options.seed))
        stream = corpus.known[corpus.known < len(words)]

        def state() -> _Arrays:
            return {"codebooks": trainer.codebooks, "squares": trainer.squares}

        def restore(arrays: _Arrays) -> int:
            trainer.codebooks[:], trainer.squares[:] = arrays["codebooks"], arrays["squares"]
            return int(arrays["done"])

        def step(number: int) -> None:
            texts = draw_halves(stream, options.seed, number, TEXTS // 2)
            trainer.step(*texts, CODE_RATE * (1 - number / options.code_steps))

        self._steps("codes", "codes", options.code_steps, step, state, restore)
        codebooks = on_grid(trainer.codebooks)
        return codes_of(exact, codebooks), codebooks

    def _word_vectors(self, corpus: Corpus) -> Floats:
        trainer = WordVectors(corpus, self._options.seed)
        passes = self._options.passes

        def restore(arrays: _Arrays) -> int:
            trainer.restore(arrays)
            return int(arrays["done"])

        done = self._restore("word_vectors", restore) or 0
        for number in range(done, passes):
            trainer.train(number, passes, self._progress)
            self._keep("word_vectors", {**trainer.state(), "done": np.asarray(number + 1)})
        return trainer.state()["vectors"]

    def _steps(
        self,
        stage: str,
        what: str,
        steps: int,
        step: Callable[[int], None],
        state: Callable[[], _Arrays],
        restore: Callable[[_Arrays], int],
    ) -> None:
        """Take the steps of a stage that are left, with a checkpoint now and then."""
        done = self._restore(stage, restore) or 0
        for number in range(done, steps):
            if number % _REPORT == 0:
                self._progress(what, number, steps)
            step(number)
            if (number + 1) % _CHECKPOINT == 0 or number + 1 == steps:
                self._keep(stage, {**state(), "done": np.asarray(number + 1)})
        if done < steps:
            self._progress(what, steps, steps)

    def _keep(self, stage: str, arrays: _Arrays) -> None:
        write_arrays(self._folder / f"{stage}.npz", self._settings[stage], arrays)

    def _restore(self, stage: str, restore: Callable[[_Arrays], Any]) -> Any:
        """Return what a stage makes of its checkpoint; None where there is none.

        Raises:
            RetvecLiteError: for a checkpoint of other texts or settings, or a damaged one.
        """
        path = self._folder / f"{stage}.npz"
        if not path.exists():
            return None
        before, arrays = read_arrays(path)
        require_same(self._folder, before, self._settings[stage])
        try:
            return restore(arrays)
        except (KeyError, ValueError, TypeError) as error:
            raise damaged(path, error) from error
