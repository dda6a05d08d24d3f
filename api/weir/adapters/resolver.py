# SPDX-License-Identifier: Apache-2.0
"""The process that asks name servers for addresses (`weir.courier.resolve`), and what of its answers is
taken."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal

from weir.adapters.fetcher import Unsaid, handed_over
from weir.model.address import is_of_no_other

RESOLVE_S = 30.0
MOST_ADDRESSES = 64
"""Of one answer. Pools that take turns have some ten; an answer of hundreds is somebody's attempt."""
FAMILIES = (4, 6)
_MOST_BYTES_EACH = 512 + (MOST_ADDRESSES + 1) * 64
_MOST_CHARS = 100

What = Literal["answer", "denied", "failed"]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """`denied`: there is no such name, says who was asked. `words` say what is wrong, also about an answer
    of which something was left out. `addresses` are in network byte order."""

    what: What
    words: str = ""
    ttl_s: int = 0
    addresses: frozenset[bytes] = frozenset()


Answers = Mapping[tuple[str, int], NameAnswer]
"""By name and family, of all that were asked for."""


def resolve(names: Collection[str], servers: Sequence[str], seconds: float = RESOLVE_S) -> Answers:
    """One question for each name and family, in bounded time. Without `servers` those of the system are
    asked. The thread that calls it has to stay: the process ends with it."""
    order = {"names": list(names), "servers": list(servers)}
    asked = [(name, family) for name in names for family in FAMILIES]
    try:
        most = _MOST_BYTES_EACH * len(asked) + 1024
        found = handed_over("weir.courier.resolve", order, seconds, most, _read)
    except Unsaid as unsaid:
        return dict.fromkeys(asked, NameAnswer("failed", str(unsaid)))
    silent = NameAnswer("failed", "no answer came in time")
    return {key: found.get(key, silent) for key in asked}


def _read(said: bytes) -> Answers:
    """Raises `ValueError`, `KeyError` or `TypeError` for what the process never says."""
    rows: list[tuple[str, int, str, str, int, list[str]]] = json.loads(said)
    found = {}
    for name, family, what, words, ttl_s, addresses in rows:
        if what == "answer":
            found[str(name), int(family)] = judged(int(family), int(ttl_s), addresses)
        else:
            failed: What = "denied" if what == "denied" else "failed"
            found[str(name), int(family)] = NameAnswer(failed, str(words)[:_MOST_CHARS])
    return found


def judged(family: int, ttl_s: int, addresses: Sequence[Any]) -> NameAnswer:
    """What is taken of an answer. Private addresses are: names inside have them."""
    if len(addresses) > MOST_ADDRESSES:
        return NameAnswer(
            "failed", f"it has more than {MOST_ADDRESSES} addresses: such an answer is not taken"
        )
    try:
        read = [ip_address(str(text)) for text in addresses]
    except ValueError:
        read = []
    if len(read) != len(addresses) or any(address.version != family for address in read):
        return NameAnswer("failed", f"it answered something that is no address of IPv{family}")
    odd = [address for address in read if is_of_no_other(address)]
    good = frozenset(address.packed for address in read) - frozenset(address.packed for address in odd)
    if odd and not good:
        return NameAnswer("failed", f"it has only addresses that no other host has, such as {odd[0]}")
    words = f"{odd[0]} is no other host's and was left out" if odd else ""
    return NameAnswer("answer", words, ttl_s, good)
