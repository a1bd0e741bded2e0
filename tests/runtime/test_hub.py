"""Models on the hub: `hf://` addresses, with a folder in the hub's place."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal

import retvec_lite as rl
from retvec_lite.__main__ import main
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import is_built
from retvec_lite.runtime.hub import fetch

GOLDEN = Path(__file__).parents[2] / "golden"


class Hub:
    """Snapshots as `snapshot_download` leaves them: a folder each, with the files that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str | None, list[str]]] = []
        self.models: dict[str, dict[str, Path]] = {}

    def snapshot_download(self, repo_id: str, *, revision: str | None, allow_patterns: list[str], **_: Any) -> str:
        self.asked.append((repo_id, revision, allow_patterns))
        place = self.folder / repo_id
        place.mkdir(parents=True, exist_ok=True)
        for name, source in self.models[repo_id].items():
            if any(Path(name).match(pattern) for pattern in allow_patterns):
                shutil.copy(source, place / name)
        return str(place)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    package = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    found = Hub(tmp_path)
    found.models["me/parcels"] = {
        "README.md": GOLDEN / "README.md",
        "classifier-int4.retvec": GOLDEN / "plain.retvec",
        "classifier-int8.retvec": GOLDEN / "rejecting.retvec",
        "classifier-int8.tflite": GOLDEN / "rejecting.tflite",
    }
    found.models["me/old"] = {
        "classifier-int4.tflite": GOLDEN / "several.tflite",
        "other.tflite": GOLDEN / "plain.json",
    }
    found.models["me/empty"] = {"README.md": GOLDEN / "README.md"}
    monkeypatch.setattr(package, "snapshot_download", found.snapshot_download)
    return found


def test_a_model_gives_its_int8_engine_file_or_what_is_there(hub: Hub) -> None:
    assert fetch("hf://me/parcels").name == "classifier-int8.retvec"
    assert fetch("hf://me/parcels@v1.0").name == "classifier-int8.retvec"
    assert fetch("hf://me/old").name == "classifier-int4.tflite"
    assert fetch("hf://me/parcels/classifier-int4.retvec").name == "classifier-int4.retvec"
    assert hub.asked == [
        ("me/parcels", None, ["*.retvec", "*.tflite"]),
        ("me/parcels", "v1.0", ["*.retvec", "*.tflite"]),
        ("me/old", None, ["*.retvec", "*.tflite"]),
        ("me/parcels", None, ["classifier-int4.retvec"]),
    ]


@pytest.mark.usefixtures("hub")
def test_what_was_fetched_classifies(capsys: pytest.CaptureFixture[str]) -> None:
    if not is_built():
        pytest.skip("The C engine is not built")
    assert rl.load("hf://me/parcels").predict("play jazz", top=1)[0].label == "music"
    assert rl.load("hf://me/parcels").predict("play jazz", top=1)[0].label == "music"
    assert main(["classify", "hf://me/parcels", "play jazz"]) == 0
    assert "music" in capsys.readouterr().out


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("hf://me", "hf://me is no address of a model: write hf://user/model, or hf://user/model/file."),
        ("hf://me/parcels/../../secret", "is no address of a model"),
        ("hf://me/empty", "hf://me/empty has no *.retvec or *.tflite."),
        ("hf://me/parcels/a.retvec", "hf://me/parcels/a.retvec has no a.retvec"),
    ],
)
def test_what_is_wrong_with_an_address(address: str, message: str) -> None:
    assert message in refusal(rl.load, address)


def test_the_error_without_a_network_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the real package, which is told to be offline."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        RetvecLiteError, match=r"^Cannot fetch hf://me/parcels \([^\n]+\)\. Offline, name a downloaded copy\.$"
    ):
        rl.load("hf://me/parcels")


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RetvecLiteError, match=r'pip install "\.\[hub\]"'):
        rl.load("hf://me/parcels")


@pytest.mark.parametrize(
    "address",
    [
        f"hf://{part}"
        for part in [
            "me/parcels//etc/hosts", "me/parcels/..", "me/parcels/../a", "me/parcels/a/../../b", "me/parcels/./a", "me/parcels/a//b",
            "me/parcels/..\\..\\a", "me/parcels/C:/a", "me/parcels/C:a", "me/parcels/a\0b", "me/parcels/a\nb", "me/parcels/%2e%2e/a",
            "me/parcels/%2Fetc%2Fhosts", "me/parcels/.. /a", "me/parcels/a./b", "me/parcels/*", "me/parcels/[a]", "me/parcels/a/",
            "me/..", "../me", "me/.", "/me/parcels", "//me/parcels", "me\\parcels", "me/par\0cels", "me/..@main", "me/parcels@..",
            "me/parcels@../..", "me/parcels@a\\b", "me/parcels@", "me/parcels@" + "r" * 97, "m" * 97 + "/parcels", "me/" + "p" * 97,
            "me/parcels/" + "f" * 256, "me/parcels/" + "f/" * 9999 + "f", "me/parcels/é" + "/é" * 9999,
        ]
    ],
)  # fmt: skip
def test_an_address_that_leads_elsewhere_is_none_and_nothing_is_fetched(hub: Hub, address: str) -> None:
    with pytest.raises(RetvecLiteError, match="is no address of a model") as error:
        fetch(address)
    assert len(str(error.value)) < 300 and str(error.value).isprintable() and not hub.asked


@pytest.mark.usefixtures("hub")
def test_a_name_that_the_file_system_refuses_is_a_sentence() -> None:
    """255 characters, and twice as many bytes."""
    with pytest.raises(RetvecLiteError):
        fetch("hf://me/parcels/" + "é" * 251 + ".retvec")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows needs a privilege to make symbolic links")
def test_links_lead_to_blobs_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the cache of huggingface_hub has them."""
    package = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    cache = tmp_path / "models--me--parcels"
    snapshot = cache / "snapshots" / "0a1b"
    (cache / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (tmp_path / "secret.retvec").touch()
    shutil.copy(GOLDEN / "plain.retvec", cache / "blobs" / "abc")
    (snapshot / "a.retvec").symlink_to("../../blobs/abc")
    monkeypatch.setattr(package, "snapshot_download", lambda *_, **__: str(snapshot))
    assert fetch("hf://me/parcels") == fetch("hf://me/parcels/a.retvec") == snapshot / "a.retvec"
    (snapshot / "b.retvec").symlink_to(tmp_path / "secret.retvec")
    (snapshot / "folder").symlink_to(tmp_path)
    for address in ("hf://me/parcels", "hf://me/parcels/b.retvec", "hf://me/parcels/folder/secret.retvec"):
        with pytest.raises(RetvecLiteError, match=r"\.retvec is a link that leads out of the downloaded model\.$"):
            fetch(address)
