"""The engine against the NumPy reference: generated texts and numbers, every head and option."""

import itertools
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from contract_cases import code_points, padded
from engine_calls import Calls
from engine_cases import CASES, engine_of, file_of, own_weights
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meaning_cases import WORDS

from retvec_lite import contract
from retvec_lite.contract import BITS, composed
from retvec_lite.converters.parity.golden_texts import golden_texts, long_texts
from retvec_lite.converters.parity.oracle import text_embedding
from retvec_lite.kinds import MARKS
from retvec_lite.letters import compatibility_forms, faint_lookalikes, lookalikes
from retvec_lite.meaning import text_vector
from retvec_lite.model import reference_network
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.reference_network import linear_logits
from retvec_lite.normal_form import IGNORED
from retvec_lite.runtime.answers import explain, find_parts
from retvec_lite.runtime.native import NativeEngine
from retvec_lite.windows import answer_in_windows, combine, cut_windows, mean_embedding, read_limit, read_text

MEANINGS = ["meaning", "meaning alone", "meaning of ngrams"]

BOUND = 2e-4
"""Activations have 16 bits; the random weights of these cases lie on no grid."""


@pytest.fixture(scope="module")
def engines(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, NativeEngine]:
    return {name: engine_of(file_of(name), tmp_path_factory.mktemp("file"), library) for name in CASES}


@pytest.fixture(scope="module")
def weights() -> dict[str, dict[str, np.ndarray]]:
    return {name: own_weights(model, file_of(name)) for name, model in CASES.items()}


def reference(name: str, row: np.ndarray, own: dict[str, np.ndarray]) -> np.ndarray:
    model = CASES[name]
    linear = linear_logits(row, model.encoder, model.ngrams, model.meaning, own)
    if isinstance(model.head, NgramHead):
        return reference_network.shares(linear, model.multi_label)
    slots = contract.words(row, model.encoder)
    return reference_network.probabilities(slots, model.head, own, linear, model.multi_label)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_code_points(name: str, engines, weights, data: st.DataObject) -> None:
    config = CASES[name].encoder
    row = padded(data.draw(code_points(config.max_chars)), config.max_chars)
    found = engines[name].probabilities(row[None])[0]
    np.testing.assert_allclose(found, reference(name, row, weights[name]), atol=BOUND)
    if not isinstance(CASES[name].head, NgramHead):
        slots = engines[name].words(row[None])[0][0]
        np.testing.assert_array_equal(slots, contract.words(row, config))


def test_every_form_and_lookalike_is_read_as_the_contract_says(engines) -> None:
    config = CASES["pool"].encoder
    for code in sorted({*compatibility_forms(), *lookalikes(), *faint_lookalikes()}):
        row = padded([ord("a"), code, ord("b")], config.max_chars)
        slots = engines["pool"].words(row[None])[0][0]
        np.testing.assert_array_equal(slots, contract.words(row, config), err_msg=f"U+{code:04X}")


def read_by(name: str, slots: np.ndarray, own: dict[str, np.ndarray]) -> np.ndarray:
    """The words' embeddings, or the one vector of a head that has one."""
    mask, head = slots[:, 0] != 0, CASES[name].head
    found = reference_network.embed(contract.bits(slots), own) * mask[:, None]
    has_vector = "head/vector/kernel" in own
    return reference_network.sentence_vector(found, mask, head, own)[None] if has_vector else found


@pytest.mark.parametrize(("name", "dimension"), [("pool", 20), ("raw", 16 * BITS), ("pool, a vector", 8)])
def test_words_and_texts_have_the_embedding_of_the_reference(name: str, dimension: int, engines, weights) -> None:
    config, own = CASES[name].encoder, weights[name]
    for text in ("wkae me up at half past six", "我的包裹在哪里? 🙂", "x" * 40, "", "\u3000 "):
        slots, found = (part[0] for part in engines[name].words([text]))
        right = reference_network.embed(contract.bits(slots), own) * (slots[:, :1] != 0)
        np.testing.assert_allclose(found, right, atol=BOUND)
        right = text_embedding(read_by(name, slots, own))
        assert right.any() == bool(text.strip())
        np.testing.assert_allclose(engines[name].embeddings([text])[0], right, atol=BOUND, err_msg=text)
    assert found.shape == (config.max_words, config.word_length * BITS if name == "raw" else 20)
    assert right.shape == (dimension,)


def sentences() -> st.SearchStrategy[str]:
    """Words of the table, some mistyped, and others, between signs of all kinds."""
    words = st.sampled_from(
        [*WORDS, "PARCEL", "Pаrcel", "ｗｈｅｒｅ", "abcdefghijklmnopq", "我的", "20za", "ÞE", "ŧhe"]
    )
    typo = st.builds(
        lambda word, place, letter: word[:place] + letter + word[place + 1 :],
        words,
        st.integers(0, 12),
        st.sampled_from(["", "e", "xy", "е", "\u0301"]),
    )
    mark = st.sampled_from([" ", " ", ", ", "-", "\u200b", "", "\0"])
    return st.lists(st.one_of(words, typo, st.text(max_size=3), mark), max_size=30).map(" ".join)


@pytest.mark.parametrize("name", MEANINGS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=sentences())
def test_any_sentence_has_the_meaning_of_the_reference(name: str, engines, weights, text: str) -> None:
    model, own = CASES[name], weights[name]
    row = contract.codepoints(text, model.encoder.max_chars)
    right = text_vector(row, model.encoder, model.meaning, own)
    np.testing.assert_allclose(engines[name].meanings(row[None])[0], right, atol=1e-6)
    np.testing.assert_allclose(engines[name].probabilities(row[None])[0], reference(name, row, own), atol=BOUND)


@pytest.mark.parametrize("name", MEANINGS[:2])
def test_meaning_stands_behind_the_embedding(name: str, engines, weights) -> None:
    model, own = CASES[name], weights[name]
    for text in ("where is my parcle", "я 2 qqqq", "ж", "", "?"):
        row = contract.codepoints(text, model.encoder.max_chars)
        slots = contract.words(row, model.encoder)
        meant = text_vector(row, model.encoder, model.meaning, own)
        assert meant.any() == text.startswith("where")
        np.testing.assert_allclose(
            engines[name].embeddings([text])[0],
            text_embedding(read_by(name, slots, own), meant),
            atol=BOUND,
            err_msg=text,
        )


@pytest.mark.parametrize("name", ["linear", "pool", "cnn", "meaning"])
def test_long_texts_are_read_in_windows(name: str, engines, library: Path) -> None:
    model, engine, draw = CASES[name], engines[name], random.Random(3)
    calls, known = Calls(library, engine), 0
    for length in (47, 48, 49, 97, 150, 700, 1700, 20_000):
        text = composed("".join(draw.choice("ab cd. e! f? é  \u3000我") for _ in range(length)), length)
        # A part in which nothing is known.
        text = text[: length // 2] + "我 " * (length // 3) + text[length // 2 :]
        windows = cut_windows(text, model.encoder)
        rows = engine.probabilities(windows)
        right = combine(rows, model.labels, model.decision, windows) if len(rows) > 1 else rows[0]
        known += not all(map(model.decision.reads, windows))
        # As it was given, the engine reads, cuts and combines it itself; so it does with what was read.
        for found in (
            engine.probabilities([read_text(text, model.encoder)])[0],
            calls.probabilities(text),
            calls.probabilities(text.encode()),
        ):
            np.testing.assert_allclose(found, right, atol=1e-6, err_msg=f"{length}")
        if len(windows) > 1:
            right = mean_embedding(np.stack([engine.embeddings([window])[0] for window in windows]))
            np.testing.assert_allclose(engine.embeddings([read_text(text, model.encoder)])[0], right, atol=1e-6)
            np.testing.assert_allclose(calls.embed(text), right, atol=1e-6)
    assert known or not model.decision.characters


@pytest.mark.parametrize("name", ["cnn", "pool", "meaning", "ngrams"])
def test_golden_texts_are_explained_as_in_python(name: str, library: Path, tmp_path: Path) -> None:
    engine, model = engine_of(file_of(name), tmp_path, library), CASES[name]
    calls = Calls(library, engine)
    given = [golden.text for golden in golden_texts(model.encoder) if golden.text is not None]

    def probabilities(texts: list[str]) -> np.ndarray:
        return answer_in_windows(
            engine.probabilities,
            [cut_windows(text, model.encoder) for text in texts],
            lambda table, windows: combine(table, model.labels, model.decision, windows),
        )

    # With more parts than can be answered without; and as many, with marks between, in a script without spaces.
    long = ["ab c, " * 250 + "parcel " + "de f " * 40, "我的包裹 在\u0301哪里？" * 150]
    for golden in (*given, *(text[:600] for text in long_texts(model.encoder).values()), *long):
        text = golden[: read_limit(model.encoder)]
        right = explain(probabilities, model.labels, text, None, model.encoder.max_chars)
        found = calls.explain(text)
        assert [span[:2] for span in found] == [(span.start, span.end) for span in right.spans]
        assert golden not in long or max(span.text.count(" ") for span in right.spans) > 3
        np.testing.assert_allclose(
            [span[2] for span in found], [span.weight for span in right.spans], atol=1e-6, err_msg=text
        )
        if text.encode(errors="ignore").decode() == text:  # no unpaired surrogates
            places = [len(text[:place].encode()) for place in range(len(text) + 1)]
            in_bytes = [(places[start], places[end], weight) for start, end, weight in found]
            assert calls.explain(text.encode()) == in_bytes, text
            np.testing.assert_array_equal(calls.embed(text.encode()), calls.embed(text), err_msg=text)


def test_parts_hold_the_same_code_points_as_in_python(library: Path, tmp_path: Path) -> None:
    """Also those that this Python's Unicode calls a mark or invisible, whatever the tables say."""
    calls = Calls(library, engine_of(file_of("ngrams"), tmp_path, library))
    ranges = (
        *MARKS,
        *IGNORED,
        *((code, code) for code in contract.SEPARATORS),
        *itertools.chain(*contract.UNSPACED.values()),
    )
    edges = {code for first, last in ranges for code in (first - 1, first, last, last + 1)}
    known = {code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf")}
    for code in sorted(edges | known):
        text = f"aa{chr(code)}a"  # three characters are one part, four are two
        assert [span[:2] for span in calls.explain(text)] == find_parts(text), hex(code)


def test_words_that_were_seen_give_the_same_bits(engines, library: Path, tmp_path: Path) -> None:
    draw = random.Random(5)
    words = ["".join(draw.choice("abcé我🙂") for _ in range(draw.randint(1, 17))) for _ in range(3000)]
    texts = [" ".join(draw.choices(words, k=draw.randint(0, 9))) for _ in range(3000)]
    known = engines["cnn"].probabilities(texts + texts)
    for text in draw.sample(texts, 40):
        fresh = engine_of(file_of("cnn"), tmp_path, library)
        np.testing.assert_array_equal(fresh.probabilities([text])[0], known[texts.index(text)])
        np.testing.assert_array_equal(fresh.probabilities([text])[0], known[len(texts) + texts.index(text)])


@pytest.mark.parametrize("name", CASES)
def test_four_bits(name: str, library: Path, tmp_path: Path) -> None:
    content = file_of(name, 4)
    engine, own = engine_of(content, tmp_path, library), own_weights(CASES[name], content)
    config = CASES[name].encoder
    for text in ("wkae me up", "我的包裹在哪里", "a b c d e f g h i j"):
        row = contract.codepoints(text, config.max_chars)
        np.testing.assert_allclose(engine.probabilities(row[None])[0], reference(name, row, own), atol=BOUND)
