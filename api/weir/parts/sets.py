# SPDX-License-Identifier: Apache-2.0
"""What the kernel's sets hold: the values of configured entries, and nothing of what rules add.

Addresses are in one set for each length of prefix, where a look costs the same however many there are; a set
of intervals takes ten times as long to load, and 20 ms for one change among 100,000 (docs/adr/0130).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import TAKES_ENTRIES, Set, SetEntry
from weir.model.document import Change, Document
from weir.model.members import Form, form_of, ports_of
from weir.model.objects import ConfigObject
from weir.model.prefix import Prefix, address_bytes
from weir.parts.delta import Counts, Step
from weir.parts.head import Head, KeyType
from weir.parts.part import Part
from weir.parts.source_bounds import bound_heads

_IFNAME_BYTES = 16


Values = Mapping[bytes, int]
"""By key in network byte order, how many entries say it."""
Contents = Mapping[Head, Values]


class SetChange(NamedTuple):
    """What becomes of one set; `made` and `gone` where it comes or goes as a whole."""

    head: Head
    added: Sequence[bytes]
    removed: Sequence[bytes]
    made: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class SetsDelta:
    before: Contents
    after: Contents
    changes: tuple[SetChange, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def counts(self) -> Counts:
        added = sum(len(change.added) for change in self.changes)
        return Counts(added, 0, sum(len(change.removed) for change in self.changes))

    def inverse(self) -> SetsDelta:
        turned = (
            SetChange(item.head, item.removed, item.added, item.gone, item.made) for item in self.changes
        )
        return SetsDelta(self.after, self.before, tuple(turned))


class SetsPart(Part[Contents, SetsDelta]):
    name = "sets"
    made_of = frozenset(("set", "set-entry", "firewall-rule"))

    @property
    def nothing(self) -> Contents:
        return {}

    def wanted(self, document: Document) -> Contents:
        counted: dict[Head, Values] = {
            head: {} for rule in document.every(FirewallRule) for head in bound_heads(rule)
        }
        return _contents(document, document.of_kind("set")) | counted

    def delta(self, before: Contents, after: Contents) -> SetsDelta:
        if before is after:
            return SetsDelta(before, after, ())
        found = []
        for head in sorted(before.keys() | after.keys()):
            old, new = before.get(head), after.get(head)
            if old is not new:
                added = [key for key in new or () if key not in (old or ())]
                removed = [key for key in old or () if key not in (new or ())]
                if added or removed or old is None or new is None:
                    found.append(SetChange(head, added, removed, old is None, new is None))
        return SetsDelta(before, after, tuple(found))

    def applied(self, before: Contents, delta: SetsDelta) -> Contents:
        return delta.after

    def told(self, wanted: Contents, item: ConfigObject) -> Iterator[str]:
        """Nothing of 100,000 entries: the backend says precisely what is asked of one object."""
        return iter(())

    def moved(
        self, before: Contents, document: Document, changes: Sequence[Change]
    ) -> tuple[Contents, SetsDelta]:
        """Costs what changes; a set that comes, goes or becomes another one has all its entries looked at."""
        gone, come = _bounds_moved(changes)
        if not (gone or come) and _OF_SETS.isdisjoint(change.kind for change in changes):
            return before, SetsDelta(before, before, ())
        others = {c.id for c in changes if c.kind == "set" and _holding(c.old) != _holding(c.new)}
        delta = _moved(before, document, changes, others)
        if others:
            kept = {head: values for head, values in delta.after.items() if head.set_id not in others}
            delta = self.delta(before, kept | _contents(document, others))
        if gone or come:
            after = {head: values for head, values in delta.after.items() if head not in gone}
            moved = (SetChange(head, (), (), head in come, head in gone) for head in (*gone, *come))
            delta = SetsDelta(before, after | {head: {} for head in come}, (*delta.changes, *moved))
        return delta.after, delta

    def made(self, delta: SetsDelta) -> Iterator[Step]:
        for change in delta.changes:
            if change.made and not change.added:
                yield Step(self.name, "add", "set", f"{change.head.owner} as {change.head.name}")
            for key in change.added:
                yield Step(self.name, "add", "entry", f"{change.head.set_id}: {text_of(change.head, key)}")

    def removed(self, delta: SetsDelta) -> Iterator[Step]:
        for change in delta.changes:
            for key in change.removed:
                yield Step(self.name, "remove", "entry", f"{change.head.set_id}: {text_of(change.head, key)}")
            if change.gone and not change.removed:
                yield Step(self.name, "remove", "set", f"{change.head.owner} as {change.head.name}")


_OF_SETS = frozenset(("set", "set-entry"))


def _bounds_moved(changes: Sequence[Change]) -> tuple[Collection[Head], Collection[Head]]:
    """The sets of firewall rules' limits that go, and those that come; one stays what it is under any other
    change of its rule."""
    rules = [change for change in changes if change.kind == "firewall-rule"]
    old = dict.fromkeys(head for change in rules for head in bound_heads(change.old))
    new = dict.fromkeys(head for change in rules for head in bound_heads(change.new))
    return [head for head in old if head not in new], [head for head in new if head not in old]


def _holding(item: object) -> object:
    """What of a set decides how the kernel has it."""
    if not isinstance(item, Set):
        return None
    return item.disabled, item.source, item.type, item.timeout_s, item.max_entries


def _contents(document: Document, sets: Collection[str]) -> dict[Head, dict[bytes, int]]:
    """Of these sets alone."""
    found: dict[Head, dict[bytes, int]] = {}
    for name in sets:
        item = document.get("set", name)
        if isinstance(item, Set) and item.source == "dynamic" and not item.disabled:
            found |= {head: {} for head in learnt_heads(item)}
    filled = _filled(document, sets)
    for entry in document.every(SetEntry):
        for head, key in _keys(filled, entry):
            values = found.get(head)
            if values is None:
                values = found[head] = {}
            values[key] = values.get(key, 0) + 1
    return found


def _moved(
    before: Contents, document: Document, changes: Sequence[Change], others: Collection[str]
) -> SetsDelta:
    """Only the sets that entries come to or go from are copied, and only those entries compared. Of `others`
    nothing is looked at."""
    steps: dict[Head, dict[bytes, int]] = {}
    filled = _filled(document, document.of_kind("set").keys() - others)
    for change in changes:
        for entry, step in ((change.old, -1), (change.new, 1)):
            if isinstance(entry, SetEntry):
                for head, key in _keys(filled, entry):
                    of_set = steps.get(head)
                    if of_set is None:
                        of_set = steps[head] = {}
                    of_set[key] = of_set.get(key, 0) + step
    after, found = dict(before), []
    for head, of_set in sorted(steps.items()):
        old = before.get(head, {})
        new, added, removed = dict(old), [], []
        for key, step in of_set.items():
            count = new[key] = old.get(key, 0) + step
            if not count:
                del new[key]
            if count and key not in old:
                added.append(key)
            elif not count and key in old:
                removed.append(key)
        after[head] = new
        if not new:
            after.pop(head)
        if added or removed:
            found.append(SetChange(head, added, removed, head not in before, head not in after))
    return SetsDelta(before, after, tuple(found))


def learnt_heads(item: Set) -> list[Head]:
    """The kernel's sets of a set that packets add to."""
    return [Head(item.id, key, 0, item.timeout_s, item.max_entries) for key in ("ipv4_addr", "ipv6_addr")]


def _filled(document: Document, sets: Collection[str]) -> dict[str, str]:
    """Of these sets those that configured entries fill, with the type of what they hold."""
    found = ((name, document.get("set", name)) for name in sets)
    return {
        name: item.type
        for name, item in found
        if isinstance(item, Set) and item.source in TAKES_ENTRIES and not item.disabled
    }


def _keys(filled: Mapping[str, str], entry: SetEntry) -> Collection[tuple[Head, bytes]]:
    """Where an entry is found in the kernel; nowhere while it, or its set, is disabled."""
    if not entry.disabled and filled.get(entry.set) == form_of(entry.value):
        return keys_of(entry.set, entry.value)
    return ()


def keys_of(set_id: str, value: str) -> Collection[tuple[Head, bytes]]:
    """Of a canonical value."""
    head = head_of(set_id, value)
    match head.key:
        case "ipv4_addr" | "ipv6_addr":
            return ((head, address_bytes(value)),)
        case "inet_service":
            return [(head, port.to_bytes(2, "big")) for port in ports_of(value)]
        case "ether_addr":
            return ((head, bytes.fromhex(value.replace(":", ""))),)
        case "ifname":
            return ((head, value.encode().ljust(_IFNAME_BYTES, b"\0")),)


def head_of(set_id: str, value: str) -> Head:
    """The kernel's set that all keys of a canonical value are in."""
    address, slash, length = value.partition("/")
    return _head(set_id, ":" in address, length) if slash else _head_without_length(set_id, form_of(value))


@lru_cache(maxsize=4096)
def _head(set_id: str, is_v6: bool, length: str) -> Head:
    """Of addresses. 100,000 entries are in a handful of these."""
    return Head(set_id, "ipv6_addr" if is_v6 else "ipv4_addr", int(length))


@lru_cache(maxsize=4096)
def _head_without_length(set_id: str, form: Form) -> Head:
    keys: Mapping[Form, KeyType] = {"port": "inet_service", "mac": "ether_addr", "interface": "ifname"}
    return Head(set_id, keys[form])


def text_of(head: Head, key: bytes) -> str:
    """A key as people read it."""
    match head.key:
        case "ipv4_addr" | "ipv6_addr":
            return Prefix(head.family, int.from_bytes(key, "big"), head.length).text
        case "inet_service":
            return str(int.from_bytes(key, "big"))
        case "ether_addr":
            return key.hex(":")
        case "ifname":
            return key.rstrip(b"\0").decode()
    raise TypeError(f"no set has keys of type {head.key}")


SETS = SetsPart()
