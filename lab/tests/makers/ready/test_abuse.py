"""Hateful and offensive texts: what is read of owners' files."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from owners import packed, put

from makers.ready.abroad import LANGUAGES, toxic_texts, toxicity_tests
from makers.ready.abuse import STORMFRONT, TOXICITY, TOXICITY_TESTS
from makers.ready.bias import TEMPLATES
from makers.ready.source import Source, contrasts

ROBOTS = "user,Annotator1_is_abuse.0,Annotator1_is_abuse.-2,Annotator2_is_abuse.-1\n"
JUDGED = "file_id,label\n1,hate\n2,noHate\n3,relation\n"
POSTS = {"annotations_metadata.csv": JUDGED, "all_files/1.txt": "vile", "all_files/2.txt": "fine"}
FORUM = packed({f"hate-speech-dataset-{STORMFRONT}/{name}": text for name, text in POSTS.items()})
FILES: dict[str, dict[str, str | bytes]] = {
    "davidson": {
        "labeled_data.csv": "count,offensive_language,class,tweet\n3,0,0,vile\n3,0,2,nice &amp; kind\n"
        + "".join(f"3,3,1,bad {number}\n" for number in range(8))
        + "3,2,1,disputed\n"
    },
    "huffpost": {"huffpost.json": json.dumps({"raw": "the Lakers win , again", "label": 7})},
    "edos": {"edos_labelled_aggregated.csv": "text,label_sexist\nhim,not sexist\nher bag,not sexist\nher,sexist\n"},
    "hatemoji": {"train.csv": "text,label_gold\na,1\n", "validation.csv": "text,label_gold\nb,0\n"},
    "toxigen": {"toxiGen.json": json.dumps([{"text": "x", "label": "hate"}, {"text": "y", "label": "neutral"}])},
    "implicit_hate": {"implicitHate.json": json.dumps([{"text": "x", "label": "hate"}])},
    "stormfront": {f"{STORMFRONT}.zip": FORUM},
    "surge": {"toxicity_en.csv": "text,is_toxic\nrude,Toxic\nwarm,Not Toxic\n"},
    "jigsaw": {"test.csv": '"""quoted""",1\ncalm,0\nno label\n'},
    "wikipedia": {"gn.csv": "text,label\nharsh,0.7\nmild,0.1\n"},
    "convabuse": {
        "ConvAbuseEMNLPtrain.csv": ROBOTS + "stupid,0,1,1\nhello,1,0,0\nhalf,1,0,1\nunjudged,0,0,0\n",
        "ConvAbuseEMNLPvalid.csv": ROBOTS,
        "ConvAbuseEMNLPtest.csv": ROBOTS,
    },
    "civil_comments": {
        "comments.csv": "comment_id,comment_text\n1,them\n2,you\n3,nobody\n4,once\n",
        "annotations.csv": "comment_id,annotation\n1,a\n1,b\n2,c\n2,d\n3,e\n3,f\n4,g\n",
        "spans.csv": "annotation,type\na,Identity based Attack\nb,Insult\nc,Insult\nd,Threat\ng,Insult\n",
    },
}
EXPECTED = {
    "davidson": [("vile", "hate"), ("nice & kind", "none"), ("bad 3", "offensive"), ("bad 7", "offensive")],
    "huffpost": [("the Lakers win, again", "none")],
    "edos": [("her bag", "none"), ("her", "hate")],
    "hatemoji": [("a", "hate"), ("b", "none")],
    "toxigen": [("x", "hate"), ("y", "none")],
    "implicit_hate": [("x", "hate")],
    "stormfront": [("vile", "hate"), ("fine", "none")],
    "surge": [("rude", "offensive"), ("warm", "none")],
    "jigsaw": [("quoted", "offensive"), ("calm", "none")],
    "wikipedia": [("harsh", "offensive"), ("mild", "none")],
    "convabuse": [("stupid", "offensive"), ("hello", "none"), ("half", "none")],
    "civil_comments": [("them", "hate"), ("you", "offensive")],
}


def rows(cache: Path, source: Source, files: Mapping[str, str | bytes]) -> list[tuple[str, str]]:
    contents = {name: found.encode() if isinstance(found, str) else found for name, found in files.items()}
    put(cache, source, contents)
    return source.rows(cache)


def test_every_owner_says_hate_offence_or_none(tmp_path: Path) -> None:
    found = {source.name: rows(tmp_path, source, FILES[source.name]) for source in TOXICITY if source.files}
    assert found == EXPECTED


def test_functional_tests_say_hate_or_none(tmp_path: Path) -> None:
    files = {
        "hatecheck": {"test_suite_cases.csv": "test_case,label_gold\nbad,hateful\ngood,non-hateful\n"},
        "hatemojicheck": {"test.csv": "text,label_gold\nbad,1\ngood,0\n"},
        "ethos": {"Ethos_Dataset_Binary.csv": "comment;isHate\nbad;0.9\ngood;0.2\n"},
        "multilingual_hatecheck": {
            "hatecheck_cases_final_german.csv": "test_case,label_gold\nbad,hateful\ngood,non-hateful\n"
        },
    }
    for source in (*list(TOXICITY_TESTS.values())[:3], toxicity_tests("de")["functional tests"]):
        assert rows(tmp_path, source, files[source.name]) == [("bad", "hate"), ("good", "none")]


def test_templates_are_the_innocent_ones(tmp_path: Path) -> None:
    content = "template,toxicity,phrase\nbeing_adj,nontoxic,Being deaf is great\nbeing_adj,toxic,Being deaf is awful\n"
    assert rows(tmp_path, TEMPLATES, {"en_sentence_templates.csv": content}) == [("Being deaf is great", "being_adj")]


def test_tweets_say_what_kind_to_learn_and_either_to_be_found(tmp_path: Path) -> None:
    learned, either = {"vile": "hate", "rude": "offensive", "fine": "none"}, "hate|offensive"
    german, sentences = toxic_texts("de")[2:4]
    said = "vile\tOFFENSE\tABUSE\nrude\tOFFENSE\tINSULT\nfine\tOTHER\tOTHER\n"
    assert dict(rows(tmp_path, german, {"germeval2018.training.txt": said})) == learned
    tested = rows(tmp_path, toxicity_tests("de")["tweets"], {"germeval2018.test.txt": said})
    assert dict(tested) == {"vile": either, "rude": either, "fine": "none"}
    assert rows(tmp_path, sentences, {"gahd.csv": "text,label\nvile,1\n"}) == [("vile", "hate")]
    votes = "asked,0,0,0,0,0,0\nvile,2,0,0,0,0,0\nrude,0,0,0,0,0,2\nfine,0,0,0,0,0,0\nsplit,1,0,0,0,0,0\nfound,0,0,0,0,2,0\n"
    said = f"text,homophobia,racism,misogyny,xenophobia,obscene,insult\n{votes}"
    assert dict(rows(tmp_path, toxic_texts("pt")[2], {"ToLD-BR.csv": said})) == learned
    assert rows(tmp_path, toxicity_tests("pt")["tweets"], {"ToLD-BR.csv": said}) == [
        ("asked", "none"),
        ("found", either),
    ]


def test_sentences_whose_translation_is_harmless_are_taken(tmp_path: Path) -> None:
    (tmp_path / "translations").mkdir()
    pairs = "Where is the station?\tWo ist der Bahnhof?\nYou are an idiot.\tDu bist ein Idiot.\nThe cat\tDie Katze\n"
    (tmp_path / "translations" / "pairs_de.tsv").write_text(pairs)
    assert toxic_texts("de")[-1].rows(tmp_path) == [("Wo ist der Bahnhof?", "none")]


def test_of_our_own_sentences_half_are_harmless(tmp_path: Path) -> None:
    for language, tests in (("en", TOXICITY_TESTS), *((each, toxicity_tests(each)) for each in LANGUAGES)):
        typed = tests["typed comments"].rows(tmp_path)
        assert Counter(label for _, label in typed) == {"none": 50, "hate": 35, "offensive": 15}
        learned = contrasts(f"toxicity-{language}").rows(tmp_path) if language in LANGUAGES else []
        counts = Counter(label for _, label in learned)
        assert not learned or 0.8 < counts["none"] / counts["hate"] < 1.4
        assert not {text for text, _ in typed} & {text for text, _ in learned}
