# SPDX-License-Identifier: Apache-2.0
"""Interfaces as the configuration and the kernel have them, in one list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.http import editing
from weir.http.answers import findings_json, moment, read_number
from weir.http.context import Context, me
from weir.http.listing import found_among
from weir.http.rendering import object_json, state_json
from weir.model import codec
from weir.model.address import split_address
from weir.model.interface import Interface
from weir.model.overhead import usual_overhead_bytes
from weir.model.prefix import Prefix
from weir.model.problem import Finding, NotFound
from weir.service import Listing, Stored

Json = dict[str, Any]
MAX_INTERFACES = 1000


def interface_page(context: Context, query: Mapping[str, Any]) -> Json:
    """Configured interfaces and those that only the kernel has, by name; with `q` those that it finds."""
    listing = Listing("interface", limit=MAX_INTERFACES, sort="id")
    configured = {stored.id: stored for stored in context.service.config.page(me(), listing).items}
    kernel = context.stats.router.kernel_interfaces()
    names = sorted(found_among("interface", {*configured, *kernel}, query["q"]))
    start, limit = read_number(query["cursor"]) or 0, query["limit"]
    shown = names[start : start + limit]
    states = context.service.states.of(me(), "interface", shown) if query["with_"] == "state" else None
    return {
        "items": [_interface(context, name, configured.get(name), kernel) for name in shown],
        "states": None if states is None else [state_json(item) for item in states],
        "next_cursor": str(start + limit) if start + limit < len(names) else None,
        "total": len(names),
    }


def interface_json(context: Context, name: str, *, staged: bool) -> tuple[Stored | None, Json]:
    """One interface. Raises NotFound when neither the configuration nor the kernel has it."""
    stored = editing.find_or_none("interface", name, staged=staged)
    kernel = context.stats.router.kernel_interfaces()
    if stored is None and name not in kernel:
        raise NotFound(f"There is no interface {name!r}.", path=f"interface/{name}")
    return stored, _interface(context, name, stored, kernel)


def _interface(context: Context, name: str, stored: Stored | None, kernel: Mapping[str, Json]) -> Json:
    if stored is not None:
        body = object_json(stored)
        warnings = findings_json(context.service.config.findings(me(), "interface", name))
    else:
        usual = usual_overhead_bytes(str(kernel.get(name, {}).get("kind")))
        body = {**codec.to_json(Interface(name, overhead_bytes=usual)), "etag": None}
        warnings = []
    return {
        **body,
        "configured": stored is not None,
        "state": _state(kernel[name]) if name in kernel else None,
        "warnings": [*warnings, *findings_json([*_absent(stored, kernel), *_leased(name, kernel)])],
    }


def _absent(stored: Stored | None, kernel: Mapping[str, Json]) -> list[Finding]:
    """What keeps a VLAN from being there; nothing while nobody tells of the kernel's interfaces."""
    item = None if stored is None else stored.object
    if not kernel or not isinstance(item, Interface) or item.vlan is None or item.vlan.parent in kernel:
        return []
    text = f"VLAN {item.id} waits for {item.vlan.parent}, which this router does not have now"
    return [Finding("warning", "vlan-waits", text, "interface", item.id, "vlan.parent")]


def _leased(name: str, kernel: Mapping[str, Json]) -> Iterator[Finding]:
    """What is wrong with the address that a DHCP server gave."""
    here = kernel.get(name, {})
    declined, lease = here.get("declined"), here.get("lease")
    if declined:
        message = (
            f"the DHCP server of {name} gave {declined['address']}, which the station {declined['holder']} "
            "has already; it was declined, and another one is asked for"
        )
        yield Finding("warning", "leased-address-taken", message, "interface", name, "addressing")
    if not lease:
        return
    _, network = split_address(lease["address"])
    for other, state in kernel.items():
        if other != name and state.get("vrf") == here.get("vrf"):
            for held in state.get("addresses", ()):
                if _overlap(network, split_address(held)[1]):
                    yield _overlapping(name, lease["address"], other, held)
                    return


def _overlapping(name: str, leased: str, other: str, held: str) -> Finding:
    """As behind a modem that has the network which the LAN has as well."""
    message = (
        f"the DHCP server of {name} gave {leased}, whose network overlaps {held} of {other}: "
        f"the router cannot tell where its hosts are; give {other} another network"
    )
    return Finding("warning", "lease-overlaps", message, "interface", name, "addressing")


def _overlap(one: Prefix, other: Prefix) -> bool:
    return one.covers(other) or other.covers(one)


def _state(kernel: Json) -> Json:
    shaper = kernel.get("shaper") or {}
    return {
        "index": int(kernel.get("index", 0)),
        "kind": str(kernel.get("kind") or "physical"),
        "vlan": kernel.get("vlan"),
        "vrf": kernel.get("vrf"),
        "vrf_table": kernel.get("vrf_table"),
        "mac": kernel.get("mac"),
        "mtu": int(kernel.get("mtu", 0)),
        "up": bool(kernel.get("up")),
        "speed_bps": kernel.get("speed_bps"),
        "addresses": list(kernel.get("addresses", ())),
        "lease": _lease(kernel.get("lease")),
        "qdisc": kernel.get("qdisc") or None,
        "shaper": shaper.get("mode"),
        "shaper_reason": shaper.get("reason") or None,
        "hook": shaper.get("hook"),
        "fast_path": shaper.get("fast_path"),
        "fast_path_reason": shaper.get("fast_path_reason") or None,
    }


def _lease(lease: Json | None) -> Json | None:
    return None if lease is None else {**lease, "expires_at": moment(lease["expires_at"])}
