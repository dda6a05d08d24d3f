# SPDX-License-Identifier: Apache-2.0
"""VXLAN and GRE through REST and commands, what is refused of them, and what is done to come to them.

With a kernel that has both: tests/vm/test_links.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.kinds.toys import toy
from weir.backends import tunnel_ends
from weir.backends.backend import Look
from weir.backends.network import LinkState, NetworkBackend, NetworkState
from weir.backends.tunnel_ends import EndsChange, apply_ends
from weir.kinds.firewall import Firewall
from weir.kinds.zone import Zone
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface, Vlan, Wireguard
from weir.model.links import Bond, BondMember, Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.problem import Invalid
from weir.model.rules import validate_all
from weir.model.tunnels import Gre, Vxlan
from weir.parts.effect import Sessions
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK, known_mtu
from weir.parts.tunnels import Ends

WAN = Interface("eth0", "wan", ("203.0.113.2/24", "2001:db8::2/64"))
GRE = Interface("gre1", "lan", ("10.8.0.1/30",), gre=Gre("198.51.100.7", "203.0.113.2"))
VXLAN = Interface("vx1", vxlan=Vxlan(100, ("198.51.100.7",), "203.0.113.2"))


def said(*objects: ConfigObject) -> dict[str, str]:
    return {item.code: item.message for item in validate_all(Document((WAN, *objects)))}


def gre(remote: str = "198.51.100.7", local: str | None = None, name: str = "gre2", **more: Any) -> Interface:
    outer = {key: more.pop(key) for key in ("addresses", "mtu", "addressing") if key in more}
    return Interface(name, "lan", gre=Gre(remote, local, **more), **outer)


def test_they_are_made_changed_and_shown(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        router.weir("interface", "add", "gre1", "--type", "gre", "--gre-remote", "198.51.100.7")
        made = router.weir_json("interface", "show", "gre1")
        assert made["gre"] == {"remote": "198.51.100.7", "local": None, "key": None, "ttl": 64}
        router.weir("interface", "set", "gre1", "--gre-key", "7")
        assert router.weir_json("interface", "show", "gre1")["gre"]["key"] == 7
        words = ("--vxlan-vni", "100", "--vxlan-remotes", "198.51.100.7", "--vxlan-remotes", "198.51.100.8")
        router.weir("interface", "add", "vx1", "--type", "vxlan", *words)
        made = router.weir_json("interface", "show", "vx1")
        assert (made["type"], made["vxlan"]) == (
            "vxlan",
            {
                "vni": 100,
                "remotes": ["198.51.100.7", "198.51.100.8"],
                "local": None,
                "port": 4789,
                "learning": True,
            },
        )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"vxlan": {}}, "vxlan.vni"),
        ({"vxlan": {"vni": 1 << 24}}, "vxlan.vni"),
        ({"vxlan": {"vni": 1, "remotes": ["vpn.example.net"]}}, "vxlan.remotes[0]"),
        ({"gre": {"local": "192.0.2.1"}}, "gre.remote"),
        ({"gre": {"remote": "192.0.2.1", "key": 1 << 32}}, "gre.key"),
        ({"gre": {"remote": "192.0.2.1", "ttl": 0}}, "gre.ttl"),
    ],
)
def test_what_cannot_be_is_refused_by_name(body: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        from_json("interface", body, "t1")
    assert {finding.field for finding in refused.value.findings} == {field}


def test_each_has_its_place() -> None:
    assert not said(GRE, VXLAN)
    found = said(GRE, replace(GRE, id="gre2", addresses=()))
    assert found["same-tunnel"] == ("gre1 leads to 198.51.100.7 in the same way: give gre2 another key")
    assert not said(GRE, gre(local="203.0.113.2", key=1))
    found = said(VXLAN, replace(VXLAN, id="vx2"))
    assert found["vni-taken"].startswith("VNI 100 on UDP port 4789 is vx1 already: give vx2 another VNI")
    wg = Interface("wg0", "lan", wireguard=Wireguard(listen_port=4789))
    assert said(VXLAN, wg)["port-taken"].startswith("UDP port 4789 is that of wg0")
    assert not said(VXLAN, replace(wg, disabled=True))
    assert said(gre(name="gre0"))["name-of-the-kernel"].startswith("gre0 is what the kernel makes itself")


@pytest.mark.parametrize(
    ("item", "code", "words"),
    [
        (gre("203.0.113.2"), "remote-is-own", "203.0.113.2 is an address of eth0"),
        (gre("224.0.0.9"), "bad-remote", "cannot lead to 224.0.0.9"),
        (gre("10.8.0.2", addresses=("10.8.0.1/30",)), "tunnel-in-itself", "10.8.0.2 is in a network of gre2"),
        (
            gre(local="10.8.0.1", addresses=("10.8.0.1/30",)),
            "tunnel-in-itself",
            "cannot carry its own packets",
        ),
        (gre(local="192.0.2.99"), "local-not-here", "192.0.2.99 is no address of this router"),
        (gre(local="2001:db8::2"), "mixed-families", "all IPv4 or all IPv6"),
        (gre(addressing="dhcp"), "not-of-this-type", "gre2 is a GRE tunnel, which has no DHCP"),
        (gre(local="203.0.113.2", mtu=1477), "mtu-above-carrier", "give gre2 1476 at most"),
        (gre("2001:db8::7"), "no-local", "gre2 goes by IPv6: say its local address"),
        (Interface("v6", vxlan=Vxlan(1, ("2001:db8::7",))), "no-local", "say its local address"),
        (Interface("v0", vxlan=Vxlan(1)), "vxlan-without-remotes", "no frame leaves it"),
    ],
)
def test_an_end_that_cannot_be_is_named(item: Interface, code: str, words: str) -> None:
    assert words in said(item)[code]


def test_no_tunnel_is_carried_by_what_is_made_of_it() -> None:
    bridge = Interface("br0", "lan", ("192.0.2.1/24",), bridge=Bridge((BridgePort("vx1"),)))
    inner = replace(VXLAN, vxlan=Vxlan(1, ("198.51.100.7",), "192.0.2.1"))
    assert "br0, which has 192.0.2.1, is made of vx1 itself" in said(bridge, inner)["tunnel-in-itself"]
    upper = Interface("vx1.7", "lan", ("192.0.2.1/24",), vlan=Vlan("vx1", 7))
    assert "vx1.7" in said(upper, inner)["tunnel-in-itself"]
    leased = Interface("eth1", "wan", addressing="dhcp")
    assert said(leased, gre(local="192.0.2.99")).keys() == {"local-not-here"}


def test_what_has_frames_and_what_has_not() -> None:
    in_bridge = Interface("br0", "lan", bridge=Bridge((BridgePort("vx1"),)))
    assert not said(VXLAN, in_bridge)
    assert (
        "which has no Ethernet frames"
        in said(gre(), replace(in_bridge, bridge=Bridge((BridgePort("gre2"),))))["not-of-this-type"]
    )
    bond = Interface("bond0", "lan", bond=Bond((BondMember("vx1"),)))
    assert said(VXLAN, bond)["not-of-this-type"] == "vx1 cannot belong to bond0: it is a VXLAN"
    assert not said(replace(VXLAN, role="lan", addressing="dhcp"))
    assert "no frames" in said(gre(), Interface("v", "lan", vlan=Vlan("gre2", 7)))["not-of-this-type"]


@pytest.mark.parametrize(
    ("item", "mtu"),
    [
        (GRE, 1476),
        (gre(key=1), 1472),
        (gre("2001:db8::7", "2001:db8::2"), 1456),
        (VXLAN, 1450),
        (Interface("v6", vxlan=Vxlan(1, ("2001:db8::7",), "2001:db8::2")), 1430),
    ],
)
def test_the_mtu_follows_the_overhead(item: Interface, mtu: int) -> None:
    assert NETWORK.wanted(Document([WAN, item]))[item.id].mtu == mtu == known_mtu(Document([WAN, item]), item)


def test_the_mtu_follows_what_carries_it() -> None:
    small = replace(WAN, mtu=1492)
    inner = Interface("gre2", "lan", gre=Gre("10.8.0.2", "10.8.0.1"))
    bridge = Interface("br0", "lan", bridge=Bridge((BridgePort("vx1"), BridgePort("eth1"))))
    wanted = NETWORK.wanted(Document([small, GRE, inner, VXLAN, bridge]))
    assert {name: spec.mtu for name, spec in wanted.items()} == {
        "eth0": 1492,
        "gre1": 1468,
        "gre2": 1444,
        "vx1": 1442,
        "br0": 1442,
    }
    text = said(VXLAN, replace(bridge, mtu=1500))["mtu-above-port"]
    assert text == "br0 sends packets of 1500 bytes, and the MTU of its port vx1 is 1450"


# What is done.


BACKEND = NetworkBackend(cast(Any, None), Path("/nowhere"))


def state_of(held: Interface, **instead: Any) -> NetworkState:
    """The kernel with it and the WAN."""
    none: frozenset[str] = frozenset()
    spec = NETWORK.wanted(Document([WAN, held]))[held.id]
    link = LinkState(True, spec.mtu or 0, none, none, spec.device, None, True, "", 0, spec.made_with)
    links = {
        held.id: replace(link, **{"ends": spec.ends, **instead}),
        "eth0": LinkState(True, 1500, none, frozenset(WAN.addresses)),
    }
    return NetworkState(links, {}, {})


def texts(held: Interface, wanted: Interface, **instead: Any) -> list[str]:
    """The steps from one form of an interface to another one."""
    found = BACKEND.diff(state_of(held, **instead), NETWORK.wanted(Document([WAN, wanted])))
    return [f"{step.action} {step.text}" for step in found.steps()]


def cost(held: Interface, wanted: Interface) -> list[tuple[str, str]]:
    asked, changed = NETWORK.wanted(Document([WAN, wanted])), [("interface", held.id)]
    look: Any = Look(
        BACKEND, asked, None, cast(Any, changed), lambda _: Sessions(0, True), lambda: state_of(held)
    )
    return [(effect.severity, effect.text) for effect in BACKEND.effects(look)]


def test_ends_change_in_place() -> None:
    bare = replace(GRE, addresses=())
    keyed = replace(bare, gre=Gre("198.51.100.7", "203.0.113.2", 5))
    words = "change gre1 from 203.0.113.2 to 198.51.100.7, key 5, TTL 64"
    assert texts(bare, keyed) == [words, "change gre1 mtu 1472"]
    assert [severity for severity, _ in cost(bare, keyed)] == ["resets"]
    assert cost(bare, replace(bare, gre=Gre("198.51.100.7", "203.0.113.2", ttl=9))) == []
    more = replace(VXLAN, vxlan=Vxlan(100, ("198.51.100.7", "198.51.100.8"), "203.0.113.2"))
    assert texts(VXLAN, more) == ["change vx1 from 203.0.113.2 to 198.51.100.7 198.51.100.8, learning"]
    assert cost(VXLAN, more) == []
    ((severity, text),) = cost(more, VXLAN)
    assert severity == "resets" and text.startswith("vx1 does not lead to 198.51.100.8 any more")
    assert texts(bare, replace(bare, description="x")) == []


def test_another_network_makes_it_again() -> None:
    other = replace(VXLAN, vxlan=Vxlan(101, ("198.51.100.7",), "203.0.113.2"))
    assert texts(VXLAN, other)[:2] == ["remove vx1", "add vx1: vxlan"]
    over_6 = replace(GRE, addresses=(), gre=Gre("2001:db8::7"))
    assert texts(replace(GRE, addresses=()), over_6)[:2] == ["remove gre1", "add gre1: ip6gre"]


def test_what_somebody_else_changed_is_put_right() -> None:
    there = Ends("203.0.113.2", (), learning=True)
    assert texts(VXLAN, VXLAN, ends=there) == ["change vx1 from 203.0.113.2 to 198.51.100.7, learning"]


def test_tunnels_that_take_each_others_place_are_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses one that is another one already."""
    kernel = {name: Ends("", ("192.0.2.1",), key) for name, key in (("a", 1), ("b", 2), ("c", 3))}

    def set_ends(name: str, _kind: str, held: Ends, wanted: Ends, _mtu: int) -> None:
        assert kernel[name] == held
        assert wanted not in [ends for other, ends in kernel.items() if other != name]
        kernel[name] = wanted

    monkeypatch.setattr(tunnel_ends.tunnel_links, "set_ends", set_ends)
    wanted = {"a": kernel["b"], "b": kernel["a"], "c": replace(kernel["c"], key=9)}
    apply_ends([EndsChange(name, "gre", kernel[name], ends, 1400) for name, ends in wanted.items()])
    assert kernel == wanted


def test_a_wan_lets_in_what_comes_from_a_remote() -> None:
    rules = FIREWALL.wanted(Document([WAN, GRE, VXLAN, Firewall()]))
    found = [rule for rule in rules if rule.made_by in ("interface/gre1", "interface/vx1") and not rule.mss]
    assert [(rule.protocol, rule.sources, rule.ports, rule.in_interfaces) for rule in found] == [
        ("gre", ("198.51.100.7",), (), ("eth0",)),
        ("udp", ("198.51.100.7",), ("4789",), ("eth0",)),
    ]
    drops = next(n for n, rule in enumerate(rules) if rule.counter == "f_wan_router")
    assert all(rules.index(rule) < drops for rule in found)
    gone = FIREWALL.wanted(Document([WAN, replace(GRE, disabled=True), Firewall()]))
    assert not [rule for rule in gone if rule.protocol == "gre"]


def test_a_zone_lets_them_in_where_it_says_so() -> None:
    inside = Interface("eth1", "roof", ("192.0.2.1/24",))
    for reaches, count in (((), 0), (("tunnels",), 1)):
        rules = FIREWALL.wanted(Document([inside, GRE, Zone("roof", reaches), Firewall()]))
        assert len([rule for rule in rules if rule.protocol == "gre"]) == count
