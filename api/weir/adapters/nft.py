# SPDX-License-Identifier: Apache-2.0
"""The firewall's nftables table, `inet weir`, through libnftables' JSON (libnftables-json(5)).

A ruleset is replaced in one transaction: packets meet the old rules or the new ones, never a gap.
All tables that are not ours (`is_ours`) are foreign and never touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

FAMILY, TABLE = "inet", "weir"
_TIMEOUT_S = 30.0
_STDIN = "/proc/self/fd/0"
"""What nft opens for "-" is /dev/stdin, which a small /dev does not have."""

LIMITS_PREFIX = f"{TABLE}_limits"
FLOW_TABLE = "fast"
"""Of our table: connections that packets may be forwarded for without asking the rules again."""
_FORWARDING_HOOKS = ("prerouting", "forward", "postrouting", "ingress", "egress")
_ROUTED_FAMILIES = ("ip", "ip6", "inet", "netdev")
_LEGACY_TABLES = ("ip_tables_names", "ip6_tables_names")

Expression = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """A base chain: where it hooks in, and its rules in order as (comment, expressions)."""

    name: str
    type: str
    hook: str
    priority: int
    policy: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    """Expressions as canonical JSON text (`canonical`), so that chains compare by value."""


@dataclass(frozen=True, slots=True)
class Table:
    """Our table: its chains, and the devices of its flow table (sorted; none: there is no flow table)."""

    chains: tuple[Chain, ...]
    flow_devices: tuple[str, ...] = ()


def canonical(expression: Expression) -> str:
    """One text per meaning: handles, counters' values and the order of set members do not count."""
    return json.dumps(_normal(expression), sort_keys=True, separators=(",", ":"))


def replace_commands(wanted: Table) -> list[dict[str, Any]]:
    """The transaction that makes our table exactly `wanted`. No connection outlives it in the flow table."""
    table = {"family": FAMILY, "name": TABLE}
    commands: list[dict[str, Any]] = [{"add": {"table": table}}, {"delete": {"table": table}}]
    commands.append({"add": {"table": table}})
    if wanted.flow_devices:
        flow_table = {"family": FAMILY, "table": TABLE, "name": FLOW_TABLE, "hook": "ingress", "prio": 0}
        commands.append({"add": {"flowtable": {**flow_table, "dev": list(wanted.flow_devices)}}})
    for chain in wanted.chains:
        commands.append({"add": {"chain": _chain_json(chain)}})
        for comment, expressions in chain.rules:
            rule = {
                "family": FAMILY,
                "table": TABLE,
                "chain": chain.name,
                "comment": comment,
                "expr": [json.loads(expression) for expression in expressions],
            }
            commands.append({"add": {"rule": rule}})
    return commands


def remove_commands() -> list[dict[str, Any]]:
    """The transaction that removes our table, whether it exists or not."""
    table = {"family": FAMILY, "name": TABLE}
    return [{"add": {"table": table}}, {"delete": {"table": table}}]


def check(commands: Sequence[dict[str, Any]]) -> None:
    """Let the kernel judge a transaction without doing it. Raises `ApplyFailed`."""
    _run(["nft", "-j", "-c", "-f", _STDIN], commands)


def apply(commands: Sequence[dict[str, Any]]) -> None:
    """Do a transaction: all of it or nothing. Raises `ApplyFailed` with what nft said."""
    _run(["nft", "-j", "-f", _STDIN], commands)


def apply_text(script: str) -> None:
    """Do a transaction in nft's own language, for what JSON cannot say. Raises as `apply`."""
    run(["nft", "-f", _STDIN], text=script, timeout_s=_TIMEOUT_S)


def listing(*words: str) -> list[dict[str, Any]]:
    """What `nft -j` prints. Raises `ApplyFailed`, or `Unavailable` when that cannot be read."""
    return _list(["nft", "-j", *words])


def is_ours(family: str, table: str) -> bool:
    """Whether a table is Weir's: the firewall's, or that of connection_limits.py with its draft."""
    return family == FAMILY and (table == TABLE or table.startswith(LIMITS_PREFIX))


def flow_expression() -> Expression:
    """The statement that enters a packet's connection into the flow table."""
    return {"flow": {"op": "add", "flowtable": f"@{FLOW_TABLE}"}}


def foreign_forwarding_chain() -> str:
    """A chain of somebody else that forwarded packets meet and that does something, in words; "" = none."""
    for item in _list(["nft", "-j", "list", "chains"]):
        chain = item.get("chain", {})
        family, table, name = chain.get("family"), chain.get("table"), chain.get("name")
        if (
            chain.get("hook") in _FORWARDING_HOOKS
            and family in _ROUTED_FAMILIES
            and not is_ours(family, table)
            and (chain.get("policy") == "drop" or _has_rules(family, table, name))
        ):
            return f"chain {name} of the nftables table {family} {table}"
    for names in _LEGACY_TABLES:
        try:
            if Path("/proc/thread-self/net", names).read_text().strip():
                return "iptables"
        except OSError:
            continue  # a kernel without it
    return ""


def _has_rules(family: str, table: str, chain: str) -> bool:
    return any("rule" in item for item in _list(["nft", "-j", "list", "chain", family, table, chain]))


def read_table() -> Table | None:
    """Our table as the kernel holds it; None when there is none."""
    items = _list(["nft", "-j", "list", "tables", FAMILY])
    if not any(item.get("table", {}).get("name") == TABLE for item in items):
        return None
    listed = _list(["nft", "-j", "list", "table", FAMILY, TABLE])
    return Table(_chains(listed), _flow_devices(listed))


def _flow_devices(items: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    devices = next((item["flowtable"].get("dev", ()) for item in items if "flowtable" in item), ())
    return (devices,) if isinstance(devices, str) else tuple(sorted(devices))


def _chains(items: Sequence[dict[str, Any]]) -> tuple[Chain, ...]:
    rules: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for item in items:
        rule = item.get("rule")
        if rule is not None:
            expressions = tuple(canonical(expression) for expression in rule.get("expr", ()))
            rules.setdefault(rule["chain"], []).append((rule.get("comment", ""), expressions))
    heads = [item["chain"] for item in items if "chain" in item]
    return tuple(
        Chain(
            name=head["name"],
            type=head.get("type", ""),
            hook=head.get("hook", ""),
            priority=int(head.get("prio", 0)),
            policy=head.get("policy", ""),
            rules=tuple(rules.get(head["name"], ())),
        )
        for head in heads
    )


def _chain_json(chain: Chain) -> dict[str, Any]:
    return {
        "family": FAMILY,
        "table": TABLE,
        "name": chain.name,
        "type": chain.type,
        "hook": chain.hook,
        "prio": chain.priority,
        "policy": chain.policy,
    }


def _normal(value: Any) -> Any:
    if isinstance(value, list):
        members = _sorted(value)
        return members[0] if len(members) == 1 else members
    if not isinstance(value, dict):
        return value
    if "counter" in value:
        return {"counter": None}
    if set(value) == {"set"} and isinstance(value["set"], list):
        members = _sorted(value["set"])
        return members[0] if len(members) == 1 else {"set": members}
    return {key: _normal(inner) for key, inner in value.items() if key != "handle"}


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(map(_normal, values), key=lambda value: json.dumps(value, sort_keys=True))


def _run(argv: Sequence[str], commands: Sequence[dict[str, Any]]) -> str:
    return run(argv, text=json.dumps({"nftables": list(commands)}), timeout_s=_TIMEOUT_S)


def _list(argv: Sequence[str]) -> list[dict[str, Any]]:
    printed = run(argv, timeout_s=_TIMEOUT_S)
    try:
        items = json.loads(printed)["nftables"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable("nft printed no JSON that can be read", code="bad-answer") from error
    if not isinstance(items, list):
        raise ApplyFailed("nft printed something else than a list", code="bad-answer")
    return [item for item in items if isinstance(item, dict)]
