# SPDX-License-Identifier: Apache-2.0
"""A DHCPv6 client for one interface (RFC 8415): asks for a prefix, and perhaps an address, and keeps them.

An agent that starts again goes on with what the one before it was given, and asks whether it still holds:
meanwhile it stays. The same is done when the cable was out. What was given ends when its time is over, or
when a server says so, never by silence.
"""

from __future__ import annotations

import logging
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv6Network
from typing import Protocol

from weir.adapters.dhcp6_packets import Answer, Given, Kind, Question, message, read_answer
from weir.agent import lease_client
from weir.agent.lease_client import LeaseClient, since_boot_s
from weir.model.delegation import Dhcpv6

log = logging.getLogger(__name__)

SOLICIT_WAITS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
REQUEST_WAITS_S = (1.0, 2.0, 4.0)
CONFIRM_WAITS_S = (1.0, 2.0, 4.0)
FIRST_PAUSE_S, LAST_PAUSE_S = 30.0, 120.0
"""After nobody answered; the last is SOL_MAX_RT of RFC 3315: a modem that starts again shows no cut cable."""
DOWN_PAUSE_S = 3.0
FIRST_RETRY_S, LAST_RETRY_S = 10.0, 600.0
"""Between two requests for more time (REN_TIMEOUT, REN_MAX_RT), if that much is left."""
CERTAIN = 255
"""A server with this preference is taken at once (RFC 8415, 18.2.9)."""
SILENT = "no DHCPv6 server answers"


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a provider gave for a time. Times are in seconds since the boot; `address` "" = none was given."""

    prefix: str
    server: str
    preferred_until: float
    valid_until: float
    renew_at: float
    rebind_at: float
    asked_at: float
    address: str = ""

    @property
    def bits(self) -> int:
        return IPv6Network(self.prefix).prefixlen


class Wire(lease_client.Wire, Protocol):
    """As `Dhcp6Wire`."""

    def send(self, data: bytes) -> None: ...
    def receive(self, timeout_s: float) -> bytes | None: ...


class Dhcp6Client(LeaseClient[Wire]):
    protocol = "DHCPv6"

    def __init__(
        self,
        name: str,
        mac: str,
        wish: Dhcpv6,
        wire: Wire,
        take: Callable[[Delegation | None, str], None],
        *,
        known: Delegation | None = None,
        now: Callable[[], float] = since_boot_s,
        jitter: Callable[[], float] = lambda: random.uniform(0.9, 1.1),
    ) -> None:
        """`take(delegation, failure)` is told of whatever is given, of None when there is nothing, and why
        the last question had no success."""
        super().__init__(mac, wire, now, unsure=known is not None)
        self._iaid = zlib.crc32(name.encode()).to_bytes(4, "big")
        self._wish = wish
        self._take = take
        self._held = known
        self._jitter = jitter
        self._pause_s, self._retry_s = FIRST_PAUSE_S, FIRST_RETRY_S

    def confirm(self) -> None:
        self._pause_s = FIRST_PAUSE_S
        super().confirm()

    def step(self) -> None:
        self._expire()
        held = self._held
        if held is None:
            self._unsure = False
            if not self._acquire() and not self._stopping:
                self._wire.wait(self._pause_s)
                self._pause_s = min(2 * self._pause_s, LAST_PAUSE_S)
        elif self._unsure:
            self._prolong_by(held, CONFIRM_WAITS_S, is_rebind=True)
            self._unsure = False  # if that failed it stays unsure
        elif self._now() < held.renew_at:
            self._wire.wait(held.renew_at - self._now())
        else:
            self._prolong(held)

    def release(self) -> None:
        if self._held is not None:
            try:
                with self._wire:
                    self._wire.send(message(self._question(Kind.RELEASE, self._held)))
            except OSError as error:
                log.info("DHCPv6: %s was not given back: %s", self._held.prefix, error.strerror)

    # -- what is asked ---------------------------------------------------------------------------------------

    def _question(self, kind: Kind, held: Delegation | None = None) -> Question:
        prefix = f"::/{self._wish.pd_hint}" if held is None else held.prefix
        address = (held.address if held else "") or "::"
        server = bytes.fromhex(held.server) if held and kind is not Kind.REBIND else b""
        transaction = random.SystemRandom().randbytes(3)
        asked = address if self._wish.address else ""
        return Question(kind, transaction, self._mac, self._iaid, prefix, asked, server)

    def _acquire(self) -> bool:
        """SOLICIT, and REQUEST of the best offer; whether something is held now."""
        with self._wire:
            offer = self._offered(self._question(Kind.SOLICIT))
            if offer is None or offer.prefix is None:
                return self._without(offer)
            question = self._question(Kind.REQUEST)
            address = offer.address.text if offer.address and self._wish.address else question.address
            question = replace(question, prefix=offer.prefix.text, address=address, server=offer.server)
            asked_at = self._now()
            answer = self._ask(question, REQUEST_WAITS_S)
        if answer is None or answer.prefix is None:
            return self._without(answer)
        self._set(_delegation(answer, answer.prefix, asked_at), "")
        return True

    def _offered(self, question: Question) -> Answer | None:
        """The best offer of those that come within the first wait, or the first that comes later; one without
        a prefix where there is none else."""
        best, begun = None, self._now()
        for wait_s in SOLICIT_WAITS_S:
            self._say(question, begun)
            until = self._now() + wait_s * self._jitter()
            while (answer := self._await(question, (Kind.ADVERTISE,), until)) is not None:
                if best is None or _rank(answer) > _rank(best):
                    best = answer
                if best.prefix and (best.preference == CERTAIN or wait_s != SOLICIT_WAITS_S[0]):
                    return best
            if self._stopping or (best is not None and best.prefix):
                return best
        return best

    def _prolong(self, held: Delegation) -> None:
        """One request for more time, to its server and, when that is late, to any."""
        is_rebind = self._now() >= held.rebind_at
        until = held.valid_until if is_rebind else held.rebind_at
        wait_s = min(self._retry_s, max(until - self._now(), 0.1))
        self._retry_s = min(2 * self._retry_s, LAST_RETRY_S)
        self._prolong_by(held, (wait_s,), is_rebind=is_rebind)

    def _prolong_by(self, held: Delegation, waits_s: tuple[float, ...], *, is_rebind: bool) -> None:
        """What a server answers counts; silence changes nothing."""
        asked_at = self._now()
        with self._wire:
            answer = self._ask(self._question(Kind.REBIND if is_rebind else Kind.RENEW, held), waits_s)
        if answer is None:
            if not self._stopping:
                self._take(held, SILENT)
        elif answer.prefix is not None:
            self._set(_delegation(answer, answer.prefix, asked_at), "")
        else:
            self._acquire()

    def _ask(self, question: Question, waits_s: tuple[float, ...]) -> Answer | None:
        begun = self._now()
        for wait_s in waits_s:
            self._say(question, begun)
            answer = self._await(question, (Kind.REPLY,), self._now() + wait_s)
            if answer is not None or self._stopping:
                return answer
        return None

    def _say(self, question: Question, begun: float) -> None:
        self._wire.send(message(replace(question, elapsed_s=self._now() - begun)))

    def _await(self, question: Question, kinds: tuple[Kind, ...], until: float) -> Answer | None:
        while (left_s := until - self._now()) > 0 and not self._stopping:
            received = self._wire.receive(left_s)
            answer = None if received is None else read_answer(received, question)
            if answer is not None and answer.kind in kinds:
                return answer
        return None

    # -- what is held ----------------------------------------------------------------------------------------

    def _down_pause_s(self) -> float:
        return DOWN_PAUSE_S

    def _without(self, answer: Answer | None) -> bool:
        """False: nothing was given. That nobody answers ends nothing, that a server has none does."""
        if not self._stopping:
            if answer is None and self._held is not None:
                self._take(self._held, SILENT)
            else:
                self._set(None, SILENT if answer is None else answer.refusal)
        return False

    def _expire(self) -> None:
        if self._held is not None and self._now() >= self._held.valid_until:
            self._set(None, "its time is over, and nobody gave more")

    def _set(self, held: Delegation | None, failure: str) -> None:
        self._held = held
        if held is not None:
            self._pause_s, self._retry_s = FIRST_PAUSE_S, FIRST_RETRY_S
        self._take(held, failure)


def _rank(answer: Answer) -> tuple[bool, int]:
    return answer.prefix is not None, answer.preference


def _delegation(answer: Answer, prefix: Given, asked_at: float) -> Delegation:
    """Counted from when it was asked for: the server counts from later."""
    return Delegation(
        prefix.text,
        answer.server.hex(),
        asked_at + prefix.preferred_s,
        asked_at + prefix.valid_s,
        asked_at + answer.renew_s,
        asked_at + answer.rebind_s,
        asked_at,
        answer.address.text if answer.address else "",
    )
