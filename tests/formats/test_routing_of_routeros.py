# SPDX-License-Identifier: Apache-2.0
"""BGP and OSPF of RouterOS 6 and 7: nothing is announced or taken that the file's filters decided about."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind, only
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.prefix_list import PrefixList
from weir.model.document import Document
from weir.model.interface import Interface

ADDRESSES = (
    "/interface bridge\nadd name=loop protocol-mode=none\n"
    "/ip address\nadd address=10.0.1.1/30 interface=ether1\nadd address=10.0.2.1/24 interface=ether2\n"
    "add address=10.255.0.1 interface=loop\n"
)
SEALED = f"0123456789abcdef.{'A' * 80}"
HERE = Document(
    [
        Bgp("main", 65001),
        PrefixList("all"),
        BgpNeighbor(
            "up", "main", "192.0.2.9", 65000, import_prefix_list="all", export_prefix_list="all", hold_s=30
        ),
    ]
)


def bgp(text: str, existing: Document | None = None, before: str = "") -> dict[str, object]:
    report = import_of(f"{before}/routing bgp connection\n{text}\n", existing)
    return only(report, "bgp-neighbor")


# -- BGP of RouterOS 7 --------------------------------------------------------------------------------------


def test_names_after_a_dot_belong_to_the_property_before_them() -> None:
    found = bgp("add as=65001 local.address=10.0.1.1 .role=ibgp name=a remote.address=10.9.0.1/32 .as=65001")
    assert (found["address"], found["remote_as"]) == ("10.9.0.1", 65001)


def test_a_neighbor_in_another_as_waits_for_policies() -> None:
    report = import_of("/routing bgp connection\nadd as=65001 name=up remote.address=192.0.2.9 .as=65000\n")
    assert only(report, "bgp-neighbor")["disabled"] is True
    assert "RFC 8212" in report.lines[0].reason


def test_a_neighbor_that_is_here_keeps_its_policies_and_stays_in_force() -> None:
    found = bgp("add as=65001 name=new remote.address=192.0.2.9 .as=65000 input.filter=in", HERE)
    assert found["id"] == "up" and found["import_prefix_list"] == "all" and "disabled" not in found


def test_the_as_of_this_router_is_not_changed_by_a_file() -> None:
    text = "/routing bgp connection\nadd as=65002 name=x remote.address=192.0.2.8 .as=65002\n"
    report = import_of(text, HERE)
    assert of_kind(report, "bgp") == [] and report.lines[0].fate == "left-out"
    assert "AS 65002" in report.lines[0].reason and "AS 65001" in report.lines[0].reason


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("input.filter=in", "filters"),
        ("output.filter-chain=out", "filters"),
        ("tcp-md5-key=hidden-word", "password"),
    ],
)
def test_a_neighbor_with_filters_or_a_password_is_not_in_force(words: str, code: str) -> None:
    text = f"/routing bgp connection\nadd as=65001 name=r2 remote.address=10.9.0.1 .as=65001 {words}\n"
    report = import_of(text)
    assert only(report, "bgp-neighbor")["disabled"] is True
    assert code in report.lines[0].code and "hidden-word" not in str(report.lines)


def test_a_template_and_an_instance_say_what_a_connection_does_not() -> None:
    before = (
        "/routing id\nadd name=lo id=10.255.0.1\n"
        "/routing bgp instance\nadd name=one as=65001 router-id=lo\n"
        "/routing bgp template\nadd name=fast hold-time=30s keepalive-time=10s nexthop-choice=force-self\n"
    )
    text = "add instance=one templates=fast name=r2 remote.address=10.9.0.1 local.role=ibgp hold-time=60s"
    report = import_of(f"{before}/routing bgp connection\n{text}\n")
    assert only(report, "bgp")["router_id"] == "10.255.0.1"
    found = only(report, "bgp-neighbor")
    assert (found["remote_as"], found["hold_s"], found["keepalive_s"]) == (65001, 60, 10)
    assert found["next_hop_self"] is True and "disabled" not in found


def test_what_is_announced_is_said_to_be_that_of_all() -> None:
    before = "/ip firewall address-list\nadd address=10.1.0.0/16 list=out\nadd address=10.2.0.1 list=out\n"
    text = (
        "add as=65001 name=r2 remote.address=10.9.0.1 .as=65001 output.network=out .redistribute=static,rip"
    )
    report = import_of(f"{before}/routing bgp connection\n{text}\n")
    found = only(report, "bgp")
    assert found["networks"] == ["10.1.0.0/16", "10.2.0.1/32"] and found["redistribute_static"] is True
    line = report.lines[-1]
    assert "rip" in line.reason and "all neighbors" in line.reason


def test_a_session_of_a_vrf_is_one_of_its_bgp() -> None:
    before = "/ip vrf\nadd interfaces=ether3 name=cust\n"
    found = bgp("add as=65001 name=ce routing-table=cust remote.address=10.9.0.1 .as=65001", before=before)
    report = import_of(
        f"{before}/routing bgp connection\nadd as=1 name=x vrf=nowhere remote.address=10.9.0.1 .as=1\n"
    )
    assert found["bgp"] == "as65001-cust" and of_kind(report, "bgp") == []


@pytest.mark.parametrize(
    "words",
    [
        "remote.address=10.9.0.0/24 .as=65000",
        "remote.address=10.9.0.1",
        "remote.as=65000",
        "remote.address=10.9.0.1 .as=65000 address-families=vpnv4",
        "remote.address=10.9.0.1 .as=65000 templates=none-such",
        "remote.address=10.9.0.1 .as=65000 router-id=none-such",
        "remote.address=nonsense .as=65000",
    ],
)
def test_a_session_that_weir_cannot_have_is_left_out_with_a_reason(words: str) -> None:
    report = import_of(f"/routing bgp connection\nadd as=65001 name=x {words}\n")
    assert of_kind(report, "bgp-neighbor") == []
    assert report.lines[0].fate == "left-out" and report.lines[0].reason


# -- BGP of RouterOS 6 --------------------------------------------------------------------------------------


def test_peers_and_networks_of_version_6() -> None:
    report = import_of(
        ADDRESSES + "/routing bgp instance\nset default as=65001 router-id=10.255.0.1\n"
        "/routing bgp peer\n"
        "add name=r2 remote-address=10.255.0.2 remote-as=65001 route-reflect=yes update-source=loop "
        'ttl=default out-filter=""\n'
        "add name=up remote-address=10.0.1.2 remote-as=65000 multihop=yes max-prefix-limit=1000 "
        "disabled=yes\n"
        "/routing bgp network\nadd network=10.0.2.0/24 synchronize=no\n"
    )
    inside, outside = sorted(of_kind(report, "bgp-neighbor"), key=lambda item: str(item["id"]))
    assert inside["route_reflector_client"] is True and inside["update_source"] == "loop"
    assert "disabled" not in inside
    assert (outside["multihop"], outside["maximum_prefixes"], outside["disabled"]) == (254, 1000, True)
    assert only(report, "bgp")["networks"] == ["10.0.2.0/24"]


def test_the_as_that_version_6_has_by_itself() -> None:
    report = import_of("/routing bgp peer\nadd name=a remote-address=10.0.1.2 remote-as=65530\n")
    assert only(report, "bgp")["asn"] == 65530


# -- OSPF ---------------------------------------------------------------------------------------------------


def ospf(text: str, existing: Document | None = None) -> dict[str, dict[str, object]]:
    report = import_of(ADDRESSES + text, existing)
    return {str(item["interface"]): item for item in of_kind(report, "ospf-interface")}


AREA_7 = (
    "/routing ospf instance\nadd name=v2 router-id=10.255.0.1\n"
    "/routing ospf area\nadd name=core instance=v2 area-id=0.0.0.7\n"
    "/routing ospf interface-template\n"
)


def test_templates_of_interfaces_and_the_first_counts() -> None:
    found = ospf(
        f"{AREA_7}add area=core interfaces=ether1 networks=10.0.0.0/16 type=ptp cost=10 hello-interval=5s\n"
        "add area=core interfaces=loop passive\nadd area=core\n"
    )
    assert found["ether1"]["cost"] == 10 and found["ether1"]["point_to_point"] is True
    assert found["loop"]["passive"] is True
    assert (found["ether2"]["area"], found["ether2"]["priority"], found["ether2"]["cost"]) == (7, 128, 1)


def test_networks_and_interfaces_of_version_6() -> None:
    found = ospf(
        "/routing ospf instance\nset [ find default=yes ] router-id=10.255.0.1\n"
        "/routing ospf interface\nadd interface=ether1 network-type=point-to-point cost=5\n"
        "add interface=ether9 cost=7\n"
        "/routing ospf network\nadd area=backbone network=10.0.0.0/16\n"
    )
    assert set(found) == {"ether1", "ether2"}
    assert (found["ether1"]["cost"], found["ether1"]["point_to_point"]) == (5, True)
    assert found["ether2"]["cost"] == 10


@pytest.mark.parametrize("words", ["auth=md5 auth-key=hidden-word", "auth=sha256 auth-key=x", "type=nbma"])
def test_an_interface_that_would_find_no_neighbor_is_not_in_force(words: str) -> None:
    report = import_of(f"{ADDRESSES}{AREA_7}add area=core interfaces=ether1 {words}\n")
    assert only(report, "ospf-interface")["disabled"] is True
    assert report.lines[-1].fate == "warning" and "hidden-word" not in str(report.lines)


def test_an_interface_keeps_the_password_that_it_has_here() -> None:
    here = Document([Interface("ether1"), Ospf("o"), OspfInterface("e1", "o", "ether1", password=SEALED)])
    found = ospf(f"{AREA_7}add area=core interfaces=ether1 auth=md5 auth-key=x auth-id=3\n", here)["ether1"]
    assert found["id"] == "e1" and found["key_id"] == 3 and "disabled" not in found


@pytest.mark.parametrize(
    "text",
    [
        "/routing ospf instance\nadd name=v3 version=3\n/routing ospf area\nadd name=a instance=v3\n"
        "/routing ospf interface-template\nadd area=a interfaces=ether1\n",
        "/routing ospf instance\nadd name=cust vrf=cust\n/routing ospf area\nadd name=a instance=cust\n"
        "/routing ospf interface-template\nadd area=a interfaces=ether1\n",
        f"{AREA_7}add area=other interfaces=ether1\n",
        f"{AREA_7}add area=core networks=192.0.2.0/24\n",
        f"{AREA_7}add area=core networks=2001:db8::/64\n",
    ],
)
def test_what_weir_does_not_have_takes_no_part(text: str) -> None:
    report = import_of(ADDRESSES + text)
    assert of_kind(report, "ospf-interface") == []
    assert report.lines[-1].fate == "left-out" and report.lines[-1].reason


def test_a_stub_area_is_not_in_force() -> None:
    found = ospf(AREA_7.replace("area-id", "type=stub area-id") + "add area=core interfaces=ether1\n")
    assert found["ether1"]["disabled"] is True


def test_what_a_filter_decided_is_not_announced() -> None:
    text = "/routing ospf instance\nadd name=a redistribute=connected,static out-filter-chain=mine\n"
    report = import_of(text)
    found = only(report, "ospf")
    assert not found.get("redistribute_static") and "not announced" in report.lines[0].reason.lower()
    open_to_all = only(import_of(text.replace("out-filter-chain=mine", "")), "ospf")
    assert open_to_all["redistribute_static"] is True and open_to_all["redistribute_connected"] is True


def test_bfd_has_the_times_of_the_file() -> None:
    report = import_of(
        ADDRESSES + "/routing bfd configuration\nadd interfaces=all min-rx=100ms min-tx=150ms multiplier=4\n"
        f"{AREA_7}add area=core interfaces=ether1 use-bfd=yes\n"
    )
    assert only(report, "bfd-profile") == {
        "id": "routeros",
        "transmit_ms": 150,
        "receive_ms": 100,
        "multiplier": 4,
    }
    assert only(report, "ospf-interface")["bfd"] == "routeros"
