# SPDX-License-Identifier: Apache-2.0
"""How the API's process speaks HTTP: requests in pieces, in a row, too large; answers that nobody takes."""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.http.test_many_connections import START_S, answers, wait_for
from tests.image.front import free_port
from weir.http.serving import SMALL_BODY_BYTES, front
from weir.http.serving.connection import Connection, LargeBody, Source
from weir.http.serving.recognised import Recognised, credential_of
from weir.service import Service


@dataclass
class Api:
    port: int
    token: str
    pid: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.settimeout(30)
        return sock

    def authorization(self) -> str:
        return f"Authorization: Bearer {self.token}\r\n"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("serving")) as found:
        yield found


@contextmanager
def serving(folder: Path) -> Iterator[Api]:
    """The API's process, without an agent."""
    service = Service.open(folder / "weir.db", folder / "agent.sock")
    service.auth.bootstrap()
    token = service.auth.issue_local_token("test", "admin")
    service.close()
    found = Api(free_port(), token)
    env = {
        **os.environ,
        "WEIR_DATABASE": str(folder / "weir.db"),
        "WEIR_AGENT_SOCKET": str(folder / "agent.sock"),
        "WEIR_LISTEN": f"127.0.0.1:{found.port}",
        "WEIR_ALLOW_ROOT": "1",
    }
    with subprocess.Popen([sys.executable, "-m", "weir.http.main"], env=env) as process:
        try:
            wait_for("the API", lambda: answers(f"http://127.0.0.1:{found.port}"), START_S)
            found.pid = process.pid
            yield found
        finally:
            process.terminate()


def read_answer(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """One answer with a Content-Length, and not a byte more."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        assert piece, f"the connection ended after {head!r}"
        head += piece
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = b""
    while len(body) < int(headers.get("content-length", "0")):
        body += sock.recv(int(headers["content-length"]) - len(body))
    return int(first.split()[1]), headers, body


GET = "GET /api/v1/system/live HTTP/1.1\r\nHost: weir\r\n\r\n"


def test_no_answer_names_the_server(api: Api) -> None:
    """`Server: gunicorn` told what to try."""
    for path in ("/system/live", "/nothing", "/stats/stream"):
        with httpx.stream("GET", api.url + path) as answer:
            assert "server" not in answer.headers, path
    with closing(api.connect()) as sock:
        sock.sendall(b"NONSENSE\r\n\r\n")
        status, headers, body = read_answer(sock)
    assert (status, "server" in headers) == (400, False)
    assert json.loads(body)["code"] == "bad-request"


def test_a_request_may_come_byte_by_byte(api: Api) -> None:
    with closing(api.connect()) as sock:
        for byte in GET.encode():
            sock.sendall(bytes([byte]))
        assert read_answer(sock)[0] == 200


def test_requests_in_one_piece_are_answered_in_order(api: Api) -> None:
    with closing(api.connect()) as sock:
        me = f"GET /api/v1/auth/me HTTP/1.1\r\nHost: weir\r\n{api.authorization()}\r\n"
        sock.sendall((GET + me + GET).encode())
        found = [read_answer(sock) for _ in range(3)]
    assert [status for status, _, _ in found] == [200, 200, 200]
    assert json.loads(found[1][2])["via"] == "token"


def test_a_body_that_nobody_read_is_not_the_next_request(api: Api) -> None:
    body = GET.encode()
    with closing(api.connect()) as sock:
        head = f"POST /api/v1/queues HTTP/1.1\r\nHost: weir\r\nContent-Length: {len(body)}\r\n\r\n"
        sock.sendall(head.encode() + body + b"GET /api/v1/queues HTTP/1.1\r\nHost: weir\r\n\r\n")
        assert [read_answer(sock)[0] for _ in range(2)] == [401, 401]
        sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_a_client_may_ask_before_it_sends_a_body(api: Api) -> None:
    body = b'{"username": "nobody", "password": "wrong"}'
    with closing(api.connect()) as sock:
        head = (
            "POST /api/v1/auth/sign-in HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        )
        sock.sendall(head.encode())
        assert read_answer(sock)[0] == 100
        sock.sendall(body)
        assert read_answer(sock)[0] == 401


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_read(api: Api, chunked: bool) -> None:
    """Above what the front collects itself."""
    changes = {"changes": [{"kind": "queue", "id": None, "new": {"name": f"n{n}"}} for n in range(4000)]}
    text = json.dumps(changes).encode()
    assert len(text) > SMALL_BODY_BYTES
    content = iter([text[:50_000], text[50_000:]]) if chunked else text
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    put = httpx.put(f"{api.url}/candidate/changes", headers=headers, content=content, timeout=60)
    assert put.status_code == 200, put.text
    assert httpx.delete(f"{api.url}/candidate", headers=headers).status_code == 204


@pytest.mark.parametrize("path", ["/auth/sign-in", "/setup"])
def test_a_stranger_cannot_send_a_large_body(api: Api, path: str) -> None:
    """A thread would wait for it."""
    with closing(api.connect()) as sock:
        head = f"POST /api/v1{path} HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
        sock.sendall(f"{head}Content-Length: {SMALL_BODY_BYTES + 1}\r\n\r\n".encode())
        assert read_answer(sock)[0] == 413
    with closing(api.connect()) as sock:
        sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n1\r\n".encode())
        assert read_answer(sock)[0] == 400


@pytest.mark.parametrize(
    "sent",
    ["GET / HTTP/1.1\r\nHost: w", "POST /api/v1/auth/sign-in HTTP/1.1\r\nContent-Length: 20\r\n\r\n{"],
    ids=["head", "body"],
)
def test_a_request_that_does_not_come_in_full_is_given_up(api: Api, sent: str) -> None:
    """The deadline is for all of it: a byte now and then does not put it off."""
    with closing(api.connect()) as sock:
        sock.sendall(sent.encode())
        began = time.monotonic()
        sock.settimeout(1)
        status = None
        while status is None:
            assert time.monotonic() - began < 3 * front.REQUEST_S
            try:
                status = read_answer(sock)[0]
            except TimeoutError:
                sock.sendall(b" ")
    assert status == 408
    assert time.monotonic() - began > front.REQUEST_S / 2


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (f"GET /{'a' * 9000} HTTP/1.1\r\n\r\n", 431),
        (f"GET / HTTP/1.1\r\nX: {'a' * 20_000}\r\n\r\n", 431),
        (f"GET / HTTP/1.1\r\nX: {'a' * 70_000}", 431),
        ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: shouted\r\n\r\n", 501),
        ("GET / HTTP/9.9.9\r\n\r\n", 400),
        ("\x16\x03\x01\x02\r\n\r\n", 400),
    ],
)
def test_what_is_not_acceptable_http_is_refused_with_a_problem(api: Api, sent: str, status: int) -> None:
    with closing(api.connect()) as sock:
        sock.sendall(sent.encode())
        found, headers, body = read_answer(sock)
        assert found == status
        assert headers["content-type"] == "application/problem+json"
        assert json.loads(body)["status"] == status
        assert sock.recv(1) == b""


def test_an_answer_that_nobody_takes_holds_no_thread(api: Api) -> None:
    """More clients than threads ask for the API's description and read nothing of it."""
    silent = []
    for _ in range(100):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", api.port))
        sock.sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: weir\r\n\r\n")
        silent.append(sock)
    try:
        began = time.monotonic()
        assert httpx.get(f"{api.url}/system/live", timeout=30).status_code == 200
        assert time.monotonic() - began < 10
    finally:
        for sock in silent:
            sock.close()


def test_a_stream_that_is_asked_for_by_head_or_by_an_old_client(api: Api) -> None:
    headers = {"Authorization": f"Bearer {api.token}"}
    assert httpx.head(f"{api.url}/stats/stream", headers=headers).status_code == 200
    with closing(api.connect()) as sock:
        request = f"GET /api/v1/stats/stream HTTP/1.0\r\nHost: weir\r\n{api.authorization()}\r\n"
        sock.sendall(request.encode())
        came = b""
        while came.count(b"event:") < 2:
            came += sock.recv(4096)
    assert b"chunked" not in came.lower()
    assert b"retry: 2000\n\n" in came


def test_only_a_credential_that_was_good_is_recognised() -> None:
    recognised = Recognised()
    by_token = credential_of([("AUTHORIZATION", "Bearer x")])
    by_cookie = credential_of([("COOKIE", "a=b; weir_session=secret; c=d")])
    assert by_token != by_cookie
    assert credential_of([("COOKIE", "not_weir_session=secret")]) is None
    recognised.tell(by_token, True)
    assert by_token in recognised and by_cookie not in recognised
    recognised.tell(by_token, False)
    assert by_token not in recognised


def test_a_large_body_is_given_as_it_comes_and_no_further_than_its_length() -> None:
    """gunicorn's reader filled the size asked for first, so what a slow client sent was seen late."""
    pieces = iter([b"b" * 10, b"c" * 10 + b"GET /"])
    source = Source(b"")
    source.unread(b"a" * 10)
    source.more = lambda: next(pieces)
    body = LargeBody(source, 30)
    assert [body.read(4), body.read(100), body.read(100)] == [b"a" * 4, b"a" * 6, b"b" * 10]
    assert body.read() == b"c" * 10
    assert body.read(1) == b""


def test_a_connection_that_is_closed_does_not_wait_for_a_collection() -> None:
    """With all that was asked on it: a collection stops every request."""
    ours, theirs = socket.socketpair()
    conn = Connection(ours, "", lambda found: None, 0.0)
    held = weakref.ref(conn)
    gc.disable()
    try:
        conn.output.close()
        del conn
        assert held() is None
    finally:
        gc.enable()
        theirs.close()
