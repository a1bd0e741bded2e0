"""A narrower embedding out of a wider one, for the width's place among bytes and time (`pareto.py --embeddings`).

    python benchmarks/narrow_embedding.py OUT [--embedding FILE] [--dimension 128]

It keeps the first outputs of the last layer and nothing else of it, so that each number is exactly the wide one's. An embedding
pre-trained at that width may be better: `embedding_ablation.py` compares such after few steps.
"""

import argparse
import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import Embedding, load_default_embedding, load_embedding

LAST: Final = "embedding/dense_2"


def narrowed(embedding: Embedding, dimension: int) -> Embedding:
    """The embedding with the first `dimension` of its outputs.

    Raises:
        RetvecLiteError: when it has not more than these, or they are none.
    """
    if not 0 < dimension < embedding.dimension:
        raise RetvecLiteError(f"Expected a dimension from 1 to {embedding.dimension - 1}, received {dimension}.")
    kernel, bias = (embedding.weights[f"{LAST}/{part}"] for part in ("kernel", "bias"))
    weights = {f"{LAST}/kernel": kernel[:, :dimension].copy(), f"{LAST}/bias": bias[:dimension].copy()}
    card = {**embedding.card, "narrowed": f"the first {dimension} of {embedding.dimension} outputs of {embedding.name}"}
    return dataclasses.replace(
        embedding, name=f"{embedding.name}-{dimension}", weights={**embedding.weights, **weights}, card=card
    )


def main(arguments: Iterable[str] | None = None) -> None:
    """Write the narrow embedding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--embedding", type=Path, metavar="FILE", help="the wide one (default: the one in the package)")
    parser.add_argument("--dimension", type=int, default=128)
    args = parser.parse_args(None if arguments is None else list(arguments))
    try:
        wide = load_embedding(args.embedding) if args.embedding else load_default_embedding()
        atomic_write(args.out, narrowed(wide, args.dimension).to_bytes())
    except RetvecLiteError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
