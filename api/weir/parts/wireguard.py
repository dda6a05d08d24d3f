# SPDX-License-Identifier: Apache-2.0
"""WireGuard: keys and port of each tunnel, its peers, and the routes to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weir.fields.secret import LOST
from weir.kinds.secrets import place_of
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.prefix import parse_prefix
from weir.model.vrf import table_of
from weir.parts.part import EntriesPart

MAIN_TABLE = 254


class Sealed(NamedTuple):
    """A secret that only the agent can open, and the place that it was sealed for."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class TunnelSpec:
    """`key` None: it has none that this router knows, so no peer can be reached."""

    ifname: str
    key: Sealed | None
    listen_port: int

    @property
    def name(self) -> str:
        return self.ifname


@dataclass(frozen=True, slots=True)
class PeerSpec:
    """`routes` are the networks that `table` has routes for; `endpoint` may have a name, which is looked up
    elsewhere (`weir.agent.endpoints`)."""

    id: str
    ifname: str
    public_key: str
    preshared: Sealed | None
    allowed_ips: tuple[str, ...]
    endpoint: str | None
    keepalive_s: int
    routes: tuple[str, ...]
    table: int = MAIN_TABLE

    @property
    def name(self) -> str:
        return f"{self.ifname} {self.public_key}"


Spec = TunnelSpec | PeerSpec


class WireguardPart(EntriesPart[Spec]):
    name, what = "wireguard", "peer"
    made_of = frozenset(("interface", "wireguard-peer"))
    after = ("network",)  # the interfaces are there

    def key(self, entry: Spec) -> str:
        return entry.name

    def wanted(self, document: Document) -> Mapping[str, Spec]:
        tunnels = {item.id: item for item in document.interfaces() if item.wireguard is not None}
        found: dict[str, Spec] = {name: _tunnel(tunnels[name]) for name in sorted(tunnels)}
        for peer in sorted(document.every(WireguardPeer), key=lambda item: item.id) if tunnels else ():
            tunnel = tunnels.get(peer.interface)
            if tunnel is not None and peer.public_key and not peer.disabled and peer.preshared_key != LOST:
                spec = _peer(peer, peer.public_key, tunnel, document)
                found[spec.name] = spec
        return found

    def told(self, wanted: Mapping[str, Spec], item: ConfigObject) -> Iterator[str]:
        of = PeerSpec if isinstance(item, WireguardPeer) else TunnelSpec
        ids = ((spec, spec.id if isinstance(spec, PeerSpec) else spec.ifname) for spec in wanted.values())
        return (self.text(None, spec) for spec, name in ids if isinstance(spec, of) and name == item.id)

    def text(self, old: Spec | None, new: Spec) -> str:
        if isinstance(new, TunnelSpec):
            key = "" if new.key else ", without a key"
            return f"{new.ifname}: WireGuard on UDP port {new.listen_port}{key}"
        where = f" at {new.endpoint}" if new.endpoint else ""
        return f"peer {new.id} of {new.ifname}{where}: {' '.join(new.allowed_ips) or 'no addresses'}"


def _tunnel(item: Interface) -> TunnelSpec:
    assert item.wireguard is not None
    return TunnelSpec(
        item.id,
        sealed_of("interface", item.id, "wireguard.private_key", item.wireguard.private_key),
        item.wireguard.listen_port,
    )


def _peer(peer: WireguardPeer, key: str, tunnel: Interface, document: Document) -> PeerSpec:
    connected = [split_address(text)[1] for text in tunnel.addresses]
    vrf = None if tunnel.vrf is None else document.interface(tunnel.vrf)
    routes = () if tunnel.disabled else peer.routes
    return PeerSpec(
        peer.id,
        peer.interface,
        key,
        sealed_of("wireguard-peer", peer.id, "preshared_key", peer.preshared_key),
        tuple(sorted(set(peer.allowed_ips))),
        peer.endpoint,
        peer.keepalive_s,
        tuple(sorted({text for text in routes if not any(n.covers(parse_prefix(text)) for n in connected)})),
        (None if vrf is None else table_of(vrf)) or MAIN_TABLE,
    )


def sealed_of(kind: str, object_id: str, path: str, text: str | None) -> Sealed | None:
    """None for a secret that there is not, or that this router does not know."""
    return None if text in (None, LOST) else Sealed(place_of(kind, object_id, path), str(text))


def peers_of(wanted: Mapping[str, Spec]) -> Iterator[PeerSpec]:
    return (spec for spec in wanted.values() if isinstance(spec, PeerSpec))


WIREGUARD = WireguardPart()
