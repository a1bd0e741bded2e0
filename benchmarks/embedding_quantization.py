"""Which grid should the embedding be trained on? Short trainings at 4, 3 and 2 bits from the same float weights.

    python benchmarks/embedding_quantization.py FLOAT_EMBEDDING [--steps N] [--only NAME] [--quick]

FLOAT_EMBEDDING is what `retvec-lite pretrain --export-at STEP` wrote before 4-bit training began. Every row continues for
the same number of steps, on the same batches with the same learning rate; "rounded only" rows do not train.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import command_parser, markdown_table, read_results, result_path, write_results

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.grid import snap
from retvec_lite.model.weight_files import Embedding, load_embedding
from retvec_lite.pretraining.model import NetworkSettings, Schedule, build_model
from retvec_lite.pretraining.pretrain import measure, pretrain
from retvec_lite.pretraining.settings import PretrainSettings
from retvec_lite.pretraining.tasks import RetrievalTask, wordfreq_tasks
from retvec_lite.pretraining.words import WORDFREQ, WordList, load_words

LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
RATE: Final = 1e-3  # about the learning rate of the shipped run when its 4-bit part began

ROUNDED: Final[Mapping[str, int]] = {"8 bits, rounded only": 127, "4 bits, rounded only": 7}
TRAINED: Final[Mapping[str, NetworkSettings | None]] = {
    "float, as many steps more": None,
    "4 bits": NetworkSettings(learned_clipping=False),
    "4 bits, learned clipping": NetworkSettings(learned_clipping=True),
    "4 bits, per tensor": NetworkSettings(per_tensor=True, learned_clipping=False),
    "4 bits, per tensor, learned clipping": NetworkSettings(per_tensor=True, learned_clipping=True),
    "3 bits": NetworkSettings(weight_bits=3, learned_clipping=False),
    "3 bits, learned clipping": NetworkSettings(weight_bits=3, learned_clipping=True),
    "2 bits": NetworkSettings(weight_bits=2, learned_clipping=False),
    "2 bits, learned clipping": NetworkSettings(weight_bits=2, learned_clipping=True),
}
ALL: Final = ("float, as given", *ROUNDED, *TRAINED)


def embedder(embedding: Embedding) -> Callable[[Ints], Floats]:
    """Return a fast function from words to their embeddings."""
    model = build_model(Schedule(1, 0, 1e-3, 1e-3, muon=False), 0, NetworkSettings(learned_clipping=False))
    model.load(embedding)
    return model.embed_words


def rounded(embedding: Embedding, levels: int) -> Embedding:
    """Return the embedding with its kernels rounded to a grid, without training."""
    weights = {
        name: snap(value, levels) if name.endswith("kernel") else value for name, value in embedding.weights.items()
    }
    return Embedding(embedding.name, weights, embedding.card)


def trained(embedding: Embedding, network: NetworkSettings | None, steps: int, words: WordList) -> Embedding:
    """Return the embedding after more steps on a grid, or with float weights for None."""
    settings = PretrainSettings(
        steps=steps,
        warmup=min(100, steps // 10),
        peak_rate=RATE,
        final_rate=RATE / 10,
        seed=1,
        quantized_share=1.0 if network else 0.0,
        network=network or NetworkSettings(learned_clipping=False),
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "embedding.safetensors"
        pretrain(words, settings, out, run_dir=Path(folder) / "run", initial=embedding)
        return load_embedding(out)


def judge(embedding: Embedding, given: Callable[[Ints], Floats], tasks: Iterable[RetrievalTask]) -> dict[str, float]:
    """Return the share of words found, and the mean cosine to the given embedding."""
    tasks = list(tasks)
    embed = embedder(embedding)
    found = measure(embed, tasks)
    queries = np.concatenate([task.queries for task in tasks])
    mine, theirs = embed(queries), given(queries)
    cosines = (mine * theirs).sum(1) / np.linalg.norm(mine, axis=1) / np.linalg.norm(theirs, axis=1)
    return {"found": float(np.mean(list(found.values()))), "cosine": float(cosines.mean())}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen grids and write the table of all that have been measured."""
    parser = command_parser(__doc__, quick="60 steps")
    parser.add_argument("embedding", type=Path)
    parser.add_argument("--steps", type=int, default=1000, help="steps of training (default: 1,000)")
    parser.add_argument("--only", choices=ALL, action="append", help="a grid; repeatable (default: all)")
    args = parser.parse_args(arguments)
    path = result_path("embedding_quantization", quick=args.quick)
    steps = 60 if args.quick else args.steps
    embedding = load_embedding(args.embedding)
    tasks = wordfreq_tasks(LANGUAGES, seed=0)
    given = embedder(embedding)
    start = embedding.card.get("steps")
    known: dict[str, dict[str, Any]] = {
        row["grid"]: row for row in read_results(path) if row["steps"] == steps and row["from_step"] == start
    }
    words = load_words([Path(WORDFREQ)])
    for name in args.only or ALL:
        print(f"{name} ...", file=sys.stderr, flush=True)
        if name in TRAINED:
            found = judge(trained(embedding, TRAINED[name], steps, words), given, tasks)
        else:
            found = judge(rounded(embedding, ROUNDED[name]) if name in ROUNDED else embedding, given, tasks)
        known[name] = {"grid": name, "steps": steps, "from_step": start, **found}
        rows = [known[grid] for grid in ALL if grid in known]
        table = [[row["grid"], f"{row['found']:.4f}", f"{row['cosine']:.4f}"] for row in rows]
        write_results(path, rows, markdown_table(["kernels", "right word found", "cosine to the given floats"], table))


if __name__ == "__main__":
    main()
