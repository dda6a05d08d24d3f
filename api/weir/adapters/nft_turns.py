# SPDX-License-Identifier: Apache-2.0
"""Whether the first direction of a connection passed the rules since they changed, in the connection's mark.

The flow table takes both directions at once (nft_flow_offload.c), also of a connection of which the rules saw
one alone. So a packet of the first direction writes a number behind the rules, and one of the other enters
the connection where it finds that number. It is another one each time that the flow table is made again: what
was written before says nothing of rules by now. Rules are compared without it (docs/adr/0257).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

TURN_MASK = 0x7FFF_FF00
"""Of a connection's mark; the bits below are those of uplinks (`uplink_rules.MASK`). Without the first bit,
as nft says a mask from the first on in other words."""
_REST = 0xFFFF_FFFF ^ TURN_MASK
_STEP = TURN_MASK & -TURN_MASK
_MARK = {"ct": {"key": "mark"}}
_NO_TURN = 0


def first_direction() -> list[dict[str, Any]]:
    """What a packet of a connection's first direction does that passed the rules."""
    value = {"|": [{"&": [_MARK, _REST]}, _NO_TURN]}
    return [_direction("original"), {"mangle": {"key": _MARK, "value": value}}]


def other_direction() -> list[dict[str, Any]]:
    """What a packet matches that answers one that passed them."""
    masked = {"&": [_MARK, TURN_MASK]}
    return [_direction("reply"), {"match": {"op": "==", "left": masked, "right": _NO_TURN}}]


def _direction(name: str) -> dict[str, Any]:
    return {"match": {"op": "==", "left": {"ct": {"key": "direction"}}, "right": name}}


def is_of_turn(text: str) -> bool:
    """Whether a canonical expression holds a number that another flow table makes void."""
    return '"ct":{"key":"mark"}' in text


def without_turn(expression: Mapping[str, Any]) -> Mapping[str, Any]:
    """As it is compared. nft 1.0.6 adds the bits that are set to those that are kept."""
    return _with(expression, _NO_TURN)


def of_one_turn(commands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A transaction whose rules have the same new number."""
    turn = _STEP * (1 + secrets.randbelow(TURN_MASK // _STEP))
    return [_renewed(command, turn) for command in commands]


def _renewed(command: dict[str, Any], turn: int) -> dict[str, Any]:
    ((verb, what),) = command.items()
    rule = what.get("rule")
    if rule is None or "expr" not in rule:
        return command
    return {verb: {"rule": {**rule, "expr": [_with(expression, turn) for expression in rule["expr"]]}}}


def _with(expression: Mapping[str, Any], turn: int) -> Mapping[str, Any]:
    kind, said = next(iter(expression.items()))
    if kind == "match" and said["left"] == {"&": [_MARK, TURN_MASK]}:
        return {kind: {**said, "right": turn}}
    if kind == "mangle" and said["key"] == _MARK:
        return {kind: {**said, "value": _written(said["value"], turn)}}
    return expression


def _written(value: Any, turn: int) -> Any:
    """`kept bits | number`, whichever is first; whatever else it is stays as it is, and differs."""
    match value:
        case {"|": [{"&": [mark, int(kept)]}, int(number)]} | {"|": [int(number), {"&": [mark, int(kept)]}]}:
            return {"|": [{"&": [mark, kept & ~number]}, turn]}
    return value
