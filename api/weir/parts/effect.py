# SPDX-License-Identifier: Apache-2.0
"""What a change costs those who send packets through the router, said before it is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from weir.model.objects import Kind

Severity = Literal["hitless", "resets", "drops-sessions"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the best to the worst. `hitless`: no packet is lost for it. `resets`: packets are lost for a while,
and sessions go on. `drops-sessions`: sessions end."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """How many are known; `complete` False: there may be more, as not all are tracked."""

    count: int
    complete: bool


class Effect(NamedTuple):
    """What the change of one object costs. `lasts_ms`: how long a reset takes at most, None = not known."""

    kind: Kind
    id: str
    severity: Severity
    text: str
    lasts_ms: int | None = None
    sessions: Sessions | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "id": self.id,
            "effect": self.severity,
            "text": self.text,
            "lasts_ms": self.lasts_ms,
            "sessions": None if self.sessions is None else self.sessions.count,
            "sessions_complete": None if self.sessions is None else self.sessions.complete,
        }


def by_object(effects: Iterable[Effect]) -> dict[tuple[Kind, str], Effect]:
    """One for each object: the worst, in the words of all; what does no harm is left out."""
    found: dict[tuple[Kind, str], list[Effect]] = {}
    for effect in effects:
        if effect.severity != "hitless":
            found.setdefault((effect.kind, effect.id), []).append(effect)
    return {key: _merged(same) for key, same in found.items()}


def _merged(same: list[Effect]) -> Effect:
    worst = max(same, key=lambda effect: SEVERITIES.index(effect.severity))
    times = [effect.lasts_ms for effect in same if effect.severity == "resets"]
    known = [ms for ms in times if ms is not None]
    counted = [effect.sessions for effect in same if effect.sessions is not None]
    return worst._replace(
        text="; ".join(dict.fromkeys(effect.text for effect in same)),
        lasts_ms=max(known) if known and len(known) == len(times) else None,
        sessions=Sessions(max(s.count for s in counted), all(s.complete for s in counted))
        if counted
        else None,
    )


def for_each(
    objects: Iterable[tuple[Kind, str]],
    severity: Severity,
    text: str,
    lasts_ms: int | None = None,
    sessions: Sessions | None = None,
) -> Iterator[Effect]:
    """The same of several objects, which cause it together."""
    for kind, object_id in objects:
        yield Effect(kind, object_id, severity, text, lasts_ms, sessions)
