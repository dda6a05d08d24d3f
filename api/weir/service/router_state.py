# SPDX-License-Identifier: Apache-2.0
"""What the agent says of the router, and the rates that follow from two of its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir.model.problem import NotFound
from weir.service.lazy import once
from weir.service.port_errors import Counted, PortErrors
from weir.stats.absent import Absent, absent_of

if TYPE_CHECKING:
    from weir.stats.interfaces import InterfaceHistory

Json = dict[str, Any]
_IDLE = ("idle", "iowait")
_INTERRUPTS = ("irq", "softirq")
_COUNTED = {"bytes": "bps", "packets": "packets_ps", "dropped": "drops_ps"}


class Router:
    """The agent's last answers. `at` is when they came, `lost_at` since when none came."""

    def __init__(self, archive_path: Path | None = None) -> None:
        """Without an archive, an interface's past is that of the last hour."""
        self._lock = threading.Lock()
        self.at = 0.0
        self.measured = False
        """Whether two answers came: a rate needs both."""
        self.status: Json | None = None
        self.lost_at: float | None = None
        self.lost_reason: str | None = None
        self.absent = Absent()
        """Columns of `stats/queues` that have no value here, by the last status."""
        self.system_answer: Json = {}
        self._clock = 0.0
        self._interfaces: dict[str, Json] = {}
        self._rates: dict[str, Json] = {}
        self._unknown_rates: dict[str, Json] = {}
        self._cpu_busy: list[float] = []
        self._cpu_interrupts: list[float] = []
        self._errors = PortErrors()
        self._history = once(lambda: _history(archive_path))

    def follow(self, status: Json, interfaces: Json, system: Json, now: float, clock: float) -> None:
        """Take in one round of answers, which came at `now` (Unix seconds) and `clock` (monotonic). A rate is
        over the time between two readings of the counters, which is none of both."""
        listed: list[Json] = interfaces.get("value") or []
        found = {item["name"]: item for item in listed}
        history = self._history()
        with self._lock:
            self.measured = self._clock > 0
            self._rates, self._unknown_rates = {}, {}
            for name, item in found.items():
                known = self._interfaces.get(name, item)
                elapsed_s = (item["counted_ns"] - known["counted_ns"]) / 1e9
                self._rates[name] = _rates(known, item, elapsed_s)
                self._unknown_rates[name] = _unknown_rates(known, item, elapsed_s)
            history.push(self._rates, now)
            self._errors.take(found, clock)
            before, cores = self.system_answer.get("cpus", []), system.get("cpus", [])
            self._cpu_busy = _shares(before, cores, lambda name: name not in _IDLE)
            self._cpu_interrupts = _shares(before, cores, lambda name: name in _INTERRUPTS)
            self.status, self._interfaces, self.system_answer = status, found, system
            self.absent = absent_of(status.get("shapers") or {})
            self.at, self._clock = now, clock
            self.lost_at = self.lost_reason = None

    def lose(self, reason: str, now: float) -> None:
        """The agent did not answer."""
        with self._lock:
            if self.lost_at is None:
                self.lost_at = now
            self.lost_reason = reason

    def kernel_interfaces(self) -> dict[str, Json]:
        """The agent's own words per interface, by name."""
        with self._lock:
            return dict(self._interfaces)

    def interfaces(self) -> Json:
        """The answer of `stats/interfaces`."""
        with self._lock:
            items = [
                {
                    "id": name,
                    "up": bool(item.get("up")),
                    "speed_bps": item.get("speed_bps"),
                    **self._rates[name],
                    "rx_bytes": int(item.get("rx_bytes", 0)),
                    "tx_bytes": int(item.get("tx_bytes", 0)),
                    "unshaped_packets": dict(item.get("unshaped_packets") or {}),
                    "passed_up_packets": dict(item.get("passed_up_packets") or {}),
                    "unknown": {**_unknown(item), **self._unknown_rates[name]},
                    "refused_packets": _refused(item),
                }
                for name, item in self._interfaces.items()
            ]
            known = self.measured or self.lost_at is not None
            return {
                "at": self.at,
                "stale_since": self.lost_at if known else self.at,
                "stale_reason": self.lost_reason if known else "The interfaces were read once so far.",
                "items": items,
            }

    def busiest(self, count: int) -> list[str]:
        """The names of the interfaces with most traffic, the busiest first."""
        with self._lock:
            rates = {name: found["rx_bps"] + found["tx_bps"] for name, found in self._rates.items()}
        return sorted(rates, key=lambda name: -rates[name])[:count]

    def counted(self, name: str) -> Counted | None:
        """An interface's packets and errors of the last two minutes; None: not known."""
        with self._lock:
            return self._errors.of(name) if self.lost_at is None else None

    def interface_history(self, name: str, window: str) -> Json:
        """The answer of `stats/interfaces/{id}/history`. Raises `NotFound`."""
        with self._lock:
            found = self._history().recent(name, window)
        if found is None:
            raise NotFound(f"no figures of an interface {name!r} were ever taken", path=f"interface/{name}")
        return {"id": name, "window": window, **found}

    def interrupts(self) -> list[float]:
        """Each core's share of time in interrupts, of the last second."""
        with self._lock:
            return self._cpu_interrupts

    def system(self) -> Json:
        """The answer of `stats/system`."""
        with self._lock:
            memory: Mapping[str, Any] = self.system_answer.get("memory", {})
            load = self.system_answer.get("load") or [0.0]
            return {
                "at": self.at,
                "cpu_busy": self._cpu_busy,
                "memory_total_bytes": int(memory.get("total_bytes", 0)),
                "memory_available_bytes": int(memory.get("available_bytes", 0)),
                "load_1m": float(load[0]),
                "uptime_s": float(self.system_answer.get("uptime_s", 0.0)),
            }


def _history(archive_path: Path | None) -> InterfaceHistory:
    from weir.service.sampling import interface_history

    return interface_history(archive_path)


def _rates(before: Json, now: Json, elapsed_s: float) -> Json:
    rates: Json = {}
    for way in ("rx", "tx"):
        for what, shown in _COUNTED.items():
            name = f"{way}_{what}"
            delta = int(now.get(name, 0)) - int(before.get(name, 0))
            per_s = max(delta, 0) / elapsed_s if elapsed_s > 0 else 0.0
            rates[f"{way}_{shown}"] = round(per_s * 8) if what == "bytes" else round(per_s, 1)
    return rates


def _unknown(item: Json) -> Json:
    """What was forwarded that is in no queue, as an interface received and sent it."""
    return {
        f"{way}_{what}": int((item.get(f"checked_{what}") or {}).get(f"unknown-{way}", 0))
        for way in ("rx", "tx")
        for what in ("packets", "bytes")
    }


def _unknown_rates(before: Json, now: Json, elapsed_s: float) -> Json:
    """Bits and packets per second of the same."""
    found = _rates(_unknown(before), _unknown(now), elapsed_s)
    return {name: rate for name, rate in found.items() if not name.endswith("_drops_ps")}


def _refused(item: Json) -> dict[str, int]:
    """Packets that the interface's checks dropped, by check."""
    counts: dict[str, int] = item.get("checked_packets") or {}
    return {check: count for check, count in counts.items() if not check.startswith("unknown-")}


def _shares(before: list[Json], now: list[Json], counts: Callable[[str], bool]) -> list[float]:
    """What each CPU spent on some of its jiffies (the fields of /proc/stat) between two readings."""
    shares = []
    for index, cpu in enumerate(now):
        old = before[index] if index < len(before) else {}
        spent = {name: value - old.get(name, 0) for name, value in cpu.items()}
        total = sum(spent.values())
        meant = sum(value for name, value in spent.items() if counts(name))
        share = meant / total if old and total > 0 else 0.0
        shares.append(round(min(max(share, 0.0), 1.0), 4))
    return shares
