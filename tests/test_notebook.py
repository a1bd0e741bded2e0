"""The quickstart notebook runs from top to bottom and was committed without outputs."""

from pathlib import Path

import pytest
from patience import PATIENCE

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("tensorflow")

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples/quickstart.ipynb"


def test_the_notebook_has_no_outputs() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.exhaustive
def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert (tmp_path / "trained").is_dir()
    assert (tmp_path / "dist/classifier-int8.tflite").stat().st_size < 1_000_000
    answers = notebook.cells[-2].outputs[-1]["data"]["text/plain"]
    labels = [answers.find(f"label={label!r}") for label in ("alarm", "delivery", "music", None)]
    assert labels == sorted(labels) and labels[0] > 0, answers
    predicted = notebook.cells[-4].outputs[-1]["data"]["text/plain"]
    assert "Prediction(label=" in predicted
