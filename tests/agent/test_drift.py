# SPDX-License-Identifier: Apache-2.0
"""Somebody else changes the kernel: it is found, listed and repaired. What is not ours is left alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.frr_routes import by_frr
from tests.agent.rig import Rig, client_queue, lan, queue, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.model.objects import Kind, Pair


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(
        lan(mtu=1450),
        wan(),
        *by_frr("far", "10.77.0.0/16"),
        *(queue(number) for number in range(1, 4)),
    )


def repaired(rig: Rig, what: str, is_back: Callable[[], bool], kind: Kind = "", name: str = "lan0") -> None:
    """The state is as configured again, the drift log names it, and so does what is said of the object."""
    until(f"{what} is repaired", is_back)
    until(f"{what} is listed", lambda: any(what in item["text"] for item in rig.status()["drift"]))
    until("the state is well", lambda: rig.status()["state"] == "ok")
    kind = kind or "interface"
    until(f"{kind} {name} agrees", lambda: rig.explain(name, kind)["agrees"])
    assert any(what in item["text"] and item["repaired"] for item in rig.explain(name, kind)["drift"])


def test_a_deleted_address_comes_back(rig: Rig) -> None:
    rig.run("ip", "address", "del", "10.64.0.1/24", "dev", "lan0")
    repaired(rig, "lan0 10.64.0.1/24", lambda: "10.64.0.1/24" in rig.addresses("lan0"))


def test_an_interface_set_down_comes_up_with_all_its_addresses(rig: Rig) -> None:
    rig.run("ip", "link", "set", "lan0", "down")
    repaired(rig, "lan0 up", lambda: rig.addresses("lan0") == {"10.64.0.1/24", "2001:db8:64::1/64"})


def test_sub_queues_by_source_are_no_drift_of_the_ports(rig: Rig) -> None:
    """libweir adds a role of its own to every port then, which nobody asked for and nobody has to repair."""
    rig.commit(replace(client_queue(), queue_type=Pair("pcq-upload-default", "pcq-download-default")))
    assert rig.agent.call("resync")["faults"] == []
    assert rig.status()["state"] == "ok"
    rig.commit(delete=[("queue", "client")])


def test_another_mtu_is_set_back(rig: Rig) -> None:
    rig.run("ip", "link", "set", "lan0", "mtu", "1300")
    repaired(rig, "lan0 mtu 1450", lambda: rig.json("ip", "-j", "link", "show", "lan0")[0]["mtu"] == 1450)


@pytest.mark.parametrize(
    "command",
    [
        ("nft", "flush", "ruleset"),
        ("nft", "flush", "chain", "inet", "weir", "forward"),
        ("nft", "insert", "rule", "inet", "weir", "input", "accept"),
    ],
)
def test_changed_rules_are_replaced(rig: Rig, command: tuple[str, ...]) -> None:
    before = rig.run("nft", "-s", "list", "table", "inet", "weir")
    rig.run(*command)
    repaired(rig, "inet weir", lambda: _table(rig) == before, "firewall", "firewall")


def _table(rig: Rig) -> str:
    try:
        return rig.run("nft", "-s", "list", "table", "inet", "weir")
    except AssertionError:
        return ""


def test_a_route_taken_from_frr_is_given_back(rig: Rig) -> None:
    until("the route is there", lambda: "10.77.0.0/16" in rig.run("ip", "route"))
    rig.run(
        *("vtysh", "--vty_socket", str(rig.folder / "frr"), "-c", "configure terminal"),
        *("-c", "no ip route 10.77.0.0/16 10.64.0.2"),
    )
    repaired(rig, "10.77.0.0/16", lambda: "10.77.0.0/16" in rig.run("ip", "route"), "static-route", "far")


@pytest.mark.parametrize("setting", ["net.ipv4.ip_forward", "net.ipv4.conf.all.promote_secondaries"])
def test_a_setting_of_the_kernel_is_set_back(rig: Rig, setting: str) -> None:
    rig.run("sysctl", "-w", f"{setting}=0")
    path = setting.replace(".", "/")
    rig.agent.call("resync")
    repaired(rig, path, lambda: rig.run("sysctl", "-n", setting).strip() == "1")


def test_while_frr_is_away_a_route_is_not_said_to_agree(rig: Rig) -> None:
    rig.stop_frr()
    found = rig.explain("far", "static-route")
    assert found["agrees"] is False and "FRR is not running" in found["lines"][0]["system"]
    until("the state says so", lambda: rig.status()["state"] == "failed")
    assert any(item["part"] == "routes" and not item["repaired"] for item in rig.status()["drift"])
    rig.start_frr()
    until("the route agrees", lambda: rig.explain("far", "static-route")["agrees"])


def test_detached_programs_are_attached_again(rig: Rig) -> None:
    """By removing the pinned links, as somebody who wants to be rid of a program would."""
    rig.commit(client_queue())
    assert rig.arriving() < 50
    for link in (rig.folder / "bpf").glob("link-*"):
        link.unlink()
    rig.run("ip", "link", "set", "lan0", "txqueuelen", "900")
    until("it is shaped again", lambda: rig.arriving() < 50)


def test_an_interface_that_disappears_is_listed_and_served_when_it_comes_back(rig: Rig) -> None:
    rig.run("ip", "link", "del", "lan0")
    until("the state says so", lambda: rig.status()["state"] == "drift")
    assert any("lan0 is absent" in item["text"] for item in rig.status()["drift"])
    explained = rig.explain("lan0", "interface")
    (line,) = [line for line in explained["lines"] if line["part"] == "network"]
    assert (explained["agrees"], line["system"]) == (False, "there is no such interface")
    rig.commit(queue(2, upload_bps=4_000_000))
    rig.cable("lan0", rig.client_ns, "c0")
    until("its addresses are back", lambda: "10.64.0.1/24" in rig.addresses("lan0"))
    netns.ip(rig.client_ns, ["addr add 10.64.0.2/24 dev c0", "route replace default via 10.64.0.1"])
    until("it is shaped", lambda: 0 < rig.arriving() < 50)
    until("the state is well", lambda: rig.status()["state"] == "ok")


def test_foreign_state_survives_commits_drift_and_removal(rig: Rig) -> None:
    rig.run("ip", "address", "add", "10.250.0.1/24", "dev", "lan0")
    rig.run("nft", "add table ip somebody; add chain ip somebody x { type filter hook input priority 5; }")
    rig.run("ip", "route", "add", "10.251.0.0/16", "via", "10.64.0.2")
    rig.run("tc", "qdisc", "replace", "dev", "wan0", "root", "handle", "7:", "pfifo", "limit", "77")
    vtysh = ("vtysh", "--vty_socket", str(rig.folder / "frr"))
    rig.run(*vtysh, "-c", "configure terminal", "-c", "ip route 10.252.0.0/16 10.64.0.2")
    netns.ip(rig.router, ["link add foreign0 type veth peer name foreign1"])
    rig.commit(lan(addresses=("10.64.0.1/24",)), Firewall(masquerade=False))
    rig.run("nft", "delete", "table", "inet", "weir")
    until("the rules are back", lambda: _table(rig))
    rig.commit(
        delete=[
            ("static-route", "far"),
            ("static-route", "far-spare"),
            ("interface", "wan0"),
            ("firewall", "firewall"),
        ]
    )
    until("our address is gone", lambda: rig.addresses("wan0") == set())
    assert "10.250.0.1/24" in rig.addresses("lan0")
    assert "chain x" in rig.run("nft", "list", "table", "ip", "somebody")
    assert "10.251.0.0/16" in rig.run("ip", "route")
    assert "10.252.0.0/16" in rig.run(*vtysh, "-c", "show running-config")
    assert "pfifo 7:" in rig.run("tc", "qdisc", "show", "dev", "wan0")
    assert "10.77.0.0/16" not in rig.run(*vtysh, "-c", "show running-config")
    assert _table(rig) == ""
