"""The encoder of the Core ML graph cuts the words of the contract, for any input, by coremltools' value inference."""

import dataclasses

import numpy as np
import pytest
import standin
from contract_cases import code_points, configs, draws, ngram_configs, padded
from coreml_cases import import_coremltools, inferred_ngrams, inferred_words, needs_coremltools
from hypothesis import example, given
from hypothesis import strategies as st

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.ngrams import PRIME, NgramConfig, ngram_buckets, ngram_logits

pytestmark = needs_coremltools


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Before any test: the import raises Python's recursion limit, which hypothesis wants to stay as it is during a test."""
    import_coremltools()


@draws(20)
@given(data=st.data())
def test_any_input_becomes_the_words_and_bits_of_the_contract(data: st.DataObject) -> None:
    config = data.draw(configs())
    row = padded(data.draw(code_points(config.max_chars)), config.max_chars)
    words, bits = inferred_words(row, config)
    expected = contract.words(row, config)
    assert (words.dtype, bits.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(words, expected[None])
    np.testing.assert_array_equal(bits, contract.bits(expected)[None])


@draws(10)
@given(text=st.text(st.characters(codec=None), max_size=600))
@example(text="ひらがなカタカナーﾊﾝｶｸ 漢字かな " * 20)
@example(text="สวัสดีชาวโลກພາສາລາວខ្មែរမြန်မာ" * 20)
@example(text="a\u200bb\u00adc\ufeff " * 200)
@example(text="\U0010ffff\U000e0001\U0001f600" * 200)
@example(text="x" * 600)
def test_any_text_under_the_default_config(text: str) -> None:
    config = EncoderConfig()
    row = contract.codepoints(text, config.max_chars)
    np.testing.assert_array_equal(inferred_words(row, config)[0][0], contract.words(row, config))


@draws(15)
@given(data=st.data(), config=ngram_configs())
def test_any_input_has_the_ngrams_of_the_reference(data: st.DataObject, config: NgramConfig) -> None:
    encoder = data.draw(configs())
    row = padded(data.draw(code_points(encoder.max_chars)), encoder.max_chars)
    weights = standin.ngram_weights(config, 3)
    buckets, logits = inferred_ngrams(row, encoder, config, weights)
    whole = dataclasses.replace(config, buckets=PRIME, codebooks=0) if config.codebooks else config
    assert sorted(buckets) == sorted(ngram_buckets(row, encoder, whole))
    assert (logits.dtype, logits.shape) == (np.float32, (1, 3))
    np.testing.assert_allclose(logits[0], ngram_logits(row, encoder, config, weights), rtol=1e-5, atol=1e-5)
