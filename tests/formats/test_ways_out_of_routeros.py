# SPDX-License-Identifier: Apache-2.0
"""Default routes of RouterOS that take over from one another, and uplinks: there and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.formats.routeros import import_of, of_kind
from weir.formats import ImportReport, routeros
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.pppoe import Pppoe

HEAD = (
    "/ip address\nadd address=192.0.2.2/30 interface=ether1\nadd address=198.51.100.2/30 interface=ether2\n"
    "/ip dhcp-client\nadd interface=ether3{}\n"
)
ROUTES = (
    "/ip route\n"
    "add check-gateway=ping comment=fibre distance=2 dst-address=0.0.0.0/0 gateway=192.0.2.1\n"
    "add distance=5 dst-address=0.0.0.0/0 gateway=198.51.100.1%ether2\n"
    "add dst-address=203.0.113.0/24 gateway=198.51.100.1\n"
)
PORTS = (
    Interface("ether1", "wan", addresses=("192.0.2.2/30",)),
    Interface("ether2", "wan", addresses=("198.51.100.2/30",)),
    Interface("ether3", "wan", addressing="dhcp"),
)
FIRST = Uplink("a", "ether1", "192.0.2.1", priority=10, comment="fibre")
SECOND = Uplink("b", "ether2", "198.51.100.1", priority=20)
THIRD = Uplink("c", "ether3", priority=30)


def said(report: ImportReport) -> list[str]:
    """Of the DHCP client and the routes."""
    return [line.code for line in report.lines if line.source.startswith(("/ip dhcp-client", "/ip route"))]


def test_routes_that_are_checked_are_uplinks_with_a_check_of_the_gateway() -> None:
    report = import_of(HEAD.format(" default-route-distance=9") + ROUTES)
    first, second, third = sorted(of_kind(report, "uplink"), key=lambda item: str(item["interface"]))
    assert (first["interface"], first["gateway"], first["priority"]) == ("ether1", "192.0.2.1", 2)
    assert (first["comment"], first["fail_after"], first["recover_after"]) == ("fibre", 2, 1)
    assert (second["interface"], second["gateway"], second["priority"]) == ("ether2", "198.51.100.1", 5)
    assert (third["interface"], third.get("gateway"), third["priority"]) == ("ether3", None, 9)
    (check,) = of_kind(report, "uplink-check")
    assert (check["uplink"], check["target"]) == (first["id"], "192.0.2.1")
    assert (check["interval_s"], check["timeout_ms"]) == (10, 10_000)
    (route,) = of_kind(report, "static-route")
    assert route["destination"] == "203.0.113.0/24"
    assert said(report) == ["uplink", "uplink", "uplink", "ok"]
    lease, *_ = [line for line in report.lines if line.source.startswith("/ip dhcp-client")]
    assert lease.object_id == "ether3", "it is about the interface first"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("check-gateway=ping ", ""),
        ("check-gateway=ping", "check-gateway=bfd"),
        ("distance=5", "distance=2"),
        ("192.0.2.1\n", "10.9.9.9\n"),
        ("gateway=198.51.100.1%ether2", "gateway=ether2"),
        ("gateway=198.51.100.1%ether2", "gateway=192.0.2.1"),
        ("comment=fibre", "scope=10"),
    ],
)
def test_where_one_cannot_be_an_uplink_all_stay_routes(old: str, new: str) -> None:
    assert old in ROUTES
    report = import_of(HEAD.format(" default-route-distance=9") + ROUTES.replace(old, new))
    assert of_kind(report, "uplink") == [] == of_kind(report, "uplink-check")
    assert len(of_kind(report, "static-route")) == 3
    assert said(report)[0] == "not-taken", "the distance of the lease's route"


def test_beside_a_session_with_the_default_route_all_stay_routes() -> None:
    session = "/interface pppoe-client\nadd add-default-route=yes interface=ether4 name=pppoe-out1 user=me\n"
    report = import_of(session + HEAD.format(" add-default-route=no") + ROUTES)
    assert of_kind(report, "uplink") == [] and len(of_kind(report, "static-route")) == 3


def test_one_way_alone_stays_a_route() -> None:
    report = import_of(HEAD.format(" add-default-route=no") + ROUTES.replace("distance=5", "distance=101"))
    assert of_kind(report, "uplink") == [] and len(of_kind(report, "static-route")) == 3


def test_uplinks_of_this_router_are_known_again_and_keep_what_the_file_does_not_say() -> None:
    held = replace(FIRST, flush="never", weight=None), UplinkCheck("own", "a", "192.0.2.1")
    report = import_of(HEAD.format(" add-default-route=no") + ROUTES, Document((*PORTS, *held)))
    found = {str(item["id"]): item for item in of_kind(report, "uplink")}
    assert (found["a"]["flush"], found["a"]["priority"]) == ("never", 2)
    assert [item["id"] for item in of_kind(report, "uplink-check")] == ["own"]


def written(*items: ConfigObject) -> str:
    return routeros.write(Document((*PORTS, *items)))


def test_uplinks_are_default_routes_in_the_order_in_which_they_are_used() -> None:
    check = UplinkCheck("ping", "a", "192.0.2.1", interval_s=10, timeout_ms=10_000)
    uplinks = (replace(FIRST, fail_after=2, recover_after=1), SECOND, THIRD)
    text = written(*uplinks, check)
    assert "Not written" not in text
    assert (
        "add check-gateway=ping comment=fibre distance=2 dst-address=0.0.0.0/0 "
        'gateway="192.0.2.1%ether1"\n'
        'add distance=3 dst-address=0.0.0.0/0 gateway="198.51.100.1%ether2"\n'
    ) in text
    assert "add default-route-distance=4 interface=ether3\n" in text
    report = import_of(text)
    found = {item.interface: item for item in report.others if isinstance(item, Uplink)}
    for number, item in enumerate(uplinks):
        assert found[item.interface] == replace(item, id=found[item.interface].id, priority=2 + number)
    (again,) = (item for item in report.others if isinstance(item, UplinkCheck))
    assert replace(again, id="ping", uplink="a") == check


@pytest.mark.parametrize(
    ("items", "named"),
    [
        ((replace(FIRST, weight=3),), "the weight of uplink a: RouterOS shares connections by marks"),
        (
            (FIRST, UplinkCheck("x", "a", "9.9.9.9")),
            "the checks of uplink a: RouterOS pings the gateway alone",
        ),
        ((THIRD, UplinkCheck("x", "c", "9.9.9.9")), "the checks of uplink c: RouterOS asks no gateway"),
        ((replace(THIRD, comment="LTE"),), "the comment of uplink c: its DHCP client has the interface's"),
        ((replace(THIRD, disabled=True),), "uplink c: RouterOS makes its route by the DHCP client"),
    ],
)
def test_what_routeros_cannot_say_of_an_uplink_is_named(items: tuple[ConfigObject, ...], named: str) -> None:
    assert f"# Not written: {named}" in written(*items)


def test_the_route_of_a_lease_that_is_no_uplink_is_behind_uplinks() -> None:
    assert "add default-route-distance=210 interface=ether3\n" in written(FIRST)
    assert "add interface=ether3\n" in written()


def test_an_uplink_that_is_disabled_is_a_route_that_is_disabled() -> None:
    text = written(FIRST, replace(SECOND, disabled=True))
    assert 'add disabled=yes distance=20 dst-address=0.0.0.0/0 gateway="198.51.100.1%ether2"\n' in text


def test_a_session_leads_out_by_its_interface_or_by_a_route_of_its_own() -> None:
    session = Interface("ppp0", "wan", pppoe=Pppoe("ether1", "me", default_route=True, distance=7))
    assert "add add-default-route=yes default-route-distance=7 interface=ether1 name=ppp0" in written(session)
    plain = replace(session, pppoe=Pppoe("ether1", "me", default_route=False))
    text = written(
        plain, replace(FIRST, interface="ppp0", gateway=None), SECOND, UplinkCheck("x", "b", "9.9.9.9")
    )
    assert "distance=2 dst-address=0.0.0.0/0 gateway=ppp0\n" in text
    found = {item.interface: item for item in import_of(text).others if isinstance(item, Uplink)}
    assert (found["ppp0"].priority, found["ppp0"].gateway, found["ether2"].priority) == (2, None, 3)
