# SPDX-License-Identifier: Apache-2.0
"""One nftables table, `inet weir`, through libnftables' JSON (libnftables-json(5)).

A ruleset is replaced in one transaction: packets meet the old rules or the new ones, never a gap.
All other tables are foreign and never touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

FAMILY, TABLE = "inet", "weir"
_TIMEOUT_S = 30.0
_STDIN = "/proc/self/fd/0"
"""What nft opens for "-" is /dev/stdin, which a small /dev does not have."""

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


def canonical(expression: Expression) -> str:
    """One text per meaning: handles, counters' values and the order of set members do not count."""
    return json.dumps(_normal(expression), sort_keys=True, separators=(",", ":"))


def replace_commands(chains: Sequence[Chain]) -> list[dict[str, Any]]:
    """The transaction that makes our table exactly `chains`."""
    table = {"family": FAMILY, "name": TABLE}
    commands: list[dict[str, Any]] = [{"add": {"table": table}}, {"delete": {"table": table}}]
    commands.append({"add": {"table": table}})
    for chain in chains:
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


def read_table() -> tuple[Chain, ...] | None:
    """Our table as the kernel holds it; None when there is none."""
    items = _list(["nft", "-j", "list", "tables", FAMILY])
    if not any(item.get("table", {}).get("name") == TABLE for item in items):
        return None
    return _chains(_list(["nft", "-j", "list", "table", FAMILY, TABLE]))


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
