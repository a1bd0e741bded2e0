"""The page that `retvec-lite demo --export` writes: what is inside, what it may run, and what is never overwritten."""

import base64
import gzip
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_files import mended
from refusals import refusal

from retvec_lite.errors import RetvecLiteError
from retvec_lite.playground import demo, page_files, single_page

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    for name, golden in (("a-int4.retvec", "plain"), ("b-int8.retvec", "several")):
        content = (GOLDEN / f"{golden}.retvec").read_bytes()
        if golden == "plain":  # as earlier exports
            content = mended(content.replace(b'"recipe": "int8"', b'"recipe": "int4"'))
        (folder / name).write_bytes(content)
    return folder


class Page(HTMLParser):
    """The elements of a page and the text of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.elements.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            tag, attributes, before = self.elements[-1]
            self.elements[-1] = (tag, attributes, before + data)


def test_export_writes_one_page_with_everything_inside(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = dist.parent / "page.html"
    demo(dist, export=target)
    size = target.stat().st_size
    expected = f"Wrote {target} ({size:,} bytes) with b-int8.retvec. Open it in any browser.\n"
    assert capsys.readouterr().out == expected
    assert size <= 500_000
    page = Page(target.read_text(encoding="utf-8"))
    assert [attributes for _, attributes, _ in page.elements if {"src", "href"} & set(attributes)] == [
        {"rel": "icon", "href": "data:,"}
    ]
    blocks = {
        attributes.get("data-file") or attributes.get("data-model"): gzip.decompress(base64.b64decode(text))
        for _, attributes, text in page.elements
        if attributes.get("type") == "application/gzip"
    }
    assert blocks == {
        "engine.wasm": page_files()["engine.wasm"],
        "b-int8.retvec": (dist / "b-int8.retvec").read_bytes(),
    }


def test_export_writes_several_models_into_one_page(dist: Path) -> None:
    target = dist.parent / "page.html"
    demo([dist / "a-int4.retvec", dist], export=target)
    page = Page(target.read_text(encoding="utf-8"))
    found = {
        attributes["data-model"]: gzip.decompress(base64.b64decode(text))
        for _, attributes, text in page.elements
        if "data-model" in attributes
    }
    assert list(found) == ["a-int4.retvec", "b-int8.retvec"]
    assert all(content == (dist / str(name)).read_bytes() for name, content in found.items())


def test_the_exported_pages_policy_names_its_inline_code_and_no_other(dist: Path) -> None:
    page = Page(single_page({"m.retvec": (dist / "b-int8.retvec").read_bytes()}).decode())
    (policy,) = [attributes["content"] for _, attributes, _ in page.elements if "http-equiv" in attributes]
    assert policy is not None
    code = [
        text
        for tag, attributes, text in page.elements
        if tag in ("script", "style") and text and attributes.get("type") != "application/gzip"
    ]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in code}
    assert len(hashes) == 2
    assert set(re.findall(r"'sha256-[^']+'", policy)) == hashes
    assert "unsafe-inline" not in policy
    assert "connect-src" not in policy
    assert policy.startswith("default-src 'none'; ")


def test_the_exported_page_states_its_encoding_and_policy_first(dist: Path) -> None:
    # Browsers look for the encoding in the first 1024 bytes (HTML standard, 13.2.3.2); a policy covers only what follows it.
    page = single_page({"m.retvec": (dist / "b-int8.retvec").read_bytes()})
    assert page.index(b'<meta charset="utf-8"') < 500
    assert page.index(b"Content-Security-Policy") < min(page.index(b"<script"), page.index(b"<style"))


def test_the_exported_page_is_reproducible_and_keeps_odd_names(dist: Path) -> None:
    name = '<b>"50%" & more\'.retvec'
    model = (dist / "a-int4.retvec").read_bytes()
    once = single_page({name: model})
    assert once == single_page({name: model})
    assert name in [attributes.get("data-model") for _, attributes, _ in Page(once.decode()).elements]


def test_export_replaces_nothing_without_force(dist: Path) -> None:
    target = dist.parent / "page.html"
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(RetvecLiteError, match=r"page\.html.*force"):
        demo(dist, export=target)
    assert target.read_text(encoding="utf-8") == "mine"
    demo(dist, export=target, force=True)
    assert target.stat().st_size > 100_000


@pytest.mark.parametrize("name", ["", "page/", "dist"])
def test_export_needs_a_file_name(dist: Path, name: str) -> None:
    goal = name and f"{dist.parent}/{name}"
    told = refusal(demo, dist, export=goal, force=True)
    found = f"{goal} is a folder" if goal else "the name is empty"
    assert told == f"Cannot write the page: {found}. Name a file, such as page.html."
    assert [*dist.parent.iterdir()] == [dist]
