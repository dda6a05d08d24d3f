# SPDX-License-Identifier: Apache-2.0
"""Uplinks with their checks. Which one has the default route is learnt, and no part of what is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.uplink import FIRST_DISTANCE, MOST_UPLINKS, Uplink
from weir.kinds.uplink_check import PORTS, UplinkCheck
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart

DOWN_DISTANCE = 239
"""Of the first uplink that is down: behind every other default route, also one of a lease."""


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """`port` 0: it has none. `host` is "" where none is named."""

    id: str
    type: str
    target: str
    port: int
    host: str
    interval_s: int
    timeout_ms: int

    @property
    def text(self) -> str:
        port = f" port {self.port}" if self.port else ""
        return f"{self.type} {self.target}{port} every {self.interval_s} s"


@dataclass(frozen=True, slots=True)
class UplinkSpec:
    """`gateway` None: as the interface's lease says."""

    id: str
    interface: str
    gateway: str | None
    priority: int
    fail_after: int
    recover_after: int
    flush_on_fail: bool
    checks: tuple[CheckSpec, ...]
    weight: int | None = None

    @property
    def rank(self) -> tuple[int, str]:
        return self.priority, self.id


class UplinksPart(EntriesPart[UplinkSpec]):
    name, what = "uplinks", "uplink"
    made_of = frozenset(("uplink", "uplink-check"))
    after = ("network",)

    def key(self, entry: UplinkSpec) -> str:
        return entry.id

    def wanted(self, document: Document) -> Mapping[str, UplinkSpec]:
        checks: dict[str, list[CheckSpec]] = {}
        for item in sorted(document.every(UplinkCheck), key=lambda item: item.id):
            if not item.disabled:
                checks.setdefault(item.uplink, []).append(_check(item))
        enabled = (item for item in document.every(Uplink) if not item.disabled)
        return {item.id: _uplink(item, checks) for item in sorted(enabled, key=lambda item: item.id)}

    def told(self, wanted: Mapping[str, UplinkSpec], item: ConfigObject) -> Iterator[str]:
        if isinstance(item, UplinkCheck):
            for spec in wanted.values():
                yield from (f"{c.text} by {spec.interface}" for c in spec.checks if c.id == item.id)
        elif item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: UplinkSpec | None, new: UplinkSpec) -> str:
        checks = ", ".join(check.text for check in new.checks) or "no checks"
        via = new.gateway or "the gateway of its lease"
        weight = "" if new.weight is None else f", weight {new.weight}"
        return f"{new.id} by {new.interface} via {via}, priority {new.priority}{weight}: {checks}"


def _check(item: UplinkCheck) -> CheckSpec:
    port = item.port or PORTS.get(item.type, 0)
    return CheckSpec(
        item.id,
        item.type,
        item.target,
        0 if item.type == "ping" else port,
        item.host or "",
        item.interval_s,
        item.timeout_ms,
    )


def _uplink(item: Uplink, checks: Mapping[str, list[CheckSpec]]) -> UplinkSpec:
    return UplinkSpec(
        item.id,
        item.interface,
        item.gateway,
        item.priority,
        item.fail_after,
        item.recover_after,
        item.flush == "on-fail",
        tuple(checks.get(item.id, ())),
        item.weight,
    )


def keep_connections(specs: Iterable[UplinkSpec]) -> bool:
    """Whether each connection keeps its uplink: if any has a weight."""
    return any(spec.weight is not None for spec in specs)


def distances(in_order: list[str], down: set[str]) -> dict[str, int]:
    """The distance of each uplink's default route, by id: no two have the same. `in_order`: the best first,
    those that are down behind the others."""
    first = {True: DOWN_DISTANCE, False: FIRST_DISTANCE}
    return {name: first[name in down] + number for number, name in enumerate(in_order[:MOST_UPLINKS])}


UPLINKS = UplinksPart()
