# SPDX-License-Identifier: Apache-2.0
"""Why the network stack drops packets: the kernel's reason is named with its interface, by the tool and as a
finding; what others own is not; and nothing stays attached."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.attached import programs
from tests.agent.refusals import why_not_looked_at
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath import bpf_run
from tests.polling import until
from weir.adapters.datapath_lib import find_library
from weir.agent.drop_watch import DropWatch
from weir.diagnosis.drop_reasons import NO_DROPS, OWNED, TEXTS, counted_by, is_told
from weir.kinds.firewall_rule import FirewallRule
from weir.probes.dropped_rows import DroppedRows

CLIENT, ROUTER, FAR, NOBODY = "10.64.0.2", "10.64.0.1", "203.0.113.1", "203.0.113.77"
NAMES = {"dropped_seen"}
IN_A_ROW = 50
"""Looks without a program: one alone may meet the moment in which it is attached."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "1") as made:
        made.commit(
            lan(), wan(), FirewallRule("no-games", "forward", "drop", protocol="udp", ports=("9001",))
        )
        for setting in ("mcast_solicit=1", "app_solicit=0", "retrans_time_ms=50"):
            made.run("sysctl", "-qw", f"net.ipv4.neigh.wan0.{setting}")
        made.run(
            *["ip", "link", "add", "bare0", "type", "veth", "peer", "name", "bare1", "netns"], made.client_ns
        )
        made.run(*["ip", "addr", "add", "192.0.2.1/24", "dev", "bare0"])
        made.run(*["ip", "link", "set", "bare0", "up"])
        made.run("sysctl", "-qw", "net.ipv4.conf.bare0.rp_filter=1")
        netns.ip(made.client_ns, ["link set bare1 up", "addr add 192.0.2.2/24 dev bare1"])
        yield made


def send(rig: Rig, to: str, packets: int, port: int = 9, ttl: int = 64, source: str = CLIENT) -> None:
    with bound(rig.client_ns, source) as link:
        link.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        sent = 0
        while sent < packets:
            try:
                link.sendto(bytes(100), (to, port))
            except OSError:  # an ICMP error of one before
                continue
            sent += 1


def send_raw(rig: Rig, device: str, into: str, source: str, packets: int, is_wrong: bool = False) -> None:
    """UDP packets to `FAR` into an interface of the router, as they are."""
    address = bytes.fromhex(rig.json("ip", "-j", "link", "show", into)[0]["address"].replace(":", ""))
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 28, 7, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(FAR)
    )
    total = sum(struct.unpack("!10H", head))
    check = ~(total + (total >> 16) + (total >> 31)) & 0xFFFF
    head = head[:10] + struct.pack("!H", check ^ is_wrong) + head[12:]
    with netns.inside(rig.client_ns), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((device, 0))
        for _ in range(packets):
            out.send(
                address
                + bytes.fromhex("020000000099")
                + b"\x08\x00"
                + head
                + bytes.fromhex("0009000900080000")
            )


def no_neighbour(rig: Rig) -> None:
    send(rig, NOBODY, 300)


REASONS: dict[str, tuple[Callable[[Rig], None], str, str | None]] = {
    "NEIGH_FAILED": (no_neighbour, "wan0", "nobody"),
    "IP_INHDR": (lambda rig: send(rig, FAR, 300, ttl=1), "lan0", "network stack"),
    "IP_CSUM": (lambda rig: send_raw(rig, "c0", "lan0", CLIENT, 300, True), "lan0", "network stack"),
    "IP_RPFILTER": (
        lambda rig: send_raw(rig, "bare1", "bare0", "203.0.113.50", 300),
        "bare0",
        "network stack",
    ),
    "NO_SOCKET": (lambda rig: send(rig, ROUTER, 300, port=5), "lan0", "nobody"),
}


def told(rig: Rig, work: Callable[[Rig], None]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the tool says last, while `work` is done again and again."""
    wanted = {"tool": "drop-reasons", "arguments": {"seconds": 3}, "by": "admin"}
    _, (output,) = rig.agent.call_for_fds("tool_start", wanted)
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(0.05):
            work(rig)

    worker = threading.Thread(target=repeat)
    worker.start()
    with os.fdopen(output, "rb") as file:
        events = [json.loads(line) for line in file]
    is_over.set()
    worker.join()
    assert [event["event"] for event in events[-2:]] == ["summary", "end"]
    assert events[-1]["reason"] == "done"
    rows = {event["rank"]: event for event in events if event["event"] == "drop"}
    return list(rows.values()), events[-2]


@pytest.mark.parametrize("reason", REASONS)
def test_the_kernels_reason_is_named_with_its_interface(rig: Rig, reason: str) -> None:
    work, interface, owner = REASONS[reason]
    rows, _ = told(rig, work)
    (row,) = [row for row in rows if row["reason"] == reason and row["interface"] == interface]
    assert row["packets"] >= 200
    assert row["counted_by"] == owner and row["means"] == TEXTS[reason]
    assert 0 < row["packets_per_s"] <= row["packets"]


def test_what_a_rule_drops_is_the_rules_and_only_summed(rig: Rig) -> None:
    rows, summary = told(rig, lambda rig: send(rig, FAR, 300, port=9001))
    assert summary["owned"] >= 300
    assert not any(row["reason"] == "NETFILTER_DROP" for row in rows)
    assert summary["packets"] == sum(row["packets"] for row in rows) < 100


def findings(rig: Rig) -> dict[tuple[str, str], str]:
    listed = rig.agent.call("findings")["findings"]
    return {(item["code"], item["subject"]): item["sentence"] for item in listed}


def test_drops_of_the_stack_are_a_finding_that_names_why_until_they_end(rig: Rig) -> None:
    def said() -> str:
        send(rig, NOBODY, 200)
        return findings(rig).get(("stack-drops", "wan0"), "")

    sentence = until("the finding", said, 60)
    named = {code: f"{TEXTS[code]} ({code})" in sentence for code in ("NEIGH_FAILED", "NEIGH_QUEUEFULL")}
    assert any(named.values()), "which of them are more depends on how fast the packets come"
    until("it is over", lambda: ("stack-drops", "wan0") not in findings(rig), 60)


def test_nothing_is_attached_between_windows_nor_after_the_agent_was_killed(rig: Rig) -> None:
    until("a window", lambda: len(programs(rig, NAMES)) == 1)
    until("nothing between", lambda: not any(programs(rig, NAMES) for _ in range(IN_A_ROW)))
    (held,) = until("a window", lambda: programs(rig, NAMES))
    rig.kill_agent()
    until("the program is gone", lambda: not bpf_run.has_program(held))
    rig.start_agent("--look-interval-s", "1")


def opened(namespace: str) -> DroppedRows:
    with netns.inside(namespace):
        return DroppedRows(str(find_library()))


def counted(rows: DroppedRows, namespace: str) -> dict[tuple[str, str], int]:
    """By reason and interface, as that namespace names it."""
    with netns.inside(namespace):
        return {(row.reason, row.interface): row.packets for row in rows.read()}


def test_what_another_namespace_drops_and_what_was_before_is_not_counted(rig: Rig) -> None:
    with closing(opened(rig.router)) as own, closing(opened(rig.internet)) as other:
        own.watch(True)
        other.watch(True)
        send(rig, FAR, 100, ttl=1)
        own.watch(False)
        other.watch(False)
        send(rig, FAR, 100, ttl=1)
        assert counted(own, rig.router)["IP_INHDR", "lan0"] == 100
        assert "IP_INHDR" not in {reason for reason, _ in counted(other, rig.internet)}
        own.watch(True)
        own.watch(False)
        assert ("IP_INHDR", "lan0") not in counted(own, rig.router)


def test_drops_that_alternate_between_interfaces_are_all_counted(rig: Rig) -> None:
    with closing(opened(rig.router)) as rows:
        rows.watch(True)
        for _ in range(20):
            send(rig, FAR, 5, ttl=1)
            send_raw(rig, "bare1", "bare0", "192.0.2.2", 5, True)
            send_raw(rig, "c0", "lan0", CLIENT, 5, True)
        rows.watch(False)
        found = counted(rows, rig.router)
    assert found["IP_CSUM", "lan0"] == found["IP_CSUM", "bare0"] == found["IP_INHDR", "lan0"] == 100


def test_a_kernel_that_does_not_tell_is_said_and_the_rest_is_looked_at() -> None:
    def refused() -> DroppedRows:
        raise OSError(95, "this kernel does not tell why it drops packets (it needs Linux 5.17)")

    why = why_not_looked_at("drop_reasons", DropWatch(0.01, refused))
    assert why.startswith("this kernel does not tell why it drops packets")


def test_no_reason_is_both_told_and_somebody_elses() -> None:
    assert not set(TEXTS) & {*NO_DROPS, *OWNED}
    assert all(is_told(reason) for reason in TEXTS)
    assert counted_by("A_REASON_OF_TOMORROW") is None and is_told("A_REASON_OF_TOMORROW")
