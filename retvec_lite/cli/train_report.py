"""What `retvec-lite train` tells at the end: tables for people, JSON for programs."""

import json

from retvec_lite.training.trainer import Trained

_WORST = 8


def print_report(trained: Trained, folder: str) -> None:
    """The final tables on standard output: accuracy and macro F1 by share of mistyped words, and the worst confusions."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    classifier = trained.classifier
    facts = classifier.training
    console = Console(emoji=False)  # a label such as ":smile:" is shown as it is
    console.print(
        f"[bold]{classifier.head.name}[/bold] on {escape(facts['data'])}: {facts['training_texts']:,} training texts, "
        f"{len(classifier.labels)} labels, {classifier.encoder.max_words} word slots of "
        f"{classifier.encoder.max_chars} code points ({facts['texts_cut_by_max_words']:.1%} of the texts were cut), "
        f"best of {facts['epochs']} epochs: {facts['best_epoch']}.",
        highlight=False,
    )
    table = Table(title=f"Validation ({facts['validation_texts']:,} texts)")
    table.add_column("mistyped words")
    table.add_column("accuracy", justify="right")
    table.add_column("macro F1", justify="right")
    for rate, found in trained.validation.items():
        table.add_row(f"{rate:.0%}", f"{found.accuracy:.3f}", f"{found.macro_f1:.3f}")
    console.print(table)
    clean = trained.validation[0.0]
    if clean.confusions:
        table = Table(title="Worst confusions (no typos)")
        for column in ("expected", "predicted"):
            table.add_column(column)
        table.add_column("texts", justify="right")
        for confusion in clean.confusions[:_WORST]:
            table.add_row(escape(confusion.expected), escape(confusion.predicted), str(confusion.texts))
        console.print(table)
    place = escape(folder)
    console.print(f"Written to {place}; next: retvec-lite export {place} --out DIST", highlight=False, soft_wrap=True)


def training_json(trained: Trained) -> str:
    """The same facts as one JSON object, the same text for equal classifiers."""
    scores = {f"{rate:g}": found.to_dict() for rate, found in trained.validation.items()}
    report = {**trained.classifier.training, "validation": scores, "labels": list(trained.classifier.labels)}
    return json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
