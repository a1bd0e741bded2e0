"""Run a real engine over a folder of Parquet files, with a worker killed in the middle: `engine_runs.py ENGINE MODEL IN OUT`.

ENGINE is ray, spark, spark-pandas or dask. A process of its own, because engines start and leave many threads and processes.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from retvec_lite import BatchClassifier

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples" / "scale"))


class KilledOnce(BatchClassifier):
    """Kills the process that it runs in at the first batch with one text, the first time."""

    def __init__(self, model: str, marker: Path, text: str) -> None:
        super().__init__(model)
        self.marker, self.text = marker, text

    def __call__(self, batch: Any) -> Any:
        texts = batch["text"]
        if self.text in (texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)):
            try:
                # Only one process can make it.
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return super().__call__(batch)


def on_ray(classify: BatchClassifier, given: str, output: str) -> None:
    """Two worker nodes beside a head without processors."""
    import classify_on_ray
    import ray
    import ray.data
    from ray.cluster_utils import Cluster

    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - Ray's own name; a busy machine
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})
    assert sum(node["Alive"] for node in ray.nodes()) == 3
    classify_on_ray.ROWS = 100
    classify_on_ray.classified(ray.data.read_parquet(given), classify).write_parquet(output)
    ray.shutdown()
    cluster.shutdown()


def on_spark(classify: BatchClassifier, given: str, output: str, *, pandas: bool = False) -> None:
    """Two cores, each task tried four times as on a cluster."""
    import classify_on_spark
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    spark = builder.config("spark.sql.files.maxPartitionBytes", "4000").getOrCreate()
    texts = spark.read.parquet(given)
    done = classify_on_spark.classified(texts, classify)
    if pandas:
        done = texts.mapInPandas(classify.each, done.schema)
    done.write.parquet(output)
    spark.stop()


def on_dask(classify: BatchClassifier, given: str, output: str) -> None:
    """Two worker processes."""
    import dask
    import dask.dataframe
    from distributed import Client, LocalCluster

    dask.config.set({"dataframe.convert-string": False})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        texts = dask.dataframe.read_parquet(given, split_row_groups=True)
        kinds = {"label": object, "probability": "float32"}
        done = texts.map_partitions(classify, meta=texts._meta.assign(label="", probability=0.0).astype(kinds))
        done.to_parquet(output, schema={"label": pa.string(), "probability": pa.float32()})


def main(engine: str, model: str, given: str, output: str) -> None:
    middle = pq.read_table(given)["text"][-10].as_py()
    classify = KilledOnce(model, Path(output).with_suffix(".killed"), middle)
    if engine == "ray":
        on_ray(classify, given, output)
    elif engine == "dask":
        on_dask(classify, given, output)
    else:
        on_spark(classify, given, output, pandas=engine == "spark-pandas")


if __name__ == "__main__":
    main(*sys.argv[1:])
