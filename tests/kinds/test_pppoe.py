# SPDX-License-Identifier: Apache-2.0
"""PPPoE sessions as objects: what is refused, what they become, and that nobody gets the password back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.formats.routeros import import_of, of_kind
from tests.kinds.toys import toy
from weir.agent.leases import Leases
from weir.agent.uplinks import Uplinks
from weir.fields.secret import LOST
from weir.kinds.firewall import Firewall
from weir.kinds.uplink import Uplink
from weir.model.announcing import Announcement
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface, Vlan, Wireguard
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.pppoe import Pppoe
from weir.model.rules import validate_all
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.pppoe import PPPOE
from weir.parts.routes import RouteSpec
from weir.parts.uplinks import UPLINKS

ETH = Interface("eth0")
DSL = Interface("dsl0", "wan", pppoe=Pppoe("eth0", "me@isp", "sealed"))


def found(*items: ConfigObject) -> set[str]:
    return {item.code for item in validate_all(Document(items))}


def test_what_a_session_needs() -> None:
    assert not found(ETH, DSL)
    assert not found(ETH, Interface("eth0.7", vlan=Vlan("eth0", 7)), _on("eth0.7"))
    assert found(DSL) == {"unknown-parent"}
    assert "no-login" in found(ETH, replace(DSL, pppoe=Pppoe("eth0")))
    assert "no-login" in found(ETH, replace(DSL, pppoe=Pppoe("eth0", "me")))
    assert "interface-disabled" in found(replace(ETH, disabled=True), DSL)


@pytest.mark.parametrize(
    "parent",
    [
        Interface("eth0", wireguard=Wireguard()),
        Interface("eth0", vrf_table=10),
        Interface("eth0", pppoe=Pppoe("dsl0", "a", "b")),
    ],
)
def test_a_session_is_on_something_with_frames(parent: Interface) -> None:
    assert "not-of-this-type" in found(parent, DSL)


def test_a_session_is_not_on_a_member_but_on_its_bridge() -> None:
    bridge = Interface("br0", bridge=Bridge((BridgePort("eth0"),)))
    assert "parent-is-member" in found(ETH, bridge, DSL)
    assert not found(ETH, bridge, _on("br0"))


def test_a_session_learns_and_asks_and_announces_nothing() -> None:
    asking = replace(DSL, ipv6_addressing="auto", dhcpv6=Dhcpv6())
    assert not found(ETH, asking)
    assert "ra-without-hosts" in found(ETH, replace(DSL, ra=Announcement()))
    assert "delegated-without-hosts" in found(ETH, asking, replace(DSL, delegated=Delegated("dsl0")))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("addresses", ("192.0.2.1/24",)),
        ("addressing", "dhcp"),
        ("vrf", "blue"),
    ],
)
def test_what_a_session_cannot_have(field: str, value: Any) -> None:
    blue = Interface("blue", vrf_table=10)
    assert "not-of-this-type" in found(ETH, blue, replace(DSL, **{field: value}))


def test_nothing_that_needs_frames_is_on_a_session() -> None:
    assert "not-of-this-type" in found(ETH, DSL, Interface("v", vlan=Vlan("dsl0", 7)))
    assert "not-of-this-type" in found(ETH, DSL, Interface("br0", bridge=Bridge((BridgePort("dsl0"),))))


def test_the_mtu_fits_into_the_frames() -> None:
    assert "mtu-above-parent" in found(ETH, replace(DSL, mtu=1500))
    assert "mtu-above-parent" in found(replace(ETH, mtu=1400), replace(DSL, mtu=1400))
    assert not found(replace(ETH, mtu=1508), replace(DSL, mtu=1500))
    assert "mtu-above-pppoe" in found(replace(ETH, mtu=9000), replace(DSL, mtu=1501))
    assert _mtu(ETH, DSL) == 1492
    assert _mtu(replace(ETH, mtu=1508), DSL) == 1492
    assert _mtu(replace(ETH, mtu=1508), replace(DSL, mtu=1500)) == 1500
    assert _mtu(replace(ETH, mtu=1400), DSL) == 1392
    tagged = Interface("eth0.7", vlan=Vlan("eth0", 7))
    assert _mtu(replace(ETH, mtu=1400), tagged, _on("eth0.7")) == 1392


def test_segments_are_made_to_fit_a_session() -> None:
    rules = FIREWALL.wanted(Document([ETH, DSL, Firewall()]))
    sizes = {rule.mss for rule in rules if rule.mss and "dsl0" in (*rule.in_interfaces, *rule.out_interfaces)}
    assert sizes == {1452, 1432}
    off = FIREWALL.wanted(Document([ETH, replace(DSL, mss_clamp="off"), Firewall()]))
    assert not any(rule.mss for rule in off)


def test_who_is_not_dialled() -> None:
    assert set(PPPOE.wanted(Document([ETH, DSL]))) == {"dsl0"}
    assert not PPPOE.wanted(Document([ETH, replace(DSL, disabled=True)]))
    assert not PPPOE.wanted(Document([ETH, replace(DSL, pppoe=Pppoe("eth0", "me", LOST))]))


def test_a_session_has_the_default_route_that_is_asked_for() -> None:
    assert [(r.interface, r.gateway, r.distance) for r in _routes(DSL)] == [("dsl0", None, 210)]
    session = Pppoe("eth0", "me", "x", default_route=False)
    assert not _routes(replace(DSL, pppoe=session))
    assert [r.distance for r in _routes(replace(DSL, pppoe=Pppoe("eth0", "me", "x", distance=7)))] == [7]
    assert not _routes(replace(DSL, disabled=True))


def test_an_uplink_over_a_session_needs_no_gateway_and_has_its_default_route() -> None:
    uplink = Uplink("isp", "dsl0")
    assert "uplink-without-gateway" not in found(ETH, DSL, uplink)
    (route,) = _routes(DSL, uplink)
    assert (route.id, route.gateway, route.interface) == ("uplink/isp", None, "dsl0")


def test_the_kernel_is_left_what_pppd_does() -> None:
    spec = NETWORK.wanted(Document([ETH, DSL]))["dsl0"]
    assert spec.is_made and spec.dialled and spec.mtu is None and not spec.device


def test_nobody_gets_the_password_back(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        router.api("PUT", "/interfaces/eth0", {})
        session = {"parent": "eth0", "username": "me@isp", "password": "hunter2"}
        answer = router.api("PUT", "/interfaces/dsl0", {"type": "pppoe", "pppoe": session})
        assert answer.status_code == 201, answer.json
        assert answer.json["pppoe"]["password"] == {"set": True} and answer.json["type"] == "pppoe"
        agent = router.world.agent
        item = agent.kernel["interface", "dsl0"]
        assert agent.secrets.texts(item) == {"pppoe.password": "hunter2"}
        assert "hunter2" not in json.dumps([router.api("GET", "/interfaces").json, answer.json])


def test_a_client_of_routeros_is_a_session_without_its_password() -> None:
    text = (
        "/interface pppoe-client\nadd add-default-route=yes disabled=no interface=ether1 name=pppoe-out1 "
        "max-mtu=1480 password=hunter2 service-name=fibre user=me@isp\n"
    )
    report = import_of(text)
    assert "hunter2" not in repr([*report.lines, *report.findings])
    assert report.lines[0].code == "password"
    bodies: Any = {item["id"]: item for item in of_kind(report, "interface")}
    assert bodies["pppoe-out1"]["mtu"] == 1480
    session = {"parent": "ether1", "username": "me@isp", "service_name": "fibre", "distance": 1}
    assert bodies["pppoe-out1"]["pppoe"].items() >= {**session, "default_route": True}.items()
    assert bodies["pppoe-out1"]["pppoe"]["password"] == {"sealed": LOST}
    assert "ether1" in bodies


def _on(parent: str) -> Interface:
    return replace(DSL, pppoe=Pppoe(parent, "me@isp", "sealed"))


def _mtu(*items: Interface) -> int:
    return PPPOE.wanted(Document(items))["dsl0"].mtu


def _routes(session: Interface, *others: ConfigObject) -> list[RouteSpec]:
    document = Document([ETH, session, *others])
    network, leases = NETWORK.wanted(document), Leases(None)
    routes = leases.routes(network, {})
    return list(Uplinks(None).routes(UPLINKS.wanted(document), network, leases.held(), routes).values())
