"""word2vec by gensim: words of a topic come together, and passes go on from a state as if nothing had happened."""

import numpy as np
import pytest
from tiny_texts import TOPIC_WORDS

pytest.importorskip("gensim", reason="gensim is not installed: no word2vec")

from makers.meaning.corpus import Corpus
from makers.meaning.neighbors import starting_vectors
from makers.meaning.word_vectors import WordVectors
from retvec_lite.terminal import silent


def trained(corpus: Corpus, seed: int, passes: int) -> WordVectors:
    vectors = WordVectors(corpus, seed)
    for done in range(passes):
        vectors.train(done, passes, silent)
    return vectors


def test_words_of_a_topic_come_together(topics: Corpus) -> None:
    places = {word: place for place, word in enumerate(topics.words)}
    vectors = starting_vectors(trained(topics, 0, 12).state()["vectors"])
    means = [vectors[[places[word] for word in words if word in places]] for words in TOPIC_WORDS]
    within = np.mean([(rows @ rows.T).mean() for rows in means])
    across = np.mean([(means[one] @ means[one - 1].T).mean() for one in range(len(means))])
    assert within > across + 0.2


def test_a_state_goes_on_as_if_nothing_had_happened(topics: Corpus) -> None:
    whole = trained(topics, 0, 3)
    first = WordVectors(topics, 0)
    first.train(0, 3, silent)
    kept = {name: array.copy() for name, array in first.state().items()}
    second = WordVectors(topics, 0)
    second.restore(kept)
    for done in (1, 2):
        second.train(done, 3, silent)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, second.state()[name])
    assert not np.array_equal(whole.state()["vectors"], trained(topics, 1, 3).state()["vectors"])


def test_progress_covers_all_passes(topics: Corpus) -> None:
    told: list[tuple[int, int]] = []
    vectors = WordVectors(topics, 0)
    for done in range(2):
        vectors.train(done, 2, lambda what, *counts: told.append(counts))
    shares = [done / total for done, total in told]
    assert shares == sorted(shares) and shares[-1] == 1 and 0.5 in shares
