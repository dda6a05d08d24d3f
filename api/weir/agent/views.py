# SPDX-License-Identifier: Apache-2.0
"""Interfaces and system as the API shows them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from weir.adapters.datapath_records import Port, PortCounters, Role
from weir.adapters.ethtool import speed_bps
from weir.adapters.netlink import Link, Links
from weir.adapters.proc import resident_bytes, system_figures
from weir.agent.dhcp_client import Lease
from weir.agent.leases import Leases
from weir.backends.modes import Decision
from weir.backends.vlans import vlan_of
from weir.kinds.uplink import EVERYTHING
from weir.store.clock import wall_ms_of


class Reads(Protocol):
    """The part of `Datapath` that is asked here."""

    def attached(self) -> dict[str, Port]: ...
    def port_counters(self) -> dict[str, PortCounters]: ...


def interfaces(
    links: Links, datapath: Reads, decisions: Mapping[str, Decision], leases: Leases
) -> list[dict[str, Any]]:
    """Every interface of the router but loopback, by name. `counted_ns` is when its counters were read, by
    the clock that all processes share: who asks may have waited for a commit."""
    addresses: dict[int, list[str]] = {}
    for address in links.addresses():
        addresses.setdefault(address.ifindex, []).append(address.text)
    ports, unshaped = datapath.attached(), datapath.port_counters()
    found = []
    held, counted_ns = links.links(), time.monotonic_ns()
    names = {link.index: name for name, link in held.items()}
    given, declined = leases.held(), leases.declined()
    for name, link in sorted(held.items()):
        if link.kind == "loopback":
            continue
        port = ports.get(name)
        item: dict[str, Any] = {
            "name": name,
            "counted_ns": counted_ns,
            "index": link.index,
            "kind": link.kind,
            "vlan": asdict(vlan) if (vlan := vlan_of(link, names)) else None,
            "vrf": _vrf(link, held, names),
            "vrf_table": link.vrf_table or None,
            "mac": link.mac,
            "mtu": link.mtu,
            "up": link.up,
            "carrier": link.carrier,
            "speed_bps": speed_bps(name),
            "tx_queues": link.tx_queues,
            "addresses": sorted(addresses.get(link.index, ())),
            "lease": _lease(given[name]) if name in given else None,
            "declined": dict(zip(("address", "holder"), declined[name], strict=True))
            if name in declined
            else None,
            "qdisc": link.qdisc,
            "shaper": _shaper(port, decisions.get(name)),
            "unshaped_packets": unshaped[name].packets if name in unshaped else {},
            "passed_up_packets": unshaped[name].up if name in unshaped else {},
            "checked_packets": unshaped[name].checked_packets if name in unshaped else {},
            "checked_bytes": unshaped[name].checked_bytes if name in unshaped else {},
        }
        item.update(link.counters)
        found.append(item)
    return found


def system() -> dict[str, Any]:
    """Figures of the machine, and of this process."""
    return {**system_figures(), "agent_rss_bytes": resident_bytes()}


def _vrf(link: Link, held: Mapping[str, Link], names: Mapping[int, str]) -> str | None:
    master = held.get(names.get(link.master, ""))
    return master.name if master is not None and master.kind == "vrf" else None


def _lease(lease: Lease) -> dict[str, Any]:
    """The end by the clock on the wall, in ms."""
    return {
        "address": lease.address,
        "server": lease.server,
        "gateway": next((gateway for to, gateway in lease.routes if to == EVERYTHING), None),
        "dns": list(lease.dns),
        "expires_at": wall_ms_of(round(lease.expires_at * 1000)),
    }


def _shaper(port: Port | None, decision: Decision | None) -> dict[str, Any] | None:
    if port is None:
        return None
    return {
        "mode": port.mode,
        "reason": decision.reason if decision else "",
        "hook": port.hook,
        "alive": port.alive,
        "xdp": port.xdp,
        "fast_path": _fast_path(port),
        "fast_path_reason": decision.fast_reason if decision else "",
    }


def _fast_path(port: Port) -> str:
    """Which packets XDP forwards: none, all that conform, or of established connections only."""
    if Role.FAST not in port.roles:
        return "off"
    return "established" if Role.FLOW in port.roles else "on"
