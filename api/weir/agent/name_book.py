# SPDX-License-Identifier: Apache-2.0
"""What is known of the names of one set: their addresses, for how long these stay, and when each name is
asked for again (docs/adr/0255). Pure: it is told what time it is, in seconds of the monotonic clock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from weir.adapters.resolver import FAMILIES, Answers, NameAnswer
from weir.model.prefix import WIDTH
from weir.model.prefix_groups import Groups, Shape

LEAST_S, MOST_S = 30.0, 3600.0
"""A name is asked for again when its time is over, and within these bounds."""
TURNS = 2
"""For so many times of an answer its addresses stay when later ones do not have them: who has just been told
one begins connections to it."""
RESTARTED_S = 600.0
"""The same for those that were kept: of them no time is known."""
FAILED_S = 86_400.0
"""For so long addresses stay while nobody answers: the least that RFC 8767 (section 5) has for it."""
DENIED_S = 3600.0
"""And so long while the answer is that there is no such name, or that it has no addresses."""
GATHER_S = 10.0
"""What is due within this time is asked for along: each question costs a process."""
MOST_HELD = 256
"""Of one name and family, the latest."""
FIRST_RETRY_S, LAST_RETRY_S = 5.0, 900.0

Kept = Mapping[str, tuple[str, ...]]
"""The addresses of each name, as text."""


@dataclass(slots=True)
class _Held:
    """Of one family. `until_s` is by address; `failing_s` and `denied_s`: since when it is so."""

    until_s: dict[bytes, float] = field(default_factory=dict)
    error: str = ""
    failing_s: float | None = None
    denied_s: float | None = None

    def take(self, answer: NameAnswer, now_s: float) -> None:
        self.error = answer.words
        if answer.what == "answer":
            self.failing_s = self.denied_s = None
            self.until_s = {key: until_s for key, until_s in self.until_s.items() if until_s > now_s}
            self.until_s |= dict.fromkeys(answer.addresses, now_s + TURNS * bounded(answer.ttl_s))
            latest = sorted(self.until_s, key=lambda key: (self.until_s[key], key))[-MOST_HELD:]
            self.until_s = {key: self.until_s[key] for key in latest}
            return
        self.failing_s = now_s if self.failing_s is None else self.failing_s
        if answer.what == "denied":
            self.denied_s = now_s if self.denied_s is None else self.denied_s
        if self.left_s(now_s) <= 0:
            self.until_s = {}

    def left_s(self, now_s: float) -> float:
        """For how long its addresses stay if it goes on like this; only of one that fails."""
        assert self.failing_s is not None
        left_s = self.failing_s + FAILED_S - now_s
        return left_s if self.denied_s is None else min(left_s, self.denied_s + DENIED_S - now_s)


@dataclass(slots=True)
class Name:
    """`next_s` is when it is asked for, `answered_ms` (of the wall clock, 0 = never) when it had
    addresses."""

    families: dict[int, _Held] = field(default_factory=lambda: {family: _Held() for family in FAMILIES})
    next_s: float = 0.0
    failures: int = 0
    answered_ms: int = 0

    def count(self, family: int) -> int:
        return len(self.families[family].until_s)

    def failing_s(self) -> float | None:
        """Since when it has no good answer. Servers that know nothing of IPv6 do not count while the name has
        addresses of IPv4."""
        is_well = any(held.until_s and held.failing_s is None for held in self.families.values())
        failing = [held for held in self.families.values() if held.until_s or not is_well]
        return min((held.failing_s for held in failing if held.failing_s is not None), default=None)

    def error(self, now_s: float) -> str:
        """In one line; "" = all is well."""
        said: dict[str, list[int]] = {}
        for family, held in self.families.items():
            if held.error:
                said.setdefault(held.error, []).append(family)
        return "; ".join(self._words(error, families, now_s) for error, families in said.items())

    def _words(self, error: str, families: list[int], now_s: float) -> str:
        """What is wrong with these families; with both of them none is named."""
        words = error if len(families) == len(self.families) else f"IPv{families[0]}: {error}"
        failing = [held for held in map(self.families.__getitem__, families) if held.failing_s is not None]
        left = [held.left_s(now_s) for held in failing if held.until_s]
        return f"{words} (what it has stays for {_time(min(left))})" if left else words

    def take(self, answers: Mapping[int, NameAnswer], now_s: float, now_ms: int) -> None:
        """What came of asking for it, of every family."""
        if all(answer.what == "answer" and not answer.addresses for answer in answers.values()):
            none = NameAnswer("denied", "it has no addresses")
            answers = dict.fromkeys(answers, none)
        for family, answer in answers.items():
            self.families[family].take(answer, now_s)
        good = [answer for answer in answers.values() if answer.addresses]
        if good:
            self.answered_ms = now_ms
        is_well = all(answer.what == "answer" for answer in answers.values())
        self.failures = 0 if is_well else self.failures + 1
        retry_s = (
            min(FIRST_RETRY_S * 2 ** min(self.failures - 1, 16), LAST_RETRY_S) if self.failures else MOST_S
        )
        self.next_s = now_s + min([retry_s, *(bounded(answer.ttl_s) for answer in good)])


class NameBook:
    """Not thread-safe."""

    def __init__(self, kept: Kept, now_s: float, answered_ms: int = 0) -> None:
        """`answered_ms` is when the kept ones were told, of the wall clock."""
        self._names: dict[str, Name] = {}
        for name, addresses in kept.items():
            self._names[name] = found = Name(answered_ms=answered_ms)
            for address in map(ip_address, addresses):
                found.families[address.version].until_s[address.packed] = now_s + RESTARTED_S

    def follow(self, names: Collection[str]) -> bool:
        """These and no others are in the set; whether addresses go by that."""
        before = self.groups()
        self._names = {name: self._names.get(name) or Name() for name in names}
        return self.groups() != before

    def due(self, now_s: float) -> list[str]:
        """What to ask for now; nothing as long as nothing is."""
        if self.next_s() > now_s:
            return []
        return [name for name, known in self._names.items() if known.next_s <= now_s + GATHER_S]

    def next_s(self) -> float:
        return min((known.next_s for known in self._names.values()), default=0.0)

    def take(self, answers: Answers, now_s: float, now_ms: int) -> None:
        for name in dict.fromkeys(name for name, _ in answers):
            if name in self._names:
                own = {family: answers[name, family] for family in FAMILIES}
                self._names[name].take(own, now_s, now_ms)

    def groups(self) -> Groups:
        found: dict[Shape, set[bytes]] = {}
        for known in self._names.values():
            for family, held in known.families.items():
                found.setdefault(Shape(family, WIDTH[family]), set()).update(held.until_s)
        return {shape: frozenset(addresses) for shape, addresses in sorted(found.items()) if addresses}

    def kept(self) -> Kept:
        return {name: _texts(known) for name, known in self._names.items()}

    def count(self) -> int:
        return len(self._names)

    def names(self) -> Iterator[tuple[str, Name]]:
        return iter(self._names.items())


def bounded(ttl_s: float) -> float:
    return min(max(ttl_s, LEAST_S), MOST_S)


def _texts(known: Name) -> tuple[str, ...]:
    return tuple(str(ip_address(key)) for held in known.families.values() for key in sorted(held.until_s))


def _time(left_s: float) -> str:
    return f"{left_s / 3600:.0f} h" if left_s >= 2 * 3600 else f"{left_s / 60:.0f} min"
