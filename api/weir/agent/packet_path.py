# SPDX-License-Identifier: Apache-2.0
"""What only the agent knows of one packet's way through the router: interfaces, checks of its source,
classes, route and next station. Rules and NAT are looked at by who asks (docs/adr/0204)."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from weir.adapters.datapath_records import Role
from weir.adapters.link_messages import RawLink, link_at
from weir.adapters.neighbours import neighbour_at
from weir.adapters.route_lookup import Asked, NoRoute, Route, own_address_towards, route_of, way_to
from weir.agent.configuration import Configuration
from weir.agent.hosts import STATES, Looks
from weir.agent.packet_class import Chosen, Classes
from weir.backends.modes import Decision
from weir.compiler.types import NO_SLOT, ClassSpec, PortSpec
from weir.model.problem import Invalid, Unavailable
from weir.wire.server import Handler

Json = dict[str, Any]
MARK_SHIFT = 8
"""Of the class in a packet's mark (datapath/include/weir/abi.h)."""
_SIOCGIFADDR = 0x8915
_ROUTED_MASTER = "vrf"
_NEVER_FROM_OUTSIDE = (ip_address("::1"),)
"""The kernel drops it before anything else sees it (net/ipv6/ip6_input.c)."""


class PacketPath:
    """Read from the kernel for each answer; no packet is sent, and nothing is remembered."""

    def __init__(
        self, configuration: Configuration, datapath: Looks, mark: Callable[[str, str, str | None], int]
    ) -> None:
        """`mark` is that of the uplink of a new connection (`UplinkMonitor.mark`)."""
        self._configuration = configuration
        self._datapath = datapath
        self._mark = mark

    def table(self) -> dict[str, Handler]:
        return {"packet_path": lambda params, _peer: self.answer(params)}

    def answer(self, params: Json) -> Json:
        """Of a packet as it is behind NAT of its destination; `first` is the one before, of which the port
        knows when it checks the source. Raises `Invalid`, `Unavailable`."""
        asked = _asked(params)
        first = str(ip_address(params.get("first") or asked.destination))
        with self._configuration.lock:
            if not self._configuration.loaded:
                raise Unavailable("the agent has no configuration yet", code="starting")
            shaping = self._configuration.compiled.shaping
            decisions = self._configuration.executor.decisions
            look = _Look(
                asked, Classes(self._datapath, shaping.classes), shaping.ports, decisions, self._mark
            )
            return {
                "revision": self._configuration.revision,
                **look.answer(params.get("interface"), bool(params.get("sent")), first),
            }


class _Look:
    """One packet."""

    def __init__(
        self,
        asked: Asked,
        classes: Classes,
        ports: Mapping[str, PortSpec],
        decisions: Mapping[str, Decision],
        mark: Callable[[str, str, str | None], int],
    ) -> None:
        self._asked = asked
        self._classes = classes
        self._ports = ports
        self._decisions = decisions
        self._mark = mark

    def answer(self, interface: str | None, is_sent: bool, first: str) -> Json:
        """`interface` None: it is found by the way back to the source."""
        source = self._asked.source
        if not is_sent and interface is None:
            is_sent, interface = _origin(source)
        came = None if is_sent or interface is None else _link(interface)
        port = None if interface is None or is_sent else self._ports.get(interface)
        slot = self._classes.on_arrival(port, source)
        vrf = _vrf(came)
        asked = _as_arrived(self._asked, came, vrf, slot)
        uplink = self._mark(source, asked.destination, None if came is None else came.name)
        asked = replace(asked, mark=asked.mark | uplink)
        route = None if not is_sent and came is None else route_of(asked)
        leaves = link_at(route.way.device) if isinstance(route, Route) else None
        out = None if leaves is None else self._ports.get(leaves.name)
        return {
            "sent": is_sent,
            "ingress": None if is_sent else self._ingress(interface, came, port),
            "check": _failed_check(port, slot, source, first, came, vrf),
            "noted": bool(slot),
            "route": _route(route),
            "neighbour": _station(route, leaves, asked.destination),
            "egress": self._egress(leaves, out, route),
            "charged": self._charged(slot, port, out, route),
            "sender": queue_json(self._classes.of_sender(slot, port, out, asked.destination)),
        }

    def _ingress(self, name: str | None, link: RawLink | None, port: PortSpec | None) -> Json | None:
        if name is None:
            return None
        master = link_at(link.master) if link is not None and link.master else None
        return {
            "name": name,
            "there": link is not None,
            "up": link is not None and link.up,
            "carrier": link is not None and link.running,
            "master": None if master is None else {"name": master.name, "kind": master.kind},
            "address": _address(name),
            "classifies": port is not None,
            "fast": self._fast(name),
        }

    def _egress(
        self, link: RawLink | None, port: PortSpec | None, route: Route | NoRoute | None
    ) -> Json | None:
        if link is None or not isinstance(route, Route):
            return None
        station = route.way.gateway or self._asked.destination
        decision = self._decisions.get(link.name)
        return {
            "name": link.name,
            "up": link.up,
            "carrier": link.running,
            "address": own_address_towards(station, link.index),
            "mode": "none" if decision is None else decision.mode,
            "reason": "" if decision is None else decision.reason,
            "known_only": port is not None and port.known_only,
            "fast": self._fast(link.name),
        }

    def _fast(self, name: str) -> Json:
        decision = self._decisions.get(name)
        if decision is None:
            return {"takes_part": False, "only_known": False, "reason": f"{name} is no port of Weir's"}
        return {
            "takes_part": bool(decision.fast),
            "only_known": Role.FLOW in decision.fast,
            "reason": decision.fast_reason,
        }

    def _charged(
        self, slot: int, came: PortSpec | None, out: PortSpec | None, route: Route | NoRoute | None
    ) -> list[Json]:
        if out is None or not isinstance(route, Route) or route.kind != "unicast":
            return []
        chosen = self._classes.on_leaving(slot, came, out, self._asked.source, self._asked.destination)
        return [found for one in chosen if (found := queue_json(one)) is not None]


def _asked(params: Json) -> Asked:
    try:
        return Asked(
            str(ip_address(params["destination"])),
            str(ip_address(params["source"])) if params.get("source") else "",
            tos=int(params.get("tos") or 0),
            protocol=str(params.get("protocol") or ""),
            source_port=int(params.get("source_port") or 0),
            port=int(params.get("port") or 0),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise Invalid(f"a packet needs a source and a destination: {error}", code="bad-request") from error


def _as_arrived(asked: Asked, came: RawLink | None, vrf: int, slot: int) -> Asked:
    """As the kernel's FIB is asked: the mark is what the program on the port wrote."""
    return replace(asked, device=0 if came is None else came.index, vrf=vrf, mark=slot << MARK_SHIFT)


def _origin(source: str) -> tuple[bool, str | None]:
    """Whether the router sends it itself, else the interface that the way back leaves by."""
    if not source:
        return True, None
    found = route_of(Asked(source))
    if isinstance(found, NoRoute):
        return False, None
    if found.kind == "local":
        return True, None
    link = link_at(found.way.device)
    return False, None if link is None else link.name


def _link(name: str) -> RawLink | None:
    try:
        return link_at(socket.if_nametoindex(name))
    except OSError:
        return None


def _vrf(link: RawLink | None) -> int:
    """The index of the VRF that it is in; 0 = none."""
    master = link_at(link.master) if link is not None and link.master else None
    return master.index if master is not None and master.kind == _ROUTED_MASTER else 0


def _failed_check(
    port: PortSpec | None, slot: int, source: str, first: str, came: RawLink | None, vrf: int
) -> Json | None:
    """The check of the port that drops it (`weir_ingress`): an impossible source always, others only what the
    stack would forward."""
    if came is not None and ip_address(first) in _NEVER_FROM_OUTSIDE:
        return {"code": "loopback", "way_back": None}
    if port is None or came is None or not source:
        return None
    if _is_impossible(source):
        return {"code": "impossible-source", "way_back": None}
    if way_to(first, vrf) is None:
        return None
    if port.known_only and slot == NO_SLOT:
        return {"code": "unknown", "way_back": None}
    if port.reverse_path == "off":
        return None
    back = way_to(source, vrf)
    if back is None:
        return {"code": "no-way-back", "way_back": None}
    if port.reverse_path == "strict" and back.device != came.index:
        other = link_at(back.device)
        return {"code": "another-way-back", "way_back": other.name if other is not None else None}
    return None


def _is_impossible(source: str) -> bool:
    """As `weir_is_impossible` (checks.h): "this network", loopback, multicast, 240/4; ::/64 and multicast."""
    host = ip_address(source)
    number = int(host)
    if host.version == 4:
        return 0 < number < 1 << 24 or number >> 24 == 127 or number >= 0xE0000000
    return number >> 120 == 0xFF or (0 < number < 1 << 64)


def _address(name: str) -> str | None:
    """Its first IPv4 address: where a redirect leads to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            found = fcntl.ioctl(handle, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(found[20:24])


def _route(route: Route | NoRoute | None) -> Json | None:
    if route is None:
        return None
    if isinstance(route, NoRoute):
        return {"kind": None, "reason": route.reason}
    return {
        "kind": route.kind,
        "reason": "",
        "gateway": route.way.gateway,
        "prefix": route.prefix,
        "table": route.table,
        "protocol": route.protocol,
        "metric": route.metric,
        "ways": route.ways,
    }


def _station(route: Route | NoRoute | None, link: RawLink | None, destination: str) -> Json | None:
    """The next station; `state` "not-needed" where the interface has no addresses of hardware."""
    if not isinstance(route, Route) or route.kind != "unicast" or link is None:
        return None
    address = route.way.gateway or destination
    if not link.asks:
        return {"address": address, "state": "not-needed", "confirmed_s": None}
    found = neighbour_at(link.index, address)
    if found is None:
        return {"address": address, "state": "none", "confirmed_s": None}
    state = STATES.get(found.state, "asking")
    return {"address": address, "state": state, "confirmed_s": found.confirmed_s if found.mac else None}


def queue_json(chosen: Chosen | None) -> Json | None:
    """A queue and the way of it that is charged."""
    if chosen is None:
        return None
    spec: ClassSpec = chosen.spec
    clock = spec.upload if chosen.way == "upload" else spec.download
    return {"queue": spec.queue_id, "way": chosen.way, "rate_bps": clock.rate_bps}
