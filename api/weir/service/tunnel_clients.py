# SPDX-License-Identifier: Apache-2.0
"""The configuration of a WireGuard client, keys included: made once, answered once, kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weir import x25519
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds.secrets import place_of
from weir.kinds.wireguard_peer import EVERYTHING, Client, WireguardPeer
from weir.model.address import split_address
from weir.model.endpoint import join_endpoint
from weir.model.interface import Interface
from weir.model.prefix import WIDTH, Prefix, parse_prefix
from weir.model.problem import Invalid, PreconditionFailed, Unavailable
from weir.service.configuration import ConfigService
from weir.service.sealing import SealingService
from weir.service.states import StateService
from weir.service.types import Committed, Edit

KIND = "wireguard-peer"
KEEPALIVE_S = 25
"""A client is behind a NAT more often than not."""


@dataclass(frozen=True, slots=True, repr=False)
class MadeClient:
    """`text` has the client's private key, so its representation does not show it."""

    text: str
    committed: Committed


class TunnelClients:
    def __init__(self, config: ConfigService, states: StateService, sealing: SealingService) -> None:
        self._config = config
        self._states = states
        self._sealing = sealing

    @requires("config.write")
    def make(self, by: Principal, peer_id: str, etag: str) -> MadeClient:
        """New keys for a peer that is this router's client. Its old ones are good for nothing from then on.

        Raises `NotFound`, `PreconditionFailed` when the peer is another than `etag` says, `Invalid` when it
        does not say what the client needs, `Unavailable` when the tunnel's own key is not known.
        """
        stored = self._config.get(by, KIND, peer_id)
        if stored.etag != etag:
            text = f"{KIND} {peer_id!r} was changed by somebody else; read it again."
            raise PreconditionFailed(text, path=f"{KIND}/{peer_id}")
        peer = stored.object
        assert isinstance(peer, WireguardPeer)
        if peer.client is None or not peer.client.addresses:
            raise _lacks(peer, "client.addresses", "its addresses in the tunnel")
        endpoint = peer.client.endpoint or self._endpoint(by, peer)
        public_key = self._public_key(by, peer.interface)
        private, shared = x25519.new_private(), x25519.new_shared()
        item = replace(
            peer,
            public_key=x25519.public_of(private),
            preshared_key=self._sealing.seal(place_of(KIND, peer_id, "preshared_key"), shared),
            allowed_ips=peer.allowed_ips or tuple(map(_host, peer.client.addresses)),
        )
        text = _text(peer.client, private, public_key, shared, endpoint)
        return MadeClient(text, self._config.commit(by, [Edit(KIND, peer_id, item, stored.etag)]))

    def _public_key(self, by: Principal, interface: str) -> str:
        (state,) = self._states.of(by, "interface", [interface])
        key = state.fields.get("public_key")
        if key is None or state.stale_reason is not None:
            why = state.stale_reason or "the router does not have it yet, or its private key is not known"
            raise Unavailable(f"the public key of {interface} is not known: {why}", code="no-public-key")
        return str(key)

    def _endpoint(self, by: Principal, peer: WireguardPeer) -> str:
        """The first address of a WAN that is written down, with the tunnel's port."""
        with self._config.document(by) as document:
            tunnel = document.interface(peer.interface)
            wans = [item for item in document.interfaces() if item.role == "wan" and not item.disabled]
            addresses = [text for item in sorted(wans, key=_id) for text in item.addresses]
        if not addresses or tunnel is None or tunnel.wireguard is None:
            raise _lacks(
                peer, "client.endpoint", "where it reaches the router, as no WAN has a fixed address"
            )
        host = split_address(addresses[0])[0]
        return join_endpoint(host, tunnel.wireguard.listen_port)


def _id(item: Interface) -> str:
    return item.id


def _host(address: str) -> str:
    """The one address of a client, as a network that nobody else is in."""
    host = parse_prefix(split_address(address)[0])
    return Prefix(host.family, host.value, WIDTH[host.family]).text


def _lacks(peer: WireguardPeer, field: str, what: str) -> Invalid:
    text = f"peer {peer.id} does not say {what}: give {field}"
    return Invalid(text, code="missing", path=f"{KIND}/{peer.id}/{field}")


def _text(client: Client, private: str, public: str, shared: str, endpoint: str) -> str:
    """As `wg-quick` and the apps read it (wg-quick(8))."""
    dns = [f"DNS = {', '.join(client.dns)}"] if client.dns else []
    lines = [
        "[Interface]",
        f"PrivateKey = {private}",
        f"Address = {', '.join(client.addresses)}",
        *dns,
        "",
        "[Peer]",
        f"PublicKey = {public}",
        f"PresharedKey = {shared}",
        f"AllowedIPs = {', '.join(client.routes or EVERYTHING)}",
        f"Endpoint = {endpoint}",
        f"PersistentKeepalive = {KEEPALIVE_S}",
    ]
    return "\n".join(lines) + "\n"
