# SPDX-License-Identifier: Apache-2.0
"""WireGuard's tunnels by generic netlink (linux/wireguard.h), in the network namespace of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weir.adapters.rtnl import NetlinkError
from weir.model.problem import ApplyFailed, Unavailable

if TYPE_CHECKING:
    from pyroute2.netlink.generic.wireguard import WireGuard

NO_KEY = "A" * 43 + "="
"""32 bytes of zero, which the kernel takes and gives for "none"."""


@dataclass(frozen=True, slots=True, repr=False)
class PeerState:
    """Its representation does not show the key. `last_handshake_s` is the time of day,
    0 = there was none; `endpoint` is (host, port)."""

    public_key: str
    preshared_key: str | None
    endpoint: tuple[str, int] | None
    keepalive_s: int
    allowed_ips: frozenset[str]
    last_handshake_s: int
    rx_bytes: int
    tx_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Tunnel:
    """What the kernel holds of one interface; its representation does not show the keys."""

    private_key: str | None
    public_key: str | None
    listen_port: int
    peers: dict[str, PeerState]


class Tunnels:
    """Thread-safe: one request at a time. The socket is opened when it is first needed: the kernel knows the
    protocol once there is a tunnel.

    A thread of its own has the socket. pyroute2 (0.9.5) closes what it opened for any other thread after each
    request, and gives that end, as ECONNRESET, for the answer to the second one.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wireguard")
        self._socket: WireGuard | None = None

    def close(self) -> None:
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def read(self, ifname: str) -> Tunnel:
        """Raises `Unavailable` where there is no such tunnel."""
        try:
            messages = self._thread.submit(lambda: list(self._open().info(ifname))).result()
        except (NetlinkError, OSError) as error:
            raise Unavailable(f"{ifname}: WireGuard cannot be asked: {error}", code="netlink") from error
        return _tunnel(messages)

    def set(self, ifname: str, private_key: str | None, listen_port: int) -> None:
        """Raises `ApplyFailed`; a port that is in use is one reason."""
        self._change(
            f"{ifname}: UDP port {listen_port}",
            lambda: self._open().set(ifname, private_key=private_key or NO_KEY, listen_port=listen_port),
        )

    def set_peer(
        self,
        ifname: str,
        public_key: str,
        *,
        preshared_key: str | None = None,
        keepalive_s: int = 0,
        allowed_ips: Sequence[str] = (),
        endpoint: tuple[str, int] | None = None,
    ) -> None:
        """Make a peer, or change one; its session goes on. Without an endpoint it keeps what it has."""
        peer: dict[str, Any] = {
            "public_key": public_key,
            "preshared_key": preshared_key or NO_KEY,
            "persistent_keepalive": keepalive_s,
            "replace_allowed_ips": True,
            "allowed_ips": list(allowed_ips),
            **_where(endpoint),
        }
        self._change(f"{ifname}: a peer", lambda: self._open().set(ifname, peer=peer))

    def set_endpoint(self, ifname: str, public_key: str, endpoint: tuple[str, int]) -> None:
        """Where a peer is sent to; one that is gone meanwhile is not made."""
        peer = {"public_key": public_key, "update_only": True, **_where(endpoint)}
        self._change(f"{ifname}: an endpoint", lambda: self._open().set(ifname, peer=peer))

    def remove_peer(self, ifname: str, public_key: str) -> None:
        peer = {"public_key": public_key, "remove": True}
        self._change(f"{ifname}: a peer", lambda: self._open().set(ifname, peer=peer))

    def _open(self) -> WireGuard:
        if self._socket is None:
            from pyroute2.netlink.generic.wireguard import WireGuard

            self._socket = WireGuard()
        return self._socket

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _change(self, what: str, request: Callable[[], object]) -> None:
        try:
            self._thread.submit(request).result()
        except NetlinkError as error:
            raise ApplyFailed(f"{what}: {os.strerror(error.code)}", code="netlink") from error
        except OSError as error:
            raise ApplyFailed(f"{what}: {error}", code="netlink") from error


def _where(endpoint: tuple[str, int] | None) -> dict[str, Any]:
    return {} if endpoint is None else {"endpoint_addr": endpoint[0], "endpoint_port": endpoint[1]}


def _tunnel(messages: Sequence[Any]) -> Tunnel:
    """A tunnel with many peers comes in several messages, and one peer may be in two of them."""
    first = messages[0]
    found: dict[str, PeerState] = {}
    for message in messages:
        for item in message.get("peers") or ():
            peer = _peer(item)
            before = found.get(peer.public_key)
            found[peer.public_key] = peer if before is None else _joined(before, peer)
    return Tunnel(
        _key(first.get("private_key")),
        _key(first.get("public_key")),
        int(first.get("listen_port") or 0),
        found,
    )


def _joined(before: PeerState, more: PeerState) -> PeerState:
    """The second message about a peer has the rest of its addresses, and nothing else."""
    return replace(before, allowed_ips=before.allowed_ips | more.allowed_ips)


def _peer(item: Any) -> PeerState:
    handshake, endpoint = item.get("last_handshake_time"), item.get("endpoint")
    return PeerState(
        _key(item.get("public_key")) or "",
        _key(item.get("preshared_key")),
        None if endpoint is None else (str(endpoint["addr"]), int(endpoint["port"])),
        int(item.get("persistent_keepalive_interval") or 0),
        frozenset(str(ip["addr"]) for ip in item.get("allowedips") or ()),
        int(handshake["tv_sec"]) if handshake is not None else 0,
        int(item.get("rx_bytes") or 0),
        int(item.get("tx_bytes") or 0),
    )


def _key(value: Any) -> str | None:
    if value is None:
        return None
    text = value["value"] if isinstance(value, dict) else value
    text = text.decode("ascii") if isinstance(text, bytes) else str(text)
    return None if text == NO_KEY else text
