"""The manifest of an export, and whether a folder still holds what its manifest says."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.card import METRICS
from retvec_lite.contract import CONTRACT_VERSION, Floats
from retvec_lite.converters.parity import REFERENCE_NAME
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.golden import clear_answers
from retvec_lite.converters.parity.golden_texts import BIT_TEXTS, is_reachable
from retvec_lite.errors import RetvecLiteError
from retvec_lite.foreign import read_whole
from retvec_lite.manifest import MANIFEST_NAME, RELEASE, Manifest, ModelFile, check_release, fingerprint, size_of
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.version import CREATED_BY
from retvec_lite.windows import decided_text

_TEXTS: Final = 8
"""Most golden texts of a manifest."""
_LONGEST: Final = 100
"""Most characters of one."""


def released(model: TrainedModel, name: str | None, version: int | None) -> TrainedModel:
    """Return a model that has this name and version, or neither; raise RetvecLiteError for others than manifests can hold."""
    check_release(name, version)
    facts = {fact: value for fact, value in model.training.items() if fact != RELEASE}
    release = {} if name is None else {RELEASE: {"name": name, "version": version}}
    return dataclasses.replace(model, training={**facts, **release})


def manifest_of(examiner: Examiner, files: Sequence[ModelFile], answers: Iterable[tuple[Floats, float]]) -> Manifest:
    """Return the manifest of an export.

    Args:
        examiner: with the classifier and its golden texts.
        files: what was written.
        answers: of each file, what it must answer to the golden texts, float32 `[texts, classes]`, and how nearly.
    """
    model = examiner.classifier
    release = model.training.get(RELEASE, {})
    return Manifest(
        name=release.get("name"),
        version=release.get("version"),
        created_by=CREATED_BY,
        contract_version=CONTRACT_VERSION,
        labels=model.labels,
        figures=_figures(model.training.get("validation", {})),
        texts=_few(_sure(examiner, answers)),
        files=files,
    )


def manifest_problems(folder: Path, model: TrainedModel, artifacts: Iterable[Path]) -> list[str]:
    """Return what is wrong with the manifest of a folder, a line each; nothing where there is none."""
    path = folder / MANIFEST_NAME
    if not path.exists():
        return []
    try:
        manifest = Manifest.from_bytes(read_whole(path))
        if list(manifest.labels) != list(model.labels):
            raise RetvecLiteError(f"{MANIFEST_NAME}: the labels must be those of {REFERENCE_NAME}.")
        # Whatever their names are by now.
        listed = {(file.bytes, file.sha256) for file in manifest.files}
        for artifact in artifacts:
            if (size_of(artifact), fingerprint(artifact)) not in listed:
                raise RetvecLiteError(f"{artifact.name} is none of the files that {MANIFEST_NAME} lists. Export again.")
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}."]
    except RetvecLiteError as error:
        return [str(error)]
    return []


def _figures(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the figures of the model card, by share of mistyped words."""
    found = {
        rate: {name: round(row[name], 4) for name in METRICS if row.get(name) is not None}
        for rate, row in scores.items()
    }
    return {rate: row for rate, row in found.items() if row}


def _sure(examiner: Examiner, answers: Iterable[tuple[Floats, float]]) -> dict[str, tuple[str, ...]]:
    """Return the golden texts to which every file gives the same labels, whatever its tolerance allows, and those labels."""
    model = examiner.classifier
    config, decision = model.encoder, model.decision
    golden = examiner.golden_texts
    names = [
        (text.name.startswith(BIT_TEXTS), row, text.text)
        for row, text in enumerate(golden)
        if text.text is not None and _is_plain(text.text) and is_reachable(text, config)
    ]
    ordered = [(row, text) for _, row, text in sorted(names)]  # those made of odd characters last
    read = [decided_text(text, config) for _, text in ordered]
    rows = [row for row, _ in ordered]
    tables = [dict(clear_answers(read, table[rows], model.labels, decision, tolerance)) for table, tolerance in answers]
    return {
        text: _as_labels(tables[0][place])
        for place, (_, text) in enumerate(ordered)
        if all(place in table and table[place] == tables[0].get(place) for table in tables)
    }


def _is_plain(text: str) -> bool:
    return 0 < len(text.strip()) <= len(text) <= _LONGEST and text.isprintable()


def _as_labels(answer: str | list[str] | None) -> tuple[str, ...]:
    return () if answer is None else (answer,) if isinstance(answer, str) else tuple(answer)


def _few(sure: Mapping[str, tuple[str, ...]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return a few texts, of as many different answers as there are."""
    first = dict[tuple[str, ...], str]()
    for text, labels in sure.items():
        first.setdefault(labels, text)
    chosen = [*first.values(), *(text for text in sure if text not in first.values())][:_TEXTS]
    return [(text, sure[text]) for text in sure if text in chosen]
