# SPDX-License-Identifier: Apache-2.0
"""What is asked of a plan is asked of each of its parts, and the parts say what they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient
from weir.compiler import Plan
from weir.kinds.bgp import Bgp
from weir.kinds.ospf import Ospf
from weir.kinds.static_route import StaticRoute
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.parts.delta import Counts, Delta, Replaced, Step
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.part import SHAPING, Part, Parts, ReplacedPart
from weir.parts.registry import PARTS
from weir.parts.routes import ROUTES
from weir.parts.rule import PacketRule
from weir.parts.tuning import TUNING

RULE = PacketRule("input", "drop", "all")


class Mirror(ReplacedPart[str]):
    """A part that this release does not have: the router's first interface by name."""

    name = "mirrors"
    made_of = frozenset(("interface",))
    after = (SHAPING,)

    @property
    def nothing(self) -> str:
        return ""

    def wanted(self, document: Document) -> str:
        return min((item.id for item in document.interfaces()), default="")

    def entries(self, wanted: str) -> Mapping[str, str]:
        return {"mirror": wanted} if wanted else {}

    def made(self, delta: Replaced[str]) -> Iterator[Step]:
        if delta.after:
            yield Step(self.name, "change" if delta.before else "add", "mirror", delta.after)

    def removed(self, delta: Replaced[str]) -> Iterator[Step]:
        if not delta.after:
            yield Step(self.name, "remove", "mirror", delta.before)


MIRROR = Mirror()
WIDER = Parts((*PARTS, MIRROR))


def test_a_new_part_is_seen_counted_told_and_undone() -> None:
    plan = Plan(parts={MIRROR: MIRROR.delta("", "lan0")}, registered=WIDER)
    assert plan and not Plan(registered=WIDER)
    assert plan.counts() == Counts(1, 0, 0)
    assert list(plan.steps()) == [Step("mirrors", "add", "mirror", "lan0")]
    undone = plan.inverse()
    assert undone.of(MIRROR) == MIRROR.delta("lan0", "")
    assert undone.counts() == Counts(0, 0, 1)
    assert list(undone.steps()) == [Step("mirrors", "remove", "mirror", "lan0")]


def test_a_part_that_says_less_than_a_plan_asks_cannot_be_defined() -> None:
    class Forgetful(Part[str, Replaced[str]]):
        name = "forgetful"
        made_of = frozenset(("interface",))

    with pytest.raises(TypeError, match=r"abstract.*applied.*delta.*made.*nothing.*removed.*wanted"):
        Forgetful()  # type: ignore[abstract]


def test_a_delta_that_cannot_be_undone_is_an_error() -> None:
    plan = Plan(parts={MIRROR: "something"}, registered=WIDER)
    with pytest.raises(AttributeError, match="inverse"):
        plan.inverse()


def test_what_is_replaced_as_one_is_counted_and_undone() -> None:
    tuning = TUNING.delta({"a": "1", "b": "1"}, {"a": "2"})
    plan = Plan(parts={FIREWALL: FIREWALL.delta((), (RULE,)), TUNING: tuning})
    assert plan.counts() == Counts(1, 1, 1)
    assert plan.inverse().of(FIREWALL) == FIREWALL.delta((RULE,), ())
    assert plan.inverse().inverse() == plan


def test_entries_are_undone_one_by_one() -> None:
    network = Delta([(None, "new")], ["old", "older"])
    plan = Plan(parts={NETWORK: network})
    assert plan.inverse().of(NETWORK) == Delta([(None, "older"), (None, "old")], ["new"])


def test_what_removes_comes_after_all_that_adds_and_in_the_other_direction() -> None:
    document = Document(
        [Interface("wan0", "wan"), StaticRoute("r", destination="10.0.0.0/8", gateway="192.0.2.1")]
    )
    made = {part: part.delta(part.nothing, part.wanted(document)) for part in WIDER}
    plan = Plan(parts={part: delta for part, delta in made.items() if delta}, registered=WIDER)
    named = ("firewall", "network", "forwarding", "routes", "mirrors")
    order = dict.fromkeys(step.backend for step in plan.steps() if step.backend in named)
    assert tuple(order) == named
    back = dict.fromkeys(step.backend for step in plan.inverse().steps() if step.backend in named)
    assert tuple(back) == named[::-1]


@pytest.mark.parametrize(
    ("after", "reason"),
    [(("mirrors",), "waits itself"), (("nobody",), "there is none")],
    ids=["a circle", "a part that nobody registered"],
)
def test_an_order_that_cannot_be_is_refused(after: tuple[str, ...], reason: str) -> None:
    class Waiting(Mirror):
        pass

    Waiting.after = after
    with pytest.raises(TypeError, match=reason):
        Parts((*PARTS, Waiting()))


def test_two_parts_of_one_name_are_refused() -> None:
    with pytest.raises(TypeError, match="two parts are called mirrors"):
        Parts((MIRROR, Mirror()))


class Asked(Document):
    """Notes the kinds that somebody reads."""

    def __init__(self, objects: Any = ()) -> None:
        self.kinds: set[str] = set()
        super().__init__(objects)
        self.kinds.clear()

    def _of(self, kind: Any) -> Any:
        self.kinds.add(kind)
        return super()._of(kind)


@pytest.mark.parametrize("part", list(PARTS), ids=lambda part: part.name)
def test_a_part_reads_no_kind_that_it_does_not_name(part: Part[Any, Any]) -> None:
    """A change of another kind leaves it alone: it would be wrong in silence."""
    document = Asked([Interface("wan0", "wan"), Interface("lan0", "lan")])
    part.wanted(document)
    assert document.kinds and document.kinds <= part.made_of


ADDRESSES = ((), ("192.0.2.9/24",), ("192.0.2.9/30",), ("198.51.100.9/24", "192.0.2.9/24"))
"""Of the interface behind which the gateways are."""


def route(number: int, gateway: int, disabled: bool) -> StaticRoute:
    """Two each lead to one destination."""
    return StaticRoute(f"r{number}", f"10.{number // 2}.0.0/16", f"192.0.2.{gateway}", disabled=disabled)


@patient
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2), st.booleans()), max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.booleans()), max_size=6),
    st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(ADDRESSES)),
    st.tuples(st.booleans(), st.booleans()),
)
def test_routes_moved_over_changes_are_as_if_compiled_whole(
    first: list[tuple[int, int, bool]],
    then: list[tuple[int, int, bool]],
    addresses: tuple[tuple[str, ...], tuple[str, ...]],
    announced: tuple[bool, bool],
) -> None:
    def others(state: int) -> tuple[ConfigObject, ConfigObject]:
        bgp = Bgp("core", 65_000, redistribute_static=announced[state])
        return Interface("lan0", "lan", addresses=addresses[state]), bgp

    routes = [route(*words) for words in {words[0]: words for words in first}.values()]
    document = Document([*routes, *others(0)])
    before = ROUTES.wanted(document)
    changes = [
        Change(old.kind, old.id, old, new)
        for old, new in zip(others(0), others(1), strict=True)
        if old != new
    ]
    for number, gateway, disabled in {words[0]: words for words in then}.values():
        old = document.get("static-route", f"r{number}")
        new = None if gateway == 3 else route(number, gateway, disabled)
        if old != new:
            changes.append(Change("static-route", f"r{number}", old, new))
    document.apply(changes)
    after, delta = ROUTES.moved(before, document, changes)
    assert after == ROUTES.wanted(document)
    assert ROUTES.applied(before, delta) == after
    assert ROUTES.applied(after, delta.inverse()) == before
    assert delta.counts() == ROUTES.delta(before, after).counts()


INSIDE = Interface("lan0", "lan", addresses=("192.0.2.9/24", "2001:db8::9/64"))
PLAIN = StaticRoute("far", "10.0.0.0/8", "192.0.2.1")
BEYOND = StaticRoute("far", "10.0.0.0/8", "198.51.100.1")


@pytest.mark.parametrize(
    ("others", "far", "port"),
    [
        ((), PLAIN, "lan0"),
        ((), replace(PLAIN, interface="lan0", distance=254), "lan0"),
        ((), StaticRoute("far", "2001:db8:1::/48", "2001:db8::1"), "lan0"),
        ((), replace(PLAIN, distance=255), None),
        ((), replace(PLAIN, interface="lan1"), None),
        ((), BEYOND, None),
        ((), StaticRoute("far", "10.0.0.0/8", interface="lan0"), None),
        ((), StaticRoute("far", "10.0.0.0/8", blackhole=True), None),
        ((), replace(PLAIN, destination="0.0.0.0/0"), None),
        ((), replace(PLAIN, vrf="blue"), None),
        ((replace(PLAIN, id="spare", distance=9),), PLAIN, None),
        ((replace(PLAIN, id="spare", distance=9, disabled=True),), PLAIN, "lan0"),
        ((replace(PLAIN, id="spare", vrf="blue"),), PLAIN, "lan0"),
        ((Interface("lan1", "lan", addresses=("192.0.2.8/24",)),), PLAIN, None),
        ((Interface("lan1", "lan", addresses=("192.0.2.0/31",)),), PLAIN, "lan1"),
        ((Interface("lan1", "lan", addresses=("192.0.2.0/31",), disabled=True),), PLAIN, "lan0"),
        ((Interface("lan1", "lan", addresses=("198.51.100.9/24",), vrf="blue"),), BEYOND, None),
        ((Bgp("core", 65_000, redistribute_static=True),), PLAIN, None),
        ((Bgp("core", 65_000, redistribute_kernel=True),), PLAIN, None),
        ((Bgp("core", 65_000, redistribute_static=True, disabled=True),), PLAIN, "lan0"),
        ((Bgp("core", 65_000, redistribute_static=True, vrf="blue"),), PLAIN, "lan0"),
        ((Bgp("core", 65_000, redistribute_connected=True),), PLAIN, "lan0"),
        ((Ospf("core", redistribute_kernel=True),), PLAIN, None),
    ],
)
def test_the_kernel_keeps_a_route_that_needs_nothing_of_frr(
    others: tuple[ConfigObject, ...], far: StaticRoute, port: str | None
) -> None:
    assert ROUTES.wanted(Document([INSIDE, *others, far]))["far"].port == port
