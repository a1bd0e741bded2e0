"""`rl.suggest` and its command: what is chosen, what is not, the files to fill in, and bad input."""

import csv
import html
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from api_folder import ApiFolder, english
from browser import chromium, no_chromium
from command_line import Main, write_table
from patience import PATIENCE

import retvec_lite as rl
from retvec_lite.report_page import labelling_page
from retvec_lite.suggesting import middles, uncertainty
from retvec_lite.terminal import silent

GOLDEN = Path(__file__).parents[1] / "golden"
TOPICS = (
    "wake me at six on monday",
    "where is my parcel now",
    "play some quiet jazz music",
    "will it rain in the north",
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_middle_of_each_cluster_the_heaviest_first() -> None:
    draw = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10]], np.float32)
    sizes = (5, 40, 15)
    vectors = np.concatenate(
        [centre + draw.normal(0, 0.5, (size, 2)) for centre, size in zip(centres, sizes, strict=True)]
    )
    found = middles(vectors.astype(np.float32), np.ones(60, np.float32), 3, 0)
    assert [sum(place >= edge for edge in (5, 45)) for place in found] == [1, 2, 0]
    for place, cluster in zip(found, (1, 2, 0), strict=True):
        first = sum(sizes[:cluster])
        members = vectors[first : first + sizes[cluster]]
        away = np.linalg.norm(members - members.mean(axis=0), axis=1)
        assert place - first == away.argmin()


def test_texts_of_one_vector_are_still_as_many_as_asked_for() -> None:
    weights = np.array([0.1, 0.9, 0.5, 0.2], np.float32)
    found = middles(np.zeros((4, 3), np.float32), weights, 3, 0)
    assert len(set(found)) == 3 and 1 in found


def test_suggestions_cover_the_collection_and_repeat_nothing() -> None:
    texts = [
        text for copy in range(6) for topic in TOPICS for text in (topic, f"{topic}!" if copy % 2 else topic.upper())
    ]
    texts += ["", "  ", "hi " + TOPICS[0]]
    found = rl.suggest(texts, count=4)
    assert sorted(each.row for each in found) == [0, 2, 4, 6]
    assert all(each.text == texts[each.row] and each.suggestion == "" for each in found)
    assert found == rl.suggest(tuple(texts), count=4), "it is the same every time"
    known = ["Where is my parcel, now?", "play some quiet jazz musik"]
    assert {each.text for each in rl.suggest(texts, count=2, labelled=known)} == {TOPICS[0], TOPICS[3]}


def test_numbers_and_signs_make_another_text() -> None:
    texts = [
        "coffee *",
        "coffee *****",
        ":)",
        ":(",
        "👍",
        "👎",
        "I paid 100 euros here",
        "I paid 1000 euros here",
        "कहाँ है",
        "كم؟",
    ]
    copies = ["Coffee  *", "COFFEE *****", ":) ", "👎", "i paid 1000 EUROS here!", "कहाँ है?", "كم"]
    for order in ([*texts, *copies], [*texts[::-1], *copies]):
        assert sorted(each.text for each in rl.suggest(order, count=len(texts))) == sorted(texts)
        with pytest.raises(rl.RetvecLiteError, match="There are 10 different texts"):
            rl.suggest(order, count=len(texts) + 1)
    assert {each.text for each in rl.suggest(texts, count=3, labelled=copies)} == {":(", "👍", texts[6]}


def test_a_classifier_leads_to_what_it_does_not_know(api_folder: ApiFolder) -> None:
    classifier = rl.load(api_folder.classifier)
    known = list(english("test").texts[:60])
    strange = [
        f"{verb} the {noun}"
        for verb in ("paint", "measure", "borrow")
        for noun in ("fence", "ladder", "bucket", "shed")
    ]
    unsure = uncertainty(classifier, [*known, *strange], silent)
    assert unsure.min() >= 0 and unsure.max() <= 1 and np.median(unsure[:60]) < np.median(unsure[60:])
    share = len(strange) / (len(known) + len(strange))
    found = rl.suggest([*known, *strange], classifier, count=10)
    assert sum(each.row >= 60 for each in found) / 10 > 2 * share
    answers = classifier.predict([each.text for each in found], top=1)
    assert [each.suggestion for each in found] == [answer[0].label or "" for answer in answers]


def test_labels_of_a_classifier_with_several_are_joined() -> None:
    texts = [each["text"] for each in rows_of(Path(rl.__file__).parent / "starter" / "test.csv")[:40]]
    classifier = rl.load(GOLDEN / "several.retvec")
    unsure = uncertainty(classifier, texts, silent)
    table = classifier.probabilities(texts)
    assert unsure[0] == pytest.approx(1 - np.abs(2 * table[0] - 1).min(), abs=1e-6)
    for each in rl.suggest(texts, classifier, count=5):
        labels = sorted(label for label, _ in classifier.predict(each.text) if label is not None)
        assert each.suggestion == "|".join(labels)


def test_the_file_is_filled_in_and_trained_on(main: Main, api_folder: ApiFolder, tmp_path: Path) -> None:
    texts = english("train").texts
    data, output = write_table(tmp_path / "pool.csv", [(text, "") for text in texts]), tmp_path / "label_me.csv"
    call = ("suggest", data, "--classifier", str(api_folder.classifier), "--count", "12", "--output", str(output))
    code, printed, _ = main(*call)
    assert code == 0 and printed == f"12 texts to label, the most telling first: {output}\n"
    found = rows_of(output)
    assert list(found[0]) == ["text", "label", "suggestion"] and {each["label"] for each in found} == {""}
    assert {each["suggestion"] for each in found} <= {*rl.load(api_folder.classifier).labels, ""}
    code, _, error = main(*call)
    assert code == 2 and "already exists" in error

    right = dict(zip(texts, english("train").labels, strict=True))
    filled = [(each["text"], right[each["text"]] if place < 9 else "") for place, each in enumerate(found)]
    write_table(output, filled)
    with pytest.raises(rl.RetvecLiteError, match=r"line 11: the column 'label' is empty.*--skip-bad-rows") as told:
        rl.read_dataset(output)
    assert str(told.value).count("\n") == 0
    assert rl.read_dataset(output, skip_bad_rows=True).texts == tuple(text for text, _ in filled[:9])


def test_the_page_quotes_texts_and_runs_nothing_else(tmp_path: Path, api_folder: ApiFolder) -> None:
    odd = ['</ol><script>alert(1)</script> "quoted"', "tab\there \u202eturned", "half \ud800 of a pair", *TOPICS]
    page = tmp_path / "label_me.html"
    found = rl.suggest(odd, api_folder.classifier, count=len(odd), output=page)
    content = page.read_text(encoding="utf-8")
    assert content.count("<script>") == 1 and "default-src 'none'" in content and "http://" not in content
    given = re.search(r'data-texts="([^"]*)"', content)
    assert given and json.loads(html.unescape(given[1])) == [each.text for each in found]
    fields = re.findall(r"<input [^>]*>", content)
    assert len(fields) == len(odd)
    for field, each in zip(fields, found, strict=True):
        assert f'value="{each.suggestion}"' in field
    assert re.findall(r'<option value="([^"]*)">', content) == list(rl.load(api_folder.classifier).labels)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("{pool}", "--count", "9"), "There are 4 different texts to choose from, fewer than the 9 asked for"),
        (("{pool}", "--count", "0"), "count must be at least 1, not 0."),
        (("{pool}", "--count", "many"), "count must be an integer, not 'many'."),
        (("{empty}", "--count", "1"), "There is no text to choose from"),
        (("{pool}", "--output", "label.xlsx"), "written as .csv or .html, not as label.xlsx"),
        (("{pool}", "--output", "{pool}", "--force"), "is an input, too"),
        (("{pool}", "--labelled", "{pool}", "--count", "1"), "There is no text to choose from"),
        (("{pool}", "--classifier", "nowhere"), "There is nothing at nowhere."),
        (("{pool}", "--text-column", "body"), "No column 'body' in"),
        (("nowhere.csv",), "nowhere.csv"),
    ],
)
def test_bad_input_gets_one_sentence(main: Main, tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    pool = write_table(tmp_path / "pool.csv", [(text, "") for text in TOPICS])
    empty = write_table(tmp_path / "empty.csv", [("\u3000", ""), (" ", "x")])
    before = Path(pool).read_bytes()
    code, printed, error = main("suggest", *(part.format(pool=pool, empty=empty) for part in arguments))
    assert code == 2 and not printed and sentence in error and "Traceback" not in error
    assert error.startswith("retvec-lite: error: ") and error.count("\n") == 1
    assert Path(pool).read_bytes() == before and sorted(path.name for path in tmp_path.iterdir()) == [
        "empty.csv",
        "pool.csv",
    ]


@pytest.mark.slow
def test_a_browser_runs_the_page_under_its_policy(tmp_path: Path) -> None:
    browser = chromium()
    if browser is None:
        pytest.skip(no_chromium())
    page = tmp_path / "label_me.html"
    page.write_bytes(labelling_page([(TOPICS[0], "alarm"), (TOPICS[1], "")], ("alarm", "delivery")))
    # The page's own script counts; one that was put into it later must not run.
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, check=False, text=True, timeout=PATIENCE
    )
    assert "1 of 2 have a label." in done.stdout, done.stderr[-2000:]
    spoiled = page.read_text(encoding="utf-8").replace('done + " of "', 'done + " out of "')
    page.write_text(spoiled, encoding="utf-8")
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, check=False, text=True, timeout=PATIENCE
    )
    assert "<li>" in done.stdout and "have a label." not in done.stdout.partition("<script>")[0]


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_equal_vectors_are_suggested_once(seed: int) -> None:
    draw = np.random.default_rng(seed)
    few = draw.normal(size=(30, 128)).astype(np.float32)
    rows = draw.permutation(np.repeat(np.arange(30), 40))
    found = middles(few[rows], np.ones(len(rows), np.float32), 40, seed)
    assert sorted(rows[found[:30]]) == list(range(30)) and len(set(found)) == 40
    assert all((rows[:place] != rows[place]).all() for place in found[:30]), "the first one of each"
