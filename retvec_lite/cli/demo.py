"""`retvec-lite demo`: exported files, live in a browser. The server and the page need no network and no Node.js."""

import argparse
import contextlib
import functools
import http
import http.server
import json
import os
import socketserver
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, refuse_existing
from retvec_lite.playground import CONTENT_TYPES, page_files, single_page
from retvec_lite.runtime.artifact import read_artifact

_HOST: Final = "127.0.0.1"

_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing from another host, no inline script, no frame; WebAssembly may be compiled (CSP level 3)."""


class File(NamedTuple):
    """What one address answers: a type and bytes, or a path that is read when it is asked for."""

    content_type: str
    content: bytes | Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .tflite, or a folder with some (DIST of `export`)")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    parser.add_argument(
        "--export", metavar="PAGE.html", help="instead of serving, write one file that holds the page and the model"
    )
    parser.add_argument("--force", action="store_true", help="let --export replace a file")


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"expected 0 to 65535, received {number}")
    return number


_port.__name__ = "integer"  # argparse puts it into "invalid integer value: 'x'"


def run(args: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C, or write it into one file."""
    models = find_models(args.model)
    if args.export is not None:
        _require_file_name(args.export)
        refuse_existing(args.export, args.force)
        page = single_page(models[0].name, models[0].read_bytes())
        atomic_write(args.export, page)
        print(f"{args.export}: {len(page):,} bytes, with {models[0].name} inside. Open it in any browser.")
        return 0
    with make_server(models, args.port) as server:
        address = f"http://{_HOST}:{server.server_port}/"
        print(f"{', '.join(model.name for model in models)} at {address} (Ctrl-C ends)", flush=True)
        try:
            if not args.no_browser:
                # Some browsers keep their caller waiting (those in a terminal): the page must be served meanwhile.
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def _require_file_name(path: str) -> None:
    if not path or path.endswith(("/", os.sep)) or Path(path).is_dir():
        received = f"the folder {path}" if path else "an empty name"
        raise RetvecLiteError(f"Expected the name of a file after --export (playground.html), received {received}.")


def find_models(path: str) -> list[Path]:
    """The exported files at `path`, the one to begin with first: int8 where there are several.

    Raises:
        RetvecLiteError: for a folder without any, or a file that `read_artifact` refuses.
    """
    place = Path(path)
    models = sorted(place.glob("*.tflite")) if place.is_dir() else [place]
    if not models:
        raise RetvecLiteError(f"Expected an exported .tflite or a folder that holds some, received {path}.")
    recipes = {model: str(read_artifact(model).metadata.get("recipe")) for model in models}
    return sorted(models, key=lambda model: recipes[model] != "int8")


def make_server(models: list[Path], port: int) -> http.server.ThreadingHTTPServer:
    """A server of the playground on this machine alone, bound but not yet serving.

    Args:
        models: exported files; the page begins with the first.
        port: 0 takes a free one.

    Raises:
        RetvecLiteError: when the port is taken.
    """
    files = {f"/{name}": File(CONTENT_TYPES[Path(name).suffix], content) for name, content in page_files().items()}
    files["/"] = files["/index.html"]
    files["/models.json"] = File("application/json", json.dumps([model.name for model in models]).encode())
    files.update({f"/models/{quote(model.name)}": File("application/octet-stream", model) for model in models})
    try:
        return _Server((_HOST, port), functools.partial(_Handler, files))
    except OSError as error:
        raise RetvecLiteError(f"Expected port {port} to be free, received: {error.strerror or error}.") from error


class _Server(http.server.ThreadingHTTPServer):
    def server_bind(self) -> None:
        """Bind, and ask no name server who this machine is, as the base class does: offline that takes seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, int(self.server_address[1])


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD from a dictionary: no address is ever turned into a path."""

    protocol_version = "HTTP/1.1"

    def __init__(self, files: Mapping[str, File], *args: object) -> None:
        self._files = files
        super().__init__(*args)  # type: ignore[arg-type]

    def handle(self) -> None:
        """One connection. A browser that leaves in the middle of an answer (a reload) is no news."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        # Another site's name that was made to resolve to this machine (DNS rebinding) must not read models here.
        host = self.headers.get("Host", "")
        # Browsers leave out the port where it is 80.
        if (host.rpartition(":")[0] or host) not in (_HOST, "localhost"):
            self.send_error(http.HTTPStatus.FORBIDDEN, "Expected the address that retvec-lite demo printed")
            return
        found = self._files.get(quote(unquote(urlsplit(self.path).path)))
        if found is None:
            self.send_error(http.HTTPStatus.NOT_FOUND)
            return
        try:
            body = found.content if isinstance(found.content, bytes) else found.content.read_bytes()
        except OSError as error:
            self.send_error(http.HTTPStatus.NOT_FOUND, explain=f"The model cannot be read now: {error.strerror}")
            return
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def end_headers(self) -> None:
        """With every answer, errors too: the policy, and that a model exported again is read again."""
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal keeps the address in sight, and the page shows its errors itself."""
