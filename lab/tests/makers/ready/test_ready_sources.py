"""Owners' files of the ready-made classifiers, in small: what is read of them, and what is kept apart."""

from pathlib import Path

import pytest
from owners import archive, packed, put

from makers.ready.moods import EMOTION_TESTS, EMOTIONS, OPINION_TESTS, OPINIONS
from makers.ready.recipes import RECIPES, Recipe
from makers.ready.source import cleaned, told_among_others, written_alike


def emotions(cache: Path) -> None:
    rows = {
        "labels.txt": b"joy\nanger\nneutral\nsurprise\n",
        "train.tsv": b'"so ""happy"" today"\t0\tx\nfurious and glad\t0,1\tx\nmeh &amp; more\t2\tx\nwow\t3\tx\n',
        "dev.tsv": b"grr\t1\tx\n",
        "test.tsv": b"GRR!\t1\tx\n",
    }
    put(cache, EMOTIONS, rows)


def test_emotions_have_names_and_posts_no_entities(tmp_path: Path) -> None:
    emotions(tmp_path)
    assert EMOTIONS.rows(tmp_path) == [
        ('so "happy" today', "joy"),
        ("furious and glad", "joy|anger"),
        ("meh & more", "neutral"),
        ("wow", "surprise"),
        ("grr", "anger"),
    ]


def test_opinions_are_those_that_are_clear(tmp_path: Path) -> None:
    emotions(tmp_path)
    by_name = {source.name: source for source in OPINIONS}
    good, bad = "<Pros>light, cheap</Pros>\n<Pros>both</Pros>", "<Cons>it broke</Cons>\n<Cons>both</Cons>"
    content = packed({"pros_cons/IntegratedPros.txt": good, "pros_cons/IntegratedCons.txt": bad})
    put(tmp_path, by_name["pros_cons"], {"pros_cons.zip": content})
    good, bad = "a film that does n't bore .\n", "dull !\n"
    content = packed({"sentence_polarity/rt-polarity.pos": good, "sentence_polarity/rt-polarity.neg": bad})
    put(tmp_path, by_name["films"], {"sentence_polarity.zip": content})
    reviews = "[t] a title\nscreen[+2],size[+1]##big and bright .\nsound[+1],price[-2]##mixed\nbattery[-3]##it dies .\n##no judgement\n"
    content = packed({"a/Phone.txt": reviews, "a/README.txt": "x[+1]##no"})
    put(tmp_path, by_name["products"], {"product_reviews_1.zip": content, "product_reviews_2.zip": packed({})})
    found = {name: source.rows(tmp_path) for name, source in by_name.items()}
    assert found["goemotions"] == [('so "happy" today', "positive"), ("meh & more", "neutral"), ("grr", "negative")]
    assert found["pros_cons"] == [("light, cheap", "positive"), ("it broke", "negative")]
    assert found["films"] == [("a film that doesn't bore.", "positive"), ("dull!", "negative")]
    assert found["products"] == [("big and bright.", "positive"), ("it dies.", "negative")]


def test_tests_are_those_that_people_agree_on(tmp_path: Path) -> None:
    reviews, tweets = OPINION_TESTS.values()
    put(tmp_path, reviews, {"yelp_labelled.txt": b"Good food.\t1\nnever again\t0\nno label\n"})
    lines = "1\t2.1\tloved\tit\n2\t-1.5\thated it\n3\t0.2\tokay\n\n"
    content = archive({"hutto_ICWSM_2014/tweets_GroundTruth.txt": lines})
    put(tmp_path, tweets, {"hutto_ICWSM_2014.tar.gz": content})
    assert reviews.rows(tmp_path) == [("Good food.", "positive"), ("never again", "negative")]
    assert tweets.rows(tmp_path) == [("loved it", "positive"), ("hated it", "negative")]


def test_what_is_tested_on_is_not_learned_from(tmp_path: Path) -> None:
    emotions(tmp_path)
    found = Recipe("", "", sources=(EMOTIONS,), tests=EMOTION_TESTS).training_texts(tmp_path, tmp_path)
    # "grr" of the training texts is "GRR!" of the test texts.
    assert sorted(text for text, _ in found) == ["furious and glad", "meh & more", 'so "happy" today', "wow"]


def test_ordinary_texts_are_in_the_language_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "massive").mkdir()
    rows = "text,label,lang\nwake me up,alarm,en-US\ndespiértame,alarm,es-ES\n"
    (tmp_path / "massive" / "train.csv").write_text(rows, encoding="utf-8")
    recipe = Recipe("", "", plain=("MASSIVE",), options={"unknown_label": "none"}, language="es")
    assert recipe.training_texts(tmp_path, tmp_path) == [("despiértame", "none")]


def test_marks_and_capitals_go_to_other_texts() -> None:
    rows = [("Hola!!!", "a"), ("Why?", "b"), ("GO AWAY", "c"), ("I am here.", "d"), ("ok ...", "e")]
    found = [written_alike(rows, seed) for seed in range(40)]
    for each in found:
        kept = [(text.rstrip(" .!").lower(), label) for text, label in each]
        assert kept == [(text.rstrip(" .!").lower(), label) for text, label in rows]
        assert sorted(text[len(text.rstrip(" .!")) :] for text, _ in each) == ["", "", " ...", "!!!", "."]
        assert sum(text.isupper() for text, _ in each) == 1
    assert {("HOLA", "a"), ("go away!!!", "c"), ("Why? ...", "b")} <= {row for each in found for row in each}


def test_every_fifth_text_stands_next_to_a_harmless_one() -> None:
    rows = [(f"vile {number}", "hate") for number in range(500)] + [("Hello there", "none"), ("one " * 11, "none")]
    found = told_among_others(rows, "none", 0)
    assert [label for _, label in found] == [label for _, label in rows]
    joined = [(text, told) for (text, _), (told, _) in zip(rows, found, strict=True) if told != text]
    assert 70 < len(joined) < 130
    assert all(told in (f"{text}. Hello there.", f"Hello there. {text}.") for text, told in joined if "one" not in text)


def test_addresses_name_a_commit_and_recipes_say_what_they_are_for() -> None:
    sources = [source for recipe in RECIPES.values() for source in recipe.sources]
    sources += [source for recipe in RECIPES.values() for source in recipe.tests.values()]
    for source in sources:
        for address in source.files:
            assert "githubusercontent" not in address or len(address.split("/")[5]) == 40
        assert source.licence
    for recipe in RECIPES.values():
        assert recipe.about and recipe.not_for.endswith(".") and recipe.owners()


@pytest.mark.parametrize(
    ("text", "expected"), [("a&amp;amp;b", "a&b"), (" a\t\x00 b\n", "a b"), ("don\ufffdt", "don t")]
)
def test_texts_are_cleaned(text: str, expected: str) -> None:
    assert cleaned(text) == expected
