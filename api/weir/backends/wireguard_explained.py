# SPDX-License-Identifier: Apache-2.0
"""A tunnel or one of its peers in the kernel, field by field beside what is asked of it. Keys that are secret
are compared and never told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from weir.adapters.tunnel_routes import TunnelRoute
from weir.adapters.wireguard import PeerState, Tunnel
from weir.backends.backend import Comparison
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.endpoint import join_endpoint
from weir.model.objects import ConfigObject
from weir.parts.explained import Line
from weir.parts.wireguard import PeerSpec, Sealed, Spec, TunnelSpec, peers_of

if TYPE_CHECKING:
    from weir.backends.wireguard import WireguardDifference, WireguardState

    Found = Comparison[WireguardState, Mapping[str, Spec], WireguardDifference]

Opened = Callable[[Sealed | None], str | None]


def explain(found: Found, item: ConfigObject, opened: Opened) -> Iterator[Line]:
    """Of an interface that is no tunnel nothing is said."""
    if isinstance(item, WireguardPeer):
        spec = next((spec for spec in peers_of(found.wanted) if spec.id == item.id), None)
        yield from [_without(found, item)] if spec is None else _peer(found, spec, opened)
        return
    tunnel = found.wanted.get(item.id)
    if isinstance(tunnel, TunnelSpec):
        yield from _tunnel(found, tunnel, opened)


def _tunnel(found: Found, spec: TunnelSpec, opened: Opened) -> Iterator[Line]:
    held = found.held.tunnels.get(spec.ifname)
    if held is None:
        yield Line("wireguard", "a WireGuard tunnel", f"there is no tunnel {spec.ifname}", False)
        return
    port = str(held.listen_port)
    yield Line("wireguard.listen_port", str(spec.listen_port), port, held.listen_port == spec.listen_port)
    yield _secret("wireguard.private_key", opened(spec.key), held.private_key)
    asked = {peer.public_key for peer in peers_of(found.wanted) if peer.ifname == spec.ifname}
    odd = [key for key in held.peers if key not in asked]
    text = f"{len(asked & held.peers.keys())} of them" + (f", and {', '.join(odd)}" if odd else "")
    yield Line("peers", f"{len(asked)} peers", text, asked == held.peers.keys())


def _without(found: Found, item: WireguardPeer) -> Line:
    """Of a peer that is disabled, or has no key."""
    tunnel = found.held.tunnels.get(item.interface)
    asked = {spec.public_key for spec in peers_of(found.wanted) if spec.ifname == item.interface}
    left = tunnel is not None and item.public_key in tunnel.peers and item.public_key not in asked
    system = f"{item.interface} still has it" if left else f"{item.interface} does not have it"
    return Line("public_key", "no peer", system, not left)


def _peer(found: Found, spec: PeerSpec, opened: Opened) -> Iterator[Line]:
    tunnel: Tunnel | None = found.held.tunnels.get(spec.ifname)
    if tunnel is None:
        yield Line("interface", spec.ifname, f"there is no tunnel {spec.ifname}", False)
        return
    peer = tunnel.peers.get(spec.public_key)
    if peer is None:
        yield Line("public_key", spec.public_key, f"{spec.ifname} does not have it", False)
        return
    yield Line("public_key", spec.public_key, f"a peer of {spec.ifname}", True)
    yield _secret("preshared_key", opened(spec.preshared), peer.preshared_key)
    held = peer.allowed_ips
    yield Line("allowed_ips", _listed(spec.allowed_ips), _listed(held), held == frozenset(spec.allowed_ips))
    seconds = f"{peer.keepalive_s} s"
    yield Line("keepalive_s", f"{spec.keepalive_s} s", seconds, peer.keepalive_s == spec.keepalive_s)
    if spec.endpoint is not None:
        yield _endpoint(spec.endpoint, peer)
    if spec.routes and spec.ifname in found.held.up:
        routes = {text: TunnelRoute(text, spec.ifname, str(spec.table)) for text in spec.routes}
        present = [text for text, route in routes.items() if route in found.held.routes]
        yield Line("routes", _listed(spec.routes), _listed(present), len(present) == len(routes))


def _endpoint(asked: str, peer: PeerState) -> Line:
    """It follows the packets of the peer: being somewhere else is no deviation."""
    text = "none yet" if peer.endpoint is None else join_endpoint(*peer.endpoint)
    return Line("endpoint", f"{asked}, until the peer is somewhere else", text, peer.endpoint is not None)


def _secret(name: str, asked: str | None, held: str | None) -> Line:
    system = ("that key" if held == asked else "another key") if held else "none"
    return Line(name, "a key" if asked else "none", system, held == asked)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts)) or "none"
