# SPDX-License-Identifier: Apache-2.0
"""Client and server over a real socket: order, concurrency, descriptors, limits, restarts, hostile peers."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weir.model.problem import ApplyFailed, NotFound, Unavailable
from weir.wire import server as server_module
from weir.wire.client import AgentClient
from weir.wire.server import AgentServer, Answer, Peer

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
        connection.settimeout(10)
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


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.005)


def test_a_call_returns_the_result(tmp_path: Path) -> None:
    with serving(tmp_path) as path:
        client = AgentClient(path)
        assert client.call("echo", {"a": [1, None, "\u2028ü"]}) == {"a": [1, None, "\u2028ü"]}
        assert client.call("number") == {"value": 7}
        assert client.call("who")["uid"] == os.getuid()
        client.close()


def test_a_problem_of_the_agent_is_raised_as_what_it_was(tmp_path: Path) -> None:
    with serving(tmp_path) as path:
        client = AgentClient(path)
        with pytest.raises(ApplyFailed, match="the kernel said no") as caught:
            client.call("fail")
        assert caught.value.path == "queue/q1"
        with pytest.raises(NotFound):
            client.call("no-such-method")
        client.close()


def test_a_defect_in_a_handler_does_not_leak_its_text(tmp_path: Path) -> None:
    with serving(tmp_path) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"crash"}\n')
        answer = read_answer(raw)
        assert answer is not None and answer["problem"]["code"] == "internal"
        assert "secret" not in json.dumps(answer)


def test_lines_arrive_as_a_sequence(tmp_path: Path) -> None:
    with serving(tmp_path) as path:
        client = AgentClient(path)
        lines = [str(number).encode() for number in range(50_000)]
        answer = client.call("count", {}, lines=("changes", lines), timeout_s=30)
        assert answer == {"n": 50_000, "sum": sum(range(50_000))}
        client.close()


def test_many_threads_share_a_client_without_mixing_answers(tmp_path: Path) -> None:
    with serving(tmp_path) as path:
        client = AgentClient(path, timeout_s=30)
        wrong: list[object] = []

        def ask(name: int) -> None:
            for number in range(50):
                answer = client.call("echo", {"name": name, "number": number})
                if answer != {"name": name, "number": number}:
                    wrong.append(answer)

        threads = [threading.Thread(target=ask, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        client.close()


def test_descriptors_come_with_the_answer(tmp_path: Path) -> None:
    def counters(_params: dict[str, Any], _peer: Peer) -> Answer:
        return Answer({"layout": {"stride": 64}}, (source.fileno(), source.fileno()))

    with (
        (tmp_path / "map").open("w+b") as source,
        serving(tmp_path, {**BASIC, "counters_fd": counters}) as path,
    ):
        source.write(b"counters")
        source.flush()
        client = AgentClient(path)
        layout, fds = client.call_for_fds("counters_fd")
        assert layout == {"layout": {"stride": 64}} and len(fds) == 2
        assert os.pread(fds[0], 100, 0) == b"counters"
        assert not os.get_inheritable(fds[0])
        for fd in fds:
            os.close(fd)
        before = descriptors()
        client.call("counters_fd")
        assert descriptors() == before, "descriptors nobody asked for are closed"
        client.close()


def test_the_client_finds_a_restarted_agent(tmp_path: Path) -> None:
    client = AgentClient(tmp_path / "agent.sock")
    with pytest.raises(Unavailable) as caught:
        client.call("number")
    assert caught.value.code == "agent-down"
    for _ in range(3):
        with serving(tmp_path):
            assert client.call("number") == {"value": 7}
    client.close()


def test_a_slow_agent_is_given_up_and_its_late_answer_is_not_taken_for_another(tmp_path: Path) -> None:
    release = threading.Event()

    def slow(_params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        release.wait(10)
        return {"late": True}

    with serving(tmp_path, {**BASIC, "slow": slow}) as path:
        client = AgentClient(path)
        with pytest.raises(Unavailable) as caught:
            client.call("slow", timeout_s=0.05)
        assert caught.value.code == "agent-timeout"
        release.set()
        assert client.call("number") == {"value": 7}
        client.close()


def test_the_agent_learns_that_a_connection_was_left(tmp_path: Path) -> None:
    left: list[dict[str, Any]] = []

    def apply(_params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        peer.state["applied"] = 4
        return {}

    with serving(tmp_path, {"apply": apply}, on_close=lambda peer: left.append(peer.state)) as path:
        client = AgentClient(path)
        with pytest.raises(KeyError), client.connection() as connection:
            connection.call("apply")
            raise KeyError
        wait_until(lambda: left == [{"applied": 4}], "on_close was not called")
        client.close()


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
        assert closed.wait(10)


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


def test_a_client_that_speaks_out_of_turn_to_us_is_not_believed(tmp_path: Path) -> None:
    """An agent that answers the wrong request id is not taken at its word."""
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer_wrong() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b'{"id":99,"result":{}}\n')

        thread = threading.Thread(target=answer_wrong)
        thread.start()
        with pytest.raises(Unavailable) as caught:
            AgentClient(path).call("status")
        assert caught.value.code == "bad-answer"
        thread.join()


def test_a_connection_keeps_nothing_of_a_request_that_was_answered(tmp_path: Path) -> None:
    """100,000 lines of an import stayed in the agent until the connection was used again."""
    seen: list[weakref.ref[object]] = []

    def look(params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        seen.append(weakref.ref(params["changes"]))
        return {}

    with serving(tmp_path, {"look": look}) as path:
        client = AgentClient(path)
        client.call("look", {}, lines=("changes", [b"1", b"2"]))
        deadline = time.monotonic() + 5
        while seen[0]() is not None:
            assert time.monotonic() < deadline, "the lines are still held"
            threading.Event().wait(0.005)
        client.close()
