# SPDX-License-Identifier: Apache-2.0
"""The entries of prefix lists, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Choice, Comment, Flag, Position, Prefix, Ref, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.prefix_list import PrefixList
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, caused_by, error, own
from weir.model.unique import one_for_each


@dataclass(frozen=True, slots=True)
class PrefixListEntry(ConfigObject):
    """Without lengths it matches exactly that prefix; with them, networks inside it of these lengths."""

    kind: ClassVar[Kind] = "prefix-list-entry"
    id: str
    prefix_list: Annotated[str, Ref("prefix-list", help="The prefix list that the entry belongs to.")]
    prefix: Annotated[str, Prefix(help="The network to match.", example="10.0.0.0/8")]
    action: Annotated[str, Choice("permit", "deny", help="What happens to a route that matches.")] = "permit"
    min_length: Annotated[
        int | None,
        Whole(
            0,
            128,
            label="Shortest",
            help="Match networks inside the prefix of this length or longer.",
            example="16",
        ),
    ] = None
    max_length: Annotated[
        int | None,
        Whole(
            0,
            128,
            label="Longest",
            help="Match networks inside the prefix of this length or shorter.",
            example="24",
        ),
    ] = None
    position: Annotated[int, Position("prefix_list", help="The first entry that matches decides.")] = 0
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="The entry matches nothing; it is kept.")] = False

    @property
    def name(self) -> str:
        return f"{self.prefix} of {self.prefix_list}"

    @property
    def matches(self) -> tuple[str, int, int]:
        """The prefix, and the shortest and longest length of a network that it matches."""
        prefix = parse_prefix(self.prefix)
        most = 32 if prefix.family == 4 else 128
        if self.min_length is None and self.max_length is None:
            return self.prefix, prefix.length, prefix.length
        low = prefix.length if self.min_length is None else max(self.min_length, prefix.length)
        return self.prefix, low, most if self.max_length is None else self.max_length


def fits_list(view: View, entry: PrefixListEntry) -> Iterator[Finding]:
    found = view.document.get("prefix-list", entry.prefix_list)
    family = f"ipv{parse_prefix(entry.prefix).family}"
    if isinstance(found, PrefixList) and found.family != family and not entry.disabled:
        text = f"{entry.prefix} cannot be in the prefix list {found.id}, which is for {found.family}"
        yield error("family-mismatch", entry, "prefix", text)


def lengths(_view: View, entry: PrefixListEntry) -> Iterator[Finding]:
    prefix, low, high = entry.matches
    most = 32 if parse_prefix(prefix).family == 4 else 128
    if entry.min_length is not None and entry.min_length > most:
        yield error("bad-length", entry, "min_length", f"a network in {prefix} has at most {most} bits")
    elif high > most:
        yield error("bad-length", entry, "max_length", f"a network in {prefix} has at most {most} bits")
    elif low > high:
        text = f"no network in {prefix} is {low} bits or longer and {high} bits or shorter"
        yield error("bad-length", entry, "max_length", text)


def _is_repeated(entry: PrefixListEntry, first: PrefixListEntry) -> str:
    """FRR refuses an entry that repeats another one."""
    return (
        f"the entry {first.id!r} of {entry.prefix_list} has the same prefix and lengths: only "
        "the first one matches"
    )


@caused_by("prefix-list-entry", "prefix-list")
def _of_list(view: View, change: Change) -> Iterator[str]:
    if change.kind == "prefix-list-entry":
        yield change.id
    elif change.kind == "prefix-list":
        yield from (e.id for e in view.document.every(PrefixListEntry) if e.prefix_list == change.id)


_KIND = "prefix-list-entry"

KIND = Declaration(
    PrefixListEntry,
    singular="prefix list entry",
    plural="prefix list entries",
    short="prefix-list-entry",
    about="The entries of prefix lists; the first that matches decides.",
    columns=("prefix_list", "position", "action", "prefix", "min_length", "max_length", "comment"),
    named_by="prefix",
    area="Routing",
    purpose="Each entry permits or denies the networks in a prefix. The first of a list that matches "
    "decides.",
    ids=replace(OBJECT_IDS, assigned="p"),
    page="prefix-list-entries",
    argument="entry_id",
    rules=(
        Rule("fits-list", _KIND, fits_list, _of_list, True),
        Rule("lengths", _KIND, lengths, own(_KIND), True),
        one_for_each(
            PrefixListEntry,
            "matches-something",
            key=lambda entry: None if entry.disabled else (entry.prefix_list, entry.matches),
            code="duplicate-entry",
            field="prefix",
            says=_is_repeated,
            order=lambda entry: (entry.position, entry.id),
        ),
    ),
)
