"""Pages without scripts from elsewhere, which work offline. The same findings give the same bytes.

`report.html` says what a training found out, and what is doubtful in its data; a check has the latter alone. On another one, suggested
texts are labelled.
"""

import base64
import dataclasses
import hashlib
import json
import re
import string
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element

from retvec_lite.card import describe_teacher
from retvec_lite.data.rejection import measure_rejection
from retvec_lite.data.suspects import Check, HeldOutAnswers
from retvec_lite.report_page import sections
from retvec_lite.report_page.elements import cut, element, markup
from retvec_lite.verdict import verdict

if TYPE_CHECKING:
    from retvec_lite.model.weight_files import TrainedModel

_TITLE: Final = 120
"""Code points of a title that are shown."""


def check_page(check: Check) -> bytes:
    """Return the page of what is doubtful in labelled texts."""
    return _page(f"Check of {check.name}", (), [sections.doubtful(check)])


def training_page(model: "TrainedModel", held_out: HeldOutAnswers) -> bytes:
    """Return the page of a training: its verdict, what its held-out texts say, and what is doubtful in them."""
    facts, decision = model.training, model.decision
    if not held_out.validation:
        said = [*facts.get("warnings", ()), *verdict(facts, model.labels, decision)]
        return _page(f"Report on {facts['data']}", said, [])
    clean = held_out.validation[0.0]
    # The threshold may be another one since.
    outcome = dataclasses.replace(held_out.clean, decision=decision)
    rejection = None if decision.multi_label else measure_rejection(outcome)
    if decision.thresholds is not None:
        thresholds = zip(outcome.labels, decision.thresholds, strict=True)
        last = "threshold", {label: f"{value:.2f}" for label, value in thresholds}
    else:
        last = "answered", sections.answered(held_out.dataset.labels, ~outcome.unanswered)
    curve, score = facts.get("learning_curve") or (), "accuracy" if clean.micro_f1 is None else "micro F1"
    parts = [
        sections.labels_section(clean, *last),
        sections.confusions_section(clean) if rejection else None,
        sections.ways_section(held_out),
        sections.learning_section(curve, score, facts.get("largest_label"), bool(facts.get("epochs")))
        if len(curve) > 1
        else None,
        sections.calibration_section(clean),
        sections.coverage_section(rejection) if rejection else None,
        sections.doubtful(held_out.check),
    ]
    said = [*verdict(facts, model.labels, decision), *filter(None, [describe_teacher(facts)])]
    return _page(f"Report on {facts['data']}", said, [part for part in parts if part is not None])


def _page(title: str, said: Sequence[str], sections: Sequence[Element]) -> bytes:
    """Fill the template."""
    warning = "This page quotes texts of the data. Share it as you would share them."
    top = [element("h1", cut(title, _TITLE)), element("p", warning, class_="private")]
    if said:
        top.append(element("div", *(element("p", sentence) for sentence in said), class_="verdict"))
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    body = [element("header", *top), *([element("nav", *links)] if links[1:] else []), element("main", *sections)]
    return _filled("page.html", body, head=markup(element("title", cut(title, _TITLE))))


def labelling_page(texts: Sequence[tuple[str, str]], labels: Sequence[str]) -> bytes:
    """Return a page on which texts are labelled, and what is filled in is downloaded as a CSV file.

    Each text comes with the label that a classifier would give it, which is filled in, or an empty string. Labels are chosen from those
    that are known, or typed. Only texts with a label are downloaded.
    """
    items = []
    for number, (text, guess) in enumerate(texts):
        field = element("input", id=f"label-{number}", value=guess, list="labels", autocomplete="off")
        items.append(element("li", element("label", text, for_=f"label-{number}", dir="auto"), field))
    # Texts are shown with control characters escaped; what is downloaded is the text as it was given.
    given = json.dumps([text for text, _ in texts])
    body = [
        element(
            "header",
            element("h1", "Texts to label"),
            element("p", element("span", id="done", role="status"), " ", element("button", "Download labelled.csv")),
        ),
        element("ol", *items, data_texts=given),
        element("datalist", *(element("option", value=label) for label in labels), id="labels"),
    ]
    return _filled("labelling.html", body)


def _filled(name: str, body: Sequence[Element], **more: str) -> bytes:
    """Fill a template. Its policy allows its one script and its one style, and no other: by their hashes."""
    template = (resources.files(__package__) / name).read_text(encoding="utf-8")
    for kind in ("script", "style"):
        (content,) = re.findall(f"<{kind}>(.*?)</{kind}>", template, re.DOTALL)
        more[kind] = f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
    return string.Template(template).substitute(body="\n".join(map(markup, body)), **more).encode()
