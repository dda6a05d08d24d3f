# SPDX-License-Identifier: Apache-2.0
"""A speed test to a real `iperf3 -s` behind a real router: its rate, what waits, its rights, and its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.agent.test_tools import CLIENT, NOBODY, children, held, ran, start
from tests.polling import until
from weir.probes.iperf import in_words

M = 1_000_000
LIMIT_BPS = 50 * M
SILENT = "10.64.0.99"
PORT = 5201


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan())
        yield made


@contextmanager
def server(rig: Rig) -> Iterator[None]:
    process = rig.spawn("iperf3", ["iperf3", "-s"], netns.entering(rig.client_ns))
    try:
        until("the server listens", lambda: listens(rig))
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def listens(rig: Rig) -> bool:
    with netns.inside(rig.client_ns):
        return f":{PORT:04X} " in Path("/proc/thread-self/net/tcp6").read_text()


def of(found: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [item for item in found if item["event"] == event]


def programs() -> list[int]:
    """Of iperf3 clients."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"iperf3") and b"--client" in words:
            found.append(int(path.name))
    return found


def test_both_directions_are_measured_with_the_round_trips_beside_them(rig: Rig) -> None:
    with server(rig):
        found = ran(rig, "iperf", target=CLIENT, seconds=2, streams=2)
    assert found[-1] == {"event": "end", "reason": "done", "message": None}, found[-1]
    (way,), (idle,) = of(found, "way"), of(found, "idle")
    assert (way["interface"], way["queue"], way["limit_bps"], way["unknown"]) == ("lan0", None, None, None)
    assert idle["median_us"] > 0 and idle["loss_percent"] == 0
    results = of(found, "result")
    assert [item["direction"] for item in results] == ["to", "from"]
    assert all(item["rate_bps"] > LIMIT_BPS * 2 for item in results), "nothing limits it"
    assert all(0 < item["median_us"] <= item["most_us"] for item in results)
    assert all(item["added_us"] == max(item["median_us"] - idle["median_us"], 0) for item in results)
    seconds = of(found, "second")
    assert {item["direction"] for item in seconds} == {"to", "from"} and len(seconds) >= 4
    assert all(item["rate_bps"] > LIMIT_BPS and item["round_trip_us"] > 0 for item in seconds)


def test_the_queue_that_limits_it_is_named_and_the_rate_is_near_its_limit(rig: Rig) -> None:
    rig.commit(client_queue(LIMIT_BPS))
    with server(rig):
        found = ran(rig, "iperf", target=CLIENT, seconds=4, direction="to")
        back = ran(rig, "iperf", target=CLIENT, seconds=2, direction="from")
    (way,) = of(found, "way")
    assert (way["queue_id"], way["limit_bps"]) == ("client", LIMIT_BPS)
    (result,) = of(found, "result")
    assert 0.6 * LIMIT_BPS < result["rate_bps"] < 1.05 * LIMIT_BPS, result
    assert of(back, "result")[0]["rate_bps"] > 2 * LIMIT_BPS, "what is for the router itself is in no queue"
    assert result["median_us"] is not None and result["added_us"] is not None


def test_what_waits_while_the_line_is_full_is_told(rig: Rig) -> None:
    """The host sends through a queue of its own that holds 100 ms."""
    queue = ("root", "tbf", "rate", "20mbit", "burst", "32k", "latency", "100ms")
    rig.run("tc", "qdisc", "replace", "dev", "c0", *queue, namespace=rig.client_ns)
    with server(rig):
        found = ran(rig, "iperf", target=CLIENT, seconds=3, direction="from", streams=8)
    rig.run("tc", "qdisc", "del", "dev", "c0", "root", namespace=rig.client_ns)
    (result,) = of(found, "result")
    assert 10 * M < result["rate_bps"] < 21 * M, result
    assert 20_000 < result["added_us"] < 200_000, result


def test_what_goes_wrong_is_said_in_words(rig: Rig) -> None:
    (*_, end) = ran(rig, "iperf", target=CLIENT, seconds=2)
    assert (end["reason"], end["message"]) == (
        "failed", f"nothing listens on port 5201 of {CLIENT}: start `iperf3 -s` there"
    )  # fmt: skip
    (*_, end) = ran(rig, "iperf", target=SILENT, seconds=2)
    assert end["reason"] == "failed" and SILENT in end["message"], end
    (end,) = ran(rig, "iperf", target=CLIENT, interface="nowhere")
    assert end["message"] == "there is no interface nowhere"


def test_a_server_that_is_busy_is_said_to_be(rig: Rig) -> None:
    with server(rig):
        own = ["iperf3", "-c", "127.0.0.1", "-t", "60", "-b", "1M"]
        other = rig.spawn("other", own, netns.entering(rig.client_ns))
        until("it tests", lambda: "connected to" in (rig.folder / "other.log").read_text())
        (*_, end) = ran(rig, "iperf", target=CLIENT, seconds=2)
        other.kill()
        other.wait()
    assert end["message"] == f"the server on {CLIENT} tests with somebody else: try again when that is over"


def test_another_server_on_that_port_is_not_waited_for(rig: Rig) -> None:
    with netns.inside(rig.client_ns):
        listening = socket.create_server((CLIENT, 5300))
    with listening:
        (*_, end) = ran(rig, "iperf", target=CLIENT, seconds=2, port=5300)
    assert end["message"] == f"{CLIENT} did not say what it measured in 13 s"
    assert programs() == []


def test_it_takes_the_way_that_is_asked_for(rig: Rig) -> None:
    with server(rig):
        found = ran(rig, "iperf", target=CLIENT, seconds=2, direction="to", interface="lan0")
        assert of(found, "result")[0]["rate_bps"] > 0, found
        (*_, end) = ran(rig, "iperf", target=CLIENT, seconds=2, direction="to", interface="wan0")
    assert end["reason"] == "failed", end


def test_the_program_has_no_rights_and_is_gone_with_its_reader(rig: Rig) -> None:
    with server(rig):
        _, output = start(rig, "iperf", target=CLIENT, seconds=30)
        until("it runs", programs)
        (pid,) = programs()
        assert held(pid)["Uid"].split() == [str(NOBODY)] * 4 and int(held(pid)["CapEff"], 16) == 0
        assert held(pid)["NoNewPrivs"] == "1" and held(pid)["Groups"].split() == []
        os.close(output)
        until("both are gone", lambda: not programs() and not children(rig))
    until("it is not listed", lambda: not rig.agent.call("tools")["value"])


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_the_program_is_gone_with_its_run(rig: Rig, way: str) -> None:
    with server(rig):
        told, output = start(rig, "iperf", target=CLIENT, seconds=30)
        until("it runs", programs)
        if way == "stopped":
            rig.agent.call("tool_stop", {"id": told["id"]})
        else:
            os.kill(children(rig)[0], signal.SIGKILL)
        with os.fdopen(output, "rb") as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        until("the program is gone", lambda: not programs())
    assert (lines[-1].get("reason") == "stopped") == (way == "stopped")
    until("it is not listed", lambda: not rig.agent.call("tools")["value"])


def test_a_router_without_the_program_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weir.probes", "iperf", '{"target": "127.0.0.1"}', "", str(os.getpid())],
        env={"PATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert json.loads(done.stdout) == {
        "event": "end", "reason": "failed", "message": "there is no program iperf3 on this router"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("error - the server is busy running a test. try again later", "tests with somebody else"),
        (
            "unable to connect to server - server may have stopped running: Connection refused",
            "nothing listens",
        ),
        ("unable to connect to server: Connection timed out", "does not answer"),
        ("unable to connect to server: No route to host", "does not answer at all"),
        ("unable to connect to server: Network is unreachable", "no way leads to"),
        ("control socket has closed unexpectedly", "broke the test off"),
        ("the server has terminated", "was ended"),
        ("something new", "iperf3: something new"),
    ],
)
def test_complaints_of_iperf3_are_put_into_words(said: str, told: str) -> None:
    assert told in in_words(said, CLIENT, PORT)


def test_the_program_is_there() -> None:
    assert shutil.which("iperf3"), "lab/setup/packages.txt has it"
