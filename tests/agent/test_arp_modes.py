# SPDX-License-Identifier: Apache-2.0
"""For whom the router answers ARP, and which hosts it knows, with real ones behind its ports."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_dhcp_server import udhcpc
from tests.agent.test_effects import foreseen
from tests.polling import until
from weir.adapters import arp_guard, nft
from weir.adapters.arp_guard import Known
from weir.backends.arp import ArpBackend
from weir.backends.dhcp_leases import LeaseTable
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.model.arp import KnownHost
from weir.model.interface import Interface
from weir.parts.arp import ArpSpec

ROUTER, CLIENT, BEYOND = "10.64.0.1", "10.64.0.50", "203.0.113.1"
ALONE = "weir-test-arp"
MAC, OTHER = "02:00:5e:10:00:01", "02:00:5e:10:00:02"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        netns.ip(
            made.client_ns,
            ["addr flush dev c0", f"link set c0 address {MAC}", f"addr add {CLIENT}/24 dev c0"],
        )
        made.commit(lan(), wan())
        yield made


def guarded(*hosts: tuple[str, str]) -> Interface:
    return lan(arp="reply-only", known_hosts=tuple(KnownHost(*host) for host in hosts))


def ping(namespace: str, address: str, *words: str) -> None:
    command = ["ping", "-q", "-c1", "-W1", *words, address]
    subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, preexec_fn=netns.entering(namespace), timeout=20
    )


def answers(rig: Rig, address: str, *words: str) -> bool:
    """Whether somebody answers ARP for an address that the client has forgotten."""
    netns.ip(rig.client_ns, ["neigh flush dev c0"])
    ping(rig.client_ns, address, *words)
    rows = json.loads(rig.run("ip", "-j", "neigh", "show", address, namespace=rig.client_ns))
    return bool(rows and rows[0].get("lladdr"))


def line(rig: Rig) -> Any:
    return next(one for one in rig.explain("lan0", "interface")["lines"] if one["field"].startswith("arp"))


def test_a_host_that_is_not_known_gets_no_answer_and_is_not_looked_for(rig: Rig) -> None:
    assert answers(rig, ROUTER)
    said = foreseen(rig, guarded((CLIENT, OTHER)))["interface", "lan0"]
    assert said["effect"] == "drops-sessions" and "does not know lose the router" in said["text"]
    rig.commit(guarded((CLIENT, OTHER)))
    assert not answers(rig, ROUTER), "it has another MAC address than it should"
    ping(rig.router, CLIENT)
    assert MAC not in rig.run("ip", "-4", "neigh", "show", "dev", "lan0"), (
        "what was learnt before is forgotten"
    )
    assert line(rig)["agrees"] and line(rig)["system"].startswith("known now: 1; ARP packets of others")
    rig.commit(guarded(("10.64.0.51", MAC)))
    assert not answers(rig, ROUTER), "it has another address than it should"
    rig.commit(guarded((CLIENT, MAC)))
    assert answers(rig, ROUTER)


def test_what_somebody_else_did_is_put_right(rig: Rig) -> None:
    rig.commit(guarded((CLIENT, OTHER)))
    rig.run("nft", "delete", "table", "arp", "weir_arp")
    until("the table is back", lambda: OTHER in rig.run("nft", "list", "ruleset"))
    rig.run("nft", "flush", "set", "arp", "weir_arp", "known")
    rig.commit(guarded((CLIENT, OTHER), ("10.64.0.51", OTHER)))
    assert rig.run("nft", "list", "ruleset").count(OTHER) == 2
    rig.kill_agent()
    rig.start_agent()
    assert not answers(rig, ROUTER)
    rig.commit(lan())
    assert "weir_arp" not in rig.run("nft", "list", "tables") and answers(rig, ROUTER)


def test_hosts_of_its_dhcp_server_are_known(rig: Rig) -> None:
    server = DhcpServer("lan", "lan0", ranges=("10.64.0.100-10.64.0.109",))
    reserved = DhcpReservation("printer", "lan", CLIENT, mac=MAC)
    rig.commit(guarded(), server, reserved)
    assert answers(rig, ROUTER)
    rig.commit(delete=[("dhcp-reservation", "printer")])
    assert not answers(rig, ROUTER)
    netns.ip(rig.client_ns, ["addr flush dev c0"])
    state = lambda: rig.agent.call("state", {"kind": "dhcp-server"})["objects"].get("lan", {})  # noqa: E731
    until("Kea listens", lambda: state().get("serving"))
    leased = udhcpc(rig, mac=MAC)["ip"]
    netns.ip(rig.client_ns, [f"addr add {leased}/24 dev c0"])
    until("it is known by its lease", lambda: answers(rig, ROUTER))
    netns.ip(rig.client_ns, ["addr flush dev c0", f"addr add {CLIENT}/24 dev c0"])
    assert not answers(rig, ROUTER), "and by no other address"
    rig.commit(lan(), delete=[("dhcp-server", "lan")])


@pytest.mark.parametrize("by", [{"mac": MAC}, {"client_id": f"01:{MAC}"}])
def test_a_client_that_the_dhcp_server_blocks_is_not_known_by_anything(rig: Rig, by: dict[str, str]) -> None:
    server = DhcpServer("lan", "lan0", ranges=("10.64.0.100-10.64.0.109",))
    netns.ip(rig.client_ns, ["addr flush dev c0"])
    rig.commit(lan(), server)
    state = lambda: rig.agent.call("state", {"kind": "dhcp-server"})["objects"].get("lan", {})  # noqa: E731
    until("Kea listens", lambda: state().get("serving"))
    reserved = DhcpReservation("unwanted", "lan", "10.64.0.60", **by)
    rig.commit(reserved)
    leased = udhcpc(rig, "-x", f"0x3d:01{MAC.replace(':', '')}", mac=MAC)["ip"]
    assert leased == reserved.address
    netns.ip(rig.client_ns, [f"addr add {leased}/24 dev c0"])
    rig.commit(guarded((CLIENT, MAC)))
    assert answers(rig, ROUTER), "it is known by its lease"
    rig.commit(replace(reserved, block=True))
    until("its lease counts no more", lambda: not answers(rig, ROUTER))
    netns.ip(rig.client_ns, ["addr flush dev c0", f"addr add {CLIENT}/24 dev c0"])
    assert answers(rig, ROUTER) is ("mac" not in by), "`known_hosts` goes by MAC address"
    rig.commit(lan(), delete=[("dhcp-reservation", "unwanted"), ("dhcp-server", "lan")])


@pytest.mark.parametrize(("mode", "address"), [("proxy", BEYOND), ("local-proxy", "10.64.0.77")])
def test_it_answers_for_others(rig: Rig, mode: Any, address: str) -> None:
    netns.ip(rig.client_ns, [f"route replace {BEYOND}/32 dev c0"])
    assert not answers(rig, address)
    rig.commit(lan(arp=mode))
    until("it answers", lambda: answers(rig, address, "-c3"))
    assert line(rig)["agrees"]
    said = foreseen(rig, lan())["interface", "lan0"]
    assert said["effect"] == "drops-sessions" and "answers for others no more" in said["text"]
    rig.commit(lan())
    assert not answers(rig, address)


def test_leases_wait_for_a_table_that_somebody_took(tmp_path: Path) -> None:
    """Without a word: it is made again when what is in force is looked at."""
    backend = ArpBackend(LeaseTable(), tmp_path / "arp.json")
    wanted = {"lan0": ArpSpec("lan0", "reply-only", ((CLIENT, MAC),))}
    netns.create(ALONE)
    try:
        with netns.inside(ALONE):
            backend.follow(wanted)
            assert not arp_guard.held(nft.ruleset())
            backend.apply(backend.diff(backend.read(), wanted))
            backend.follow(wanted)
            assert arp_guard.known() == {Known("lan0", CLIENT, MAC)}
    finally:
        netns.remove(ALONE)
