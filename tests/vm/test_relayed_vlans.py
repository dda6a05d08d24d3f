# SPDX-License-Identifier: Apache-2.0
"""A socket of a parent hears the frames of VLANs on it as well: what belongs to them is told apart."""

from __future__ import annotations

import subprocess

from lab import netns
from tests.agent.rig import Rig
from tests.agent.test_dhcp_relay import RELAY, SERVER, learnt, pid_of, udhcpc
from tests.agent.test_dhcp_relay import rig as rig
from tests.polling import until
from weir.adapters.arp_probe import holder_of
from weir.kinds.dhcp_relay import DhcpRelay
from weir.model.interface import Interface, Vlan

GUEST = Interface("guest", "lan", addresses=("10.66.0.1/24",), vlan=Vlan("lan0", 20))


def test_clients_of_a_vlan_and_of_its_parent_are_told_apart(rig: Rig) -> None:
    pid = pid_of(rig)
    netns.ip(rig.client_ns, ["link add link c0 name c0.20 type vlan id 20", "link set c0.20 up"])
    rig.commit(GUEST, DhcpRelay("guests", "guest", (SERVER,)))
    before = learnt(rig)["requests"]
    assert udhcpc(rig, "c0.20") == "10.66.0.50" and learnt(rig)["requests"] == before
    assert udhcpc(rig) == "10.64.0.50"
    rig.run("ip", "link", "delete", "guest")
    assert until("a client of the VLAN is served again", lambda: udhcpc(rig, "c0.20")) == "10.66.0.50"
    rig.commit(RELAY, delete=[("dhcp-relay", "guests"), ("interface", "guest")])
    assert pid_of(rig) == pid


def test_without_the_vlan_nobody_hears_its_clients(rig: Rig) -> None:
    before = learnt(rig)["requests"]
    netns.ip(rig.client_ns, ["link add link c0 name c0.22 type vlan id 22", "link set c0.22 up"])
    assert udhcpc(rig, "c0.22") == "" and learnt(rig)["requests"] == before


def test_who_has_an_address_in_a_vlan_does_not_have_it_on_the_parent(rig: Rig) -> None:
    """A provider's address would have been declined as taken."""
    mac, address = bytes.fromhex("020000000001"), "10.77.0.9"
    rig.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1", namespace=rig.client_ns)
    netns.ip(rig.router, ["link add link lan0 name far type vlan id 23", "link set far up"])
    netns.ip(
        rig.client_ns,
        [
            "link add link c0 name c0.23 type vlan id 23",
            f"addr add {address}/24 dev c0.23",
            "link set c0.23 up",
        ],
    )
    asking = ["ip", "netns", "exec", rig.client_ns, "ping", "-q", "-i", "0.2", "-w", "60", "10.77.0.99"]
    with subprocess.Popen(asking, stdout=subprocess.DEVNULL) as asks:
        try:
            with netns.inside(rig.router):
                assert until("it is heard in the VLAN", lambda: holder_of("far", mac, address))
                assert holder_of("lan0", mac, address) == ""
        finally:
            asks.kill()
    netns.ip(rig.router, ["link delete far"])
