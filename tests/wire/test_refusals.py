# SPDX-License-Identifier: Apache-2.0
"""Whom and what the server refuses, and that it goes on serving the others."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.serving import BASIC, HANGS_S, Handlers, connected, read_answer, serving
from weir.model.problem import Unavailable
from weir.wire import server as server_module
from weir.wire.client import AgentClient
from weir.wire.server import AgentServer


def test_another_user_is_refused_before_a_byte_is_read(tmp_path: Path) -> None:
    seen: list[object] = []
    handlers: Handlers = {"echo": lambda params, _peer: seen.append(params)}
    with serving(tmp_path, handlers, allowed_uids={os.getuid() + 1}) as path, connected(path) as raw:
        with suppress(BrokenPipeError):
            raw.sendall(b'{"id":1,"method":"echo"}\n')
        assert read_answer(raw) is None
        assert not seen


def test_the_socket_has_the_mode_it_was_given_from_the_start(tmp_path: Path) -> None:
    with serving(tmp_path, socket_mode=0o600) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_second_agent_is_refused_and_a_dead_ones_socket_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path) as path:
        with pytest.raises(Unavailable) as caught:
            AgentServer(path, BASIC, allowed_uids={0}).start()
        assert caught.value.code == "socket-in-use"
        assert AgentClient(path).call("number") == {"value": 7}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    assert path.is_socket()
    with serving(tmp_path) as path:
        assert AgentClient(path).call("number") == {"value": 7}


def test_a_file_in_the_sockets_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    path.write_text("precious")
    with pytest.raises(Unavailable):
        AgentServer(path, BASIC, allowed_uids={0}).start()
    assert path.read_text() == "precious"


def test_a_client_that_never_finishes_its_line_is_cut_off_and_blocks_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, message_timeout_s=0.2) as path, connected(path) as slow:
        slow.sendall(b'{"id":1,"meth')
        assert AgentClient(path).call("number") == {"value": 7}
        started = time.monotonic()
        assert read_answer(slow) is None
        assert time.monotonic() - started < 8


def test_an_idle_client_is_not_cut_off(tmp_path: Path) -> None:
    with serving(tmp_path, message_timeout_s=0.1) as path, connected(path) as idle:
        threading.Event().wait(0.3)
        idle.sendall(b'{"id":1,"method":"number"}\n')
        assert read_answer(idle) == {"id": 1, "result": 7}


def test_a_client_that_does_not_take_its_answers_is_cut_off(tmp_path: Path) -> None:
    closed = threading.Event()
    handlers: Handlers = {"much": lambda _params, _peer: "x" * 4_000_000}
    with (
        serving(tmp_path, handlers, message_timeout_s=0.2, on_close=lambda _peer: closed.set()) as path,
        connected(path) as deaf,
    ):
        deaf.sendall(b'{"id":1,"method":"much"}\n')
        assert closed.wait(HANGS_S)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_message_above_the_limit_is_refused(tmp_path: Path, end: bytes) -> None:
    with serving(tmp_path, max_bytes=1000) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"echo","params":{"a":"' + b"x" * 2000 + b'"}}' + end)
        answer = read_answer(raw)
        assert answer is not None and answer["problem"]["code"] == "too-large"
        assert read_answer(raw) is None


def test_lines_count_towards_the_limit(tmp_path: Path) -> None:
    with serving(tmp_path, max_bytes=2_000_000) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"count","lines":{"param":"changes","count":100000}}\n')
        try:
            for _ in range(300):
                raw.sendall(b"1" * 9_999 + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = read_answer(raw)
        assert answer is None or answer["problem"]["code"] == "too-large"
        assert AgentClient(path).call("number") == {"value": 7}


def test_connections_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 2)
    with serving(tmp_path) as path, connected(path) as first, connected(path) as second:
        for raw in (first, second):
            raw.sendall(b'{"id":1,"method":"number"}\n')
            assert read_answer(raw) == {"id": 1, "result": 7}
        with connected(path) as third:
            assert read_answer(third) is None


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b'{"id":1}',
        b'{"id":1,"method":7}',
        b'{"id":1,"method":"echo","params":[]}',
        b'{"id":1,"method":"echo","lines":{"param":"a","count":-1}}',
        b'{"id":1,"method":"echo","lines":{"param":"a","count":true}}',
        b'{"id":1,"method":"echo","lines":[]}',
    ],
)
def test_a_request_without_sense_gets_a_problem_and_a_closed_connection(tmp_path: Path, head: bytes) -> None:
    with serving(tmp_path) as path, connected(path) as raw:
        raw.sendall(head + b"\n")
        answer = read_answer(raw)
        assert answer is not None and answer["problem"]["code"] in ("bad-json", "bad-request")
        assert read_answer(raw) is None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300), newline=st.booleans())
def test_any_bytes_leave_the_server_serving(
    fuzzed: tuple[Path, AgentClient], data: bytes, newline: bool
) -> None:
    path, client = fuzzed
    with connected(path) as raw:
        raw.sendall(data + (b"\n" if newline else b""))
        raw.shutdown(socket.SHUT_WR)
        while read_answer(raw) is not None:
            pass
    assert client.call("number") == {"value": 7}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    request=st.fixed_dictionaries(
        {},
        optional={
            "id": st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
            "method": st.sampled_from(["echo", "count", "number", "fail", "crash", "who", "", "\ud800"]),
            "params": st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3),
            "lines": st.fixed_dictionaries({"param": st.text(max_size=3), "count": st.integers(-1, 3)}),
        },
    )
)
def test_any_request_leaves_the_server_serving(
    fuzzed: tuple[Path, AgentClient], request: dict[str, Any]
) -> None:
    path, client = fuzzed
    with connected(path) as raw:
        raw.sendall(json.dumps(request).encode() + b"\n1\n2\n")
        raw.shutdown(socket.SHUT_WR)
        while read_answer(raw) is not None:
            pass
    assert client.call("number") == {"value": 7}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, AgentClient]]:
    with serving(tmp_path_factory.mktemp("wire"), message_timeout_s=2.0) as path:
        client = AgentClient(path)
        yield path, client
        client.close()
