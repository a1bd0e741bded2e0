"""Two tables of a language at once: the words of both, and the numbers of both."""

import dataclasses

import numpy as np
import pytest
from synonyms import synonyms

from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.meaning_part import make_part
from retvec_lite.training.two_tables import TwoTables


def file_of(words: tuple[str, ...], numbers: int) -> MeaningFile:
    codebooks = np.zeros((8, 256, 8), np.float32)
    codebooks[0, :, 0] = np.arange(256) % 128
    codes = np.zeros((len(words), 8), np.uint8)
    codes[:, 0] = numbers
    return MeaningFile(words, codes, codebooks, "en", {})


def test_words_of_both_are_known_each_with_the_numbers_of_those_that_have_it() -> None:
    found = TwoTables.of(file_of(("the", "net"), 100), file_of(("card", "the"), 10))
    assert found.words == ("card", "the", "net") and found.language == "en"
    known = found.vectors.reshape(3, 2, 64).any(axis=2)
    assert known.tolist() == [[False, True], [True, True], [True, False]]


def test_neither_table_drowns_the_other_because_its_numbers_are_larger() -> None:
    usual, requests = file_of(("the", "net"), 2), file_of(("card", "the"), 120)
    lengths = np.linalg.norm(TwoTables.of(usual, requests).vectors.reshape(3, 2, 64), axis=2)
    np.testing.assert_allclose(lengths, [[0, 1], [0.7, 1], [0.7, 0]], rtol=1e-6)


@pytest.mark.parametrize("requests", [False, True])
def test_a_table_for_a_file_says_what_both_say(synonym_data: TrainingData, requests: bool) -> None:
    """Words that one table cannot tell apart, the other tells apart."""
    told, blind = synonyms(), dataclasses.replace(synonyms(), codes=np.zeros_like(synonyms().codes))
    tables = TwoTables.of(blind, told) if requests else TwoTables.of(told, blind)
    alone, facts = make_part(told, synonym_data, 25)
    both, also = make_part(tables, synonym_data, 25)
    assert facts == also
    texts = list(synonym_data.clean[:40])
    one, two = (part.vectors(texts, synonym_data.config) for part in (alone, both))
    np.testing.assert_allclose(two @ two.T, one @ one.T, atol=0.1)
