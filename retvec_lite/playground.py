"""The files of the playground, and the one file that holds all of them and a model (`retvec-lite demo --export`)."""

import base64
import functools
import gzip
import hashlib
import html
import lzma
import re
from collections.abc import Mapping
from importlib import resources
from typing import Final

CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".txt": "text/plain; charset=utf-8",
}
"""Suffix -> type of what the page consists of."""

_CHARSET: Final = re.compile(r'<meta charset="utf-8" ?/?>')
_GLUE: Final = re.compile(r'<script +defer +src="./litert.js"></script>')
_APP: Final = re.compile(r'<script type="module" [^>]*src="./app.js"></script>')
_STYLE: Final = re.compile(r'<link rel="stylesheet" [^>]*href="./app.css" ?/?>')
_END: Final = re.compile("</body>")


@functools.cache
def page_files() -> Mapping[str, bytes]:
    """The built page and LiteRT's runtime, name -> bytes; what the package holds packed is unpacked."""
    files = {}
    for entry in (resources.files("retvec_lite") / "web").iterdir():
        name, content = entry.name, entry.read_bytes()
        if name.endswith(".xz"):
            name, content = name.removesuffix(".xz"), lzma.decompress(content)
        if any(name.endswith(suffix) for suffix in CONTENT_TYPES):
            files[name] = content
    return files


def single_page(model_name: str, model: bytes) -> bytes:
    """One HTML file with script, style, runtime and model inside, which runs from disk and asks no host for anything.

    Args:
        model_name: the name shown for the model.
        model: the bytes of an exported .tflite.

    Returns:
        The file, the same bytes for the same arguments.
    """
    files = page_files()
    glue, app, style = (files[name].decode() for name in ("litert.js", "app.js", "app.css"))
    # Inline code is allowed by its hash, so that the file needs no 'unsafe-inline'.
    policy = (
        f"default-src 'none'; script-src '{_sha256(glue)}' '{_sha256(app)}' 'wasm-unsafe-eval'; "
        f"style-src '{_sha256(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    notice = files["NOTICE.txt"].decode().replace("--", "- -")
    data = "\n".join(
        (
            _block("data-file", "litert.wasm", files["litert.wasm"]),
            _block("data-model", model_name, model),
        )
    )
    page = files["index.html"].decode()
    for place, content in (
        (_CHARSET, f'<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />'),
        (_GLUE, f"<!--\n{notice}-->\n    <script>{_inline(glue)}</script>"),
        (_APP, f'<script type="module">{_inline(app)}</script>'),
        (_STYLE, f"<style>{_inline(style)}</style>"),
        (_END, f"{data}\n</body>"),
    ):
        found = place.search(page)
        assert found is not None, f"The built index.html has no {place.pattern}: build web_demo again."
        page = f"{page[: found.start()]}{content}{page[found.end() :]}"
    return page.encode()


def _block(attribute: str, name: str, content: bytes) -> str:
    """A script element of a type that no browser runs: gzip, which browsers unpack themselves, then base64."""
    packed = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    return f'<script type="application/gzip" {attribute}="{html.escape(name)}">{packed}</script>'


def _inline(code: str) -> str:
    """Code as it stands: what would end its element, or be read differently there, must not be in it."""
    lowered = code.lower()
    assert not any(mark in lowered for mark in ("</script", "</style", "<!--", "\r")), (
        "The built code cannot be inlined."
    )
    return code


def _sha256(code: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}"
