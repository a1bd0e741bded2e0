"""N-grams of texts that no training knows."""

from collections.abc import Sequence

from retvec_lite.contract import EncoderConfig
from retvec_lite.ngrams import NgramConfig
from retvec_lite.training import linear_features
from retvec_lite.training.linear_features import NgramCounts
from retvec_lite.training.reading import TextReader


def count_ngrams(texts: Sequence[str], encoder: EncoderConfig, config: NgramConfig) -> NgramCounts:
    """Return how often each bucket occurs in each text, of texts that are read for it."""
    (found,) = linear_features.count_ngrams(TextReader(texts, encoder), [texts], config)
    return found
