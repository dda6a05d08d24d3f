# SPDX-License-Identifier: Apache-2.0
"""A server on a real socket, and raw connections to it."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weir.model.problem import ApplyFailed
from weir.wire.protocol import Lines
from weir.wire.server import AgentServer, Peer

HANGS_S = 60
"""What takes so long has ceased, on a busy machine as well."""
Handlers = dict[str, Callable[[dict[str, Any], Peer], Any]]


def fail(_params: dict[str, Any], _peer: Peer) -> None:
    raise ApplyFailed("the kernel said no", path="queue/q1")


def crash(_params: dict[str, Any], _peer: Peer) -> None:
    raise RuntimeError("secret detail")


BASIC: Handlers = {
    "echo": lambda params, _peer: params,
    "count": lambda params, _peer: {"n": len(params["changes"]), "sum": sum(params["changes"])},
    "number": lambda _params, _peer: 7,
    "fail": fail,
    "crash": crash,
    "who": lambda _params, peer: {"uid": peer.uid, "pid": peer.pid, "connection": peer.connection_id},
}


def arrived(lines: Sequence[bytes]) -> Lines:
    """A parameter of which all has come."""
    return Lines(iter(lines).__next__, len(lines))


@contextmanager
def serving(tmp_path: Path, handlers: Handlers = BASIC, **options: Any) -> Iterator[Path]:
    path = tmp_path / "agent.sock"
    server = AgentServer(path, handlers, **{"allowed_uids": {os.getuid()}, **options})
    server.start()
    try:
        yield path
    finally:
        server.stop()


@contextmanager
def connected(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(HANGS_S)
        connection.connect(str(path))
        yield connection


def read_answer(connection: socket.socket) -> dict[str, Any] | None:
    """One answer, or None when the server hung up."""
    data = b""
    while not data.endswith(b"\n"):
        try:
            part = connection.recv(1)
        except ConnectionResetError:
            part = b""
        if not part:
            return None
        data += part
    answer = json.loads(data)
    assert isinstance(answer, dict)
    return answer


def descriptors(path: Path) -> set[int]:
    """Of this process, for this file; servers of other tests may still be closing theirs for others."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            if entry.readlink() == path:
                found.add(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.005)
