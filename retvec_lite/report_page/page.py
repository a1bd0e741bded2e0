"""The page of a training or a check. The same findings give the same bytes."""

import base64
import dataclasses
import hashlib
import re
import string
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element

from retvec_lite.card import describe_teacher
from retvec_lite.data.outcome import measure_rejection
from retvec_lite.data.suspects import Check, HeldOut
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


def training_page(model: "TrainedModel", held_out: HeldOut) -> bytes:
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
    template = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    filled = string.Template(template).substitute(
        head=markup(element("title", cut(title, _TITLE))),
        script=policy_hash(template, "script"),
        style=policy_hash(template, "style"),
        body="\n".join(map(markup, body)),
    )
    return filled.encode()


def policy_hash(template: str, name: str) -> str:
    """Return how the page's policy allows its one element of a name, and no other: by its hash."""
    (content,) = re.findall(f"<{name}>(.*?)</{name}>", template, re.DOTALL)
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
