# SPDX-License-Identifier: Apache-2.0
"""Our nftables table as values, and the transaction that makes another one of it (libnftables-json(5))."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weir.adapters.nft_turns import is_of_turn, of_one_turn
from weir.parts.delta import common_ends

FAMILY, TABLE = "inet", "weir"
FLOW_TABLE = "fast"
"""Of our table: connections that packets may be forwarded for without asking the rules again."""
FLOW_CHAIN = "forward"
"""The chain that names it."""
HELPER = "ct helper"
"""What libnftables' JSON calls a helper of conntrack, and the statement that gives it to a connection."""
RAW_CHAIN = "raw"
"""What packets meet before their connection is looked up."""
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

    `counters` and `helpers` are those that rules name, a helper by its type and protocol. `sets` are only
    read: what fills them makes and removes them.
    """

    chains: Mapping[str, Chain]
    flow_devices: tuple[str, ...] = ()
    counters: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()


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
    fresh: Collection[Rule] = ()
    if resets_flows and (before.flow_devices or wanted.flow_devices):
        refilled |= {FLOW_CHAIN} & (before.chains.keys() | wanted.chains.keys())
        fresh = _flow_rules(wanted)
    edits = {name: edit for name in refilled if (edit := _edit_of(name, before, wanted, fresh)) is not None}
    refilled -= edits.keys()
    steps = [
        *start,
        *(_taken_out(name, handle) for name, edit in sorted(edits.items()) for handle in edit.gone),
        *_emptied(before, wanted, refilled, resets_flows),
        *_made(before, wanted, refilled, resets_flows),
        *_filled(wanted, refilled),
        *(command for name, edit in sorted(edits.items()) for command in edit.put_in(name)),
    ]
    return of_one_turn(steps)


class _Edit(NamedTuple):
    """Rules of one chain by handle that go; and those that come, each with the handle of the rule before
    which it does, 0 = at the end."""

    gone: Sequence[int]
    come: Sequence[tuple[int, Rule]]

    def put_in(self, chain: str) -> Iterator[Command]:
        """In their order: those that come before the same rule follow each other. (nft's JSON takes a handle
        for a place in `insert` alone; an `index` makes it read all rules.)"""
        for handle, rule in self.come:
            yield _rule(chain, rule, "insert", handle=handle) if handle else _rule(chain, rule)


def _edit_of(name: str, held: Table, wanted: Table, fresh: Collection[Rule]) -> _Edit | None:
    """None where a chain is better filled again. Rules that are `fresh` do not stay, although they are asked
    for: they are made again."""
    old, new = held.chains.get(name), wanted.chains.get(name)
    if old is None or new is None or _head(old) != _head(new) or len(old.handles) != len(old.rules):
        return None
    stays = [(at, to) for at, to in _staying(old.rules, new.rules) if new.rules[to] not in fresh]
    if len(old.rules) + len(new.rules) - 2 * len(stays) > MOST_EDITS:
        return None
    kept = {at for at, _ in stays}
    gone = [handle for at, handle in enumerate(old.handles) if at not in kept]
    come, begin = [], 0
    for handle, end in [*((old.handles[at], to) for at, to in stays), (0, len(new.rules))]:
        come += [(handle, rule) for rule in new.rules[begin:end]]
        begin = end + 1
    return _Edit(gone, come)


def _staying(old: Sequence[Rule], new: Sequence[Rule]) -> list[tuple[int, int]]:
    """Places before and after of the rules that need not be touched, as many as there are: the same at both
    ends, and between them the longest series that kept its order (patience sorting)."""
    same, end = common_ends(old, new)
    places: dict[Rule, list[int]] = {}
    for at in range(len(old) - end - 1, same - 1, -1):
        places.setdefault(old[at], []).append(at)
    tops: list[int] = []
    piles: list[tuple[int, int, Any]] = []
    """On top of each pile: place before, place after, and what was on top of the pile before it then."""
    for to in range(same, len(new) - end):
        here = places.get(new[to])
        if here:
            at = here.pop()
            pile = bisect_left(tops, at)
            row = at, to, piles[pile - 1] if pile else None
            tops[pile : pile + 1], piles[pile : pile + 1] = [at], [row]
    between = []
    top = piles[-1] if piles else None
    while top is not None:
        between.append((top[0], top[1]))
        top = top[2]
    first = [(at, at) for at in range(same)]
    last = [(len(old) - at, len(new) - at) for at in range(end, 0, -1)]
    return [*first, *reversed(between), *last]


def _flow_rules(table: Table) -> Collection[Rule]:
    """Those that come and go with the flow table: what names it, and what says who may enter it."""
    chain = table.chains.get(FLOW_CHAIN)
    rules = () if chain is None else chain.rules
    return [rule for rule in rules if any(map(_is_of_flows, rule[1]))]


def _is_of_flows(text: str) -> bool:
    return text.startswith('{"flow":') or is_of_turn(text)


def _taken_out(chain: str, handle: int) -> Command:
    return {"delete": {"rule": {"family": FAMILY, "table": TABLE, "chain": chain, "handle": handle}}}


def agree(held: Table | None, wanted: Table | None) -> bool:
    """Whether there is nothing to do. Sets are none of it: what fills them makes and removes them."""
    if wanted is None:
        return held is None or agree(held, Table({}))
    return held is not None and _without_sets(held) == _without_sets(wanted)


def _without_sets(table: Table) -> tuple[object, ...]:
    return table.chains, table.flow_devices, table.counters, table.helpers


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
    return {name for name, chain in wanted.chains.items() if not chain.hook} | {FLOW_CHAIN, RAW_CHAIN}


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
    yield from (_command("delete", HELPER, name) for name in sorted(held.helpers - wanted.helpers))


def _made(held: Table, wanted: Table, refilled: set[str], resets_flows: bool) -> Iterator[Command]:
    """All chains before the first rule: rules jump from one to another."""
    if wanted.flow_devices and resets_flows:
        devices = list(wanted.flow_devices)
        yield _command("add", "flowtable", FLOW_TABLE, hook="ingress", prio=0, dev=devices)
    yield from (_command("add", "counter", name) for name in sorted(wanted.counters - held.counters))
    yield from map(new_helper, sorted(wanted.helpers - held.helpers))
    for name in sorted(refilled & wanted.chains.keys()):
        if name not in held.chains or _head(held.chains[name]) != _head(wanted.chains[name]):
            yield _command("add", "chain", name, **_head(wanted.chains[name]))


def new_helper(name: str) -> Command:
    """The step that makes a helper for a protocol (`ftp_tcp`) known to our table."""
    helper, _, protocol = name.partition("_")
    return _command("add", HELPER, name, type=helper, protocol=protocol, l3proto=FAMILY)


def _filled(wanted: Table, refilled: set[str]) -> Iterator[Command]:
    for name in sorted(refilled & wanted.chains.keys()):
        yield from (_rule(name, rule) for rule in wanted.chains[name].rules)


def _command(verb: str, what: str, name: str, **said: Any) -> Command:
    place = {} if what == "table" else {"table": TABLE}
    return {verb: {what: {"family": FAMILY, **place, "name": name, **said}}}


def _rule(chain: str, rule: Rule, verb: str = "add", **place: int) -> Command:
    """`handle`: that of the rule before which it is inserted."""
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
    edit = _edit_of(FLOW_CHAIN, table, table, _flow_rules(table))
    made = (
        _command("delete", "flowtable", FLOW_TABLE),
        _command("add", "flowtable", FLOW_TABLE, hook="ingress", prio=0, dev=devices),
    )
    if edit is None:
        refilled = (_rule(FLOW_CHAIN, rule) for rule in chain.rules)
        return of_one_turn([_command("flush", "chain", FLOW_CHAIN), *made, *refilled])
    gone = [_taken_out(FLOW_CHAIN, handle) for handle in edit.gone]
    return of_one_turn([*gone, *made, *edit.put_in(FLOW_CHAIN)])


def _head(chain: Chain) -> dict[str, Any]:
    """How a base chain hooks in; nothing of another one."""
    if not chain.hook:
        return {}
    return {"type": chain.type, "hook": chain.hook, "prio": chain.priority, "policy": chain.policy}
