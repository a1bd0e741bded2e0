"""What a training means, in about ten sentences: whether to ship, why, and what to do next.

They are made of the facts that a classifier keeps of its training, never of its texts, so that it says the same wherever it is loaded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retvec_lite.decision import Decision
from retvec_lite.errors import shown
from retvec_lite.evidence import Facts, expected
from retvec_lite.terminal import counted, one_line, percent

NEXT: Final = "Next: "
"""How the line with the next step begins."""

_ENOUGH: Final = 20
"""Texts a label that say more."""

_LEAKED: Final = 0.05
"""Share of the validation texts that are training texts as well from which scores tell nothing."""
_REPEATED: Final = 0.3
"""Share of the texts that repeat others from which other texts come first."""
_DOUBTFUL: Final = 0.03
"""Share of the texts with doubtful labels from which these come first."""
_SPOKEN: Final = 0.1
"""Share of the texts in another language from which its words are worth room in the file."""
_GAIN: Final = 0.01
"""Gain of score that is worth a step."""
_MISSED: Final = 0.2
"""Share of the texts of a small label that are missed from which others of it are worth collecting first."""
_HALF: Final = 0.5
"""Share of a label's texts below which it cannot be relied on."""


def verdict(facts: Mapping[str, Any], labels: Sequence[str], decision: Decision) -> list[str]:
    """Return whether to ship a classifier, why, and what to do next: the first line decides, the last one says `NEXT`.

    Args:
        facts: what a training wrote down, as `Classifier.training` has it.
        labels: those of the classifier.
        decision: when a text has a label.

    Returns:
        A line for each point; none where a classifier keeps no scores. Labels are quoted, and control characters in them escaped.

    Example:
        >>> from retvec_lite.decision import Decision
        >>> from retvec_lite.verdict import verdict
        >>> facts = {"validation": {"0": {"accuracy": 0.96}}, "validation_texts": 400, "folds": 3, "largest_label": 0.6, "baseline": 0.93}
        >>> for line in verdict(facts, ["ham", "spam"], Decision(shares=(0.6, 0.4))):
        ...     print(line)
        Ship it if 92% right answers are enough.
        Expect 96% right answers to texts like these, 92% to 98% with 95% confidence (400 texts, cross-validated in 3 folds).
        Always answering 'ham' would be right about 60% of the time, and a plain SVM about 93%.
        Next: nothing. Try it on texts of your users (retvec-lite evaluate).
    """
    found = Facts(facts, labels, decision)
    if not found.tested:
        return _from_names(found) if facts.get("described") else []
    if found.say_little:
        return [f"Ship or not: nobody can say yet. {_few_texts(found)}", f"{NEXT}{_next(found)}"]
    lines = [
        _ship(found),
        *_how_good(found),
        *_compared(found),
        *_none_of_these(found),
        *_weakest(found),
    ]
    return [*lines, f"{NEXT}{_next(found)}"]


def figures(facts: Mapping[str, Any], labels: Sequence[str]) -> list[str]:
    """Return what to expect of a classifier, and what simpler ways would reach, for those who did not train it; no label is named."""
    found = Facts(facts, labels, Decision())
    return [*_how_good(found), *_compared(found)] if found.tested else []


# --- the lines --------------------------------------------------------------------------------------------------------


def _ship(found: Facts) -> str:
    """Return the sentence that decides."""
    usual, leaked = found.facts.get("largest_label"), found.facts.get("leaked", 0)
    if leaked > _LEAKED * found.tested:
        return f"Ship or not: this does not tell. {leaked:,} of {found.tested:,} validation texts are training texts as well."
    if usual is not None and found.score <= usual:
        return f"Do not ship it: it is no better than always answering {found.usual}."
    if usual is not None and found.bounds.low <= usual:
        return f"Do not ship it yet: it may be no better than always answering {found.usual}."
    least = found.bound(found.bounds.low, up=False)
    what = f"a micro F1 of {least} is" if found.several else f"{least} right answers are"
    weak = [shown(row["label"]) for row in found.weakest if row["right"] < _HALF * row["texts"]]
    if weak:
        return f"Not yet: less than half of the texts of {' and of '.join(weak)} are found. Otherwise, ship it if {what} enough."
    return f"Ship it if {what} enough."


def _from_names(found: Facts) -> list[str]:
    """Return the verdict on a classifier that was tested on nothing."""
    known, described = expected(len(found.labels)), found.facts["described"].get("descriptions")
    share = known.of_descriptions if described else known.of_names
    learned = "names and descriptions" if described else "names"
    why = (
        "There are no texts"
        if not found.texts
        else f"{found.texts:,} {'text is' if found.texts == 1 else 'texts are'} too few"
    )
    about = f"What to expect from {learned} alone: on {known.data} ({known.labels} labels), {percent(share)} of the answers are right."
    return [
        f"Ship or not: nobody can say yet. {why} to test it on.",
        *(
            [f"{about} Your texts may be harder, or easier."]
            if described or found.facts["described"].get("names")
            else []
        ),
        *_none_of_these(found),
        f"{NEXT}write five texts of each label, or choose them from texts without labels (retvec-lite suggest), and train with these as well.",
    ]


def _few_texts(found: Facts) -> str:
    count, different = round(found.independent), "different " if found.repeats else ""
    of_one_label = " of one label" if found.facts.get("largest_label") == 1.0 else ""
    texts = f"One {different}text{of_one_label} is" if count == 1 else f"{count:,} {different}texts{of_one_label} are"
    return f"{texts} too few to say how good it is: with {_ENOUGH} a label, this says more."


def _how_good(found: Facts) -> Iterator[str]:
    """Yield what to expect, and how well that is known."""
    if found.say_little:
        yield _few_texts(found)
        return
    folds = found.facts.get("folds")
    of_texts = f"{counted(found.tested, 'text')}, {f'cross-validated in {folds} folds' if folds else 'held out'}"
    if found.repeats and found.independent < found.tested:
        what = "repeats another one and counts" if found.repeats == 1 else "repeat others and count"
        of_texts += f"; {found.repeats:,} of all {found.texts:,} {what} once"
    low, high = (found.bound(bound, up=up) for bound, up in zip(found.bounds, (False, True), strict=True))
    what = (
        "Expect a micro F1 of {} on texts like these"
        if found.several
        else "Expect {} right answers to texts like these"
    )
    if found.score == 1.0:
        yield f"{what.format(f'at least {low}')}, with 95% confidence: all were right ({of_texts})."
    else:
        yield f"{what.format(found.percent(found.score))}, {low} to {high} with 95% confidence ({of_texts})."


def _compared(found: Facts) -> Iterator[str]:
    """Yield what simpler ways would reach."""
    usual, plain = (found.facts.get(name) for name in ("largest_label", "baseline"))
    if usual is None or found.say_little:
        return
    line = f"Always answering {found.usual} would be right about {found.percent(usual)} of the time"
    if plain is not None:
        line += f", and a plain SVM about {found.percent(plain)}"
        is_better = found.score > plain and found.percent(found.score) != found.percent(plain)
        if not is_better:
            mistyped = found.facts["validation"].get("0.5", {}).get("micro_f1" if found.several else "accuracy")
            line += ": on clean texts, this classifier is no better than that"
            line += f"; with half of the words mistyped it still has {found.percent(mistyped)}" if mistyped else ""
    yield f"{line}."


def _weakest(found: Facts) -> Iterator[str]:
    """Yield the labels that are told worst, and what their texts are taken for."""
    parts = []
    for row in found.weakest:
        label = shown(row["label"])
        parts.append(f"{label}, {row['right']:,} of {row['texts']:,} found")
        if row.get("taken_for") is not None:
            parts[-1] += f", {row['times']:,} answered {shown(row['taken_for'])}"
        if row["answered"] > 2 * row["right"]:
            parts[-1] += f"; {row['answered'] - row['right']:,} texts of other labels were answered {label}"
    if parts:
        yield f"Weakest: {'. '.join(parts)}."


def _none_of_these(found: Facts) -> Iterator[str]:
    """Yield what the threshold for texts without a label keeps and rejects."""
    if found.unread:
        texts = "1 text has" if found.unread == 1 else f"{found.unread:,} texts have"
        yield f"{texts} no letter, digit or sign that the training texts taught, and get{'s' * (found.unread == 1)} no label."
    lost, recognized = (found.clean.get(name) for name in ("in_scope_unknown", "unknown_recognized"))
    if found.decision.threshold is None:
        return
    lost = None if lost is None else max(0.0, lost - found.unread / max(found.tested, 1))
    rule = f"No label where the probability of the best one is {one_line(found.decision.rule)}"
    if lost is None:
        yield f"{rule}."
        return
    of_others = (
        f", and {percent(recognized)} of the texts of no label"
        if recognized is not None
        else "; untested, since the data have no texts of no label"
    )
    yield f"{rule}: {percent(lost)} of these texts get none{of_others}."


# --- the next step ----------------------------------------------------------------------------------------------------


def _next(found: Facts) -> str:
    """Return the first step that is worth it. Data come first, since more texts with the same faults teach little."""
    rules = (_leaks, _unread, _repeats, _few, _labels, _worse, _meaningless, _languages, _small, _more, _last_doubts)
    return next(
        (step for rule in rules for step in rule(found)),
        "nothing. Try it on texts of your users (retvec-lite evaluate).",
    )


def _leaks(found: Facts) -> Iterator[str]:
    leaked = found.facts.get("leaked", 0)
    if leaked > _LEAKED * found.tested:
        yield f"take the {leaked:,} texts that are training texts as well, or nearly so, out of the validation data."


def _unread(found: Facts) -> Iterator[str]:
    if found.unread >= _GAIN * found.tested > 0:
        share = percent(found.unread / found.tested)
        yield f"add texts like the {share} that get no label since they have no letter, digit or sign of the training texts, or write them in words."


def _repeats(found: Facts) -> Iterator[str]:
    if found.repeated >= _REPEATED:
        yield f"collect other texts: {found.repeats:,} of {found.texts:,} repeat others, which teaches nothing."


def _few(found: Facts) -> Iterator[str]:
    if found.say_little:
        yield f"{'collect' if found.facts.get('folds') else 'test it on'} {_ENOUGH} texts of each label."


def _labels(found: Facts) -> Iterator[str]:
    """Yield what to do about two labels that may be one, and about doubtful ones: what costs more comes first."""
    steps = []
    if pair := found.facts.get("one_label"):
        first, second, texts = pair
        gain = _points(texts / found.tested)
        merge = f"merge {shown(first)} and {shown(second)} if they mean the same, which costs about {gain} now"
        steps.append((texts, merge))
    if found.doubtful > 1 and found.wrong >= _DOUBTFUL:
        step = f"{_look_at(found)}: up to {_points(found.wrong)} of the errors may be theirs"
        steps.append((found.wrong * found.tested, step))
    if steps:
        yield "; then ".join(step for _, step in sorted(steps, key=lambda step: -step[0])) + "."


def _look_at(found: Facts) -> str:
    # Only what was held out was looked at.
    of_tested = "" if found.facts.get("folds") else f" of {found.tested:,} tested"
    several = f"{found.doubtful:,}{of_tested} texts whose labels are"
    return f"look at the {'text whose label is' if found.doubtful == 1 else several} doubtful (retvec-lite check DATA --output doubtful.csv)"


def _last_doubts(found: Facts) -> Iterator[str]:
    if found.wrong:
        yield f"{_look_at(found)}, then try it on texts of your users (retvec-lite evaluate)."


def _worse(found: Facts) -> Iterator[str]:
    ahead = (found.facts.get("baseline") or 0.0) - found.score
    if ahead >= max(2 * found.facts.get("accuracy_error", 0.0), _GAIN):
        yield (
            f"train with other options, or none: a plain SVM is {_points(ahead)} ahead. If that does not help, what tells the labels apart is "
            "read little, or not at all: case, accents, markup."
        )


def _meaningless(found: Facts) -> Iterator[str]:
    usual = found.facts.get("largest_label")
    is_known = found.independent >= _ENOUGH * len(found.labels)
    if usual is not None and (found.score <= usual or (is_known and found.bounds.low <= usual)):
        yield "look at the labels (retvec-lite check): the texts hardly tell them apart."


def _languages(found: Facts) -> Iterator[str]:
    meaning = found.facts.get("meaning", {})
    known = meaning.get("languages", {meaning.get("language"): 0})
    others = {tag: share for tag, share in meaning.get("spoken", {}).items() if tag not in known and share >= _SPOKEN}
    if meaning.get("used") and others:
        tags = ",".join(sorted(others, key=lambda tag: (-others[tag], tag)))
        yield f"train with --languages {tags}: {percent(sum(others.values()))} of the texts are in languages whose words it does not know."


def _small(found: Facts) -> Iterator[str]:
    label, texts = found.facts.get("smallest_label") or ("", _ENOUGH)
    if texts < _ENOUGH / 2 and texts * len(found.labels) < found.texts / 2:
        yield f"collect texts of {shown(label)}, which has {texts:,}: {_ENOUGH} teach more."
    for row in found.weakest:
        missed = row["texts"] - row["right"]
        if (
            row["texts"] < 2 * _ENOUGH
            and row["texts"] * len(found.labels) < found.tested
            and missed > _MISSED * row["texts"]
        ):
            gain = _points(missed / found.tested)
            yield f"collect texts of {shown(row['label'])}: {missed:,} of its {row['texts']:,} are missed, which costs {gain}."


def _more(found: Facts) -> Iterator[str]:
    scores = [score for _, score in found.facts.get("learning_curve") or ()]
    # What rises by less than twice its error may as well be flat.
    rises = bool(scores) and scores[-1] - scores[0] >= 2 * found.facts.get("accuracy_error", 0.0)
    if rises and found.gain_of_more >= _GAIN:
        weak = [shown(row["label"]) for row in found.weakest]
        of_weak = f", of {' and '.join(weak)} first" if weak else ""
        yield f"collect more texts{of_weak}: twice as many give about {_points(found.gain_of_more)} more."


def _points(gain: float) -> str:
    points = round(100 * gain)
    return f"{points} points" if points != 1 else "1 point"
