# SPDX-License-Identifier: Apache-2.0
"""The speed test in the API's process: what it holds while it runs, and what is left for others."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.http.test_serving import Api, read_answer, serving
from tests.image.front import Front
from tests.polling import until
from weir.http.resources.speed import UPLOAD_BYTES
from weir.http.speed import BLOCK_BYTES
from weir.tools.speed import STREAMS

OTHERS = 50
BUFFERS_BYTES = 64 << 20
"""More than sockets hold between the API, nginx and a client; a second of a download has more."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("speed")) as found:
        yield found


class Run:
    """A run that is held, with requests of its own on sockets of their own."""

    def __init__(self, api: Api, seconds: int = 10) -> None:
        self._api = api
        self.sock = api.connect()
        body = json.dumps({"seconds": seconds})
        head = "POST /api/v1/tools/speed HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
        length = f"Content-Length: {len(body)}\r\n\r\n"
        self.sock.sendall(f"{head}{api.authorization()}{length}{body}".encode())
        came = b""
        while b'"path"' not in came:
            came += self.sock.recv(4096)
        self.id = json.loads(came.split(b"data: ")[1].splitlines()[0])["id"]

    def close(self) -> None:
        self.sock.close()

    def request(self, method: str, what: str, more: str = "") -> socket.socket:
        sock = self._api.connect()
        head = f"{method} /api/v1/tools/speed/{self.id}/{what} HTTP/1.1\r\nHost: weir\r\n"
        sock.sendall(f"{head}{self._api.authorization()}{more}\r\n".encode())
        return sock

    def upload(self) -> socket.socket:
        """One that has begun, and says nothing more."""
        sock = self.request(
            "POST", "upload", f"Content-Type: application/octet-stream\r\nContent-Length: {UPLOAD_BYTES}\r\n"
        )
        sock.sendall(bytes(1000))
        return sock


def client(api: Api) -> httpx.Client:
    return httpx.Client(base_url=api.url, headers={"Authorization": f"Bearer {api.token}"}, timeout=30)


def resident_bytes(api: Api) -> int:
    lines = Path(f"/proc/{api.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024


def test_everybody_else_is_answered_while_all_that_a_run_may_hold_is_held(api: Api) -> None:
    """All uploads stall, half of the downloads are read at full speed, half of them not at all. Others come
    one after another; all are answered before the run has ended, and it goes on sending meanwhile."""
    with ExitStack() as open_, client(api) as known, httpx.Client(base_url=api.url) as stranger:
        assert known.get("/auth/me").status_code == 200
        run = open_.enter_context(closing(Run(api)))
        for _ in range(STREAMS):
            open_.enter_context(closing(run.upload()))
        downloads = [open_.enter_context(closing(run.request("GET", "download"))) for _ in range(STREAMS)]
        read = 0
        for _ in range(OTHERS):
            for sock in downloads[: STREAMS // 2]:
                read += len(sock.recv(65_536))
            assert known.get("/auth/me").status_code == 200
            assert stranger.get("/system/live").status_code == 200
        assert known.get(f"/tools/speed/{run.id}/echo").status_code == 204, "it is still under way"
        assert read > STREAMS * BLOCK_BYTES
        with closing(run.upload()) as fifth:
            fifth.sendall(bytes(100_000))
            assert read_answer(fifth)[0] == 409


def test_a_download_that_nobody_reads_holds_a_block_and_ends_with_the_run(api: Api) -> None:
    with closing(Run(api)) as run:
        before = resident_bytes(api)
        silent = [run.request("GET", "download") for _ in range(STREAMS)]
        events = b""
        while events.count(b"event: counted") < 5:
            events += run.sock.recv(4096)
        assert resident_bytes(api) - before < 16 << 20
    for sock in silent:
        with closing(sock):
            while sock.recv(1 << 20):
                """Until its end."""


def test_what_is_sent_and_what_comes_is_counted_in_the_events_while_it_goes_on(api: Api) -> None:
    with closing(Run(api)) as run, closing(run.upload()) as upload:
        events = b""
        while b'"received_bytes":1000}' not in events:
            events += run.sock.recv(4096)
        upload.sendall(bytes(UPLOAD_BYTES - 1000))
        status, _, body = read_answer(upload)
        assert (status, json.loads(body)) == (200, {"received_bytes": UPLOAD_BYTES})
        while f'"received_bytes":{UPLOAD_BYTES}}}'.encode() not in events:
            events += run.sock.recv(4096)


def test_a_run_whose_reader_is_gone_is_over_at_once(api: Api) -> None:
    run = Run(api)
    with client(api) as known:
        assert known.post("/tools/speed", json={}).status_code == 409
        run.close()
        until("it is over", lambda: known.get(f"/tools/speed/{run.id}/echo").status_code == 404)
        with known.stream("POST", "/tools/speed", json={}) as another:
            assert another.status_code == 200


def test_nginx_does_not_collect_what_a_client_does_not_take(api: Api, tmp_path: Path) -> None:
    """It would write a gigabyte to the disk, and the router would count what only nginx has taken."""
    with Front(tmp_path, api.port, tls=False) as front:
        behind = Api(front.secure, api.token)
        with closing(Run(behind)) as run, closing(run.request("GET", "download")):
            sent = [0]
            while len(sent) < 8:
                sent += [int(found) for found in re.findall(rb'"sent_bytes":([0-9]+)', run.sock.recv(4096))]
    assert 0 < sent[-1] < BUFFERS_BYTES
