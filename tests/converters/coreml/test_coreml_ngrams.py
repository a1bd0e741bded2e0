"""The n-grams of the Core ML graph are those of the reference, for any input."""

import numpy as np
import pytest
import standin
from contract_cases import code_points, configs, ngram_configs, padded
from coreml_cases import import_coremltools, inferred_ngrams, needs_coremltools
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite.ngrams import PRIME, NgramConfig, ngram_buckets, ngram_logits

pytestmark = needs_coremltools


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Before any test: the import raises Python's recursion limit, which hypothesis wants to stay as it is during a test."""
    import_coremltools()


@settings(max_examples=15)
@given(
    data=st.data(),
    config=ngram_configs(),
)
def test_any_input_has_the_ngrams_of_the_reference(data: st.DataObject, config: NgramConfig) -> None:
    encoder = data.draw(configs())
    row = padded(data.draw(code_points(encoder.max_chars)), encoder.max_chars)
    weights = standin.ngram_weights(config, 3)
    buckets, logits = inferred_ngrams(row, encoder, config, weights)
    whole = NgramConfig(buckets=PRIME, longest=config.longest, shortest=config.shortest) if config.codebooks else config
    assert sorted(buckets) == sorted(ngram_buckets(row, encoder, whole))
    assert (logits.dtype, logits.shape) == (np.float32, (1, 3))
    np.testing.assert_allclose(logits[0], ngram_logits(row, encoder, config, weights), rtol=1e-5, atol=1e-5)
