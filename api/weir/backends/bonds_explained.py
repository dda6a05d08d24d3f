# SPDX-License-Identifier: Apache-2.0
"""One bond in the kernel, setting by setting beside what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from weir.backends.backend import Comparison
from weir.parts.bonds import BOND_FIELDS, HASH_POLICIES, BondMemberSpec, BondSpec
from weir.parts.explained import Line

if TYPE_CHECKING:
    from weir.backends.bonds import BondsDifference, BondsState

    Found = Comparison[BondsState, Mapping[str, BondSpec], BondsDifference]

_POLICIES = {number: name for name, number in HASH_POLICIES.items()}


def explain_bond(found: Found, spec: BondSpec) -> Iterator[Line]:
    """Which mode it was made in is the interface's own line."""
    bond = found.held.bonds.get(spec.ifname)
    if bond is None:
        yield Line("bond", f"a bond {spec.ifname}", "there is no such bond", False)
        return
    for name, value in spec.settings.items():
        held = bond.settings.get(name)
        yield Line(f"bond.{BOND_FIELDS[name]}", _value(name, value), _value(name, held), held == value)
    if spec.mode == "active-backup":
        wrong = spec.ifname in dict(found.difference.primaries)
        yield Line("bond.primary", spec.primary or "none", bond.primary or "none", not wrong)
    for member in spec.members:
        yield _member(found, spec, member)
    others = [name for name in found.difference.leave if found.held.links[name].master == spec.ifname]
    if others:
        yield Line("bond.members", "no other members", f"also {', '.join(others)}", False)


def _value(name: str, value: int | None) -> str:
    if value is None:
        return "not in this kernel"
    if name == "hash_policy":
        return _POLICIES.get(value, str(value))
    return f"{value} ms" if name == "miimon" else str(value)


def _member(found: Found, spec: BondSpec, member: BondMemberSpec) -> Line:
    link, compiled = found.held.links.get(member.ifname), f"a member of {spec.ifname}"
    if link is None:
        return Line(member.ifname, compiled, "there is no such interface", False)
    if link.master != spec.ifname or link.member is None:
        return Line(member.ifname, compiled, f"it belongs to {link.master or 'none'}", False)
    texts = [f"{link.member.state}, link {link.member.link}"]
    texts += [f"LACP {link.member.lacp}"] if link.member.lacp else []
    is_down = member.up and not link.up
    return Line(
        member.ifname, compiled, "; ".join([*texts, *(["it is down"] if is_down else [])]), not is_down
    )
