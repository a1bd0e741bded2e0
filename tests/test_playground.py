"""The playground without a browser: what is served and to whom, and what an exported page contains."""

import gzip
import http.client
import http.server
import json
import re
import shutil
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hostile_files import mended
from patience import PATIENCE
from tiny_artifact import tiny_artifact

from retvec_lite import playground
from retvec_lite.errors import RetvecLiteError
from retvec_lite.playground import demo, find_models, make_server, named, page_files

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ODD_NAME = "größe & 50% 'x'.retvec"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    for name, golden in (("a-int4.retvec", "plain"), ("b-int8.retvec", "several"), (ODD_NAME, "plain")):
        content = (GOLDEN / f"{golden}.retvec").read_bytes()
        if golden == "plain":  # as earlier exports
            content = mended(content.replace(b'"recipe": "int8"', b'"recipe": "int4"'))
        (folder / name).write_bytes(content)
    (folder / "another.tflite").write_bytes(tiny_artifact())
    (folder / "report.md").write_text("not for the browser", encoding="utf-8")
    return folder


@pytest.fixture
def port(dist: Path) -> Iterator[int]:
    with make_server(named(find_models(dist)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def ask(port: int, path: str, method: str = "GET", host: str = "127.0.0.1:{port}") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, headers={"Host": host.format(port=port)})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def test_the_page_and_its_files_are_served_with_a_strict_policy(port: int) -> None:
    for path, content_type, name in (
        ("/", "text/html; charset=utf-8", "index.html"),
        ("/app.js", "text/javascript; charset=utf-8", "app.js"),
        ("/app.css?1", "text/css; charset=utf-8", "app.css"),
        ("/engine.wasm", "application/wasm", "engine.wasm"),
    ):
        status, headers, content = ask(port, path)
        assert (status, headers["content-type"], content) == (200, content_type, page_files()[name])
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; ")
        assert "unsafe-inline" not in policy
        assert " 'unsafe-eval'" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert not any(header.startswith("cross-origin") for header in headers)


def test_the_models_are_listed_with_int8_first_and_read_when_asked_for(port: int, dist: Path) -> None:
    listed = json.loads(ask(port, "/models.json")[2])
    assert listed == {"names": ["b-int8.retvec", "a-int4.retvec", ODD_NAME], "all": False}
    quoted = "/models/gr%C3%B6%C3%9Fe%20%26%2050%25%20'x'.retvec"
    assert ask(port, quoted)[2] == (dist / ODD_NAME).read_bytes()
    (dist / "b-int8.retvec").write_bytes(b"exported again")
    assert ask(port, "/models/b-int8.retvec")[2] == b"exported again"
    (dist / "b-int8.retvec").unlink()
    assert ask(port, "/models/b-int8.retvec")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/report.md",
        "/models/",
        "/models/report.md",
        "/../pyproject.toml",
        "/models/../dist/report.md",
        "/%2e%2e/x",
        "/x",
    ],
)
def test_nothing_else_is_served(port: int, path: str) -> None:
    status, headers, _ = ask(port, path)
    assert status == 404
    assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_nothing_but_get_is_answered(port: int, method: str) -> None:
    assert ask(port, "/", method)[0] == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:{port}", 200),
        ("127.0.0.1:{port}", 200),
        ("localhost", 200),  # what a browser sends to port 80
        ("127.0.0.1", 200),
        ("evil.example:{port}", 403),
        ("evil.example", 403),
        (":{port}", 403),
        ("", 403),
    ],
)
def test_another_sites_name_that_points_here_gets_nothing(port: int, host: str, status: int) -> None:
    assert ask(port, "/models/b-int8.retvec", host=host)[0] == status


def test_a_browser_that_leaves_early_is_not_an_error(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as leaving:
        leaving.sendall(f"GET /engine.wasm HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert leaving.recv(9) == b"HTTP/1.1 "
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset, do not say goodbye
    time.sleep(0.2)
    assert ask(port, "/app.css")[0] == 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "request_line",
    ["GET http://[ HTTP/1.1", "GET //[::1 HTTP/1.1", "GET", "GET / HTTP/9", "GET / HTTP/1.1 x", "\x16\x03\x01"],
)
def test_a_malformed_request_is_answered_and_not_printed(
    port: int, capfd: pytest.CaptureFixture[str], request_line: str
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(f"{request_line}\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert re.search(rb"40[04]|505|Error code", answer), answer
    assert ask(port, "/app.css")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_half_open_connections_end_and_disturb_nobody(
    port: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def connect(number: int) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        connection.sendall((b"", b"GET", b"GET / HTTP/1.1\r\nHost:")[number % 3])
        return connection

    monkeypatch.setattr(playground._Handler, "timeout", PATIENCE)
    silent = [connect(number) for number in range(400)]
    assert ask(port, "/app.css")[0] == 200
    for connection in silent:
        connection.close()
    monkeypatch.setattr(playground._Handler, "timeout", 0.5)
    for connection in map(connect, range(3)):
        assert b"200 OK" not in connection.recv(100), "the server closes it, or says that it waited too long"
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_stops_reading_is_let_go(
    dist: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(playground._Handler, "timeout", 0.5)
    with make_server(named(find_models(dist)), 0) as server:
        server.daemon_threads = False  # closing the server waits for its threads
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect(("127.0.0.1", server.server_port))
            lazy.sendall(f"GET /engine.wasm HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
            assert lazy.recv(9) == b"HTTP/1.1 "
            server.shutdown()
            thread.join()
            server.server_close()
    assert capfd.readouterr() == ("", "")


def test_the_browser_is_opened_unless_told_not_to(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int] = []
    done = threading.Event()

    def browse(address: str) -> None:
        """A browser that keeps its caller waiting until it has the page."""
        try:
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)
            assert found is not None
            answers.append(ask(int(found[1]), "/")[0])
        finally:
            done.set()

    def serve(server: http.server.ThreadingHTTPServer) -> None:
        server.timeout = 0.1
        while not done.is_set():
            server.handle_request()

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", serve)
    demo(dist)
    assert answers == [200]
    demo(dist, browser=False)
    assert answers == [200]


def served(monkeypatch: pytest.MonkeyPatch, *models: Path | str) -> tuple[Any, dict[str, bytes]]:
    """Return what `demo` serves: its list, and the files by the names in it."""
    found: list[Any] = []

    def serve(server: http.server.ThreadingHTTPServer) -> None:
        thread = threading.Thread(target=socketserver.BaseServer.serve_forever, args=(server, 0.01))
        thread.start()
        listed = json.loads(ask(server.server_port, "/models.json")[2])
        found.extend(
            [listed, {name: ask(server.server_port, f"/models/{quote(name, '')}")[2] for name in listed["names"]}]
        )
        server.shutdown()
        thread.join()

    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", serve)
    demo(models[0] if len(models) == 1 else models, browser=False)
    return found[0], found[1]


def test_several_models_stand_side_by_side_and_alone_in_the_list(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed, files = served(monkeypatch, "language", dist, dist / "a-int4.retvec")
    assert listed == {"names": ["language.retvec", "b-int8.retvec", "a-int4.retvec"], "all": True}
    assert files["b-int8.retvec"] == (dist / "b-int8.retvec").read_bytes()


def test_files_of_one_name_are_told_apart_by_their_folders(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = dist.parent / "other"
    other.mkdir()
    name = "classifier-int8.retvec"
    for folder, golden in ((dist, "plain"), (other, "several")):
        shutil.copy(GOLDEN / f"{golden}.retvec", folder / name)
    (dist / ODD_NAME).unlink()
    listed, files = served(monkeypatch, dist / name, other / name, dist / "a-int4.retvec", other / name)
    assert listed["names"] == [f"dist/{name}", f"other/{name}", "a-int4.retvec"]
    assert files[f"other/{name}"] == (GOLDEN / "several.retvec").read_bytes()


def test_a_file_of_yours_is_not_hidden_by_a_ready_made_one_of_its_name(
    dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(GOLDEN / "several.retvec", dist / "language.retvec")
    listed, files = served(monkeypatch, dist / "language.retvec")
    assert listed["names"][:2] == ["dist/language.retvec", "prebuilt/language.retvec"]
    assert files["dist/language.retvec"] == (GOLDEN / "several.retvec").read_bytes()


def test_a_link_keeps_its_own_name(dist: Path) -> None:
    link = dist / "blobs" / "shown.retvec"
    link.parent.mkdir()
    try:
        link.symlink_to(dist / "a-int4.retvec")
    except OSError:
        pytest.skip("this system makes no links")
    assert named([link]) == {"shown.retvec": link}
    assert named([link, dist / "a-int4.retvec"]) == {"shown.retvec": link}, "the same file"


def test_no_model_is_an_error() -> None:
    with pytest.raises(RetvecLiteError, match=r"^Name a model: "):
        demo([], browser=False)


def test_a_port_that_is_taken_is_an_error(dist: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(RetvecLiteError, match=f"^Cannot serve on port {number}: .*Choose another port"):
            demo(dist, port=number, browser=False)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_an_error(dist: Path, port: int) -> None:
    with pytest.raises(RetvecLiteError, match=f"^{port} is not a port. Choose 1 to 65535"):
        demo(dist, port=port, browser=False)


def test_a_wrong_model_is_refused_before_anything_is_served(dist: Path, tmp_path: Path) -> None:
    def refused(model: Path) -> str:
        with pytest.raises(RetvecLiteError) as caught:
            demo(model, browser=False)
        return str(caught.value)

    assert refused(tmp_path).startswith(f"No exported file in {tmp_path}: ")
    assert "report.md" in refused(dist / "report.md")
    assert "none.retvec" in refused(tmp_path / "none.retvec")
    export = "Make one: retvec-lite export TRAINED --format engine --out DIST"
    tflite = dist / "another.tflite"
    assert refused(tflite) == f"The playground runs .retvec files, not {tflite}. {export}"
    (dist / "c.retvec").write_bytes((dist / "a-int4.retvec").read_bytes()[:-64])
    assert "c.retvec" in refused(dist)
    for file in dist.glob("*.retvec"):
        file.unlink()
    assert refused(dist) == f"The playground runs .retvec files, not {tflite}. {export}"


def test_what_ships_is_small_enough_for_a_repository() -> None:
    from importlib import resources

    sizes = {entry.name: len(entry.read_bytes()) for entry in (resources.files("retvec_lite") / "web").iterdir()}
    assert sorted(sizes) == ["app.css", "app.js", "engine.wasm", "index.html"]
    assert sizes["engine.wasm"] <= 100_000
    assert sum(len(gzip.compress(page_files()[name])) for name in ("index.html", "app.js", "app.css")) <= 30_000
