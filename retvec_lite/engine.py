"""One interpreter of an exported file, and the choice of the signature that answers a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.artifact import Artifact, describe_oldest_runtime
from retvec_lite.errors import RetvecLiteError
from retvec_lite.signatures import CLASSIFY, EMBED, Signature, classify_signatures

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


class Engine:
    """Runs one text at a time, in one thread at a time."""

    def __init__(self, interpreter_class: Any, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Prepare every signature.

        Args:
            interpreter_class: of the runtime.
            artifact: the file.
            num_threads: threads of one call.
            runtime: the distribution, for messages.

        Raises:
            RetvecLiteError: when the runtime cannot run the file, or its graphs are not what the metadata lists.
        """
        try:
            interpreter = interpreter_class(model_content=artifact.model, num_threads=num_threads)
            # It is this call that hands the graphs, all of them, to XNNPACK: without it, tflite-runtime 2.14 runs signatures
            # at half the speed. Runners it must come before: it refuses to work while somebody holds its insides.
            interpreter.allocate_tensors()
            signatures = (*classify_signatures(artifact.signatures), *_embedding(artifact.signatures))
            known = interpreter.get_signature_list()
            missing = [signature.name for signature in signatures if signature.name not in known]
            if missing:
                raise RetvecLiteError(
                    f"Expected {artifact.path} to have the signatures {', '.join(missing)}, received {', '.join(known)}."
                )
            runners = {signature.name: interpreter.get_signature_runner(signature.name) for signature in signatures}
        except (ValueError, RuntimeError) as error:
            raise RetvecLiteError(
                f"Expected {runtime} to run {artifact.path}, which is made for "
                f"{describe_oldest_runtime(artifact.metadata)}, received: {' '.join(str(error).split())}"
            ) from error
        for signature in signatures:
            _check_interface(artifact, signature, runners[signature.name])
        *short, _ = classify_signatures(artifact.signatures)
        self._short = [(signature.max_chars, signature.max_words, runners[signature.name]) for signature in short]
        self._full = runners[CLASSIFY]
        self._embed = runners.get(EMBED)
        self._max_chars = artifact.config.max_chars

    def probabilities(self, text: str) -> Floats:
        """Probabilities float32 [classes], by the smallest signature that the text fits into."""
        for max_chars, max_words, run in self._short:
            # As many blanks as slots are, but for double ones, more words than slots: not worth a try, and a longer one is right, too.
            if len(text) <= max_chars and text.count(" ") < max_words:
                answers = run(codepoints=points(text, max_chars))
                if answers["slots"][0] <= max_words:
                    break
        else:
            answers = self._full(codepoints=points(text, self._max_chars))
        found: Floats = answers["probabilities"][0]
        return found

    def embedding(self, text: str) -> Floats:
        """The text's embedding float32 [dimension]; only for a file with the signature `embed`."""
        found: Floats = self._answers(text)["text"][0]
        return found

    def words(self, text: str) -> tuple[Ints, Floats]:
        """The slots int32 [max_words, word_length] and their embeddings float32 [max_words, dimension], as `embedding`."""
        answers = self._answers(text)
        return answers["words"][0], answers["embeddings"][0]

    def _answers(self, text: str) -> dict[str, Any]:
        assert self._embed is not None
        answers: dict[str, Any] = self._embed(codepoints=points(text, self._max_chars))
        return answers


def points(text: str, max_chars: int) -> Ints:
    """`ord` of each character, cut or zero-padded to int32 [1, max_chars]."""
    found = np.zeros((1, max_chars), np.int32)
    codes = np.frombuffer(text[:max_chars].encode("utf-32-le", "surrogatepass"), "<i4")
    found[0, : codes.size] = codes
    return found


def _embedding(signatures: Sequence[Signature]) -> list[Signature]:
    return [signature for signature in signatures if signature.kind == EMBED]


def _check_interface(artifact: Artifact, signature: Signature, runner: Any) -> None:
    """Make sure that a signature takes and gives what the metadata says; raises RetvecLiteError when it does not."""
    words, length = signature.max_words, artifact.config.word_length
    expected: dict[str, tuple[tuple[int, ...], str]] = {"codepoints": ((1, signature.max_chars), "int32")}
    if signature.kind == CLASSIFY:
        expected["probabilities"] = ((1, len(artifact.labels)), "float32")
        if signature.name != CLASSIFY:
            expected["slots"] = ((1,), "int32")
    else:
        dimension = signature.dimension or 0
        expected |= {
            "words": ((1, words, length), "int32"),
            "embeddings": ((1, words, dimension), "float32"),
            "text": ((1, dimension), "float32"),
        }
    received = {
        name: (tuple(tensor["shape"].tolist()), np.dtype(tensor["dtype"]).name)
        for details in (runner.get_input_details(), runner.get_output_details())
        for name, tensor in details.items()
    }
    if received != expected:
        raise RetvecLiteError(
            f"Expected {artifact.path} to have the interface {expected} as its {signature.name!r}, received {received}."
        )
