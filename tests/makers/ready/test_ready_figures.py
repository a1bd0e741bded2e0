"""Figures of ready-made classifiers: what counts as found, and which words change an answer."""

from collections.abc import Sequence

from makers.ready.bias import changed, dialects


def test_one_word_that_changes_the_answer_is_named() -> None:
    def answer(texts: Sequence[str]) -> list[str]:
        return ["bad" if "deaf" in text else "good" for text in texts]

    texts = {
        "being": {"deaf": "being deaf", "old": "being old", "young": "being young"},
        "you": {"deaf": "you, deaf", "old": "you, old", "young": "you, young"},
    }
    assert changed(texts, answer) == {"deaf": 1.0, "old": 0.0, "young": 0.0}


def test_dialects_are_pairs_of_sentences() -> None:
    pairs = dialects()
    assert all(len(pair) == 2 and all(pair) and pair[0] != pair[1] for pair in pairs)
    assert not any(sentence.startswith("#") for pair in pairs for sentence in pair)
