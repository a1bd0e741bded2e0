"""From the texts of a recipe to the files of a classifier and its model card."""

import re
import shutil
from pathlib import Path
from typing import Final

import numpy as np

import retvec_lite as rl
from benchmarks.tables.cells import markdown_table
from makers.ready.recipes import RECIPES, Recipe
from retvec_lite.files import atomic_write

FILES: Final = {
    "classifier-int8.tflite": ".tflite",
    "classifier-int8.retvec": ".retvec",
    "reference.safetensors": ".safetensors",
}
"""What an export calls the files, and what they end in beside a name."""
_FEW: Final = 600
_FALSE_ALARMS: Final = 0.05
_ASKED: Final = Path(__file__).parent / "asked.txt"
_FAILURES: Final = "## Failure modes: read before you ship"


def make(name: str, out: Path, data: Path, cache: Path, *, quick: bool = False) -> Path:
    """Train a classifier, and write `NAME.tflite`, `.retvec`, `.safetensors` and `.md`.

    Args:
        name: a key of `RECIPES`.
        out: folder to write to.
        data: folder that `benchmarks.data.prepare` wrote.
        cache: folder of the owners' files: what is missing is fetched.
        quick: learn from a few texts.

    Returns:
        The folder of the files.
    """
    recipe = RECIPES[name]
    rows = recipe.training_texts(data, cache)[: _FEW if quick else None]
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    work = out / "work" / name
    several = bool(recipe.options.get("multi_label"))
    classifier = rl.train(
        texts,
        [label.split("|") for label in labels] if several else labels,
        out=work / "trained",
        force=True,
        keep="nothing",
        seed=0,
        progress=True,
        **recipe.options,
    )
    classifier.export(work / "dist", formats=["tflite", "engine"], force=True, progress=True)
    for source, suffix in FILES.items():
        shutil.copyfile(work / "dist" / source, out / f"{name}{suffix}")
    alarm = alarm_threshold(recipe, classifier, cache) if recipe.alarm else ""
    atomic_write(out / f"{name}.md", card(name, recipe, classifier, len(rows), alarm).encode())
    ask(name, out)
    return out


def alarm_threshold(recipe: Recipe, classifier: rl.Classifier, cache: Path) -> str:
    """Return from which probability on a text raises an alarm if one in twenty of the test texts that should raise none may, and what is found then."""
    rows = [row for source in recipe.tests.values() for row in source.rows(cache)]
    meant = np.array([recipe.alarm in label.split("|") for _, label in rows])
    place = classifier.labels.index(recipe.alarm)
    found = np.asarray(classifier.probabilities([text for text, _ in rows]))[:, place]
    threshold = float(np.quantile(found[~meant], 1 - _FALSE_ALARMS))
    return f"`{recipe.alarm}` from a probability of {threshold:.2f} on; {np.mean(found[meant] >= threshold):.0%} of what should be found is"


def ask(name: str, folder: Path) -> None:
    """Ask an exported file the texts of its name in `asked.txt`, and write text, right answer and its own into its model card.

    Raises:
        RetvecLiteError: the file or the card cannot be read or written.
    """
    classifier, path = rl.load(folder / f"{name}.retvec"), folder / f"{name}.md"
    assert isinstance(classifier, rl.Classifier)
    found = classifier.predict(list(asked()[name]))
    rows = []
    for (text, right), answers in zip(asked()[name].items(), found, strict=True):
        several = answers if classifier.decision.multi_label else answers[:1]
        labels = [answer.label for answer in several if answer.label]
        said = ", ".join(labels) or "none"
        rows.append((text, right or "none", said if right in (labels or [""]) else f"**{said}**"))
    table = markdown_table(("text", "right", "answer"), rows)
    section = f"{_FAILURES}\n\nWhat this file answered to texts that we typed (`python -m makers.ready ask {name}`); wrong answers are bold.\n\n{table}\n"
    card = re.sub(rf"{_FAILURES}\n.*?(?=^## )", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    atomic_write(path, card.replace("## Sources\n", f"{section}## Sources\n", 1).encode())


def asked() -> dict[str, dict[str, str]]:
    """Return the texts that every classifier is asked: name -> text -> right label, empty for none."""
    found: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    for line in _ASKED.read_text(encoding="utf-8").splitlines():
        if line.startswith("> "):
            own = found.setdefault(line[2:], {})
        elif line and not line.startswith("#"):
            text, _, right = line.rpartition("|")
            own[text.strip()] = right.strip()
    return found


def card(name: str, recipe: Recipe, classifier: rl.Classifier, texts: int, alarm: str) -> str:
    """Return the model card of a classifier: what it tells, what it learned from, and what it is not for."""
    owners = markdown_table(
        ("texts", "licence"), [(f"[{owner}]({page})", licence) for owner, page, licence in recipe.owners()]
    )
    facts = markdown_table(
        ("", ""),
        [
            ("labels", ", ".join(f"`{label}`" for label in classifier.labels)),
            ("answers", " ".join(str(classifier.decision).splitlines())),
            *([(f"for {_FALSE_ALARMS:.0%} false alarms", alarm)] if alarm else []),
            (
                "made by",
                f"`python -m makers.ready train {name}`: {texts:,} texts, mistyped and disguised on purpose while training",
            ),
            (
                "licence",
                "weights and code Apache-2.0; the weights hold sums over texts of the owners below, no text of theirs",
            ),
            ("measured", "[docs/models.md](../../docs/models.md)"),
        ],
    )
    return "\n".join(
        (
            f"# `{name}`",
            "",
            f'Tells {recipe.about}. `retvec-lite classify {name} TEXT`, `rl.load("{name}")`.',
            "",
            facts,
            "## Sources",
            "",
            owners,
            "## Not for",
            "",
            f"{recipe.not_for} It repeats the prejudices of those who wrote its texts and of those who labelled them.",
            "",
        )
    )
