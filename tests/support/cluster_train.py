"""One worker of a training, or all of it: `cluster_train.py FOLDER HEAD [STOP [SEED]]`; TF_CONFIG tells which. Prints its losses as JSON.

HEAD is pool, or tuned: pool with the embedding fine-tuned. With STOP, not -1, the last worker kills itself after that step, the first
time; every step is kept. With SEED the training starts from weights that differ by a ten-millionth, drawn with that seed.
"""

import json
import os
import signal
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

import retvec_lite as rl
from retvec_lite.model.cluster import join_cluster


def main(folder: Path, head: str, stop: int = -1, seed: int | None = None) -> None:
    cluster = join_cluster()
    from retvec_lite.training import checkpoint
    from retvec_lite.training.network import TrainableNetwork

    losses: list[float] = []
    train = TrainableNetwork.train

    def noted(self, batch, targets, count):
        marker = folder / "killed"
        is_last = cluster is None or cluster.index == cluster.count - 1
        if count == stop and is_last and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        losses.append(train(self, batch, targets, count))
        return losses[-1]

    TrainableNetwork.train = noted
    begin = TrainableNetwork.__init__

    def nudged(self, head, weights, *given, **options):
        rng = np.random.default_rng(seed)
        moved = {name: value * (1 + 1e-7 * rng.standard_normal(value.shape)) for name, value in weights.items()}
        begin(self, head, {name: value.astype(np.float32) for name, value in moved.items()}, *given, **options)

    if seed is not None:
        TrainableNetwork.__init__ = nudged
    if stop >= 0:
        checkpoint.SECONDS = 0.0
    starter = rl.read_dataset(Path(rl.__file__).parent / "starter" / "train.csv")
    rows = range(0, len(starter), 20)
    data = [starter.texts[row] for row in rows], [starter.labels[row] for row in rows]
    options = {"fine_tune_embedding": True, "character_filters": 16} if head == "tuned" else {}
    try:
        rl.train(*data, head="pool", ngram_kb=0, validation=0.25, epochs=8, out=folder / "trained", **options)
    except rl.RetvecLiteError as error:
        sys.exit(str(error))
    print(json.dumps(losses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
