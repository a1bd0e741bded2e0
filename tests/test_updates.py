import contextlib
import hashlib
import json
import os
import re
import runpy
import shutil
import stat
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from exported import EXPORTED
from light import run_python

import retvec_lite as rl
from retvec_lite.__main__ import main
from retvec_lite.manifest import Manifest, UpdateError
from retvec_lite.updates import open_manifest

pytest.importorskip("cryptography", reason="the extra sign is not installed")

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "updates.json").read_text(encoding="utf-8"))


def taken(case: dict[str, Any]) -> Manifest:
    """What an app does with a download."""
    content = case["content"].encode()
    manifest = open_manifest(
        case["manifest"].encode(), bytes.fromhex(case["signature"]), case["key"], case["model"], case["installed"]
    )
    manifest.check(case["file"], len(content), hashlib.sha256(content).hexdigest())
    manifest.try_texts(case["file"], lambda text: case["answers"][text])
    return manifest


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_an_update_is_taken_or_refused_with_its_code(case: dict[str, Any]) -> None:
    if case["code"] is None:
        assert taken(case).name == case["model"]
        return
    with pytest.raises(UpdateError) as caught:
        taken(case)
    assert caught.value.code == case["code"]
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_the_cases_are_those_of_the_present_contract_and_manifest() -> None:
    assert runpy.run_path(str(DATA / "make_updates.py"))["content"]() == (DATA / "updates.json").read_text("utf-8")


def test_every_bit_of_a_manifest_counts() -> None:
    case = CASES[0]
    text, signature = bytearray(case["manifest"].encode()), bytes.fromhex(case["signature"])
    for place in range(0, len(text), 7):
        text[place] ^= 1 << place % 8
        with pytest.raises(UpdateError) as caught:
            open_manifest(bytes(text), signature, case["key"], case["model"], 0)
        assert caught.value.code == "UPDATE_SIGNATURE"
        text[place] ^= 1 << place % 8
    assert open_manifest(bytes(text), signature, case["key"], case["model"], 0).version == 7


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A signed export in formats that need no TensorFlow, and its public key."""
    folder = tmp_path_factory.mktemp("release")
    key = rl.make_key(folder / "update.key")
    classifier = rl.load(EXPORTED / "pool" / "reference.safetensors")
    report = classifier.export(
        folder / "dist",
        formats=["engine"],
        data=EXPORTED / "texts.csv",
        name="router",
        model_version=7,
        sign=folder / "update.key",
    )
    assert report.signed_with == key and key in str(report)
    return folder, key


@pytest.fixture
def download(release: tuple[Path, str], tmp_path: Path) -> Path:
    """What a server fetched of it: the manifest, its signature and one of the files."""
    for name in ("manifest.json", "manifest.json.sig", "classifier-int8.retvec"):
        shutil.copy(release[0] / "dist" / name, tmp_path)
    return tmp_path


def test_a_signed_export_says_what_it_is(release: tuple[Path, str]) -> None:
    dist = release[0] / "dist"
    manifest = json.loads((dist / "manifest.json").read_bytes())
    report = json.loads((dist / "report.json").read_bytes())
    assert [file["sha256"] for file in manifest["files"]] == [file["sha256"] for file in report["artifacts"]]
    assert [file["bytes"] for file in manifest["files"]] == [
        (dist / file["file"]).stat().st_size for file in manifest["files"]
    ]
    assert (manifest["name"], manifest["version"], manifest["labels"]) == ("router", 7, report["labels"])
    assert 1 <= len(manifest["texts"]) <= 8
    for file in manifest["files"]:
        facts = rl.info(dist / file["file"])
        assert (facts.to_dict()["name"], facts.to_dict()["version"]) == ("router", 7)
        assert "router" in str(facts)
    assert "# router 7, a text classifier" in (dist / "README.md").read_text("utf-8")
    # The weights are of no version: an export of them must not pass for one.
    assert (dist / "reference.safetensors").read_bytes() == (EXPORTED / "pool" / "reference.safetensors").read_bytes()
    assert rl.verify(dist, data=EXPORTED / "texts.csv").problems == ()


def test_verify_compares_the_manifest(release: tuple[Path, str], tmp_path: Path) -> None:
    dist = Path(shutil.copytree(release[0] / "dist", tmp_path / "dist"))
    path = dist / "manifest.json"
    for old, new, told in (
        ('"bytes": ', '"bytes": 1', "is none of the files that manifest.json lists"),
        ('"sha256": "', '"sha256": "0', "is none of the files that manifest.json lists"),
        ('"contract_version": 3', '"contract_version": 2', "The files follow version 2 of the contract"),
        ("{", "[", "not valid JSON"),
    ):
        whole = path.read_text("utf-8")
        path.write_text(whole.replace(old, new), "utf-8")
        assert told in " ".join(rl.verify(dist, data=EXPORTED / "texts.csv").problems)
        path.write_text(whole, "utf-8")


def test_a_download_is_checked(release: tuple[Path, str], download: Path) -> None:
    key = release[1]
    update = rl.check_update(download, key, "router", installed=6)
    assert update.files == update.tried == (download / "classifier-int8.retvec",)
    assert "router 7: signed with this key" in str(update)
    with pytest.raises(UpdateError, match=r"beside the private key, with \.pub behind"):
        rl.check_update(download, str(release[0] / "update.key"), "router")
    for installed, name, code in ((7, "router", "UPDATE_OLD"), (0, "spam", "UPDATE_NAME")):
        with pytest.raises(UpdateError) as caught:
            rl.check_update(download, key, name, installed=installed)
        assert caught.value.code == code


def test_a_half_download_is_refused(release: tuple[Path, str], download: Path) -> None:
    file = download / "classifier-int8.retvec"
    whole = file.read_bytes()
    for content in (whole[:-64], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(content)
        with pytest.raises(UpdateError) as caught:
            rl.check_update(download, release[1], "router")
        assert caught.value.code == "UPDATE_FILE"
    file.unlink()
    with pytest.raises(UpdateError, match="None of the files"):
        rl.check_update(download, release[1], "router")
    (download / "manifest.json.sig").unlink()
    with pytest.raises(
        UpdateError, match=r"manifest\.json\.sig is missing: .* not signed \(`retvec-lite export --sign`\)"
    ):
        rl.check_update(download, release[1], "router")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows needs a privilege to make symbolic links")
def test_links_are_not_followed(release: tuple[Path, str], download: Path) -> None:
    file, whole = download / "classifier-int8.retvec", release[0] / "dist" / "classifier-int8.retvec"
    for target in (whole, Path("none")):
        file.unlink()
        file.symlink_to(target)
        with pytest.raises(UpdateError, match="is a link") as caught:
            rl.check_update(download, release[1], "router")
        assert caught.value.code == "UPDATE_FILE"


@pytest.mark.parametrize("name", ["manifest.json", "manifest.json.sig", "classifier-int8.retvec", "update.key.pub"])
def test_no_more_is_read_than_a_file_may_have(release: tuple[Path, str], download: Path, name: str) -> None:
    shutil.copy(release[0] / "update.key.pub", download)
    with open(download / name, "r+b") as file:
        file.truncate(400_000_000)  # takes no room on the disk
    tracemalloc.start()
    try:
        with pytest.raises(rl.RetvecLiteError, match="instead of" if "retvec" in name else "at most"):
            rl.check_update(download, download / "update.key.pub", "router")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_the_recipe_takes_the_file_of_its_format(
    release: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a whole release, whose first file may be one of another format; signed with the spare key."""
    from retvec_lite.signing import read_private_key

    shutil.copytree(release[0] / "dist", tmp_path / "download")
    (tmp_path / "models").mkdir()
    other = (Path(__file__).parents[1] / "golden" / "several.tflite").read_bytes()
    (tmp_path / "download" / "classifier-int8.tflite").write_bytes(other)
    manifest = json.loads((tmp_path / "download" / "manifest.json").read_bytes())
    listed = {"file": "classifier-int8.tflite", "format": "tflite", "recipe": "int8", "bytes": len(other)}
    manifest["files"].insert(0, {**listed, "sha256": hashlib.sha256(other).hexdigest()})
    content = json.dumps({**manifest, "texts": []}).encode()
    (tmp_path / "download" / "manifest.json").write_bytes(content)
    (tmp_path / "download" / "manifest.json.sig").write_bytes(read_private_key(release[0] / "update.key").sign(content))
    (tmp_path / "keys.pub").write_text(f"{rl.make_key(tmp_path / 'spare.key')}\n{release[1]}\n")
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[1] / "docs" / "updates.md").read_text("utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {"rl": rl, "os": os})
    assert (tmp_path / "models" / "7.retvec").read_bytes() == (
        release[0] / "dist" / "classifier-int8.retvec"
    ).read_bytes()


def test_a_file_that_answers_otherwise_is_refused(release: tuple[Path, str], download: Path) -> None:
    """A right signature over wrong answers: an exporter with a fault, which only trying finds."""
    from retvec_lite.signing import read_private_key

    manifest = json.loads((download / "manifest.json").read_bytes())
    manifest["texts"][0]["labels"] = [] if manifest["texts"][0]["labels"] else manifest["labels"][:1]
    content = json.dumps(manifest).encode()
    (download / "manifest.json").write_bytes(content)
    (download / "manifest.json.sig").write_bytes(read_private_key(release[0] / "update.key").sign(content))
    with pytest.raises(UpdateError) as caught:
        rl.check_update(download, release[1], "router")
    assert caught.value.code == "UPDATE_ANSWERS"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "router"}, "go together"),
        ({"model_version": 7}, "go together"),
        ({"name": "a router", "model_version": 7}, "name of a model"),
        ({"name": "r" * 41, "model_version": 7}, "name of a model"),
        ({"name": "router", "model_version": 0}, "version of a model"),
        ({"name": "router", "model_version": 2**31}, "version of a model"),
        ({"sign": "{}/update.key"}, "name and version"),
        ({"name": "router", "model_version": 7, "sign": "{}/update.key.pub"}, "no private key"),
        ({"name": "router", "model_version": 7, "sign": "{}/none.key"}, "Cannot read "),
    ],
)
def test_a_release_that_no_app_could_check_is_refused_before_the_work(
    release: tuple[Path, str], tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    options = {key: value.format(release[0]) if isinstance(value, str) else value for key, value in options.items()}
    classifier = rl.load(EXPORTED / "pool" / "reference.safetensors")
    with pytest.raises(rl.RetvecLiteError, match=told):
        classifier.export(tmp_path / "dist", formats=["engine"], **options)
    assert not (tmp_path / "dist").exists()


def test_keys_are_private_and_kept(tmp_path: Path) -> None:
    key = rl.make_key(tmp_path / "a.key")
    assert (tmp_path / "a.key.pub").read_text() == f"{key}\n"
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    with pytest.raises(rl.RetvecLiteError, match="already exists"):
        rl.make_key(tmp_path / "a.key")
    assert (tmp_path / "a.key.pub").read_text() == f"{key}\n"
    (tmp_path / "a.key").chmod(0o644)
    assert rl.make_key(tmp_path / "a.key", force=True) != key
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600


def test_the_commands_do_the_same(
    download: Path, release: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    public = str(release[0] / "update.key.pub")
    assert main(["check-update", str(download), public, "router", "--installed", "6"]) == 0
    assert "golden texts answered as expected" in capsys.readouterr().out
    assert main(["check-update", str(download), public, "router", "--installed", "7"]) == 2
    assert capsys.readouterr().err == "retvec-lite: error: The update is version 7 of router, and 7 is installed.\n"
    assert main(["make-key", str(download / "b.key")]) == 0
    assert (download / "b.key.pub").read_text() in capsys.readouterr().out


def test_without_the_extra_the_commands_name_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['cryptography'] = None; from retvec_lite.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = run_python(code, "make-key", tmp_path / "update.key")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert 'pip install ".[sign]"' in done.stderr and "Traceback" not in done.stderr


def test_whatever_a_manifest_holds_it_is_read_or_refused() -> None:
    """Of a received export, `verify` reads one that nobody signed."""
    right = json.loads(CASES[0]["manifest"])
    assert Manifest.from_bytes(Manifest.from_bytes(CASES[0]["manifest"].encode()).to_bytes()).version == 7
    odd = (
        None,
        True,
        -1,
        2**63,
        1e308,
        "",
        "\x1b[2J",
        [],
        [None],
        [[]],
        {},
        {"a": None},
        {"a": {"b": []}},
        [{"file": "a", "bytes": -1}],
    )
    for field in right:
        for value in odd:
            with contextlib.suppress(UpdateError):
                Manifest.from_bytes(json.dumps({**right, field: value}).encode())
    for content in (b"", b"[" * 100_000, b"\xff\xfe", b'{"format": NaN}', b'{"format": "\\ud800"}', b"null"):
        with pytest.raises(UpdateError, match="manifest") as caught:
            Manifest.from_bytes(content)
        assert caught.value.code == "UPDATE_MANIFEST" and "\n" not in str(caught.value)
