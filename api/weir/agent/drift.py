# SPDX-License-Identifier: Apache-2.0
"""What was found different from the configuration: repaired, or still so."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from weir.agent.executor import Synced

log = logging.getLogger(__name__)

KEPT = 50


class DriftLog:
    """Thread-safe. Faults stay until their part was compared again without one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._faults: dict[str, tuple[int, str]] = {}
        self._missing: set[str] = set()
        self._told: dict[str, list[dict[str, Any]]] = {}

    def found(self, part: str, text: str) -> None:
        """Something was different and is as it should be again."""
        log.warning("drift repaired in %s: %s", part, text)
        with self._lock:
            self._found.append({"at_ms": _now_ms(), "part": part, "text": text, "repaired": True})

    def tell(self, source: str, part: str, texts: Iterable[str]) -> None:
        """All that `source` sees differ now; it stays until it tells otherwise."""
        with self._lock:
            known = {item["text"]: item for item in self._told.get(source, ())}
            self._told[source] = [
                known.get(text) or {"at_ms": _now_ms(), "part": part, "text": text, "repaired": False}
                for text in texts
            ]
            fresh = [item["text"] for item in self._told[source] if item["text"] not in known]
        for text in fresh:
            log.warning("%s: %s", part, text)

    def note(self, synced: Synced, occasion: str, parts: Iterable[str]) -> None:
        """`occasion`: "drift" = somebody else changed the kernel; else a start or a change of ours. Routes
        change what a port does and never take it away: what "routes" adds is drift as well."""
        now_ms = _now_ms()
        if "ports" in parts and "ports" not in synced.faults:
            self.tell("roots", "ports", synced.foreign)
        with self._lock:
            for part in parts:
                fault = synced.faults.get(part)
                if fault is None:
                    self._faults.pop(part, None)
                elif part not in self._faults or self._faults[part][1] != fault:
                    self._faults[part] = (now_ms, fault)
            if not {"network", "ports"}.isdisjoint(parts):
                self._missing = set(synced.missing)
            for part, step in synced.repaired:
                if occasion == "drift" or (occasion == "routes" and step.action == "add"):
                    text = f"{step.action} {step.what} {step.text}"
                    log.warning("drift repaired in %s: %s", part, text)
                    self._found.append({"at_ms": now_ms, "part": part, "text": text, "repaired": True})

    @property
    def state(self) -> str:
        """`ok`, `drift` (an interface is absent, or something that is not ours is in the way) or `failed` (a
        part cannot be brought in line)."""
        with self._lock:
            if self._faults:
                return "failed"
            return "drift" if self._missing or any(self._told.values()) else "ok"

    def faulty(self) -> list[str]:
        """The parts that could not be brought in line."""
        with self._lock:
            return list(self._faults)

    def to_json(self) -> list[dict[str, Any]]:
        """Newest first; what is still different comes before what was repaired."""
        with self._lock:
            still: list[dict[str, Any]] = [
                {"at_ms": at_ms, "part": part, "text": text, "repaired": False}
                for part, (at_ms, text) in self._faults.items()
            ]
            still += [
                {"at_ms": None, "part": "network", "text": f"interface {name} is absent", "repaired": False}
                for name in sorted(self._missing)
            ]
            still += [item for items in self._told.values() for item in items]
            return still + list(reversed(self._found))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
