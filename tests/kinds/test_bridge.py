# SPDX-License-Identifier: Apache-2.0
"""Bridges through REST and commands, and what is refused of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import toy
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.static_route import StaticRoute
from weir.model.codec import from_json
from weir.model.document import Change, Document
from weir.model.interface import Interface, Loopback, Vlan
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.problem import Invalid
from weir.model.rules import validate, validate_all

LAN = Interface("br0", "lan", ("192.168.88.1/24",), bridge=Bridge((BridgePort("eth1"), BridgePort("eth2"))))


def bridge(*ports: str, name: str = "br0", **more: Any) -> Interface:
    return Interface(name, bridge=Bridge(tuple(map(BridgePort, ports)), **more))


def found(*objects: ConfigObject) -> dict[str, str]:
    return {item.code: item.message for item in validate_all(Document(objects))}


def test_it_is_made_changed_and_shown(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        ports = ("--port", "eth1,pvid=0,tagged=20+30-39", "--port", "eth2,isolated=true")
        router.weir("interface", "add", "br0", "--type", "bridge", *ports, "--bridge-vlan-filtering")
        made = router.weir_json("interface", "show", "br0")["bridge"]
        assert made["vlan_filtering"] is True and made["ageing_s"] == 300
        assert [(p["interface"], p["pvid"], p["tagged"], p["isolated"]) for p in made["ports"]] == [
            ("eth1", 0, ["20", "30-39"], False),
            ("eth2", 1, [], True),
        ]
        router.weir("interface", "set", "br0", "--port", "eth2", "--mac", "02-00-5E-10-00-01")
        made = router.weir_json("interface", "show", "br0")
        assert ([p["interface"] for p in made["bridge"]["ports"]], made["mac"]) == (
            ["eth2"],
            "02:00:5e:10:00:01",
        )
        refused = router.api("PUT", "/interfaces/br1", {"type": "bridge", "bridge": {"ports": [{"pvid": 1}]}})
        assert (refused.status_code, refused.json["code"]) == (422, "missing")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"tagged": ["0"]}, "bad-vlans bridge.tagged[0]"),
        ({"tagged": ["30-20"]}, "bad-vlans bridge.tagged[0]"),
        ({"tagged": ["4095"]}, "bad-vlans bridge.tagged[0]"),
        ({"tagged": ["1" * 100_000]}, "bad-vlans bridge.tagged[0]"),
        ({"ports": [{"interface": "eth1"}, {"interface": "eth1"}]}, "repeated bridge.ports[1].interface"),
        ({"ports": [{"interface": "eth\u202e1"}]}, "bad-value bridge.ports[0].interface"),
        ({"ports": [{"interface": f"e{n}"} for n in range(300)]}, "too-many bridge.ports"),
        ({"stp": "rstp"}, "bad-choice bridge.stp"),
    ],
)
def test_what_cannot_be_is_refused_by_name(body: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        from_json("interface", {"bridge": body}, "br0")
    code, field = said.split()
    (finding,) = refused.value.findings
    assert finding.field == field and (code == "bad-value" or finding.code == code)


@pytest.mark.parametrize("mac", ["01:00:5e:00:00:01", "00:00:00:00:00:00", 7])
def test_an_address_that_no_interface_can_have_is_refused(mac: object) -> None:
    with pytest.raises(Invalid) as refused:
        from_json("interface", {"mac": mac}, "eth0")
    (finding,) = refused.value.findings
    assert (finding.code, finding.field) == ("bad-mac", "mac")


def test_one_that_an_earlier_release_stored_with_a_bridge_is_kept() -> None:
    """It was a field of the bridge."""
    stored = {"role": "lan", "bridge": {"mac": "02:00:5e:10:00:01", "stp": "stp"}}
    item = from_json("interface", stored, "br0", is_stored=True)
    assert isinstance(item, Interface) and item.bridge is not None
    assert (item.mac, item.bridge.stp) == ("02:00:5e:10:00:01", "stp")


def test_an_interface_belongs_to_one_bridge() -> None:
    said = found(LAN, bridge("eth2", name="br1"))
    assert said["member-taken"] == "eth2 cannot belong to br1: it belongs to br0"


@pytest.mark.parametrize(
    ("port", "has"),
    [
        (Interface("eth1", addresses=("10.0.0.1/24",)), "have addresses of its own: give them to br0"),
        (Interface("eth1", addressing="dhcp"), "ask for an address by DHCP: choose that at br0"),
        (Interface("eth1", "wan"), "have the role wan: give it to br0"),
        (Interface("eth1", vrf="red"), "be in VRF red: choose that at br0"),
    ],
)
def test_a_port_has_nothing_of_its_own(port: Interface, has: str) -> None:
    said = found(LAN, port, Interface("red", vrf_table=7))
    assert said["member-with-its-own"] == f"eth1 belongs to br0, so it cannot {has}"
    assert not found(LAN, Interface("eth1"), Interface("eth2", description="to the roof"))


@pytest.mark.parametrize(
    "user",
    [
        StaticRoute("r", "198.51.100.0/24", interface="eth1"),
        OspfInterface("o", ospf="ospf", interface="eth1"),
    ],
)
def test_nothing_is_routed_by_a_port(user: ConfigObject) -> None:
    """It is said when either comes last."""
    document = Document([Interface("eth1"), user])
    change = Change("interface", "br0", None, LAN)
    document.apply([change])
    said = {item.code: item for item in validate(document, [change])}["member-with-its-own"]
    assert said.kind == user.kind and "names eth1, which belongs to br0: name br0 there" in said.message


def test_no_bridge_is_made_of_itself_or_of_what_has_no_frames() -> None:
    assert "cycle" in found(bridge("br0"))
    assert "cycle" in found(bridge("br0.7"), Interface("br0.7", vlan=Vlan("br0", 7)))
    assert "not-of-this-type" in found(bridge("lo1"), Interface("lo1", loopback=Loopback()))
    assert "not-of-this-type" in found(LAN, bridge("br0", name="br1"))
    assert not found(bridge("up.7"), Interface("up"), Interface("up.7", vlan=Vlan("up", 7)))


def test_a_port_takes_what_the_bridge_sends() -> None:
    assert "mtu-above-port" in found(LAN, Interface("eth1", mtu=1400))
    assert not found(LAN, Interface("eth1", mtu=9000))
    large = Interface("guests", vlan=Vlan("br0", 20), mtu=9000)
    said = found(LAN, large)["mtu-above-parent"]
    assert said == "VLAN guests cannot have an MTU of 9000: that of br0 is 1500"


def test_vlans_and_times_that_contradict_each_other() -> None:
    twice = Bridge((BridgePort("eth1", pvid=5, tagged=("1-9",)),), vlan_filtering=True)
    assert found(Interface("br0", bridge=twice)) == {
        "vlan-twice": "frames of VLAN 5 cannot leave by eth1 with and without a tag"
    }
    nowhere = Bridge((BridgePort("eth1", pvid=0),), vlan_filtering=True)
    guests = Interface("guests", vlan=Vlan("br0", 20))
    assert found(Interface("br0", bridge=nowhere), guests).keys() == {
        "port-without-vlan",
        "vlan-not-on-bridge",
    }
    assert "bad-stp-times" in found(bridge("eth1", stp="stp", max_age_s=40))
    assert not found(bridge("eth1", stp="stp"))


def test_a_vlan_that_is_a_port_is_not_deleted_before_the_bridge_lets_it_go() -> None:
    port = Interface("up.7", vlan=Vlan("up", 7))
    document = Document([Interface("up"), port, bridge("up.7")])
    change = Change("interface", "up.7", port, None)
    document.apply([change])
    assert (
        "still belongs to br0"
        in {i.code: i.message for i in validate(document, [change])}["still-referenced"]
    )


def test_a_bridge_that_asks_and_hears_no_answer_is_told() -> None:
    asks = Interface("br0", addressing="dhcp", bridge=Bridge((BridgePort("p1"),), dhcp_snooping=True))
    trusts = replace(asks, bridge=Bridge((BridgePort("p1", trusted=True),), dhcp_snooping=True))
    for item, codes in ((asks, ["no-trusted-port"]), (trusts, [])):
        found = validate(Document([item]), [Change("interface", "br0", None, item)])
        assert [each.code for each in found if each.code == "no-trusted-port"] == codes
