"""`Classifier`: one class for a trained and for an exported classifier, to predict, explain and evaluate, with what `trained` adds.

The way of a text: composed and cut into windows (windows.py); as code points to the C engine (runtime/native.py, engine/) or to LiteRT
(runtime/interpreters.py), where the graph of model/network_graph.py lies in the file; probabilities of the windows combined, and a label,
several or none (runtime/answers.py, decision.py).

Importing this module needs NumPy alone: the exporter is loaded by the calls that need it, and TensorFlow by none that predicts.
"""

import functools
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.data.scores import TYPO_RATES, TYPO_SEED, Evaluation, evaluate
from retvec_lite.data.suspects import HeldOut
from retvec_lite.data.texts import as_texts, one_column, require_strings
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.learning import Learning
from retvec_lite.model.reference_network import Reference
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.answers import DAMAGED, Explanation, Prediction, Runner, explain
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.runtime.pool import Runs, WorkPool, available_cores, check_count, choose_engine, refuse_litert
from retvec_lite.summary import summary
from retvec_lite.teaching import Taught
from retvec_lite.terminal import Progress, watched
from retvec_lite.windows import read_limit


class Classifier(Taught, Learning):
    """Classifies texts. `train` and `load` make one.

    A trained one answers as its `.retvec` with int8 weights does, which the C engine runs, built in memory: what is measured is what a phone
    will say. Where no engine can run it, a warning says why, and the NumPy reference answers.

    Threads may share a classifier: calls wait for a free engine. Many texts at once are spread over `workers` engines, each in its own
    thread; the answers and their order are the same as with one. It can be pickled, sent to other processes and used after `fork()`.

    Attributes:
        labels: the classes, in the order of the columns of `probabilities`.
        config: how texts become words.
        decision: which labels a text has, and when it has none.
        workers: texts that are answered at the same time.
        validation: what it scored on validation texts at each share of mistyped words, right after its training; otherwise empty.
        held_out: what it answered to texts that the answering fit had not seen, right after its training; otherwise None.

    Example:
        >>> import retvec_lite as rl
        >>> classifier = rl.load("classifier-int8.tflite")
        >>> classifier.predict("wkae me up at half past six", top=1)[0].label
        'alarm'
    """

    def __init__(
        self,
        source: TrainedModel | Artifact,
        validation: Mapping[float, Evaluation] | None = None,
        held_out: HeldOut | None = None,
        *,
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
        languages: Sequence[str] | None = None,
    ) -> None:
        """Wrap a trained model, or an exported file, whose engine starts at once; `train` and `load` do so and describe the options."""
        languages = None if languages is None else tuple(languages)
        num_threads = check_count("num_threads", num_threads)
        workers = None if workers is None else check_count("workers", workers)
        self._source, self.validation, self.held_out = source, dict(validation or {}), held_out
        self._options: tuple[Any, ...] = (num_threads, runtime, workers, isolated, languages)
        self._columns = None if languages is None else source.decision.limited(source.labels, languages)
        self.labels = tuple(source.labels[column] for column in self._columns or range(len(source.labels)))
        self.config = source.config if isinstance(source, Artifact) else source.encoder
        self.decision = source.decision
        self.workers = max(1, available_cores() // num_threads) if workers is None else workers
        if isinstance(source, Artifact):
            _ = self._runner  # a file that cannot run is found out at once
        else:
            refuse_litert(num_threads, runtime)

    def __getstate__(self) -> dict[str, Any]:
        # Engines belong to their process. The file goes along: it need not exist elsewhere, and a trained one is not built again.
        # Texts stay here: other processes answer, and need none of them.
        state = {name: value for name, value in self.__dict__.items() if name not in ("_engine", "_runner")}
        return {**state, "held_out": None, "_kept": None}

    def like(self, model: TrainedModel) -> "Classifier":
        """Return a classifier of another model with the options of this one, and what it answered to held-out texts."""
        threads, runtime, workers, isolated, languages = self._options
        options = {"runtime": runtime, "workers": workers, "isolated": isolated, "languages": languages}
        return Classifier(model, self.validation, self.held_out, num_threads=threads, **options).keeping(self._kept)

    @functools.cached_property
    def _file(self) -> Artifact | None:
        """The exported file that answers; of a trained model, one in memory, or None where no engine can run it."""
        if isinstance(self._source, Artifact):
            return self._source
        from retvec_lite.converters.engine import in_memory

        try:
            return in_memory(self.model)
        except FloatingPointError as error:
            raise RetvecLiteError(f"This classifier cannot answer: {DAMAGED}") from error
        except RetvecLiteError as error:
            warnings.warn(f"{error} Until then the NumPy reference answers, which is slow.", stacklevel=4)
            return None

    @functools.cached_property
    def _engine(self) -> tuple[str, Callable[[], Runs]]:
        num_threads, runtime, _, isolated, _ = self._options
        if self._file is not None:
            return choose_engine(self._file, num_threads, runtime, isolated)
        if isolated:
            raise RetvecLiteError("Without an engine, a trained classifier cannot be isolated: export it as .tflite.")
        make: Any = functools.partial(Reference, self.model)  # which is asked for probabilities alone
        return "numpy", make

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

    @checked
    def evaluate(
        self,
        data: Any,
        labels: Sequence[Any] | None = None,
        *,
        unknown_label: str | None = None,
        reject: bool = True,
        multi_label: bool | None = None,
        typos: Sequence[float] = TYPO_RATES,
        seed: int = TYPO_SEED,
        by: str | None = None,
        text_column: str = "text",
        label_column: str = "label",
        delimiter: str | None = None,
        skip_bad_rows: bool = False,
        labels_from: Literal["column", "file", "folder"] = "column",
        progress: Progress | bool | None = None,
    ) -> Evaluation:
        """Measure accuracy, F1, confusions and calibration, how much accuracy remains when words are mistyped, and rejection.

        Args:
            data: texts; or each without `labels`: a labelled file, several of them, a DataFrame or another table, a list of records or
                of pairs (text, label), a `Dataset`, or "starter" (its test split).
            labels: the right label of each text; a list of them for each text where the classifier gives several.
            unknown_label: the label in the data of the texts that belong to none of the classifier's; that of its training is
                known.
            reject: answer None for texts that belong to none of the labels; otherwise every text gets a label. Of no effect where
                texts may have several labels.
            multi_label: whether a text in the data may have several labels, or none; by default as the classifier gives them,
                and a file without a text that has is then refused as a mistake.
            typos: shares of mistyped words, 0 to 1; empty for clean texts only.
            seed: of the typos.
            by: column of a file or table, such as the language of each text: each of its values is also scored by itself.
            text_column: column of the texts in a file or table.
            label_column: column of the labels in a file or table.
            delimiter: between the cells of a CSV or TSV file; by default recognized by the header.
            skip_bad_rows: leave out rows that cannot be read, or lack a text or a label, and count them.
            labels_from: what says the label of a text: a column, the name of its file, or the name of its folder.
            progress: a callback (what, done, total), or True for a bar on standard error.

        Raises:
            RetvecLiteError: for data that cannot be read, labels that the model does not know, an unknown label that is not in
                the data, or data with one label a text where the classifier gives several, or the other way round.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier-int8.tflite")
            >>> classifier.evaluate(["wake me up at six", "play some jazz"], ["alarm", "music"], typos=()).texts
            2
        """
        several = self.decision.multi_label
        reading: dict[str, Any] = {"text_column": text_column, "delimiter": delimiter, "split": "test"}
        dataset = as_dataset(
            data,
            labels,
            label_column=label_column,
            skip_bad_rows=skip_bad_rows,
            multi_label=several if multi_label is None else multi_label,
            labels_from=labels_from,
            **reading,
        )
        if by is not None and (labels is not None or isinstance(data, Dataset)):
            raise RetvecLiteError("by names a column: pass a file or a table with it.")
        groups = () if by is None else _values_of(by, data, dataset, skip_bad_rows=skip_bad_rows, **reading)
        if several and multi_label is None and labels is None and all(len(found) == 1 for found in dataset.label_sets):
            raise RetvecLiteError(
                f"Every text of {dataset.path} has exactly one label, but this classifier gives several or none. "
                "Pass --multi-label (multi_label=True) if that is right."
            )
        with watched(progress) as report:
            return evaluate(
                self.probabilities,
                self.labels,
                dataset,
                decision=self.decision if reject or several else None,
                max_chars=read_limit(self.config),
                unknown_label=unknown_label,
                typos=typos,
                seed=seed,
                groups=groups,
                progress=report,
            )

    def __repr__(self) -> str:
        source = self._source
        head = source.metadata.get("head") if isinstance(source, Artifact) else source.head.name
        return f"<Classifier {head}, {len(self.labels)} labels>"

    def __str__(self) -> str:
        return repr(self) if isinstance(self._source, Artifact) else summary(self.model, self.held_out)


def _values_of(column: str, data: Any, dataset: Dataset, **reading: Any) -> tuple[str, ...]:
    """Return what a column of the data says of each text of `dataset`; the reader takes it for the column of the labels."""
    try:
        values = as_dataset(data, label_column=column, **reading)
    except RetvecLiteError as error:
        raise RetvecLiteError(str(error).replace("--label-column", "--by").replace("label_column", "by")) from error
    if values.texts != dataset.texts:
        raise RetvecLiteError(f"Rows that have a label lack {column!r}, or the other way round: fill both in.")
    return values.labels
