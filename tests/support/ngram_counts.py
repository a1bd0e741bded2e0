"""N-grams of texts that no training knows."""

from collections.abc import Sequence

from retvec_lite.contract import EncoderConfig
from retvec_lite.ngrams import NgramConfig
from retvec_lite.training.text_encoder import Matrix, TextEncoder


def count_ngrams(texts: Sequence[str], encoder: EncoderConfig, config: NgramConfig) -> Matrix:
    """Return how often each bucket occurs in each text, float32 CSR `[texts, buckets]`."""
    return TextEncoder(texts, encoder).count_ngrams(texts, encoder.max_chars, config)
