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
import logging
import marshal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from weir.adapters.nft_canonical import Expression, canonical
from weir.adapters.nft_commands import FAMILY as FAMILY
from weir.adapters.nft_commands import FLOW_TABLE as FLOW_TABLE
from weir.adapters.nft_commands import HELPER, Rule, new_helper
from weir.adapters.nft_commands import TABLE as TABLE
from weir.adapters.nft_commands import Chain as Chain
from weir.adapters.nft_commands import Command as Command
from weir.adapters.nft_commands import Table as Table
from weir.adapters.nft_commands import agree as agree
from weir.adapters.nft_commands import commands as commands
from weir.adapters.nft_commands import flow_reset as flow_reset
from weir.adapters.nft_commands import from_nothing as from_nothing
from weir.adapters.nft_edits import Edits, edits_of, send
from weir.adapters.nft_elements import generation
from weir.adapters.nft_generation import transaction as transaction
from weir.adapters.nft_reread import read_back
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

log = logging.getLogger(__name__)

_TIMEOUT_S = 30.0
_STDIN = "/proc/self/fd/0"
"""What nft opens for "-" is /dev/stdin, which a small /dev does not have."""

LIMITS_PREFIX = f"{TABLE}_limits"
UPLINKS_PREFIX = f"{TABLE}_uplinks"
ARP_PREFIX, SNOOPING_PREFIX = f"{TABLE}_arp", f"{TABLE}_dhcp"
ARP, BRIDGE = "arp", "bridge"
"""The families of these two: of ARP, and of what bridges pass on."""
_OTHER_FAMILIES = {ARP: ARP_PREFIX, BRIDGE: SNOOPING_PREFIX}
PROOF_TABLE = f"{TABLE}_proof"
"""Of nft_trace.py, for as long as a frame is on its way."""
_FORWARDING_HOOKS = ("prerouting", "forward", "postrouting", "ingress", "egress")
_ROUTED_FAMILIES = ("ip", "ip6", "inet", "netdev")
_LEGACY_TABLES = ("ip_tables_names", "ip6_tables_names")


def apply(steps: Sequence[Command]) -> None:
    """Do it: all of it or nothing. Raises `ApplyFailed` with what nft said.

    A few rules of the table that was read last go by netlink, without nft; what the kernel refuses of them is
    asked of nft, which has words for it.
    """
    with transaction():
        if not _edited(steps):
            text = json.dumps({"nftables": list(steps)})
            run(["nft", "-j", "-f", _STDIN], text=text, timeout_s=_TIMEOUT_S)


def _edited(steps: Sequence[Command]) -> bool:
    global _made
    reading, now = _read, _state_of_namespace()
    if not _edits or reading is None or reading.table is None or reading.state != now:
        return False
    edits = edits_of(steps, reading.table)
    if edits is None or not send(edits, now.generation):
        return False
    _made = reading, edits
    return True


def refused_rule(steps: Sequence[Command]) -> str:
    """The comment of the first rule for which the kernel refuses these steps; "" = it is not for a rule.

    By trying without doing it, in as many runs of nft as halve the number of rules down to one.
    """
    places = [at for at, item in enumerate(steps) if _added(item)]
    if not places or not _is_taken(steps[: places[0]]):
        return ""
    good, bad = 0, len(places)
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_taken(steps[: places[middle]]):
            good = middle
        else:
            bad = middle
    return str(_added(steps[places[good]]).get("comment", ""))


def refused_helper(name: str) -> str:
    """Why the kernel has no such helper (`ftp_tcp`), "" = it has. Nothing is changed."""
    steps = [{"add": {"table": {"family": FAMILY, "name": TABLE}}}, new_helper(name)]
    try:
        _try(steps)
    except ApplyFailed as problem:
        return problem.message
    return ""


def _added(step: Command) -> dict[str, Any]:
    """The rule that a step adds; nothing of another step."""
    made: dict[str, Any] = step.get("add") or step.get("insert") or {}
    found: dict[str, Any] = made.get("rule", {})
    return found


def _is_taken(steps: Sequence[Command]) -> bool:
    try:
        _try(steps)
    except ApplyFailed:
        return False
    return True


def _try(steps: Sequence[Command]) -> None:
    """Have the kernel look at it without doing it. Raises `ApplyFailed` with what nft said."""
    run(["nft", "-c", "-j", "-f", _STDIN], text=json.dumps({"nftables": list(steps)}))


def apply_text(script: str) -> None:
    """Do a transaction in nft's own language, for what JSON cannot say. Raises as `apply`."""
    with transaction():
        run(["nft", "-f", _STDIN], text=script, timeout_s=_TIMEOUT_S)


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
    """Whether a table is Weir's: the firewall's, that of connection_limits.py, uplink_marks.py, arp_guard.py
    or dhcp_snooping.py with its draft, or nft_trace.py's."""
    if family in _OTHER_FAMILIES:
        return table.startswith(_OTHER_FAMILIES[family])
    if family != FAMILY:
        return False
    return table in (TABLE, PROOF_TABLE) or table.startswith((LIMITS_PREFIX, UPLINKS_PREFIX))


def flow_expression() -> Expression:
    """The statement that enters a packet's connection into the flow table."""
    return {"flow": {"op": "add", "flowtable": f"@{FLOW_TABLE}"}}


class _State(NamedTuple):
    """What may only differ where somebody changed nftables, or an interface came or went, which takes devices
    from flow tables."""

    namespace: int
    generation: int
    interfaces: frozenset[tuple[int, str]]


class Reading(NamedTuple):
    """Our table, and what else there is; `by_nft` is not so where netlink alone told what a change made."""

    state: _State
    others: Sequence[dict[str, Any]]
    table: Table | None
    by_nft: bool


_read: Reading | None = None
_made: tuple[Reading, Edits] | None = None
"""What was done by netlink last, and what was read before."""
_doubted: Reading | None = None
"""What netlink told, for the next listing to agree with."""
_edits = True
"""Whether nft reads what netlink writes as it is meant; so far it does."""


def ruleset() -> Sequence[dict[str, Any]]:
    """All that nftables holds in this network namespace but for our table (`read_table`) and the elements of
    sets. Raises as `listing`.

    A commit looks at it in several places: it is read again when a transaction was made since, by anybody,
    or an interface came or went. What counters say may be older.
    """
    return reading().others


def read_table() -> Table | None:
    """Our table as the kernel holds it; None when there is none. Raises as `ruleset`."""
    return reading().table


def is_made_of(read: Table | None, same: Table | None) -> None:
    """A table that was read is equal to this one. If it was read last, it has its objects from now on:
    what thousands of rules have in common is compared in microseconds then."""
    global _read
    if _read is not None and read is not None and same is not None and _read.table is read:
        chains = {
            name: replace(chain, handles=read.chains[name].handles) for name, chain in same.chains.items()
        }
        _read = _read._replace(table=replace(read, chains=chains))


def look_again() -> None:
    """What only netlink told of a change is asked of nft as well, by who reads next. Where nft does not say
    the same, rules are changed by nft alone from then on."""
    global _read, _doubted
    if _read is not None and not _read.by_nft:
        _doubted, _read = _read, None


def reading() -> Reading:
    """`read_table` and `ruleset` in one look. Raises as `ruleset`."""
    global _read
    now, known = _state_of_namespace(), _read
    if known is None or known.state != now:
        known = _read = _followed(now) or _listed(now)
    return known


def _followed(now: _State) -> Reading | None:
    """After a change by netlink, and nothing else, of what was read last: what it changed is read by netlink.
    None where that is not known, or is not as it was said."""
    if _made is None or _made[0] is not _read:
        return None
    before, edits = _made
    if before.table is None or now != before.state._replace(generation=before.state.generation + 1):
        return None
    table = read_back(edits, before.table)
    return (
        None if table is None or _state_of_namespace() != now else Reading(now, before.others, table, False)
    )


def _listed(now: _State) -> Reading:
    global _edits, _doubted
    items = counted_ruleset()
    own = of_table(TABLE, items)
    ids = set(map(id, own))
    found = Reading(now, [item for item in items if id(item) not in ids], _parsed(own), True)
    doubted, _doubted = _doubted, None
    if (
        doubted is not None
        and doubted.state == now == _state_of_namespace()
        and not agree(found.table, doubted.table)
    ):
        _edits = False
        log.error("nft reads rules otherwise than netlink wrote them: from now on nft writes them")
    return found


def counted_ruleset() -> list[dict[str, Any]]:
    """All of it, with what counters say at this moment."""
    return listing("-t", "list", "ruleset")


def _state_of_namespace() -> _State:
    namespace = Path("/proc/thread-self/ns/net").stat().st_ino
    return _State(namespace, generation(), frozenset(socket.if_nameindex()))


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


def _parsed(listed: Sequence[dict[str, Any]]) -> Table | None:
    if not listed:
        return None
    named = {
        kind: frozenset(item[kind]["name"] for item in listed if kind in item)
        for kind in ("counter", "set", HELPER)
    }
    return Table(_chains(listed), _flow_devices(listed), named["counter"], named["set"], named[HELPER])


def of_table(name: str, items: Sequence[dict[str, Any]], family: str = FAMILY) -> list[dict[str, Any]]:
    """What belongs to a table, and the table itself; nothing when there is none."""
    return [
        item
        for item in items
        for kind, what in item.items()
        if isinstance(what, dict)
        and what.get("family") == family
        and what.get("name" if kind == "table" else "table") == name
    ]


def _flow_devices(items: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    devices = next((item["flowtable"].get("dev", ()) for item in items if "flowtable" in item), ())
    return (devices,) if isinstance(devices, str) else tuple(sorted(devices))


def _chains(items: Sequence[dict[str, Any]]) -> dict[str, Chain]:
    rules: dict[str, list[Rule]] = {}
    handles: dict[str, list[int]] = {}
    for item in items:
        rule = item.get("rule")
        if rule is not None:
            rules.setdefault(rule["chain"], []).append((rule.get("comment", ""), _texts(rule)))
            handles.setdefault(rule["chain"], []).append(int(rule.get("handle", 0)))
    heads = [item["chain"] for item in items if "chain" in item]
    return {
        head["name"]: Chain(
            name=head["name"],
            type=head.get("type", ""),
            hook=head.get("hook", ""),
            priority=int(head.get("prio", 0)),
            policy=head.get("policy", ""),
            rules=tuple(rules.get(head["name"], ())),
            handles=tuple(handles.get(head["name"], ())),
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
