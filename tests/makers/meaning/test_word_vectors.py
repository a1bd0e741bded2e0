"""word2vec by gensim: words of a topic come together."""

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
