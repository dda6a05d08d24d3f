# SPDX-License-Identifier: Apache-2.0
"""The leases that DHCP servers gave, beside what is configured: addresses and routes that come and go.

They are in a file of `/run`, so that an agent that starts again goes on with them: nothing is touched then.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from weir.adapters import files
from weir.agent.dhcp_client import Lease
from weir.agent.lease_client import since_boot_s
from weir.kinds.uplink import EVERYTHING
from weir.parts.network import NetworkSpec
from weir.parts.routes import RouteSpec

log = logging.getLogger(__name__)

FIRST_DISTANCE, LAST_DISTANCE = 210, 254
"""Of a lease's routes: a static route wins, and of two leases the one of the first interface by name."""


class Leases:
    """Thread-safe."""

    def __init__(self, path: Path | None) -> None:
        """`path` None: they are not kept."""
        self._path = path
        self._lock = threading.Lock()
        self._held = self._load()
        self._declined: dict[str, tuple[str, str]] = {}

    def held(self) -> dict[str, Lease]:
        """By interface."""
        with self._lock:
            return dict(self._held)

    def note(self, ifname: str, lease: Lease | None) -> bool:
        """True when that changes anything but times."""
        with self._lock:
            before = self._held.pop(ifname, None)
            if lease is not None:
                self._held[ifname] = lease
                self._declined.pop(ifname, None)
            self._save()
        return _what(before) != _what(lease)

    def note_declined(self, ifname: str, address: str, holder: str) -> None:
        """A server gave an address that the station with the MAC address `holder` has."""
        log.warning("DHCP on %s: %s was declined, %s has it", ifname, address, holder)
        with self._lock:
            self._declined[ifname] = (address, holder)

    def forget_declined(self, ifname: str) -> None:
        with self._lock:
            self._declined.pop(ifname, None)

    def declined(self) -> dict[str, tuple[str, str]]:
        """By interface the address that was given last and could not be taken, and who has it."""
        with self._lock:
            return {name: found for name, found in self._declined.items() if name not in self._held}

    def on(self, network: Mapping[str, NetworkSpec]) -> Mapping[str, NetworkSpec]:
        """The interfaces with the addresses of their leases."""
        specs = dict(network)
        for name, lease in self.held().items():
            spec = specs.get(name)
            if spec is not None and spec.dhcp and lease.address not in spec.addresses:
                specs[name] = replace(spec, addresses=(*spec.addresses, lease.address))
        return specs

    def routes(
        self, network: Mapping[str, NetworkSpec], routes: Mapping[str, RouteSpec]
    ) -> Mapping[str, RouteSpec]:
        """The routes with those of leases and PPPoE sessions; what is configured in the same words stays."""
        found: dict[str, RouteSpec] = {}
        leased = sorted(name for name in self.held() if name in network and network[name].dhcp)
        for number, name in enumerate(leased):
            distance = min(FIRST_DISTANCE + number, LAST_DISTANCE)
            for destination, gateway in self.held()[name].routes:
                key = f"dhcp/{name}/{destination}"
                found[key] = RouteSpec(key, destination, gateway, name, False, distance, network[name].vrf)
        for name, spec in network.items():
            if spec.session_distance and spec.up:  # FRR holds it until the session is up
                key = f"pppoe/{name}/{EVERYTHING}"
                found[key] = RouteSpec(key, EVERYTHING, None, name, False, spec.session_distance, spec.vrf)
        return {**routes, **found} if found else routes

    def _load(self) -> dict[str, Lease]:
        """Without those that ended meanwhile."""
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            leases = {str(name): Lease.from_json(data) for name, data in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("%s is not readable, so addresses are asked for again: %s", self._path, error)
            return {}
        now = since_boot_s()
        return {name: lease for name, lease in leases.items() if lease.expires_at > now}

    def _save(self) -> None:
        if self._path is None:
            return
        content = json.dumps({name: lease.to_json() for name, lease in self._held.items()})
        try:
            files.replace(self._path, content.encode())
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error.strerror)


def _what(lease: Lease | None) -> object:
    return lease and (lease.address, lease.routes)
