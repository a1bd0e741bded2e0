"""Write small .retvec exports for the engine's ports: `python engine_exports.py FOLDER` writes `pool`, `several` and `ngrams`."""

import dataclasses
import json
import sys
from pathlib import Path

import standin
from few_edges import use_few_edges

import retvec_lite as rl
from retvec_lite.converters.export import export_model
from retvec_lite.decision import Decision
from retvec_lite.model.weight_files import TrainedModel

TEXTS = (*standin.TEXTS, "u\u0308ber", "a long text. " * 60)

GIVEN = (
    "u\u0308ber uns e\u0301te\u0301 \u1100\u1161\u11a8 \uac00\u11a8 now",
    "q\u0301x\u0323\u0307 A\u030a\u0301 and \U0001f600 o\u0328\u0304",
    "\u0301a \u0915\u093c b",
)
"""Texts whose composed form (NFC) has other places than they have."""

CHARACTERS = "".join(sorted("abcdefghijklmnopqrstuvwxyz我的包裹在哪里"))

DECISIONS = {
    "pool": Decision(threshold=0.35, unknown_label="five", unknown_power=0.4, characters=CHARACTERS),
    "several": Decision(thresholds=(0.3, 0.6, 0.5, 0.5, 0.4), characters=CHARACTERS),
    "ngrams": Decision(threshold=0.25, characters=CHARACTERS, shares=(0.5, 0.2, 0.1, 0.1, 0.1)),
}
"""Name of an export -> its decision."""


def model_of(name: str) -> TrainedModel:
    """The random classifier of an export."""
    head = "vector" if name == "several" else name
    model = standin.classifier(f"{head}-snapped", standin.LONG, 32)
    return dataclasses.replace(model, decision=DECISIONS[name])


def spans_of(classifier: rl.Classifier) -> list[tuple[str, list[str]]]:
    """The parts that Python explains of texts, as they stand in the text that was given."""
    return [(text, [span.text for span in classifier.explain(text).spans]) for text in (*TEXTS[:-1], *GIVEN)]


def main(folder: Path) -> None:
    """Write every export, and for `embeddings.json` what Python's embedding of some texts is."""
    use_few_edges()  # they are not what the ports are tested with
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "texts.csv"
    data.write_text("text,label\nwhere is my parcel,one\ncancel it,two\n", encoding="utf-8")
    for name in DECISIONS:
        target = folder / name
        export_model(model_of(name), target, formats=["engine"], recipes=["int8"], data=data, force=True)
        classifier = rl.load(target / "classifier-int8.retvec")
        (target / "spans.json").write_text(json.dumps(spans_of(classifier)), encoding="ascii")
        if name == "ngrams":
            continue
        found = [(text, classifier.embed(text)[0].tolist()) for text in TEXTS]
        (target / "embeddings.json").write_text(json.dumps(found), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
