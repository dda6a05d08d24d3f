# SPDX-License-Identifier: Apache-2.0
"""What WireGuard learns: handshakes, endpoints and bytes; and names of endpoints, which move.

A name is looked up when its peer has no endpoint yet, and again when the last handshake is older than a
session may be: behind a dynamic address the other end is somewhere else then.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from weir.adapters.netlink import Links
from weir.adapters.wireguard import PeerState, Tunnels
from weir.agent.configuration import Configuration
from weir.agent.secrets import Secrets
from weir.backends.daemons import Learn
from weir.backends.wireguard import WireguardBackend
from weir.loop import Loop
from weir.model.address import is_dns_name
from weir.model.endpoint import join_endpoint, split_endpoint
from weir.model.moment import moment
from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.parts.wireguard import WIREGUARD, PeerSpec, Spec, TunnelSpec, peers_of

log = logging.getLogger(__name__)

SESSION_S = 180
"""REJECT_AFTER_TIME: without a handshake for so long a session is none (WireGuard, protocol, 6.1)."""
PERIOD_S = 5.0
REST_S = 30.0
"""Between two questions for the same name."""

Wanted = Callable[[], Mapping[str, Spec]]
Address = tuple[str, int]


def lookup(host: str, port: int) -> list[Address]:
    """The addresses of a name, in the order in which the system prefers them. Raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    return [(str(address[4][0]), port) for address in found]


def opened(stack: ExitStack) -> Tunnels:
    """Tunnels, until `stack` ends."""
    tunnels = Tunnels()
    stack.callback(tunnels.close)
    return tunnels


def backend(tunnels: Tunnels, links: Links, state_dir: Path, secrets: Secrets) -> WireguardBackend:
    """What brings tunnels to the kernel. Their keys are opened one by one, when they are written."""
    return WireguardBackend(
        tunnels, links, lambda place, text: secrets.key.open(place, text), state_dir / "endpoints.json"
    )


def sources(tunnels: Tunnels, configuration: Configuration, stack: ExitStack) -> dict[Kind, Learn]:
    """The state of what is learnt about tunnels, by kind. Names of endpoints are followed until `stack`
    ends."""

    def wanted() -> Mapping[str, Spec]:
        return configuration.compiled.of(WIREGUARD) if configuration.loaded else {}

    endpoints = Endpoints(tunnels, wanted)
    endpoints.start()
    stack.callback(endpoints.stop)
    learnt = TunnelStates(tunnels, wanted)
    return {"wireguard-peer": learnt.peers, "interface": learnt.interfaces}


class TunnelStates:
    """What is known of peers and of tunnels, for `weir.agent.states`."""

    def __init__(self, tunnels: Tunnels, wanted: Wanted) -> None:
        self._tunnels = tunnels
        self._wanted = wanted

    def peers(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        asked = [spec for spec in peers_of(self._wanted()) if ids is None or spec.id in ids]
        held = {name: _peers(self._tunnels, name) for name in {spec.ifname for spec in asked}}
        found = ((spec.id, held[spec.ifname].get(spec.public_key)) for spec in asked)
        return {name: _learnt(peer, time.time()) for name, peer in found if peer is not None}

    def interfaces(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for spec in self._wanted().values():
            if isinstance(spec, TunnelSpec) and (ids is None or spec.ifname in ids):
                try:
                    found[spec.ifname] = {"public_key": self._tunnels.read(spec.ifname).public_key}
                except Problem as problem:
                    log.info("%s", problem.message)
        return found


def _peers(tunnels: Tunnels, ifname: str) -> Mapping[str, PeerState]:
    """By public key; none of a tunnel that cannot be read, of which nothing is known."""
    try:
        return tunnels.read(ifname).peers
    except Problem as problem:
        log.info("%s", problem.message)
        return {}


def _is_alive(peer: PeerState, now_s: float) -> bool | None:
    """Whether there is a session. None: not known, the clock was set back since the last handshake."""
    age_s = now_s - peer.last_handshake_s
    return None if age_s < 0 else age_s < SESSION_S


def _learnt(peer: PeerState, now_s: float) -> dict[str, Any]:
    at_s = peer.last_handshake_s
    return {
        "session": {True: "up", False: "stale", None: None}[_is_alive(peer, now_s)] if at_s else "never",
        "last_handshake_at": moment(at_s * 1000) if at_s else None,
        "current_endpoint": None if peer.endpoint is None else join_endpoint(*peer.endpoint),
        "rx_bytes": peer.rx_bytes,
        "tx_bytes": peer.tx_bytes,
    }


class Endpoints:
    """Looks names up in a thread of its own: no commit waits for a name server."""

    def __init__(
        self,
        tunnels: Tunnels,
        wanted: Wanted,
        resolve: Callable[[str, int], list[Address]] = lookup,
        period_s: float = PERIOD_S,
    ) -> None:
        self._tunnels = tunnels
        self._wanted = wanted
        self._resolve = resolve
        self._period_s = period_s
        self._asked_s: dict[str, float] = {}
        self._loop = Loop("endpoints", self._turn, first_s=period_s, again_s=period_s)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        """Does not wait for a name server."""
        self._loop.end()

    def _turn(self) -> float:
        self.look()
        return self._period_s

    def look(self) -> None:
        """Once over all peers with a name; those whose sessions are alive are left alone."""
        named = [spec for spec in peers_of(self._wanted()) if spec.endpoint and _has_name(spec)]
        held = {name: _peers(self._tunnels, name) for name in {spec.ifname for spec in named}}
        for spec in named:
            peer = held[spec.ifname].get(spec.public_key)
            if peer is not None and self._is_due(spec, peer):
                self._follow(spec, peer)

    def _is_due(self, spec: PeerSpec, peer: PeerState) -> bool:
        if peer.endpoint is not None and _is_alive(peer, time.time()):
            return False
        return time.monotonic() - self._asked_s.get(spec.name, -REST_S) >= REST_S

    def _follow(self, spec: PeerSpec, peer: PeerState) -> None:
        assert spec.endpoint is not None
        self._asked_s[spec.name] = time.monotonic()
        try:
            found = self._resolve(*split_endpoint(spec.endpoint))
            if found and peer.endpoint not in found:
                self._tunnels.set_endpoint(spec.ifname, spec.public_key, found[0])
                log.info("peer %s is at %s now (%s)", spec.id, join_endpoint(*found[0]), spec.endpoint)
        except OSError as error:
            log.info("the endpoint %s of peer %s: %s", spec.endpoint, spec.id, error.strerror or error)
        except Problem as problem:
            log.warning("the endpoint %s of peer %s: %s", spec.endpoint, spec.id, problem.message)


def _has_name(spec: PeerSpec) -> bool:
    return is_dns_name(split_endpoint(spec.endpoint or "")[0])
