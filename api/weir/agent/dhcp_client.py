# SPDX-License-Identifier: Apache-2.0
"""A DHCP client for one interface (RFC 2131): asks for an address, keeps it, gives it back.

An agent that starts again goes on with the lease that the one before it had, and asks the server whether it
still holds: meanwhile the address stays. The same is done when the cable was out.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from weir.adapters.dhcp_packets import BROADCAST, Kind, Question, Reply, packet, read_reply
from weir.agent import lease_client
from weir.agent.lease_client import LeaseClient, since_boot_s

log = logging.getLogger(__name__)

DISCOVER_WAITS_S = (2.0, 4.0, 8.0, 16.0)
REQUEST_WAITS_S = (2.0, 4.0, 8.0)
CONFIRM_WAITS_S = (2.0, 4.0)
PAUSE_S = 30.0
MIN_RETRY_S = 60.0
"""Between two requests for more time (RFC 2131, 4.4.5), if that much is left."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An address for a time. `address` has its prefix length; times are in seconds since the boot."""

    address: str
    server: str
    server_mac: str
    routes: tuple[tuple[str, str], ...]
    dns: tuple[str, ...]
    renew_at: float
    rebind_at: float
    expires_at: float

    @property
    def host(self) -> str:
        return self.address.partition("/")[0]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Lease:
        """Raises `TypeError`, `ValueError` or `KeyError` for what `to_json` did not write."""
        routes = tuple((str(destination), str(gateway)) for destination, gateway in data["routes"])
        return cls(**{**data, "routes": routes, "dns": tuple(map(str, data["dns"]))})


class Wire(lease_client.Wire, Protocol):
    """As `DhcpWire`."""

    def send(self, data: bytes, mac: bytes = ...) -> None: ...
    def receive(self, timeout_s: float) -> tuple[bytes, bytes] | None: ...


class DhcpClient(LeaseClient[Wire]):
    protocol = "DHCP"

    def __init__(
        self,
        mac: str,
        wire: Wire,
        take: Callable[[Lease | None], None],
        *,
        known: Lease | None = None,
        hostname: str = "",
        now: Callable[[], float] = since_boot_s,
        holder_of: Callable[[str], str] = lambda _: "",
        declined: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        """`take` is told of every lease, and None when there is none any more.

        `holder_of(address)` is the MAC address of a station that has it already, or ""; `declined(address,
        holder)` is told of an address that was not taken because of that.
        """
        super().__init__(mac, wire, now, unsure=known is not None)
        self._take = take
        self._lease = known
        self._hostname = hostname
        self._holder_of = holder_of
        self._declined = declined

    def step(self) -> None:
        self._expire()
        lease = self._lease
        if lease is None:
            self._unsure = False
            with self._wire:
                found = self._acquire()
            if not found and not self._stopping:  # that has woken us already
                self._wire.wait(PAUSE_S)
        elif self._unsure:
            self._unsure = False
            with self._wire:
                self._set_if(self._ask(CONFIRM_WAITS_S, wanted=lease.host))
        elif self._now() < lease.renew_at:
            self._wire.wait(lease.renew_at - self._now())
        else:
            self._prolong(lease)

    def release(self) -> None:
        if self._lease is not None:
            try:
                with self._wire:
                    lease = self._lease
                    self._say(Kind.RELEASE, lease, own=lease.host, server=lease.server)
            except OSError as error:
                log.info("DHCP: %s was not given back: %s", self._lease.host, error.strerror)

    def _acquire(self) -> bool:
        """DISCOVER, and REQUEST of the first offer; whether there is a lease now."""
        transaction = _transaction()
        for wait_s in DISCOVER_WAITS_S:
            self._send(Question(Kind.DISCOVER, transaction, self._mac, hostname=self._hostname))
            answer = self._await(transaction, (Kind.OFFER,), wait_s)
            if answer is not None:
                offer = answer[0]
                wanted = offer.address.partition("/")[0]
                lease = self._ask(REQUEST_WAITS_S, wanted=wanted, server=offer.server)
                return lease is not None and self._begin(lease)
            if self._stopping:
                return False
        return False

    def _begin(self, lease: Lease) -> bool:
        """Take a new lease, unless somebody has its address (RFC 2131, 4.4.1)."""
        holder = self._holder_of(lease.host)
        if holder:
            server = lease.server
            self._send(Question(Kind.DECLINE, _transaction(), self._mac, wanted=lease.host, server=server))
            self._declined(lease.host, holder)
            return False
        self._set(lease)
        return True

    def _prolong(self, lease: Lease) -> None:
        """One request for more time, to its server and, when that is late, to any."""
        renewing = self._now() < lease.rebind_at
        until = lease.rebind_at if renewing else lease.expires_at
        left_s = until - self._now()
        wait_s = min(max(left_s / 2, MIN_RETRY_S), left_s)
        with self._wire:
            self._set_if(self._ask((wait_s,), own=lease.host, to=lease if renewing else None))

    def _ask(
        self,
        waits_s: tuple[float, ...],
        *,
        own: str = "",
        wanted: str = "",
        server: str = "",
        to: Lease | None = None,
    ) -> Lease | None:
        """REQUEST; what was granted. A refusal ends the present lease, silence does not."""
        transaction = _transaction()
        question = Question(
            Kind.REQUEST,
            transaction,
            self._mac,
            own=own,
            wanted=wanted,
            server=server,
            hostname=self._hostname,
        )
        for wait_s in waits_s:
            asked_at = self._now()
            self._send(question, to)
            answer = self._await(transaction, (Kind.ACK, Kind.NAK), wait_s)
            if answer is not None and answer[0].kind == Kind.NAK:
                self._set(None)
                return None
            if answer is not None:
                return _lease(answer[0], answer[1], asked_at)
            if self._stopping:
                return None
        return None

    def _await(self, transaction: int, kinds: tuple[Kind, ...], wait_s: float) -> tuple[Reply, bytes] | None:
        until = self._now() + wait_s
        while (left_s := until - self._now()) > 0 and not self._stopping:
            received = self._wire.receive(left_s)
            if received is not None:
                reply = read_reply(received[0], transaction, self._mac)
                if reply is not None and reply.kind in kinds:
                    return reply, received[1]
        return None

    def _say(self, kind: Kind, to: Lease | None, *, own: str, server: str) -> None:
        self._send(Question(kind, _transaction(), self._mac, own=own, server=server), to)

    def _send(self, question: Question, to: Lease | None = None) -> None:
        if to is None:
            self._wire.send(packet(question, BROADCAST))
        else:
            self._wire.send(packet(question, to.server), bytes.fromhex(to.server_mac))

    def _down_pause_s(self) -> float:
        return MIN_RETRY_S if self._lease else PAUSE_S / 10

    def _expire(self) -> None:
        if self._lease is not None and self._now() >= self._lease.expires_at:
            self._set(None)

    def _set_if(self, granted: Lease | None) -> None:
        if granted is not None:
            self._set(granted)

    def _set(self, lease: Lease | None) -> None:
        if lease is not None or self._lease is not None:
            self._lease = lease
            self._take(lease)


def _transaction() -> int:
    return random.SystemRandom().getrandbits(32)


def _lease(reply: Reply, mac: bytes, asked_at: float) -> Lease:
    """Counted from when it was asked for: the server counts from later."""
    return Lease(
        reply.address,
        reply.server,
        mac.hex(),
        reply.routes,
        reply.dns,
        asked_at + reply.renew_s,
        asked_at + reply.rebind_s,
        asked_at + reply.lease_s,
    )
