# SPDX-License-Identifier: Apache-2.0
"""WireGuard: keys, ports, peers and routes. Only what differs is touched, so that other sessions go on.

A peer's endpoint in the kernel follows the peer's packets. So it is set when another one is configured, which
is remembered in a file, and left alone otherwise: not even a new agent takes a peer back to where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from weir.adapters import files, tunnel_routes
from weir.adapters.netlink import Links
from weir.adapters.tunnel_routes import TunnelRoute
from weir.adapters.wireguard import PeerState, Tunnel, Tunnels
from weir.backends.backend import Comparison, Look, Topic, because, refuse, step
from weir.backends.wireguard_explained import explain
from weir.model.address import is_dns_name
from weir.model.endpoint import split_endpoint
from weir.model.objects import ConfigObject
from weir.model.prefix import parse_prefix
from weir.model.problem import ApplyFailed
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.wireguard import PeerSpec, Sealed, Spec, TunnelSpec, peers_of


@dataclass(frozen=True, slots=True)
class WireguardState:
    """`up` are the tunnels that are up: the others have no routes."""

    tunnels: Mapping[str, Tunnel]
    up: frozenset[str]
    routes: frozenset[TunnelRoute]
    endpoints: Mapping[str, str]
    """By the name of a peer's entry: where it was sent to last."""


@dataclass(slots=True)
class WireguardDifference:
    """`peers` with the endpoint that is to be set, if any. `wanted` is all that was asked for."""

    wanted: Mapping[str, Spec] = field(default_factory=dict)
    tunnels: list[TunnelSpec] = field(default_factory=list)
    peers: list[tuple[PeerSpec, tuple[str, int] | None]] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)
    """(interface, public key)."""
    add: list[TunnelRoute] = field(default_factory=list)
    remove: list[TunnelRoute] = field(default_factory=list)
    endpoints: dict[str, str] | None = None
    """What is to be remembered, if it is something else."""
    missing: list[str] = field(default_factory=list)
    refused: dict[TunnelRoute, str] = field(default_factory=dict)
    """Why the kernel did not take a change, once it was made."""

    def __bool__(self) -> bool:
        changes = self.tunnels or self.peers or self.gone or self.add or self.remove
        return bool(changes or self.endpoints is not None)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("wireguard", "remove", "peer", f"{name} {key}") for name, key in self.gone),
            *(
                step("wireguard", "change", "interface", f"{t.ifname} on UDP port {t.listen_port}")
                for t in self.tunnels
            ),
            *(step("wireguard", "change", "peer", f"{peer.id} of {peer.ifname}") for peer, _ in self.peers),
            *(step("wireguard", "add", "route", _words(route)) for route in self.add),
            *(step("wireguard", "remove", "route", _words(route)) for route in self.remove),
        ]


Looking = Look[WireguardState, Mapping[str, Spec], WireguardDifference]


class WireguardBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self, tunnels: Tunnels, links: Links, opened: Callable[[str, str], str], memory: Path
    ) -> None:
        """`opened(place, sealed)` is the plain text of a secret; `memory` is on a file system that is empty
        after a boot."""
        self._tunnels = tunnels
        self._links = links
        self._opened = opened
        self._memory = memory
        self._known: dict[Sealed, str] = {}

    def read(self) -> WireguardState:
        links = {name: link for name, link in self._links.links().items() if link.kind == "wireguard"}
        return WireguardState(
            {name: self._tunnels.read(name) for name in links},
            frozenset(name for name, link in links.items() if link.up),
            frozenset(route for route in tunnel_routes.read() if route.device in links)
            if links
            else frozenset(),
            self._remembered(),
        )

    def diff(self, held: WireguardState, wanted: Mapping[str, Spec]) -> WireguardDifference:
        found = WireguardDifference(wanted)
        for spec in wanted.values():
            tunnel = held.tunnels.get(spec.ifname)
            if tunnel is None:
                found.missing.append(spec.ifname)
            elif isinstance(spec, TunnelSpec):
                if (tunnel.private_key, tunnel.listen_port) != (self._text(spec.key), spec.listen_port):
                    found.tunnels.append(spec)
            else:
                self._diff_peer(found, held, tunnel.peers.get(spec.public_key), spec)
        ours = {spec.ifname for spec in wanted.values() if isinstance(spec, TunnelSpec)}
        for name in ours & held.tunnels.keys():
            keys = {spec.public_key for spec in peers_of(wanted) if spec.ifname == name}
            found.gone += [(name, key) for key in held.tunnels[name].peers if key not in keys]
        routes = {
            TunnelRoute(text, spec.ifname, str(spec.table))
            for spec in peers_of(wanted)
            if spec.ifname in held.up
            for text in spec.routes
        }
        found.add = sorted(routes - held.routes)
        found.remove = sorted(route for route in held.routes - routes if route.device in ours)
        asked = {spec.name: spec.endpoint for spec in peers_of(wanted) if spec.endpoint}
        found.endpoints = None if asked == held.endpoints else asked
        return found

    def _diff_peer(
        self, found: WireguardDifference, held: WireguardState, peer: PeerState | None, spec: PeerSpec
    ) -> None:
        endpoint = None
        if spec.endpoint is not None and (peer is None or held.endpoints.get(spec.name) != spec.endpoint):
            host, port = split_endpoint(spec.endpoint)
            endpoint = None if is_dns_name(host) else (host, port)
        if peer is None or endpoint not in (None, peer.endpoint) or self._differs(peer, spec):
            found.peers.append((spec, endpoint))

    def _differs(self, peer: PeerState, spec: PeerSpec) -> bool:
        held = (peer.preshared_key, peer.keepalive_s, peer.allowed_ips)
        return held != (self._text(spec.preshared), spec.keepalive_s, frozenset(spec.allowed_ips))

    def apply(self, difference: WireguardDifference) -> None:
        for name, key in difference.gone:  # before others get their addresses
            self._tunnels.remove_peer(name, key)
        for tunnel in difference.tunnels:
            self._tunnels.set(tunnel.ifname, self._text(tunnel.key), tunnel.listen_port)
        for peer, endpoint in difference.peers:
            self._tunnels.set_peer(
                peer.ifname,
                peer.public_key,
                preshared_key=self._text(peer.preshared),
                keepalive_s=peer.keepalive_s,
                allowed_ips=peer.allowed_ips,
                endpoint=endpoint,
            )
        difference.refused.update(tunnel_routes.change(difference.add, difference.remove))
        if difference.endpoints is not None:
            self._remember(difference.endpoints)

    def verify(self, difference: WireguardDifference) -> None:
        if difference.missing:
            refuse("wireguard", [f"there is no tunnel {name}" for name in sorted(set(difference.missing))])
        left = self.diff(self.read(), difference.wanted)
        why = {_words(route): said for route, said in difference.refused.items()}
        refuse(
            "wireguard", [because(f"{one.text} is still to do", why.get(one.text)) for one in left.steps()]
        )

    def explain(
        self,
        found: Comparison[WireguardState, Mapping[str, Spec], WireguardDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        return explain(found, item, self._text)

    def effects(self, look: Looking) -> Iterator[Effect]:
        """Keys and addresses that change end what goes through them; where a peer is, and how it is kept
        there, does not."""
        delta: Delta[Spec] = look.delta or Delta()
        stay = {spec.id for spec in peers_of(look.wanted)}
        for old in delta.removed:
            if isinstance(old, PeerSpec):
                words = "has another key" if old.id in stay else "is no peer any more"
                yield self._drops(look, old, f"{old.id} {words}", old.allowed_ips)
        for before, new in delta.set:
            if isinstance(new, PeerSpec):
                had = before.allowed_ips if isinstance(before, PeerSpec) else ()
                yield from self._takes(look, new, {*new.allowed_ips} - {*had})
            if isinstance(before, PeerSpec) and isinstance(new, PeerSpec):
                lost = sorted({*before.allowed_ips} - {*new.allowed_ips})
                if self._text(before.preshared) != self._text(new.preshared):
                    yield self._drops(look, new, f"{new.id} has another preshared key", new.allowed_ips)
                elif lost:
                    yield self._drops(look, new, f"{new.id} loses {', '.join(lost)}", lost)
            elif isinstance(before, TunnelSpec) and isinstance(new, TunnelSpec):
                yield from self._of_tunnel(look, before, new)

    def _of_tunnel(
        self,
        look: Looking,
        before: TunnelSpec,
        new: TunnelSpec,
    ) -> Iterator[Effect]:
        what = "private key" if self._text(before.key) != self._text(new.key) else ""
        if not what and before.listen_port != new.listen_port:
            what = "UDP port"
        peers = [spec for spec in peers_of(look.wanted) if spec.ifname == new.ifname]
        if what:
            networks = [text for spec in peers for text in spec.allowed_ips]
            text = f"{new.ifname} has another {what}, of which its {len(peers)} peers know nothing yet"
            sessions = look.sessions(networks)
            yield Effect("interface", new.ifname, "drops-sessions", text, None, sessions)

    def _takes(self, look: Looking, new: PeerSpec, gained: set[str]) -> Iterator[Effect]:
        """Of networks within each other the longest holds: a part of another peer's goes to the new one."""
        for other in peers_of(look.wanted) if gained else ():
            around = [parse_prefix(text) for text in other.allowed_ips]
            taken = sorted(text for text in gained if any(p.covers(parse_prefix(text)) for p in around))
            if taken and other.ifname == new.ifname and other.name != new.name:
                yield self._drops(look, other, f"{other.id} loses {', '.join(taken)} to {new.id}", taken)

    @staticmethod
    def _drops(
        look: Looking,
        peer: PeerSpec,
        text: str,
        networks: Sequence[str],
    ) -> Effect:
        sessions = look.sessions(networks)
        return Effect("wireguard-peer", peer.id, "drops-sessions", text, None, sessions)

    def _text(self, sealed: Sealed | None) -> str | None:
        """The plain text, opened once: a scan looks at each key."""
        if sealed is None:
            return None
        if sealed not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[sealed] = self._opened(sealed.place, sealed.text)
        return self._known[sealed]

    def _remembered(self) -> Mapping[str, str]:
        try:
            found = json.loads(self._memory.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}

    def _remember(self, endpoints: Mapping[str, str]) -> None:
        try:
            files.replace(self._memory, json.dumps(endpoints).encode())
        except OSError as error:
            raise ApplyFailed(f"{self._memory} cannot be written: {error.strerror}", code="memory") from error


_MOST_KNOWN = 20_000


def _words(route: TunnelRoute) -> str:
    return f"{route.destination} by {route.device}"
