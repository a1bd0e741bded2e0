"""What a trained or exported folder says of itself: `report.json`, and `README.md`, the model card, which is made from the JSON alone.

The card has the form that model hubs read (https://huggingface.co/docs/hub/model-cards), with YAML in front. The same classifier gives
the same bytes: no date but the day of its training, no durations, no paths.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retvec_lite.contract import EncoderConfig
from retvec_lite.decision import Decision
from retvec_lite.manifest import MANIFEST_NAME, RELEASE
from retvec_lite.terminal import counted, json_line, percent
from retvec_lite.verdict import figures
from retvec_lite.version import CREATED_BY
from retvec_lite.windows import describe_reading

if TYPE_CHECKING:
    from retvec_lite.model.weight_files import TrainedModel

REPORT_NAME: Final = "report.json"
CARD_NAME: Final = "README.md"

METRICS: Final = {
    "micro_f1": ("f1", "micro F1"),
    "accuracy": ("accuracy", "accuracy"),
    "macro_f1": ("f1", "macro F1"),
    "calibration_error": ("ece", "calibration error"),
    "in_scope_unknown": ("unknown", "answered unknown"),
}
"""Fact of the training -> the hub's type of the metric, and its name."""

_CHECKOUT: Final = "in a checkout of retvec-lite, of which nothing is published yet"

_ONNX_IN_JS: Final = (
    'import {{ readFileSync }} from "node:fs"; // in web pages: fetch',
    'import {{ InferenceSession, Tensor }} from "onnxruntime-node"; // in web pages: onnxruntime-web',
    'import {{ loadOnnx }} from "retvec-lite";',
    "",
    'const file = new Uint8Array(readFileSync("{onnx}"));',
    "const session = await InferenceSession.create(file);",
    "const classifier = await loadOnnx(file, async (codepoints) => {{",
    '  const given = new Tensor("int32", codepoints, [1, codepoints.length]);',
    "  return (await session.run({{ codepoints: given }})).probabilities.data;",
    "}});",
)
"""How JavaScript loads an .onnx."""

_SHOWN: Final = 200
"""Labels that the card lists; the report has all."""

_OWN_RUN: Final = re.compile("`+")

_TAGS: Final = {".tflite": "tflite", ".mlpackage": "core-ml", ".retvec": "retvec", ".onnx": "onnx"}
"""Suffix of an exported file -> what hubs call its format."""

_HARMLESS: Final = re.compile(r"empty rows? skipped\.$")
"""How a warning ends that is none about the quality of the data."""


def report_of(model: "TrainedModel", scores: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what `report.json` says of a classifier, JSON-ready: what it is, and the facts and settings of its training.

    Args:
        model: the classifier.
        scores: everything that validation measured, by share of mistyped words; the weights keep the most important scores.
    """
    return {
        "format": "retvec-lite-report",
        "version": 2,
        "created_by": CREATED_BY,
        "encoder": model.encoder.to_dict(),
        "head": model.head.to_dict(),
        "labels": list(model.labels),
        "embedding": dict(model.embedding),
        "ngrams": None if model.ngrams is None else model.ngrams.to_dict(),
        "meaning": None if model.meaning is None else model.meaning.to_dict(),
        **model.decision.entry(),
        "training": {**model.training, **({"validation": dict(scores)} if scores else {})},
    }


def report_json(report: Mapping[str, Any]) -> bytes:
    """Return `report.json`: the same bytes for equal reports."""
    return (json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def without_texts(model: "TrainedModel") -> "TrainedModel":
    """Return a model for files that are given away: its facts quote no text of the training, and count what that was warned of."""
    if "warnings" not in model.training:
        return model
    facts = {name: fact for name, fact in model.training.items() if name != "warnings"}
    return dataclasses.replace(model, training={**facts, "warned": _count_warnings(model.training)})


def _count_warnings(facts: Mapping[str, Any]) -> int:
    return sum(not _HARMLESS.search(warning) for warning in facts.get("warnings", ()))


# --- the card ---------------------------------------------------------------------------------------------------------


def model_card(report: Mapping[str, Any]) -> bytes:
    """Return `README.md`, from what `report.json` says; with `artifacts`, it is the card of an export."""
    facts, files = report["training"], {item["file"]: item["bytes"] for item in report.get("artifacts", ())}
    decision = Decision.from_dict(report.get("decision"))
    data = str(facts.get("data", "unknown data"))
    scores = sorted(facts.get("validation", {}).items(), key=lambda item: float(item[0]))
    release = facts.get(RELEASE)
    title = f"{release['name']} {release['version']}, a text" if release else "Text"
    parts = [
        _front(decision, data, scores, files, release["name"] if release else f"classifier of {data}"),
        f"# {title} classifier trained on {_code(data)}",
        f"Typo-proof: `{report['head']['name']}` head{' with n-grams' if report['ngrams'] else ''} of "
        f"retvec-lite, {facts.get('created_by', 'an early release')}.",
        f"## Labels\n\n{len(report['labels']):,}: {_labels(report['labels'])}",
        *([f"## Files\n\n{_files(report)}"] if files else []),
        f"## Training data\n\n{_data(facts, data)}",
        f"## Figures\n\n{_figures(facts, scores, report['labels'])}",
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in _limits(report, decision)),
        f"## How to load it\n\n{_use(decision, list(files))}",
        "## License\n\nUnknown: set by the owner of the training data, here and in the field above. The software is under Apache-2.0.",
    ]
    return ("\n\n".join(parts) + "\n").encode()


def _front(
    decision: Decision, data: str, scores: Sequence[tuple[str, Mapping[str, Any]]], files: Mapping[str, int], title: str
) -> str:
    """Return the YAML: each value is JSON, which YAML contains."""
    metrics = [
        {"type": kind, "name": f"{name}, {float(rate):.0%} of the words mistyped", "value": round(row[key], 4)}
        for rate, row in scores
        for key, (kind, name) in METRICS.items()
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
        "metrics": ["f1", "accuracy"] if decision.multi_label else ["accuracy", "f1"],
        "model-index": [{"name": title, "results": [result]}],
    }
    return "\n".join(["---", *(f"{key}: {json_line(value)}" for key, value in fields.items()), "---"])


def _labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _SHOWN:,} more, see `{REPORT_NAME}`" if len(labels) > _SHOWN else ""
    return ", ".join(map(_code, labels[:_SHOWN])) + more


def _files(report: Mapping[str, Any]) -> str:
    """Return the table of an export's files, what ran them, and how near they are to the reference."""
    lines = ["| file | size | for | verified on | probabilities off by | same labels as float32 |", "|---" * 6 + "|"]
    for item in report["artifacts"]:
        runs = [run for run in item["runtimes"] if run["promised"]]
        measured = [(check["name"], check["value"]) for run in runs for check in run["checks"]]
        off, same = (
            [value for name, value in measured if name == wanted and value is not None]
            for wanted in ("probabilities", "same label")
        )
        cells = (
            _code(item["file"]),
            f"{item['bytes'] / 1000:,.0f} kB",
            ", ".join(f"{name} {version} or newer" for name, version in item["oldest_runtime"].items()),
            ", ".join(
                f"{run['runtime']} {run['version']}{'' if run['ok'] else ' (**broken bounds**)'}" for run in runs
            ),
            f"{max(off):.1e}" if off else "",
            percent(min(same), 1) if same else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"Compared with the NumPy reference on {report['texts']['golden']} golden texts and {report['texts']['real']}.",
    ]
    if report["accuracy_float32"] is not None:
        lines[-1] += f" The accuracy of the float32 reference on the latter is {report['accuracy_float32']:.4f}."
    if report["skipped_runtimes"]:
        lines[-1] += f" Not run on {' and '.join(report['skipped_runtimes'])}."
    lines += [f"{_code(file)} was not written: {_plain(why)}" for file, why in report.get("failed", {}).items()]
    lines += [
        "",
        f"`golden.json` has texts with the answers to expect, for tests of your app. `{MANIFEST_NAME}` is for updates. `{REPORT_NAME}` has every "
        "check, the operators, and the bytes of each part.",
    ]
    return "\n".join(lines)


def _data(facts: Mapping[str, Any], data: str) -> str:
    folds = facts.get("folds")
    way = (
        f"cross-validated in {folds} folds" if folds else f"{facts.get('validation_texts', 0):,} others for validation"
    )
    if not facts.get("training_texts") and "described" in facts:
        way = "only names and descriptions of the labels"
    settings = facts.get("settings", {})
    mistyped = ", mistyped on purpose while training" if settings.get("variants") and settings.get("typo_rate") else ""
    lines = [f"{counted(facts.get('training_texts', 0), 'text')} of {_code(data)}, {way}{mistyped}."]
    if "data_hash" in facts:
        lines.append(
            f"Hash of texts and labels: {_code(facts['data_hash'])}; trained on {facts.get('trained_on', 'an unknown day')}."
        )
    if facts.get("unlabelled_texts"):
        lines.append(f"{counted(facts['unlabelled_texts'], 'text')} without labels were learned from as well.")
    if told := describe_teacher(facts):
        lines.append(told)
    if count := facts.get("warned", _count_warnings(facts)):
        where = f", see `{REPORT_NAME}`" if "warnings" in facts else ""
        lines.append(f"Training warned of {counted(count, 'thing')} in the data{where}.")
    return " ".join(lines)


def describe_teacher(facts: Mapping[str, Any]) -> str:
    """Return who labelled texts, and what that brought; nothing where there were none."""
    if not (taught := facts.get("taught")):
        return ""
    by = "the classifier itself" if taught["by"] == "itself" else taught["by"]
    brought, itself = "untested: no text with a label is held out", ""
    if "alone" in taught and "taught" in taught:
        scores = f"{percent(taught['alone'], 1)} right without these, {percent(taught['taught'], 1)} with them"
        brought = f"{'cross-validated' if facts.get('folds') else 'validated'}, mistyped texts among them: {scores}"
    if "teacher" in taught and (clean := facts.get("validation", {}).get("0", {}).get("accuracy")) is not None:
        more = "texts without labels" if facts.get("unlabelled_texts") and taught["teacher"] > clean else "labels"
        itself = f" Of the texts as they are, {percent(taught['teacher'], 1)} are right by {by}, and {percent(clean, 1)} by this classifier: more {more} bring more."
    if facts.get("unlabelled_texts"):
        return f"Texts without labels were labelled by {by} ({brought}).{itself}"
    return f"Texts without labels are left out: labels from {by} made it worse ({brought}).{itself}"


def _figures(facts: Mapping[str, Any], scores: Sequence[tuple[str, Mapping[str, Any]]], labels: Sequence[str]) -> str:
    if not scores:
        return "None were kept."
    names = {key: name for key, (_, name) in METRICS.items() if all(row.get(key) is not None for _, row in scores)}
    lines = [
        f"| mistyped words | {' | '.join(names.values())} |",
        "|---" * (1 + len(names)) + "|",
        *(f"| {float(rate):.0%} | {' | '.join(f'{row[key]:.3f}' for key in names)} |" for rate, row in scores),
    ]
    about = figures(facts, labels)
    return "\n".join([*lines, *(["", " ".join(about)] if about else [])])


def _limits(report: Mapping[str, Any], decision: Decision) -> Iterator[str]:
    encoder, facts = EncoderConfig.from_dict(report["encoder"]), report["training"]
    yield f"It reads {describe_reading(encoder)}, {encoder.max_words:,} words at most at a time."
    yield "The figures hold for texts like those of the training data. Measure on your own."
    for row in facts.get("weakest", ()):
        yield f"Of {counted(row['texts'], 'text')} of {_code(row['label'])} that it had not learned from, it finds {row['right']:,}."
    about = describe_meaning(facts.get("meaning", {}))
    if about:
        yield about
    elif report["embedding"].get("name", "raw") != "raw":
        yield "The word embedding knows what words look like, not what they mean."
    if facts.get("sentences"):
        yield "Its network was pre-trained on open sentences in English, and repeats their biases."
    if decision.multi_label:
        yield "A text may have several labels or none; each has a threshold of its own."
    elif decision.threshold is not None:
        yield f"A text belongs to none of the labels where the probability of the best one is {decision.rule}."
    yield "It repeats what it learned from its training texts, their biases included."


def describe_meaning(facts: Mapping[str, Any]) -> str:
    """Return what a classifier knows of what words mean, from the report of its training; nothing where that was not asked for."""
    languages = facts.get("languages", {})
    others = [name for name in languages if name != facts["language"]]
    unmeasured = f" It read words of {' and '.join(others)}, but no texts in {' or '.join(others)} were measured: evaluate it on some."
    if not facts.get("used"):
        about = f"It does not know what words mean: {facts['left_out']}." if "left_out" in facts else ""
        if "pieces" in facts:
            about = f"It knows what pieces of words of {facts['pieces']} mean, and repeats their biases."
    else:
        counts = languages or {facts["language"]: facts["words"]}
        words = " and ".join(f"{count:,} words of {name}" for name, count in counts.items())
        about = (
            f"It knows what {words} mean, which are {percent(facts['known_words'], 1)} of the words of the training texts, and repeats their "
            "biases."
        )
    return about + unmeasured if others else about


def _use(decision: Decision, files: Sequence[str]) -> str:
    """Return how to load a trained folder, or an exported file of each format that is there."""
    parts, all_or_one = [], "predictAll" if decision.multi_label else "predict"
    tflite, retvec, onnx = (
        next((name for name in files if name.endswith(suffix)), None) for suffix in (".tflite", ".retvec", ".onnx")
    )
    exported = tflite or retvec or onnx
    if exported or not files:
        name, comment = (
            (exported, 'in this folder; from a hub, rl.load("hf://user/model")') if exported else (".", "this folder")
        )
        needed = '".[litert]"' if tflite else "." if retvec else ". onnxruntime" if onnx else '".[train]"'
        lines = [
            "import retvec_lite as rl",
            "",
            f'classifier = rl.load("{name}")  # {comment}',
            'print(classifier.predict("a text"))',
        ]
        parts += [_block("sh", f"pip install {needed}  # {_CHECKOUT}"), _block("python", *lines)]
    if retvec or onnx:
        lines = (
            ['import { load } from "retvec-lite";', "", f'const classifier = await load("{retvec}");']
            if retvec
            else [line.format(onnx=onnx) for line in _ONNX_IN_JS]
        )
        lines.append(f'console.log(await classifier.{all_or_one}("a text"));')
        pack = f"npm pack --workspace npm  # {_CHECKOUT}; in the app: npm install, and the file that it wrote"
        parts += ["In web pages and Node.js:", _block("sh", "npm ci", pack), _block("js", *lines)]
    package = next((name for name in files if name.endswith(".mlpackage")), None)
    if package:
        lines = [
            "import RetvecLiteCoreML",
            "",
            f'let classifier = try TextClassifier(name: "{package.removesuffix(".mlpackage")}")',
            f'print(try classifier.{all_or_one}("a text"))',
        ]
        parts += [
            f"On iOS and macOS, drag {_code(package)} into Xcode and add the Swift package of retvec-lite, product `RetvecLiteCoreML`:",
            _block("swift", *lines),
        ]
    if decision.rejects and not decision.multi_label:
        parts.append(
            "The label is None, in JavaScript null, in Swift nil, for a text that belongs to none of the labels."
        )
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
