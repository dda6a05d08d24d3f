# SPDX-License-Identifier: Apache-2.0
"""Tools under a real agent, between real namespaces: what they find, what they may, and when they end."""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.datapath import bpf_run
from tests.polling import until
from weir.agent.tools import Tools
from weir.model.problem import Conflict, Invalid, NotFound
from weir.probes import packet_filter
from weir.tools import PING
from weir.wire.server import Answer, Peer

CLIENT, ROUTER = "10.64.0.2", "10.64.0.1"
SILENT = "10.64.0.99"
NOBODY = 65_534
ANYBODY = Peer(0, 0, 0, 0)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), client_queue(50_000_000))
        yield made


def start(rig: Rig, tool: str, **arguments: Any) -> tuple[dict[str, Any], int]:
    wanted = {"tool": tool, "arguments": arguments, "by": "admin"}
    answer, (output,) = rig.agent.call_for_fds("tool_start", wanted)
    return answer, output


def read(output: int) -> bytes:
    with os.fdopen(output, "rb") as file:
        return file.read()


def ran(rig: Rig, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """All events of a run. The next may begin at once."""
    _, output = start(rig, tool, **arguments)
    return [json.loads(line) for line in read(output).splitlines()]


def children(rig: Rig) -> list[int]:
    assert rig.agent_process is not None
    agent = rig.agent_process.pid
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"weir.probes" in words and str(agent).encode() in words:
            found.append(int(path.name))
    return found


def held(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_ping_tells_each_answer_and_the_summary(rig: Rig) -> None:
    found = ran(rig, "ping", target=CLIENT, count=3, interval_ms=100)
    replies = [item for item in found if item["event"] == "reply"]
    assert [item["number"] for item in replies] == [1, 2, 3]
    assert all(item["from"] == CLIENT and item["ttl"] == 64 and item["bytes"] == 56 for item in replies)
    summary = next(item for item in found if item["event"] == "summary")
    assert (summary["sent"], summary["received"], summary["loss_percent"]) == (3, 3, 0.0)
    assert 0 < summary["least_us"] <= summary["mean_us"] <= summary["most_us"]


def test_a_target_that_never_answers_is_told_as_lost_and_has_no_round_trip(rig: Rig) -> None:
    found = ran(rig, "ping", target=SILENT, count=2, interval_ms=100)
    assert [item["event"] for item in found if item["event"] in ("lost", "refused")] != []
    summary = next(item for item in found if item["event"] == "summary")
    assert (summary["received"], summary["loss_percent"], summary["mean_us"]) == (0, 100.0, None)
    assert found[-1]["reason"] == "done"


def test_mtr_sees_the_router_on_the_way(rig: Rig) -> None:
    """Asked from the router, the far side of the client's namespace is one hop further."""
    rig.run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=rig.client_ns)
    rig.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo", namespace=rig.client_ns)
    rig.run("ip", "link", "add", "far0", "type", "veth", "peer", "far1", namespace=rig.client_ns)
    rig.run("ip", "route", "add", "198.51.100.0/24", "via", CLIENT)
    found = ran(rig, "mtr", target="198.51.100.1", rounds=2)
    hops = [item for item in found if item["event"] == "hop"]
    assert [(item["hop"], item["from"], item["why"]) for item in hops[-1:]] == [(1, "198.51.100.1", None)]
    assert (hops[-1]["sent"], hops[-1]["received"]) == (2, 2)
    rig.run("ip", "route", "add", "blackhole", "198.51.100.128/25", namespace=rig.client_ns)
    found = ran(rig, "mtr", target="198.51.100.200", rounds=1, hops=3)
    last = [item for item in found if item["event"] == "hop"][-1]
    assert last["hop"] <= 3


def test_what_was_not_sent_is_not_lost(rig: Rig) -> None:
    """A broadcast address is not asked, and a link-local one has no way without an interface."""
    found = ran(rig, "ping", target="10.64.0.255", count=2, interval_ms=100)
    summary = next(item for item in found if item["event"] == "summary")
    assert (summary["sent"], summary["received"], summary["loss_percent"]) == (0, 0, None)
    assert {item["why"] for item in found if item["event"] == "refused"} == {
        "not sent: a broadcast address, or a route that prohibits it"
    }
    found = ran(rig, "mtr", target="10.64.0.255", rounds=1, hops=1)
    (hop,) = [item for item in found if item["event"] == "hop"]
    assert (hop["sent"], hop["loss_percent"]) == (0, None) and hop["why"].startswith("not sent: ")


def test_a_lookup_that_nobody_answers_fails_and_says_why(rig: Rig) -> None:
    found = ran(rig, "lookup", name="a.example", server=CLIENT)
    assert [(item["event"], item.get("why")) for item in found[:-1]] == [
        ("silent", "nothing listens on its port 53")
    ] * 2
    assert (found[-1]["reason"], found[-1]["message"]) == ("failed", "no name server answered")


def test_arping_names_the_station_that_has_an_address(rig: Rig) -> None:
    (cable,) = json.loads(rig.run("ip", "-j", "link", "show", "c0", namespace=rig.client_ns))
    found = ran(rig, "arping", interface="lan0", address=CLIENT, count=1)
    assert [item["mac"] for item in found if item["event"] == "reply"] == [cable["address"]]
    found = ran(rig, "arping", interface="lan0", address=SILENT, count=1)
    assert [item["event"] for item in found] == ["lost", "summary", "end"]


def test_a_port_that_cannot_blink_says_so(rig: Rig) -> None:
    found = ran(rig, "blink", interface="lan0")
    assert found == [{"event": "end", "reason": "failed", "message": found[0]["message"]}]
    assert "lan0 cannot blink" in found[0]["message"]


def test_an_interface_that_is_not_there_is_named(rig: Rig) -> None:
    for tool, more in (("arping", {"address": CLIENT}), ("ping", {"target": CLIENT})):
        (end,) = ran(rig, tool, interface="nowhere", **more)
        assert (end["reason"], end["message"]) == ("failed", "there is no interface nowhere")


def test_a_run_has_no_rights_and_bounds_on_what_it_takes(rig: Rig) -> None:
    _, output = start(rig, "ping", target=SILENT, count=100)
    until(
        "it has dropped them", lambda: [held(pid)["Uid"].split()[0] for pid in children(rig)] == [str(NOBODY)]
    )
    (pid,) = children(rig)
    until("it has no capability", lambda: int(held(pid)["CapPrm"], 16) == 0)
    until("it cannot get any", lambda: held(pid)["NoNewPrivs"] == "1")
    assert int(held(pid)["CapEff"], 16) == 0
    assert held(pid)["Groups"].split() == []
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "900"
    os.close(output)
    until("it has ended with its reader", lambda: children(rig) == [])
    until("it is not listed", lambda: not rig.agent.call("tools")["value"])


def test_a_second_run_is_refused_while_one_goes_on(rig: Rig) -> None:
    _, output = start(rig, "ping", target=SILENT, count=100)
    with pytest.raises(Conflict, match=SILENT):
        start(rig, "ping", target=CLIENT)
    os.close(output)
    until("the first has ended", lambda: children(rig) == [] and not rig.agent.call("tools")["value"])


def test_a_capture_has_what_passes_the_filter_and_nothing_else(rig: Rig) -> None:
    answer, output = start(
        rig, "capture", interface="lan0", network=f"{CLIENT}/32", protocol="icmp", seconds=2
    )
    assert "network stack" in answer["note"]
    first = os.read(output, 4096)
    assert first.startswith(struct.pack("=I", 0x0A0D0D0A)), "it listens: the file has begun"
    rig.run("ping", "-c3", "-i0.05", "-s40", CLIENT)
    rig.run("sh", "-c", f"echo x > /dev/udp/{CLIENT}/9 || true")
    packets = packets_of(first + read(output))
    echoes = [data for data in packets if data[23] == 1]
    assert len(echoes) >= 6, "three questions and three answers"
    assert echoes == packets
    until("it is over", lambda: not rig.agent.call("tools")["value"])


def packets_of(data: bytes) -> list[bytes]:
    """The packets of a pcapng file; every byte of it must belong to a block."""
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        assert struct.unpack_from("=I", data, at + length - 4)[0] == length
        if kind == 6:
            kept = struct.unpack_from("=I", data, at + 20)[0]
            found.append(data[at + 28 : at + 28 + kept])
        at += length
    assert at == len(data)
    return found


def test_torch_names_whose_packets_they_are_and_ends_alone(rig: Rig) -> None:
    before = programs(rig)
    answer, output = start(rig, "torch", interface="lan0", seconds=2)
    assert answer["subject"] == "torch lan0"
    until("it looks", lambda: len(programs(rig)) == len(before) + 2)
    rig.run("ping", "-c5", "-i0.02", "-s72", CLIENT)
    found = [json.loads(line) for line in read(output).splitlines()]
    echoes = [item for item in found if item.get("protocol") == "icmp" and item["packets_per_s"] > 0]
    assert {(item["way"], item["from"], item["to"], item["queue"]) for item in echoes} == {
        ("sent", ROUTER, CLIENT, "client"),
        ("received", CLIENT, ROUTER, "client"),
    }
    assert all(item["rate_bps"] == pytest.approx(item["packets_per_s"] * 800, rel=0.2) for item in echoes)
    assert [item["event"] for item in found[-2:]] == ["summary", "end"]
    assert found[-2]["packets"] >= 10 and found[-2]["exact"]
    assert (found[-1]["reason"], programs(rig)) == ("done", before)


def programs(rig: Rig) -> list[int]:
    """At the hooks of lan0."""
    with netns.inside(rig.router):
        return bpf_run.tcx_program_ids("lan0")


def test_torch_of_a_queue_has_its_directions_and_refuses_what_is_not_there(rig: Rig) -> None:
    _, output = start(rig, "torch", queue="client", seconds=1)
    until("it looks", lambda: len(children(rig)) == 1 and len(programs(rig)) == 4)
    rig.run("ping", "-c3", "-i0.02", CLIENT)
    found = [json.loads(line) for line in read(output).splitlines()]
    assert {item["way"] for item in found if item["event"] == "flow" and item["rank"]} == {
        "upload",
        "download",
    }
    for wrong, said in (
        ({"queue": "gone"}, "no queue 'gone'"),
        ({"interface": "gone0"}, "no interface gone0"),
    ):
        with pytest.raises(NotFound, match=said):
            start(rig, "torch", **wrong)
    assert not rig.agent.call("tools")["value"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either interface or queue"),
        ({"interface": "lan0", "queue": "q"}, "either interface or queue"),
        ({"interface": "lan0", "seconds": 10_000}, "seconds"),
        ({"interface": "lan0", "flows": 0}, "flows"),
        ({"interface": "x" * 5000}, "interface"),
        ({"interface": 7}, "interface"),
        ({"interface": "lan0", "filter": "tcp"}, "filter"),
    ],
)
def test_bad_input_to_torch_is_refused_with_its_field(rig: Rig, given: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        start(rig, "torch", **given)


def test_the_agent_killed_in_the_middle_leaves_nothing_behind(rig: Rig) -> None:
    _, ping = start(rig, "ping", target=SILENT, count=100)
    _, capture = start(rig, "capture", interface="lan0", seconds=60)
    before = programs(rig)
    _, torch = start(rig, "torch", interface="lan0", seconds=60)
    until("all run", lambda: len(children(rig)) == 3 and len(programs(rig)) == len(before) + 2)
    pids = children(rig)
    until("all have dropped", lambda: all(held(pid)["NoNewPrivs"] == "1" for pid in pids))
    rig.kill_agent()
    until("all are gone", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    until("no program of torch is left", lambda: programs(rig) == before)
    os.close(torch)
    assert b'"end"' not in read(ping)
    os.close(capture)
    rig.start_agent()
    assert rig.agent.call("tools")["value"] == []


@pytest.mark.parametrize("protocol", ["any", "tcp", "udp", "icmp", "arp"])
@pytest.mark.parametrize("network", [None, "10.64.0.0/24", "2001:db8:1::/48", "0.0.0.0/0", "::/0"])
@pytest.mark.parametrize("port", [None, 443])
def test_a_filter_chooses_as_its_words_say(protocol: str, network: str | None, port: int | None) -> None:
    if port is not None and protocol in ("icmp", "arp"):
        return  # refused before: they have no ports
    made = packet_filter.program(network, protocol, port, 14)
    for name, (ether, frame, facts) in FRAMES.items():
        wanted = (
            (protocol == "any" or protocol == facts["protocol"])
            and (network is None or facts["family"] == (6 if ":" in network else 4))
            and (network in (None, "0.0.0.0/0", "::/0") or facts["inside"])
            and (port is None or port in facts["ports"])
        )
        assert (run_filter(made, ether, frame) > 0) == wanted, name


def _v4(number: int, source: bytes, payload: bytes) -> bytes:
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, number, 0, source, b"\xc6\x33\x64\x01"
    )
    return bytes(14) + head + payload


def _v6(number: int, source: bytes, payload: bytes) -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(payload), number, 64) + source + b"\xfd" + bytes(15)
    return bytes(14) + head + payload


_PORTS = struct.pack("!HHHH", 50_000, 443, 8, 0)
_IN4, _OUT4 = b"\x0a\x40\x00\x02", b"\x0a\x40\x01\x02"
_IN6, _OUT6 = b"\x20\x01\x0d\xb8\0\x01" + bytes(10), b"\x20\x01\x0d\xb8\0\x02" + bytes(10)
FRAMES: dict[str, tuple[int, bytes, dict[str, Any]]] = {
    "tcp4": (0x800, _v4(6, _IN4, _PORTS), {"protocol": "tcp", "family": 4, "inside": True, "ports": (443,)}),
    "udp4": (
        0x800,
        _v4(17, _OUT4, _PORTS),
        {"protocol": "udp", "family": 4, "inside": False, "ports": (443,)},
    ),
    "icmp4": (0x800, _v4(1, _IN4, bytes(8)), {"protocol": "icmp", "family": 4, "inside": True, "ports": ()}),
    "gre4": (0x800, _v4(47, _IN4, _PORTS), {"protocol": "gre", "family": 4, "inside": True, "ports": ()}),
    "tcp6": (0x86DD, _v6(6, _IN6, _PORTS), {"protocol": "tcp", "family": 6, "inside": True, "ports": (443,)}),
    "udp6": (
        0x86DD,
        _v6(17, _OUT6, _PORTS),
        {"protocol": "udp", "family": 6, "inside": False, "ports": (443,)},
    ),
    "icmp6": (
        0x86DD,
        _v6(58, _IN6, bytes(8)),
        {"protocol": "icmp", "family": 6, "inside": True, "ports": ()},
    ),
    "arp": (
        0x806,
        bytes(14) + struct.pack("!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, bytes(6), _IN4, bytes(6), _OUT4),
        {"protocol": "arp", "family": 4, "inside": True, "ports": ()},
    ),
}


def run_filter(made: list[tuple[int, int, int, int]], ether: int, frame: bytes) -> int:
    """What the kernel gives (Documentation/networking/filter.rst): bytes to keep, 0 for none."""
    a = x = at = 0
    sizes = {0x20: 4, 0x28: 2, 0x30: 1, 0x48: 2}
    while True:
        code, yes, no, value = made[at]
        at += 1
        if code in sizes:
            place = value + (x if code == 0x48 else 0)
            if value == 0xFFFFF000:
                a = ether
            elif place + sizes[code] > len(frame):
                return 0
            else:
                a = int.from_bytes(frame[place : place + sizes[code]], "big")
        elif code == 0xB1:
            x = (frame[value] & 15) * 4
        elif code == 0x54:
            a &= value
        elif code == 0x15:
            at += yes if a == value else no
        elif code == 0x45:
            at += yes if a & value else no
        elif code == 0x05:
            at += value
        elif code == 0x06:
            return value
        else:
            raise AssertionError(f"instruction {code:#x}")


def test_how_long_another_one_has_been_running_does_not_depend_on_the_time_of_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools, real = Tools(), time.time_ns
    arguments = PING.read({"target": CLIENT})
    tools._admit(PING, arguments, "admin")
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10**18)
    with pytest.raises(Conflict, match=r"admin has been running .* for [01] s; one at a time"):
        tools._admit(PING, arguments, "other")


class Ending:
    """A process whose output is over before it is gone."""

    def __init__(self, *_: str) -> None:
        self.output, write = os.pipe()
        os.close(write)

    def wait(self, _seconds: float) -> str:
        threading.Event().wait(0.3)
        return ""


def test_who_has_read_a_run_to_its_end_may_begin_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir.agent.tools.Probe", Ending)
    begin = Tools().table()["tool_start"]
    for _ in range(2):
        answer = begin({"tool": "ping", "arguments": {"target": CLIENT}}, ANYBODY)
        assert isinstance(answer, Answer)
        assert read(*answer.fds) == b""
