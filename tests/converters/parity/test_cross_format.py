"""One export, two formats: the same words and bits for any text, and the same label."""

import importlib.util
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from packages import both_formats, run_command
from scripts import once

from retvec_lite import contract
from retvec_lite.contract import INVISIBLE, SEPARATORS, UNSPACED, EncoderConfig
from retvec_lite.converters import INPUT
from retvec_lite.converters.coreml.format import evaluate
from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.tflite import promote_outputs
from retvec_lite.data.dataset import read_dataset, starter_file
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import installed_runtimes
from retvec_lite.runtime.worker import Job, run_models

STRINGS = 100_000
FEW_STRINGS = 2_000
BATCH = 1_000
"""Texts for one process of the runtime: their bits take 86 MB."""

LEAST_SHARE = 0.995
NEAR = 2e-3
"""How far apart two classes may be for their order to be a matter of rounding to 16 bits, and on how many texts at most."""


LENGTHS = (0, 1, 5, 20, 60, 90, 96, 97, 150)


def generated(count: int, seed: int, lengths: Sequence[int] = LENGTHS) -> Iterator[str]:
    """Strings of every kind of character that the contract tells apart, in runs and mixed."""
    rng = random.Random(seed)
    ranges = [found for script in UNSPACED.values() for found in script]
    pools = [
        lambda: rng.randrange(0x21, 0x7F),
        lambda: rng.randrange(0xA1, 0x2FFF),
        lambda: rng.randrange(0, 0xD800),
        lambda: rng.randrange(0xE000, 0x10000),
        lambda: rng.randrange(0x10000, 0x110000),
        lambda: rng.choice(SEPARATORS),
        lambda: rng.choice(INVISIBLE),
        lambda: rng.randint(*rng.choice(ranges)),
        lambda: rng.choice(rng.choice(ranges)) + rng.choice((-1, 0, 1)),
    ]
    for _ in range(count):
        values: list[int] = []
        length = rng.choice(lengths)
        while len(values) < length:
            pool = rng.choice(pools)
            values += [pool() for _ in range(rng.choice((1, 1, 2, 3, 7, 16, 17, 40)))]
            values += [0x20] * rng.choice((0, 0, 1))
        yield "".join(map(chr, values[:length]))


def both(dist: Path, rows: np.ndarray, runtime: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Words and bits of each row by the .tflite on a runtime and by the evaluated package."""
    artifact = read_artifact(dist / "classifier-int8.tflite")
    promoted = promote_outputs(artifact.model, ["words", "bits"])
    (flat,) = run_models(runtime, [Job(promoted, rows)])
    program = Program(dist / f"{artifact.path.stem}.mlpackage")
    found = [program.run({INPUT: row[None]}, ["words", "bits"]) for row in rows]
    return flat, {name: np.stack([item[name][0] for item in found]) for name in ("words", "bits")}


def compare_texts(dist: Path, texts: Sequence[str], runtime: str) -> None:
    config = read_artifact(next(dist.glob("*.tflite"))).config
    rows = np.stack([contract.codepoints(text, config.max_chars) for text in texts])
    flat, package = both(dist, rows, runtime)
    for name in ("words", "bits"):
        differing = (flat[name] != package[name]).reshape(len(rows), -1).any(axis=1)
        assert not differing.any(), [texts[place] for place in np.flatnonzero(differing)[:3]]
    check_some(texts[:20], package["words"], config)


def packed(strings: Iterator[str], config: EncoderConfig) -> Iterator[str]:
    """The strings as texts, with separators between them, as many in one as are encoded to their end."""
    together: list[str] = []
    chars = pieces = 0
    for number, string in enumerate(strings):
        needed = len(contract._pieces([ord(char) for char in string], config))
        if together and (chars + len(string) + 1 > config.max_chars or pieces + needed > config.max_words):
            yield "".join(together)
            together, chars, pieces = [], 0, 0
        together += [string, chr(SEPARATORS[number % len(SEPARATORS)])]
        chars, pieces = chars + len(string) + 1, pieces + needed
    yield "".join(together)


def check_some(texts: Sequence[str], words: np.ndarray, config: EncoderConfig) -> None:
    for text, found in zip(texts, words, strict=False):
        np.testing.assert_array_equal(found, contract.words(contract.codepoints(text, config.max_chars), config))


@pytest.fixture(autouse=True)
def _needs_a_runtime() -> None:
    if not installed_runtimes():
        pytest.skip("no TFLite runtime is installed: there is nothing to compare with")


def test_both_formats_cut_generated_strings_alike() -> None:
    compare_texts(both_formats(), list(generated(120, seed=1)), next(iter(installed_runtimes())))


def test_both_formats_cut_packed_strings_alike() -> None:
    """Many strings in a text: they are cut apart by a separator."""
    dist = both_formats()
    config = read_artifact(dist / "classifier-int8.tflite").config
    texts = list(packed(generated(FEW_STRINGS, seed=500, lengths=(0, 1, 3, 8, 17, 40)), config))
    compare_texts(dist, texts, next(iter(installed_runtimes())))


@pytest.mark.exhaustive
def test_both_formats_cut_100_000_generated_strings_alike() -> None:
    """The same under the default config."""
    dist, runtime = trained(), next(iter(installed_runtimes()))
    config = read_artifact(dist / "classifier-int8.tflite").config
    texts = list(packed(generated(STRINGS, seed=1000, lengths=(0, 1, 3, 8, 17, 40)), config))
    assert sum(map(len, texts)) > 10 * STRINGS
    for start in range(0, len(texts), BATCH):
        compare_texts(dist, texts[start : start + BATCH], runtime)


def answers_by_format(dist: Path, recipe: str, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of texts by both formats of a recipe, `[texts, classes]` each."""
    artifact = read_artifact(dist / f"classifier-{recipe}.tflite")
    program = Program(dist / f"classifier-{recipe}.mlpackage")
    rows = np.stack([contract.codepoints(text, artifact.config.max_chars) for text in texts])
    (flat,) = run_models(next(iter(installed_runtimes())), [Job(artifact.model, rows)])
    return flat["probabilities"], evaluate(program, rows, artifact.labels)["probabilities"]


def trained() -> Path:
    """A classifier of the starter data, exported in both formats."""
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("tensorflow is not installed: nothing can be trained")

    def make(folder: Path) -> None:
        run_command("train", "starter", "--head", "pool", "--epochs", "3", "--out", str(folder / "pool"))
        formats = ("--format", "all", "--recipe", "float32", "int8")
        run_command("export", str(folder / "pool"), "--out", str(folder / "dist"), *formats)

    return once("trained", make) / "dist"


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_both_formats_give_every_text_of_the_test_split_the_same_label(recipe: str) -> None:
    """In int8 a package computes in 16 bits and a .tflite in 32: two classes that are as likely may change places."""
    texts = read_dataset(starter_file("test")).texts
    flat, package = answers_by_format(trained(), recipe, texts)
    first, second = flat.argmax(axis=1), package.argmax(axis=1)
    differing = np.flatnonzero(first != second)
    assert len(texts) > 1000
    margins = flat[differing, first[differing]] - flat[differing, second[differing]]
    near = NEAR if recipe == "int8" else 0.0
    assert [texts[place] for place, margin in zip(differing, margins, strict=True) if margin > near] == []
    assert len(differing) <= (1 - LEAST_SHARE) * len(texts)
