# SPDX-License-Identifier: Apache-2.0
"""WireGuard tunnels and loopbacks that the router makes, with a kernel that has them and peers of the same.

`a` is a phone and `b` a branch, each behind a WAN of its own; `lan` is a customer. What the router does is
what its parts make of a document. Sealed texts are plain here: who opens them is tested without a kernel.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.topology import SEND, Peer, run
from weir import x25519
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry
from weir.adapters.netlink import Links
from weir.adapters.wireguard import Tunnels
from weir.agent.tunnels import Endpoints, TunnelStates
from weir.backends.backend import Comparison, Look
from weir.backends.fast import FastPaths
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.forwarding import ForwardingBackend
from weir.backends.modes import PortModes
from weir.backends.network import NetworkBackend
from weir.backends.ports import PortsBackend, PortsWanted
from weir.backends.wireguard import WireguardBackend
from weir.compiler.types import PortSpec
from weir.kinds.firewall import Firewall
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.document import Document
from weir.model.interface import Interface, Loopback, Wireguard
from weir.model.objects import ConfigObject
from weir.parts.effect import Sessions
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.wireguard import WIREGUARD, Spec

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

KEYS = {name: x25519.new_private() for name in ("router", "other", "a", "b")}
PUBLIC = {name: x25519.public_of(key) for name, key in KEYS.items()}
SHARED = x25519.new_shared()
WAN = {"a": "192.0.2", "b": "198.51.100"}
ADDRESS = {"a": "10.9.0.2", "b": "10.9.0.3"}
BRANCH = "10.77.0.0/24"
CUSTOMER = "10.64.0.2"
PHONE_SLOT, RATE_BPS, OFFERED_BPS, SECONDS, BURST = 3, 80_000, 800_000, 2.0, 20
PAYLOAD, IP_BYTES = 472, 500
OTHERS = 12
"""Packets beside those of a test: neighbours, and what ICMP says of a port that nobody listens on."""


class Router:
    """This namespace, brought to a document as the agent does it."""

    def __init__(self, folder: Path) -> None:
        self.links, self.tunnels = Links(), Tunnels()
        self.network = NetworkBackend(self.links, folder / "mtus")
        self.wireguard = WireguardBackend(
            self.tunnels, self.links, lambda _place, text: text, folder / "endpoints"
        )
        self.wanted: dict[str, Spec] = {}
        self.states = TunnelStates(self.tunnels, lambda: self.wanted)
        self.rules = FirewallBackend()

    def bring(self, *objects: ConfigObject) -> list[str]:
        """The steps for tunnels and interfaces; and then nothing is left to do."""
        document = Document(objects)
        wanted = FirewallWanted(FIREWALL.wanted(document), ())
        self.rules.apply(self.rules.diff(self.rules.read(), wanted))
        steps: list[str] = []
        for backend, asked in self._parts(document):
            difference = backend.diff(backend.read(), asked)
            steps += [f"{step.action} {step.text}" for step in difference.steps() if step.what != "setting"]
            backend.apply(difference)
            backend.verify(difference)
        for backend, asked in self._parts(document):
            assert not backend.diff(backend.read(), asked)
        self.wanted = dict(WIREGUARD.wanted(document))
        forwarding = ForwardingBackend()
        forwarding.apply(forwarding.diff(forwarding.read(), True))
        return steps

    def _parts(self, document: Document) -> list[tuple[Any, Any]]:
        return [(self.network, NETWORK.wanted(document)), (self.wireguard, WIREGUARD.wanted(document))]

    def effects(self, *objects: ConfigObject) -> dict[str, str]:
        """What bringing it to these would cost, by object."""
        asked = WIREGUARD.wanted(Document(objects))
        delta = WIREGUARD.delta(self.wanted, asked)
        look: Any = Look(self.wireguard, asked, delta, [], lambda _: Sessions(0, True))
        return {effect.id: effect.severity for effect in self.wireguard.effects(look)}

    def deviations(self, item: ConfigObject) -> list[str]:
        """The fields of which the kernel has something else; none of them tells a key that is secret."""
        found: Any = Comparison(self.wireguard, self.wanted)
        lines = list(self.wireguard.explain(found, item, ()))
        assert lines and not any(key in str(line) for key in (*KEYS.values(), SHARED) for line in lines)
        return [line.field for line in lines if not line.agrees]


class End:
    """A peer's end of the tunnel, in its namespace."""

    def __init__(self, name: str) -> None:
        gateway = f"{WAN[name]}.1"
        self.name = name
        self.peer = Peer(f"wan{name}", [], [f"{WAN[name]}.2/24", "10.77.0.1/32"], [gateway])
        self.namespace = f"weir-tunnel-{os.getpid()}-{name}"
        self.peer.name(self.namespace)
        self.peer.run("ip", "link", "add", "t0", "type", "wireguard")
        self.peer.run("ip", "address", "add", f"{ADDRESS[name]}/24", "dev", "t0")
        self.peer.run("ip", "link", "set", "t0", "up")
        for network in ("10.64.0.0/24", "10.255.0.1/32"):
            self.peer.run("ip", "route", "add", network, "dev", "t0")
        with netns.inside(self.namespace):
            self.tunnels = Tunnels()
            self.tunnels.set("t0", KEYS[name], 7000)
        self.knows("router")

    def knows(self, router: str, shared: str | None = None) -> None:
        allowed = ("10.9.0.0/24", "10.64.0.0/24", "10.255.0.1/32")
        self.tunnels.set_peer(
            "t0",
            PUBLIC[router],
            preshared_key=shared,
            allowed_ips=allowed,
            endpoint=(f"{WAN[self.name]}.1", 51820),
        )

    def ping(self, to: str, *words: str) -> subprocess.Popen[str]:
        return self.peer.begin("ping", "-q", *words, to)

    def reaches(self, to: str) -> bool:
        """With patience: keys are exchanged first, and an end whose router was made again notices that after
        15 s without an answer (KEEPALIVE_TIMEOUT + REKEY_TIMEOUT; WireGuard, protocol, 6.5)."""
        tries = (self.ping(to, "-c", "1", "-W", "4").communicate()[0] for _ in range(10))
        return any(" 0% packet loss" in said for said in tries)

    def close(self) -> None:
        self.tunnels.close()
        run("ip", "netns", "del", self.namespace)
        self.peer.close()


@pytest.fixture(scope="module")
def customer() -> Iterator[Peer]:
    made = Peer("lan0", [], [f"{CUSTOMER}/24"], ["10.64.0.1"])
    yield made
    made.close()


@pytest.fixture(scope="module")
def ends(customer: Peer) -> Iterator[dict[str, End]]:
    found: dict[str, End] = {}
    try:
        for name in ADDRESS:
            found[name] = End(name)
        yield found
    finally:
        for end in found.values():
            end.close()


@pytest.fixture
def router(tmp_path: Path, ends: dict[str, End]) -> Iterator[Router]:
    """With both peers; everything is undone at the end, which leaves no tunnel and no route of ours."""
    made = Router(tmp_path)
    try:
        made.bring(*whole())
        yield made
    finally:
        made.bring(*ports())
        made.links.close()
        made.tunnels.close()
    assert "wg0" not in run("ip", "link", "show")
    assert not run("ip", "route", "show", "table", "all", "proto", "87").strip()


def ports() -> list[ConfigObject]:
    wans = [Interface(f"wan{name}", "wan", (f"{WAN[name]}.1/24",)) for name in WAN]
    return [Interface("lan0", "lan", ("10.64.0.1/24",)), *wans, Firewall()]


def tunnel(key: str = "router") -> Interface:
    return Interface("wg0", "lan", addresses=("10.9.0.1/24",), wireguard=Wireguard(KEYS[key]))


def peer(name: str, **more: Any) -> WireguardPeer:
    allowed = (f"{ADDRESS[name]}/32", *((BRANCH,) if name == "b" else ()))
    return WireguardPeer(name, "wg0", **{"public_key": PUBLIC[name], "allowed_ips": allowed, **more})


def whole(*instead: ConfigObject) -> list[ConfigObject]:
    """Everything, with some of it in another form."""
    found: dict[tuple[str, str], ConfigObject] = {}
    for item in (*ports(), tunnel(), peer("a"), peer("b"), *instead):
        found[item.kind, item.id] = item
    return list(found.values())


def test_peers_reach_the_router_through_its_firewall_and_what_is_behind_it(
    router: Router, ends: dict[str, End]
) -> None:
    assert router.states.interfaces(None) == {"wg0": {"public_key": PUBLIC["router"]}}
    before = router.states.peers(["a"])["a"]
    assert (before["session"], before["last_handshake_at"], before["current_endpoint"]) == (
        "never",
        None,
        None,
    )
    for end in ends.values():
        assert end.reaches("10.9.0.1") and end.reaches(CUSTOMER)
    found = router.states.peers(None)
    assert {item["session"] for item in found.values()} == {"up"}
    assert found["a"]["current_endpoint"] == f"{WAN['a']}.2:7000" and found["a"]["rx_bytes"] > 0
    assert found["a"]["last_handshake_at"].endswith("Z")
    assert BRANCH in run("ip", "route", "show", "dev", "wg0", "proto", "87")
    assert "mtu 1420" in run("ip", "link", "show", "wg0")


def test_changing_one_peer_leaves_the_others_alone(router: Router, ends: dict[str, End]) -> None:
    """No ping of the branch is lost, and its keys stay, while the phone is changed, goes and comes back."""
    phone, branch = ends["a"], ends["b"]
    assert branch.reaches(CUSTOMER) and phone.reaches("10.9.0.1")
    before = router.tunnels.read("wg0").peers[PUBLIC["b"]].last_handshake_s
    flow = branch.ping(CUSTOMER, "-i", "0.1", "-c", "60", "-W", "5")
    phone.tunnels.remove_peer("t0", PUBLIC["router"])  # a packet of its own would take its endpoint back
    moved = peer("a", keepalive_s=7, endpoint=f"{WAN['a']}.2:7001")
    assert router.bring(*whole(moved)) == ["change a of wg0"]
    assert router.tunnels.read("wg0").peers[PUBLIC["a"]].endpoint == (f"{WAN['a']}.2", 7001)
    router.bring(*whole(peer("a", preshared_key=SHARED)))
    assert len(router.bring(*(item for item in whole() if item.id != "a"))) == 1
    router.bring(*whole(peer("a", preshared_key=SHARED)))
    assert router.states.peers(None)["a"]["session"] == "never"
    assert " 0% packet loss" in flow.communicate(timeout=120)[0]
    assert router.tunnels.read("wg0").peers[PUBLIC["b"]].last_handshake_s == before
    phone.knows("router", SHARED)
    assert phone.reaches("10.9.0.1"), "with the preshared key at both ends"
    phone.knows("router")


def test_what_a_change_costs_is_said_and_is_so(router: Router, ends: dict[str, End]) -> None:
    assert router.effects(*whole(peer("a", keepalive_s=9, endpoint="192.0.2.9:1"))) == {}
    assert router.effects(*whole(peer("a", public_key=PUBLIC["other"]))) == {"a": "drops-sessions"}
    assert router.effects(*whole(peer("b", allowed_ips=("10.9.0.3/32",)))) == {"b": "drops-sessions"}
    assert router.effects(*whole(tunnel("other"))) == {"wg0": "drops-sessions"}
    branch = ends["b"]
    assert branch.reaches("10.9.0.1")
    router.bring(*whole(tunnel("other")))
    assert " 0% packet loss" not in branch.ping("10.9.0.1", "-c", "1", "-W", "3").communicate()[0]
    router.bring(*whole())
    assert branch.reaches("10.9.0.1"), "the key that peers know is there again"


def test_what_somebody_else_does_to_it_is_repaired(router: Router, ends: dict[str, End]) -> None:
    run("ip", "route", "del", BRANCH, "dev", "wg0")
    router.tunnels.remove_peer("wg0", PUBLIC["a"])
    router.tunnels.set_peer("wg0", PUBLIC["other"])
    assert router.deviations(tunnel()) == ["peers"]
    assert router.deviations(peer("a")) == ["public_key"]
    assert router.deviations(peer("b")) == ["routes"]
    assert set(router.bring(*whole())) == {
        f"remove wg0 {PUBLIC['other']}",
        "change a of wg0",
        f"add {BRANCH} by wg0",
    }
    run("ip", "link", "del", "wg0")
    assert router.deviations(tunnel()) == ["wireguard"] and router.deviations(peer("a")) == ["interface"]
    assert "add wg0: wireguard" in router.bring(*whole())
    assert router.deviations(tunnel()) == router.deviations(peer("a")) == router.deviations(peer("b")) == []
    assert ends["b"].reaches(CUSTOMER)


def test_a_peer_that_moved_is_looked_up_again(router: Router, ends: dict[str, End]) -> None:
    """Its name leads to another address, and there was no handshake for long."""
    router.bring(*whole(peer("a", endpoint="phone.example.net:7000")))
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[tuple[str, int]]:
        asked.append(host)
        return [(f"{WAN['a']}.2", port)]

    endpoints = Endpoints(router.tunnels, lambda: router.wanted, resolve)
    endpoints.look()
    endpoints.look()
    assert asked == ["phone.example.net"], "once in 30 s"
    assert router.tunnels.read("wg0").peers[PUBLIC["a"]].endpoint == (f"{WAN['a']}.2", 7000)
    assert " 0% packet loss" in run("ping", "-q", "-c", "3", "-W", "6", ADDRESS["a"]) or ends["a"].reaches(
        "10.9.0.1"
    )
    Endpoints(router.tunnels, lambda: router.wanted, resolve).look()
    assert asked == ["phone.example.net"], "a session that is alive is left alone"


def arrived(end: Peer, device: str) -> int:
    """Packets that came in there so far."""
    (link,) = json.loads(end.run("ip", "-j", "-s", "link", "show", device))
    return int(link["stats64"]["rx"]["packets"])


@pytest.mark.on_ours
def test_a_queue_on_a_tunnel_limits(router: Router, ends: dict[str, End], customer: Peer) -> None:
    """A tunnel's packets have no Ethernet header; they are classified, charged and held all the same. Both
    ways are offered ten times as much as the queue has, paced and policed."""
    phone = ends["a"]
    assert phone.reaches(CUSTOMER)
    with Datapath.open(None, capacity=256) as datapath, Loaded(datapath) as loaded:
        datapath.change_prefixes([PrefixEntry(0, 4, value4(ADDRESS["a"]), 32, PHONE_SLOT)])
        fast = FastPaths("", lambda _: None, lambda _: False)
        backend = PortsBackend(datapath, router.links, PortModes({}), fast)
        for shaper, mode, limit_ns in (("auto", "edt", SECOND_NS // 5), ("police", "police", 0)):
            datapath.clear_class(PHONE_SLOT)
            loaded.limit(PHONE_SLOT, RATE_BPS, burst_bytes=BURST * IP_BYTES, limit_ns=limit_ns)
            wanted = PortsWanted({name: PortSpec(name, "lan", shaper, 0, 0) for name in ("lan0", "wg0")}, ())
            held = backend.read()
            decision = backend.decisions(held, wanted)["wg0"]
            assert decision.mode == mode and "no Ethernet header" in decision.fast_reason
            found = backend.diff(held, wanted)
            backend.apply(found)
            backend.verify(found)
            assert_limited(loaded, UPLOAD, phone.peer, CUSTOMER, customer, "far0")
            assert_limited(loaded, DOWNLOAD, customer, ADDRESS["a"], phone.peer, "t0")
        backend.apply(backend.diff(backend.read(), PortsWanted({}, ())))


def assert_limited(
    loaded: Loaded, direction: int, sender: Peer, to: str, receiver: Peer, device: str
) -> None:
    before, started = arrived(receiver, device), time.monotonic()
    sender.start(SEND, to, 5001, PAYLOAD, OFFERED_BPS, SECONDS, "0.0.0.0").communicate()
    most = BURST + (time.monotonic() - started + 1) * RATE_BPS / 8 / IP_BYTES + OTHERS
    counted = loaded.counters(PHONE_SLOT, direction)
    assert BURST <= counted["packets"] <= most, (direction, counted)
    assert counted["drop_packets"] > 2 * most, (direction, counted)
    assert arrived(receiver, device) - before <= most, direction


def test_a_loopback_is_there_and_answers(router: Router, ends: dict[str, End]) -> None:
    loopback = Interface("lo1", addresses=("10.255.0.1/32",), loopback=Loopback())
    assert "add lo1: dummy" in router.bring(*whole(loopback))
    assert ends["b"].reaches("10.255.0.1")
    run("ip", "link", "set", "lo1", "down")
    assert router.bring(*whole(loopback)) == ["change lo1 up"]
    run("ip", "link", "del", "lo1")
    assert "add lo1: dummy" in router.bring(*whole(loopback))
    assert router.bring(*whole()) == ["remove lo1"]


def test_what_others_made_under_its_name_stays(router: Router) -> None:
    run("ip", "link", "add", "wg1", "type", "dummy")
    try:
        other = Interface("wg1", "lan", wireguard=Wireguard(KEYS["other"], 51821))
        with pytest.raises(Exception, match="wg1 is a dummy that Weir did not make"):
            router.bring(*whole(other))
    finally:
        run("ip", "link", "del", "wg1")
