# SPDX-License-Identifier: Apache-2.0
"""The firewall's table stays: a commit changes the chains that differ, in one transaction."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, wan
from weir.kinds.firewall import Firewall

BEFORE = """
add table inet weir
add chain inet weir input { type filter hook input priority 0; }
add chain inet weir forward { type filter hook forward priority -7; }
add chain inet weir leftover
add counter inet weir leftover
add rule inet weir leftover counter name leftover
add rule inet weir forward iifname "wan0" jump leftover
add rule inet weir forward iifname "wan0" drop
"""
"""As another release might leave it: a chain that hooks in elsewhere, and what is unknown now."""


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan())
    netns.ip(rig.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])


def handles(rig: Rig) -> dict[str, list[int]]:
    """Of the table (under ""), and of the rules of each chain."""
    found: dict[str, list[int]] = {}
    for item in rig.json("nft", "-j", "list", "table", "inet", "weir")["nftables"]:
        for kind, what in item.items():
            if kind in ("table", "rule"):
                found.setdefault(what.get("chain", ""), []).append(what["handle"])
    return found


@contextmanager
def knocking(rig: Rig) -> Iterator[dict[str, Any]]:
    """The WAN sends to the customer all the time, who counts what arrives."""
    rig.run(
        "nft",
        "add table ip seen; add chain ip seen i { type filter hook input priority 0; };"
        "add rule ip seen i ip saddr 203.0.113.1 ip protocol icmp counter",
        namespace=rig.client_ns,
    )
    command = ["ping", "-q", "-i", "0.002", "10.64.0.2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=netns.entering(rig.internet))
    found: dict[str, Any] = {}
    try:
        yield found
        assert process.poll() is None, "it knocked all the time"
    finally:
        process.terminate()
        process.wait()
        listed = rig.run("nft", "list", "table", "ip", "seen", namespace=rig.client_ns)
        found["packets"] = int(listed.split("counter packets ")[1].split()[0])
        rig.run("nft", "delete", "table", "ip", "seen", namespace=rig.client_ns)


def test_the_customer_can_be_knocked_at_without_a_firewall(rig: Rig) -> None:
    rig.commit(Firewall(drop_new_from_wan=False))
    with knocking(rig) as found:
        rig.run("ping", "-c", "3", "-i", "0.01", "10.64.0.2", namespace=rig.internet)
    assert found["packets"] > 0
    rig.commit(Firewall())


def test_a_change_touches_the_rules_that_differ_and_nobody_gets_through_meanwhile(rig: Rig) -> None:
    before, opened = handles(rig), []
    with knocking(rig) as found:
        for port in (22, 80, 443):
            rig.commit(Firewall(allowed_wan_tcp_ports=(port,)))
            opened.append(handles(rig))
        rig.commit(Firewall(masquerade=False))
        rig.commit(Firewall())
    after = handles(rig)
    assert found["packets"] == 0
    assert after[""] == before[""], "the table is the one of before"
    assert all(found["forward"] == before["forward"] for found in [*opened, after]), "nothing changed there"
    rules = [set(found["input"]) - set(before["input"]) for found in opened]
    assert all(rules) and len(set.union(*rules)) == sum(map(len, rules)), "each port has a rule of its own"
    assert all(set(before["input"]) <= set(found["input"]) for found in opened), "beside those that stay"
    assert after["input"] == before["input"]


def test_what_another_release_left_is_brought_in_line_without_a_gap(rig: Rig) -> None:
    wanted = rig.run("nft", "list", "chain", "inet", "weir", "forward")
    rig.kill_agent()
    rig.run("nft", "delete table inet weir;" + BEFORE.replace("\n", ";").lstrip(";"))
    table = handles(rig)[""]
    with knocking(rig) as found:
        rig.start_agent()
    assert found["packets"] == 0
    assert handles(rig)[""] == table, "it is not made again"
    assert rig.run("nft", "list", "chain", "inet", "weir", "forward") == wanted
    assert "leftover" not in rig.run("nft", "list", "table", "inet", "weir")
    assert "masquerade" in rig.run("nft", "list", "table", "inet", "weir")
