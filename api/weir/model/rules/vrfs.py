# SPDX-License-Identifier: Apache-2.0
"""VRFs: a routing table of their own, and interfaces that are in one VRF or in none."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.interface import Interface
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning
from weir.model.vrf import RESERVED_TABLES, table_of


def vrf_form(view: View, interface: Interface) -> Iterator[Finding]:
    """What is made as a VRF: no packet comes in through it or leaves by it."""
    table = table_of(interface)
    if table is None:
        return
    for field, is_set, why in (
        ("vlan", interface.vlan is not None, "cannot be a VLAN as well: put a VLAN of another name into it"),
        ("vrf", interface.vrf is not None, "cannot be in a VRF: put interfaces into it"),
        ("role", interface.role != "none", "has no role: give it to the interfaces in it"),
        ("addressing", interface.addressing != "static", "has no DHCP: choose it at an interface in it"),
    ):
        if is_set:
            yield error("not-of-a-vrf", interface, field, f"{interface.id} is a VRF, which {why}")
    if table in RESERVED_TABLES:
        yield error(
            "table-taken",
            interface,
            "vrf_table",
            f"table {table} is one of the kernel's own, so VRF {interface.id} cannot have it: "
            "give it a number that is free",
        )
    twins = [other for other in view.vrf_tables()[table] if other != interface.id]
    if twins:
        how = "gets by its name" if interface.vrf_table == 0 else "cannot have"
        yield error(
            "table-taken",
            interface,
            "vrf_table",
            f"VRF {interface.id} {how} the table {table}, which is that of VRF {min(twins)}: "
            "give it a number that is free",
        )


def vrf_members(view: View, interface: Interface) -> Iterator[Finding]:
    yield from _on_a_vrf(view, interface)
    yield from _unknown_vrf(view, interface)
    vrf = None if interface.vrf is None else view.document.interface(interface.vrf)
    if vrf is not None and vrf.vrf_table is not None and vrf.disabled and not interface.disabled:
        yield warning(
            "interface-disabled",
            interface,
            "vrf",
            f"nothing is routed for interface {interface.id} while its VRF {vrf.id} is disabled",
        )


def _unknown_vrf(view: View, interface: Interface) -> Iterator[Finding]:
    """The VRF that an interface is in does not exist, or is something else."""
    if interface.vrf is None:
        return
    vrf = view.document.interface(interface.vrf)
    if vrf is not None and vrf.vrf_table is not None:
        return
    what = "is not configured: make it before, or in the same commit"
    if vrf is not None:
        what = "is not a VRF: those have a vrf_table"
    text = f"interface {interface.id} is to be in VRF {interface.vrf}, which {what}"
    yield error("unknown-vrf", interface, "vrf", text)


def _on_a_vrf(view: View, interface: Interface) -> Iterator[Finding]:
    below = None if interface.vlan is None else view.document.interface(interface.vlan.parent)
    if below is not None and below.vrf_table is not None:
        text = f"VLAN {interface.id} cannot be on {below.id}, which is a VRF and has no frames: choose a port"
        yield error("not-of-a-vrf", interface, "vlan.parent", text)


RULES = (
    Rule("vrf-form", "interface", vrf_form, all_after("interface", "interface"), True),
    Rule("vrf-members", "interface", vrf_members, all_after("interface", "interface"), True),
)
