"""N-grams of texts that no training knows."""

from collections.abc import Sequence

from retvec_lite.contract import EncoderConfig
from retvec_lite.ngrams import NgramConfig
from retvec_lite.training.ngram_counts import NgramCounts
from retvec_lite.training.text_encoder import TextEncoder


def count_ngrams(texts: Sequence[str], encoder: EncoderConfig, config: NgramConfig) -> NgramCounts:
    """Return how often each bucket occurs in each text, of texts that a fresh encoder reads."""
    (found,) = TextEncoder(texts, encoder).count_ngrams([texts], encoder.max_chars, config)
    return found
