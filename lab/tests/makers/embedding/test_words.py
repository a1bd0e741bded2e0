"""Words: rows of code points, held-out words, balanced languages, lists of files and of CLDR."""

from pathlib import Path

import numpy as np
import pytest
from tiny_words import decode_word

import retvec_lite
from makers.embedding.words import (
    SCRIPT_LOCALES,
    WordList,
    cldr_words,
    held_out,
    load_words,
    packaged_lists,
    pieces,
    row_hashes,
    word_rows,
)
from retvec_lite.errors import RetvecLiteError


def test_two_percent_are_held_out_for_good() -> None:
    rows = word_rows([f"word{number}" for number in range(20_000)])
    share = held_out(rows).mean()
    assert 0.016 < share < 0.024
    assert not held_out(word_rows([chr(code) for code in range(0x4E00, 0x9000)])).any()
    # Pinned: the evaluation of a published file must find the same words unseen on any machine.
    assert row_hashes(word_rows(["hello", "東京"])).tolist() == PINNED_HASHES


PINNED_HASHES = [15659007880727369383, 5680158758884408313]


def test_held_out_words_are_never_sampled(small_lists: WordList) -> None:
    assert len(small_lists.rows) < 10_007
    assert not held_out(small_lists.rows).any()


def test_languages_are_balanced_and_case_is_restored(small_lists: WordList) -> None:
    sampled = [decode_word(row) for row in small_lists.sample(5000, np.random.default_rng(0))]
    small = [word for word in sampled if word[0].lower() != "w"]
    # (10,000 / 7) ** 0.3 is about 9: a tenth of the samples from a list a thousand times shorter.
    assert 0.07 < len(small) / len(sampled) < 0.14
    assert {"дом", "Дом", "ДОМ"} <= set(small)
    digits = [word for word in small if word.isdigit()]
    assert digits and len(set(digits)) > 10  # wordfreq's "0000" stands for any four digits


def test_pieces_are_all_runs_of_one_to_four() -> None:
    found = {decode_word(row) for row in pieces(word_rows(["東京都庁前", "東"]), (1, 2, 3, 4))}
    word = "東京都庁前"
    assert found == {word[i : i + n] for n in (1, 2, 3, 4) for i in range(len(word) - n + 1)}


def test_cldr_gives_words_in_every_script_that_wordfreq_lacks() -> None:
    for locale in SCRIPT_LOCALES:
        words = cldr_words(locale)
        assert len(words) > 300, locale
        assert not any("a" <= char <= "z" for word in words for char in word)
        assert all(word == word.casefold() and "{" not in word for word in words)


def test_bad_word_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"missing\.txt"):
        load_words([tmp_path / "missing.txt"])
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(RetvecLiteError, match=r"latin\.txt"):
        load_words([tmp_path / "latin.txt"])
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(RetvecLiteError, match=r"no words to train on in empty\.txt"):
        load_words([tmp_path / "empty.txt"])


def test_files_of_one_language_are_joined(tmp_path: Path) -> None:
    (tmp_path / "xx.csv").write_text("word,count\nUmbrella,16\nparcel,1\n", encoding="utf-8")
    (tmp_path / "xx.txt").write_text("parcel\nweather 7\n", encoding="utf-8")
    (tmp_path / "yy.csv").write_text("word,count\nалма,3\n", encoding="utf-8")
    words = load_words([tmp_path / "xx.csv", tmp_path / "xx.txt", tmp_path / "yy.csv"])
    assert words.languages == {"xx": (0, 3), "yy": (3, 4)}
    assert list(map(decode_word, words.rows)) == ["umbrella", "parcel", "weather", "алма"]
    shares = np.diff(words.cumulative, prepend=0)
    assert shares[0] == pytest.approx(2 * shares[1])  # the fourth root of 16 times the count
    assert words.source == "xx.csv, xx.txt, yy.csv"


@pytest.mark.exhaustive
def test_model_card_lists_the_languages_of_the_words() -> None:
    card = (Path(retvec_lite.__file__).parent / "weights" / "README.md").read_text(encoding="utf-8")
    listed = {tag for line in card.splitlines() if line.startswith("- ") for tag in line.partition(": ")[2].split(", ")}
    assert listed == {name for name in packaged_lists() if not name.endswith("-pieces")}
