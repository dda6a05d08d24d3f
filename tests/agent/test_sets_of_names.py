# SPDX-License-Identifier: Apache-2.0
"""Sets that have the addresses of names, which a real agent asks of a real name server."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.name_server import NameServer, name_server
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import nft, nft_elements
from weir.kinds.dns import Dns
from weir.kinds.dns_record import DnsRecord
from weir.kinds.dns_upstream import DnsUpstream
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.model.problem import ApplyFailed, Problem

SERVER = "203.0.113.1"
OFFICE, SHOP = "office.example", "shop.example"
SHUT = FirewallRule("shut", chain="forward", action="drop", destination_set="names")
ENTRY = SetEntry("beside", "names", "192.0.2.128/25")
V4, V6 = "a4_32_names", "a6_128_names"


class NamedRig(Rig):
    """A router whose own name servers are those of the test."""

    def __init__(self) -> None:
        super().__init__()
        resolvers = self.folder / "resolv.conf"
        resolvers.write_text(f"nameserver {SERVER}\n")
        self.own_files = {"/etc/resolv.conf": str(resolvers)}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    made = NamedRig()
    try:
        made.start_agent("--look-interval-s", "0.2")
        made.commit(lan(), wan())
        made.run("ip", "route", "add", "192.0.2.0/24", "via", SERVER)
        made.run("ip", "route", "replace", "10.64.0.0/16", "via", "203.0.113.2", namespace=made.internet)
        yield made
    finally:
        print(made.agent_log())
        made.close()


@pytest.fixture
def server(rig: Rig) -> Iterator[NameServer]:
    with name_server(rig, SERVER) as found:
        found.says(OFFICE, "192.0.2.10", "2001:db8::10")
        found.says(SHOP, "192.0.2.20")
        yield found
    forget(rig)


def forget(rig: Rig) -> None:
    known = [("firewall-rule", "shut"), ("set-entry", "beside"), ("set-entry", "twice"), ("set", "names")]
    known += [("dns", "dns"), ("dns-record", "inside")]
    with rig.store.write() as transaction:
        held = [key for key in known if transaction.stored(*key) is not None]
    rig.commit(delete=held)


def named(*names: str, **more: Any) -> Set:
    return Set("names", source="dns", names=names or (OFFICE, SHOP), **more)


def keys(rig: Rig, name: str) -> set[str]:
    """What the kernel has in one of its sets; nothing without it."""
    with netns.inside(rig.router):
        try:
            return {str(ipaddress.ip_address(key)) for key in nft_elements.keys(nft.TABLE, name)}
        except ApplyFailed as problem:
            assert problem.code == nft_elements.NOT_THERE
            return set()


def state(rig: Rig) -> dict[str, Any]:
    return dict(rig.agent.call("state", {"kind": "set", "ids": ["names"]})["objects"].get("names", {}))


def row(rig: Rig, name: str) -> dict[str, Any]:
    return next(item for item in state(rig)["resolved"] if item["name"] == name)


def refreshed(rig: Rig) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def is_done() -> bool:
        try:
            found.append(rig.agent.call("set_refresh", {"id": "names"}))
        except Problem as problem:
            assert problem.code == "refresh-busy", problem
        return bool(found)

    until("names were asked for", is_done, 60)
    return found[0]


def has(rig: Rig, entries: int) -> None:
    until(f"it has {entries} entries", lambda: state(rig).get("entries") == entries)


def passes(rig: Rig, address: str) -> bool:
    rig.run("ip", "address", "replace", f"{address}/32", "dev", "i0", namespace=rig.internet)
    try:
        rig.run("ping", "-c", "1", "-W", "1", address, namespace=rig.client_ns)
    except AssertionError:
        return False
    return True


def test_names_are_asked_for_and_rules_match_their_addresses(rig: Rig, server: NameServer) -> None:
    rig.commit(named(), SHUT)
    has(rig, 3)
    assert keys(rig, V4) == {"192.0.2.10", "192.0.2.20"} and keys(rig, V6) == {"2001:db8::10"}
    assert not passes(rig, "192.0.2.10") and passes(rig, "192.0.2.11")
    told = row(rig, OFFICE)
    assert (told["ipv4"], told["ipv6"], told["error"]) == (1, 1, None)
    assert told["answered_at"] and told["next_at"] > told["answered_at"]
    assert state(rig)["last_error"] is None and state(rig)["fetched_at"]
    assert rig.explain("names", "set")["agrees"], rig.explain("names", "set")


def test_other_addresses_cost_no_revision_and_no_counter_and_the_old_ones_stay_a_while(
    rig: Rig, server: NameServer
) -> None:
    rig.commit(named(), SHUT)
    has(rig, 3)
    revision = rig.status()["revision"]
    rig.run("nft", "reset", "counter", "inet", "weir", "r_shut")
    assert not passes(rig, "192.0.2.10")
    server.says(OFFICE, "192.0.2.11", "192.0.2.12")
    answer = refreshed(rig)
    assert answer | {"took_ms": 0} == {
        "fetched": True, "answer": "all its names were answered", "entries": 5, "took_ms": 0,
    }  # fmt: skip
    assert keys(rig, V4) == {f"192.0.2.{last}" for last in (10, 11, 12, 20)}
    assert keys(rig, V6) == {"2001:db8::10"}
    assert "packets 1 " in rig.run("nft", "list", "counter", "inet", "weir", "r_shut")
    assert rig.status()["revision"] == revision
    rig.run("nft", "add element inet weir a4_32_names { 10.9.9.9 }")
    until("what somebody adds is taken away", lambda: "10.9.9.9" not in keys(rig, V4))


def test_a_set_of_names_has_entries_besides(rig: Rig, server: NameServer) -> None:
    """An address of both goes when neither has it."""
    twice = SetEntry("twice", "names", "192.0.2.20/32")
    rig.commit(named(), ENTRY, SHUT)
    has(rig, 4)
    assert not passes(rig, "192.0.2.200") and not passes(rig, "192.0.2.10")
    rig.commit(twice)
    has(rig, 4)
    rig.commit(named(OFFICE))
    until("the name's address is the entry's alone", lambda: row(rig, OFFICE) and not_row(rig, SHOP))
    assert keys(rig, V4) == {"192.0.2.10", "192.0.2.20"}
    rig.commit(named())
    until("the name is back", lambda: row(rig, SHOP)["ipv4"] == 1)
    rig.commit(delete=[("set-entry", "twice")])
    assert keys(rig, V4) == {"192.0.2.10", "192.0.2.20"}, "it is the name's still"
    rig.commit(twice, delete=[("set-entry", "beside")])
    assert "a4_25_names" not in rig.run("nft", "list", "table", "inet", "weir")
    assert keys(rig, V4) == {"192.0.2.10", "192.0.2.20"} and not passes(rig, "192.0.2.20")
    assert rig.explain("names", "set")["agrees"], rig.explain("names", "set")
    rig.commit(named(disabled=True))
    assert V4 not in rig.run("nft", "list", "table", "inet", "weir")


def not_row(rig: Rig, name: str) -> bool:
    return all(item["name"] != name for item in state(rig)["resolved"])


def test_a_name_that_is_configured_no_more_takes_its_addresses_along(rig: Rig, server: NameServer) -> None:
    rig.commit(named(), SHUT)
    has(rig, 3)
    rig.commit(named(SHOP))
    until("the others are gone", lambda: keys(rig, V4) == {"192.0.2.20"})
    until("so is their set", lambda: "a6_128_names" not in rig.run("nft", "list", "table", "inet", "weir"))


def test_the_routers_own_name_service_is_asked_if_it_is_on(rig: Rig, server: NameServer) -> None:
    """It knows names that nobody else knows."""
    inside = DnsRecord("inside", name="nas.home.example", type="A", value="10.64.0.9")
    rig.commit(Dns(enabled=True, servers=(DnsUpstream(SERVER),)), inside, named("nas.home.example", SHOP))
    until("both are known", lambda: keys(rig, V4) == {"10.64.0.9", "192.0.2.20"}, 30)


BAD = {
    "it is not there any more": (lambda server: server.says(OFFICE), f"{OFFICE}: no such name (what it has"),
    "it is refused": (lambda server: server.refuse(OFFICE), f"{OFFICE}: 203.0.113.1: refused (what it has"),
    "nobody answers": (NameServer.be_silent, f"{OFFICE}: 203.0.113.1 did not answer within 2 s (what it has"),
    "it is nowhere": (
        lambda server: server.says(OFFICE, "0.0.0.0"),
        f"{OFFICE}: IPv4: it has only addresses that no other host has, such as 0.0.0.0 (what it has",
    ),
    "it has too many": (
        lambda server: server.says_many((OFFICE, f"198.51.100.{last}") for last in range(1, 66)),
        f"{OFFICE}: IPv4: it has more than 64 addresses: such an answer is not taken (what it has",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_without_a_good_answer_the_last_addresses_stay(rig: Rig, server: NameServer, name: str) -> None:
    rig.commit(named())
    has(rig, 3)
    answered_at = row(rig, OFFICE)["answered_at"]
    bring_about, why = BAD[name]
    bring_about(server)
    answer = refreshed(rig)
    assert not answer["fetched"] and answer["answer"].startswith(why), answer
    assert {"192.0.2.10", "192.0.2.20"} == keys(rig, V4) and keys(rig, V6) == {"2001:db8::10"}
    told = row(rig, OFFICE)
    assert "stays for" in told["error"] and answered_at <= told["answered_at"]
    assert state(rig)["last_error"] == answer["answer"]
    server.speak()
    if name == "it is refused":
        server.answer_again(OFFICE)
    server.says(OFFICE, "192.0.2.10")
    assert refreshed(rig)["fetched"] and state(rig)["last_error"] is None


def test_it_is_asked_again_by_itself_when_the_answer_is_over(rig: Rig, server: NameServer) -> None:
    """After 30 s at the least, however short its time is."""
    server.says(OFFICE, "192.0.2.10", ttl_s=1)
    rig.commit(named())
    until("it was asked for", lambda: state(rig).get("entries") == 2)
    begun = time.monotonic()
    server.says(OFFICE, "192.0.2.13", ttl_s=1)
    until("it has the other one, too", lambda: "192.0.2.13" in keys(rig, V4), 60)
    took_s = time.monotonic() - begun
    assert 25 < took_s < 45


def test_what_names_had_outlives_a_kill_and_a_restart_without_network(rig: Rig, server: NameServer) -> None:
    """All that was in the kernel is gone, as after a restart of the machine, and nobody answers."""
    rig.commit(named(), replace(SHUT, destination_set=None, source_set="names"))
    has(rig, 3)
    before = state(rig)
    server.be_silent()
    asked_without_answer_in_time(rig)
    rig.run("nft", "flush", "ruleset")
    rig.start_agent("--look-interval-s", "0.2")
    assert keys(rig, V4) == {"192.0.2.10", "192.0.2.20"} and keys(rig, V6) == {"2001:db8::10"}
    assert "@a4_32_names" in rig.run("nft", "list", "table", "inet", "weir")
    assert state(rig)["fetched_at"] == before["fetched_at"]
    until("it is told", lambda: state(rig)["last_error"], 30)
    assert (row(rig, OFFICE)["ipv4"], row(rig, SHOP)["ipv4"]) == (1, 1)
    server.speak()
    assert refreshed(rig)["fetched"]


def asked_without_answer_in_time(rig: Rig) -> None:
    """The agent is killed while it waits for the name server."""

    def ask() -> None:
        with suppress(Problem, AssertionError):
            refreshed(rig)

    asking = threading.Thread(target=ask)
    asking.start()
    until("it asks", partial(is_asking, rig))
    rig.kill_agent()
    asking.join()
    until("who asked ended with it", lambda: not is_asking(rig))


def is_asking(rig: Rig) -> bool:
    return resolver_of(rig) is not None


def resolver_of(rig: Rig) -> Path | None:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"weir.courier.resolve" in (folder / "cmdline").read_bytes():
                return folder
        except OSError:
            continue
    return None


def test_who_asks_has_no_rights(rig: Rig, server: NameServer) -> None:
    """It is nobody, without capabilities, and its arguments say nothing of the names."""
    server.be_silent()
    rig.commit(named())
    until("it asks", partial(is_asking, rig))
    process = resolver_of(rig)
    assert process is not None
    until("it has given up its rights", lambda: has_no_rights(process), 20.0)
    assert OFFICE.encode() not in (process / "cmdline").read_bytes()


def has_no_rights(process: Path) -> bool:
    told = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    is_nobody = told["Uid"].split() == ["65534"] * 4 and told["Groups"].split() == []
    may_nothing = {told[name] for name in ("CapEff", "CapPrm", "CapInh")} == {"0" * 16}
    return is_nobody and may_nothing and told["NoNewPrivs"] == "1"


def test_all_of_256_names_change_and_no_commit_waits(rig: Rig, server: NameServer) -> None:
    names = [f"n{number}.example" for number in range(256)]
    server.says_many((name, f"198.51.{number >> 7}.{number & 127}") for number, name in enumerate(names))
    rig.commit(named(*names))
    has(rig, 256)
    revision = rig.status()["revision"]
    server.forget_many(names)
    server.says_many((name, f"198.51.{2 + (n >> 7)}.{n & 127}") for n, name in enumerate(names))
    begun = time.monotonic()
    assert refreshed(rig)["fetched"]
    took_s = time.monotonic() - begun
    assert len(keys(rig, V4)) == 512 and rig.status()["revision"] == revision
    begun = time.monotonic()
    rig.commit(Firewall(allowed_wan_tcp_ports=(999,)))
    commit_s = time.monotonic() - begun
    print(f"256 names: {took_s:.2f} s; a commit afterwards: {commit_s:.2f} s")
    assert took_s < 20.0 and commit_s < 3.0
    assert len(keys(rig, V4)) == 512


def test_a_set_that_comes_and_goes_while_it_is_asked_for_leaves_nothing(rig: Rig, server: NameServer) -> None:
    for turn in range(24):
        rig.commit(named(), SHUT)
        if turn % 3:
            until("it has something", lambda: bool(keys(rig, V4)))
        rig.commit(delete=[("firewall-rule", "shut"), ("set", "names")])
        assert not keys(rig, V4) and not keys(rig, V6)
    rig.commit(named(SHOP), SHUT)
    has(rig, 1)
