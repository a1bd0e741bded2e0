"""One worker of a pre-training: `cluster_pretrain.py FOLDER SHARES STEPS [STOP]`; TF_CONFIG tells which. Prints its losses as JSON.

With STOP the second worker kills itself after that step, the first time.
"""

import json
import os
import signal
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import cluster as rooms
from retvec_lite.pretraining import pretrain as module

BATCH = 64


def main(folder: Path, shares: int, steps: int, stop: int | None = None) -> None:
    losses: dict[int, float] = {}
    alone, together = module._alone, module._together

    def noted(step_of):
        def make(*given):
            train = step_of(*given)

            def step(batch):
                loss = train(batch)
                done = int(given[0].optimizer.iterations.numpy())
                losses[done] = loss
                marker = folder / "killed"
                if done == stop and rooms.join_cluster().index == 1 and not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return loss

            return step

        return make

    module._alone, module._together = noted(alone), noted(together)
    rooms.join_cluster()
    from tiny_words import tiny_training

    settings = module.PretrainSettings(
        steps=steps, batch_size=BATCH, warmup=max(steps // 10, 1), shares=shares, quantized_share=0.0
    )
    try:
        module.pretrain(
            tiny_training(),
            settings,
            folder / "out.safetensors",
            run_dir=folder / "run",
            checkpoint_every=10,
            force=True,
        )
    except RetvecLiteError as error:
        sys.exit(str(error))
    print(json.dumps(losses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
