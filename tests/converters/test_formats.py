"""A format of its own, in one class and one line of the table: all that a new one needs."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from exported import EXPORTED, texts_csv

from retvec_lite.converters import format as formats
from retvec_lite.converters.export import export_model
from retvec_lite.converters.format import Contents, Draft, Format, OpenArtifact
from retvec_lite.converters.parity import RuntimeResult
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.oracle import Match, Oracle
from retvec_lite.converters.recipes import FormatFacts, Recipe
from retvec_lite.converters.verify import verify
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, load_trained_model

PARTS = ("encoder", "embedding", "head", "ngrams", "meaning", "graph", "metadata")


class Opened(OpenArtifact):
    def __init__(self, path: Path) -> None:
        self.metadata, self.size = {"recipe": "int8"}, path.stat().st_size
        self.model = load_trained_model(path)

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        return {name: Match(values, 32) for name, values in self.model.weights.items()}

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterable[RuntimeResult]:
        table = oracle.table(examiner.golden + examiner.real)
        checks = tuple(examiner.answer_checks(table, oracle, recipe))
        yield RuntimeResult("numpy", "2", True, checks, None, examiner.accuracy_of(table))

    def contents(self) -> Contents:
        return Contents(dict.fromkeys(PARTS, 0) | {"head": self.size}, [("everything", 1, 1)])


class Plain(Format):
    """The safetensors file itself."""

    name, suffix = "plain", ".plain"
    runtimes = {"numpy": "NumPy is not installed", "abacus": "There is no abacus"}  # noqa: RUF012

    def check(self, recipes: Sequence[Recipe]) -> None:
        if [recipe.name for recipe in recipes] != ["int8"]:
            raise RetvecLiteError("Only int8 is plain.")

    def require_runtime(self) -> None: ...

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        def write(path: Path, oldest: Mapping[str, str]) -> None:
            path.write_bytes(model.to_bytes())

        yield from (Draft(recipe, {"numpy": "2"}, write) for recipe in recipes)

    def open(self, path: Path) -> OpenArtifact:
        return Opened(path)

    def facts(self, recipe: Recipe) -> FormatFacts:
        return FormatFacts(description="as plain as can be", parity_tolerance=1e-5)

    def skipped(self) -> tuple[str, ...]:
        return ("abacus",)


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    texts_csv(tmp_path)
    monkeypatch.setattr(formats, "FORMATS", {**formats.FORMATS, "plain": f"{__name__}.Plain"})
    model = load_trained_model(EXPORTED / "pool" / "reference.safetensors")
    data = tmp_path / "texts.csv"
    yield functools.partial(export_model, model, tmp_path / "dist", formats=["plain"], data=data)
    formats.find_format.cache_clear()


def test_a_format_is_exported_reported_and_verified(export: Any, tmp_path: Path) -> None:
    report = export()
    dist = tmp_path / "dist"
    assert [path.name for path in report.files] == ["classifier-int8.plain"]
    assert "for numpy 2 or newer" in str(report)
    assert "There is no abacus: skipped." in str(report)
    (artifact,) = json.loads((dist / "report.json").read_bytes())["artifacts"]
    assert artifact["description"] == "as plain as can be"
    assert list(json.loads((dist / "golden.json").read_bytes())["tolerance"]) == ["plain-int8"]
    found = verify(dist, data=tmp_path / "texts.csv")
    assert (found.ok, found.skipped) == (True, ("abacus",))
    other = dataclasses.replace(load_trained_model(dist / "classifier-int8.plain"), training={"data": "other.csv"})
    (dist / "classifier-int8.plain").write_bytes(other.to_bytes())
    found = verify(dist, data=tmp_path / "texts.csv")
    assert not found.ok
    assert "was changed since export" in found.problems[-1]


def test_its_checks_count(export: Any) -> None:
    with pytest.raises(RetvecLiteError, match="Only int8 is plain"):
        export(recipes=["float32"])
    with pytest.raises(RetvecLiteError, match="The option embed needs the format tflite: add it"):
        export(embed=True)


def test_names_and_suffixes_are_those_of_the_table() -> None:
    found = formats.chosen_formats()
    assert [kind.name for kind in found] == list(formats.FORMATS)
    assert len({kind.suffix for kind in found}) == len(found)
