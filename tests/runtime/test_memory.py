"""What Python teaches: the same answers from every engine, only where it was taught, and nothing lost."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Main

import retvec_lite as rl
from retvec_lite.contract import EncoderConfig
from retvec_lite.runtime import is_built
from retvec_lite.runtime.answers import Prediction
from retvec_lite.runtime.memory import MOST_BYTES, MOST_ROWS, MOST_STRINGS, Memory, from_bytes
from tools.golden import FOLDER, LESSONS, TAUGHT, taught

RETVEC = FOLDER / "rejecting.retvec"
ASKED = ["feed the cat at noon", "egg timer 4 min pls", "haha you always say that", "order status please", ""]

native = pytest.mark.skipif(not is_built(), reason="The C engine is not built")


def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{TAUGHT}.json").read_text(encoding="ascii"))
    return found


def lessons(file: Path, **options: Any) -> rl.Classifier:
    classifier = rl.load(file, **options)
    for text, label in LESSONS:
        classifier.teach(text, label)
    return classifier


@native
@pytest.mark.parametrize("name", ["plain", "rejecting"])
def test_the_golden_answers(name: str) -> None:
    """As every package does: teach the lessons, or load the memory; both answer the cases."""
    document, classifier, other = golden(), rl.load(FOLDER / f"{name}.retvec"), rl.load(FOLDER / f"{name}.retvec")
    for text, label in document["lessons"]:
        classifier.teach(text, label)
    assert classifier.memory.texts == [tuple(pair) for pair in document["kept"]]
    other.memory.load(FOLDER / f"{TAUGHT}.memory")
    for each in (classifier, other):
        answers = [each.predict(case["text"], top=1)[0] for case in document[name]]
        assert [(answer.label, answer.taught) for answer in answers] == [
            (case["label"], case["taught"]) for case in document[name]
        ]
    assert other.memory.to_bytes() == (FOLDER / f"{TAUGHT}.memory").read_bytes()


@native
def test_the_golden_answers_are_those_of_this_source() -> None:
    names = [name for name in golden() if name not in ("lessons", "kept")]
    memory, document = taught(FOLDER, names)
    assert memory == (FOLDER / f"{TAUGHT}.memory").read_bytes()
    assert document == (FOLDER / f"{TAUGHT}.json").read_bytes()


@native
def test_litert_and_the_engine_remember_the_same() -> None:
    pytest.importorskip("ai_edge_litert")
    tflite, engine = lessons(FOLDER / "rejecting.tflite"), lessons(RETVEC)
    asked = [case["text"] for case in golden()["rejecting"]]
    for found, expected in zip(tflite.predict(asked), engine.predict(asked), strict=True):
        assert (found[0].label, found[0].taught) == (expected[0].label, expected[0].taught)
        assert found[0].probability == pytest.approx(expected[0].probability, abs=0.02)


@native
def test_a_silent_memory_changes_no_bit() -> None:
    before, classifier = rl.load(RETVEC), lessons(RETVEC)
    silent = [text for text in ASKED if classifier.predict(text)[0].taught is None]
    assert len(silent) == len(ASKED) - 1
    assert classifier.predict(silent) == before.predict(silent)
    assert (classifier.probabilities(ASKED) == before.probabilities(ASKED)).all()
    assert classifier.explain(ASKED[1]) == before.explain(ASKED[1])
    for text, _ in LESSONS:
        classifier.forget(text)
    assert classifier.predict(ASKED) == before.predict(ASKED)


@native
def test_a_prediction_tells_who_spoke_and_is_a_pair() -> None:
    first, *others = lessons(RETVEC).predict("feed the cat at noon")
    assert first.taught == "feed the cat at noon"
    assert isinstance(first, Prediction)
    label, probability = first
    assert first == Prediction(label, probability) == pickle.loads(pickle.dumps(first))
    assert pickle.loads(pickle.dumps(first)).taught == first.taught
    assert [other.taught for other in others] == [None] * len(others)
    assert sum(probability for _, probability in (first, *others)) == pytest.approx(1, abs=1e-5)
    assert {label for label, _ in others} == set(rl.load(RETVEC).labels)


@native
def test_an_old_label_can_be_taught_and_corrected() -> None:
    classifier = rl.load(RETVEC)
    text = "who's the drummer in this band"
    assert classifier.predict(text, top=1)[0].label != "music"
    for label in ("chat", "music"):
        classifier.teach(text, label)
        answers = classifier.predict(text)
        assert answers[0].label == label
        assert len(answers) == len({label for label, _ in answers}) == len(classifier.labels)
    assert len(classifier.memory) == 1
    assert classifier.memory.labels == ()


@native
def test_all_workers_and_copies_remember() -> None:
    classifier = lessons(RETVEC, workers=2)
    texts = ["feed the cat at noon", "egg timer 4 min pls"] * 200
    alone = classifier.predict(texts[:2], top=1)
    assert classifier.predict(texts, top=1) == alone * 200
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.predict(texts[:2], top=1) == alone
    copy.forget("feed the cat at noon")
    assert copy.predict(texts[0], top=1)[0].taught != texts[0] and classifier.predict(texts[:2], top=1) == alone


@native
def test_mistakes_are_sentences_and_change_nothing(tmp_path: Path) -> None:
    classifier = lessons(RETVEC)
    before = classifier.memory.to_bytes()
    for text, label in (
        ("", "pets"),
        ("\u200b", "pets"),
        ("cat", ""),
        ("cat", "a\nb"),
        ("cat", "x" * 256),
        ("cat", "\ud800"),
    ):
        with pytest.raises(rl.RetvecLiteError, match=r"\.$"):
            classifier.teach(text, label)
    with pytest.raises(rl.RetvecLiteError, match="was not taught"):
        classifier.forget("nobody said this")
    for content in (b"", b"RVLMEM\r\n", before[:-4], before[:40] + b"x" + before[41:], RETVEC.read_bytes()):
        (tmp_path / "damaged").write_bytes(content)
        with pytest.raises(rl.RetvecLiteError, match=r"damaged.*\.$"):
            classifier.memory.load(tmp_path / "damaged")
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(rl.RetvecLiteError, match="Cannot read"):
            classifier.memory.load(path)
    classifier.memory.save(tmp_path / "memory")
    with pytest.raises(rl.RetvecLiteError, match="already exists"):
        classifier.memory.save(tmp_path / "memory")
    assert classifier.memory.to_bytes() == before
    with pytest.raises(rl.RetvecLiteError, match="one label a text"):
        rl.load(FOLDER / "several.retvec").teach("cat", "pets")
    with pytest.raises(rl.RetvecLiteError, match="embed"):
        rl.load("language").teach("cat", "en")


def test_a_memory_has_an_end() -> None:
    from retvec_lite.contract import EncoderConfig
    from retvec_lite.runtime.memory import Memory

    memory = Memory(lambda text: (np.ones(4, np.float32), None), ["a", "b"], EncoderConfig(), None)
    memory._replace({str(number): "a" for number in range(MOST_ROWS - 2)})
    memory.teach("5", "b")  # what is there can change
    for text, label in (("one more", "a"), ("6", "c")):
        with pytest.raises(
            rl.RetvecLiteError, match=r"full: at most 10,016 texts and labels together, and .*\. Forget"
        ):
            memory.teach(text, label)
    assert len(from_bytes(memory.to_bytes(), "m")) == len(memory) == MOST_ROWS - 2
    long = MOST_STRINGS // (MOST_BYTES + 1)
    memory._replace({f"{number:<{MOST_BYTES}}": "a" for number in range(long)})
    with pytest.raises(rl.RetvecLiteError, match=r"full: .* 400,512 bytes of them\."):
        memory.teach("so many words " * 20, "a")
    from_bytes(memory.to_bytes(), "m")


@native
def test_long_texts_are_cut_between_characters() -> None:
    classifier = rl.load(RETVEC)
    text = "x" + "éèàù" * 200
    classifier.teach(text, "long")
    assert classifier.memory.texts == [(text[:128], "long")]
    assert len(text[:128].encode()) == MOST_BYTES - 1
    classifier.forget(text[:400])


@native
def test_the_commands(main: Main, tmp_path: Path) -> None:
    model, memory = str(RETVEC), str(tmp_path / "mine.memory")
    assert main("teach", model, "feed the cat at noon", "unknown", "--memory", memory)[:2] == (0, f"{memory}: 1 text\n")
    code, out, _ = main("classify", model, "feed the cat at noon", "play music", "--memory", memory)
    assert (code, [line.split("\t")[0] for line in out.splitlines()]) == (0, ["unknown", "music"])
    found = json.loads(main("classify", model, "feed the cat at noon", "--json", "--memory", memory)[1])
    assert found["taught"] == "feed the cat at noon"
    assert "taught" not in json.loads(main("classify", model, "play music", "--json", "--memory", memory)[1])
    assert main("teach", model, "feed the cat at noon", "--forget", "--memory", memory)[:2] == (
        0,
        f"{memory}: 0 texts\n",
    )
    saved = Path(memory).read_bytes()
    for arguments in (("a", "--forget"), ("a",), ("a", "b", "--forget"), ("", "b")):
        code, out, errors = main("teach", model, *arguments, "--memory", memory)
        assert (code, out) == (2, "") and errors.count("\n") == 1
    assert main("classify", model, "a", "--memory", str(tmp_path / "nothing"))[0] == 2
    Path(memory).write_bytes(b"damaged")
    assert main("teach", model, "a cat", "pets", "--memory", memory)[0] == 2
    assert Path(memory).read_bytes() == b"damaged" != saved


@native
def test_whoever_saves_the_file_is_there_and_whole(tmp_path: Path) -> None:
    def save(name: str) -> None:
        classifier, other = rl.load(RETVEC), rl.load(RETVEC)
        for number in range(20):
            classifier.teach(f"{name} {number}", "pets")
        for _ in range(15):
            classifier.memory.save(tmp_path / "mine.memory", force=True)
            other.memory.load(tmp_path / "mine.memory")
            assert len(other.memory) == 20

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(save, ["cats", "dogs", "birds"]))
    assert [file.name for file in tmp_path.iterdir()] == ["mine.memory"]


@pytest.mark.parametrize("seed", range(4))
def test_of_texts_with_one_vector_the_first_speaks(seed: int) -> None:
    """As in the engine, which compares them one after the other."""
    vector = np.random.default_rng(seed).normal(size=256).astype(np.float32)
    memory = Memory(lambda text: (vector, None), ("known",), EncoderConfig(), None)
    for place in range(37):
        memory.teach(f"text {place}", f"label {place}")
    asked = np.resize(vector / np.linalg.norm(vector), (53, 256))
    answers = memory.answer(asked, np.ones((53, 1), np.float32), [0], ["known"])
    assert {answer and answer.label for answer in answers} == {"label 0"}
