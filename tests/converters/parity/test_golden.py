import json
import unicodedata

import numpy as np
import pytest

from retvec_lite import contract
from retvec_lite.contract import BITS, INVISIBLE, SEPARATORS, UNSPACED, EncoderConfig
from retvec_lite.converters.parity.golden import check_golden, clear_answers, golden_bytes
from retvec_lite.converters.parity.golden_texts import edge_sample, golden_texts
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.windows import combine, cut_windows, read_text

CONFIGS = (
    EncoderConfig(),
    EncoderConfig(max_chars=64, max_words=8),
    EncoderConfig(max_chars=20, max_words=1),
    EncoderConfig(word_length=64, max_chars=200, max_words=4),
    EncoderConfig(max_chars=128, max_words=8),
)
LABELS = ("yes", "no, really", "„maybe“ 🙂")


def used_words(config: EncoderConfig) -> np.ndarray:
    slots = np.concatenate([contract.words(text.codepoints, config) for text in golden_texts(config)])
    return slots[slots[:, 0] != 0]


def with_tolerances(tables: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, float]]:
    return {recipe: (table, RECIPES[recipe].formats["tflite"].parity_tolerance) for recipe, table in tables.items()}


def document(recipes: tuple[str, ...] = ("int8",)) -> bytes:
    texts = golden_texts(CONFIGS[1])
    rng = np.random.default_rng(0)
    tables = {recipe: rng.dirichlet([1.0, 1.0, 1.0], len(texts)).astype(np.float32) for recipe in recipes}
    return golden_bytes(CONFIGS[1], LABELS, texts, with_tolerances(tables))


@pytest.mark.parametrize("config", CONFIGS)
def test_every_bit_is_set_and_unset_at_every_position(config: EncoderConfig) -> None:
    bits = contract.bits(used_words(config)).reshape(-1, config.word_length, BITS)
    assert bits.min(axis=0).max() == 0
    assert bits.max(axis=0).min() == 1


@pytest.mark.parametrize("config", CONFIGS)
def test_the_words_tell_all_weights_of_a_position_apart(config: EncoderConfig) -> None:
    """Swapping two bits, or moving weight from one to another, changes some golden word's first layer."""
    bits = contract.bits(used_words(config)).reshape(-1, config.word_length, BITS)
    for position in range(config.word_length):
        rows = np.column_stack([bits[:, position], np.ones(len(bits))])
        assert np.linalg.matrix_rank(rows) == BITS + 1, position


def test_hostile_inputs_are_there() -> None:
    texts = {text.name: text for text in golden_texts(EncoderConfig(max_chars=1024))}
    values = {int(value) for text in texts.values() for value in text.codepoints}
    assert {*SEPARATORS, *INVISIBLE, 0x10FFFF, 0xFFFD, 0xD800, 0xDFFF, -1, -(2**31), 2**31 - 1, 0x110000} <= values
    assert not texts["empty"].codepoints.any()
    assert set(texts["only spaces"].codepoints.tolist()) == {0, 32}
    composed = set(map(ord, unicodedata.normalize("NFC", "".join(map(chr, SEPARATORS)))))
    assert set(texts["every separator alone"].codepoints.tolist()) - {0} == composed
    assert {0x200D, 0xFE0F} <= set(texts["emoji joined by ZWJ"].codepoints.tolist())
    assert texts["unpaired surrogates"].text is None


@pytest.mark.parametrize("config", CONFIGS)
def test_every_separator_and_invisible_character_changes_a_slot_that_is_encoded(config: EncoderConfig) -> None:
    """Whatever the size: a graph that took one of them for a letter would give other words for some golden text."""
    texts = golden_texts(config)
    for code in (*SEPARATORS, *INVISIBLE):
        broken = (np.where(text.codepoints == code, ord("x"), text.codepoints) for text in texts)
        assert any(
            not np.array_equal(contract.words(row, config), contract.words(text.codepoints, config))
            for text, row in zip(texts, broken, strict=True)
            if code in text.codepoints
        ), hex(code)


@pytest.mark.parametrize("config", CONFIGS[:2])
def test_the_edges_of_every_range_and_their_neighbours_are_encoded(config: EncoderConfig) -> None:
    edges = edge_sample(config)
    codes = set(edges.rows.reshape(-1).tolist())
    for low, high in (found for script in UNSPACED.values() for found in script):
        assert {low - 1, low, high, high + 1} <= codes
    assert {-1, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0x10FFFF, 0x110000, *SEPARATORS, *INVISIBLE} <= codes
    # Nothing falls off the end: a graph that took one for its neighbour's kind would give other words.
    assert max(len(contract._pieces(row.tolist(), config)) for row in edges.rows) <= config.max_words


def test_too_long_words_and_texts_are_there() -> None:
    config = EncoderConfig(max_chars=2048)
    pieces = {text.name: len(contract._pieces(text.codepoints.tolist(), config)) for text in golden_texts(config)}
    assert pieces["words as long as a slot"] == 3
    assert pieces["words one longer than a slot"] == 6
    assert pieces["as many words as slots"] == pieces["Chinese, as many pieces as slots"] == config.max_words
    for name in ("more words than slots", "Chinese, more pieces than slots", "more hostile words than slots"):
        assert pieces[name] > config.max_words


def test_texts_are_always_the_same_and_give_their_code_points() -> None:
    first, second = golden_texts(CONFIGS[0]), golden_texts(CONFIGS[0])
    assert [text.name for text in first] == [text.name for text in second]
    assert len({text.name for text in first}) == len(first)
    for text, again in zip(first, second, strict=True):
        np.testing.assert_array_equal(text.codepoints, again.codepoints)
        if text.text is not None:
            expected = [ord(char) for char in read_text(text.text, CONFIGS[0])][: CONFIGS[0].max_chars]
            assert text.codepoints[: len(expected)].tolist() == expected
            text.text.encode()


def test_the_document_is_what_an_app_needs() -> None:
    data = document(("float32", "int8"))
    found = json.loads(data)
    config = EncoderConfig.from_dict(found["encoder"])
    assert found["labels"] == list(LABELS)
    assert found["tolerance"] == {
        name: RECIPES[name].formats["tflite"].parity_tolerance for name in ("float32", "int8")
    }
    for case in found["cases"]:
        row = np.zeros(config.max_chars, np.int32)
        row[: len(case["codepoints"])] = case["codepoints"]
        slots = contract.words(row, config)
        assert slots[slots[:, 0] != 0].tolist() == case["words"]
        assert {len(values) for values in case["probabilities"].values()} == {len(LABELS)}


def test_the_document_is_small_with_all_recipes_and_many_labels() -> None:
    config = EncoderConfig()
    texts = golden_texts(config)
    rng = np.random.default_rng(0)
    tables = {name: rng.dirichlet(np.full(77, 0.05), len(texts)).astype(np.float32) for name in RECIPES}
    data = golden_bytes(config, [f"label {index}" for index in range(77)], texts, with_tolerances(tables))
    assert len(data) < 400_000


DECISION = Decision(threshold=0.5, unknown_label=LABELS[1], characters="".join(sorted("EeWwhorisypcl")))


def deciding(shift: float = 0.0) -> bytes:
    texts = golden_texts(CONFIGS[0])
    table = np.random.default_rng(1).dirichlet([0.7, 0.3, 0.7], len(texts)).astype(np.float32)
    names = [text.name for text in texts]
    table[names.index("plain English")] = [0.9, 0.05, 0.05]
    table[names.index("typos")] = [0.5 - shift, 0.1, 0.4 + shift]
    table[names.index("leet")] = [0.3, 0.6, 0.1]
    table[names.index("French")] = [0.5015, 0.4985, 0.0]
    table[names.index("Chinese")] = [1.0, 0.0, 0.0]
    table[names.index("empty")] = [0.5, 0.0, 0.5]
    return golden_bytes(CONFIGS[0], LABELS, texts, {"int8": (table, 0.002)}, DECISION)


def test_cases_have_the_answer_where_no_tolerance_can_change_it() -> None:
    told = json.loads(deciding())
    assert Decision.from_dict(told["decision"]) == DECISION
    found = {case["name"]: case.get("labels") for case in told["cases"]}
    assert found["plain English"] == {"int8": "yes"}
    assert found["leet"] == {"int8": None}, "the unknown label"
    assert found["Chinese"] == found["empty"] == found["only spaces, condensed"] == {"int8": None}, "nothing to read"
    assert found["typos"] is None, "at the threshold"
    assert found["French"] is None, "as probable as the unknown label"
    assert found["around the surrogates"] is None, "no string"
    assert json.loads(deciding(0.1))["cases"] and "labels" not in json.loads(document())["cases"][0]
    rejected = [name for name, labels in found.items() if labels == {"int8": None}]
    assert len(rejected) > 10


def test_a_power_makes_improbable_unknown_labels_count() -> None:
    decision = Decision(threshold=1.0, unknown_label=LABELS[1], unknown_power=0.2)
    texts = ["wake me up"] * 3
    table = np.array([[0.9, 0.0, 0.1], [0.25, 0.0, 0.75], [0.33, 0.65, 0.02]], np.float32)
    found = dict(clear_answers(texts, table, LABELS, decision, 0.002))
    assert found == {0: "yes", 1: LABELS[2], 2: None}
    table[1] = [0.3, 0.0, 0.2]  # 0.004 ** 0.2 is 0.33: the tolerance leaves it open
    assert set(dict(clear_answers(texts, table, LABELS, decision, 0.002))) == {0, 2}


@pytest.mark.parametrize("config", CONFIGS[:-1])
def test_long_texts_have_the_answer_of_their_windows(config: EncoderConfig) -> None:
    texts = golden_texts(config)
    tables = np.random.default_rng(2).dirichlet([0.4, 0.2, 0.4], len(texts)).astype(np.float32)
    told = json.loads(golden_bytes(config, LABELS, texts, {"int8": (tables, 0.002)}, DECISION))
    cases = {case["name"]: case for case in told["cases"]}
    assert all(len(read_text(case["text"] or "", config)) <= config.max_chars for case in told["cases"])
    assert len(told["long"]) == 6
    for long in told["long"]:
        windows = cut_windows(long["text"], config)
        assert [cases[name]["text"] for name in long["windows"]] == windows
        table = np.array([cases[name]["probabilities"]["int8"] for name in long["windows"]])
        assert long["probabilities"]["int8"] == pytest.approx(
            combine(table, LABELS, DECISION, windows).tolist(), abs=1e-3
        )
    assert any(long["labels"] for long in told["long"] if "labels" in long)


def test_a_changed_answer_is_refused() -> None:
    data = deciding()
    check_golden(data, data)
    for old, new in ((b'"labels":{"int8":"yes"}', b'"labels":{"int8":null}'), (b'{"int8":null}', b'{"int8":"yes"}')):
        with pytest.raises(RetvecLiteError, match="its label for int8 is different"):
            check_golden(data.replace(old, new, 1), data)
    with pytest.raises(RetvecLiteError, match=r"golden\.json: decision must be"):
        check_golden(data.replace(b'"threshold": 0.5', b'"threshold": 0.4', 1), data)


def test_an_untouched_document_passes() -> None:
    check_golden(document(("int8", "int4")), document(("int8",)))
    with pytest.raises(RetvecLiteError, match=r"tolerance must be \{'int8'"):
        check_golden(document(("int4",)), document(("int8",)))


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b'"max_words": 8', b'"max_words": 9', "encoder"),
        (b'"int8": 0.002', b'"int8": 0.9', "tolerance"),
        (b'"no, really"', b'"no"', "labels"),
        (b'"name":"empty"', b'"name":"void"', "'empty' differs from the reference: it is missing"),
        (b'"codepoints":[97],', b'"codepoints":[98],', "'one letter'.*its codepoints"),
        (b'"words":[[97,0', b'"words":[[98,0', "'one letter'.*its words"),
        (
            b'"words":[],"probabilities":{"int8":[',
            b'"words":[],"probabilities":{"int8":[1',
            "its probabilities for int8",
        ),
        (
            b'"words":[],"probabilities":{"int8":[',
            b'"words":[],"probabilities":{"int8":[NaN,',
            "is not valid JSON: the number 'NaN'",
        ),
        (b'"windows":["one', b'"windows":["no', "'one word' differs from the reference: its windows"),
        (b"{", b"[" * 100_000 + b"{", "is not valid JSON: it is nested too deep"),
        (b'"cases"', b'"boxes"', "is not what export writes"),
        (b"{", b"[", "is not valid JSON"),
    ],
)
def test_a_changed_document_is_refused(old: bytes, new: bytes, part: str) -> None:
    data = document()
    assert old in data
    with pytest.raises(RetvecLiteError, match=f"golden.json.*{part}"):
        check_golden(data.replace(old, new, 1), data)
