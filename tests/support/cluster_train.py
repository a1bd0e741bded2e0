"""One worker of a training, or all of it: `cluster_train.py FOLDER HEAD [STOP]`; TF_CONFIG tells which. Prints its losses as JSON.

HEAD is pool, or tuned: pool with the embedding fine-tuned. With STOP, the last worker kills itself after that step, the first time;
every step is kept.
"""

import json
import os
import signal
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import retvec_lite as rl
from retvec_lite.model import load_tensorflow
from retvec_lite.model.distribution import Workers, join_workers


def main(folder: Path, head: str, stop: int = -1) -> None:
    workers: Workers = join_workers()
    load_tensorflow()
    from retvec_lite.training import checkpoint
    from retvec_lite.training.network import TrainableNetwork

    losses: list[float] = []
    train = TrainableNetwork.train

    def noted(self, batch, targets, count, weights):
        marker = folder / "killed"
        if count == stop and workers.index == workers.count - 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        losses.append(train(self, batch, targets, count, weights))
        return losses[-1]

    TrainableNetwork.train = noted
    if stop >= 0:
        checkpoint.SECONDS = 0.0
    starter = rl.read_dataset(Path(rl.__file__).parent / "starter" / "train.csv")
    rows = range(0, len(starter), 20)
    data = [starter.texts[row] for row in rows], [starter.labels[row] for row in rows]
    options = {"fine_tune_embedding": True, "character_filters": 16} if head == "tuned" else {}
    try:
        trained = rl.train(*data, head="pool", ngram_kb=0, validation=0.25, epochs=8, out=folder / "trained", **options)
    except rl.RetvecLiteError as error:
        sys.exit(str(error))
    print(json.dumps({"losses": losses, "accuracy": trained.validation[0.0].accuracy}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
