# SPDX-License-Identifier: Apache-2.0
"""Limits of each source in firewall rules: in which of the kernel's sets sources are counted, and what is
asked there (docs/adr/0209).

What an element counts with is made when its source comes, and is not changed later. So the numbers are part
of the set's name: a rule with another limit has another set.
"""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.firewall_rule import FirewallRule, families
from weir.kinds.source_limit import SourceLimit
from weir.model.limits import MAX_SET_TIMEOUT_S
from weir.model.objects import ConfigObject
from weir.parts.head import Head
from weir.parts.rule import Family, SourceBound

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_LEAST_S = 60


def bound_heads(rule: ConfigObject | None) -> tuple[Head, ...]:
    """The sets of an enabled rule with such a limit."""
    if not isinstance(rule, FirewallRule) or rule.source_limit is None or rule.disabled:
        return ()
    found = (_counted(rule, rule.source_limit, family) for family in (4, 6) if family in families(rule))
    return tuple(head for of_family in found for head, _ in of_family)


def bounds_of(rule: FirewallRule, family: Family) -> tuple[SourceBound, ...]:
    limit = rule.source_limit
    return () if limit is None else tuple(bound for _, bound in _counted(rule, limit, family))


def _counted(rule: FirewallRule, limit: SourceLimit, family: int) -> Iterator[tuple[Head, SourceBound]]:
    is_v6 = family == 6
    length = limit.ipv6_length if is_v6 else limit.ipv4_length
    if limit.connections is not None:
        head = _head(f"C{limit.connections}.{length}_{rule.id}", limit, is_v6=is_v6)
        yield head, SourceBound(head.name, head.family, length, connections=limit.connections)
    if limit.rate is not None:
        # A source that is silent until its burst is full again is as one that never came.
        full_s = limit.burst * _SECONDS[limit.per] // limit.rate + 1
        timeout_s = min(max(full_s, _LEAST_S), MAX_SET_TIMEOUT_S)
        name = f"R{limit.rate}.{limit.per}.{limit.burst}.{length}_{rule.id}"
        head = _head(name, limit, timeout_s, is_v6=is_v6)
        said = {"rate": limit.rate, "burst": limit.burst}
        yield head, SourceBound(head.name, head.family, length, per=limit.per, **said)


def _head(name: str, limit: SourceLimit, timeout_s: int = 0, *, is_v6: bool) -> Head:
    return Head(name, "ipv6_addr" if is_v6 else "ipv4_addr", timeout_s=timeout_s, most=limit.most_sources)
