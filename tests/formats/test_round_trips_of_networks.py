# SPDX-License-Identifier: Apache-2.0
"""Tunnels and DHCPv6 that are written for RouterOS are the same objects when they are read back."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import import_of
from weir.formats import routeros
from weir.kinds.dhcp6_pools import DelegatedPool, PrefixPool
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.announcing import Announcement
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.tunnels import Gre, Vxlan

LAN = Interface("ether2", role="lan", addresses=("2001:db8:5::1/64",), ra=Announcement(managed=True))
HOSTS = {
    4: st.integers(1, 200).map("198.51.100.{}".format),
    6: st.integers(1, 200).map("2001:db8:f::{:x}".format),
}


def back(*items: ConfigObject) -> Document:
    """What the import makes of what was written, in a document of its own."""
    return Document(import_of(routeros.write(Document(items))).others)


@st.composite
def tunnels(draw: st.DrawFn) -> list[Interface]:
    """Two of GRE never have the same ends."""
    found: list[Interface] = []
    ends = {4: "198.51.100.{}", 6: "2001:db8:f::{:x}"}
    for number in range(draw(st.integers(1, 4))):
        family = draw(st.sampled_from((4, 6)))
        remotes = draw(st.lists(HOSTS[family], min_size=1, max_size=3, unique=True))
        local = "192.0.2.1" if family == 4 else "2001:db8:5::1"
        own = local if family == 6 or draw(st.booleans()) else None
        made = Interface(
            f"t{number}",
            mtu=draw(st.sampled_from((None, 1280, 1400))),
            disabled=draw(st.booleans()),
            description=draw(st.sampled_from(("", "to the north"))),
        )
        if draw(st.booleans()):
            clamp = draw(st.sampled_from(("auto", "off")))
            found.append(replace(made, gre=Gre(ends[family].format(201 + number), own), mss_clamp=clamp))
        else:
            port, learning = draw(st.sampled_from((4789, 8472))), draw(st.booleans())
            group = Vxlan(number + 1, tuple(remotes), own, port=port, learning=learning)
            found.append(replace(made, vxlan=group))
    return found


@given(tunnels())
def test_tunnels_come_back(items: list[Interface]) -> None:
    port = Interface("ether1", role="wan", addresses=("192.0.2.1/24",))
    after = back(port, LAN, *items)
    for item in items:
        found = after.interface(item.id)
        assert found is not None
        for name in ("gre", "vxlan", "mtu", "disabled", "description", "mss_clamp"):
            assert getattr(found, name) == getattr(item, name), name


@st.composite
def servers(draw: st.DrawFn) -> tuple[Dhcpv6Server, list[Dhcpv6Reservation]]:
    """One with addresses that are a network, prefixes or both, and what it reserves."""
    bits = draw(st.integers(112, 124))
    network = IPv6Network((draw(st.integers(1, 2**16 - 1)) << 20, bits), strict=False)
    lease_s = draw(st.sampled_from((60, 3600, 259_200)))
    server = Dhcpv6Server(
        "six",
        LAN.id,
        draw(st.sampled_from(("stateful", "stateless"))),
        preferred_s=lease_s,
        valid_s=lease_s,
        disabled=draw(st.booleans()),
        prefix_pools=draw(st.sampled_from(((), (PrefixPool("2001:db8:1000::/40", 56),)))),
    )
    if server.gives_addresses:
        server = replace(server, first=str(network[0]), last=str(network[-1]))
    reserved = []
    for number in range(draw(st.integers(0, 3))):
        duid = f"00:03:00:01:02:00:5e:10:00:{number:02x}"
        given = draw(st.sampled_from(("address", "prefix", "both")))
        address = None if given == "prefix" else str(IPv6Address(0x100 + number))
        prefix = None if given == "address" else f"2001:db8:1000:{(number + 1) * 256:x}::/56"
        disabled = draw(st.booleans())
        reserved.append(Dhcpv6Reservation(f"r{number}", "six", address, prefix, duid, disabled=disabled))
    return server, reserved


@given(servers())
def test_dhcpv6_comes_back(drawn: tuple[Dhcpv6Server, list[Dhcpv6Reservation]]) -> None:
    server, reserved = drawn
    after = back(LAN, server, *reserved)
    assert after.get("dhcpv6-server", "six") == server
    found = sorted((replace(item, id="") for item in after.every(Dhcpv6Reservation)), key=repr)
    assert found == sorted((replace(item, id="") for item in reserved), key=repr)


def test_what_routeros_cannot_say_of_them_is_named() -> None:
    odd = Dhcpv6Server("six", LAN.id, first="::1000", last="::1ffe", dns_servers=("2001:db8::53",))
    pools = (PrefixPool("2001:db8:1000::/40"), PrefixPool("2001:db8:2000::/40"))
    more = Dhcpv6Server(
        "more",
        "ether3",
        "stateless",
        prefix_pools=pools,
        domain="example.net",
        delegated_pools=(DelegatedPool("ether1"),),
    )
    by_mac = Dhcpv6Reservation("r1", "more", "::10", mac="02:00:5e:10:00:01")
    keyed = Interface("gre1", gre=Gre("192.0.2.9", key=7), addresses=("10.8.0.1/30",))
    text = routeros.write(Document((LAN, odd, more, by_mac, keyed)))
    for said in (
        "dhcpv6-server six: ::1000 to ::1ffe are no network",
        "DNS servers and domain of dhcpv6-server more",
        "all but the first pool of dhcpv6-server more",
        "the delegated pools of dhcpv6-server more",
        "dhcpv6-reservation r1: RouterOS knows a client by its DUID alone",
        "interface gre1: RouterOS has no keys of GRE",
    ):
        assert f"# Not written: {said}" in text, said
    assert "10.8.0.1" not in text and "name=six" not in text
