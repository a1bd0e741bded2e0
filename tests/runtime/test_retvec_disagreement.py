"""A .retvec whose metadata say otherwise than its engine is refused in a sentence, however it is opened."""

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from engine_exports import model_of

import retvec_lite as rl
from retvec_lite.converters.export import export_model
from retvec_lite.converters.verify import verify
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import is_built
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NATIVE, NativeEngine
from retvec_lite.runtime.retvec_file import SECTIONS, SETTINGS, checksum, sections_of, to_file
from retvec_lite.runtime.worker import IsolatedEngine

pytestmark = pytest.mark.skipif(not is_built(), reason="the engine is not built")

NAME = "classifier-int8.retvec"
Sections = dict[str, bytes]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound export."""
    place = tmp_path_factory.mktemp("sound")
    data = place / "texts.csv"
    data.write_text("text,label\nwhere is my parcel,one\ncancel it,two\n", encoding="utf-8")
    export_model(model_of("pool"), place / "dist", formats=["engine"], recipes=["int8"], data=data, force=True)
    return place / "dist"


def _with_setting(name: str, change: Callable[[int], int]) -> Callable[[Sections], bytes]:
    def changed(sections: Sections) -> bytes:
        values = list(struct.unpack(f"<{len(SETTINGS)}I", sections["settings"]))
        values[SETTINGS.index(name)] = change(values[SETTINGS.index(name)])
        return to_file(sections | {"settings": struct.pack(f"<{len(SETTINGS)}I", *values)})

    return changed


def _with_metadata(change: Callable[[dict], object]) -> Callable[[Sections], bytes]:
    def changed(sections: Sections) -> bytes:
        metadata = json.loads(sections["metadata"])
        change(metadata)
        return to_file(sections | {"metadata": json.dumps(metadata).encode()})

    return changed


def _labels(labels: list[str]) -> bytes:
    encoded = [label.encode() + b"\0" for label in labels]
    ends = np.cumsum([len(label) for label in encoded]).astype("<u4")
    return ends.tobytes() + b"".join(encoded)


def _with_labels(change: Callable[[list[str]], list[str]]) -> Callable[[Sections], bytes]:
    def changed(sections: Sections) -> bytes:
        return to_file(sections | {"labels": _labels(change(json.loads(sections["metadata"])["labels"]))})

    return changed


def _two_sections(sections: Sections) -> bytes:
    """The last section but one becomes a second one of labels."""
    data = bytearray(to_file(sections | {"thresholds": _labels(["a", "b"])}))
    for place in range(struct.unpack_from("<I", data, 20)[0]):
        if struct.unpack_from("<I", data, 64 + 16 * place)[0] == SECTIONS["thresholds"]:
            struct.pack_into("<I", data, 64 + 16 * place, SECTIONS["labels"])
    struct.pack_into("<Q", data, 24, checksum(bytes(data)))
    return bytes(data)


def _signature(name: str) -> Callable[[dict], object]:
    return lambda metadata: metadata["signatures"][-1].update({name: 7})


KINDS: Mapping[str, Callable[[Sections], bytes]] = {
    **{
        f"setting {name}": _with_setting(name, change)
        for name, change in {
            "max_words": lambda _: 4096,
            "max_chars": lambda _: 4096,
            "word_length": lambda value: value + 1,
            "contract_version": lambda value: value - 1,
            "truncates": lambda value: 1 - value,
            "labels": lambda value: value - 1,
            "multi_label": lambda _: 1,
            "unknown_label": lambda _: 1,
            "has_threshold": lambda _: 0,
            "buckets": lambda value: max(0, value - 1),
            "longest": lambda value: value + 1,
            "plain_letters": lambda value: 1 - value,
        }.items()
    },
    "threshold": lambda sections: to_file(sections | {"numbers": struct.pack("<2d", 0.9, 0.4)}),
    "shares": lambda sections: to_file(sections | {"shares": struct.pack("<5d", *[0.2] * 5)}),
    "shares in metadata": _with_metadata(lambda metadata: metadata["decision"].update(shares=[0.2] * 5)),
    "two label sections": _two_sections,
    "no characters known": lambda sections: to_file({**sections, "characters_known": b""}),
    "sizes of meaning": _with_metadata(
        lambda metadata: metadata.update(meaning={"words": 1, "rows": 1, "displacements": 1})
    ),
    "n-grams in metadata": _with_metadata(lambda metadata: metadata.update(ngrams=None)),
    "order of labels": _with_labels(lambda labels: labels[::-1]),
    "empty last label": _with_labels(lambda labels: [*labels[:-2], labels[-1], ""]),
    "label twice": _with_labels(lambda labels: [labels[1], *labels[1:]]),
    "fewer labels in metadata": _with_metadata(lambda metadata: metadata["labels"].pop(0)),
    "more labels in metadata": _with_metadata(lambda metadata: metadata["labels"].append("more")),
    "dimension": _with_metadata(_signature("dimension")),
    "word dimension": _with_metadata(_signature("word_dimension")),
    "no embedding in metadata": _with_metadata(lambda metadata: metadata["signatures"].pop()),
}


@pytest.fixture(params=KINDS)
def bad(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A folder whose .retvec was changed, with a right checksum."""
    place = shutil.copytree(folder, tmp_path / "dist")
    (place / NAME).write_bytes(KINDS[request.param](sections_of((folder / NAME).read_bytes())))
    return place


def test_load_refuses(bad: Path) -> None:
    with pytest.raises(
        RetvecLiteError, match=f"{NAME}.*(Export the model again|the label .* control|different labels)"
    ):
        rl.load(bad / NAME)


@pytest.mark.parametrize("bad", ["setting max_chars", "order of labels", "dimension"], indirect=True)
def test_verify_and_a_process_of_its_own_name_the_file(bad: Path) -> None:
    with pytest.raises(RetvecLiteError, match=f"{NAME}.*Export the model again"):
        rl.load(bad / NAME, isolated=True)
    found = verify(bad)
    assert not found.ok
    assert "Export the model again" in str(found).replace("\n", " ")


@pytest.mark.parametrize(
    ("bad", "command"),
    [("setting max_words", "classify"), ("two label sections", "info"), ("dimension", "verify")],
    indirect=["bad"],
)
def test_the_command_line_says_it_in_a_sentence(bad: Path, command: str) -> None:
    arguments = {"verify": [str(bad)], "info": [str(bad / NAME)], "classify": [str(bad / NAME), "where"]}
    call = [sys.executable, "-m", "retvec_lite", command, *arguments[command]]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode > 0
    assert "Export the model again" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_a_worker_answers_the_same_and_its_crash_is_an_error(folder: Path) -> None:
    artifact = read_artifact(folder / NAME)
    here, there = NativeEngine(artifact), IsolatedEngine(artifact, 1, NATIVE)
    texts = ["where is my parcel", "", "\ud800 x"]
    np.testing.assert_array_equal(there.probabilities(texts), here.probabilities(texts))
    rows = np.arange(3 * artifact.config.max_chars, dtype=np.int32).reshape(3, -1)
    np.testing.assert_array_equal(there.probabilities(rows), here.probabilities(rows))
    np.testing.assert_array_equal(there.embeddings(rows), here.embeddings(rows))
    for found, right in zip(there.words(rows), here.words(rows), strict=True):
        np.testing.assert_array_equal(found, right)
    assert there._worker is not None
    there._worker._process.kill()
    with pytest.raises(RetvecLiteError, match="crashed with signal 9"):
        there.probabilities(texts)
    np.testing.assert_array_equal(there.probabilities(texts), here.probabilities(texts))
