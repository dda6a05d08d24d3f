# SPDX-License-Identifier: Apache-2.0
"""Sets in the kernel: filled, changed by what changes, kept by others' commits, repaired."""

from __future__ import annotations

import ipaddress
import time
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import nft, nft_elements
from weir.kinds.firewall import Firewall
from weir.kinds.sets import Set, SetEntry
from weir.model.interface import Interface

MANY = 100_000


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), Set("blocked"), Set("seen", source="dynamic", timeout_s=600))


@pytest.fixture
def held(rig: Rig) -> frozenset[bytes]:
    """Two prefixes of one length are in the set, whatever other tests have left there."""
    rig.commit(SetEntry("e4", "blocked", "198.51.100.0/24"), SetEntry("e5", "blocked", "198.51.101.0/24"))
    return keys(rig, "a4_24_blocked")


def keys(rig: Rig, name: str) -> frozenset[bytes]:
    with netns.inside(rig.router):
        return nft_elements.keys(nft.TABLE, name)


def names(rig: Rig) -> set[str]:
    with netns.inside(rig.router):
        table = nft.read_table()
        return set() if table is None else set(table.sets)


def key(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def test_entries_come_and_go_by_length_and_family(rig: Rig) -> None:
    rig.commit(
        SetEntry("e1", "blocked", "198.51.100.0/24"),
        SetEntry("e2", "blocked", "198.51.100.7/32"),
        SetEntry("e3", "blocked", "2001:db8:bad::/48"),
        SetEntry("e4", "blocked", "198.51.100.0/24"),
    )
    assert keys(rig, "a4_24_blocked") == {key("198.51.100.0")}
    assert keys(rig, "a4_32_blocked") == {key("198.51.100.7")}
    assert keys(rig, "a6_48_blocked") == {key("2001:db8:bad::")}
    rig.commit(delete=[("set-entry", "e1"), ("set-entry", "e2")])
    assert keys(rig, "a4_24_blocked") == {key("198.51.100.0")}, "another entry says the same"
    assert "a4_32_blocked" not in names(rig)


def test_what_is_learnt_outlives_commits_of_others(rig: Rig) -> None:
    rig.run("nft", "add element inet weir d4_600_65536_seen { 203.0.113.77 }")
    rig.commit(Firewall(allowed_wan_tcp_ports=(22,)), SetEntry("e10", "blocked", "198.51.103.0/28"))
    rig.kill_agent()
    rig.start_agent()
    assert "203.0.113.77" in rig.run("nft", "list", "set", "inet", "weir", "d4_600_65536_seen")
    assert rig.status()["drift"] == []


@pytest.mark.parametrize(
    "command",
    [
        "delete element inet weir a4_24_blocked { 198.51.101.0 }",
        "add element inet weir a4_24_blocked { 198.51.102.0 }",
        "add set inet weir planted { type ipv4_addr; }",
        "delete table inet weir",
    ],
)
def test_what_somebody_changes_is_repaired_and_told(rig: Rig, held: frozenset[bytes], command: str) -> None:
    before = names(rig), held
    rig.run("nft", command)

    def is_as_before() -> bool:
        return names(rig) == before[0] and keys(rig, "a4_24_blocked") == before[1]

    until("it is as before", is_as_before)
    until("it is told", lambda: any("set" in item["text"] for item in rig.status()["drift"]))


def test_a_refused_commit_leaves_the_sets_as_they_were(rig: Rig, held: frozenset[bytes]) -> None:
    before = names(rig), held
    with pytest.raises(Exception, match="no interface nowhere0"):
        rig.commit(
            SetEntry("e6", "blocked", "198.51.106.0/24"),
            SetEntry("e7", "blocked", "198.51.107.7/32"),
            Interface("nowhere0", role="lan"),
        )
    assert (names(rig), keys(rig, "a4_24_blocked")) == before


def test_a_crash_in_the_middle_is_mended_by_the_next_start(rig: Rig, held: frozenset[bytes]) -> None:
    """Stored and not applied: the agent dies before it is asked, and the next one reads the store."""
    changes = rig.changes([SetEntry("e8", "blocked", "198.51.108.0/24")], [("set-entry", "e5")])
    rig.kill_agent()
    with rig.store.write() as transaction:
        transaction.append(kind="commit", author="test", message="", changes=changes)
    rig.run("nft", "add element inet weir a4_24_blocked { 198.51.109.0 }")
    rig.start_agent()
    assert keys(rig, "a4_24_blocked") == held - {key("198.51.101.0")} | {key("198.51.108.0")}


def test_a_hundred_thousand_are_loaded_and_delay_nothing(rig: Rig, held: frozenset[bytes]) -> None:
    first = int(ipaddress.ip_address("11.0.0.0"))
    entries = [
        SetEntry(f"m{number}", "blocked", f"{ipaddress.ip_address(first + (number << 8))}/24")
        for number in range(MANY)
    ]
    rig.commit(*entries)
    assert len(keys(rig, "a4_24_blocked")) == MANY + len(held)
    for change in (Firewall(allowed_wan_tcp_ports=(80,)), SetEntry("e9", "blocked", "198.51.110.0/24")):
        started = time.monotonic()
        rig.commit(change)
        assert time.monotonic() - started < 2.0, "nobody reads 100,000 elements for it"
    assert key("198.51.110.0") in keys(rig, "a4_24_blocked")


def learnt(rig: Rig, *ids: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = rig.agent.call("state", {"kind": "set", "ids": list(ids)})["objects"]
    return found


def test_a_set_tells_how_much_it_holds(rig: Rig) -> None:
    values = ("198.51.100.0/24", "198.51.100.0/24", "198.51.100.7/32", "2001:db8:bad::/48")
    rig.commit(
        Set("told"), Set("empty"), *(SetEntry(f"t{n}", "told", value) for n, value in enumerate(values))
    )
    assert learnt(rig, "told", "empty") == {
        "told": {"entries": 3, "learnt": None},
        "empty": {"entries": 0, "learnt": None},
    }


def test_a_dynamic_set_tells_what_it_learnt_and_when_that_is_forgotten(rig: Rig) -> None:
    """Those that stay longest first; a hundred of them, and how many there are in all."""
    rig.commit(Set("learns", source="dynamic", timeout_s=600))
    assert learnt(rig, "learns")["learns"] == {"entries": 0, "learnt": []}
    late = ", ".join(f"203.0.113.{n} timeout 300s" for n in range(1, 121))
    rig.run("nft", f"add element inet weir d4_600_65536_learns {{ {late} }}")
    rig.run("nft", "add element inet weir d6_600_65536_learns { 2001:db8::77 }")
    told = learnt(rig, "learns")["learns"]
    assert told["entries"] == 121 and len(told["learnt"]) == 100
    assert told["learnt"][0]["address"] == "2001:db8::77"
    assert 500 < told["learnt"][0]["expires_in_s"] <= 600
    assert all(200 < item["expires_in_s"] <= 300 for item in told["learnt"][1:])
