"""`Classifier`: what answers texts, whoever made it: it predicts, explains, embeds, and is taught single texts.

The way of a text: composed and cut into windows (windows.py); as code points to the C engine (runtime/native.py, engine/) or to LiteRT
(runtime/interpreters.py), where the graph of model/network_graph.py lies in the file; probabilities of the windows combined, and a label,
several or none (runtime/answers.py, decision.py).

This module and all that it imports need NumPy alone, and know nothing of trainings.
"""

import functools
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from retvec_lite.arguments import as_texts, checked, one_column, require_strings
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.runtime.answers import Explanation, Prediction, Runner, explain
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.runtime.memory import Memory
from retvec_lite.runtime.pool import USUAL, Running, Runs, WorkPool, available_cores, check_count
from retvec_lite.windows import Kept, read_limit


class Classifier:
    """Classifies texts with an exported file. `load` makes one, and `train` a `TrainedClassifier`, which can do all of this as well.

    Threads may share a classifier: calls wait for a free engine. Many texts at once are spread over `workers` engines, each in its own
    thread; the answers and their order are the same as with one. It can be pickled, sent to other processes and used after `fork()`.

    Attributes:
        labels: the classes, in the order of the columns of `probabilities`.
        config: how texts become words.
        decision: which labels a text has, and when it has none.
        workers: texts that are answered at the same time.

    Example:
        >>> import retvec_lite as rl
        >>> classifier = rl.load("classifier-int8.tflite")
        >>> classifier.predict("wkae me up at half past six", top=1)[0].label
        'alarm'
    """

    _file: Artifact | None
    """The exported file that answers; of a trained classifier, None where the NumPy reference does."""

    def __init__(self, file: Artifact, running: Running = USUAL) -> None:
        """Start the engine of an exported file, as `load` does."""
        self._file = file
        self._begin(file.labels, file.config, file.decision, running)
        _ = self._runner  # a file that cannot run is found out at once

    def _begin(self, labels: Sequence[str], config: EncoderConfig, decision: Decision, running: Running) -> None:
        """Keep what answers depend on."""
        threads = check_count("num_threads", running.num_threads)
        workers = None if running.workers is None else check_count("workers", running.workers)
        self._running = running._replace(num_threads=threads, workers=workers)
        self._columns = None if running.languages is None else decision.limited(labels, running.languages)
        self.labels = tuple(labels[column] for column in self._columns or range(len(labels)))
        self.config, self.decision = config, decision
        self.workers = max(1, available_cores() // threads) if workers is None else workers

    def __getstate__(self) -> dict[str, Any]:
        # Engines belong to their process. The file goes along: it need not exist elsewhere, and a trained one is not built again.
        return {name: value for name, value in self.__dict__.items() if name not in ("_engine", "_runner")}

    @functools.cached_property
    def _engine(self) -> tuple[str, Callable[[], Runs]]:
        assert self._file is not None
        return self._running.engine_of(self._file)

    @functools.cached_property
    def _runner(self) -> Runner:
        engines = WorkPool(self._engine[1])
        return Runner(engines, self.workers, self.labels, self._columns, self.config, self.decision)

    @property
    def runtime(self) -> str:
        """What runs it: "retvec-lite", the C engine; "ai-edge-litert" or "tflite-runtime" for a `.tflite`; "onnxruntime"; "numpy", the reference."""
        return self._engine[0]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What its file says about itself (`retvec_lite.json`); of a trained one, its int8 `.retvec`, if it has any."""
        return {} if self._file is None else self._file.metadata

    def probabilities(self, texts: str | Iterable[str]) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`, with columns in the order of `labels`.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings.

        Example:
            >>> import retvec_lite as rl
            >>> rl.load("classifier-int8.tflite").probabilities(["wkae me up", "play some jazz"]).shape[0]
            2
        """
        return self._runner.table("probabilities", as_texts(texts), len(self.labels))

    def embed(self, texts: str | Iterable[str]) -> Floats:
        """Return text embeddings, float32 `[texts, dimension]`, for search and deduplication. Dot products are cosines.

        A text embedding is the mean of its word embeddings, scaled to length 1; zeros for a text without words. Word
        embeddings reflect spelling: texts are similar when they share words, mistyped or not. A sentence network has a vector
        of the whole text in their place. With a table of meaning (metadata `meaning`), 64 numbers about the meaning of known
        words stand behind it, and count most.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings, or a `.tflite` exported without `--embed`.

        Example:
            >>> import retvec_lite as rl
            >>> vectors = rl.load("classifier").embed(["wake me up", "wkae me up"])
            >>> bool(vectors[0] @ vectors[1] > 0.5)
            True
        """
        return self._runner.table("embeddings", as_texts(texts), self._embed_dimension())

    def embed_words(self, text: str) -> tuple[list[str], Floats]:
        """Return the words of a text as the model cuts them, and their embeddings, float32 `[words, dimension]`.

        Raises:
            RetvecLiteError: for anything but a string, or a `.tflite` exported without `--embed`.
        """
        require_strings([text])
        self._embed_dimension()
        return self._runner.words(text)

    def _embed_dimension(self) -> int:
        if self._file is None:
            raise RetvecLiteError(
                "Without an engine, texts cannot be embedded: export a .tflite with --embed (embed=True)."
            )
        if not self._file.dimensions[0]:
            advice = (
                "the head ngrams has no word embeddings"
                if self._file.is_native
                else "export a .tflite with --embed (embed=True), or a .retvec"
            )
            raise RetvecLiteError(f"This model has no signature 'embed': {advice}.")
        return self._file.dimensions[0]

    # A string is a sequence of strings too; a type checker takes the first overload for it.
    @overload
    def predict(self, texts: str, top: int | None = None, *, reject: bool = True) -> list[Prediction]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(
        self, texts: Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> list[list[Prediction]]: ...
    def predict(
        self, texts: str | Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> list[Prediction] | list[list[Prediction]]:
        """Return the labels of one text or of many: the answer first, then the other labels, most probable first.

        A text that belongs to none of the labels has the answer None, with the probability of the most probable label. The
        labels that it might have had follow. A label for such texts (`unknown_label`) is not among them.

        A classifier that was trained with `multi_label` answers with all labels that reach their threshold, and with no others:
        with an empty list where none does.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.
            top: predictions to return per text; all by default. With 1, only the answer.
            reject: answer None for texts that belong to none of the labels; otherwise every text gets a label. With several
                labels a text, leave out those below their threshold; otherwise return all.

        Returns:
            A list of predictions for one string; otherwise one such list per text.

        Raises:
            RetvecLiteError: for anything but strings, or a `top` below 1.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.tflite")
            >>> len(classifier.predict("wkae me up at half past six", top=3))
            3
            >>> len(classifier.predict(["wkae me up", "play some jazz"]))
            2
        """
        rows = list(self.predict_many(as_texts(texts), top, reject=reject))
        return rows[0] if isinstance(texts, str) else rows

    def predict_many(
        self, texts: Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> Iterator[list[Prediction]]:
        """Yield the labels of any number of texts, in order: one list per text, as from `predict`.

        Texts are read and answers yielded continuously, so neither needs to fit into memory. A few hundred texts are in
        progress at a time. Where `texts` itself raises an exception, the texts before are answered first.

        Raises:
            RetvecLiteError: at once for a bad `top` or a single string; for a text that is not a string after the answers to
                those before it.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.tflite")
            >>> lines = (f"wake me at {hour} o'clock" for hour in range(1, 13))
            >>> [len(predictions) for predictions in classifier.predict_many(lines, top=1)] == [1] * 12
            True
        """
        if top is not None and not (isinstance(top, numbers.Integral) and top >= 1 and not isinstance(top, bool)):
            raise RetvecLiteError(f"top must be an integer of at least 1, not {shown(top)}.")
        if not isinstance(reject, bool):
            raise RetvecLiteError(f"reject must be True or False, not {shown(reject)}.")
        if isinstance(texts, str):
            raise RetvecLiteError(
                f"predict_many takes many texts, not the string {texts[:40]!r}. Use predict for one text."
            )
        return self._runner.predictions(
            one_column(texts), top, self.decision if reject else Decision(), self.__dict__.get("memory")
        )

    @checked
    def explain(self, text: str, label: str | None = None) -> Explanation:
        """Tell which words of a text speak for its label: by how much the label's log probability falls without each of them.

        Scripts without spaces are cut into pieces of one to three characters, and so are the words of a text of one or two.
        Explaining a text of n words takes the time of n + 1 answers, up to about 200 words. A longer one is first divided into spans, and words
        are looked for in those that count most: the other spans have one weight for all of their words.

        Args:
            text: one text; of a long one, what `windows.read_limit` names.
            label: the label to explain; the most probable one by default.

        Raises:
            RetvecLiteError: for anything but a string, or a label that the model does not know.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.tflite")
            >>> found = classifier.explain("wkae me up at half past six")
            >>> found.spans[0].text, found.label == classifier.predict("wkae me up at half past six")[0].label
            ('wkae', True)
        """
        (text,) = require_strings([text])
        return explain(self.probabilities, self.labels, text[: read_limit(self.config)], label, self.config.max_chars)

    @functools.cached_property
    def memory(self) -> Memory:
        """What was taught: `len`, `texts`, `labels`, and `save` and `load` for its file.

        Raises:
            RetvecLiteError: for a classifier that cannot be taught: one without embeddings of texts, or with several labels a text.
        """
        if self.decision.multi_label:
            raise RetvecLiteError("Only a classifier with one label a text can be taught.")
        self._embed_dimension()
        return Memory(self._read_taught, self.labels, self.config, self.decision.unknown_label)

    def _read_taught(self, text: Kept) -> tuple[Floats, str | None]:
        """Return the vector of a text, and its label without the memory."""
        ((answer, *_),) = self._runner.predictions([text], 1, self.decision)
        return self.embed([text])[0], answer.label

    @checked
    def teach(self, text: str, label: str) -> None:
        """Teach that a text has a label, old or new: from now on, `predict` answers it, and texts like it, with that label.

        All other texts are answered as before, to the last bit. What was taught lies in `memory`, not in the classifier's file. All workers
        use it, and it is pickled with the classifier. `probabilities`, `explain` and `evaluate` never ask it.

        Args:
            text: what to learn; up to 256 bytes of UTF-8 of what the classifier reads of it are kept.
            label: its label; one that is not among `labels` is new. That of unknown texts: the text has none.

        Raises:
            RetvecLiteError: for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a
                classifier that cannot be taught: one without embeddings of texts, or with several labels a text.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.retvec")
            >>> classifier.teach("feed the cat at noon", "pets")
            >>> answer = classifier.predict("feed teh cat at noon", top=1)[0]
            >>> answer.label, answer.taught
            ('pets', 'feed the cat at noon')
        """
        self.memory.teach(text, label)

    @checked
    def forget(self, text: str) -> None:
        """Forget a text that was taught, given so or as `memory.texts` lists it: everything is answered as if it had never been.

        Raises:
            RetvecLiteError: for a text that was not taught.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.retvec")
            >>> classifier.teach("feed the cat at noon", "pets")
            >>> classifier.forget("feed the cat at noon")
            >>> len(classifier.memory)
            0
        """
        self.memory.forget(text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._head()}, {len(self.labels)} labels>"

    def _head(self) -> Any:
        return self.metadata.get("head")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"A {type(self).__name__} has no {name}. Only a trained one is saved, exported, or goes on learning: load the trained folder, or the "
                "reference.safetensors beside an exported file."
            )
