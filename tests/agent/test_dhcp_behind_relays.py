# SPDX-License-Identifier: Apache-2.0
"""A DHCP server for a network behind relay agents: real clients, our relay two routers away, and Kea here."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from lab import netns, process
from tests.agent.rig import Rig, running, wan
from tests.polling import until
from weir.kinds.dhcp_relayed import Relayed
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.firewall import Firewall
from weir.model.codec import to_stored_json
from weir.model.interface import Interface

ASKED, RELAY, CLIENT_MAC = "203.0.113.2", "10.70.0.1", "02:00:5e:10:00:70"
WAN = wan()
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))
HERE = DhcpServer("here", "lan0", ranges=("10.64.0.100-10.64.0.109",))
POLICY = Firewall(masquerade=True, drop_new_from_wan=True)
FAR = DhcpServer(
    "far",
    "wan0",
    ranges=("10.70.0.100-10.70.0.109",),
    dns_servers=("192.0.2.53",),
    relayed=Relayed("10.70.0.0/24", (RELAY,)),
)


def connect(rig: Rig, far: str) -> None:
    """client k0 -- k1 far m0 -- m1 internet i0 -- wan0 router."""
    netns.create(far)
    netns.ip(
        rig.internet,
        [
            f"link add m1 type veth peer name m0 netns {far}",
            "addr add 10.99.0.1/30 dev m1",
            "link set m1 up",
            "route add 10.70.0.0/24 via 10.99.0.2",
        ],
    )
    netns.ip(
        far,
        [
            *("link set lo up", "addr add 10.99.0.2/30 dev m0", "link set m0 up"),
            "route add default via 10.99.0.1",
            f"link add k1 type veth peer name k0 netns {rig.client_ns}",
            f"addr add {RELAY}/24 dev k1",
            "link set k1 up",
        ],
    )
    for name in (far, rig.internet):
        rig.run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=name)
    netns.ip(rig.client_ns, [f"link set k0 address {CLIENT_MAC}", "link set k0 up"])


def start_relay(rig: Rig, far: str) -> None:
    """As the agent of the far router has it run."""
    folder = rig.folder / "far"
    for name in ("config", "control"):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o777)
    with netns.inside(far):
        index = socket.if_nametoindex("k1")
    order = {"ifname": "k1", "index": index, "address": RELAY, "servers": [ASKED], "option_82": True}
    relays = {"k1": {**order, "remote_id": "", "trusted": False, "max_hops": 4}}
    config = folder / "config/relays.json"
    config.write_text(json.dumps({"tag": "far", "relays": relays}))
    rig.spawn("far-relay", (sys.executable, "-m", "weir.relay", str(config)), netns.entering(far))
    until("the relay listens", lambda: f"{RELAY}:67" in rig.run("ss", "-uln", namespace=far))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        far = f"{made.name}-s"
        netns.ip(made.client_ns, ["addr flush dev c0"])
        try:
            connect(made, far)
            start_relay(made, far)
            made.commit(WAN, LAN, POLICY, HERE, FAR)
            made.run("ip", "route", "replace", "10.70.0.0/24", "via", "203.0.113.1")
            for name in ("far", "here"):
                until(f"Kea listens for {name}", lambda name=name: learnt(made, name).get("serving"))
            yield made
        finally:
            netns.remove(far)


def learnt(rig: Rig, name: str = "far", kind: str = "dhcp-server") -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"].get(name, {})
    return found


def pid_of(rig: Rig, daemon: str = "dhcp-relayed") -> int:
    return int((rig.folder / "daemons" / daemon / "pid").read_text().split()[0])


def leases(rig: Rig, words: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rig.agent.call("leases", {"words": words})["leases"]
    return found


def udhcpc(rig: Rig, device: str = "k0", tries: int = 4) -> dict[str, str]:
    """What busybox' client was given, as its script is told it; empty when nobody gave anything."""
    script, said = rig.folder / "udhcpc.sh", rig.folder / "udhcpc.said"
    script.write_text(f'#!/bin/sh\n[ "$1" = bound ] && env > {said}\nexit 0\n')
    script.chmod(0o755)
    said.unlink(missing_ok=True)
    run = (
        "busybox",
        "udhcpc",
        "-i",
        device,
        "-n",
        "-q",
        "-f",
        "-t",
        str(tries),
        "-T",
        "1",
        "-s",
        str(script),
    )
    subprocess.run(
        ("timeout", "--kill-after=1", "12", *run),
        capture_output=True,
        check=False,
        preexec_fn=netns.entering(rig.client_ns),
    )
    lines = said.read_text(errors="replace").splitlines() if said.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line)


def message(kind: int, *, relay: str = "0.0.0.0", own: str = "0.0.0.0", mac: str = CLIENT_MAC) -> bytes:
    body = struct.pack("!BBBBIHH", 1, 1, 6, 0, 4711, 0, 0) + socket.inet_aton(own) + bytes(8)
    body += socket.inet_aton(relay) + bytes.fromhex(mac.replace(":", "")).ljust(16, b"\0") + bytes(192)
    return (body + bytes.fromhex("63825363") + bytes((53, 1, kind)) + b"\xff").ljust(300, b"\0")


def ask(namespace: str, source: tuple[str, int], said: bytes, within_s: float = 5.0) -> tuple[bytes, str]:
    """The answer of the server, and who sent it; nothing for none."""
    with netns.inside(namespace), closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as handle:
        handle.bind(source)
        handle.settimeout(within_s)
        handle.sendto(said, (ASKED, 67))
        try:
            body, (server, _) = handle.recvfrom(2048)
        except TimeoutError:
            return b"", ""
    return body, str(server)


def test_a_client_two_routers_away_gets_its_address_with_the_relay_as_gateway(rig: Rig) -> None:
    given = udhcpc(rig)
    assert given["ip"] == "10.70.0.100" and given["subnet"] == "255.255.255.0"
    assert (given["router"], given["dns"], given["serverid"]) == (RELAY, "192.0.2.53", ASKED)
    (lease,) = leases(rig, "10.70")
    assert (lease["server"], lease["interface"], lease["mac"]) == ("far", None, CLIENT_MAC)
    assert learnt(rig) == {"serving": True, "lease_count": 1, "address_count": 10}


def test_it_renews_by_itself_past_the_relay(rig: Rig) -> None:
    address = udhcpc(rig)["ip"]
    netns.ip(rig.client_ns, [f"addr add {address}/24 dev k0", f"route add {ASKED}/32 via {RELAY}"])
    try:
        body, server = ask(rig.client_ns, (address, 68), message(3, own=address))
    finally:
        netns.ip(rig.client_ns, ["addr flush dev k0"])
    assert (socket.inet_ntoa(body[16:20]), body[240:243], server) == (address, bytes((53, 1, 5)), ASKED)


def test_a_host_is_reserved_by_what_the_relay_says_of_its_place(rig: Rig) -> None:
    rig.commit(DhcpReservation("door", "far", "10.70.0.50", circuit_id="k1", hostname="door"))
    pid = pid_of(rig)
    try:
        assert udhcpc(rig)["ip"] == "10.70.0.50"
        (lease,) = leases(rig, "10.70.0.50")
        assert lease["reservation"] == "door"
        assert learnt(rig, "door", "dhcp-reservation")["leased_until"] is not None
        assert rig.explain("door", "dhcp-reservation")["agrees"] is True
    finally:
        rig.commit(delete=[("dhcp-reservation", "door")])
    assert pid_of(rig) == pid


@pytest.mark.parametrize("by", [{"mac": CLIENT_MAC}, {"circuit_id": "k1"}])
def test_a_blocked_client_gets_no_answer_by_relay_nor_by_itself(rig: Rig, by: dict[str, str]) -> None:
    held, pid = udhcpc(rig)["ip"], pid_of(rig)
    blocked = DhcpReservation("unwanted", "far", "10.70.0.51", block=True, **by)
    rig.commit(blocked)
    netns.ip(rig.client_ns, [f"addr add {held}/24 dev k0", f"route add {ASKED}/32 via {RELAY}"])
    try:
        assert udhcpc(rig, tries=1) == {}
        if "mac" in by:
            assert leases(rig, CLIENT_MAC) == []
            assert ask(rig.client_ns, (held, 68), message(3, own=held), 0.7) == (b"", "")
    finally:
        netns.ip(rig.client_ns, ["addr flush dev k0"])
        rig.commit(delete=[("dhcp-reservation", "unwanted")])
    assert udhcpc(rig)["ip"] == held and pid_of(rig) == pid


def test_nobody_else_reaches_it(rig: Rig) -> None:
    """Who is neither in the network nor a relay agent: at the WAN, and in a LAN, which reaches everything."""
    netns.ip(rig.client_ns, ["addr add 10.64.0.2/24 dev c0", f"route add {ASKED}/32 via 10.64.0.1"])
    forged = message(1, relay=RELAY)
    try:
        before = refused(rig)
        assert ask(rig.client_ns, ("10.64.0.2", 67), forged, 0.5) == (b"", "")
        assert ask(rig.internet, ("203.0.113.1", 67), forged, 0.5) == (b"", "")
        assert refused(rig) == before + 2
    finally:
        netns.ip(rig.client_ns, ["addr flush dev c0"])


def refused(rig: Rig) -> int:
    found = rig.json("nft", "-j", "list", "counter", "inet", "weir", "f_dhcp_relays")["nftables"]
    return next(int(item["counter"]["packets"]) for item in found if "counter" in item)


def test_a_relay_that_is_not_named_gets_no_answer_though_it_may_send(rig: Rig) -> None:
    other = "10.70.0.9"
    far = f"{rig.name}-s"
    netns.ip(far, [f"addr add {other}/32 dev k1"])
    question = message(1, relay=other, mac="02:00:5e:10:00:79")
    try:
        assert ask(far, (other, 67), question, 0.7) == (b"", "")
        rig.commit(replace(FAR, relayed=Relayed("10.70.0.0/24", (RELAY, other))))
        body, server = ask(far, (other, 67), question)
        assert socket.inet_ntoa(body[16:20]).startswith("10.70.0.10") and server == ASKED
    finally:
        rig.commit(FAR)
        netns.ip(far, [f"addr del {other}/32 dev k1"])


def test_a_change_loses_no_lease_and_disturbs_no_other_server(rig: Rig) -> None:
    held, pids = udhcpc(rig)["ip"], [pid_of(rig, name) for name in ("dhcp", "dhcp-relayed")]
    rig.commit(replace(FAR, lease_s=7200, ranges=("10.70.0.90-10.70.0.109",)))
    assert [pid_of(rig, name) for name in ("dhcp", "dhcp-relayed")] == pids
    assert [lease["address"] for lease in leases(rig, CLIENT_MAC)] == [held]
    given = udhcpc(rig)
    assert (given["ip"], given["lease"]) == (held, "7200")
    assert udhcpc(rig, "c0")["ip"].startswith("10.64.0.10"), "the other server serves its interface"
    rig.commit(FAR)


def test_a_killed_one_is_started_again_and_knows_its_leases(rig: Rig) -> None:
    held, pid, other = udhcpc(rig)["ip"], pid_of(rig), pid_of(rig, "dhcp")
    os.kill(pid, signal.SIGKILL)
    until("another one runs", lambda: pid_of(rig) != pid)
    until("it listens", lambda: learnt(rig).get("serving"))
    assert udhcpc(rig)["ip"] == held and pid_of(rig, "dhcp") == other


def test_it_is_explained_where_it_runs(rig: Rig) -> None:
    answer = rig.explain("far", "dhcp-server")
    assert answer["agrees"] is True
    assert {line["part"] for line in answer["lines"]} == {"dhcp-relayed", "firewall"}
    assert f"it listens on wan0, at {ASKED}" in [line["system"] for line in answer["lines"]]
    assert {line["part"] for line in rig.explain("here", "dhcp-server")["lines"]} == {"dhcp"}


def test_what_its_removal_costs_is_said_first(rig: Rig) -> None:
    change = {"kind": "dhcp-server", "id": "far", "new": to_stored_json(replace(FAR, disabled=True))}
    found = rig.agent.call("preview", lines=("changes", [json.dumps(change).encode()]))["effects"]
    assert [(item["effect"], item["id"]) for item in found] == [("resets", "far")]
    assert "nobody in 10.70.0.0/24 gets an address any more" in found[0]["text"]


def test_without_such_a_server_it_does_not_run(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(replace(FAR, disabled=True))
    until("it has ended", lambda: process.started_ticks(pid) == -1)
    assert leases(rig, "10.70") == []
    rig.commit(FAR)
    until("it listens again", lambda: learnt(rig).get("serving"))
    assert udhcpc(rig)["ip"].startswith("10.70.0.")
