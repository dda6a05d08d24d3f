# SPDX-License-Identifier: Apache-2.0
"""Peers of WireGuard tunnels: who they are, and which addresses are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import (
    INTERFACE_NAMES,
    Address,
    Choice,
    Comment,
    Endpoint,
    Flag,
    Group,
    Host,
    Many,
    Moment,
    Prefix,
    PublicKey,
    Ref,
    Secret,
    Text,
    When,
    Whole,
)
from weir.kinds.declaration import Declaration
from weir.model.address import is_dns_name
from weir.model.endpoint import parse_key, split_endpoint
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning
from weir.model.unique import one_for_each, one_for_each_of

MAX_ALLOWED_IPS = 256
EVERYTHING = ("0.0.0.0/0", "::/0")


def is_tunnel(interface: Interface) -> bool:
    return interface.wireguard is not None


@dataclass(frozen=True, slots=True)
class Client:
    """What the configuration of a client says that the router makes one for."""

    addresses: Annotated[
        tuple[str, ...],
        Many(Address(), 8, help="The client's own addresses in the tunnel.", example="10.9.0.2/32"),
    ] = ()
    dns: Annotated[tuple[str, ...], Many(Host(), 8, label="DNS", help="Servers that it asks for names.")] = ()
    endpoint: Annotated[
        str | None,
        Endpoint(
            help="Where it reaches the router; without one, at the address of a WAN.",
            example="vpn.example.net:51820",
        ),
    ] = None
    routes: Annotated[
        tuple[str, ...],
        Many(Prefix(), MAX_ALLOWED_IPS, help="What it sends into the tunnel; everything where it is empty."),
    ] = ()


@dataclass(frozen=True, slots=True)
class WireguardPeer(ConfigObject):
    """Without a `public_key` it is not in force: make its client's configuration, or enter its key."""

    kind: ClassVar[Kind] = "wireguard-peer"
    id: str
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            role="WireGuard tunnel",
            fits=is_tunnel,
            unfit="those have the type wireguard",
            offered=When("wireguard"),
            label="Tunnel",
            help="The interface that it is a peer of.",
            example="wg0",
        ),
    ]
    public_key: Annotated[
        str | None,
        PublicKey(help="The peer's. Making a client's configuration fills it in."),
    ] = None
    preshared_key: Annotated[
        str | None,
        Secret(44, 44, check=parse_key, help="A key that both ends have, against future quantum computers."),
    ] = None
    allowed_ips: Annotated[
        tuple[str, ...],
        Many(
            Prefix(),
            MAX_ALLOWED_IPS,
            label="Allowed addresses",
            option="allowed-ip",
            help="Whose packets it may send, and which are sent to it. No other peer of the tunnel has them.",
            example="10.9.0.2/32",
        ),
    ] = ()
    endpoint: Annotated[
        str | None,
        Endpoint(
            help="Where it is reached. A name is looked up again when handshakes stay away. Without one the "
            "peer speaks first.",
            example="branch.example.net:51820",
        ),
    ] = None
    keepalive_s: Annotated[
        int,
        Whole(
            0,
            65_535,
            importance="folded",
            help="Seconds between packets that keep a NAT before it open; 25 is usual, 0 sends none.",
        ),
    ] = 0
    route_allowed_ips: Annotated[
        bool,
        Flag(
            importance="folded",
            label="Route the allowed addresses",
            help="The router has a route into the tunnel for each of them.",
        ),
    ] = True
    client: Annotated[
        Client | None,
        Group(Client, importance="folded", help="What its configuration says where the router makes it."),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="The peer is kept and has no effect.")] = False

    @property
    def routes(self) -> tuple[str, ...]:
        """Of which networks the router has routes to it."""
        return self.allowed_ips if self.route_allowed_ips and not self.disabled else ()


def _key_of(peer: WireguardPeer) -> tuple[str, str] | None:
    return None if peer.disabled or peer.public_key is None else (peer.interface, peer.public_key)


def _networks_of(peer: WireguardPeer) -> Iterator[tuple[str, str]]:
    """Of networks within each other the kernel takes the longest (allowedips.c), so these may be different
    peers'."""
    networks = () if peer.disabled else dict.fromkeys(peer.allowed_ips)
    return ((peer.interface, text) for text in networks)


def leads_out(_view: View, peer: WireguardPeer) -> Iterator[Finding]:
    """The tunnel's own packets must not be routed into the tunnel."""
    for text in peer.routes:
        if text in EVERYTHING:
            message = (
                f"a route for {text} would lead the tunnel's own packets into it: "
                "turn route_allowed_ips off, and add static routes for what is to go through the tunnel"
            )
            yield error("route-of-everything", peer, "allowed_ips", message)
    host = "" if peer.endpoint is None else split_endpoint(peer.endpoint)[0]
    if host and not is_dns_name(host):
        there = parse_prefix(host)
        around = [text for text in peer.routes if parse_prefix(text).covers(there)]
        if around and around[0] not in EVERYTHING:
            message = f"the route for {around[0]} would lead to the endpoint {host} through the tunnel itself"
            yield error("endpoint-in-tunnel", peer, "endpoint", message)


def complete(_view: View, peer: WireguardPeer) -> Iterator[Finding]:
    if peer.disabled:
        return
    if peer.public_key is None:
        text = f"peer {peer.id} has no public key, so it is not in force: make its client, or enter its key"
        yield warning("no-public-key", peer, "public_key", text)
    if not peer.allowed_ips:
        yield warning("nothing-allowed", peer, "allowed_ips", f"peer {peer.id} may send and get no packet")


KIND = Declaration(
    WireguardPeer,
    singular="WireGuard peer",
    plural="WireGuard peers",
    short="peer",
    about="Whom a WireGuard tunnel leads to.",
    columns=("interface", "session", "last_handshake_at", "allowed_ips", "endpoint", "comment"),
    area="VPN",
    purpose="A peer is a branch or a device at the other end of a tunnel. For a device the router makes the "
    "whole configuration, to be scanned once. The tunnel itself is an interface of the type wireguard.",
    state={
        "session": Choice(
            "never", "up", "stale", help="`up`: keys were exchanged in the last 3 minutes; `stale`: earlier."
        ),
        "last_handshake_at": Moment(label="Last handshake", help="When keys were exchanged last."),
        "current_endpoint": Text(64, help="Where its packets came from last, or are sent."),
        "rx_bytes": Whole(0, 2**64 - 1, label="Received", help="Received from it."),
        "tx_bytes": Whole(0, 2**64 - 1, label="Sent", help="Bytes that were sent to the peer."),
    },
    rules=(
        one_for_each(
            WireguardPeer,
            "one key",
            key=_key_of,
            code="duplicate-key",
            field="public_key",
            says=lambda peer, first: f"peer {first.id} of {peer.interface} has this public key already",
        ),
        one_for_each_of(
            WireguardPeer,
            "one network",
            keys=_networks_of,
            code="allowed-ips-taken",
            field="allowed_ips",
            says=lambda peer, first, key: f"{key[1]} is what peer {first.id} of {key[0]} is allowed already",
        ),
        Rule("leads-out", "wireguard-peer", leads_out, own("wireguard-peer"), True),
        Rule("complete", "wireguard-peer", complete, own("wireguard-peer"), False),
    ),
)
