# SPDX-License-Identifier: Apache-2.0
"""What only the agent knows of one customer's line: which interface leads to the device and to the internet,
who is the next station there, and what the cores did lately."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from weir.adapters.neighbours import Neighbour, neighbours
from weir.adapters.netlink import Link, Links
from weir.adapters.route_lookup import Way, way_to
from weir.agent.configuration import Configuration
from weir.agent.hosts import STATES, Looks, queue_at, queue_in
from weir.compiler.types import MAIN_DOMAIN, PortSpec
from weir.diagnosis.processors import Spent
from weir.model.prefix import WIDTH, Prefix, looks_like_prefix, parse_prefix_in_domain
from weir.model.problem import Invalid, NotFound
from weir.wire.server import Handler

Json = dict[str, Any]
INTERNET = {4: "1.1.1.1", 6: "2606:4700:4700::1111"}
"""Whose route tells which port leads to the internet where no uplink is in use and no other address is asked
about. No packet is sent."""
MOST_TARGETS = 256
"""Prefixes of one queue whose stations are looked for."""
_SYS = Path("/sys/class/net")
_FAMILIES: Mapping[int, int] = {socket.AF_INET: 4, socket.AF_INET6: 6}
_SHARED = ("bridge", "bond", "team")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The address whose way is looked for, its domain, and its queue. `interface`: it is the target, or the
    address was heard of there. `may_be_in_vrf`: only the main table was looked in."""

    queue_id: str | None
    address: str | None
    domain: int
    interface: str | None = None
    may_be_in_vrf: bool = False


@dataclass(frozen=True, slots=True)
class _Out:
    """How the line leaves. `towards` None: by the uplink in use, whatever the far end. `checked` is the
    uplink that it is, of so many `configured` ones."""

    towards: str | None
    way: Json | None
    checked: Json | None
    configured: int


class CustomerLine:
    """Read from the kernel for each answer; nothing is remembered, and no packet is sent."""

    def __init__(
        self,
        configuration: Configuration,
        datapath: Looks,
        links: Links,
        cores: Callable[[], Sequence[Spent] | None],
        uplinks: Callable[[], Sequence[Json]],
        mark: Callable[[str, str, str | None], int],
    ) -> None:
        """`cores` is what each did between the last two looks; None: it is not known. `uplinks`: those of the
        configuration with what is learnt of each (`UplinkMonitor.ways`). `mark` is that of the uplink of a
        new connection (`UplinkMonitor.mark`)."""
        self._configuration = configuration
        self._datapath = datapath
        self._links = links
        self._cores = cores
        self._uplinks = uplinks
        self._mark = mark

    def table(self) -> Mapping[str, Handler]:
        return {"customer_line": lambda params, _peer: self.line(params)}

    def line(self, params: Json) -> Json:
        """Of a queue, or of the host that has an address. Raises `NotFound`, `Invalid`, `Unavailable`."""
        links = self._links.links()
        names = {link.index: link for link in links.values()}
        stations = [item for item in neighbours() if item.ifindex in names]
        asked = self._asked(params, links, names, stations)
        vrf = self._vrf(asked, links)
        access = _way(asked.address, vrf, names)
        if asked.interface is not None:
            access = {"interface": asked.interface, "gateway": None}
        out = self._out(params, asked.address, access, vrf, names)
        cores = self._cores()
        return {
            "queue_id": asked.queue_id,
            "address": asked.address,
            "may_be_in_vrf": asked.may_be_in_vrf,
            "towards": out.towards,
            "checked": out.checked,
            "uplinks": out.configured,
            "access": _side(access, asked.address, links, names, stations),
            "uplink": _side(out.way, out.towards, links, names, stations),
            "cores": None if cores is None else [asdict(core) for core in cores],
        }

    def _out(
        self, params: Json, address: str | None, access: Json | None, vrf: int, names: Mapping[int, Link]
    ) -> _Out:
        """By the best uplink in use; else, and where an address in the internet is given, as the routes say.
        Uplinks are of IPv4 and of the main table (`weir.kinds.uplink`)."""
        towards = params.get("towards")
        towards = None if towards is None else _host(_address(str(towards)), "towards")
        family = ip_address(towards or address or INTERNET[4]).version
        if address and params.get("address") and family != ip_address(address).version:
            text = f"{address} and {towards} must be of one address family"
            raise Invalid(text, code="family-mismatch", path="towards")
        known = [] if vrf or family == 6 else list(self._uplinks())
        used = next((item for item in known if item["in_use"]), None)
        if towards is None and used is not None:
            way = {"interface": used["interface"], "gateway": used["via"]}
            return _Out(None, way, used, len(known))
        towards = towards or INTERNET[family]
        came = access["interface"] if access else None
        found = _way(towards, vrf, names, 0 if vrf else self._mark(address or "", towards, came))
        taken = [item for item in known if found and item["interface"] == found["interface"]]
        return _Out(towards, found, taken[0] if taken else None, len(known))

    def _asked(
        self, params: Json, links: Mapping[str, Link], names: Mapping[int, Link], stations: list[Neighbour]
    ) -> _Asked:
        queue_id, address = params.get("queue_id"), params.get("address")
        if isinstance(queue_id, str):
            return self._of_queue(queue_id, links, stations)
        if not isinstance(address, str):
            raise Invalid("a queue_id or an address is needed", code="bad-request")
        return self._of_address(_host(_address(address), "address"), links, names, stations)

    def _of_address(
        self, address: str, links: Mapping[str, Link], names: Mapping[int, Link], stations: list[Neighbour]
    ) -> _Asked:
        """In the domain of the interface where it was heard of, else in the one that the main table leads
        to."""
        packed = ip_address(address).packed
        heard = min(
            (item for item in stations if item.address == packed and item.mac),
            key=lambda item: item.confirmed_s,
            default=None,
        )
        on = None if heard is None else names[heard.ifindex].name
        way = {"interface": on} if on else _way(address, 0, names)
        with self._configuration.lock:
            shaping = self._configuration.compiled.shaping
            port = shaping.ports.get(way["interface"]) if way else None
            if way:
                known = queue_at(self._datapath, shaping.classes, port, address)
            else:
                known = queue_in(self._datapath, shaping.classes, MAIN_DOMAIN, address)
        elsewhere = on is None and any(link.kind == "vrf" for link in links.values())
        return _Asked(known, address, port.domain if port else MAIN_DOMAIN, on, elsewhere)

    def _of_queue(self, queue_id: str, links: Mapping[str, Link], stations: list[Neighbour]) -> _Asked:
        """The address of a queue's that was heard of last, or the first one of its targets."""
        with self._configuration.lock:
            queue = self._configuration.document.queue(queue_id)
        if queue is None:
            raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
        targets = [
            parse_prefix_in_domain(text) for text in queue.target[:MOST_TARGETS] if looks_like_prefix(text)
        ]
        if not targets:
            named = next((text for text in queue.target if text in links), None)
            return _Asked(queue_id, None, MAIN_DOMAIN, named)
        domain = targets[0][0]
        prefixes = [prefix for where, prefix in targets if where == domain]
        heard = [item for item in stations if _is_in(item, prefixes) and item.mac]
        if heard:
            last = min(heard, key=lambda item: item.confirmed_s)
            return _Asked(queue_id, socket.inet_ntop(last.family, last.address), domain)
        return _Asked(queue_id, _first(prefixes[0]), domain)

    def _vrf(self, asked: _Asked, links: Mapping[str, Link]) -> int:
        """The index of the VRF that the line's interface, or a port of its domain, is in; 0 = none."""
        if asked.interface is None and asked.domain == MAIN_DOMAIN:
            return 0
        with self._configuration.lock:
            ports: Iterable[PortSpec] = list(self._configuration.compiled.shaping.ports.values())
        inside = [port.ifname for port in ports if port.domain == asked.domain]
        if asked.interface is not None:
            inside = [asked.interface]
        masters = [links[name].master for name in inside if name in links]
        vrfs = [link.index for link in links.values() if link.kind == "vrf" and link.index in masters]
        return vrfs[0] if vrfs else 0


def _host(address: str, path: str) -> str:
    """An address that a host may have beside this router. Raises `Invalid`."""
    found = ip_address(address)
    if found.is_multicast or found.is_loopback or found.is_unspecified or address == "255.255.255.255":
        raise Invalid(f"{address} is no address of a host", code="no-host", path=path)
    return address


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise Invalid(f"{text!r} is not an address", code="bad-address", path="address") from error


def _way(address: str | None, vrf: int, names: Mapping[int, Link], mark: int = 0) -> Json | None:
    way: Way | None = way_to(address, vrf, mark) if address else None
    if way is None or way.device not in names:
        return None
    return {"interface": names[way.device].name, "gateway": way.gateway}


def _side(
    way: Json | None,
    address: str | None,
    links: Mapping[str, Link],
    names: Mapping[int, Link],
    stations: list[Neighbour],
) -> Json | None:
    """One end of the line: the interface, what it is stacked on, and the next station behind it."""
    if way is None:
        return None
    link = links.get(way["interface"])
    stack = _stack(link, names)
    next_hop = way["gateway"] or address
    return {
        **way,
        "station": None if next_hop is None or link is None else _station(next_hop, link.index, stations),
        "links": [{"name": item.name, "duplex": _duplex(item.name)} for item in stack],
        "shared": [item.name for item in stack if item.kind in _SHARED],
    }


def _stack(link: Link | None, names: Mapping[int, Link]) -> list[Link]:
    """An interface and those below it, such as the port of a VLAN."""
    found: list[Link] = []
    while link is not None and link not in found and link.kind != "loopback":
        found.append(link)
        link = names.get(link.lower) if link.kind == "vlan" else None
    return found


def _station(address: str, ifindex: int, stations: list[Neighbour]) -> Json:
    packed = ip_address(address).packed
    for item in stations:
        if item.ifindex == ifindex and item.address == packed:
            state = STATES.get(item.state, "asking")
            return {"address": address, "state": state, "confirmed_s": item.confirmed_s if item.mac else None}
    return {"address": address, "state": "none", "confirmed_s": None}


def _duplex(name: str) -> str | None:
    """As the card negotiated it; None where it does not say."""
    try:
        found = (_SYS / name / "duplex").read_text(encoding="ascii").strip()
    except OSError:  # EINVAL of a link that is down
        return None
    return found if found in ("half", "full") else None


def _is_in(station: Neighbour, prefixes: list[Prefix]) -> bool:
    family = _FAMILIES.get(station.family)
    value = int.from_bytes(station.address, "big")
    return any(
        prefix.family == family
        and value >> (shift := WIDTH[prefix.family] - prefix.length) == prefix.value >> shift
        for prefix in prefixes
    )


def _first(prefix: Prefix) -> str:
    """The prefix's first host, or the host that it is."""
    inner = prefix.length < WIDTH[prefix.family] - 1
    number = prefix.value + inner
    return str(ip_address(number.to_bytes(WIDTH[prefix.family] // 8, "big")))
