"""`BatchClassifier`: every kind of batch, pickled, in other processes, and what is refused."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from light import loaded_after
from refusals import refusal
from tiny_artifact import tiny_artifact

import retvec_lite as rl
from retvec_lite import BatchClassifier
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError

TEXTS = ["12", None, "AB CD", "", "1A"]


@pytest.fixture
def answers(tiny_model: str) -> tuple[list[str | None], list[float | None]]:
    classifier = rl.load(tiny_model)
    found = [None if text is None else classifier.predict(text, top=1)[0] for text in TEXTS]
    return [one and one.label for one in found], [one and pytest.approx(one.probability, abs=1e-6) for one in found]


def test_arrow(tiny_model: str, answers) -> None:
    classify = BatchClassifier(tiny_model)
    table = pa.table({"id": range(5), "text": TEXTS})
    for batch in (table, table.to_batches()[0]):
        done = classify(batch)
        assert type(done) is type(batch) and done.schema.names == ["id", "text", "label", "probability"]
        assert (done["label"].to_pylist(), done["probability"].to_pylist()) == answers
    assert done.schema.types[2:] == [pa.string(), pa.float32()]
    for texts in (pa.array(TEXTS).dictionary_encode(), pa.chunked_array([TEXTS[:2], TEXTS[2:]])):
        assert classify(pa.table({"text": texts}))["label"].to_pylist() == answers[0]
    assert classify(table.slice(0, 0)).schema == done.schema


def test_pandas(tiny_model: str, answers) -> None:
    classify = BatchClassifier(tiny_model)
    for texts in (TEXTS, [np.nan if text is None else text for text in TEXTS], pd.array(TEXTS, "string")):
        frame = pd.DataFrame({"text": texts, "id": range(5)}, index=[3, 3, 1, 0, 9])
        done = classify(frame)
        assert list(frame.columns) == ["text", "id"] and done.index.tolist() == [3, 3, 1, 0, 9]
        assert done["label"].tolist() == answers[0] and done["probability"].dtype == np.float32
        assert [None if np.isnan(one) else one for one in done["probability"].tolist()] == answers[1]
    assert classify(frame[:0]).columns.tolist() == ["text", "id", "label", "probability"]


def test_numpy_and_lists(tiny_model: str, answers) -> None:
    classify = BatchClassifier(tiny_model, label_column="found", probability_column="p")
    texts = np.array(TEXTS, object)
    done = classify({"text": texts, "id": np.arange(5)})
    assert list(done) == ["text", "id", "found", "p"]
    assert done["found"].tolist() == answers[0] and done["p"].dtype == np.float32 and np.isnan(done["p"][1])
    assert classify({"text": TEXTS})["found"].tolist() == answers[0]
    assert classify({"text": np.array(["12", "AB"])})["found"].tolist() == ["digits", "CAPITALS"]


def test_several_labels_a_text(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tiny_artifact(decision=Decision(thresholds=(0.3, 0.3, 0.3)).to_dict()))
    classify = BatchClassifier(str(tmp_path / "m.tflite"))
    expected = list(rl.load(tmp_path / "m.tflite").predict_many(["12", "1A", "AA"]))
    labels = [[one.label for one in found] for found in expected]
    assert [len(one) for one in labels] != [1, 1, 1]
    assert classify({"text": ["12", "1A", "AA"]})["label"].tolist() == labels
    done = classify(pa.table({"text": ["12", "1A", None]}))
    assert done["label"].to_pylist() == [*labels[:2], None] and done["label"].type == pa.list_(pa.string())


def test_unknown_texts(tmp_path: Path) -> None:
    decision = Decision(threshold=0.6, characters="12A")
    (tmp_path / "m.tflite").write_bytes(tiny_artifact(decision=decision.to_dict()))
    texts = ["12", "1A", "bcd", "AAAA"]
    expected = [found[0].label for found in rl.load(tmp_path / "m.tflite").predict_many(texts, top=1)]
    assert None in expected
    assert BatchClassifier(tmp_path / "m.tflite")({"text": texts})["label"].tolist() == expected
    assert None not in BatchClassifier(tmp_path / "m.tflite", reject=False)({"text": texts})["label"].tolist()


def test_some_labels(tiny_model: str) -> None:
    classify = BatchClassifier(tiny_model, languages=["CAPITALS"])
    for copy in (classify, pickle.loads(pickle.dumps(classify))):
        assert copy({"text": ["A", "12"]})["label"].tolist() == ["CAPITALS", "CAPITALS"]
    for given in (np.array(["CAPITALS"]), iter(["CAPITALS"])):
        assert BatchClassifier(tiny_model, languages=given)({"text": ["12"]})["label"].tolist() == ["CAPITALS"]  # type: ignore[arg-type]
    with pytest.raises(RetvecLiteError, match="no label 'digit'"):
        BatchClassifier(tiny_model, languages=["digit"])


def test_pickled_it_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tiny_artifact())
    content = pickle.dumps(BatchClassifier(path))
    path.unlink()
    assert pickle.loads(content)({"text": ["12"]})["label"].tolist() == ["digits"]


def test_a_spawned_process_answers(tiny_model: str) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(BatchClassifier(tiny_model), {"text": ["12"]}).result()["label"].tolist() == ["digits"]


def test_each_is_lazy(tiny_model: str) -> None:
    def endless():
        while True:
            yield {"text": ["12"]}

    assert next(BatchClassifier(tiny_model).each(endless()))["label"].tolist() == ["digits"]


def test_it_imports_numpy_and_one_runtime_alone(tiny_model: str) -> None:
    loaded = loaded_after(
        f"from retvec_lite import BatchClassifier; BatchClassifier({tiny_model!r})({{'text': ['a']}})"
    )
    assert loaded in (["ai_edge_litert"], ["tflite_runtime"])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"body": ["x"]}, "No column 'text' in the batch (found: 'body'). Name it with text_column."),
        ({"text": ["x"], "label": [1]}, "The batch already has a column 'label'. Name the new one with label_column."),
        ({"text": ["x", 5]}, "Texts must be strings, but the one at index 1 is of type int."),
        ({"text": b"x"}, "Texts must be a string or a sequence of strings, not bytes. Pass a list, an array or one column of a table."),
        (["x"], "A batch must be a DataFrame, an Arrow table or a mapping of column to array, not list."),
    ],
)  # fmt: skip
def test_bad_batches_are_one_sentence(tiny_model: str, batch, message: str) -> None:
    assert refusal(BatchClassifier(tiny_model), batch) == message
