# SPDX-License-Identifier: Apache-2.0
"""VLANs: a port to be on, a tag that nobody else has there, and no more bytes than that port takes."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.interface import Interface
from weir.model.limits import MAX_VLAN_TAGS, USUAL_MTU_BYTES
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning
from weir.model.tree import vlan_parents


def vlan_form(view: View, interface: Interface) -> Iterator[Finding]:
    vlan = interface.vlan
    if vlan is None:
        return
    parents = list(vlan_parents(view.document, interface))
    lowest = parents[-1] if parents else interface
    if lowest.vlan is not None and view.document.interface(lowest.vlan.parent) is not None:
        yield error("cycle", interface, "vlan.parent", f"VLAN {interface.id} is stacked on itself")
        return
    if not parents:
        yield error(
            "unknown-parent",
            interface,
            "vlan.parent",
            f"the parent {vlan.parent} of VLAN {interface.id} is not configured; "
            "it needs no address and no role, only to be there",
        )
        return
    tags = 1 + sum(item.vlan is not None for item in parents)
    if tags > MAX_VLAN_TAGS:
        yield error(
            "too-deep",
            interface,
            "vlan.parent",
            f"frames of VLAN {interface.id} would have {tags} tags; at most {MAX_VLAN_TAGS} are possible",
        )
    twins = [other for other in view.vlans()[vlan] if other != interface.id]
    if twins:
        yield error(
            "duplicate-vlan",
            interface,
            "vlan.id",
            f"{min(twins)} is {vlan.text} already, so {interface.id} cannot be it as well",
        )
    yield from _mtu(interface, parents)
    yield from _disabled_parent(interface, parents)


def _mtu(interface: Interface, parents: list[Interface]) -> Iterator[Finding]:
    for below in parents:
        limit = below.mtu or (USUAL_MTU_BYTES if below.bridge or below.bond else None)
        if limit is not None:
            if (interface.mtu or 0) > limit:
                text = f"VLAN {interface.id} cannot have an MTU of {interface.mtu}"
                yield error("mtu-above-parent", interface, "mtu", f"{text}: that of {below.id} is {limit}")
            return


def _disabled_parent(interface: Interface, parents: list[Interface]) -> Iterator[Finding]:
    below = next((item for item in parents if item.disabled), None)
    if below is not None and not interface.disabled:
        yield warning(
            "interface-disabled",
            interface,
            "vlan.parent",
            f"VLAN {interface.id} is down while its parent {below.id} is disabled",
        )


RULES = (Rule("vlan-form", "interface", vlan_form, all_after("interface", "interface"), True),)
