# SPDX-License-Identifier: Apache-2.0
"""What is learnt about sets: how much the kernel holds, and what packets added to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from heapq import nlargest
from ipaddress import ip_address
from typing import Any

from weir.adapters import nft, nft_elements
from weir.backends.daemons import Learn
from weir.kinds.sets import SHOWN_LEARNT
from weir.model.problem import ApplyFailed
from weir.parts.head import Head


def learn(heads: Callable[[], Iterable[Head]]) -> Learn:
    """The source; `heads` are the kernel's sets that are configured now."""

    def state(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        own: dict[str, list[Head]] = {name: [] for name in ids or ()}  # of an empty set the kernel has none
        for head in heads():
            if not head.rule_id and (ids is None or head.set_id in ids):
                own.setdefault(head.set_id, []).append(head)
        return {name: _state(of_one) for name, of_one in own.items()}

    return state


def learn_rules(heads: Callable[[], Iterable[Head]], counted: Learn) -> Learn:
    """What `counted` says of firewall rules, and how many sources each counts now."""

    def state(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found = {name: {**said, "sources": None} for name, said in counted(ids).items()}
        for head in heads():
            if head.rule_id in found:
                of_rule = found[head.rule_id]
                of_rule["sources"] = (of_rule["sources"] or 0) + _number_in(head)
        return found

    return state


def _number_in(head: Head) -> int:
    try:
        return len(nft_elements.learnt(nft.TABLE, head.name))
    except ApplyFailed as problem:
        if problem.code != nft_elements.NOT_THERE:
            raise
        return 0


def _state(heads: Iterable[Head]) -> dict[str, Any]:
    """Nothing is said of a set that the kernel has not."""
    count = 0
    found: list[tuple[int, str]] = []
    is_dynamic = False
    try:
        for head in heads:
            if head.timeout_s:
                is_dynamic = True
                elements = nft_elements.learnt(nft.TABLE, head.name)
                found += [(left_ms, str(ip_address(key))) for key, left_ms in elements.items()]
                count += len(elements)
            else:
                count += len(nft_elements.keys(nft.TABLE, head.name))
    except ApplyFailed as problem:
        if problem.code != nft_elements.NOT_THERE:
            raise
        return {}
    shown = [
        {"address": text, "expires_in_s": left_ms // 1000} for left_ms, text in nlargest(SHOWN_LEARNT, found)
    ]
    return {"entries": count, "learnt": shown if is_dynamic else None}
