# SPDX-License-Identifier: Apache-2.0
"""Which sessions notice that firewall rules are other ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weir.parts.delta import Replaced
from weir.parts.effect import Effect
from weir.parts.firewall import Rules
from weir.parts.rule import PacketRule

_EVERYBODY = ("0.0.0.0/0", "::/0")
_REFUSES = ("drop", "reject")


def judged_otherwise(delta: Replaced[Rules], look: Any) -> Iterator[Effect]:
    """A rule that refuses more than connections that begin ends those that exist, and so does one that no
    longer accepts what a rule behind it refuses. How many is what is known of its prefixes."""
    changed = {object_id for kind, object_id in look.changed if kind == "firewall-rule"}
    if not changed:
        return
    before, after = set(delta.before), set(delta.after)
    refuses_behind = any(_ends_sessions(rule) for rule in delta.after)
    for object_id in sorted(changed):
        come = [rule for rule in after - before if rule.counter and rule.comment == object_id]
        gone = [rule for rule in before - after if rule.counter and rule.comment == object_id]
        moved = not come and not gone and any(rule.comment == object_id and rule.counter for rule in after)
        ending = [rule for rule in come if _ends_sessions(rule)]
        lost = [rule for rule in gone if rule.verdict in ("accept", "return", "jump") and refuses_behind]
        if moved and refuses_behind:
            ending = [rule for rule in after if rule.comment == object_id and rule.counter]
        if ending or lost:
            ends = {text for rule in (*ending, *lost) for text in (*rule.sources, *rule.destinations)}
            text = (
                "sessions that its packets belong to end"
                if ending
                else "a rule behind it may refuse its sessions"
            )
            sessions = look.sessions(sorted(ends) or _EVERYBODY)
            yield Effect("firewall-rule", object_id, "drops-sessions", text, sessions=sessions)


def _ends_sessions(rule: PacketRule) -> bool:
    """Whether it refuses packets of connections that exist."""
    return rule.verdict in _REFUSES and rule.ct_states != ("new",)
