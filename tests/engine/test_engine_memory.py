"""What is taught to the engine: the rule is that of NumPy, nothing else changes, and every mistake has a code."""

import csv
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from engine_memory import (
    DAMAGED,
    FULL,
    LABEL,
    NO_MEMORY,
    NO_TEXT,
    NOT_A_MEMORY,
    NOT_TAUGHT,
    UNTEACHABLE,
    VERSION,
    EngineMemory,
)
from engine_program import drive, texts
from hostile_files import mended
from hostile_memories import ATTACKS, sound_memory, written

import retvec_lite as rl
from retvec_lite.data.dataset import starter_file
from retvec_lite.data.typos import mistype
from retvec_lite.runtime.memory import MOST_BYTES, MOST_ROWS, MOST_STRINGS, from_bytes

GOLDEN = Path(__file__).parents[2] / "golden"
BLOCK_SIZE = 6


def starter(split: str, count: int, seed: int) -> list[tuple[str, str]]:
    with open(starter_file(split), encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    random.Random(seed).shuffle(rows)
    return rows[:count]


@pytest.fixture
def teachable(library: Path) -> Callable[..., EngineMemory]:
    return lambda name="rejecting", texts=200: EngineMemory(library, GOLDEN / f"{name}.retvec", texts)


@pytest.mark.parametrize("name", ["rejecting", "plain"])
def test_c_and_numpy_remember_the_same(teachable: Callable[..., EngineMemory], name: str) -> None:
    """Texts of all languages, taught with labels old and new, in two orders, with corrections and some forgotten."""
    memory, classifier = teachable(name), rl.load(GOLDEN / f"{name}.retvec")
    draw, spoke = random.Random(3), 0
    texts = starter("train", 60, 1)
    labels = [*classifier.labels[:3], "pets", "Geburtstag feiern", "天气预报", "7"]
    for place, (text, _) in enumerate(texts):
        label = draw.choice(labels)
        assert memory.teach(text, label) == 0
        classifier.teach(text, label)
        if place % 5 == 4:
            other = draw.choice(memory.texts())[0]
            if draw.random() < 0.5:
                assert memory.forget(other) == 0
                classifier.forget(other)
            else:
                assert memory.teach(other, labels[place % 7]) == 0
                classifier.teach(other, labels[place % 7])
    assert memory.texts() == classifier.memory.texts
    assert memory.save() == classifier.memory.to_bytes()
    asked = [text for text, _ in texts] + [mistype(text, 0.4, 1) for text, _ in texts]
    asked += [text for text, _ in starter("test", 60, 2)] + ["", "\0", "?!", " ".join(asked[:20]), "a" * 5000]
    for text in asked:
        expected, found = classifier.predict(text), memory.classify(text)
        assert memory.speaker() == expected[0].taught
        assert found[0][0] == expected[0].label
        assert found[0][1] == pytest.approx(expected[0].probability, abs=1e-6)
        assert sum(probability for _, probability in found[-len(expected) :]) > 0.5
        spoke += expected[0].taught is not None
    assert 40 < spoke < len(asked)  # it speaks for some, and not for all
    again = teachable(name)
    assert again.load(memory.save()) == 0
    assert [again.classify(text) for text in asked[:20]] == [memory.classify(text) for text in asked[:20]]


def test_without_a_memory_and_where_it_is_silent_nothing_changes(teachable: Callable[..., EngineMemory]) -> None:
    memory = teachable()
    asked = [text for text, _ in starter("test", 40, 3)]
    before = [memory.classify(text) for text in asked]
    assert memory.teach("feed the cat at noon", "pets") == 0
    after = [memory.classify(text) for text in asked]
    heard = [(memory.classify(text), memory.speaker())[1] is not None for text in asked]
    assert sum(heard) < 5
    assert [found for found, spoke in zip(after, heard, strict=True) if not spoke] == [
        found for found, spoke in zip(before, heard, strict=True) if not spoke
    ]
    assert memory.forget("feed the cat at noon") == 0
    assert [memory.classify(text) for text in asked] == before


def test_forgetting_undoes_exactly(teachable: Callable[..., EngineMemory]) -> None:
    memory, other = teachable(), teachable()
    texts = starter("train", 30, 4)
    for place, (text, _) in enumerate(texts):
        assert memory.teach(text, "abc"[place % 3]) == other.teach(text, "abc"[place % 3]) == 0
    wrong = ["call me back", "my parcel is late"]
    before, asked = memory.save(), [text for text, _ in starter("test", 30, 5)]
    for text in wrong:
        assert memory.teach(text, "abcd"[len(text) % 4]) == 0
    assert memory.save() != before
    for text in wrong:
        assert memory.forget(text) == 0
    assert memory.save() == before
    assert [memory.classify(text) for text in asked] == [other.classify(text) for text in asked]


def test_new_labels_have_names_and_numbers(teachable: Callable[..., EngineMemory]) -> None:
    memory = teachable("plain")
    labels = len(rl.load(GOLDEN / "plain.retvec").labels)
    for text, label in (("feed the cat", "pets"), ("walk the dog", "pets"), ("repot the fern", "plants")):
        assert memory.teach(text, label) == 0
    assert [memory.label(labels + n) for n in range(3)] == ["pets", "plants", None]
    assert memory.forget("feed the cat") == 0
    assert [memory.label(labels + n) for n in range(3)] == ["pets", "plants", None]
    assert memory.forget("walk the dog") == 0
    assert [memory.label(labels + n) for n in range(2)] == ["plants", None]


def test_every_mistake_has_a_code_and_a_sentence(teachable: Callable[..., EngineMemory]) -> None:
    memory = teachable()
    assert memory.teach("feed the cat", "pets") == 0
    saved = memory.save()
    for text in ("", " \t\n", "\u200b\u200b", "\0"):
        assert memory.teach(text, "pets") == NO_TEXT
    for label in ("", "a\nb", b"\xff\xfe", b"\xed\xa0\x80", "x" * 256):
        assert memory.teach("feed the dog", label) == LABEL
    assert memory.forget("feed the dog") == memory.forget("") == NOT_TAUGHT
    assert memory.save() == saved
    assert memory.teach("feed the dog", "x" * 255) == 0
    for code in range(17):
        assert memory.message(code).endswith(".") and memory.message(code) != memory.message(17)
    assert teachable("several").opened == UNTEACHABLE
    assert teachable("several").size == 0
    assert teachable("several").teach("feed the cat", "pets") == NO_MEMORY
    assert memory.open(100) == BLOCK_SIZE
    assert memory.texts()  # the one before is still there


def test_a_full_memory_says_so_and_stays_as_it_was(teachable: Callable[..., EngineMemory]) -> None:
    memory = teachable(texts=5)
    codes = [memory.teach(f"feed the cat number {number} at noon", f"label {number}") for number in range(40)]
    taught = codes.index(FULL)
    assert taught >= 5
    assert set(codes[taught:]) == {FULL}
    saved = memory.save()
    assert memory.teach("feed the cat number 0 at noon", "another label") == FULL or len(memory.texts()) == taught
    assert len(memory.texts()) == taught
    assert teachable(texts=1).load(saved) == FULL
    assert memory.forget(memory.texts()[0][0]) == 0
    assert memory.teach("feed the cat", "label 1") == 0
    long = teachable(texts=1)
    assert long.teach("ä" * 1000, "x" * 255) == 0  # a single one always has room
    assert teachable(texts=100_000).size == teachable(texts=10_000).size


@pytest.mark.parametrize("built", ["driver", "sanitized"])
def test_arguments_may_lie_in_the_memory(request: pytest.FixtureRequest, built: str) -> None:
    """`converse` in the driver calls with what the engine returned; the fuzzer does so with hostile files."""
    files = [(GOLDEN / f"{name}.retvec").read_bytes() for name in ("rejecting", "plain")]
    asked = [b"feed the cat at noon", b"walk the dog", *texts(4, seed=3)]
    lines = drive([str(request.getfixturevalue(built))], files, asked)
    assert [line.split()[0] for line in lines] == ["0", "0"]


MARKUP = (
    *(
        "a &amp;lt;b&amp;gt; cat",
        "100%2520 off",
        "5 %25 more",
        "x &amp;amp; y",
        "\\\\u0041lpha",
        "[a](b) &#91;c](d)",
        "**&#42;bold",
    ),
    *(
        "&lt;script> hello",
        "e&#769;te\u0301",
        "&amp;nbsp;tea",
        "%252525 tea",
        "a\u202eb\u202c c",
        "so&amp;shy;ft",
        "\x1b[2J abc \x07",
    ),
)
"""Texts of which less is left each time they are condensed."""


@pytest.mark.parametrize("name", ["rejecting", "plain"])
def test_what_is_listed_can_be_forgotten(teachable: Callable[..., EngineMemory], name: str) -> None:
    """And a text is compared as it was read once, so that it finds itself."""
    memory, classifier = teachable(name), rl.load(GOLDEN / f"{name}.retvec")
    for place, text in enumerate(MARKUP):
        assert memory.teach(text, f"label {place}") == 0
        classifier.teach(text, f"label {place}")
    assert memory.texts() == classifier.memory.texts
    for text, (kept, label) in zip(MARKUP, memory.texts(), strict=True):
        assert (memory.classify(text, 1)[0][0], memory.speaker()) == (label, kept)
        assert classifier.predict(text, top=1)[0].taught == kept
    again = teachable(name)
    assert again.load(memory.save()) == 0
    assert [again.classify(text) for text in MARKUP] == [memory.classify(text) for text in MARKUP]
    for kept, _ in memory.texts():
        assert memory.forget(kept) == 0
        classifier.forget(kept)
        assert memory.texts() == classifier.memory.texts
    assert memory.texts() == []


def test_python_writes_what_the_engine_loads(teachable: Callable[..., EngineMemory]) -> None:
    """Whatever fills a memory: texts, labels or bytes; one more is refused by both."""
    memory = teachable(texts=10_000)
    full = MOST_STRINGS // (MOST_BYTES + 1)
    cases = [
        {f"{n}": "a" for n in range(MOST_ROWS)},
        {f"{n}": f"l{n}" for n in range(MOST_ROWS // 2 + 1)},
        {f"{n:<256}": "a" for n in range(full + 1)},
        {"ก" * 40 + f"{n:08}": "ข" for n in range(3104)} | {"x" * 91: "ข", "y": "ข"},
    ]
    for case in cases:
        pairs = [(text.encode(), label.encode()) for text, label in case.items()]
        for count, code in ((len(pairs), FULL), (len(pairs) - 1, 0)):
            content = written(pairs[:count])
            assert memory.load(content) == code
            if code:
                with pytest.raises(rl.RetvecLiteError, match="holds more than a memory can: at most 10,016 texts"):
                    from_bytes(content, "it")
            else:
                assert len(from_bytes(content, "it")) == count


def test_many_texts_cost_little(teachable: Callable[..., EngineMemory]) -> None:
    """Each is compared with every text that is answered."""
    least = []
    for count in (1, 3000):
        memory = teachable(texts=3500)
        pairs = [(b"the text of number %d" % number, b"label %d" % (number % 20)) for number in range(count)]
        assert memory.load(written(pairs)) == 0
        times = []
        for _ in range(30):
            started = time.process_time()
            memory.classify("what about feeding the cat?", 1)
            times.append(time.process_time() - started)
        least.append(min(times))
    assert least[1] < 15 * least[0]


def test_files_that_are_none_or_damaged_change_nothing(teachable: Callable[..., EngineMemory]) -> None:
    memory = teachable()
    for text, label in starter("train", 8, 6):
        assert memory.teach(text, label) == 0
    saved = memory.save()
    assert memory.load(b"") == memory.load(saved[1:]) == memory.load(b"RETVEC\r\n" + saved[8:]) == NOT_A_MEMORY
    for end in (*range(8, 40), *range(40, len(saved), 7), len(saved) - 1):
        assert memory.load(saved[:end]) in (DAMAGED, VERSION)
    for place in range(12, len(saved)):
        assert memory.load(saved[:place] + bytes([saved[place] ^ 4]) + saved[place + 1 :]) == DAMAGED
    assert memory.load(mended(saved[:8] + b"\2" + saved[9:])) == VERSION
    assert memory.save() == saved
    assert memory.load(saved) == 0


def test_it_survives_another_classifier(teachable: Callable[..., EngineMemory]) -> None:
    memory, other = teachable("plain"), teachable("rejecting")
    assert memory.teach("feed the cat at noon", "pets") == 0
    assert other.load(memory.save()) == 0
    assert other.classify("feed the cat at noon", 1)[0][0] == "pets"
    assert other.speaker() == "feed the cat at noon"
    assert np.isclose(sum(p for _, p in other.classify("feed the cat at noon")), 1)


def test_c_and_python_refuse_the_same_files(teachable: Callable[..., EngineMemory], tmp_path: Path) -> None:
    memory, classifier, draw = teachable(texts=1000), rl.load(GOLDEN / "rejecting.retvec"), random.Random(8)
    codes: dict[str, set[int]] = {kind: set() for kind in ("sound", *ATTACKS)}
    for _ in range(60):
        for kind, make in {"sound": sound_memory, **ATTACKS}.items():
            (tmp_path / "memory").write_bytes(content := mended(make(draw)))
            before, code = memory.save(), memory.load(content)
            codes[kind].add(code)
            if code:
                assert code in (NOT_A_MEMORY, DAMAGED, VERSION)
                assert memory.save() == before
                with pytest.raises(rl.RetvecLiteError):
                    classifier.memory.load(tmp_path / "memory")
                continue
            classifier.memory.load(tmp_path / "memory")
            assert memory.texts() == classifier.memory.texts
    assert codes["sound"] == {0}
    assert DAMAGED in codes["strings"] & codes["count"] & codes["cut"] & codes["behind"] & codes["no end"]
