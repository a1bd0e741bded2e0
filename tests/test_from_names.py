"""Training that begins with names and descriptions of labels: without texts, with one a label, and what it says of itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from fitted import asked

import retvec_lite as rl
from retvec_lite import __main__ as cli
from retvec_lite.data.dataset import Dataset
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.evidence import MEASURED
from retvec_lite.verdict import verdict

LABELS = {
    "refund": "the customer wants money back",
    "delivery": "where is the parcel, when does it arrive",
    "account": "login, password and personal details",
    "technical problem": "the app crashes or something does not work",
    "praise": "the customer is happy and says thanks",
}
ASKED = (
    ("my package still hasn't arrived", "delivery"),
    ("I'd like to return these shoes and get reimbursed", "refund"),
    ("can't sign in, it says wrong password", "account"),
    ("you guys are awesome, great service", "praise"),
    ("when will my order be shipped?", "delivery"),
    ("please change my e-mail address", "account"),
    ("you charged me twice, give it back", "refund"),
)
ELSEWHERE = ("what is the capital of France", "I had pasta for dinner", "how old is your brother")


@pytest.mark.slow
def test_descriptions_alone_answer_a_stranger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out = tmp_path / "labels.csv", tmp_path / "trained"
    table.write_text("label,description\n" + "".join(f'{label},"{text}"\n' for label, text in LABELS.items()))
    command = ["train", "--labels", str(table), "--out", str(out)]
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert (
        "nobody can say yet" in printed and "from names and descriptions alone" in printed and "five texts" in printed
    )
    assert "Nothing changed" not in printed
    classifier = rl.load(out)
    answers = [classifier.predict(text)[0].label for text, _ in ASKED]
    assert sum(answer is not None for answer in answers) >= 6
    assert sum(answer == label for answer, (_, label) in zip(answers, ASKED, strict=True)) >= 6
    assert None in [classifier.predict(text)[0].label for text in ELSEWHERE], "what belongs nowhere is told"

    facts = json.loads((out / "report.json").read_text())["training"]
    assert (facts["training_texts"], facts["validation_texts"], facts["folds"]) == (0, 0, 0)
    assert facts["described"] == {"names": 5, "descriptions": 5} and facts["warnings"] == []
    with pytest.raises(RetvecLiteError, match="trained without texts"):
        classifier.with_threshold(keep=0.9)
    assert classifier.with_threshold(0.9).decision.threshold == 0.9
    assert "only names and descriptions" in (out / "README.md").read_text()
    assert "nobody can say yet" in (out / "report.html").read_text()
    before = (out / "classifier.safetensors").read_bytes()
    assert cli.main(command) == 0
    assert "Nothing changed" in capsys.readouterr().err
    table.write_text(table.read_text() + "refund,give it back\n")
    assert cli.main([*command, "--force"]) == 0
    assert (out / "classifier.safetensors").read_bytes() != before, "another description is another training"


@pytest.mark.slow
def test_one_text_a_label_is_enough_and_labels_may_be_described_alone() -> None:
    texts = ["the money must come back to me", "my box is late"]
    classifier = rl.train(texts, ["refund", "delivery"])
    assert classifier.training["folds"] == 2 and "too few to say" in str(classifier)
    mixed = rl.train(Dataset(tuple(texts), ("refund", "delivery")), {"praise": "says thanks", "refund": None})
    assert mixed.labels == ("delivery", "praise", "refund")
    assert mixed.predict("thank you so much", reject=False)[0].label == "praise"


@pytest.mark.slow
def test_names_in_another_language_are_learned_with_a_warning() -> None:
    classifier = rl.train(labels={"Erstattung": "der Kunde möchte sein Geld zurück", "Lieferung": "wo ist mein Paket"})
    (told,) = classifier.training["warnings"]
    assert told.startswith("What labels are called and mean is in de")
    assert classifier.predict("Bitte geben Sie mir das Geld zurück", reject=False)[0].label == "Erstattung"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "There is nothing to learn from"),
        ({"labels": ["a", "b"]}, "There is nothing to learn from"),
        ({"labels": {"refund": "money back"}}, "at least 2 different labels, but has only 'refund'"),
        ({"labels": {"refund": None, "7": ""}}, "what the label '7' of the given data is"),
        ({"labels": {"refund": "it", "delivery": "it"}}, "have the same description"),
        ({"labels": LABELS, "validation": 0.2}, "validation is a share of the texts, and there are none"),
        ({"labels": LABELS, "multi_label": True}, "leave out --multi-label"),
        ({"labels": LABELS, "unknown_label": "other"}, "other"),
        ({"labels": 7}, "labels must be"),
    ],
)
def test_what_cannot_be_trained_on_is_told_in_a_sentence(given: dict[str, Any], told: str) -> None:
    with pytest.raises(RetvecLiteError, match=told) as found:
        rl.train(**given)
    assert "\n" not in str(found.value)


def test_texts_and_descriptions_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("label,description\nrefund,money back\nother,\n")
    (tmp_path / "data.csv").write_text("text,label\nhello,greeting\nhi,greeting\n")
    request = asked(tmp_path / "data.csv", tmp_path / "labels.csv")
    assert request.training.classes == ("greeting", "other", "refund") and len(request.training) == 2
    alone = asked(None, str(tmp_path / "labels.csv"))
    assert len(alone.training) == 0 and alone.training.path.name == "labels.csv"


def test_the_verdict_says_what_was_measured_on_sets_like_this() -> None:
    for count, data in ((2, "AG News"), (60, "Banking77"), (400, "CLINC150")):
        labels = [f"label {place}" for place in range(count)]
        lines = verdict({"described": {"names": count, "descriptions": 0}}, labels, Decision(threshold=0.3))
        row = next(row for row in MEASURED if row.data == data)
        assert (
            f"from names alone: on {data} ({row.labels} labels), {row.of_names:.0%} of the answers are right"
            in lines[1]
        )
        assert lines[0].startswith("Ship or not: nobody can say yet. There are no texts") and "0.3" in lines[2]
    described = verdict({"described": {"names": 4, "descriptions": 4}}, list("abcd"), Decision())
    assert (
        f"from names and descriptions alone: on AG News (4 labels), {MEASURED[0].of_descriptions:.0%}" in described[1]
    )
    assert all(0.4 < row.of_names <= row.of_descriptions + 0.05 < 1 for row in MEASURED)
