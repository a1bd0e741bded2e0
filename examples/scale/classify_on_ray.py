"""Classify Parquet files on a Ray cluster: `python classify_on_ray.py MODEL INPUT OUTPUT [--address auto]`.

INPUT is a file or folder with a column `text`; OUTPUT becomes a folder of Parquet files with `label` and `probability` beside all
columns. Every machine needs `pip install ".[parquet]" "ray[data]"` in a checkout; the model travels with the function.
"""

import argparse
import sys
from pathlib import Path

from retvec_lite import BatchClassifier, RetvecLiteError

try:
    import ray
    import ray.data
    from ray.data import SaveMode
except ModuleNotFoundError:
    sys.exit('Ray is not installed. Run: pip install "ray[data]"')

ROWS = 4096
"""Rows of a batch: half a second of one core."""


def classified(texts: ray.data.Dataset, classify: BatchClassifier) -> ray.data.Dataset:
    """Return the rows with label and probability. Ray runs a lost batch again on another worker."""
    return texts.map_batches(classify, batch_format="pyarrow", batch_size=ROWS)


def main() -> None:
    """Read, classify and write; nothing is held in memory as a whole."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("model", help="an exported .tflite")
    parser.add_argument("input", help="Parquet file or folder; also s3:// and gs://")
    parser.add_argument("output", help="folder to write")
    parser.add_argument("--address", help="of the cluster, such as auto (default: this machine alone)")
    parser.add_argument("--text-column", default="text")
    args = parser.parse_args()
    if Path(args.output).exists():
        sys.exit(f"{args.output} already exists. Choose another name.")
    try:
        classify = BatchClassifier(args.model, text_column=args.text_column)
    except RetvecLiteError as error:
        sys.exit(str(error))
    ray.init(address=args.address)
    texts = ray.data.read_parquet(args.input)
    names = texts.schema().names
    if args.text_column not in names:
        sys.exit(f"No column {args.text_column!r} in {args.input} (found: {', '.join(names)}).")
    # Without the mode, a second run would add its rows to those of the first.
    classified(texts, classify).write_parquet(args.output, mode=SaveMode.ERROR)


if __name__ == "__main__":
    main()
