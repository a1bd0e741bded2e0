"""Translations of words from pairs of sentences, by a made-up language."""

import random

from makers.meaning.lexicon import TENTHS, learn_lexicon

WORDS = [f"w{number}" for number in range(40)]


def pairs(count: int = 600) -> list[tuple[list[str], list[str]]]:
    """Each word is itself with an x; the first one is xa or xb; and an article stands before every word."""
    draw = random.Random(3)
    found = []
    for _ in range(count):
        sentence = draw.choices(WORDS, k=draw.randint(1, 8))
        spelled = [draw.choice(("xa", "xb")) if word == WORDS[0] else "x" + word for word in sentence]
        draw.shuffle(spelled)
        found.append((sentence, [part for word in spelled for part in ("the", word)]))
    return found


def test_words_find_their_translations() -> None:
    names = ["the", "xa", "xb", *("x" + word for word in WORDS[1:])]
    found = learn_lexicon(pairs(), WORDS[:30], names)
    assert list(found) and set(found) <= set(WORDS[:30])
    best = {word: max(shares, key=lambda name: shares[name]) for word, shares in found.items()}
    right = [best.get(word) == "x" + word for word in WORDS[1:30]]
    assert sum(right) >= 27
    assert {"xa", "xb"} <= set(found[WORDS[0]])
    assert all(1 <= share <= TENTHS for shares in found.values() for share in shares.values())
    assert all(len(shares) <= 5 for shares in found.values())
