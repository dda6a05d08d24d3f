# SPDX-License-Identifier: Apache-2.0
"""Sets of addresses, ports, interfaces or hardware addresses, which rules match, and their entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import (
    OBJECT_IDS,
    Choice,
    Comment,
    DnsName,
    Flag,
    Many,
    Moment,
    Ref,
    Rows,
    SetMember,
    Text,
    Url,
    When,
    Whole,
)
from weir.kinds.declaration import Declaration
from weir.model.limits import (
    MAX_EXACT,
    MAX_REFRESH_S,
    MAX_SET_ENTRIES,
    MAX_SET_NAMES,
    MAX_SET_TIMEOUT_S,
    MIN_REFRESH_S,
)
from weir.model.members import form_of
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning

SHOWN_LEARNT = 100
"""So many learnt addresses are told of a set."""
MAX_ANSWER_CHARS = 400
"""Of what went wrong with a list."""
_LEARNS, _BY_URL = When("source", ("dynamic",)), When("source", ("url",))
_BY_DNS = When("source", ("dns",))
_IS_BOUNDED = When("source", ("dynamic", "url"))
TAKES_ENTRIES = ("static", "dns")
"""The sources of sets that have configured entries."""


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
            "url",
            "dns",
            help="static: its entries are configured. dynamic: rules add addresses, which are forgotten "
            "after a while. url: it has the addresses of a list in the web, fetched again and again. dns: "
            "it has the addresses of names, asked for again and again, and its entries.",
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
    url: Annotated[
        str | None,
        Url(
            label="URL",
            help="Where the list is: one address or prefix a line. Everybody who may read the configuration "
            "sees it.",
            example="https://lists.example.net/drop.txt",
            when=_BY_URL,
        ),
    ] = None
    refresh_s: Annotated[
        int,
        Whole(
            MIN_REFRESH_S,
            MAX_REFRESH_S,
            label="Fetch again after",
            help="After a try that failed it is fetched again sooner.",
            when=_BY_URL,
        ),
    ] = 86_400
    names: Annotated[
        tuple[str, ...],
        Many(
            DnsName(),
            MAX_SET_NAMES,
            option="host",
            help="The router asks for their addresses again when those that it was told have had their time.",
            example="api.example.net",
            when=_BY_DNS,
        ),
    ] = ()
    max_entries: Annotated[
        int,
        Whole(
            1,
            MAX_SET_ENTRIES,
            help="The most addresses of each family that the set learns, or entries of a list: a longer list "
            "is not taken.",
            when=_IS_BOUNDED,
            importance="folded",
        ),
    ] = 65_536
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="A disabled set is kept; rules that use it match nothing.")] = False


@dataclass(frozen=True, slots=True)
class SetEntry(ConfigObject):
    """One value of a static set, or of one that has addresses of names besides."""

    kind: ClassVar[Kind] = "set-entry"
    id: str
    set: Annotated[
        str, Ref("set", help="The set that contains the entry.", offered=When("source", TAKES_ENTRIES))
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


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """What is known of one name of a set."""

    name: Annotated[str, DnsName()]
    ipv4: Annotated[int, Whole(0, MAX_EXACT, label="IPv4", help="How many addresses of it are in the set.")]
    ipv6: Annotated[int, Whole(0, MAX_EXACT, label="IPv6", help="How many addresses of it are in the set.")]
    answered_at: Annotated[str | None, Moment(help="When its addresses were told last.")] = None
    next_at: Annotated[str | None, Moment(label="Next try", help="When it is asked for again.")] = None
    error: Annotated[
        str | None,
        Text(MAX_ANSWER_CHARS, help="Why it has no new addresses; those that it had stay for a while."),
    ] = None


def learns_addresses(_view: View, item: Set) -> Iterator[Finding]:
    if item.source == "dynamic" and item.type != "address":
        yield error(
            "dynamic-set", item, "source", f"only sets of addresses learn; this one holds type {item.type}"
        )


def is_fetched_from_somewhere(_view: View, item: Set) -> Iterator[Finding]:
    if item.source != "url":
        return
    if item.type != "address":
        text = f"lists are of addresses, and this set holds type {item.type}"
        yield error("fetched-set", item, "source", text)
    if item.url is None:
        yield error("set-incomplete", item, "url", "must be given where the source is url")
    elif item.url.startswith("http:"):
        text = "nobody checks who sends the list: who is on the way may say whom rules match; use https"
        yield warning("list-in-the-clear", item, "url", text)


def is_asked_for(_view: View, item: Set) -> Iterator[Finding]:
    if item.source != "dns":
        return
    if item.type != "address":
        text = f"names have addresses, and this set holds type {item.type}"
        yield error("fetched-set", item, "source", text)
    if not item.names:
        yield error("set-incomplete", item, "names", "must be given where the source is dns")


_FILLED = {"dynamic": "learns its addresses from rules", "url": "has the addresses of a list"}


def fits_its_set(view: View, entry: SetEntry) -> Iterator[Finding]:
    found = view.document.get("set", entry.set)
    if not isinstance(found, Set):
        return  # a reference to nothing is said already
    form = form_of(entry.value)
    if form != found.type:
        text = f"{entry.value} is of type {form}, and the set {entry.set} holds type {found.type}"
        yield error("wrong-type", entry, "value", text)
    if found.source not in TAKES_ENTRIES:
        text = f"the set {entry.set} {_FILLED[found.source]} and takes no configured entry"
        yield error(f"{'dynamic' if found.source == 'dynamic' else 'fetched'}-set", entry, "set", text)


def holds_what_fits(view: View, item: Set) -> Iterator[Finding]:
    """A set that becomes one of another type, or learns from now on, has no entry that does not fit."""
    entries = view.worked_out("entries of sets", lambda: _entries_by_set(view))
    wrong = next(
        (
            entry
            for entry in entries.get(item.id, ())
            if item.source not in TAKES_ENTRIES or form_of(entry.value) != item.type
        ),
        None,
    )
    if wrong is not None:
        what = _FILLED.get(item.source, f"holds type {item.type}")
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
    columns=("type", "source", "entries", "fetched_at", "last_error", "comment"),
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
        "resolved": Rows(ResolvedName, MAX_SET_NAMES, by="name", help="What is known of its names."),
        "fetched_at": Moment(
            help="When its list was had, or a name answered, last; after a restart known to the hour."
        ),
        "changed_at": Moment(help="When its list, or its names' addresses, were others than before."),
        "next_at": Moment(label="Next try", help="When it is fetched, or a name of it asked for, again."),
        "skipped": Whole(0, MAX_EXACT, help="Lines of its list that are no addresses."),
        "last_error": Text(
            MAX_ANSWER_CHARS,
            help="Why the last try failed; what the set had before stays. Empty: it did not.",
        ),
    },
    area="Firewall",
    purpose="A set holds addresses, ports, interfaces or hardware addresses. Firewall rules name it, "
    "and need not change when it does. 100,000 prefixes cost a packet one look for each prefix length.",
    rules=(
        Rule("learns-addresses", "set", learns_addresses, own("set"), True),
        Rule("fetched-from", "set", is_fetched_from_somewhere, own("set"), True),
        Rule("asked-for", "set", is_asked_for, own("set"), True),
        Rule("holds-what-fits", "set", holds_what_fits, own("set"), True),
    ),
)
ENTRY = Declaration(
    SetEntry,
    singular="set entry",
    plural="set entries",
    short="set-entry",
    about="The values of static sets, and those of sets of names besides.",
    ids=replace(OBJECT_IDS, assigned="e"),
    columns=("set", "value", "comment"),
    named_by="value",
    page="set-entries",
    argument="entry_id",
    area="Firewall",
    purpose="An entry is one value of a set: a prefix, a port or range, a hardware address or an interface.",
    rules=(Rule("fits-its-set", "set-entry", fits_its_set, own("set-entry"), True),),
)
