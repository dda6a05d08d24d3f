# SPDX-License-Identifier: Apache-2.0
"""Uplinks: the ways to the internet, of which the best one that works has the default route."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, Choice, Comment, Flag, Host, Moment, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.static_route import StaticRoute
from weir.model.address import split_address
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning
from weir.model.unique import one_for_each
from weir.model.vrf import is_vrf

MOST_UPLINKS = 16
FIRST_DISTANCE = 2
"""Of the uplinks' default routes in FRR; a static route with the distance 1 is in use before them."""
EVERYTHING = "0.0.0.0/0"


def may_lead_out(interface: Interface) -> bool:
    return not is_vrf(interface) and interface.loopback is None


@dataclass(frozen=True, slots=True)
class Uplink(ConfigObject):
    """New connections leave by the first uplink by `priority` that is not down, or by several of one priority
    by their weights."""

    kind: ClassVar[Kind] = "uplink"
    id: str
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            fits=may_lead_out,
            unfit="a VRF or a loopback leads nowhere",
            offered=When("type", ("vrf", "loopback"), unless=True),
            help="Where it leaves the router.",
            example="wan0",
        ),
    ]
    gateway: Annotated[
        str | None,
        Host(
            help="The provider's router, an IPv4 address. Without one it is what the interface's DHCP lease "
            "names; a tunnel or PPPoE session needs none.",
            example="192.0.2.1",
            option="via",
        ),
    ] = None
    priority: Annotated[
        int, Whole(1, 100, help="Of the uplinks that are not down the one with the smallest is in use.")
    ] = 10
    weight: Annotated[
        int | None,
        Whole(
            1,
            100,
            help="Uplinks of one priority that have one share new connections in this ratio. If any uplink "
            "has one, each connection keeps its uplink, and answers leave where the connection came in.",
        ),
    ] = None
    fail_after: Annotated[
        int,
        Whole(
            1,
            20,
            help="Failed answers in a row after which a check has failed. The uplink is down when all have.",
        ),
    ] = 3
    recover_after: Annotated[
        int, Whole(1, 100, help="Answers in a row after which a failed check is well again.")
    ] = 5
    flush: Annotated[
        str,
        Choice(
            "on-fail",
            "never",
            label="Forget connections",
            help="`on-fail`: when it goes down and another one takes over, connections with its address are "
            "forgotten, so that they begin again by the other.",
            importance="folded",
        ),
    ] = "on-fail"
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It has no route and is not checked.")] = False


def gateway_sense(view: View, uplink: Uplink) -> Iterator[Finding]:
    """There is one, it is IPv4, another machine, and beside the router."""
    interface = view.document.interface(uplink.interface)
    if uplink.disabled or interface is None:
        return
    if uplink.gateway is None:
        if interface.addressing != "dhcp" and not interface.is_point_to_point:
            text = f"uplink {uplink.id} needs a gateway: {uplink.interface} has no DHCP lease that names one"
            yield error("uplink-without-gateway", uplink, "gateway", text)
        return
    gateway = parse_prefix(uplink.gateway)
    if gateway.family != 4:
        text = "uplinks are of IPv4 in this release: name an IPv4 gateway"
        yield error("uplink-not-ipv4", uplink, "gateway", text)
    elif uplink.gateway in view.own_addresses():
        text = f"{uplink.gateway} is this router's own address"
        yield error("gateway-is-own", uplink, "gateway", text)
    elif interface.addressing != "dhcp" and not any(
        split_address(item)[1].covers(gateway) for item in interface.addresses
    ):
        text = f"the gateway {uplink.gateway} is in no network of {uplink.interface}, so it is not used"
        yield warning("gateway-unreachable", uplink, "gateway", text)


def in_no_vrf(view: View, uplink: Uplink) -> Iterator[Finding]:
    interface = view.document.interface(uplink.interface)
    if not uplink.disabled and interface is not None and interface.vrf is not None:
        text = f"{uplink.interface} is in VRF {interface.vrf}: uplinks are of the main routing table"
        yield error("uplink-in-vrf", uplink, "interface", text)


def not_too_many(view: View, uplink: Uplink) -> Iterator[Finding]:
    enabled = sorted(item.id for item in view.document.every(Uplink) if not item.disabled)
    if uplink.id in enabled[MOST_UPLINKS:]:
        text = f"there can be {MOST_UPLINKS} uplinks that are not disabled"
        yield error("too-many-uplinks", uplink, None, text)


def not_checked_strictly(view: View, uplink: Uplink) -> Iterator[Finding]:
    """The way back to what comes by an uplink is the default route, which is another one's."""
    interface = view.document.interface(uplink.interface)
    if uplink.disabled or interface is None or interface.reverse_path != "strict":
        return
    if any(item.weight is not None and not item.disabled for item in view.document.every(Uplink)):
        text = (
            f"{uplink.interface} takes only sources whose way back it is (reverse path strict), so it would "
            "drop what comes while another uplink has the default route: make it loose, or remove all weights"
        )
        yield error("uplink-strict", uplink, "interface", text)


def alone_with_a_weight(view: View, uplink: Uplink) -> Iterator[Finding]:
    """Of one priority either all have a weight, or those without one wait or take all."""
    if uplink.disabled or uplink.weight is not None:
        return
    for other in view.document.every(Uplink):
        if (other.disabled, other.priority) == (False, uplink.priority) and other.weight is not None:
            text = (
                f"{other.id} has the same priority and a weight, {uplink.id} has none: they do not share. "
                "Give it a weight, or another priority"
            )
            yield warning("uplink-without-weight", uplink, "weight", text)
            return


def first_by_distance(view: View, uplink: Uplink) -> Iterator[Finding]:
    """A static default route with a smaller distance is in use whether uplinks work or not."""
    if uplink.disabled:
        return
    for route in view.document.every(StaticRoute):
        if (route.destination, route.vrf, route.disabled) == (EVERYTHING, None, False) and (
            route.distance < FIRST_DISTANCE + MOST_UPLINKS
        ):
            text = (
                f"the static route {route.id} to {EVERYTHING} has the distance {route.distance} and may be "
                "in use before uplinks, whatever their checks say: remove it, or give it "
                f"{FIRST_DISTANCE + MOST_UPLINKS} or more"
            )
            yield warning("route-before-uplinks", uplink, None, text)


KIND = Declaration(
    Uplink,
    singular="uplink",
    plural="uplinks",
    short="uplink",
    about="The ways to the internet; the best one that works has the default route.",
    columns=(
        "interface",
        "gateway",
        "priority",
        "weight",
        "status",
        "in_use",
        "share_percent",
        "round_trip_us",
        "loss_percent",
        "comment",
    ),
    area="Routing",
    purpose="With two uplinks the router goes on when one fails. Each has checks, which notice a failure "
    "also while the cable is in.",
    state={
        "status": Choice(
            "up",
            "down",
            "unknown",
            help="`down`: all its checks have failed. `unknown`: none has answered or failed yet, or it has "
            "none.",
        ),
        "since": Moment(help="Since when it is so, as far as this router knows."),
        "in_use": Flag(help="Whether new connections to the internet leave by it now."),
        "share_percent": Whole(
            0,
            100,
            label="Share",
            help="Of the new connections to the internet, by the weights of the uplinks that are in use.",
        ),
        "via": Text(
            45, label="Current gateway", help="The gateway that it has now, configured or of its lease."
        ),
        "round_trip_us": Whole(
            0,
            2**31,
            label="Round trip",
            help="Microseconds; the median of the last answers of its fastest ping or TCP check.",
        ),
        "loss_percent": Whole(0, 100, label="Loss", help="Of the last 20 questions of its best check."),
        "answers": Text(2000, label="Last answers", help="What each check heard last."),
    },
    rules=(
        one_for_each(
            Uplink,
            "one-for-each-interface",
            key=lambda uplink: None if uplink.disabled else uplink.interface,
            code="uplink-twice",
            field="interface",
            says=lambda uplink, first: f"uplink {first.id} is at {uplink.interface} already",
        ),
        Rule("gateway-sense", "uplink", gateway_sense, all_after("uplink", "interface"), True),
        Rule("in-no-vrf", "uplink", in_no_vrf, all_after("uplink", "interface"), True),
        Rule("not-too-many", "uplink", not_too_many, all_after("uplink", "uplink"), True),
        Rule("alone-with-a-weight", "uplink", alone_with_a_weight, all_after("uplink", "uplink"), False),
        Rule("not-checked-strictly", "uplink", not_checked_strictly, all_after("uplink", "interface"), True),
        Rule("first-by-distance", "uplink", first_by_distance, all_after("uplink", "static-route"), False),
    ),
)
