"""The real engines, each with a worker killed in the middle: the answers equal those of one process, none lost or doubled.

`make test-all` installs the engines; elsewhere each test is skipped by name.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import engine_runs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from light import run_python
from patience import PATIENCE

import retvec_lite as rl
from retvec_lite.data.dataset import read_dataset, starter_file

PACKAGES = {"ray": "ray", "spark": "pyspark", "spark-pandas": "pyspark", "dask": "distributed"}

EXAMPLES = Path(__file__).parents[2] / "examples/scale"


def require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make engines")
    if package == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer, which is not installed")


def write_texts(folder: Path) -> list[str | None]:
    """Two files of 1,000 rows; every 50th text is missing."""
    texts = [None if row % 50 == 0 else f"{'AB ' * (row % 3)}{row}" for row in range(2000)]
    folder.mkdir()
    for number in range(2):
        part = slice(1000 * number, 1000 * (number + 1))
        table = pa.table({"id": range(2000)[part], "text": texts[part]})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=250)
    return texts


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", PACKAGES)
def test_a_killed_worker_changes_no_answer(engine: str, tmp_path: Path, tiny_model: str) -> None:
    require(PACKAGES[engine])
    texts = write_texts(tmp_path / "in")
    done = subprocess.run(
        [sys.executable, engine_runs.__file__, engine, tiny_model, str(tmp_path / "in"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "out.killed").exists(), "no worker was killed"
    rows = sorted(pq.read_table(tmp_path / "out").to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == list(range(2000)) and [row["text"] for row in rows] == texts
    classifier = rl.load(tiny_model)
    for row in rows:
        expected = classifier.predict(row["text"], top=1)[0] if row["text"] is not None else (None, None)
        assert row["label"] == expected[0]
        if row["text"] is not None:
            assert row["probability"] == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize(
    ("engine", "package", "message"),
    [
        ("ray", "ray", 'Ray is not installed. Run: pip install "ray[data]"'),
        ("spark", "pyspark", "Spark is not installed. Run: pip install pyspark"),
    ],
)
def test_a_missing_engine_is_one_sentence(engine: str, package: str, message: str) -> None:
    code = f"import runpy, sys; sys.modules[{package!r}] = None; runpy.run_path(sys.argv[1])"
    done = run_python(code, EXAMPLES / f"classify_on_{engine}.py")
    assert (done.returncode, done.stderr) == (1, f"{message}\n")


def example(engine: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / f"classify_on_{engine}.py"), *arguments]
    command += ["--master", "local[2]"] if engine == "spark" else []
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed: make engines")
def test_spark_without_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = example("spark", "none.tflite", "in", str(tmp_path / "out"), PATH=str(tmp_path))
    message = "Spark needs Java 17 or newer: install it, or set JAVA_HOME to its folder.\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_a_wrong_argument_is_one_sentence(engine: str, tmp_path: Path, tiny_model: str) -> None:
    require(PACKAGES[engine])
    out = tmp_path / "out"
    done = example(engine, "none.tflite", "in", str(out))
    assert (done.returncode, done.stderr) == (1, "Cannot read none.tflite: No such file or directory.\n")
    out.mkdir()
    done = example(engine, tiny_model, "in", str(out))
    assert (done.returncode, done.stderr) == (1, f"{out} already exists. Choose another name.\n")


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_the_example_is_complete(engine: str, tmp_path: Path, tiny_model: str) -> None:
    require(PACKAGES[engine])
    texts = read_dataset(starter_file("test")).texts[:600]
    (tmp_path / "in").mkdir()
    for number in range(3):
        rows = range(200 * number, 200 * (number + 1))
        pq.write_table(pa.table({"id": rows, "text": [texts[row] for row in rows]}), tmp_path / f"in/{number}.parquet")
    given, out = str(tmp_path / "in"), str(tmp_path / "out")
    done = example(engine, tiny_model, given, out, "--text-column", "body")
    assert done.returncode == 1 and not Path(out).exists()
    assert f"No column 'body' in {given} (found: id, text)." in done.stderr.splitlines()
    done = example(engine, tiny_model, given, out)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = sorted(pq.read_table(tmp_path / "out").to_pylist(), key=lambda row: row["id"])
    assert [(row["id"], row["text"]) for row in rows] == list(enumerate(texts))
    expected = [found[0] for found in rl.load(tiny_model).predict_many(texts, top=1)]
    assert [row["label"] for row in rows] == [found.label for found in expected]
    assert [row["probability"] for row in rows] == pytest.approx([one.probability for one in expected], abs=1e-6)
