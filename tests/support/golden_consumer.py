"""Answer the golden texts of a folder's .retvec files with what is installed: `golden_consumer.py FOLDER`, prints how many."""

import json
import sys
from pathlib import Path

import numpy as np

import retvec_lite as rl


def main() -> None:
    answered = 0
    for path in sorted(Path(sys.argv[1]).glob("*.retvec")):
        golden = json.loads(path.with_suffix(".json").read_text(encoding="ascii"))
        (key,) = (name for name in golden["tolerance"] if name.startswith("engine-"))
        classifier = rl.load(path)
        cases = [case for case in (*golden["cases"], *golden["long"]) if case["text"] is not None]
        found = classifier.probabilities([case["text"] for case in cases])
        expected = np.array([case["probabilities"][key] for case in cases])
        assert np.abs(found - expected).max() <= golden["tolerance"][key], path.name
        answered += len(cases)
    print(classifier.runtime, answered)


if __name__ == "__main__":
    main()
