"""One worker of a pre-training: `pretraining_worker.py FOLDER STEPS [STOP]`; TF_CONFIG tells which. Prints its losses as JSON.

With STOP the second worker kills itself after that step, the first time.
"""

import json
import os
import signal
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.distribution import join_workers


def main(folder: Path, steps: int, stop: int | None = None) -> None:
    workers = join_workers()
    from tiny_words import tiny_training

    from retvec_lite.pretraining import pretrain as module
    from retvec_lite.pretraining.options import PretrainSettings

    losses: dict[int, float] = {}
    train = module._train

    def noted(model, words, settings, workers, start, stop_at):
        for step, loss in enumerate(train(model, words, settings, workers, start, stop_at), start + 1):
            losses[step] = loss
            marker = folder / "killed"
            if step == stop and workers.index == 1 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield loss

    module._train = noted
    settings = PretrainSettings(steps=steps, batch_size=64, warmup=max(steps // 10, 1))
    out, every = folder / "out.safetensors", module.Every(checkpoint=10)
    try:
        module.pretrain(tiny_training(), settings, out, run_dir=folder / "run", every=every, workers=workers)
    except RetvecLiteError as error:
        sys.exit(str(error))
    assert out.exists(), "the others wait for the file"
    print(json.dumps(losses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
