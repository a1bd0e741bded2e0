"""LiteRT runtimes: find and load one, and run an exported file in this process."""

import contextlib
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints, codepoint_rows
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.runtime.artifact import (
    CLASSIFY,
    EMBED,
    Artifact,
    Signature,
    describe_oldest_runtime,
)

RUNTIMES: Final = {"ai-edge-litert": "ai_edge_litert", "tflite-runtime": "tflite_runtime"}
"""Distribution -> package of the supported runtimes, in order of preference."""


def installed_runtimes() -> dict[str, str]:
    """Return distribution -> version of the installed runtimes, without importing any of them."""
    import importlib.metadata  # slower than all other imports of this module except NumPy

    return {
        name: importlib.metadata.version(name)
        for name, package in RUNTIMES.items()
        if importlib.util.find_spec(package) is not None
    }


def choose_runtime(name: str | None = None) -> str:
    """Return the named runtime, by default the first one installed, without importing it; raises RetvecLiteError without any."""
    if name is not None and name not in RUNTIMES:
        raise RetvecLiteError(f"Unknown runtime {name!r}. Choose {' or '.join(RUNTIMES)}.")
    found = [other for other, package in RUNTIMES.items() if importlib.util.find_spec(package) is not None]
    choice = name or next(iter(found), None)
    if choice is None:
        raise RetvecLiteError("No LiteRT runtime is installed. Run: pip install ai-edge-litert")
    if choice not in found:
        raise RetvecLiteError(f"{choice} is not installed. Run: pip install {choice}")
    return choice


def import_runtime(name: str | None = None) -> tuple[str, Any]:
    """Import the runtime of this process, and return the distribution and its `Interpreter` class.

    By default, that is the runtime that is already loaded, else the first one installed.

    Raises:
        RetvecLiteError: when the runtime is unknown, missing or broken, or when another one is already loaded: two
            runtimes in one process break each other.
    """
    loaded = [other for other, package in RUNTIMES.items() if package in sys.modules]
    choice = choose_runtime(name or next(iter(loaded), None))
    # For tflite-runtime, TensorFlow counts as a second runtime, too: they fail with `vector::reserve`.
    rivals = [other for other in loaded if other != choice]
    if choice == "tflite-runtime" and "tensorflow" in sys.modules:
        rivals.append("tensorflow")
    if rivals:
        raise RetvecLiteError(
            f"{choice} cannot be used in this process, because {rivals[0]} is already loaded and the two break each other. "
            "Use a new process."
        )
    try:
        return choice, importlib.import_module(f"{RUNTIMES[choice]}.interpreter").Interpreter
    except ImportError as error:
        raise RetvecLiteError(f"{choice} is installed but cannot be imported: {error}. Reinstall it.") from error


_turn: Final = threading.RLock()
"""Held while standard error is elsewhere: of two threads that move and restore it, the second would restore nothing. A fork waits for it:
its process would wait for ever, without a standard error of its own."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


@contextlib.contextmanager
def silent_standard_error() -> Iterator[None]:
    """Discard everything written to standard error inside the block, including by C++ code. Exceptions pass through."""
    with _turn:
        yield from _silenced()


def _silenced() -> Iterator[None]:
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed: nothing to discard
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nothing)


class Engine:
    """One interpreter of an exported `.tflite`, for one thread at a time."""

    def __init__(self, interpreter_class: Any, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Load the file and prepare every signature; takes what `import_runtime` returns, and the threads per call.

        Raises:
            RetvecLiteError: when the runtime cannot run the file, or its signatures differ from the metadata.
        """
        signatures = artifact.signatures
        try:
            # LiteRT tells everyone of XNNPACK; what is wrong with a file is an exception.
            with silent_standard_error():
                interpreter = interpreter_class(model_content=artifact.model, num_threads=num_threads)
                # Hands all graphs to XNNPACK; without it, tflite-runtime 2.14 runs signatures at half the speed. Call before
                # creating runners; fails while they hold references.
                interpreter.allocate_tensors()
            known = interpreter.get_signature_list()
            missing = [signature.name for signature in signatures if signature.name not in known]
            if missing:
                raise RetvecLiteError(
                    f"{artifact.path} lacks the signatures {', '.join(missing)}, which its metadata lists. "
                    "Export the model again."
                )
            runners = {signature.name: interpreter.get_signature_runner(signature.name) for signature in signatures}
            for signature in signatures:
                _check_interface(artifact, signature, runners[signature.name])
        except (ValueError, RuntimeError) as error:
            raise RetvecLiteError(
                f"{runtime} cannot run {artifact.path}, which needs {describe_oldest_runtime(artifact.metadata)}: "
                f"{reason(error)}."
            ) from error
        self._classify = runners[CLASSIFY]
        self._embed = runners.get(EMBED)
        self._max_chars = artifact.config.max_chars
        self._failure = f"{runtime} failed while it ran {artifact.path}"

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Return the probabilities of composed texts, float32 `[texts, classes]`."""
        return np.stack([self._run(self._classify, text)["probabilities"][0] for text in texts])

    def embeddings(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of texts, float32 `[texts, dimension]`. The file must have the signature `embed`."""
        return np.stack([self._run(self._embed, text)["text"][0] for text in texts])

    def words(self, texts: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[texts, max_words, word_length]`, and their embeddings, float32 `[texts, max_words, dimension]`."""
        answers = [self._run(self._embed, text) for text in texts]
        return np.stack([found["words"][0] for found in answers]), np.stack(
            [found["embeddings"][0] for found in answers]
        )

    def _run(self, runner: Any, text: str) -> dict[str, Any]:
        try:
            answers: dict[str, Any] = runner(codepoints=codepoint_rows([text], self._max_chars))
        except (ValueError, RuntimeError) as error:
            raise RetvecLiteError(f"{self._failure}: {reason(error)}. Export the model again.") from error
        return answers


def _check_interface(artifact: Artifact, signature: Signature, runner: Any) -> None:
    """Check the shapes and types of a signature against the metadata; raises RetvecLiteError."""
    words, length = signature.max_words, artifact.config.word_length
    expected: dict[str, tuple[tuple[int, ...], str]] = {"codepoints": ((1, signature.max_chars), "int32")}
    if signature.name == CLASSIFY:
        expected["probabilities"] = ((1, len(artifact.labels)), "float32")
    else:
        expected |= {
            "words": ((1, words, length), "int32"),
            "embeddings": ((1, words, signature.of_words), "float32"),
            "text": ((1, signature.dimension or 0), "float32"),
        }
    found = {
        name: (tuple(tensor["shape"].tolist()), np.dtype(tensor["dtype"]).name)
        for details in (runner.get_input_details(), runner.get_output_details())
        for name, tensor in details.items()
    }
    if found != expected:
        raise RetvecLiteError(
            f"{artifact.path}: the metadata describes the signature {signature.name!r} as {expected}, but it is {found}. "
            "Export the model again."
        )
