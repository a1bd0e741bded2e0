"""Run models on one runtime: `run_models.py RUNTIME FOLDER NAME...`, for each `<name>.tflite` on `<name>.inputs.npy`.

Writes `<name>.<runtime>.npz` with every output for every input, or `<name>.<runtime>.txt` with the reason of a refusal.
Each input is run twice in a row with another one between, so that a graph that remembers is found out.
"""

import importlib
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    runtime, folder = sys.argv[1], Path(sys.argv[2])
    interpreter_class = importlib.import_module(f"{runtime}.interpreter").Interpreter
    for name in sys.argv[3:]:
        values = np.load(folder / f"{name}.inputs.npy")
        try:
            interpreter = interpreter_class(str(folder / f"{name}.tflite"), num_threads=1)
            run = interpreter.get_signature_runner("classify")
        except (ValueError, RuntimeError) as error:
            (folder / f"{name}.{runtime}.txt").write_text(str(error), encoding="utf-8")
            continue
        first = [run(codepoints=value) for value in values]
        again = [run(codepoints=value) for value in values[::-1]][::-1]
        outputs = {key: np.stack([answer[key] for answer in first]) for key in first[0]}
        repeated = {f"{key}/again": np.stack([answer[key] for answer in again]) for key in first[0]}
        np.savez(folder / f"{name}.{runtime}.npz", **outputs, **repeated)


if __name__ == "__main__":
    main()
