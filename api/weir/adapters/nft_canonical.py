# SPDX-License-Identifier: Apache-2.0
"""Expressions of rules in libnftables' JSON, as texts that compare by meaning."""

from __future__ import annotations

import json
from typing import Any

Expression = dict[str, Any]


def canonical(expression: Expression) -> str:
    """One text per meaning: handles, counters' values and the order of set members do not count."""
    return json.dumps(_normal(expression), sort_keys=True, separators=(",", ":"))


_IN_ORDER = ("&", "range")
"""Whose members have places."""


def _normal(value: Any) -> Any:
    if isinstance(value, list):
        members = _sorted(value)
        return members[0] if len(members) == 1 else members
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("counter"), dict):
        return {"counter": None}
    if set(value) == {"set"} and isinstance(value["set"], list):
        members = _sorted(value["set"])
        return members[0] if len(members) == 1 else {"set": members}
    if isinstance(value.get("stmt"), list):  # what a set does with an element: nft takes it as a list alone
        rest = {key: inner for key, inner in value.items() if key != "stmt"}
        return {**_normal(rest), "stmt": [_normal(inner) for inner in value["stmt"]]}
    return {
        key: inner if key in _IN_ORDER else _normal(inner) for key, inner in value.items() if key != "handle"
    }


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(map(_normal, values), key=lambda value: json.dumps(value, sort_keys=True))
