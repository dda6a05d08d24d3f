# SPDX-License-Identifier: Apache-2.0
"""Client and server over a real socket: answers, order, concurrency, descriptors, restarts."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.wire.serving import BASIC, HANGS_S, connected, descriptors, read_answer, serving, wait_until
from weir.model.problem import ApplyFailed, NotFound, Unavailable
from weir.wire import channel, server
from weir.wire.client import AgentClient
from weir.wire.server import Answer, Peer


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


def test_a_line_is_looked_at_while_the_next_is_not_sent_yet(tmp_path: Path) -> None:
    seen: list[int] = []

    def look(params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        seen.extend(iter(params["changes"]))
        return {}

    with serving(tmp_path, {"look": look}) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"look","lines":{"param":"changes","count":2}}\n1\n')
        wait_until(lambda: seen == [1], "the first line was not looked at")
        raw.sendall(b"2\n")
        assert read_answer(raw) == {"id": 1, "result": {}} and seen == [1, 2]


def test_lines_that_nobody_looks_at_are_no_message_of_their_own(tmp_path: Path) -> None:
    with serving(tmp_path) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"fail","lines":{"param":"changes","count":2}}\n1\n')
        raw.sendall(b'{"id":7,"method":"number"}\n{"id":2,"method":"number"}\n')
        failed = read_answer(raw)
        assert failed is not None and failed["problem"]["message"] == "the kernel said no"
        assert read_answer(raw) == {"id": 2, "result": 7}


def test_who_goes_in_the_middle_of_the_lines_is_no_defect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = threading.Event()
    with serving(tmp_path, on_close=lambda _peer: closed.set()) as path:
        with connected(path) as raw:
            raw.sendall(b'{"id":1,"method":"count","lines":{"param":"changes","count":2}}\n1\n')
        assert closed.wait(HANGS_S)
    assert "method count" not in caplog.text


def test_the_time_to_look_at_a_line_is_not_the_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking takes an hour of the clock by which the server is patient."""
    passed_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s[0], sleep=time.sleep)
    for module in (server, channel):
        monkeypatch.setattr(module, "time", clock)

    def look(params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        for _ in params["changes"]:
            passed_s[0] += 3600
        return {}

    with serving(tmp_path, {"look": look}) as path, connected(path) as raw:
        raw.sendall(b'{"id":1,"method":"look","lines":{"param":"changes","count":2}}\n1\n')
        wait_until(lambda: passed_s[0] > 0, "the first line was not looked at")
        raw.sendall(b"2\n")
        assert read_answer(raw) == {"id": 1, "result": {}}


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
        client.call("counters_fd")
        assert descriptors(tmp_path / "map") == {source.fileno()}, "those that nobody asked for are closed"
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
        wait_until(lambda: seen[0]() is None, "the lines are still held")
        client.close()


def test_a_connection_that_gets_no_thread_is_closed_and_the_next_one_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    refused: list[str] = []

    def start_late(thread: threading.Thread) -> None:
        if thread.name.startswith("wire-") and thread.name != "wire-accept" and not refused:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_late)
    with serving(tmp_path) as path:
        with connected(path) as raw:
            assert raw.recv(1) == b"", "it is hung up"
        client = AgentClient(path)
        assert client.call("number") == {"value": 7}
        client.close()
    assert refused
