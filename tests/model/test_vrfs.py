# SPDX-License-Identifier: Apache-2.0
"""VRFs in the model: what can be said of one, and what is said about one that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weir.kinds.static_route import StaticRoute
from weir.model.codec import from_json, patched, to_stored_json
from weir.model.document import Change, Document
from weir.model.interface import Interface, Vlan
from weir.model.objects import ConfigObject, Queue
from weir.model.problem import Invalid
from weir.model.rules import validate, validate_all
from weir.model.vrf import table_of

BLUE = Interface("blue", vrf_table=1001)
GREEN = Interface("green", vrf_table=0)
ACME = Interface("acme", "lan", ("10.0.0.1/24",), vrf="blue")
OTHER = Interface("other", "lan", ("10.0.0.1/24",), vrf="green", domain=1)
WAY = StaticRoute("r1", "0.0.0.0/0", "10.0.0.9", vrf="blue")


def said(*items: ConfigObject) -> list[str]:
    found = validate_all(Document(items))
    return [f"{item.severity} {item.code} {item.path} {item.message}" for item in found]


def test_a_vrf_is_written_as_it_is_read() -> None:
    assert from_json("interface", {"vrf_table": 0}, "green") == GREEN
    assert to_stored_json(GREEN) == {"id": "green", "role": "none", "vrf_table": 0}
    assert to_stored_json(replace(ACME, addresses=())) == {"id": "acme", "role": "lan", "vrf": "blue"}
    assert patched(ACME, {"vrf": None}) == replace(ACME, vrf=None)
    for field, value in (("vrf", "a/b"), ("vrf_table", -1), ("vrf_table", 65536), ("vrf_table", "7")):
        with pytest.raises(Invalid) as caught:
            from_json("interface", {field: value}, "acme")
        assert [item.field for item in caught.value.findings] == [field]


def test_a_table_that_was_not_given_goes_by_the_name_and_stays() -> None:
    """This number is in the kernels of routers that run: another one would recreate their VRFs."""
    assert (table_of(GREEN), table_of(BLUE), table_of(ACME)) == (GREENS_TABLE, 1001, None)


GREENS_TABLE = 26284


def test_customers_with_one_address_in_two_vrfs_are_fine() -> None:
    assert said(BLUE, GREEN, ACME, OTHER, WAY) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [ACME],
            "error unknown-vrf interface/acme/vrf interface acme is to be in VRF blue, which is not "
            "configured: make it before, or in the same commit",
        ),
        (
            [replace(BLUE, vrf_table=None), ACME],
            "error unknown-vrf interface/acme/vrf interface acme is to be in VRF blue, which is not a VRF: "
            "those have a vrf_table",
        ),
        (
            [replace(BLUE, disabled=True), ACME],
            "warning interface-disabled interface/acme/vrf nothing is routed for interface acme while its "
            "VRF blue is disabled",
        ),
        (
            [replace(BLUE, vrf_table=254)],
            "error table-taken interface/blue/vrf_table table 254 is one of the kernel's own, so VRF blue "
            "cannot have it: give it a number that is free",
        ),
        (
            [replace(BLUE, role="lan")],
            "error not-of-a-vrf interface/blue/role blue is a VRF, which has no role: give it to the "
            "interfaces in it",
        ),
        (
            [replace(BLUE, addressing="dhcp")],
            "error not-of-a-vrf interface/blue/addressing blue is a VRF, which has no DHCP: choose it at an "
            "interface in it",
        ),
        (
            [BLUE, replace(GREEN, vrf="blue")],
            "error not-of-a-vrf interface/green/vrf green is a VRF, which cannot be in a VRF: put "
            "interfaces into it",
        ),
        (
            [BLUE, Interface("v", vlan=Vlan("blue", 7))],
            "error not-of-a-vrf interface/v/vlan.parent VLAN v cannot be on blue, which is a VRF and has no "
            "frames: choose a port",
        ),
        (
            [BLUE, GREEN, ACME, OTHER, replace(WAY, interface="other")],
            "error interface-in-other-vrf static-route/r1/interface route 0.0.0.0/0 is in VRF blue and "
            "cannot lead through other, which is in VRF green: put both into one VRF, or into none",
        ),
        (
            [BLUE, ACME, replace(WAY, vrf=None, interface="blue")],
            "error interface-in-other-vrf static-route/r1/interface route 0.0.0.0/0 is in no VRF and cannot "
            "lead through blue, which is a VRF: name an interface that is in it",
        ),
        (
            [BLUE, ACME, replace(WAY, vrf="acme")],
            "error unknown-vrf static-route/r1/vrf route 0.0.0.0/0 names the VRF 'acme', which is not a VRF: "
            "those have a vrf_table",
        ),
        (
            [BLUE, ACME, replace(WAY, vrf=None)],
            "warning gateway-unreachable static-route/r1/gateway the gateway 10.0.0.9 of route 0.0.0.0/0 is "
            "in no connected network, so the route stays inactive; it is in one of acme, which "
            "is in VRF blue",
        ),
        (
            [BLUE, replace(ACME, vrf=None), WAY],
            "warning gateway-unreachable static-route/r1/gateway the gateway 10.0.0.9 of route 0.0.0.0/0 is "
            "in no connected network of VRF blue, so the route stays inactive; it is in one of acme, which "
            "is in no VRF",
        ),
        (
            [BLUE, replace(GREEN, vlan=Vlan("acme", 7)), replace(ACME, vrf=None)],
            "error not-of-a-vrf interface/green/vlan green is a VRF, which cannot be a VLAN as well: put a "
            "VLAN of another name into it",
        ),
        (
            [BLUE, Queue("q1", "q1", ("blue",))],
            "warning vrf-as-interface queue/q1/target queue 'q1' has the target 'blue', a VRF: packets come "
            "and go through the interfaces in it, so it matches nothing",
        ),
    ],
)
def test_a_vrf_that_cannot_be_says_why(items: list[ConfigObject], expected: str) -> None:
    assert said(*items) == [expected]


def test_a_table_is_that_of_one_vrf() -> None:
    lines = sorted(said(GREEN, replace(BLUE, vrf_table=GREENS_TABLE)))
    assert lines == [
        f"error table-taken interface/blue/vrf_table VRF blue cannot have the table {GREENS_TABLE}, which is "
        "that of VRF green: give it a number that is free",
        f"error table-taken interface/green/vrf_table VRF green gets by its name the table {GREENS_TABLE}, "
        "which is that of VRF blue: give it a number that is free",
    ]


def test_the_same_network_in_one_domain_is_told_whatever_the_vrf() -> None:
    lines = said(BLUE, GREEN, ACME, replace(OTHER, domain=0))
    assert [line.split()[:3] for line in lines] == [
        ["warning", "overlapping-in-domain", "interface/acme/domain"],
        ["warning", "overlapping-in-domain", "interface/other/domain"],
    ]
    within = said(BLUE, ACME, replace(OTHER, vrf="blue", domain=0))
    assert {line.split()[1] for line in within} == {"overlapping-networks"}


def test_a_gateway_may_be_the_routers_own_address_elsewhere() -> None:
    elsewhere = Interface("lan0", "lan", ("10.0.0.9/24",), domain=2)
    assert said(BLUE, ACME, WAY, elsewhere) == []
    assert "gateway-is-own" in said(BLUE, ACME, replace(WAY, gateway="10.0.0.1"))[0]


@pytest.mark.parametrize(
    ("user", "text"),
    [(ACME, "is still the VRF of acme"), (WAY, "is still named by route 0.0.0.0/0")],
)
def test_a_vrf_in_use_stays(user: ConfigObject, text: str) -> None:
    found = validate(Document([user]), [Change("interface", "blue", BLUE, None)])
    assert f"interface 'blue' {text}" in [item.message for item in found]
