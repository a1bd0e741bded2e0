"""Attacks that query a classifier until it errs, by `textattack` (Morris et al. 2020, https://arxiv.org/abs/2005.05909).

Recipes of TextBugger, DeepWordBug and Pruthi et al., and the four of Bad Characters (Boucher et al. 2021, https://arxiv.org/abs/2106.09898):
invisible characters, homoglyphs, reorderings and deletions, found by differential evolution. All are untargeted: they succeed as soon as
another label is the most probable. The same seed gives the same attack.

Recipes load a sentence encoder, word vectors and a list of stop words from the web, and the package lacks its list of homoglyphs. Here
TextBugger changes at most a fifth of the characters instead of asking the encoder (which stops it much earlier), and replaces no words; stop
words and homoglyphs are ours.
"""

import importlib.util
import io
import random
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.common import Row
from benchmarks.experiments.letters import LOOKALIKES
from benchmarks.systems.trained import Probabilities

if TYPE_CHECKING:
    from textattack import Attack

_STOPWORDS_TEXT: Final = (
    "a about after all also am an and any are as at be because been before being but by can could did do does for from had "
    "has have he her here him his how i if in into is it its just may me might more most my no nor not now of off on once "
    "only or other our out over own she should so some such than that the their them then there these they this those to "
    "too under up very was we were what when where which while who whom why will with would you your"
)
STOPWORDS: Final = frozenset(_STOPWORDS_TEXT.split())
"""Function words, which all but Bad Characters leave alone."""

BAD_CHARACTERS: Final = "Bad Characters, "
BUDGET: Final = 5
"""Bad characters in a text, the most that its authors measure."""
ATTACKS: Final = (
    "TextBugger",
    "DeepWordBug",
    "Pruthi",
    *(BAD_CHARACTERS + kind for kind in ("invisible", "homoglyphs", "reorderings", "deletions")),
)

SHOWN: Final = ("probabilities", "rounded", "label")
"""What a classifier shows to those who ask: probabilities, the same in whole percent, or its answer alone."""


class Found(NamedTuple):
    """The result of an attack on one text.

    Attributes:
        text: the changed text of the last step; misclassified if `success`.
        success: whether the label changed.
        queries: number of texts classified.
        changed: share of the words that were changed.
    """

    text: str
    success: bool
    queries: int
    changed: float


def attack_all(
    name: str,
    probabilities: Probabilities,
    texts: Sequence[str],
    labels: Sequence[int],
    seed: int,
    shown: str = "probabilities",
) -> list[Found | None]:
    """Attack every text that is classified rightly; None stands for the others.

    Args:
        name: one of `ATTACKS`.
        probabilities: the classifier.
        texts: one or more texts.
        labels: the column of each text's true label.
        seed: gives each text its own random numbers, independent of the other texts.
        shown: one of `SHOWN`.

    Raises:
        SystemExit: textattack is not installed.
    """
    require_textattack()
    attack = _build(name, lambda asked: show(np.asarray(probabilities(asked), np.float64), shown))
    found: list[Found | None] = []
    for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
        own = seed * 1_000_003 + number
        random.seed(own)
        np.random.seed(own % 2**32)  # noqa: NPY002 -- textattack draws from it
        found.append(_attack_one(attack, text, label))
        if (number + 1) % max(1, len(texts) // 10) == 0:
            print(f"  {name}: {number + 1:,} of {len(texts):,} texts", file=sys.stderr, flush=True)
    return found


def show(probabilities: npt.NDArray[np.float64], shown: str) -> npt.NDArray[np.float64]:
    """Return what a classifier that shows one of `SHOWN` says, float64 `[texts, classes]`; rows add up to 1."""
    if shown == "label":
        return np.eye(probabilities.shape[1])[probabilities.argmax(axis=1)]
    seen = probabilities.round(2) if shown == "rounded" else probabilities
    best = probabilities.argmax(axis=1)[:, None]
    if shown == "rounded":
        # Equal percentages do not tell which label is the answer, but the answer is shown.
        np.put_along_axis(seen, best, np.take_along_axis(seen, best, 1) + 1e-4, 1)
    shares: npt.NDArray[np.float64] = seen / seen.sum(axis=1, keepdims=True)
    return shares


def outcome(found: Sequence[Found | None]) -> Row:
    """Return what came of an attack.

    Returns:
        The number of texts; the share that was classified rightly before, and that still is afterwards; of those that were, the share
        whose label changed and the mean number of queries; the mean share of changed words in successful attacks.
    """
    attacked = [one for one in found if one]
    fooled = [one for one in attacked if one.success]
    return {
        "texts": len(found),
        "original_accuracy": len(attacked) / len(found),
        "accuracy_under_attack": (len(attacked) - len(fooled)) / len(found),
        "success_rate": len(fooled) / len(attacked) if attacked else 0.0,
        "mean_queries": float(np.mean([one.queries for one in attacked])) if attacked else 0.0,
        "mean_changed": float(np.mean([one.changed for one in fooled])) if fooled else 0.0,
    }


def transferred(
    found: Sequence[Found | None], probabilities: Probabilities, texts: Sequence[str], labels: Sequence[int]
) -> list[Found | None]:
    """Return what texts that were made against another classifier do to this one, without a query.

    A text that the other classifier got wrong was not attacked, and counts as if this one had got it wrong as well.
    """
    right = np.asarray(probabilities(texts)).argmax(axis=1) == np.asarray(labels)
    made = [one.text if one else text for one, text in zip(found, texts, strict=True)]
    fooled = np.asarray(probabilities(made)).argmax(axis=1) != np.asarray(labels)
    return [
        one._replace(success=bool(fooled[row]), queries=0) if one and right[row] else None
        for row, one in enumerate(found)
    ]


def require_textattack() -> None:
    """Stop when textattack is missing.

    Raises:
        SystemExit: it is.
    """
    if importlib.util.find_spec("textattack") is None:
        raise SystemExit(
            "Attacks need textattack, in an environment of its own: lab/benchmarks/README.md says how to make it."
        )


def _attack_one(attack: "Attack", text: str, label: int) -> Found | None:
    from textattack.attack_results import SkippedAttackResult, SuccessfulAttackResult
    from textattack.shared import AttackedText

    if not AttackedText(text).words:
        # No recipe has anything to change, and some fail.
        given, _ = attack.goal_function.init_attack_example(AttackedText(text), label)
        return None if given.output != label else Found(text, False, 1, 0.0)
    result = attack.attack(text, label)
    if isinstance(result, SkippedAttackResult):
        return None
    last = result.perturbed_result.attacked_text.text
    old, new = text.split(), last.split()
    kept = len(set(old) & set(new)) / max(1, len(set(old)))
    return Found(last, isinstance(result, SuccessfulAttackResult), attack.goal_function.num_queries, 1 - kept)


def _build(name: str, probabilities: Probabilities) -> "Attack":
    """Return an attack of textattack, without what it would load from the web."""
    import nltk

    # textattack reads them when it is imported, and its recipes again.
    nltk.corpus.stopwords = SimpleNamespace(words=lambda language: STOPWORDS)
    from textattack import Attack
    from textattack.attack_recipes import BadCharacters2021, DeepWordBugGao2018, Pruthi2019, textbugger_li_2018
    from textattack.goal_functions import UntargetedClassification
    from textattack.transformations.word_swaps import word_swap_homoglyph_swap

    model = _wrapped(probabilities)
    if name in ("DeepWordBug", "Pruthi"):
        return (DeepWordBugGao2018 if name == "DeepWordBug" else Pruthi2019).build(model)
    # The package lacks the file that it opens.
    with patch.object(word_swap_homoglyph_swap, "open", _homoglyphs, create=True):
        if name == "TextBugger":
            with patch.multiple(textbugger_li_2018, UniversalSentenceEncoder=_few_edits, WordSwapEmbedding=_no_swap):
                return textbugger_li_2018.TextBuggerLi2018.build(model)
        kind = name.removeprefix(BAD_CHARACTERS)
        targeted = BadCharacters2021.build(model, "targeted_classification", kind, perturbs=BUDGET)
    search = _stopping_at_success(targeted.search_method)
    return Attack(UntargetedClassification(model), [], targeted.transformation, search)


def _wrapped(probabilities: Probabilities) -> Any:
    from textattack.models.wrappers import ModelWrapper

    class Wrapper(ModelWrapper):
        model = None

        def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
            return np.asarray(probabilities(texts))

    return Wrapper()


def _homoglyphs(*_: Any, **__: Any) -> io.StringIO:
    """Return pairs of letters as Unicode's intentional.txt has them."""
    pairs = [(letter, double) for letter, doubles in LOOKALIKES["mixed"].items() for double in doubles]
    return io.StringIO("".join(f"; # ( {letter} ~ {double} )\n" for letter, double in pairs))


def _no_swap(max_candidates: int) -> Any:
    from textattack.transformations import WordSwap

    class NoSwap(WordSwap):
        def _get_replacement_words(self, word: str) -> list[str]:
            return []

    return NoSwap()


def _few_edits(threshold: float) -> Any:
    """Return the constraint that at most a fifth of the characters are changed, which is left of "similar" without a sentence encoder."""
    import editdistance
    from textattack.constraints import Constraint

    class FewEdits(Constraint):
        def _check_constraint(self, transformed_text: Any, reference_text: Any) -> bool:
            edits = editdistance.eval(reference_text.text, transformed_text.text)
            return bool(edits <= (1 - threshold) * len(reference_text.text))

    return FewEdits(compare_against_original=True)


def _stopping_at_success(search: Any) -> Any:
    """Let a search by differential evolution stop where another label is the answer; textattack's goes on."""

    class Success(Exception):
        pass

    run = search.perform_search

    def perform(initial: Any) -> Any:
        text = initial.attacked_text
        if len(text.text) < 2 or any(first >= last for first, last in search.get_bounds_and_precomputed(text, 1)[0]):
            return initial  # nothing can be changed
        ask = search.get_goal_results

        def ask_and_stop(texts: Any) -> Any:
            answers = ask(texts)
            if answers[0][0].goal_status == GoalFunctionResultStatus.SUCCEEDED:
                raise Success(answers[0][0])
            return answers

        search.get_goal_results = ask_and_stop
        try:
            return run(initial)
        except Success as found:
            return found.args[0]
        finally:
            search.get_goal_results = ask

    from textattack.goal_function_results.goal_function_result import GoalFunctionResultStatus

    search.perform_search = perform
    return search
