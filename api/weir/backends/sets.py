# SPDX-License-Identifier: Apache-2.0
"""The sets of the firewall's table: made by nft, filled by netlink, and read only when somebody else may have
changed nftables since we did (docs/adr/0130)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from weir.adapters import nft, nft_elements
from weir.adapters.nft_elements import Changed
from weir.adapters.nft_generation import OF_SETS
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import SetEntry
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.head import Head
from weir.parts.sets import Contents, SetsDelta, Values, keys_of, text_of

_FEW = 5000
"""So many elements are asked for one by one, at 40 us each; for more the set is read."""

Held = Mapping[str, Collection[bytes]]
"""Keys by the kernel's name of a set; of a set that packets add to it has none."""


@dataclass(slots=True)
class SetsDifference:
    made: list[Head] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    after: Contents | None = None
    """What the kernel holds then, as far as this is all that is done."""
    kept: Mapping[str, Collection[bytes]] = field(default_factory=dict)
    """What it holds besides: sets that nobody wants, and that rules still name."""

    def __bool__(self) -> bool:
        return bool(self.made or self.changed or self.gone)

    def steps(self) -> Iterator[Step]:
        for head in self.made:
            yield step("sets", "add", "set", f"the set {head.name}")
        for change in self.changed:
            text = f"the set {change.set}: {len(change.added)} to add, {len(change.removed)} to remove"
            yield step("sets", "change", "set", text)
        for name in self.gone:
            yield step("sets", "remove", "set", f"the set {name}")

    def keeping(self, held: Held) -> SetsDifference:
        """The same, and no set is removed."""
        return replace(self, gone=[], kept={name: held[name] for name in self.gone})

    @classmethod
    def of(cls, delta: SetsDelta, *, keeps: bool = False) -> SetsDifference:
        """What a plan says. With `keeps` no set is removed: rules still name it."""
        found = cls(after=delta.after)
        for change in delta.changes:
            if change.made:
                found.made.append(change.head)
            if change.gone and not keeps:
                found.gone.append(change.head.name)
            elif change.added or change.removed:
                found.changed.append(Changed(change.head.name, change.added, change.removed))
        return found


class SetsBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("firewall",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, forget_flows: Callable[[], None] = lambda: None) -> None:
        """`forget_flows`: rules are asked again about connections that they let pass before."""
        self._forget_flows = forget_flows
        self._known: dict[str, Collection[bytes]] | None = None
        """What was read or verified last."""

    def read(self) -> Held:
        generation = nft_elements.generation()
        if self._known is not None and OF_SETS.is_as_we_left_it(generation):
            return self._known
        names = (nft.read_table() or nft.Table({})).sets
        self._known = {
            name: () if name.startswith("d") else nft_elements.keys(nft.TABLE, name) for name in sorted(names)
        }
        OF_SETS.trust(generation)
        return self._known

    def diff(self, held: Held, wanted: Contents) -> SetsDifference:
        found = SetsDifference(after=wanted)
        for head, values in wanted.items():
            here = held.get(head.name)
            if here is values:
                continue  # what was verified last; nobody compares 100,000 entries after each commit
            if here is None:
                found.made.append(head)
            here = set(here or ())
            added, removed = [key for key in values if key not in here], sorted(here - values.keys())
            if added or removed:
                found.changed.append(Changed(head.name, added, removed))
        found.gone = sorted(held.keys() - {head.name for head in wanted})
        return found

    def apply(self, difference: SetsDifference) -> None:
        self._known = None
        if difference.made:
            lines = [
                f"add set {nft.FAMILY} {nft.TABLE} {head.name} {_declared(head)}\n"
                for head in difference.made
            ]
            nft.apply_text(f"add table {nft.FAMILY} {nft.TABLE}\n" + "".join(lines))
        if difference.changed:
            with nft.transaction():
                _change(difference.changed)
        if difference.gone:
            nft.apply_text(
                "".join(f"delete set {nft.FAMILY} {nft.TABLE} {name}\n" for name in difference.gone)
            )
        if difference.changed:
            self._forget_flows()

    def verify(self, difference: SetsDifference) -> None:
        wrong = [text for change in difference.changed for text in _deviations(change)]
        if difference.gone or difference.made:
            names = (nft.read_table() or nft.Table({})).sets
            wrong += [f"the set {name} is still there" for name in difference.gone if name in names]
            wrong += [f"there is no set {head.name}" for head in difference.made if head.name not in names]
        refuse("sets", wrong)
        if difference.after is not None:
            known = {head.name: values for head, values in difference.after.items()}
            self._known = {**difference.kept, **known}

    def effects(self, look: Look[Held, Contents, SetsDifference]) -> Iterator[Effect]:
        return iter(())  # what rules make of it is said by them

    def explain(
        self, found: Comparison[Held, Contents, SetsDifference], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        """A set with all that is in it, or one entry. Nobody changed nftables since it was read."""
        if isinstance(item, SetEntry):
            yield from _explain_entry(found, item)
            return
        if isinstance(item, FirewallRule):
            yield from _explain_counted(found, item)
            return
        own = [head for head in found.wanted if head.set_id == item.id]
        for head in own:
            yield _explain_set(head, found.wanted[head], found.held.get(head.name))
        left = [name for name in found.held.keys() - {head.name for head in own} if _set_of(name) == item.id]
        if left or not own:
            compiled = "no other" if own else "none, as it is disabled or has no entries"
            yield Line("id", compiled, ", ".join(sorted(left)) or "there is none", not left)


def _set_of(name: str) -> str:
    """The set that one of the kernel's is of, by the name that `Head` gives."""
    return name.split("_", {"d": 3, "a": 2}.get(name[:1], 1))[-1]


def _explain_counted(found: Comparison[Held, Contents, SetsDifference], rule: FirewallRule) -> Iterator[Line]:
    """The sets in which a rule counts sources, and those that are left of it."""
    own = [head for head in found.wanted if head.rule_id == rule.id]
    for head in own:
        yield _explain_set(head, {}, found.held.get(head.name))
    for name in sorted(found.held.keys() - {head.name for head in own}):
        if name.startswith("d") and Head(_set_of(name), "ipv4_addr").rule_id == rule.id:
            yield Line("source_limit", "no other", name, False)


def _explain_set(head: Head, values: Values, held: Collection[bytes] | None) -> Line:
    if head.most:
        words = "it is there" if held is not None else "there is no such set"
        compiled = f"{head.name}, {'which counts sources' if head.rule_id else 'to which rules add'}"
        return Line("source_limit" if head.rule_id else "id", compiled, words, held is not None)
    compiled = f"{len(values)} in {head.name}"
    if held is None:
        return Line("id", compiled, "there is no such set", False)
    missing, odd = len(values.keys() - set(held)), len(set(held) - values.keys())
    words = f"{missing} are missing and {odd} are too many" if missing or odd else f"{len(held)}, the same"
    return Line("id", compiled, words, not (missing or odd))


def _explain_entry(found: Comparison[Held, Contents, SetsDifference], item: SetEntry) -> Iterator[Line]:
    for head, key in keys_of(item.set, item.value):
        wanted = key in found.wanted.get(head, {})
        is_there = key in found.held.get(head.name, ())
        text = text_of(head, key)
        compiled = f"{text} in {head.name}" if wanted else "not in the set"
        yield Line("value", compiled, "it is there" if is_there else "it is not there", is_there == wanted)


def _declared(head: Head) -> str:
    if head.timeout_s:
        return f"{{ type {head.key}; size {head.most}; flags dynamic,timeout; timeout {head.timeout_s}s; }}"
    if head.most:
        return f"{{ type {head.key}; size {head.most}; flags dynamic; }}"
    return f"{{ type {head.key}; }}"


def _change(changed: list[Changed]) -> None:
    """What is gone already need not go: then, only what the kernel holds is removed."""
    try:
        nft_elements.change(nft.TABLE, changed)
    except ApplyFailed as problem:
        if problem.code != nft_elements.NOT_THERE:
            raise
        held = {change.set: nft_elements.keys(nft.TABLE, change.set) for change in changed}
        left = [
            change._replace(removed=[k for k in change.removed if k in held[change.set]])
            for change in changed
        ]
        nft_elements.change(nft.TABLE, left)


def _deviations(change: Changed) -> Iterator[str]:
    asked = [*change.added, *change.removed]
    held: Collection[bytes] = (
        nft_elements.keys(nft.TABLE, change.set)
        if len(asked) > _FEW
        else nft_elements.held(nft.TABLE, change.set, asked)
    )
    missing = sum(key not in held for key in change.added)
    left = sum(key in held for key in change.removed)
    if missing or left:
        yield f"the set {change.set} lacks {missing} of its elements and has {left} that it should not have"
