"""What is asked: only words that pre-training never saw, the same for everyone."""

from pathlib import Path

import numpy as np
import pytest
from tiny_words import NAMES, decode_word, made_up, tiny_training, tiny_wordfreq

from makers.embedding import retrieval
from makers.embedding.retrieval import (
    RetrievalSet,
    language_set,
    misspelling_set,
    retrieval_set,
    word_sources,
)
from makers.embedding.word_typos import KIND_NAMES, word_lengths
from makers.embedding.words import held_out, read_frequency_list, row_hashes, word_rows
from retvec_lite.contract import Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError

pytestmark = pytest.mark.usefixtures("tiny")


def words_of(rows: Ints) -> list[str]:
    return [decode_word(row) for row in rows]


def write_list(folder: Path, language: str, words: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"{word},{len(words) - index}\n" for index, word in enumerate(words))
    (folder / f"{language}.csv").write_text(f"word,count\n{lines}", encoding="utf-8")


def set_of(folder: Path | None, language: str, queries: int = 50) -> RetrievalSet:
    (source,) = [source for source in word_sources(folder) if source.language == language]
    task = language_set(source, queries=queries)
    assert task is not None
    return task


def test_words_of_a_list_that_were_trained_on_are_never_asked_for(tmp_path: Path) -> None:
    trained = words_of(tiny_training().rows[:300])
    new = made_up("en", 200, seed=1)
    shouted = [word.title() for word in trained]  # the casefolded form counts
    write_list(tmp_path, "en", [*shouted, *new, "ab", "123456", "two words"])
    task = set_of(tmp_path, "en", queries=10_000)
    asked = words_of(task.candidates[task.queries.answers])
    assert task.source == "list" and sorted(asked) == sorted(set(new) - set(trained))
    assert set(words_of(task.candidates)) == {*trained, *new, "ab", "123456"}
    assert len(np.unique(row_hashes(task.candidates))) == len(task.candidates)


def test_languages_that_the_folder_lacks_come_from_held_out_words(tmp_path: Path) -> None:
    write_list(tmp_path, "ar", made_up("ar", 150))
    assert [(source.language, source.origin) for source in word_sources(tmp_path)] == [
        ("ar", "list"),
        ("el", "wordfreq"),
        ("en", "wordfreq"),
    ]
    task = set_of(None, "en")
    assert held_out(task.candidates[task.queries.answers]).all()
    rows, _ = tiny_wordfreq("en")
    assert int(held_out(rows).sum()) > 100 and set(words_of(task.candidates)) == set(words_of(rows))


def test_queries_are_mistyped_words_and_the_same_whoever_else_is_asked(tmp_path: Path) -> None:
    task = set_of(None, "en")
    assert len(task.queries.words) == len(task.queries.answers) == 50
    assert (task.queries.words != task.candidates[task.queries.answers]).any(axis=1).mean() > 0.95
    write_list(tmp_path, "ar", made_up("ar", 150))
    again = set_of(tmp_path, "en")
    assert np.array_equal(task.queries.words, again.queries.words)
    assert all(np.array_equal(asked.words, again.by_kind[kind].words) for kind, asked in task.by_kind.items())


def test_every_kind_is_asked_alone_where_it_can_be(tmp_path: Path) -> None:
    task = set_of(None, "en", queries=80)
    assert tuple(task.by_kind) == KIND_NAMES
    for mistyped, answers in task.by_kind.values():
        assert (mistyped != task.candidates[answers]).any(axis=1).all() and 0 < len(answers) <= 10
    mistyped, answers = task.by_kind["other_case"]
    assert [word.casefold() for word in words_of(mistyped)] == words_of(task.candidates[answers])
    write_list(tmp_path, "ar", made_up("ar", 150))
    assert "other_case" not in set_of(tmp_path, "ar").by_kind


def test_a_language_with_too_few_words_is_left_out(tmp_path: Path) -> None:
    write_list(tmp_path, "ar", made_up("ar", retrieval.FEWEST_QUERIES - 1))
    source = word_sources(tmp_path)[0]
    assert source.language == "ar" and language_set(source, queries=50) is None


def test_misspellings(tmp_path: Path) -> None:
    frequent = made_up("en", 7000)
    pairs = [
        ("recieve", "Receive"),
        ("reciv", "receive"),
        ("Alot", "a lot"),  # two words
        ("MONDAY", "Monday"),  # the same word
        (frequent[0], "quizzical"),  # a frequent word, itself a candidate
        ("zebbra", "zebra"),
    ]
    texts, labels = zip(*pairs, strict=True)
    task = misspelling_set(Dataset(texts, labels, tmp_path / "m.csv"), queries=50)
    asked = zip(words_of(task.queries.words), words_of(task.candidates[task.queries.answers]), strict=True)
    assert sorted(asked) == [("recieve", "receive"), ("reciv", "receive"), ("zebbra", "zebra")]
    assert words_of(task.candidates)[3:] == frequent and task.name == "m.csv"
    few = misspelling_set(Dataset(texts, labels, tmp_path / "m.csv"), queries=50)
    assert np.array_equal(few.queries.words, task.queries.words)


def test_a_list_is_read_by_falling_count(tmp_path: Path) -> None:
    path = tmp_path / "en.csv"
    path.write_text('count,word\n1,rare\n9,often\n5,"a,b"\n4,two words\n', encoding="utf-8")
    assert read_frequency_list(path) == [("often", 9.0), ("a,b", 5.0), ("rare", 1.0)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"text,label\na,b\n", r"No columns 'word' and 'count' in .*en\.csv \(found: text, label\)\."),
        (b"", r"\(found: none\)\."),
        (b"word,count\nthe,many\n", r"The count in .*en\.csv, line 2, is no number: 'many'\."),
        (b"word,count\n\xff\xfe,1\n", r"en\.csv"),
    ],
)
def test_a_bad_list_is_told_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "en.csv").write_bytes(content)
    with pytest.raises(RetvecLiteError, match=sentence):
        read_frequency_list(tmp_path / "en.csv")


# --- the metric of a run ----------------------------------------------------------------------------------------------


def test_retrieval_finds_words_of_an_embedding_that_knows_them() -> None:
    task = retrieval_set("tiny", word_rows(NAMES), seed=1)
    assert len(task.candidates) == len(NAMES)

    def counts(rows: np.ndarray) -> np.ndarray:
        return np.stack([(rows == code).sum(axis=1) for code in range(97, 123)], axis=1).astype(np.float32)

    right = task.candidates[task.queries.answers]
    assert (word_lengths(right) > 2).all()
    assert task.found(lambda rows: np.zeros((len(rows), 2), np.float32)) <= 0.5
    assert 0.05 < task.found(counts) < 1.0  # anagrams keep it from all
