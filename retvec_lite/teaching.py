"""Teaching a classifier with a few texts, without a training: what `Classifier` says and a memory keeps."""

import functools
from typing import TYPE_CHECKING, cast

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.memory import Memory
from retvec_lite.windows import Kept

if TYPE_CHECKING:
    from retvec_lite.classifier import Classifier


class Taught:
    """The part of a `Classifier` that learns from single texts."""

    labels: tuple[str, ...]
    decision: Decision

    @functools.cached_property
    def memory(self) -> Memory:
        """What was taught: `len`, `texts`, `labels`, and `save` and `load` for its file.

        Raises:
            RetvecLiteError: for a classifier that cannot be taught: one without embeddings of texts, or with several labels a text.
        """
        if self.decision.multi_label:
            raise RetvecLiteError("Only a classifier with one label a text can be taught.")
        classifier = cast("Classifier", self)
        classifier._embed_dimension()
        return Memory(self._read_taught, self.labels, classifier.config, self.decision.unknown_label)

    def _read_taught(self, text: Kept) -> tuple[Floats, str | None]:
        """Return the vector of a text, and its label without the memory."""
        classifier = cast("Classifier", self)
        ((answer, *_),) = classifier._runner.predictions([text], 1, self.decision)
        return classifier.embed([text])[0], answer.label

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
