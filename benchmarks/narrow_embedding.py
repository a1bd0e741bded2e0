"""Cut a narrower embedding out of a wider one, to compare widths with `pareto.py --embeddings`.

    python benchmarks/narrow_embedding.py OUT [--embedding FILE] [--dimension 128]

Keeps the first outputs of the last layer, so that each number is exactly that of the wide embedding. An embedding
pre-trained at that width may be better; `embedding_ablation.py` compares such embeddings after few steps.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from common import command_parser

from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import Embedding, load_default_embedding, load_embedding

LAST: Final = "embedding/dense_2"


def narrowed(embedding: Embedding, dimension: int) -> Embedding:
    """Return the embedding with the first `dimension` of its outputs.

    Raises:
        RetvecLiteError: `dimension` is not smaller than the embedding's, or below 1.
    """
    if not 0 < dimension < embedding.dimension:
        raise RetvecLiteError(
            f"Cannot cut {dimension} of {embedding.dimension} outputs: choose 1 to {embedding.dimension - 1}."
        )
    kernel, bias = (embedding.weights[f"{LAST}/{part}"] for part in ("kernel", "bias"))
    weights = {f"{LAST}/kernel": kernel[:, :dimension].copy(), f"{LAST}/bias": bias[:dimension].copy()}
    card = {**embedding.card, "narrowed": f"the first {dimension} of {embedding.dimension} outputs of {embedding.name}"}
    return dataclasses.replace(
        embedding, name=f"{embedding.name}-{dimension}", weights={**embedding.weights, **weights}, card=card
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the narrow embedding."""
    parser = command_parser(__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    parser.add_argument(
        "--embedding", type=Path, metavar="FILE", help="the wide embedding (default: the one in the package)"
    )
    parser.add_argument("--dimension", type=int, default=128, help="outputs to keep (default: 128)")
    args = parser.parse_args(arguments)
    try:
        wide = load_embedding(args.embedding) if args.embedding else load_default_embedding()
        atomic_write(args.out, narrowed(wide, args.dimension).to_bytes())
    except RetvecLiteError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
