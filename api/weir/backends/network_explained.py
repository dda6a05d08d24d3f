# SPDX-License-Identifier: Apache-2.0
"""One interface in the kernel, field by field beside what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from weir.backends.backend import Comparison
from weir.backends.vrfs import vrf_text
from weir.model.interface import Interface
from weir.parts.explained import Line
from weir.parts.network import NetworkSpec

if TYPE_CHECKING:
    from weir.backends.network import LinkState, NetworkDifference, NetworkState


def explain_interface(
    found: Comparison[NetworkState, Mapping[str, NetworkSpec], NetworkDifference], item: Interface
) -> Iterator[Line]:
    spec, held, difference = found.wanted[item.id], found.held, found.difference
    state = held.links.get(item.id)
    blocked = {**difference.vlans.blocked, **difference.vrfs.blocked, **difference.devices.blocked}.get(
        item.id
    )
    if blocked:
        yield Line(_case(spec), _made_as(spec), blocked, False)
    if state is None:
        words = "there is no session now" if spec.dialled else "there is no such interface"
        yield Line("id", _made_as(spec), words, False)
        return
    yield Line("disabled", _up(spec.up), _up(state.up), spec.up == state.up)
    yield from _addresses(spec, state, item)
    yield _mtu(spec, state, difference)
    if item.bridge is None and state.mac:
        target = dict(difference.macs.macs).get(spec.ifname, state.mac)
        yield Line(
            "mac", spec.mac or f"{target}, which is not configured here", state.mac, state.mac == target
        )
    if spec.vlan:
        yield Line(
            "vlan", spec.vlan.text, state.vlan.text if state.vlan else "no VLAN", state.vlan == spec.vlan
        )
    if spec.device and not blocked:
        yield Line(_case(spec), spec.device, state.kind or "a port", state.kind == spec.device)
    if spec.ends is not None and not blocked:
        held_ends = "no tunnel" if state.ends is None else state.ends.text
        yield Line(f"{_case(spec)} ends", spec.ends.text, held_ends, state.ends == spec.ends)
    if spec.vrf_table:
        text = vrf_text(state.vrf_table) if state.vrf_table else "no VRF"
        yield Line("vrf_table", vrf_text(spec.vrf_table), text, state.vrf_table == spec.vrf_table)
        missing = [rule.text for rule in (*difference.vrfs.add_rules, *difference.vrfs.remove_rules)]
        text = f"to be put right: {'; '.join(missing)}" if missing else "the rules are so"
        yield Line("routing rules", "the rules of VRFs", text, not missing)
    elif spec.vrf or item.id in dict(difference.vrfs.masters):
        yield Line("vrf", spec.vrf or "none", state.master or "none", state.master == (spec.vrf or ""))
    for name, value in held.sysctls.items():
        if value is not None:
            wanted = difference.sysctls.get(name, value)
            yield Line(name, wanted, value, name not in difference.sysctls)


_CASES = {"dummy": "loopback", "ip6gre": "gre"}


def _case(spec: NetworkSpec) -> str:
    """The field that says what the interface is made as."""
    if spec.dialled:
        return "pppoe"
    if spec.device:
        return _CASES.get(spec.device, spec.device)
    return "vrf_table" if spec.vrf_table else "vrf" if spec.vrf else "vlan"


def _made_as(spec: NetworkSpec) -> str:
    if spec.vlan:
        return spec.vlan.text
    if spec.device:
        return f"an interface of the kind {spec.device}"
    if spec.dialled:
        return "a PPPoE session"
    return (
        vrf_text(spec.vrf_table) if spec.vrf_table else f"in VRF {spec.vrf}" if spec.vrf else "an interface"
    )


def _up(up: bool) -> str:
    return "up" if up else "down"


def _addresses(spec: NetworkSpec, state: LinkState, item: Interface) -> Iterator[Line]:
    """Others may have put addresses there, too: they are told, and no deviation."""
    leased = [text for text in spec.addresses if text not in item.addresses]
    if spec.dhcp:
        words = f"leased {', '.join(leased)}" if leased else "no lease yet"
        yield Line("addressing", "an address is asked for by DHCP", words, bool(leased))
    present = state.ours | state.foreign
    if spec.addresses or state.ours:
        held = [text for text in spec.addresses if text in present]
        odd = sorted(state.ours - set(spec.addresses))
        others = sorted(state.foreign - set(spec.addresses))
        texts = [*held, *odd, *(f"{text} (of somebody else)" for text in others)]
        agrees = len(held) == len(spec.addresses) and not odd
        yield Line("addresses", ", ".join(spec.addresses) or "none", ", ".join(texts) or "none", agrees)


def _mtu(spec: NetworkSpec, state: LinkState, difference: NetworkDifference) -> Line:
    """Without one of its own it has its parent's, or that of before."""
    target = dict(difference.mtus).get(spec.ifname, state.mtu)
    compiled = str(spec.mtu) if spec.mtu else f"{target}, which is not configured here"
    return Line("mtu", compiled, str(state.mtu), state.mtu == target)
