"""The page on which suggested texts are labelled: it works offline, and what is filled in is downloaded as a CSV file."""

import json
import string
from collections.abc import Sequence
from importlib import resources

from retvec_lite.report_page.elements import element, markup
from retvec_lite.report_page.page import policy_hash


def labelling_page(texts: Sequence[tuple[str, str]], labels: Sequence[str]) -> bytes:
    """Return the page of some texts, each with the label that a classifier would give it, which is filled in, or an empty string.

    Labels are chosen from those that are known, or typed. Only texts with a label are downloaded.
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
    template = (resources.files(__package__) / "labelling.html").read_text(encoding="utf-8")
    filled = string.Template(template).substitute(
        script=policy_hash(template, "script"),
        style=policy_hash(template, "style"),
        body="\n".join(map(markup, body)),
    )
    return filled.encode()
