# SPDX-License-Identifier: Apache-2.0
"""What uplinks and their checks may be, and the routes that follow from what is known of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weir.adapters.uplink_marks import Marking
from weir.adapters.uplink_routes import table_of
from weir.adapters.uplink_rules import numbers_of, rules_of
from weir.agent.dhcp_client import Lease
from weir.agent.leases import FIRST_DISTANCE
from weir.agent.uplinks import Uplinks
from weir.backends.kept_uplinks import Kept, KeptLink, kept_of
from weir.backends.uplinks import UplinksBackend
from weir.kinds.static_route import StaticRoute
from weir.kinds.uplink import MOST_UPLINKS, Uplink
from weir.kinds.uplink_check import MOST_CHECKS, UplinkCheck
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.rules import validate_all
from weir.parts.delta import Delta
from weir.parts.network import NETWORK
from weir.parts.routes import RouteSpec
from weir.parts.uplinks import UPLINKS

WAN = Interface("wan0", role="wan", addresses=("192.0.2.2/24",))
DHCP = Interface("wan1", role="wan", addressing="dhcp")
STRICT = Interface("wan2", role="wan", addresses=("192.0.2.66/26",), reverse_path="strict")
VRF = Interface("blue", vrf_table=9)
FIBRE = Uplink("fibre", "wan0", "192.0.2.1", priority=1)
LTE = Uplink("lte", "wan1", priority=2)
PING = UplinkCheck("p", "fibre", "198.51.100.1")
LEASE = Lease("198.51.100.7/24", "198.51.100.254", "", (("0.0.0.0/0", "198.51.100.254"),), (), 1, 2, 3)


def found(*items: ConfigObject) -> list[tuple[str, str | None]]:
    told = validate_all(Document((WAN, DHCP, *items)))
    return [(one.code, one.field) for one in told if one.kind.startswith("uplink")]


@pytest.mark.parametrize(
    ("items", "code", "field"),
    [
        ((replace(FIBRE, gateway=None),), "uplink-without-gateway", "gateway"),
        ((replace(FIBRE, gateway="2001:db8::1"),), "uplink-not-ipv4", "gateway"),
        ((replace(FIBRE, gateway="192.0.2.2"),), "gateway-is-own", "gateway"),
        ((replace(FIBRE, gateway="203.0.113.1"),), "gateway-unreachable", "gateway"),
        ((FIBRE, replace(FIBRE, id="other")), "uplink-twice", "interface"),
        ((replace(FIBRE, interface="gone"),), "unknown-interface", "interface"),
        ((VRF, replace(LTE, interface="blue")), "unknown-interface", "interface"),
        ((FIBRE, StaticRoute("r", "0.0.0.0/0", gateway="192.0.2.1")), "route-before-uplinks", None),
        ((FIBRE, replace(PING, target="2001:db8::1")), "uplink-not-ipv4", "target"),
        ((FIBRE, replace(PING, target="192.0.2.1")), "check-of-gateway", "target"),
        ((FIBRE, replace(PING, type="dns", host="192.0.2.9")), "bad-host", "host"),
        ((FIBRE, *(replace(PING, id=f"p{n}") for n in range(MOST_CHECKS + 1))), "too-many-checks", "uplink"),
        ((replace(PING, uplink="gone"),), "unknown-uplink", "uplink"),
        ((replace(FIBRE, weight=2), replace(LTE, priority=1)), "uplink-without-weight", "weight"),
        ((STRICT, replace(FIBRE, id="x", interface="wan2", weight=1)), "uplink-strict", "interface"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(items: Iterable[ConfigObject], code: str, field: str | None) -> None:
    assert (code, field) in found(*items)


def test_there_are_so_many_uplinks_at_most() -> None:
    ports = [Interface(f"e{n:02}", role="wan", addressing="dhcp") for n in range(MOST_UPLINKS + 1)]
    uplinks = [Uplink(f"u{n:02}", port.id) for n, port in enumerate(ports)]
    assert found(*ports, *uplinks) == [("too-many-uplinks", None)]


def test_what_is_well_is_not_complained_of() -> None:
    far = StaticRoute("r", "0.0.0.0/0", gateway="192.0.2.1", distance=200)
    assert found(FIBRE, LTE, PING, far, replace(FIBRE, id="off", disabled=True)) == []
    shared = [
        replace(FIBRE, weight=3),
        replace(LTE, priority=1, weight=1),
        replace(FIBRE, id="off", disabled=True),
    ]
    assert found(*shared) == []


def routes(
    uplinks: Uplinks, *items: ConfigObject, lease: Lease | None = LEASE
) -> dict[str, tuple[str | None, int]]:
    """Gateway and distance of each default route."""
    document = Document((WAN, DHCP, *items))
    leases = {} if lease is None else {"wan1": lease}
    of_lease = RouteSpec("dhcp/wan1/0.0.0.0/0", "0.0.0.0/0", "198.51.100.254", "wan1", False, FIRST_DISTANCE)
    made = uplinks.routes(UPLINKS.wanted(document), NETWORK.wanted(document), leases, {of_lease.id: of_lease})
    return {name: (spec.gateway, spec.distance) for name, spec in made.items()}


def test_each_has_its_route_in_order_and_the_lease_gives_the_gateway() -> None:
    assert routes(Uplinks(None), FIBRE, LTE) == {
        "uplink/fibre": ("192.0.2.1", 2),
        "uplink/lte": ("198.51.100.254", 3),
    }
    assert routes(Uplinks(None), FIBRE) == {
        "uplink/fibre": ("192.0.2.1", 2),
        "dhcp/wan1/0.0.0.0/0": ("198.51.100.254", FIRST_DISTANCE),
    }, "of an interface that is no uplink it is as before"
    assert "uplink/lte" not in routes(Uplinks(None), FIBRE, LTE, lease=None)


def test_one_that_is_down_is_behind_all_others_and_the_last_one_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ms = iter(range(10**6, 10**9, 10**3))
    monkeypatch.setattr("weir.agent.uplinks.boottime_ms", lambda: next(now_ms))
    known = Uplinks(None)

    def distances() -> tuple[int, int]:
        made = routes(known, FIBRE, LTE)
        return made["uplink/fibre"][1], made["uplink/lte"][1]

    known.note("fibre", "down")
    assert distances() == (240, 2)
    known.note("lte", "down")
    assert distances() == (240, 239)
    known.note("fibre", "up")
    assert distances() == (2, 240)


LINKS = {"wan0": KeptLink(11, True), "wan1": KeptLink(12, True)}


def kept(*items: ConfigObject, down: Iterable[str] = (), links: Mapping[str, KeptLink] = LINKS) -> Kept:
    document, known = Document((WAN, DHCP, *items)), Uplinks(None)
    for name in down:
        known.note(name, "down")
    wanted = known.wanted(UPLINKS.wanted(document), NETWORK.wanted(document), {"wan1": LEASE})
    return kept_of(wanted, links, ())


MOVED = "connections to the internet may leave by another uplink"


def shares(*items: ConfigObject, **how: Any) -> dict[str, int]:
    """What is left of each interface's weight."""
    marking = kept(*items, **how).marking
    assert marking is not None
    names = {number: name for name, number in marking.devices}
    return {names[number]: weight for number, weight in marking.shares}


def test_those_of_the_best_priority_that_work_share_by_their_weights() -> None:
    fibre, lte = replace(FIBRE, weight=3), replace(LTE, priority=1, weight=1)
    assert shares(fibre, lte) == {"wan0": 3, "wan1": 1}
    assert shares(fibre, lte, down=["fibre"]) == {"wan1": 1}
    assert shares(fibre, lte, links={**LINKS, "wan0": KeptLink(11, False)}) == {"wan1": 1}
    assert shares(fibre, lte, down=["fibre", "lte"]) == {}, "the default route decides"
    assert shares(fibre, replace(lte, priority=2)) == {"wan0": 3}
    assert shares(fibre, replace(lte, priority=2), down=["fibre"]) == {"wan1": 1}
    assert shares(fibre, replace(lte, weight=None)) == {"wan0": 3}
    assert shares(replace(fibre, weight=None), lte) == {"wan0": 1}, "the first by id, alone"


def test_without_a_weight_there_are_no_rules() -> None:
    assert kept(FIBRE, LTE) == Kept()


def test_one_whose_link_is_down_has_its_rule_and_no_route() -> None:
    found = kept(replace(FIBRE, weight=1), LTE, links={**LINKS, "wan0": KeptLink(11, False)})
    assert {route.device for route in found.routes} == {"wan1"}
    assert table_of(11) in {rule.table for rule in found.rules}


def test_an_interface_keeps_its_number_when_others_come_and_go() -> None:
    first = numbers_of((), [20, 30, 40])
    assert first == {20: 0, 30: 1, 40: 2}
    assert numbers_of(rules_of(first), [30, 40, 50]) == {30: 1, 40: 2, 50: 0}
    assert len(set(numbers_of((), range(1, 17)).values())) == 16


def test_so_many_pairs_get_each_uplink() -> None:
    marking = Marking((("a", 0), ("b", 4), ("c", 2)), ((0, 5), (4, 3), (2, 2)))
    rng = random.Random(214)
    pairs = [(IPv4Address(rng.getrandbits(32)), IPv4Address(rng.getrandbits(32))) for _ in range(10_000)]
    found = Counter(marking.choice(str(source), str(to)) for source, to in pairs)
    assert all(abs(found[number] - 1000 * weight) < 250 for number, weight in marking.shares), found


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"weight": 2}, None),
        ({"weight": 2}, {"weight": 3}, None),
        ({"weight": 2}, {}, "no uplink has a weight any more"),
        ({"weight": 2}, {"weight": 2, "priority": 9}, "the router's own connections"),
        ({"weight": 2}, {"weight": 2, "gateway": "192.0.2.9"}, MOVED),
        ({}, {"priority": 9}, MOVED),
    ],
)  # fmt: skip
def test_what_a_change_costs_is_said(before: dict[str, Any], after: dict[str, Any], said: str | None) -> None:
    old, new = (UPLINKS.wanted(Document((WAN, replace(FIBRE, **more)))) for more in (before, after))
    wanted = Uplinks(None).wanted(new, {}, {})
    delta: Delta[Any] = Delta([(old[name], new[name]) for name in new])
    look: Any = SimpleNamespace(delta=delta, wanted=wanted, changed_of=lambda *_: [("uplink", "fibre")])
    found = list(UplinksBackend(SimpleNamespace()).effects(look))  # type: ignore[arg-type]
    assert [one.severity for one in found] == ([] if said is None else ["resets"])
    assert said is None or found[0].text.startswith(said)


def test_no_two_uplinks_have_the_same_distance_nor_one_beyond_255() -> None:
    ports = [Interface(f"e{n:02}", role="wan", addressing="dhcp") for n in range(MOST_UPLINKS)]
    uplinks = [Uplink(f"u{n:02}", port.id, "192.0.2.1") for n, port in enumerate(ports)]
    for failed in (0, 7, MOST_UPLINKS):
        known = Uplinks(None)
        for one in uplinks[:failed]:
            known.note(one.id, "down")
        made = [
            far for name, (_, far) in routes(known, *ports, *uplinks).items() if name.startswith("uplink/")
        ]
        assert len(set(made)) == MOST_UPLINKS and max(made) <= 255, failed


def test_what_is_known_lasts_and_a_broken_file_is_nothing_known(tmp_path: Path) -> None:
    file = tmp_path / "uplinks.json"
    Uplinks(file).note("fibre", "down")
    again = Uplinks(file)
    assert again.verdict("fibre").status == "down"
    again.forget_others({})
    assert json.loads(file.read_text()) == {}
    for text in ("[]", "{", '{"fibre": {"status": "down"}}', '{"fibre": 1}'):
        file.write_text(text)
        broken: Any = Uplinks(file).verdict("fibre")
        assert (broken.status, broken.since_ms) == ("unknown", None)
