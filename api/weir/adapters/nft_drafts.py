# SPDX-License-Identifier: Apache-2.0
"""Tables of ours that are written in nft's own language, for what its JSON cannot say.

How nft prints them depends on its version, so what is wanted is learnt from a draft: the same chains in
another table, without hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weir.adapters import nft
from weir.adapters.nft_canonical import canonical

Hooks = Mapping[str, Mapping[str, Any]]
"""Type, hook, priority and policy of each base chain, by its name, as nft's JSON says them."""


def learnt(draft: str, hooks: Hooks, text: Callable[[str, Hooks], str], family: str = nft.FAMILY) -> str:
    """What `printed` says of the table that `text` writes by a name and hooks, once it is in force. Raises
    `ApplyFailed` where the kernel cannot do it."""
    try:
        nft.apply_text(removal(draft, family) + text(draft, {}))
        return printed(draft, nft.ruleset(), hooks, family)
    finally:
        nft.apply_text(removal(draft, family))


def printed(table: str, items: Sequence[dict[str, Any]], hooks: Hooks, family: str = nft.FAMILY) -> str:
    """Sets, chains and rules of `nft.ruleset` in one text, without what packets added; chains get the hooks
    that they have not. "" = the table is not there."""
    found = []
    for item in nft.of_table(table, items, family):
        for kind in ("set", "chain", "rule"):
            if kind in item:
                kept = {key: value for key, value in item[kind].items() if key not in ("table", "elem")}
                hook = hooks.get(str(kept.get("name")), {}) if kind == "chain" else {}
                found.append(canonical({kind: {**kept, **hook}}))
    return "\n".join(found)


def removal(table: str, family: str = nft.FAMILY) -> str:
    return f"add table {family} {table}\ndelete table {family} {table}\n"


def base(hooks: Hooks, name: str) -> str:
    """The line of a base chain; "" where it has no hook."""
    hook = hooks.get(name)
    if hook is None:
        return ""
    return f"type {hook['type']} hook {hook['hook']} priority {hook['prio']}; policy {hook['policy']};"
