"""The table of whole products: ours beside the best of the others, and bold only beyond the noise."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tables import pages
from benchmarks.tables.pages import products

ALL = ("0", "0.2", "0.5", "1")


def row(system: str, accuracy: float, *, texts: int = 1000, data: str = "AG News", **more: Any) -> dict[str, Any]:
    found = {"data": data, "system": system, "shots": 0, "seed": 0, "accuracy": dict.fromkeys(ALL, accuracy)}
    return {**found, "settings": {"test_texts": texts}, **more}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("few_shot", "languages", "comparison"):
        (tmp_path / f"{name}.json").write_text("[]")
    return tmp_path


def cells(results: Path, **rows: list[dict[str, Any]]) -> list[str]:
    for name, found in rows.items():
        (results / f"{name}.json").write_text(json.dumps(found))
    return [cell.strip() for cell in products(results).splitlines()[2].split("|")[1:-1]]


def test_it_shows_what_was_measured() -> None:
    written = (pages.RESULTS / "products.md").read_text(encoding="utf-8")
    assert written == products(pages.RESULTS), "run python -m benchmarks.tables.pages"


def test_others_stand_by_size(results: Path) -> None:
    ours, svm = row("default file", 0.9, bytes=900_000), row("SVM, characters", 0.8)
    few = row("default file", 0.1) | {"shots": 5}
    others = [
        row("BPE, under 1 MB", 0.7, bytes=9, head="cnn"),
        row("network alone", 1.0, bytes=9, head="cnn"),
    ]
    found = cells(results, few_shot=[few, ours, svm], comparison=others)
    four = " / ".join(["**.900**"] * 4)
    assert found == [
        "AG News",
        f"{four} (900 kB)",
        " / ".join([".700"] * 4) + " (BPE)",
        " / ".join([".800"] * 4) + " (SVM, characters)",
    ]


@pytest.mark.parametrize(("texts", "bold"), [(1000, False), (100_000, True)])
def test_a_lead_inside_the_noise_is_not_bold(results: Path, texts: int, bold: bool) -> None:
    ours, other = row("default file", 0.91, bytes=1, texts=texts), row("fastText", 0.90, bytes=1, texts=texts)
    found = cells(results, few_shot=[ours], comparison=[other | {"head": "whole"}])
    assert ("**.910**" in found[1]) == bold and "**" not in found[2]


def test_a_set_without_others_has_dashes_and_seeds_are_averaged(results: Path) -> None:
    assert cells(results, few_shot=[row("default file", 0.5, bytes=1)])[2:] == ["-", "-"]
    seeds = [row("BPE", value, bytes=1, head="cnn") | {"seed": seed} for seed, value in enumerate((0.4, 0.6))]
    assert cells(results, few_shot=[row("default file", 0.3, bytes=1)], comparison=seeds)[2].startswith("**.500**")


def test_others_stand_once_where_ours_has_two_rows(results: Path) -> None:
    ours = [row(system, 0.5, bytes=1, data="CLINC150") for system in (pages.DEFAULT_FILE, pages.NONE_OF_THESE)]
    cells(results, few_shot=ours, comparison=[row("BPE", 0.4, bytes=1, head="cnn", data="CLINC150")])
    first, second = products(results).splitlines()[2:]
    assert "BPE" in first and first.count(pages.AS_ABOVE) == 0
    assert "BPE" not in second and second.count(pages.AS_ABOVE) == 2
    cells(results, few_shot=ours[1:])
    assert pages.AS_ABOVE not in products(results)
