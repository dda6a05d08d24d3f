# SPDX-License-Identifier: Apache-2.0
"""One bridge in the kernel, setting by setting beside what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from weir.backends.backend import Comparison
from weir.model.frames import ranges_of, ranges_text
from weir.parts.bridges import (
    AGEING,
    BRIDGE_FIELDS,
    PORT_FIELDS,
    TICKS_PER_S,
    TIMERS,
    BridgePortSpec,
    BridgeSpec,
    Settings,
)
from weir.parts.explained import Line

if TYPE_CHECKING:
    from weir.backends.bridges import BridgesDifference, BridgesState

    Found = Comparison[BridgesState, Mapping[str, BridgeSpec], BridgesDifference]


def explain_bridge(found: Found, spec: BridgeSpec) -> Iterator[Line]:
    bridge = found.held.bridges.get(spec.ifname)
    if bridge is None:
        yield Line("bridge", f"a bridge {spec.ifname}", "there is no such bridge", False)
        return
    differing = dict(found.difference.settings).get(spec.ifname, {})
    late = spec.ifname in found.difference.filtering
    for name, field in BRIDGE_FIELDS.items():
        agrees = name not in differing and not (late and name == field)
        yield Line(f"bridge.{field}", _value(name, spec.settings), _value(name, bridge.settings), agrees)
    mac = dict(found.difference.macs).get(spec.ifname)
    yield Line("mac", spec.mac or "that of the first port", bridge.mac, mac is None)
    if spec.vlans is not None:
        yield _vlans(found, spec.ifname, "bridge.tagged")
    for port in spec.ports:
        yield _port(found, spec, port)
        if port.vlans is not None:
            yield _vlans(found, port.ifname, f"VLANs of {port.ifname}")
    others = [name for name in found.difference.leave if found.held.links[name].master == spec.ifname]
    if others:
        yield Line("bridge.ports", "no other ports", f"also {', '.join(others)}", False)


def _value(name: str, settings: Settings) -> str:
    value = settings.get(name)
    if value is None:
        return "not in this kernel"
    return f"{value / TICKS_PER_S:g} s" if name in TIMERS or name == AGEING else str(value)


def _port(found: Found, spec: BridgeSpec, port: BridgePortSpec) -> Line:
    link, compiled = found.held.links.get(port.ifname), f"a port of {spec.ifname}"
    if link is None:
        return Line(port.ifname, compiled, "there is no such interface", False)
    if link.master != spec.ifname:
        return Line(port.ifname, compiled, f"it belongs to {link.master or 'none'}", False)
    wrong = dict(found.difference.port_settings).get(port.ifname, {})
    texts = [f"{PORT_FIELDS[name]} {link.settings.get(name, 'unknown')}, not {wrong[name]}" for name in wrong]
    if port.ifname in found.difference.up:
        texts.append("it is down")
    return Line(port.ifname, compiled, "; ".join([link.state, *texts]), not texts)


def _vlans(found: Found, name: str, field: str) -> Line:
    change = next((change for change in found.difference.vlans if change.ifname == name), None)
    held = found.held.vlans.get(name)
    texts = "unknown" if held is None else ranges_text(ranges_of(held.ids))
    compiled = texts if change is None else change.text
    return Line(field, compiled, texts, change is None)
