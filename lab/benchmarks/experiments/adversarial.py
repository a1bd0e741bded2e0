"""Attacks on classifiers: recipes of textattack, which query the classifier.

    python -m benchmarks.experiments.adversarial [--set NAME] [--only SYSTEM] [--attack NAME] [--shown WHAT] [--texts N] [--seeds 0 1 2] [--quick]

Black box, against exported int8 files and their rivals. Those who ask see probabilities, whole percent or the answer alone; *transferred*
texts were made against the SVM, whose probabilities were seen. attacks.py defines the attacks; robustness.py measures ways of writing, which
need no queries. Texts are drawn from the test split. Systems are taken from the work folder if another command trained them with the same
options.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import Row, Rows, read_results, result_path
from benchmarks.data.sets import FOLDERS, Corpus, sampled
from benchmarks.experiments.attacks import ATTACKS, SHOWN, Found, attack_all, outcome, require_textattack, transferred
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import DEFAULT_FILE, FASTTEXT, NETWORK, NO_HEAD, SVM, lines_of
from benchmarks.systems.networks import Plan
from benchmarks.systems.trained import Trained
from benchmarks.systems.whole import ATTACKED, WITHOUT_HEAD, build_victim, victim_settings
from benchmarks.tables.cells import grouped, markdown_table, ordered, spread, unlike, with_earlier_heads
from retvec_lite.data.dataset import Dataset

KEY: Final = ("data", "system", "head", "seed", "attack", "shown")
TRANSFERRED: Final = "nothing, transferred"
SEEN: Final = (*SHOWN, TRANSFERRED)
"""What those who attack see of the classifier."""
SURROGATE: Final = SVM
"""What transferred texts are made against."""
FULL: Final = Scope(("AG News", "SMS spam", "Banking77"), (DEFAULT_FILE, NETWORK, SVM, FASTTEXT), ("cnn",))
QUICK: Final = Scope(("SMS spam",), (SVM,), ("cnn",))
QUICK_TEXTS: Final = 4


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(__doc__, "SMS spam (1,500 texts), the SVM, 4 texts", ATTACKED)
    parser.add_argument("--attack", choices=ATTACKS, action="append", help="an attack; repeatable (default: all)")
    parser.add_argument("--shown", choices=SEEN, action="append", help="what is seen; repeatable (default: all)")
    parser.add_argument("--texts", type=int, default=200, metavar="N", help="number of texts to attack (default: 200)")
    args = parse_comparison(parser, arguments, FULL, QUICK)
    require_textattack()
    rows = Rows(result_path("adversarial", quick=args.quick), KEY, tables)
    for corpus, plan in trials(args):
        texts = corpus.test.select(sampled(len(corpus.test), QUICK_TEXTS if args.quick else args.texts))
        made = functools.cache(
            functools.partial(_attacked, _builder(SURROGATE, NO_HEAD, corpus, plan), texts, plan.seed)
        )
        for system, head in lines_of(args.systems, args.heads, WITHOUT_HEAD):
            build = _builder(system, head, corpus, plan)
            settings = victim_settings(system, head, plan, corpus) | {"attacked_texts": len(texts)}
            for name, shown in itertools.product(args.attack or ATTACKS, args.shown or SEEN):
                row: Row = {"data": corpus.name, "system": system, "head": head, "seed": plan.seed}
                row |= {"attack": name, "shown": shown, "settings": settings}
                if shown != TRANSFERRED:
                    rows.fill(row, measure_attack, build, texts, plan.seed, name, shown)
                elif system != SURROGATE:
                    rows.fill(row, measure_transfer, build, texts, functools.partial(made, name))
    rows.show()


def _builder(system: str, head: str, corpus: Corpus, plan: Plan) -> Callable[[], Trained]:
    """Return what builds a system, once."""
    return functools.cache(functools.partial(build_victim, system, head, corpus, plan))


def measure_attack(build: Callable[[], Trained], texts: Dataset, seed: int, name: str, shown: str) -> Row:
    """Attack the texts and return what came of it."""
    began = time.perf_counter()
    return outcome(_attacked(build, texts, seed, name, shown)) | {"seconds": time.perf_counter() - began}


def measure_transfer(build: Callable[[], Trained], texts: Dataset, made: Callable[[], list[Found | None]]) -> Row:
    """Return what texts that were made against another system do to this one."""
    victim = build()
    return outcome(transferred(made(), victim.probabilities, texts.texts, _columns(victim, texts)))


def _attacked(
    build: Callable[[], Trained], texts: Dataset, seed: int, name: str, shown: str = SHOWN[0]
) -> list[Found | None]:
    victim = build()
    return attack_all(name, victim.probabilities, texts.texts, _columns(victim, texts), seed, shown)


def _columns(victim: Trained, texts: Dataset) -> list[int]:
    return [victim.labels.index(label) for label in texts.labels]


def tables(rows: list[Row]) -> str:
    """Return a table for each data set."""
    sets = grouped(with_earlier_heads(in_order(rows)), ["data"])
    return "\n".join(f"**{name}**\n\n{_attack_table(found)}{unlike(found)}" for (name,), found in sets.items())


def _attack_table(rows: list[Row]) -> str:
    fields = {
        "original_accuracy": 3,
        "accuracy_under_attack": 3,
        "success_rate": 3,
        "mean_queries": 1,
        "mean_changed": 2,
    }
    header = ["attack", "seen", "system", "head", "texts", "original accuracy", "accuracy under attack", "success rate"]
    lines = [
        [*line, f"{found[0]['texts']:,}"]
        + [spread([row[field] for row in found], digits) for field, digits in fields.items()]
        for line, found in grouped(rows, ["attack", "shown", "system", "head"]).items()
    ]
    return markdown_table([*header, "mean queries", "words changed"], lines)


def attack_summary(results: Path) -> str:
    """Return the share of attacks that succeed: on the SVM where probabilities are seen, and on the default file by what is seen.

    Kinds of an attack that all succeed alike share a line.
    """
    rows = in_order(read_results(results / "adversarial"))
    sets = [name for name in FULL.sets if any(row["data"] == name for row in rows)]

    def line(attack: str, system: str, shown: str) -> str:
        found = {
            row["data"]: row for row in rows if (row["attack"], row["system"], row["shown"]) == (attack, system, shown)
        }
        return " / ".join(
            f"{found[name]['success_rate']:.2f}".removeprefix("0") if name in found else "-" for name in sets
        )

    measured = [name for name in ATTACKS if any(row["attack"] == name for row in rows)]
    columns = [(SVM, SHOWN[0]), *((DEFAULT_FILE, shown) for shown in SEEN)]
    header = [f"attacks that succeed ({' / '.join(sets)})", *(f"{system}: {shown}" for system, shown in columns)]
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in measured:
        kinds.setdefault((name.partition(",")[0], *(line(name, *column) for column in columns)), []).append(name)
    titles = [names[0] if len(names) == 1 else f"{attack}, {len(names)} kinds" for (attack, *_), names in kinds.items()]
    return markdown_table(header, [[title, *cells] for title, (_, *cells) in zip(titles, kinds, strict=True)])


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by data set, attack, what is seen, system, head and seed."""
    lists = {"data": list(FOLDERS), "attack": list(ATTACKS), "shown": list(SEEN), "system": list(ATTACKED)}
    return ordered(rows, ("data", "attack", "shown", "system", "head", "seed"), lists)


if __name__ == "__main__":
    main()
