"""What a terminal shows of a trained classifier."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from retvec_lite.card import describe_meaning, describe_teacher
from retvec_lite.data.scores import score_names
from retvec_lite.data.suspects import HeldOutAnswers
from retvec_lite.errors import shown
from retvec_lite.evidence import Facts
from retvec_lite.model.file_sizes import describe_sizes
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import Table, counted, draw, percent, printable
from retvec_lite.verdict import verdict

_CONFUSIONS: Final = 5
"""Pairs of labels that a terminal shows, the most frequently confused ones; the facts have more."""
_EXAMPLES: Final = 2
"""Texts that are shown of each of the weakest labels."""


def summary(model: TrainedModel, held_out: HeldOutAnswers | None = None) -> str:
    """Return what a terminal shows of a trained classifier: what it is, scores, what to check, and last, where the eye falls, the verdict.

    Right after a training, with what was `held_out`, the verdict comes with texts of the weakest labels.
    """
    facts = model.training
    ngrams = f" with {model.ngrams.buckets:,} buckets of n-grams" if model.ngrams else ""
    # Classifiers that were not trained with `train` tell less.
    folds, epochs = facts.get("folds", 0), facts.get("epochs")
    texts = f"{counted(facts['training_texts'], 'training text')}, " if "training_texts" in facts else ""
    if described := facts.get("described", {}).get("descriptions"):
        texts += f"{counted(described, 'description')}, "
    if unlabelled := facts.get("unlabelled_texts"):
        texts += f"{counted(unlabelled, 'text')} without labels, "
    cut = [
        f"{percent(facts[name], 1)} {what}"
        for name, what in (
            ("texts_cut_by_max_words", "of the texts were cut"),
            ("texts_in_windows", "are read in windows"),
        )
        if facts.get(name)
    ]
    is_none = model.decision.unknown_label is not None
    about_cut = f" ({', '.join(cut)})" if cut else ""
    about_epochs = f", {epochs} epochs" if epochs else ""
    if epochs and not folds and "best_epoch" in facts:
        about_epochs = f", best of {epochs} epochs: {facts['best_epoch']}"
    parts: list[str | Table] = [
        f"{model.head.name}{ngrams} on {printable(facts.get('data', 'unknown data'))}: {texts}{len(model.labels) - is_none} labels{' and none of them' * is_none}, "
        f"{model.encoder.max_words} word slots of {model.encoder.max_chars} code points"
        f"{about_cut}{about_epochs}."
    ]
    if "estimated_bytes" in facts:
        parts.append(describe_sizes(facts["estimated_bytes"]))
    if about := describe_meaning(facts.get("meaning", {})):
        parts.append(about)
    if told := describe_teacher(facts):
        parts.append(told)
    # Of very few texts, no figure means anything.
    say_little = Facts(facts, model.labels, model.decision).say_little
    parts += () if say_little else _tables(model)
    if facts.get("warnings"):
        parts.append("\nCheck your data:\n" + "\n".join(f"- {printable(warning)}" for warning in facts["warnings"]))
    if lines := verdict(facts, model.labels, model.decision):
        *reasons, last = lines
        parts += ["\nVerdict", *reasons, *(() if say_little else _examples(facts, held_out)), last]
    return draw(*parts)


def _tables(model: TrainedModel) -> Iterator[Table]:
    """Yield the scores by share of mistyped words, and the most frequent confusions."""
    facts = model.training
    more = {"in_scope_unknown": "unknown", "unknown_recognized": "unknown recognized"}
    names = score_names(model.decision.multi_label) | more
    found = sorted(facts.get("validation", {}).items(), key=lambda item: float(item[0]))
    names = {key: name for key, name in names.items() if all(scores.get(key) is not None for _, scores in found)}
    rows = [(f"{float(rate):.0%}", *(f"{scores[key]:.3f}" for key in names)) for rate, scores in found]
    folds = facts.get("folds")
    way = f"cross-validated in {folds} folds" if folds else counted(facts.get("validation_texts", 0), "text")
    if found:
        yield Table(f"Validation ({way})", ("mistyped words", *names.values()), rows, frozenset(names.values()))
    # Those of two labels are told by the verdict.
    if facts.get("confusions") and len(model.labels) > 2:
        rows = [(expected, predicted, f"{texts:,}") for expected, predicted, texts in facts["confusions"][:_CONFUSIONS]]
        yield Table("Confusions (no typos)", ("expected", "predicted", "texts"), rows, frozenset({"texts"}))


def _examples(facts: Mapping[str, Any], held_out: HeldOutAnswers | None) -> Iterator[str]:
    """Yield texts of the weakest labels that were taken for another one, the surest mistakes first."""
    if held_out is None or held_out.dataset.multi_label:
        return
    table, labels = held_out.clean.probabilities, held_out.clean.labels
    best = table.argmax(axis=1).tolist()
    for weak in facts.get("weakest", ()):
        mistakes = [
            (-float(table[place, column]), place)
            for place, (column, label) in enumerate(zip(best, held_out.dataset.labels, strict=True))
            if label == weak["label"] != labels[column]
        ]
        # A text that occurs several times is shown once.
        places: dict[str, int] = {}
        for _, place in sorted(mistakes):
            places.setdefault(held_out.dataset.texts[place], place)
        for text, place in list(places.items())[:_EXAMPLES]:
            row = f"row {held_out.rows[place]:,}, " if held_out.rows else ""
            other, probability = shown(labels[best[place]]), float(table[place].max())
            yield f"- {row}labelled {shown(weak['label'])}, answered {other} ({probability:.0%}): {shown(text)}"
