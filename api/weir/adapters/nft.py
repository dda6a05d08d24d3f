# SPDX-License-Identifier: Apache-2.0
"""The firewall's nftables table, `inet weir`, through libnftables' JSON (libnftables-json(5)).

The table stays. What differs of it is changed in one transaction: packets meet the old rules or the new ones,
never a gap, and named counters and what sets have learnt outlive it (docs/adr/0129).
All tables that are not ours (`is_ours`) are foreign and never touched.

Everything is read by `list ruleset`, tersely: before `list tables` or `list table`, nft reads each element of
each set, which takes a second with 100,000 of them (1.0.6).
"""

from __future__ import annotations

import json
import marshal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from weir.adapters.nft_canonical import Expression, canonical
from weir.adapters.nft_elements import generation
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

FAMILY, TABLE = "inet", "weir"
_TIMEOUT_S = 30.0
_STDIN = "/proc/self/fd/0"
"""What nft opens for "-" is /dev/stdin, which a small /dev does not have."""

LIMITS_PREFIX = f"{TABLE}_limits"
FLOW_TABLE = "fast"
"""Of our table: connections that packets may be forwarded for without asking the rules again."""
_FLOW_CHAIN = "forward"
"""The chain that names it."""
_FORWARDING_HOOKS = ("prerouting", "forward", "postrouting", "ingress", "egress")
_ROUTED_FAMILIES = ("ip", "ip6", "inet", "netdev")
_LEGACY_TABLES = ("ip_tables_names", "ip6_tables_names")

Command = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a base chain hooks in, and the rules in order as (comment, expressions). Without a hook it is a
    chain that rules jump to."""

    name: str
    type: str
    hook: str
    priority: int
    policy: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    """Expressions as canonical JSON text (`canonical`), so that chains compare by value."""


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

    A chain that differs is emptied and filled again, and one that hooks in elsewhere is made again. While
    rules of forwarded packets change, no connection stays in the flow table, whose packets they do not see.
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
    if resets_flows and (before.flow_devices or wanted.flow_devices):
        refilled |= {_FLOW_CHAIN} & (before.chains.keys() | wanted.chains.keys())
    return [
        *start,
        *_emptied(before, wanted, refilled, resets_flows),
        *_made(before, wanted, refilled, resets_flows),
        *_filled(wanted, refilled),
    ]


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
    return {name for name, chain in wanted.chains.items() if not chain.hook} | {_FLOW_CHAIN}


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


def _rule(chain: str, rule: tuple[str, tuple[str, ...]]) -> Command:
    comment, expressions = rule
    said = {"comment": comment} if comment else {}
    expr = [json.loads(expression) for expression in expressions]
    return {"add": {"rule": {"family": FAMILY, "table": TABLE, "chain": chain, **said, "expr": expr}}}


def apply(steps: Sequence[Command]) -> None:
    """Do it: all of it or nothing. Raises `ApplyFailed` with what nft said."""
    text = json.dumps({"nftables": list(steps)})
    with transaction():
        run(["nft", "-j", "-f", _STDIN], text=text, timeout_s=_TIMEOUT_S)


def refused_rule(steps: Sequence[Command]) -> str:
    """The comment of the first rule for which the kernel refuses these steps; "" = it is not for a rule.

    By trying without doing it, in as many runs of nft as halve the number of rules down to one.
    """
    places = [at for at, item in enumerate(steps) if "rule" in item.get("add", {})]
    if not places or not _is_taken(steps[: places[0]]):
        return ""
    good, bad = 0, len(places)
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_taken(steps[: places[middle]]):
            good = middle
        else:
            bad = middle
    return str(steps[places[good]]["add"]["rule"].get("comment", ""))


def _is_taken(steps: Sequence[Command]) -> bool:
    try:
        run(["nft", "-c", "-j", "-f", _STDIN], text=json.dumps({"nftables": list(steps)}))
    except ApplyFailed:
        return False
    return True


def apply_text(script: str) -> None:
    """Do a transaction in nft's own language, for what JSON cannot say. Raises as `apply`."""
    with transaction():
        run(["nft", "-f", _STDIN], text=script, timeout_s=_TIMEOUT_S)


_left_at: int | None = None
"""The generation at which nftables was as we know it, if nobody else changed it before."""


@contextmanager
def transaction() -> Iterator[None]:
    """Around one transaction of ours: whether somebody else had one since we looked is seen by the count."""
    global _left_at
    before = generation()
    yield
    after = generation()
    _left_at = after if _left_at == before and after in (before, before + 1) else None


def trust(generation_read: int) -> None:
    """What was read at this generation is known from now on."""
    global _left_at
    _left_at = generation_read


def is_as_we_left_it(now: int) -> bool:
    """Whether all transactions since `trust` were ours."""
    return _left_at == now


def flow_reset(table: Table) -> list[Command]:
    """The transaction after which no connection of a table is in its flow table."""
    if not table.flow_devices:
        return []
    chain = table.chains[_FLOW_CHAIN]
    devices = list(table.flow_devices)
    return [
        _command("flush", "chain", _FLOW_CHAIN),
        _command("delete", "flowtable", FLOW_TABLE),
        _command("add", "flowtable", FLOW_TABLE, hook="ingress", prio=0, dev=devices),
        *(_rule(_FLOW_CHAIN, rule) for rule in chain.rules),
    ]


def listing(*words: str) -> list[dict[str, Any]]:
    """What `nft -j` prints. Raises `ApplyFailed`, or `Unavailable` when that cannot be read."""
    printed = run(["nft", "-j", *words], timeout_s=_TIMEOUT_S)
    try:
        items = json.loads(printed)["nftables"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable("nft printed no JSON that can be read", code="bad-answer") from error
    if not isinstance(items, list):
        raise ApplyFailed("nft printed something else than a list", code="bad-answer")
    return [item for item in items if isinstance(item, dict)]


def is_ours(family: str, table: str) -> bool:
    """Whether a table is Weir's: the firewall's, or that of connection_limits.py with its draft."""
    return family == FAMILY and (table == TABLE or table.startswith(LIMITS_PREFIX))


def flow_expression() -> Expression:
    """The statement that enters a packet's connection into the flow table."""
    return {"flow": {"op": "add", "flowtable": f"@{FLOW_TABLE}"}}


def ruleset() -> list[dict[str, Any]]:
    """All that nftables holds in this network namespace but the elements of sets. Raises as `listing`.

    A commit looks at it in several places: it is read again when a transaction was made since, by anybody,
    or an interface came or went, which takes devices from flow tables. What counters say may be older.
    """
    global _read
    now = _state_of_namespace()
    if _read is None or _read[0] != now:
        _read = now, counted_ruleset()
    return _read[1]


def counted_ruleset() -> list[dict[str, Any]]:
    """As `ruleset`, with what counters say at this moment."""
    return listing("-t", "list", "ruleset")


_State = tuple[int, int, frozenset[tuple[int, str]]]
_read: tuple[_State, list[dict[str, Any]]] | None = None


def _state_of_namespace() -> _State:
    namespace = Path("/proc/thread-self/ns/net").stat().st_ino
    return namespace, generation(), frozenset(socket.if_nameindex())


def foreign_forwarding_chain(items: Sequence[dict[str, Any]] | None = None) -> str:
    """A chain of somebody else that forwarded packets meet and that does something, in words; "" = none."""
    listed = ruleset() if items is None else items
    filled = {_place(item["rule"], "chain") for item in listed if "rule" in item}
    for item in listed:
        chain = item.get("chain", {})
        family, table, name = place = _place(chain, "name")
        if (
            chain.get("hook") in _FORWARDING_HOOKS
            and family in _ROUTED_FAMILIES
            and not is_ours(family, table)
            and (chain.get("policy") == "drop" or place in filled)
        ):
            return f"chain {name} of the nftables table {family} {table}"
    for names in _LEGACY_TABLES:
        try:
            if Path("/proc/thread-self/net", names).read_text().strip():
                return "iptables"
        except OSError:
            continue  # a kernel without it
    return ""


def _place(item: dict[str, Any], name: str) -> tuple[str, str, str]:
    return str(item.get("family")), str(item.get("table")), str(item.get(name))


def read_table(items: Sequence[dict[str, Any]] | None = None) -> Table | None:
    """Our table as the kernel holds it; None when there is none."""
    listed = of_table(TABLE, ruleset() if items is None else items)
    if not listed:
        return None
    named = {
        kind: frozenset(item[kind]["name"] for item in listed if kind in item) for kind in ("counter", "set")
    }
    return Table(_chains(listed), _flow_devices(listed), named["counter"], named["set"])


def of_table(name: str, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What belongs to a table of our family, and the table itself; nothing when there is none."""
    return [
        item
        for item in items
        for kind, what in item.items()
        if isinstance(what, dict)
        and what.get("family") == FAMILY
        and what.get("name" if kind == "table" else "table") == name
    ]


def _flow_devices(items: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    devices = next((item["flowtable"].get("dev", ()) for item in items if "flowtable" in item), ())
    return (devices,) if isinstance(devices, str) else tuple(sorted(devices))


def _chains(items: Sequence[dict[str, Any]]) -> dict[str, Chain]:
    rules: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for item in items:
        rule = item.get("rule")
        if rule is not None:
            rules.setdefault(rule["chain"], []).append((rule.get("comment", ""), _texts(rule)))
    heads = [item["chain"] for item in items if "chain" in item]
    return {
        head["name"]: Chain(
            name=head["name"],
            type=head.get("type", ""),
            hook=head.get("hook", ""),
            priority=int(head.get("prio", 0)),
            policy=head.get("policy", ""),
            rules=tuple(rules.get(head["name"], ())),
        )
        for head in heads
    }


def _texts(rule: Mapping[str, Any]) -> tuple[str, ...]:
    return _texts_of(marshal.dumps(rule.get("expr", []), _PLAIN))


_PLAIN = 2
"""The newest version of `marshal` in which equal values are equal bytes."""


@lru_cache(maxsize=16_384)
def _texts_of(printed: bytes) -> tuple[str, ...]:
    """The expressions that nft printed of a rule. They are remembered: of thousands of rules that are read,
    one is new."""
    return tuple(map(canonical, marshal.loads(printed)))


def _head(chain: Chain) -> dict[str, Any]:
    """How a base chain hooks in; nothing of another one."""
    if not chain.hook:
        return {}
    return {"type": chain.type, "hook": chain.hook, "prio": chain.priority, "policy": chain.policy}
