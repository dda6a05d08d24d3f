# SPDX-License-Identifier: Apache-2.0
"""Our nftables table as values, and the transaction that makes another one of it (libnftables-json(5))."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FAMILY, TABLE = "inet", "weir"
FLOW_TABLE = "fast"
"""Of our table: connections that packets may be forwarded for without asking the rules again."""
FLOW_CHAIN = "forward"
"""The chain that names it."""
MOST_EDITS = 100
"""Rules that are put in or taken out one by one; where more differ, a chain is filled again."""

Command = dict[str, Any]
Rule = tuple[str, tuple[str, ...]]
"""Comment and expressions."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a base chain hooks in, and the rules in order as (comment, expressions). Without a hook it is a
    chain that rules jump to."""

    name: str
    type: str
    hook: str
    priority: int
    policy: str
    rules: tuple[Rule, ...]
    """Expressions as canonical JSON text (`canonical`), so that chains compare by value."""
    handles: tuple[int, ...] = field(default=(), compare=False)
    """What the kernel calls its rules, where they were read from it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Our table: its chains by name, and the devices of its flow table (sorted; none: it has none).

    `counters` are those that rules name. `sets` are only read: what fills them makes and removes them.
    """

    chains: Mapping[str, Chain]
    flow_devices: tuple[str, ...] = ()
    counters: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()


def commands(held: Table | None, wanted: Table | None) -> list[Command]:
    """The transaction that makes of the table that is held the one that is wanted; nothing where they agree.

    Of a chain that differs in a few rules these are put in and taken out: a change of one of 2,000 costs one.
    Another one is emptied and filled again, and one that hooks in elsewhere is made again. While rules of
    forwarded packets change, no connection stays in the flow table, whose packets they do not see.
    """
    if agree(held, wanted):
        return []
    if wanted is None:
        if held is not None and not held.sets:
            return [_command("delete", "table", TABLE)]
        wanted = Table({})
    start = [] if held is not None else [_command("add", "table", TABLE)]
    before = held or Table({})
    refilled = _refilled(before, wanted)
    resets_flows = before.flow_devices != wanted.flow_devices or bool(refilled & _seen_by_flows(wanted))
    whole = set[str]()
    if resets_flows and (before.flow_devices or wanted.flow_devices):
        whole = {FLOW_CHAIN} & (before.chains.keys() | wanted.chains.keys())
        refilled |= whole
    edits = {name: edit for name in refilled - whole if (edit := _edit_of(name, before, wanted)) is not None}
    refilled -= edits.keys()
    return [
        *start,
        *(_taken_out(name, handle) for name, edit in sorted(edits.items()) for handle in edit.gone),
        *_emptied(before, wanted, refilled, resets_flows),
        *_made(before, wanted, refilled, resets_flows),
        *_filled(wanted, refilled),
        *(command for name, edit in sorted(edits.items()) for command in edit.put_in(name)),
    ]


class _Edit(NamedTuple):
    """Rules of one chain by handle that go, and those that come behind the first `stays`."""

    gone: Sequence[int]
    come: Sequence[Rule]
    stays: int

    def put_in(self, chain: str) -> Iterator[Command]:
        """Each directly behind the same rule, or at the beginning; so the last one comes first."""
        for rule in reversed(self.come):
            if self.stays:
                yield _rule(chain, rule, index=self.stays - 1)
            else:
                yield _rule(chain, rule, "insert")


def _edit_of(name: str, held: Table, wanted: Table) -> _Edit | None:
    """None where a chain is better filled again."""
    old, new = held.chains.get(name), wanted.chains.get(name)
    if old is None or new is None or _head(old) != _head(new) or len(old.handles) != len(old.rules):
        return None
    most = min(len(old.rules), len(new.rules))
    same = next((at for at in range(most) if old.rules[at] != new.rules[at]), most)
    end = next((at for at in range(most - same) if old.rules[-1 - at] != new.rules[-1 - at]), most - same)
    gone, come = old.handles[same : len(old.rules) - end], new.rules[same : len(new.rules) - end]
    return _Edit(gone, come, same) if len(gone) + len(come) <= MOST_EDITS else None


def _taken_out(chain: str, handle: int) -> Command:
    return {"delete": {"rule": {"family": FAMILY, "table": TABLE, "chain": chain, "handle": handle}}}


def agree(held: Table | None, wanted: Table | None) -> bool:
    """Whether there is nothing to do. Sets are none of it: what fills them makes and removes them."""
    if wanted is None:
        return held is None or agree(held, Table({}))
    return held is not None and _without_sets(held) == _without_sets(wanted)


def _without_sets(table: Table) -> tuple[object, ...]:
    return table.chains, table.flow_devices, table.counters


def from_nothing(wanted: Table | None) -> list[Command]:
    """The transaction that makes our table exactly so, whatever there is."""
    table = {"family": FAMILY, "name": TABLE}
    return [{"add": {"table": table}}, {"delete": {"table": table}}, *commands(None, wanted)]


def _refilled(held: Table, wanted: Table) -> set[str]:
    """The chains whose rules are to be other ones, and those that go."""
    names = held.chains.keys() | wanted.chains.keys()
    return {name for name in names if held.chains.get(name) != wanted.chains.get(name)}


def _seen_by_flows(wanted: Table) -> set[str]:
    """The chains that forwarded packets pass: a flow table stands for their verdict."""
    return {name for name, chain in wanted.chains.items() if not chain.hook} | {FLOW_CHAIN}


def _emptied(held: Table, wanted: Table, refilled: set[str], resets_flows: bool) -> Iterator[Command]:
    """First all rules, which hold on to chains, counters and sets; then what nothing names any more."""
    here = sorted(refilled & held.chains.keys())
    yield from (_command("flush", "chain", name) for name in here)
    for name in here:
        if name not in wanted.chains or _head(held.chains[name]) != _head(wanted.chains[name]):
            yield _command("delete", "chain", name)
    if held.flow_devices and resets_flows:
        yield _command("delete", "flowtable", FLOW_TABLE)
    yield from (_command("delete", "counter", name) for name in sorted(held.counters - wanted.counters))


def _made(held: Table, wanted: Table, refilled: set[str], resets_flows: bool) -> Iterator[Command]:
    """All chains before the first rule: rules jump from one to another."""
    if wanted.flow_devices and resets_flows:
        devices = list(wanted.flow_devices)
        yield _command("add", "flowtable", FLOW_TABLE, hook="ingress", prio=0, dev=devices)
    yield from (_command("add", "counter", name) for name in sorted(wanted.counters - held.counters))
    for name in sorted(refilled & wanted.chains.keys()):
        if name not in held.chains or _head(held.chains[name]) != _head(wanted.chains[name]):
            yield _command("add", "chain", name, **_head(wanted.chains[name]))


def _filled(wanted: Table, refilled: set[str]) -> Iterator[Command]:
    for name in sorted(refilled & wanted.chains.keys()):
        yield from (_rule(name, rule) for rule in wanted.chains[name].rules)


def _command(verb: str, what: str, name: str, **said: Any) -> Command:
    place = {} if what == "table" else {"table": TABLE}
    return {verb: {what: {"family": FAMILY, **place, "name": name, **said}}}


def _rule(chain: str, rule: Rule, verb: str = "add", **place: int) -> Command:
    """`index`: that of the rule behind which it is added. (nft 1.0.6 takes no handle for that in JSON.)"""
    comment, expressions = rule
    said = {**place, **({"comment": comment} if comment else {})}
    expr = [json.loads(expression) for expression in expressions]
    return {verb: {"rule": {"family": FAMILY, "table": TABLE, "chain": chain, **said, "expr": expr}}}


def flow_reset(table: Table) -> list[Command]:
    """The transaction after which no connection of a table is in its flow table."""
    if not table.flow_devices:
        return []
    chain = table.chains[FLOW_CHAIN]
    devices = list(table.flow_devices)
    return [
        _command("flush", "chain", FLOW_CHAIN),
        _command("delete", "flowtable", FLOW_TABLE),
        _command("add", "flowtable", FLOW_TABLE, hook="ingress", prio=0, dev=devices),
        *(_rule(FLOW_CHAIN, rule) for rule in chain.rules),
    ]


def _head(chain: Chain) -> dict[str, Any]:
    """How a base chain hooks in; nothing of another one."""
    if not chain.hook:
        return {}
    return {"type": chain.type, "hook": chain.hook, "prio": chain.priority, "policy": chain.policy}
