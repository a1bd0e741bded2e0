"""Classify Parquet files on a Spark cluster: `spark-submit classify_on_spark.py MODEL INPUT OUTPUT`, or with python.

INPUT is a file or folder with a column `text`; OUTPUT becomes a folder of Parquet files with `label` and `probability` beside all
columns. Every machine needs `pip install ".[parquet]"` in a checkout; the model travels with the function.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from retvec_lite import BatchClassifier, RetvecLiteError

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import FloatType, StringType, StructType
except ModuleNotFoundError:
    sys.exit("Spark is not installed. Run: pip install pyspark")


def classified(texts: DataFrame, classify: BatchClassifier) -> DataFrame:
    """Return the rows with label and probability. Spark runs a lost task again on another worker."""
    schema = StructType([*texts.schema.fields])
    schema = schema.add(classify.label_column, StringType()).add(classify.probability_column, FloatType())
    # `mapInPandas(classify.each, schema)` gives the same answers; Arrow saves the way through pandas.
    return texts.mapInArrow(classify.each, schema)


def main() -> None:
    """Read, classify and write; nothing is held in memory as a whole."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("model", help="an exported .tflite")
    parser.add_argument("input", help="Parquet file or folder")
    parser.add_argument("output", help="folder to write")
    parser.add_argument("--master", help="such as local[2]; spark-submit sets it otherwise")
    parser.add_argument("--text-column", default="text")
    args = parser.parse_args()
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        sys.exit("Spark needs Java 17 or newer: install it, or set JAVA_HOME to its folder.")
    if Path(args.output).exists():
        sys.exit(f"{args.output} already exists. Choose another name.")
    try:
        classify = BatchClassifier(args.model, text_column=args.text_column)
    except RetvecLiteError as error:
        sys.exit(str(error))
    if (args.master or "").startswith("local"):
        # Otherwise Spark takes the first python3 it finds, which may lack what is installed here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("retvec-lite")
    spark = (builder.master(args.master) if args.master else builder).getOrCreate()
    texts = spark.read.parquet(args.input)
    if args.text_column not in texts.columns:
        sys.exit(f"No column {args.text_column!r} in {args.input} (found: {', '.join(texts.columns)}).")
    classified(texts, classify).write.parquet(args.output)
    spark.stop()


if __name__ == "__main__":
    main()
