"""`load`: a classifier from a file or a folder."""

import os
from collections.abc import Sequence

from retvec_lite.arguments import checked
from retvec_lite.classifier import Classifier
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFIER_FILE, EXPORTED, PREBUILT, READY, is_prebuilt, locate, read_artifact
from retvec_lite.runtime.pool import Running


@checked
def load(
    path: str | os.PathLike[str],
    *,
    num_threads: int = 1,
    runtime: str | None = None,
    workers: int | None = None,
    isolated: bool = False,
    languages: Sequence[str] | None = None,
) -> Classifier:
    """Load a trained folder, an exported `.tflite`, `.retvec` or `.onnx`, one from the Hugging Face hub, or the language detector in the package.

    Args:
        path: a folder that `TrainedClassifier.save` or `retvec-lite train` wrote, or the `.safetensors` file in it or beside exported files; a
            `.tflite` file, which needs NumPy and a LiteRT runtime only; a `.retvec`, which needs NumPy alone; an `.onnx`, which needs
            NumPy and ONNX Runtime, and has no checksum; "language" for the detector in the package; or "hf://user/model" for exported files on the hub, which the extra `hub` fetches ("hf://user/model/file" for
            one of several). Load those of strangers with `isolated`.
        num_threads: threads of one call of a `.tflite` or `.onnx`; 1 is fastest for short texts.
        runtime: "ai-edge-litert" or "tflite-runtime" for a `.tflite`; by default the one that this process has loaded, or else the first
            one installed. Two runtimes in one process break each other.
        workers: texts that are answered at a time when there are many; by default one a core.
        isolated: run the file in a worker process, so that a file that crashes the runtime, hangs or takes too much memory is an error.
            For files from others.
        languages: the only labels to choose from, beside that of unknown texts, such as the languages that an app knows.

    Raises:
        RetvecLiteError: for something else at `path`, a file that is damaged or not from retvec-lite, a runtime that is missing, cannot run
            the file or is the second one in this process, or a language that is not among the labels.

    Example:
        >>> import retvec_lite as rl
        >>> rl.load("classifier-int8.tflite").predict("your code is 482913", top=1)[0].label
        'one_time_code'
        >>> rl.load("language").predict("guten Morgen", top=1)[0].label
        'de'
        >>> rl.load("language", languages=["de", "en", "tr"]).predict("no", top=1)[0].label
        'en'
    """
    place = locate(path)
    if not (is_prebuilt(path) or place.exists() or place.suffix in EXPORTED):
        raise RetvecLiteError(
            f"There is nothing at {place}. Name an exported .tflite, a folder that `retvec-lite train` wrote, or a ready-made classifier: {', '.join(PREBUILT + READY)}."
        )
    chosen = None if languages is None else tuple(languages)
    running = Running(num_threads, runtime, workers, isolated, chosen)
    if place.suffix == ".safetensors" or (place / CLASSIFIER_FILE).is_file():
        from retvec_lite.model.weight_files import load_trained_model
        from retvec_lite.trained import TrainedClassifier

        return TrainedClassifier(load_trained_model(place), kept=place, running=running)
    return Classifier(read_artifact(place), running)
