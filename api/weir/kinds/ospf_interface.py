# SPDX-License-Identifier: Apache-2.0
"""The interfaces on which OSPF finds neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, OBJECT_IDS, Comment, Flag, Ref, Secret, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.routing_fields import one_word
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning
from weir.model.unique import one_for_each
from weir.model.vrf import vrf_of

_ACTIVE = When("passive", (False,))


@dataclass(frozen=True, slots=True)
class OspfInterface(ConfigObject):
    """Its networks are announced in one area."""

    kind: ClassVar[Kind] = "ospf-interface"
    id: str
    ospf: Annotated[str, Ref("ospf", label="OSPF", help="The OSPF instance.")]
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            offered=When("vrf_table", unless=True),
            help="The interface that takes part.",
        ),
    ]
    area: Annotated[int, Whole(0, 2**32 - 1, help="The area's number; 0 is the backbone.")] = 0
    cost: Annotated[
        int | None,
        Whole(1, 65_535, help="Paths with the lowest total cost win. Default: by the interface's speed."),
    ] = None
    passive: Annotated[bool, Flag(help="Announce the interface's networks, and have no neighbors on it.")] = (
        False
    )
    point_to_point: Annotated[
        bool,
        Flag(
            label="Point to point",
            help="There is one neighbor at most, so no designated router is elected.",
            when=_ACTIVE,
        ),
    ] = False
    bfd: Annotated[
        str | None,
        Ref(
            "bfd-profile",
            label="BFD profile",
            help="Notice by BFD that a neighbor went away.",
            when=_ACTIVE,
        ),
    ] = None
    password: Annotated[
        str | None,
        Secret(
            1,
            16,
            check=one_word,
            help="Signs all packets (MD5, RFC 2328). All routers on the network have the same.",
        ),
    ] = None
    key_id: Annotated[
        int, Whole(1, 255, label="Key ID", help="The number of the password.", importance="folded")
    ] = 1
    priority: Annotated[
        int,
        Whole(0, 255, help="The highest becomes designated router; 0 never does.", importance="folded"),
    ] = 1
    hello_s: Annotated[
        int | None,
        Whole(
            1, 10_000, label="Hello", help="Seconds between hello packets. Default 10.", importance="folded"
        ),
    ] = None
    dead_s: Annotated[
        int | None,
        Whole(
            2,
            65_535,
            label="Dead",
            help="Seconds of silence after which a neighbor is considered down. Default: four hellos.",
            importance="folded",
        ),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="Its adjacencies end; the configuration is kept.")] = False

    @property
    def name(self) -> str:
        return self.interface

    @property
    def timers(self) -> tuple[int, int]:
        """Seconds between hellos, and of silence until a neighbor is down."""
        hello_s = 10 if self.hello_s is None else self.hello_s
        return hello_s, 4 * hello_s if self.dead_s is None else self.dead_s


def timers(_view: View, item: OspfInterface) -> Iterator[Finding]:
    hello_s, dead_s = item.timers
    if dead_s <= hello_s:
        text = f"the dead time must be longer than the hello of {hello_s} s"
        yield error("bad-timers", item, "dead_s", text)


def interface_fits(view: View, item: OspfInterface) -> Iterator[Finding]:
    found = view.document.get("interface", item.interface)
    if item.disabled or not isinstance(found, Interface):
        return
    if vrf_of(found) is not None:
        text = f"{item.interface} is in the VRF {vrf_of(found)}, and OSPF is done outside VRFs"
        yield error("interface-in-other-vrf", item, "interface", text)


def others_may_begin(view: View, item: OspfInterface) -> Iterator[Finding]:
    """On a WAN the firewall drops what others begin."""
    found = view.document.get("interface", item.interface)
    if item.disabled or item.passive or not isinstance(found, Interface) or found.role != "wan":
        return
    if not view.worked_out("rules for OSPF", lambda: _has_rule(view)):
        text = f"no firewall rule accepts ospf on the WAN {item.interface}: it will have no neighbor"
        yield warning("ospf-on-wan", item, "interface", text)


def _has_rule(view: View) -> bool:
    rules = view.document.every(FirewallRule)
    return any(r.action == "accept" and r.protocol in ("ospf", "any") and not r.disabled for r in rules)


_KIND = "ospf-interface"

KIND = Declaration(
    OspfInterface,
    singular="OSPF interface",
    plural="OSPF interfaces",
    short="ospf-interface",
    argument="ospf_interface_id",
    about="The interfaces on which OSPF finds neighbors.",
    columns=("interface", "area", "role", "adjacencies", "cost", "passive", "bfd", "comment"),
    named_by="interface",
    area="Routing",
    purpose="Each interface that takes part announces its networks, and finds other routers unless it is "
    "passive.",
    ids=replace(OBJECT_IDS, assigned="o"),
    state={
        "role": Text(40, help="What this router is on the network: DR, Backup, DROther, Point-To-Point."),
        "neighbors": Whole(0, 2**31, help="Routers that were heard."),
        "adjacencies": Whole(0, 2**31, help="Neighbors with which routes are exchanged (Full)."),
    },
    rules=(
        Rule("timers", _KIND, timers, own(_KIND), True),
        Rule("interface-fits", _KIND, interface_fits, all_after(_KIND, "interface"), True),
        one_for_each(
            OspfInterface,
            "once",
            key=lambda item: None if item.disabled else item.interface,
            code="ospf-interface-twice",
            field="interface",
            says=lambda item, first: f"{item.interface} takes part in OSPF already: {first.id}",
        ),
        Rule(
            "others-may-begin", _KIND, others_may_begin, all_after(_KIND, "interface", "firewall-rule"), False
        ),
    ),
)
