# SPDX-License-Identifier: Apache-2.0
"""Which uplinks are down, and the default routes that follow from it.

Each uplink has a default route in FRR all the time: one that is down has a distance behind all others. So
there is a default route as long as one of them has a link, also when all checks fail, and FRR takes the next
one by itself when a link goes. What is known lasts in a file of `/run`: an agent that starts again does not
lead connections back to a dead uplink.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from weir.adapters import files
from weir.agent.dhcp_client import Lease
from weir.backends.uplinks import WantedUplink
from weir.kinds.uplink import EVERYTHING
from weir.parts.network import NetworkSpec
from weir.parts.routes import RouteSpec
from weir.parts.tunnels import WITHOUT_GATEWAY
from weir.parts.uplinks import UplinkSpec, distances
from weir.store.clock import boottime_ms

log = logging.getLogger(__name__)

UNKNOWN, UP, DOWN = "unknown", "up", "down"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`since_ms`: milliseconds since boot, as its file does not outlast one and the first step of NTP would
    shift the clock on the wall; None: not known."""

    status: str = UNKNOWN
    since_ms: int | None = None


class Uplinks:
    """Thread-safe."""

    def __init__(self, path: Path | None) -> None:
        """`path` None: it is not kept."""
        self._path = path
        self._lock = threading.Lock()
        self._verdicts = self._load()

    def verdict(self, uplink_id: str) -> Verdict:
        with self._lock:
            return self._verdicts.get(uplink_id, Verdict())

    def note(self, uplink_id: str, status: str) -> None:
        """It is so from now on."""
        with self._lock:
            self._verdicts[uplink_id] = Verdict(status, boottime_ms())
            self._save()

    def forget_others(self, kept: Mapping[str, UplinkSpec]) -> None:
        """Nothing is known of an uplink that is not configured any more."""
        with self._lock:
            gone = self._verdicts.keys() - kept.keys()
            for name in gone:
                del self._verdicts[name]
            if gone:
                self._save()

    def in_order(self, specs: Mapping[str, UplinkSpec]) -> list[str]:
        """The ids, the best first. Of those that are down it is the one that went down last, which was in use
        then: when all fail, the last one stays."""
        with self._lock:
            known = {name: self._verdicts.get(name, Verdict()) for name in specs}

        def place(name: str) -> tuple[bool, int, tuple[int, str]]:
            is_down = known[name].status == DOWN
            return is_down, -(known[name].since_ms or 0) if is_down else 0, specs[name].rank

        return sorted(specs, key=place)

    def wanted(
        self,
        specs: Mapping[str, UplinkSpec],
        network: Mapping[str, NetworkSpec],
        leases: Mapping[str, Lease],
    ) -> dict[str, WantedUplink]:
        """Each with its gateway and the distance of its default route."""
        order = self.in_order(specs)
        far = distances(order, {name for name in order if self.verdict(name).status == DOWN})
        return {
            name: WantedUplink(spec, gateway_of(spec, network, leases), far[name], self.verdict(name).status)
            for name, spec in specs.items()
            if name in far
        }

    def routes(
        self,
        specs: Mapping[str, UplinkSpec],
        network: Mapping[str, NetworkSpec],
        leases: Mapping[str, Lease],
        routes: Mapping[str, RouteSpec],
    ) -> Mapping[str, RouteSpec]:
        """The routes with those of uplinks, which stand in the place of default routes of their leases and
        PPPoE sessions."""
        if not specs:
            return routes
        found = dict(routes)
        for name, one in self.wanted(specs, network, leases).items():
            for by in ("dhcp", "pppoe"):
                found.pop(f"{by}/{one.spec.interface}/{EVERYTHING}", None)
            if one.gateway is not None:
                key, gateway = f"uplink/{name}", one.gateway or None
                found[key] = RouteSpec(key, EVERYTHING, gateway, one.spec.interface, False, one.distance)
        return found

    def _load(self) -> dict[str, Verdict]:
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                str(name): Verdict(str(item["status"]), int(item["since_ms"])) for name, item in found.items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("%s is not readable, so uplinks are judged by new checks: %s", self._path, error)
            return {}

    def _save(self) -> None:
        if self._path is None:
            return
        content = json.dumps({name: asdict(verdict) for name, verdict in self._verdicts.items()})
        try:
            files.replace(self._path, content.encode())
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error.strerror)


def gateway_of(
    spec: UplinkSpec, network: Mapping[str, NetworkSpec], leases: Mapping[str, Lease]
) -> str | None:
    """The configured one, or that of its lease; "" of a tunnel or PPPoE session, which has none. None: it is
    not known."""
    if spec.gateway is not None:
        return spec.gateway
    interface = network.get(spec.interface)
    if interface is not None and (interface.device in WITHOUT_GATEWAY or interface.dialled):
        return ""
    lease = leases.get(spec.interface) if interface is not None and interface.dhcp else None
    return next((gateway for to, gateway in lease.routes if to == EVERYTHING), None) if lease else None
