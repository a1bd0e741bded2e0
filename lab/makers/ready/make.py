"""From the texts of a recipe to the files of a classifier and its model card."""

import shutil
from pathlib import Path
from typing import Final

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
    atomic_write(out / f"{name}.md", card(name, recipe, classifier, len(rows)).encode())
    return out


def card(name: str, recipe: Recipe, classifier: rl.Classifier, texts: int) -> str:
    """Return the model card of a classifier: what it tells, what it learned from, and what it is not for."""
    owners = markdown_table(
        ("texts", "licence"), [(f"[{owner}]({page})", licence) for owner, page, licence in recipe.owners()]
    )
    facts = markdown_table(
        ("", ""),
        [
            ("labels", ", ".join(f"`{label}`" for label in classifier.labels)),
            ("answers", " ".join(str(classifier.decision).splitlines())),
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
