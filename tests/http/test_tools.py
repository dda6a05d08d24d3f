# SPDX-License-Identifier: Apache-2.0
"""Tools by REST: the processes are real, the agent around them is the fake one."""

from __future__ import annotations

import json
import struct
import threading
from typing import Any

import pytest

from tests.http.world import Client, World, probes
from tests.polling import until
from weir.tools import EVERY

LOOPBACK = "127.0.0.1"


def events(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    """All of a stream that ends."""
    blocks = (block.splitlines() for block in answer.get_data(as_text=True).split("\n\n"))
    found = [dict(line.split(": ", 1) for line in block if not line.startswith(":")) for block in blocks]
    return [(item["event"], json.loads(item["data"])) for item in found if item]


def running(api: Client, name: str) -> dict[str, Any] | None:
    items = api("GET", "/tools").json["items"]
    found: dict[str, Any] | None = next(item["running"] for item in items if item["name"] == name)
    return found


def test_a_run_answers_with_its_events_and_its_end(api: Client) -> None:
    answer = api("POST", "/tools/ping", {"target": LOOPBACK, "count": 3, "interval_ms": 100})
    assert answer.mimetype == "text/event-stream"
    found = events(answer)
    assert [event for event, _ in found] == ["target", "reply", "reply", "reply", "summary", "end"]
    assert found[-2][1]["received"] == 3
    assert found[-1][1] == {"reason": "done", "message": None}
    until("nothing runs", lambda: running(api, "ping") is None)


def test_a_speed_test_to_a_host_without_a_server_says_so(api: Client) -> None:
    answer = api("POST", "/tools/iperf", {"target": LOOPBACK, "seconds": 2, "port": 1})
    found = events(answer)
    assert [event for event, _ in found] == ["target", "way", "idle", "end"]
    assert found[1][1]["unknown"] == "nobody knows the way"
    message = f"nothing listens on port 1 of {LOOPBACK}: start `iperf3 -s` there"
    assert found[-1][1] == {"reason": "failed", "message": message}


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("ping", {"target": LOOPBACK, "count": 10_000}, "count"),
        ("ping", {"target": "a b"}, "target"),
        ("ping", {}, "target"),
        ("mtr", {"target": LOOPBACK, "rounds": True}, "rounds"),
        ("iperf", {"target": LOOPBACK, "seconds": 31}, "seconds"),
        ("iperf", {"target": LOOPBACK, "streams": 9}, "streams"),
        ("iperf", {"target": LOOPBACK, "port": 0}, "port"),
        ("iperf", {"target": LOOPBACK, "direction": "sideways"}, "direction"),
        ("lookup", {"name": "a.example", "server": "not an address"}, "server"),
        ("arping", {"interface": "lo", "address": "2001:db8::1"}, "address"),
        ("capture", {"interface": "lo", "filter": "tcp"}, "filter"),
        ("capture", {"interface": "lo", "protocol": "icmp", "port": 80}, "port"),
        ("capture", {"interface": "lo", "protocol": "arp", "network": "2001:db8::/32"}, "network"),
        ("capture", {"interface": "../lo"}, "interface"),
        ("capture", {"interface": "lo", "seconds": 3600}, "seconds"),
    ],
)
def test_what_cannot_be_run_is_refused_by_the_name_of_the_argument(
    shared_api: Client, name: str, body: dict[str, Any], field: str
) -> None:
    answer = shared_api("POST", f"/tools/{name}", body)
    assert answer.status_code == 422, answer.text
    assert [item["field"] for item in answer.json["findings"]] == [field]
    assert running(shared_api, name) is None


def test_a_capture_filter_of_64_kb_is_refused_and_nothing_starts(shared_api: Client) -> None:
    answer = shared_api("POST", "/tools/capture", {"interface": "lo", "network": "1" * 65_536})
    assert answer.status_code == 413
    assert probes() == set()


def test_one_of_a_kind_runs_and_the_second_is_told_whose_it_is(world: World, api: Client) -> None:
    first = api("POST", "/tools/ping", {"target": "192.0.2.1", "count": 100}, buffered=False)
    second = api("POST", "/tools/ping", {"target": LOOPBACK})
    assert (second.status_code, second.json["code"]) == (409, "tool-busy")
    assert "ping 192.0.2.1" in second.json["detail"]
    other = api("POST", "/tools/mtr", {"target": LOOPBACK, "rounds": 1})
    assert other.status_code == 200, "another tool is not in its way"
    other.get_data()
    first.close()


def test_a_run_ends_with_its_reader(api: Client) -> None:
    before = probes()
    answer = api("POST", "/tools/ping", {"target": "192.0.2.1", "count": 100}, buffered=False)
    until("it runs", lambda: len(probes() - before) == 1)
    answer.close()
    until("its process is gone", lambda: probes() == before)
    until("it is not listed", lambda: running(api, "ping") is None)


def test_a_run_that_somebody_stops_says_so(api: Client) -> None:
    answer = api("POST", "/tools/ping", {"target": LOOPBACK, "count": 100}, buffered=False)
    found = running(api, "ping")
    assert found is not None
    assert found["subject"] == f"ping {LOOPBACK}"
    stopper = threading.Timer(0.3, lambda: api("DELETE", f"/tools/runs/{found['id']}"))
    stopper.start()
    assert events(answer)[-1] == ("end", {"reason": "stopped", "message": None})
    stopper.join()
    until("it is not listed", lambda: running(api, "ping") is None)
    assert api("DELETE", f"/tools/runs/{found['id']}").status_code == 404


def test_a_capture_is_a_file_that_says_what_it_cannot_see(api: Client) -> None:
    answer = api("POST", "/tools/capture", {"interface": "lo", "seconds": 1, "protocol": "tcp"})
    assert answer.mimetype == "application/x-pcapng"
    assert "what the fast path forwards: it is on at lan0" in answer.headers["X-Tool-Note"]
    data = answer.get_data()
    assert data[:4] == struct.pack("=I", 0x0A0D0D0A)
    assert b"NOT here" in data


def test_a_capture_that_cannot_begin_is_refused_with_the_reason(api: Client) -> None:
    answer = api("POST", "/tools/capture", {"interface": "gone0"})
    assert (answer.status_code, answer.json["code"]) == (503, "tool-failed")
    assert answer.json["detail"] == "there is no interface gone0"
    entry = api("GET", "/system/audit?limit=1").json["items"][0]
    assert (entry["action"], entry["outcome"]) == ("tool.run", "tool-failed")
    until("it is not listed", lambda: running(api, "capture") is None)


def test_readers_may_not_run_tools_and_writers_may_not_capture(world: World, api: Client) -> None:
    reader, writer = (world.client(scope=scope) for scope in ("read", "write"))
    assert reader("POST", "/tools/ping", {"target": LOOPBACK}).status_code == 403
    assert writer("POST", "/tools/capture", {"interface": "lo"}).status_code == 403
    assert reader("GET", "/tools").status_code == 200
    capture = api("POST", "/tools/capture", {"interface": "lo", "seconds": 30}, buffered=False)
    run = running(api, "capture")
    assert run is not None
    assert writer("DELETE", f"/tools/runs/{run['id']}").status_code == 403
    capture.close()


def test_without_the_agent_nothing_runs_and_that_is_said(world: World, api: Client) -> None:
    world.agent.__exit__(None, None, None)
    answer = api("POST", "/tools/ping", {"target": LOOPBACK})
    assert (answer.status_code, answer.json["code"]) == (503, "agent-down")
    world.agent.__enter__()


def test_every_tool_ends_within_two_minutes_whatever_it_is_asked() -> None:
    for tool in EVERY.values():
        longest = {
            item.name: item.field.high  # type: ignore[attr-defined]
            for item in tool.members
            if hasattr(item.field, "high") and item.name != "port"
        }
        needed = {
            item.name: "lo" if item.name == "interface" else "192.0.2.1"
            for item in tool.members
            if item.required or (tool.name, item.name) == ("torch", "interface")
        }
        assert tool.seconds(tool.read({**needed, **longest})) <= 120, tool.name
