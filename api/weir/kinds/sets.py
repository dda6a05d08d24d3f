# SPDX-License-Identifier: Apache-2.0
"""Sets of addresses, ports, interfaces or hardware addresses, which rules match, and their entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Choice, Comment, Flag, Ref, Rows, SetMember, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_EXACT, MAX_SET_ENTRIES, MAX_SET_TIMEOUT_S
from weir.model.members import form_of
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own

SHOWN_LEARNT = 100
"""So many learnt addresses are told of a set."""
_LEARNS = When("source", ("dynamic",))


@dataclass(frozen=True, slots=True)
class Set(ConfigObject):
    """What many rules match at once, and what changes more often than they do."""

    kind: ClassVar[Kind] = "set"
    id: str
    type: Annotated[
        str,
        Choice(
            "address",
            "port",
            "interface",
            "mac",
            help="What the set contains. Addresses may be IPv4 or IPv6, with or without a prefix length.",
        ),
    ] = "address"
    source: Annotated[
        str,
        Choice(
            "static",
            "dynamic",
            help="static: its entries are configured. dynamic: rules add addresses, which are forgotten "
            "after a while.",
        ),
    ] = "static"
    timeout_s: Annotated[
        int,
        Whole(
            1,
            MAX_SET_TIMEOUT_S,
            help="How long an address stays in the set after it was last added.",
            when=_LEARNS,
        ),
    ] = 3600
    max_entries: Annotated[
        int,
        Whole(
            1,
            MAX_SET_ENTRIES,
            help="The most addresses of each family that the set learns.",
            when=_LEARNS,
            importance="folded",
        ),
    ] = 65_536
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="A disabled set is kept; rules that use it match nothing.")] = False


@dataclass(frozen=True, slots=True)
class SetEntry(ConfigObject):
    """One value of a static set."""

    kind: ClassVar[Kind] = "set-entry"
    id: str
    set: Annotated[
        str, Ref("set", help="The set that contains the entry.", offered=When("source", ("static",)))
    ]
    value: Annotated[
        str,
        SetMember(
            help="A prefix, a port or range, a hardware address or an interface.", example="192.0.2.0/24"
        ),
    ]
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="A disabled entry is kept, and is not in the set.")] = False

    @property
    def name(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class LearntAddress:
    """One address that rules added."""

    address: Annotated[str, Text(45)]
    expires_in_s: Annotated[
        int, Whole(0, MAX_SET_TIMEOUT_S, label="Forgotten in", help="Unless it is added again.")
    ]


def learns_addresses(_view: View, item: Set) -> Iterator[Finding]:
    if item.source == "dynamic" and item.type != "address":
        yield error(
            "dynamic-set", item, "source", f"only sets of addresses learn; this one holds type {item.type}"
        )


def fits_its_set(view: View, entry: SetEntry) -> Iterator[Finding]:
    found = view.document.get("set", entry.set)
    if not isinstance(found, Set):
        return  # a reference to nothing is said already
    form = form_of(entry.value)
    if form != found.type:
        text = f"{entry.value} is of type {form}, and the set {entry.set} holds type {found.type}"
        yield error("wrong-type", entry, "value", text)
    if found.source == "dynamic":
        text = f"the set {entry.set} learns its addresses from rules and takes no configured entry"
        yield error("dynamic-set", entry, "set", text)


def holds_what_fits(view: View, item: Set) -> Iterator[Finding]:
    """A set that becomes one of another type, or learns from now on, has no entry that does not fit."""
    entries = view.worked_out("entries of sets", lambda: _entries_by_set(view))
    wrong = next(
        (
            entry
            for entry in entries.get(item.id, ())
            if item.source == "dynamic" or form_of(entry.value) != item.type
        ),
        None,
    )
    if wrong is not None:
        what = "learns its addresses" if item.source == "dynamic" else f"holds type {item.type}"
        text = f"set {item.id} {what}, and has the entry {wrong.value} ({wrong.id}): remove its entries first"
        yield error("set-has-entries", item, "type", text)


def _entries_by_set(view: View) -> dict[str, list[SetEntry]]:
    found: dict[str, list[SetEntry]] = {}
    for entry in view.document.every(SetEntry):
        found.setdefault(entry.set, []).append(entry)
    return found


SET = Declaration(
    Set,
    singular="set",
    plural="sets",
    short="set",
    about="Sets of addresses, ports, interfaces or hardware addresses, for firewall rules.",
    columns=("type", "source", "entries", "comment"),
    state={
        "entries": Whole(
            0, MAX_EXACT, help="How much the kernel holds. A value that two entries say counts once."
        ),
        "learnt": Rows(
            LearntAddress,
            SHOWN_LEARNT,
            by="address",
            help=f"What rules added to a dynamic set: {SHOWN_LEARNT} of it, those that stay longest first.",
        ),
    },
    area="Firewall",
    purpose="A set holds addresses, ports, interfaces or hardware addresses. Firewall rules name it, "
    "and need not change when it does. 100,000 prefixes cost a packet one look for each prefix length.",
    rules=(
        Rule("learns-addresses", "set", learns_addresses, own("set"), True),
        Rule("holds-what-fits", "set", holds_what_fits, own("set"), True),
    ),
)
ENTRY = Declaration(
    SetEntry,
    singular="set entry",
    plural="set entries",
    short="set-entry",
    about="The values of static sets.",
    ids=replace(OBJECT_IDS, assigned="e"),
    columns=("set", "value", "comment"),
    named_by="value",
    page="set-entries",
    argument="entry_id",
    area="Firewall",
    purpose="An entry is one value of a set: a prefix, a port or range, a hardware address or an interface.",
    rules=(Rule("fits-its-set", "set-entry", fits_its_set, own("set-entry"), True),),
)
