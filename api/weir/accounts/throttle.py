# SPDX-License-Identifier: Apache-2.0
"""Slowing down who guesses passwords: per name and address, per address, and per name.

Somebody who guesses behind an operator's address, or an operator's name from many addresses, must not lock
the operator out. So a browser that the operator has signed in with, the console, and a session that changes
its password each have a count of their own instead (OWASP's device cookies).

The count goes up before the password is looked at and is taken back by success, so that attempts in
parallel count as well as attempts in a row; it is kept in the store, so a restart forgives nothing.
"""

from __future__ import annotations

import hashlib
import ipaddress
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from weir.model.problem import Throttled
from weir.store.account_rows import Throttle
from weir.store.account_writer import AccountWriter

FORGET_AFTER_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Rule:
    """After `free` failures each further one blocks: 1 s, doubling up to `longest_s`."""

    prefix: str
    free: int
    longest_s: int

    def block_ms(self, failures: int) -> int:
        over = failures - self.free
        return 0 if over <= 0 else min(1 << min(over - 1, 30), self.longest_s) * 1000


PAIR = Rule("pair", free=5, longest_s=900)
ADDRESS = Rule("address", free=20, longest_s=900)
NAME = Rule("name", free=50, longest_s=60)
"""Gentle, because anybody can make it block a name: it only stops guessing from many addresses."""


CODE = Rule("code", free=10, longest_s=3600)
"""Of one account from everywhere, as six digits are few. Only who knows the password can make it block, and
it blocks no known device."""
OWN = Rule("own", free=5, longest_s=900)
CONSOLE = "console"
"""The source of who is at the router itself."""


def begin_attempt(
    writer: AccountWriter, username: str, source: str, now_ms: int, own: str | None = None
) -> None:
    """Count an attempt. Raises `Throttled` while any of its subjects is blocked; then nothing counts.

    `own` names what is counted alone: a known device or a session.
    """
    _count(writer, _subjects(username, source, own), now_ms)


def begin_code(writer: AccountWriter, user_id: int, now_ms: int) -> None:
    """Count a guess of a second factor's code. Raises `Throttled`."""
    _count(writer, {_code_of(user_id): CODE}, now_ms)


def forget_codes(writer: AccountWriter, user_id: int) -> None:
    """Guesses of its codes count no more: one was right, or they were of a second factor that is gone."""
    writer.clear_throttle(_code_of(user_id))


def _code_of(user_id: int) -> str:
    return f"{CODE.prefix}:{user_id}"


def _count(writer: AccountWriter, subjects: Mapping[str, Rule], now_ms: int) -> None:
    blocked_until = 0
    states = {}
    for subject in subjects:
        state = writer.throttle(subject)
        if state is None or state.updated_at_ms < now_ms - FORGET_AFTER_MS:
            state = Throttle(0, 0, now_ms)
        states[subject] = state
        # a clock that was set back must not block longer than the rule says
        limit = now_ms + subjects[subject].longest_s * 1000
        blocked_until = max(blocked_until, min(state.blocked_until_ms, limit))
    if blocked_until > now_ms:
        seconds = (blocked_until - now_ms + 999) // 1000
        raise Throttled(f"too many failed sign-ins; try again in {seconds} s", retry_after_s=seconds)
    for subject, rule in subjects.items():
        failures = states[subject].failures + 1
        writer.set_throttle(subject, Throttle(failures, now_ms + rule.block_ms(failures), now_ms))
    writer.drop_old_throttles(now_ms - FORGET_AFTER_MS)


def succeeded(writer: AccountWriter, username: str, source: str, own: str | None = None) -> None:
    """Forgive what was counted for this name at this address, and one attempt of the others."""
    for subject, rule in _subjects(username, source, own).items():
        if rule in (PAIR, OWN):
            writer.clear_throttle(subject)
        else:
            _take_back(writer, subject)


def taken_back(writer: AccountWriter, username: str, source: str, own: str | None = None) -> None:
    """The attempt that was just counted was no guess; those before it stay counted."""
    for subject in _subjects(username, source, own):
        _take_back(writer, subject)


def _take_back(writer: AccountWriter, subject: str) -> None:
    state = writer.throttle(subject)
    if state is not None:
        writer.set_throttle(subject, Throttle(max(state.failures - 1, 0), 0, state.updated_at_ms))


def _subjects(username: str, source: str, own: str | None) -> dict[str, Rule]:
    if own is not None:
        return {f"{OWN.prefix}:{own}": OWN}
    name = hashlib.sha256(username.casefold().encode("utf-8", "replace")).hexdigest()  # may be a password
    if source == CONSOLE:
        return {f"{OWN.prefix}:{CONSOLE}:{name}": OWN}
    network = network_of(source)
    return {
        f"{PAIR.prefix}:{network}:{name}": PAIR,
        f"{ADDRESS.prefix}:{network}": ADDRESS,
        f"{NAME.prefix}:{name}": NAME,
    }


def network_of(source: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address: who has one address there has them all."""
    try:
        address = ipaddress.ip_address(source.partition("%")[0])
    except ValueError:
        return source[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class Told:
    """Which refusals the audit trail has already, by who was refused and until when. Thread-safe."""

    MOST = 4096

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_s: dict[Hashable, int] = {}

    def first(self, who: Hashable, until_s: int) -> bool:
        """Whether it is the first of this time; seconds are rounded, so one more is the same time."""
        with self._lock:
            known = self._until_s.pop(who, -2)
            self._until_s[who] = max(until_s, known)
            if len(self._until_s) > self.MOST:
                del self._until_s[next(iter(self._until_s))]
            return until_s > known + 1
