# SPDX-License-Identifier: Apache-2.0
"""The entries of route maps, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Choice, Comment, Flag, Host, Position, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning

MAX_ENTRIES = 6000
"""Of one map: FRR has numbers up to 65,535 for them."""
_COMMUNITY = re.compile(r"(\d{1,5}):(\d{1,5})")
_KNOWN = ("no-export", "no-advertise", "local-AS", "blackhole", "graceful-shutdown")
_MAX_U32 = 2**32 - 1
_PERMITS = When("action", ("permit",))


@dataclass(frozen=True, slots=True)
class RouteMapEntry(ConfigObject):
    """It matches a route that fits all of its conditions, and every route without any."""

    kind: ClassVar[Kind] = "route-map-entry"
    id: str
    route_map: Annotated[str, Ref("route-map", help="The route map that the entry belongs to.")]
    action: Annotated[str, Choice("permit", "deny", help="What happens to a route that matches.")] = "permit"
    match_prefix_list: Annotated[
        str | None,
        Ref("prefix-list", label="Match prefix list", help="The list permits the route's network."),
    ] = None
    match_protocol: Annotated[
        str | None,
        Choice(
            "connected",
            "static",
            "kernel",
            "ospf",
            "bgp",
            label="Match protocol",
            help="Where the route comes from. For redistributed routes.",
        ),
    ] = None
    match_tag: Annotated[
        int | None, Whole(1, _MAX_U32, label="Match tag", help="The route has this tag.", importance="folded")
    ] = None
    set_local_preference: Annotated[
        int | None,
        Whole(
            0,
            _MAX_U32,
            label="Local preference",
            help="The path with the highest value wins. Default 100.",
            when=_PERMITS,
        ),
    ] = None
    set_metric: Annotated[
        int | None,
        Whole(
            0,
            _MAX_U32,
            label="Metric",
            help="The MED (multi-exit discriminator): neighbors prefer the lowest.",
            when=_PERMITS,
        ),
    ] = None
    prepend_asn: Annotated[
        int | None,
        Whole(
            1,
            _MAX_U32,
            label="Prepend AS",
            help="Put this AS number in front of the path, which makes it less attractive.",
            when=_PERMITS,
        ),
    ] = None
    prepend_times: Annotated[
        int, Whole(1, 10, label="Prepend times", help="How many times.", when=When("prepend_asn"))
    ] = 1
    set_communities: Annotated[
        str,
        Text(
            500,
            label="Communities",
            help="Separated by spaces: AS:VALUE, no-export, no-advertise, local-AS, blackhole, "
            "graceful-shutdown.",
            example="65000:100 no-export",
            when=_PERMITS,
        ),
    ] = ""
    keep_communities: Annotated[
        bool,
        Flag(
            label="Keep communities",
            help="Keep those that the route has, too.",
            when=When("set_communities"),
        ),
    ] = True
    set_next_hop: Annotated[
        str | None,
        Host(
            label="Next hop", help="The router to which packets are sent.", importance="folded", when=_PERMITS
        ),
    ] = None
    set_weight: Annotated[
        int | None,
        Whole(
            0,
            65_535,
            label="Weight",
            help="Local to this router; the highest wins before anything else.",
            when=_PERMITS,
        ),
    ] = None
    set_tag: Annotated[
        int | None,
        Whole(
            1,
            _MAX_U32,
            label="Tag",
            help="Tag the route with this number.",
            importance="folded",
            when=_PERMITS,
        ),
    ] = None
    position: Annotated[int, Position("route_map", help="The first entry that matches decides.")] = 0
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="The entry matches nothing; it is kept.")] = False

    @property
    def name(self) -> str:
        return f"{self.id} of {self.route_map}"


def communities(_view: View, entry: RouteMapEntry) -> Iterator[Finding]:
    for word in entry.set_communities.split():
        match = _COMMUNITY.fullmatch(word)
        if word not in _KNOWN and (match is None or max(int(match[1]), int(match[2])) > 65_535):
            known = ", ".join(_KNOWN)
            text = (
                f"{word!r} is not a community: write two numbers up to 65535, such as 65000:100, or {known}"
            )
            yield error("bad-community", entry, "set_communities", text)


_CHANGES = (
    "set_local_preference",
    "set_metric",
    "prepend_asn",
    "set_communities",
    "set_next_hop",
    "set_weight",
    "set_tag",
)


def changes_what_it_permits(_view: View, entry: RouteMapEntry) -> Iterator[Finding]:
    changed = [name for name in _CHANGES if getattr(entry, name) not in (None, "")]
    if entry.action == "deny" and changed:
        yield warning("no-effect", entry, changed[0], "a route that is denied is not changed")


def not_too_many(view: View, entry: RouteMapEntry) -> Iterator[Finding]:
    counts = view.worked_out("route-map entries", lambda: _counts(view))
    if counts.get(entry.route_map, 0) > MAX_ENTRIES:
        text = f"the route map {entry.route_map} has more than {MAX_ENTRIES:,} entries"
        yield error("too-many", entry, "route_map", text)


def _counts(view: View) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in view.document.every(RouteMapEntry):
        found[item.route_map] = found.get(item.route_map, 0) + 1
    return found


_KIND = "route-map-entry"

KIND = Declaration(
    RouteMapEntry,
    singular="route map entry",
    plural="route map entries",
    short="route-map-entry",
    about="The entries of route maps; the first that matches decides.",
    columns=(
        "route_map",
        "position",
        "action",
        "match_prefix_list",
        "match_protocol",
        "set_local_preference",
        "set_metric",
        "set_communities",
        "comment",
    ),
    area="Routing",
    purpose="Each entry permits or denies the routes that fit its conditions, and may change those "
    "that it permits. "
    "The first of a map that matches decides.",
    ids=replace(OBJECT_IDS, assigned="m"),
    page="route-map-entries",
    argument="entry_id",
    rules=(
        Rule("communities", _KIND, communities, own(_KIND), True),
        Rule("changes-what-it-permits", _KIND, changes_what_it_permits, own(_KIND), False),
        Rule("not-too-many", _KIND, not_too_many, own(_KIND), True),
    ),
)
