"""The model card of a classifier: a README.md in the form that model hubs read, with YAML in front.

The fields are those of https://huggingface.co/docs/hub/model-cards. The same classifier gives the same bytes: no dates, no paths.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import json_line, margin
from retvec_lite.windows import describe_reading

CARD_NAME: Final = "README.md"

_METRICS: Final = {
    "micro_f1": ("f1", "micro F1"),
    "accuracy": ("accuracy", "accuracy"),
    "macro_f1": ("f1", "macro F1"),
    "calibration_error": ("ece", "calibration error"),
    "in_scope_unknown": ("unknown", "answered unknown"),
}
"""Fact of the training -> the hub's type of the metric, and its name."""

_SHOWN: Final = 200
"""Labels that the card lists; `labels.txt` has all."""

_OWN_RUN: Final = re.compile("`+")

_TAGS: Final = {".tflite": "tflite", ".mlpackage": "core-ml", ".retvec": "retvec"}
"""Suffix of an exported file -> what hubs call its format."""

_HARMLESS: Final = re.compile(r"empty rows? skipped\.$")
"""How a warning ends that is none about the quality of the data."""


def model_card(model: TrainedModel, files: Mapping[str, int] | None = None) -> str:
    """Return the card of a trained folder, or of a folder with exported `files`: their bytes by name."""
    facts, files = model.training, files or {}
    report = "report.json" if files else "training.json"
    data = str(facts.get("data", "unknown data"))
    scores = sorted(facts.get("validation", {}).items(), key=lambda item: float(item[0]))
    return "\n\n".join(
        [
            _front(model, data, scores, files),
            f"# Text classifier trained on {_code(data)}",
            f"Typo-proof: `{model.head.name}` head{' with n-grams' if model.ngrams else ''} of "
            f"[retvec-lite](https://pypi.org/project/retvec-lite), {facts.get('created_by', 'an early release')}.",
            f"## Labels\n\n{len(model.labels):,}: {_labels(model.labels)}",
            *([f"## Files\n\n{_listed(files)}"] if files else []),
            f"## Training data\n\n{_data(facts, data, report)}",
            f"## Figures\n\n{_figures(facts, scores, report)}",
            "## Limits\n\n" + "\n".join(f"- {limit}" for limit in _limits(model)),
            f"## How to load it\n\n{_use(model, list(files))}",
            "## License\n\nUnknown: set by the owner of the training data, here and in the field above. The software is under "
            "Apache-2.0.",
        ]
    ) + "\n"  # fmt: skip


def _front(
    model: TrainedModel, data: str, scores: Sequence[tuple[str, Mapping[str, Any]]], files: Mapping[str, int]
) -> str:
    """Return the YAML: each value is JSON, which YAML contains."""
    metrics = [
        {"type": kind, "name": f"{name}, {float(rate):.0%} of the words mistyped", "value": round(row[key], 4)}
        for rate, row in scores
        for key, (kind, name) in _METRICS.items()
        if row.get(key) is not None
    ]
    formats = [tag for suffix, tag in _TAGS.items() if any(name.endswith(suffix) for name in files)]
    task = {"type": "text-classification", "name": "Text classification"}
    result = {"task": task, "dataset": {"type": "custom", "name": f"{data} (validation)"}, "metrics": metrics}
    fields = {
        "license": "unknown",
        "library_name": "retvec-lite",
        "pipeline_tag": "text-classification",
        "tags": ["text-classification", *formats, "on-device", "typos"],
        "metrics": ["f1", "accuracy"] if model.multi_label else ["accuracy", "f1"],
        "model-index": [{"name": f"classifier of {data}", "results": [result]}],
    }
    return "\n".join(["---", *(f"{key}: {json_line(value)}" for key, value in fields.items()), "---"])


def _labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _SHOWN:,} more, see `labels.txt`" if len(labels) > _SHOWN else ""
    return ", ".join(map(_code, labels[:_SHOWN])) + more


def _listed(files: Mapping[str, int]) -> str:
    lines = [f"- {_code(name)}: {size / 1000:,.0f} kB" for name, size in files.items()]
    return "\n".join([*lines, "- `golden.json`: texts with the answers to expect, for tests of your app"])


def _data(facts: Mapping[str, Any], data: str, report: str) -> str:
    folds = facts.get("folds")
    way = (
        f"cross-validated in {folds} folds" if folds else f"{facts.get('validation_texts', 0):,} others for validation"
    )
    lines = [f"{facts.get('training_texts', 0):,} texts of {_code(data)}, {way}, mistyped on purpose while training."]
    # They quote texts, which may be private.
    count = sum(not _HARMLESS.search(warning) for warning in facts.get("warnings", ()))
    if count:
        lines.append(f"Training warned of {count} {'thing' if count == 1 else 'things'} in the data, see `{report}`.")
    return " ".join(lines)


def _figures(facts: Mapping[str, Any], scores: Sequence[tuple[str, Mapping[str, Any]]], report: str) -> str:
    if not scores:
        return "None were kept."
    names = {key: name for key, (_, name) in _METRICS.items() if all(row.get(key) is not None for _, row in scores)}
    lines = [
        f"| mistyped words | {' | '.join(names.values())} |",
        "|---" * (1 + len(names)) + "|",
        *(f"| {float(rate):.0%} | {' | '.join(f'{row[key]:.3f}' for key in names)} |" for rate, row in scores),
    ]
    error = facts.get("accuracy_error")
    if error is not None:
        score = next(iter(names))
        lines += ["", f"The {names[score]} on clean texts is known to {margin(error)}. `{report}` has more."]
    return "\n".join(lines)


def _limits(model: TrainedModel) -> Iterator[str]:
    encoder = model.encoder
    yield f"It reads {describe_reading(encoder)}, {encoder.max_words:,} words at most at a time."
    yield "The figures hold for texts like those of the training data. Measure on your own."
    about = describe_meaning(model.training.get("meaning", {}))
    if about:
        yield about
    elif model.embedding.get("name", "raw") != "raw":
        yield "The word embedding knows what words look like, not what they mean."
    if known := model.training.get("pretrained_head"):
        yield f"Its network was pre-trained on open sentences in {known['language']}, and repeats their biases."
    if model.multi_label:
        yield "A text may have several labels or none; each has a threshold of its own."
    elif model.decision.threshold is not None:
        yield f"A text belongs to none of the labels where the probability of the best one is {model.decision.rule}."
    yield "It repeats what it learned from its training texts, their biases included."


def describe_meaning(facts: Mapping[str, Any]) -> str:
    """Return what a classifier knows of what words mean, from the report of its training; nothing where that was not asked for.

    Example:
        >>> from retvec_lite.model.model_card import describe_meaning
        >>> describe_meaning({"used": True, "language": "en", "words": 6950, "known_words": 0.98})
        'It knows what 6,950 words of en mean, which are 98.0% of the words of the training texts, and repeats their biases.'
    """
    languages = facts.get("languages", {})
    others = [name for name in languages if name != facts["language"]]
    unmeasured = f" It read words of {' and '.join(others)}, but no texts in {' or '.join(others)} were measured: evaluate it on some."
    if not facts.get("used"):
        about = f"It does not know what words mean: {facts['left_out']}." if "left_out" in facts else ""
    else:
        counts = languages or {facts["language"]: facts["words"]}
        words = " and ".join(f"{count:,} words of {name}" for name, count in counts.items())
        about = (
            f"It knows what {words} mean, which are {facts['known_words']:.1%} of the words of the training texts, and repeats their "
            "biases."
        )
        about += " One of its two tables was learned for requests." if "tables" in facts else ""
    return about + unmeasured if others else about


def _use(model: TrainedModel, files: Sequence[str]) -> str:
    """Return how to load a trained folder, or an exported file of each format that is there."""
    parts = []
    tflite, retvec = (
        next((name for name in files if name.endswith(suffix)), None) for suffix in (".tflite", ".retvec")
    )
    exported = tflite or retvec
    if exported or not files:
        name, comment = (
            (exported, 'in this folder; from a hub, rl.load("hf://user/model")') if exported else (".", "this folder")
        )
        install = "retvec-lite[litert]" if tflite else "retvec-lite" if retvec else "retvec-lite[train]"
        lines = [
            "import retvec_lite as rl",
            "",
            f'classifier = rl.load("{name}")  # {comment}',
            'print(classifier.predict("a text"))',
        ]
        parts += [_block("sh", f'pip install "{install}"'), _block("python", *lines)]
    if retvec:
        lines = [
            'import { load } from "retvec-lite"; // npm install retvec-lite',
            "",
            f'const classifier = await load("{retvec}");',
            'console.log(await classifier.predict("a text"));',
        ]
        parts += ["In web pages and Node.js:", _block("js", *lines)]
    package = next((name for name in files if name.endswith(".mlpackage")), None)
    if package:
        lines = [
            f'let classifier = try TextClassifier(name: "{package.removesuffix(".mlpackage")}")',
            f'let answer = try classifier.{"classifyAll" if model.multi_label else "classify"}("a text")',
        ]
        parts += [
            f"On iOS and macOS, drag {_code(package)} into Xcode and add the Swift package of retvec-lite, product `RetvecLiteCoreML`:",
            _block("swift", *lines),
        ]
    if model.decision.rejects and not model.multi_label:
        parts.append("The label is None, in Swift nil, for a text that belongs to none of the labels.")
    return "\n\n".join(parts)


def _block(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _code(text: str) -> str:
    """Return text as a code span, whatever it holds."""
    text = _plain(text)
    fence = "`" * (1 + max((len(run) for run in _OWN_RUN.findall(text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _plain(text: str) -> str:
    """Return text on one line, as characters: no markup of a hub's page, and nothing that steers a terminal."""
    return json_line(text)[1:-1].replace('\\"', '"').replace("\\\\", "\\")
