# SPDX-License-Identifier: Apache-2.0
"""Sources of which the router takes only so many packets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Comment, Flag, Prefix, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_BOUNDED_SOURCES, MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning
from weir.model.unique import one_for_each

_MANY_BITS = {4: 16, 6: 32}
"""A shorter prefix is a whole provider's, or more."""


@dataclass(frozen=True, slots=True)
class BoundedSource(ConfigObject):
    """What is beyond its rate is dropped where it comes in, whatever it is for."""

    kind: ClassVar[Kind] = "bounded-source"
    id: str
    source: Annotated[
        str,
        Prefix(
            help="Whose packets are bounded, in all VRFs. Of a network it is all of its hosts together; the "
            "longest prefix counts.",
            example="198.51.100.7/32",
        ),
    ]
    packets_per_second: Annotated[
        int,
        Whole(
            10,
            1_000_000,
            label="Packets a second",
            help="So many of its packets are taken each second, also of those for the router itself.",
        ),
    ] = 100
    burst: Annotated[
        int, Whole(1, 100_000, label="At once", help="So many packets may come at once after a pause.")
    ] = 100
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and bounds nobody.")] = False

    @property
    def name(self) -> str:
        return self.source


def not_too_many(view: View, item: BoundedSource) -> Iterator[Finding]:
    enabled = sum(not other.disabled for other in view.document.every(BoundedSource))
    if not item.disabled and enabled > MAX_BOUNDED_SOURCES:
        text = f"{enabled:,} sources are bounded, {MAX_BOUNDED_SOURCES:,} can be"
        yield error("too-many-bounded", item, "source", text)


def bounds_many(_view: View, item: BoundedSource) -> Iterator[Finding]:
    prefix = parse_prefix(item.source)
    if not item.disabled and prefix.length < _MANY_BITS[prefix.family]:
        text = f"all hosts of {item.source} together may send {item.packets_per_second:,} packets a second"
        yield warning("bounds-many", item, "source", text)


KIND = Declaration(
    BoundedSource,
    singular="bounded source",
    plural="bounded sources",
    short="bounded-source",
    about="Sources of which only so many packets a second are taken, before a route is looked up for them.",
    argument="source_id",
    columns=("source", "packets_per_second", "burst", "passed", "dropped", "comment"),
    state={
        "passed": Whole(0, MAX_EXACT, help="Packets that were taken since it is bounded."),
        "dropped": Whole(0, MAX_EXACT, help="Packets that were too many since it is bounded."),
    },
    named_by="source",
    area="Firewall",
    purpose="Who scans networks, or floods, costs the router a route, a connection and a neighbor for each "
    "packet. A bounded source costs it none of them, on the fast path either.",
    ids=replace(OBJECT_IDS, assigned="b"),
    rules=(
        one_for_each(
            BoundedSource,
            "bounded-once",
            key=lambda item: None if item.disabled else item.source,
            code="bounded-twice",
            field="source",
            says=lambda item, first: f"{item.source} is bounded already, by {first.id}",
        ),
        Rule(
            "not-too-many",
            "bounded-source",
            not_too_many,
            all_after("bounded-source", "bounded-source"),
            True,
        ),
        Rule("bounds-many", "bounded-source", bounds_many, own("bounded-source"), False),
    ),
)
