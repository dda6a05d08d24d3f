# SPDX-License-Identifier: Apache-2.0
"""Chains of NAT of the user's own. Weir's NAT rules are one list, so a jump is replaced by the rules of its
chain, each with the conditions of both. Where two conditions are not one, the rule is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_network

from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.matches import PROTOCOLS
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import Row
from weir.model.members import parse_ports

BASES = ("srcnat", "dstnat")
MOST_JUMPS = 8
"""One behind the other."""
MOST_RULES = 4096
"""That jumps of one file may make."""
_NOT_CONDITIONS = (
    "chain",
    "action",
    "jump-target",
    "comment",
    "disabled",
    "log",
    "log-prefix",
    "place-before",
)
_NEVER = "With the conditions of the jump to its chain it matches no packet."
Given = Mapping[str, str]


@dataclass(slots=True)
class _Chains:
    """The rows of each chain, how many jumps lead to it, the lines that were reached, and how many rules were
    made of them."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    jumps: dict[str, int] = field(default_factory=dict)
    reached: set[LineDraft] = field(default_factory=set)
    made: int = 0


def _chains(router: Router, path: str) -> _Chains:
    def found() -> _Chains:
        chains = _Chains()
        for row in router.rows.get(path, ()):
            chains.rows.setdefault(row.given.get("chain", ""), []).append(row)
            if row.given.get("action") == "jump":
                target = row.given.get("jump-target", "")
                chains.jumps[target] = chains.jumps.get(target, 0) + 1
        return chains

    return router.once(("chains", path), found)


def say_unused(router: Router, path: str) -> None:
    """Rules of chains to which nothing leads, when all jumps were taken."""
    chains = _chains(router, path)
    for name, rows in chains.rows.items():
        for row in rows if name not in BASES else ():
            if row.line not in chains.reached:
                row.leave_out("unused-chain", f"No jump leads to its chain {quoted(name)}.")


def take_jump(router: Router, row: Row, make: Callable[[Router, Row], None]) -> None:
    """`make` a rule of each that the jump leads to. Raises `ValueError`."""
    target = row.given.get("jump-target", "")
    chains = _chains(router, row.menu.path)
    if target in BASES or not chains.rows.get(target):
        raise ValueError(f"Its chain {quoted(target)} has no rules in the file.")
    before = chains.made
    for inner, given in _led_to(chains, row.given, target, ()):
        chains.made += 1
        if chains.made > MOST_RULES:
            raise ValueError(f"The jumps of the file would make more than {MOST_RULES} rules.")
        rule = Row(row.menu, router, inner.verb, given, inner.line, inner.place)
        router.attempt(rule.line, partial(_make, router, rule, make))
    if chains.made == before:
        row.leave_out("jump", f"Nothing of its chain {quoted(target)} is taken.")
        return
    row.changed("jump", f"Its conditions are part of the rules of its chain {quoted(target)}.")


def _make(router: Router, rule: Row, make: Callable[[Router, Row], None]) -> None:
    rule.read()
    make(router, rule)


def _led_to(
    chains: _Chains, outer: Given, target: str, seen: tuple[str, ...]
) -> Iterator[tuple[Row, dict[str, str]]]:
    """The rows of a chain, each with what is known when it is reached."""
    chains.reached.update(row.line for row in chains.rows.get(target, ()))
    rows = [row for row in chains.rows.get(target, ()) if not _is_idle(row)]
    for number, row in enumerate(rows):
        action = row.given.get("action", "accept")
        if action == "return":
            _end(rows[number:])
            return
        try:
            given = joined(outer, row.given)
        except ValueError as problem:
            row.leave_out("not-joined", str(problem))
            continue
        if given is None:
            note = row.leave_out if chains.jumps[target] == 1 else row.changed
            note("never-matches", _NEVER)
        elif action == "jump":
            deeper, path = row.given.get("jump-target", ""), (*seen, target)
            if deeper in path or len(path) >= MOST_JUMPS:
                text = f"The chain {quoted(deeper)} leads back to itself, or through too many."
                row.leave_out("circular", text)
                continue
            row.changed("jump", "Its conditions are part of the rules of its chain.")
            yield from _led_to(chains, given, deeper, path)
        else:
            yield row, given


def _is_idle(row: Row) -> bool:
    """A disabled row that only leads somewhere, or back."""
    idle = row.is_disabled and row.given.get("action") in ("jump", "return")
    if idle:
        row.leave_out("disabled", "It is disabled.")
    return idle


def _end(rows: list[Row]) -> None:
    """A `return` and what is behind it, which is about what the return does not match."""
    if len(rows) == 1:
        rows[0].changed(
            "ends-chain", "It is the last of its chain, so the rules go on behind the jump anyhow."
        )
        return
    for row in rows:
        what = "Weir cannot exempt packets from the rest of a chain"
        row.leave_out("return", f"{what}, as the return in {quoted(rows[0].given.get('chain', ''))} does.")


def joined(outer: Given, inner: Given) -> dict[str, str] | None:
    """The inner rule with the conditions of the jump; None where no packet has both. Raises `ValueError`
    naming two conditions that are not one."""
    found = dict(inner) | {"chain": outer["chain"]}
    if outer.get("disabled", "no") != "no":
        found["disabled"] = outer["disabled"]
    for key, value in outer.items():
        if key in _NOT_CONDITIONS:
            continue
        own = found.get(key, value)
        both = value if own == value else _both(key, value, own)
        if both is None:
            return None
        found[key] = both
    return found


def _both(key: str, one: str, other: str) -> str | None:
    join = _JOINED.get(key)
    if join is None or "!" in one + other:
        raise ValueError(f"The jump to its chain has {key}={quoted(one)}, and it has {key}={quoted(other)}.")
    return join(one, other)


def _networks(one: str, other: str) -> str | None:
    """The narrower of two of which one is in the other."""
    try:
        first, second = ip_network(one, strict=False), ip_network(other, strict=False)
    except ValueError:
        raise ValueError(f"The jump to its chain has the addresses {one}, and it has {other}.") from None
    if first.version != second.version or not first.overlaps(second):
        return None
    return one if first.prefixlen >= second.prefixlen else other


def _ports(one: str, other: str) -> str | None:
    spans = [_spans(one), _spans(other)]
    common = [
        (max(low, start), min(high, end))
        for low, high in spans[0]
        for start, end in spans[1]
        if max(low, start) <= min(high, end)
    ]
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in common) or None


def _spans(text: str) -> list[tuple[int, int]]:
    found = []
    for item in text.split(","):
        low, _, high = parse_ports(item.strip()).partition("-")
        found.append((int(low), int(high or low)))
    return found


def _protocols(one: str, other: str) -> str | None:
    """Of a number and its name the name is as good."""
    return one if PROTOCOLS.get(one, one) == PROTOCOLS.get(other, other) else None


def _interfaces(_one: str, _other: str) -> None:
    """A packet comes and leaves by one each, so two that differ have none."""


_JOINED: Mapping[str, Callable[[str, str], str | None]] = {
    "src-address": _networks,
    "dst-address": _networks,
    "dst-port": _ports,
    "src-port": _ports,
    "protocol": _protocols,
    "in-interface": _interfaces,
    "out-interface": _interfaces,
}
