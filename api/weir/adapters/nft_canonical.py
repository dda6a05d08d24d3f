# SPDX-License-Identifier: Apache-2.0
"""Expressions of rules in libnftables' JSON, as texts that compare by meaning."""

from __future__ import annotations

import json
from typing import Any

from weir.adapters.nft_turns import without_turn

Expression = dict[str, Any]


def canonical(expression: Expression) -> str:
    """One text per meaning: handles, counters' values, turns and the order of set members do not count."""
    return json.dumps(_normal(without_turn(expression)), sort_keys=True, separators=(",", ":"))


_IN_ORDER = ("&", "range")
"""Whose members have places."""


_CODEPOINTS = {
    **{f"cs{number}": number << 3 for number in range(8)},
    **{f"af{drop}{number}": drop << 3 | number << 1 for drop in (1, 2, 3, 4) for number in (1, 2, 3)},
    **{"df": 0, "be": 0, "lephb": 1, "va": 44, "ef": 46},
}
"""Names that nft gives numbers of DSCP; which, depends on its version (RFC 2474, 2597, 3246, 5865, 8622)."""


def _is_of_dscp(value: dict[str, Any]) -> bool:
    """A match of it, or what sets it."""
    left = value.get("left", value.get("key"))
    payload = left.get("payload") if isinstance(left, dict) else None
    return isinstance(payload, dict) and payload.get("field") == "dscp"


def _normal(value: Any) -> Any:
    if isinstance(value, list):
        members = _sorted(value)
        return members[0] if len(members) == 1 else members
    if not isinstance(value, dict):
        return value
    if _is_of_dscp(value):
        said = "right" if "right" in value else "value"
        value = {**value, said: _CODEPOINTS.get(value[said], value[said])}
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
