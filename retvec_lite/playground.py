"""The playground: a page on which an exported file runs, served on this machine or written as one HTML file."""

import base64
import contextlib
import functools
import gzip
import hashlib
import html
import http
import http.server
import json
import os
import re
import socketserver
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from retvec_lite.arguments import checked
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, refuse_existing
from retvec_lite.runtime.artifact import locate, not_exported, prebuilt_names, read_artifact
from retvec_lite.runtime.retvec_file import SUFFIX

CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
}
"""Suffix -> content type of the page's files."""

ENGINE: Final = "engine.wasm"

_HOST: Final = "127.0.0.1"

_TIMEOUT: Final = 10.0
"""Seconds that a connection may stay silent. A page closes its connections, or reuses them at once."""

_WAITING: Final = 128
"""Connections that may wait to be accepted; five, the default, are fewer than a browser with two tabs opens."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing from other hosts, no inline script, no frames; WebAssembly may compile (CSP level 3)."""


@checked
def demo(
    model: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    port: int = 0,
    browser: bool = True,
    export: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> None:
    """Try exported files in the browser: serve the playground until Ctrl-C, or write it as one HTML file.

    The server prints its address and answers this machine only. Neither the server nor the page needs a network.

    Args:
        model: an exported .retvec, a folder that contains some, or the name of a ready-made classifier, such as language; those that are
            installed are in the page's list as well. Several of them stand side by side. The page runs them on the engine, so that a
            .tflite is refused.
        port: the port to serve on; 0 picks a free one.
        browser: open the page in the default browser.
        export: instead of serving, write the page and the models (of a folder one, int8 if there is one) to this HTML file.
        force: let `export` replace a file.

    Raises:
        RetvecLiteError: for a missing or damaged model, a port that is not available, an `export` that cannot be written.

    Example:
        >>> import retvec_lite as rl
        >>> rl.demo("classifier-int8.retvec", export="page.html")  # doctest: +ELLIPSIS
        Wrote page.html (... bytes) with classifier-int8.retvec. Open it in any browser.
    """
    places = [model] if isinstance(model, str | os.PathLike) else list(model)
    if not places:
        raise RetvecLiteError(
            "Name a model: an exported .retvec, a folder, or a ready-made classifier, such as language."
        )
    found = [find_models(place) for place in places]
    side_by_side = len(found) > 1
    models = named([first for first, *_ in found] if side_by_side or export is not None else found[0])
    if export is not None:
        _write_page(models, os.fspath(export), force)
        return
    if not side_by_side:
        models = named([*models.values(), *(locate(name, SUFFIX) for name in prebuilt_names())])
    with make_server(models, port, side_by_side=side_by_side) as server:
        address = f"http://{_HOST}:{server.server_port}/"
        print(f"Serving {', '.join(models)} at {address} (Ctrl-C to stop)", flush=True)
        try:
            if browser:
                # Text browsers block until they are closed: open them beside the server.
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def find_models(path: str | os.PathLike[str]) -> list[Path]:
    """Return the exported `.retvec` files at `path`; int8 files come first, because the page starts with the first one.

    Raises:
        RetvecLiteError: for files of other formats, and damaged ones.
    """
    place = locate(path, SUFFIX)
    models = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
    others = sorted(place.glob("*.tflite")) if place.is_dir() else [place] if place.suffix == ".tflite" else []
    if others and not (models and models[0].suffix == SUFFIX):
        raise RetvecLiteError(
            f"The playground runs {SUFFIX} files, not {others[0]}. Make one: "
            "retvec-lite export TRAINED --format engine --out DIST"
        )
    if not models:
        raise not_exported(place)
    recipes = {model: str(read_artifact(model).metadata.get("recipe")) for model in models}
    return sorted(models, key=lambda model: recipes[model] != "int8")


def named(models: Sequence[Path]) -> dict[str, Path]:
    """Return each file by its name, with as many of its folders as tell it from the others."""
    files: dict[Path, Path] = {}
    for model in models:
        files.setdefault(model.resolve(), model)
    parts = [file.absolute().parts for file in files.values()]
    names = {}
    for file, own in zip(files.values(), parts, strict=True):
        count = next(n for n in range(1, len(own) + 1) if [other[-n:] for other in parts].count(own[-n:]) == 1)
        names["/".join(own[-count:])] = file
    return names


def _write_page(models: Mapping[str, Path], target: str, force: bool) -> None:
    if not target or target.endswith(("/", os.sep)) or Path(target).is_dir():
        found = f"{target} is a folder" if target else "the name is empty"
        raise RetvecLiteError(f"Cannot write the page: {found}. Name a file, such as page.html.")
    refuse_existing(target, force)
    page = single_page({name: model.read_bytes() for name, model in models.items()})
    atomic_write(target, page)
    print(f"Wrote {target} ({len(page):,} bytes) with {', '.join(models)}. Open it in any browser.")


class File(NamedTuple):
    """What the server answers at one address: bytes, or a path that is read on every request."""

    content_type: str
    content: bytes | Path


def make_server(
    models: Mapping[str, Path], port: int, *, side_by_side: bool = False
) -> http.server.ThreadingHTTPServer:
    """Return a server of the playground, bound to this machine only and not yet serving; port 0 picks a free one.

    Args:
        models: files by the names in the page's list.
        port: to serve on.
        side_by_side: whether the page starts with the answers of all of them.

    Raises:
        RetvecLiteError: for a port that is out of range or not available.
    """
    if not 0 <= port <= 65535:
        raise RetvecLiteError(f"{port} is not a port. Choose 1 to 65535, or 0 for a free one.")
    files = {f"/{name}": File(CONTENT_TYPES[Path(name).suffix], content) for name, content in page_files().items()}
    files["/"] = files["/index.html"]
    files["/models.json"] = File("application/json", json.dumps({"names": [*models], "all": side_by_side}).encode())
    files.update({f"/models/{quote(name)}": File("application/octet-stream", model) for name, model in models.items()})
    try:
        return _Server((_HOST, port), functools.partial(_Handler, files))
    except OSError as error:
        raise RetvecLiteError(
            f"Cannot serve on port {port}: {error.strerror or error}. Choose another port, or 0 for a free one."
        ) from error


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = _WAITING

    def server_bind(self) -> None:
        """Bind without the base class's reverse DNS look-up, which takes seconds offline."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, int(self.server_address[1])


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET from a dictionary: a requested address never becomes a path."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT

    def __init__(self, files: Mapping[str, File], *args: Any) -> None:
        self._files = files
        super().__init__(*args)

    def handle(self) -> None:
        """Handle one connection. A browser that closes it early (a reload), or takes too long, is not an error."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle()

    def do_GET(self) -> None:
        # DNS rebinding: a foreign name that resolves to this machine must not read models.
        host = self.headers.get("Host", "")
        # Browsers omit port 80.
        if (host.rpartition(":")[0] or host) not in (_HOST, "localhost"):
            self.send_error(http.HTTPStatus.FORBIDDEN, "Open the address that retvec-lite demo printed")
            return
        found = self._files.get(quote(unquote(self.path.partition("?")[0])))
        if found is None:
            self.send_error(http.HTTPStatus.NOT_FOUND)
            return
        try:
            body = found.content if isinstance(found.content, bytes) else found.content.read_bytes()
        except OSError as error:
            self.send_error(http.HTTPStatus.NOT_FOUND, explain=f"Cannot read the model: {error.strerror}")
            return
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        """Add the security headers to every answer, errors included. `no-cache`: a new export shows after a reload."""
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the address stays visible in the terminal, and the page shows its own errors."""


@functools.cache
def page_files() -> Mapping[str, bytes]:
    """Return the built page and the engine: name -> bytes."""
    folder = resources.files("retvec_lite") / "web"
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if Path(entry.name).suffix in CONTENT_TYPES}


def single_page(models: Mapping[str, bytes]) -> bytes:
    """Build one HTML file with script, styles, engine and models inside, which runs from disk and loads nothing.

    The page shows the names of the models and has the same bytes for the same arguments.
    """
    files = page_files()
    app, style = files["app.js"].decode(), files["app.css"].decode()
    # Allow inline code by its hash: 'unsafe-inline' would allow any.
    policy = (
        f"default-src 'none'; script-src '{_sha256(app)}' 'wasm-unsafe-eval'; "
        f"style-src '{_sha256(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = "\n".join(
        (
            _block("data-file", ENGINE, files[ENGINE]),
            *(_block("data-model", name, model) for name, model in models.items()),
        )
    )
    page = files["index.html"].decode()
    policy_tag = f'<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />'
    for pattern, content in (
        (r'<meta charset="utf-8" ?/?>', policy_tag),
        (r'<script type="module" [^>]*src="./app.js"></script>', f'<script type="module">{_inline(app)}</script>'),
        (r'<link rel="stylesheet" [^>]*href="./app.css" ?/?>', f"<style>{_inline(style)}</style>"),
        ("</body>", f"{data}\n</body>"),
    ):
        found = re.search(pattern, page)
        assert found is not None, f"index.html has no {pattern}: build web_demo again."
        page = f"{page[: found.start()]}{content}{page[found.end() :]}"
    return page.encode()


def _block(attribute: str, name: str, content: bytes) -> str:
    """Return a script element of a type that no browser runs, its content packed with gzip, then base64."""
    packed = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    return f'<script type="application/gzip" {attribute}="{html.escape(name)}">{packed}</script>'


def _inline(code: str) -> str:
    """Return code for an inline element; assert that nothing in it ends the element or reads differently there."""
    lowered = code.lower()
    assert not any(mark in lowered for mark in ("</script", "</style", "<!--", "\r")), (
        "The built code cannot be inlined."
    )
    return code


def _sha256(code: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}"
