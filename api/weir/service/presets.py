# SPDX-License-Identifier: Apache-2.0
"""What the first setup can make at once: presets as data, and the objects of one with the ports chosen.

The objects are ordinary ones. Nothing remembers which preset made them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Literal

from weir.kinds.announcing import SLAAC_BITS, announced_networks
from weir.kinds.dhcp_server import MAX_ADDRESSES, DhcpServer
from weir.kinds.dns import Dns, DnsInterface
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.kinds.static_route import StaticRoute
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.address import parse_address, parse_host
from weir.model.announcing import Announcement
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.interface import Interface, Vlan
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.overhead import usual_overhead_bytes
from weir.model.problem import Finding, Invalid

REVERSE_PATH: Final[dict[str, Literal["loose", "strict"]]] = {"lan": "strict", "wan": "loose"}
"""Of a new router: who is inside has the addresses of his network (BCP 38); a second WAN may come one day."""
REACHES = ("dns", "dhcp", "ping")
"""What hosts beside the LAN reach of the router; its login page is not among it."""
Unknown = Literal["allow", "drop"]


@dataclass(frozen=True, slots=True)
class Second:
    """A network beside the LAN, in a zone of its own."""

    zone: str
    label: str
    about: str
    address: str
    vlan_id: int
    unknown: Unknown = "allow"
    from_lan: bool = False
    """Whether the LAN reaches its hosts."""


@dataclass(frozen=True, slots=True)
class Preset:
    id: str
    name: str
    about: str
    lan: str
    """What its LAN is for."""
    ping_from_wan: bool = False
    asks_prefix: bool = True
    """Whether its networks get IPv6 of a prefix that the provider gives by DHCPv6."""
    second: Second | None = None


PRESETS: Final = (
    Preset(
        "home",
        "Home",
        "One network behind one internet connection. Nothing answers from outside.",
        "Everybody inside, and this page.",
    ),
    Preset(
        "branch",
        "Branch",
        "As Home, with a network for guests that reaches the internet and nothing else.",
        "The office, and this page.",
        second=Second(
            "guests",
            "Guests",
            "They reach the internet, and neither the LAN nor this page.",
            "192.168.89.1/24",
            20,
        ),
    ),
    Preset(
        "isp",
        "ISP",
        "Customers are apart from the management network and use their own addresses only (BCP 38).",
        "The management network: it reaches this page and the customers.",
        ping_from_wan=True,
        asks_prefix=False,
        second=Second(
            "customers",
            "Customers",
            "They reach the internet, and not this page.",
            "100.64.0.1/22",
            100,
            "drop",
            from_lan=True,
        ),
    ),
)
BY_ID: Final = {preset.id: preset for preset in PRESETS}


@dataclass(frozen=True, slots=True)
class Network:
    """Where hosts are: the ports, and the router's own addresses there, as they were typed."""

    ports: tuple[str, ...]
    addresses: tuple[str, ...]
    vlan_id: int | None = None
    """No ports: the frames of the LAN's ports with this tag."""


@dataclass(frozen=True, slots=True)
class Uplink:
    port: str
    addressing: Literal["static", "dhcp"]
    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen for a preset, nothing of it checked yet."""

    preset: str
    wan: Uplink | None
    lan: Network
    second: Network | None = None
    unknown: Unknown | None = None
    """What becomes of addresses that are in no queue; None: as the preset has it."""


@dataclass(slots=True)
class Made:
    """The objects, and what stands in the way of them at the request's fields."""

    objects: list[ConfigObject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    fields: dict[tuple[str, str], str] = field(default_factory=dict)
    """Which field of the request is to blame for an object."""
    taken: Delegated | None = None
    """What the networks inside take of the WAN's prefix."""

    def refuse(self, where: str, message: str, code: str = "invalid") -> None:
        self.findings.append(Finding("error", code, message, "request", "", where))

    def add(self, where: str, *objects: ConfigObject) -> None:
        self.objects += objects
        self.fields |= {(item.kind, item.id): where for item in objects}


def made_of(choices: Choices, ports: Collection[str]) -> Made:
    """The objects of a preset. Where there are findings they are not to be used."""
    made = Made()
    preset = BY_ID[choices.preset]
    second = choices.second if preset.second is not None else None
    _check_ports(made, choices, second, ports)
    if preset.second is None and choices.second is not None:
        made.refuse("preset.second.ports", f"the preset {preset.name} has one network, the LAN")
    if preset.second is not None and choices.second is None:
        made.refuse("preset.second.ports", f"the preset {preset.name} needs a port or VLAN for a network")
    parts = [("wan", _checked_uplink(made, choices.wan)), ("preset.lan", _checked(made, "lan", choices.lan))]
    if second:
        parts.append(("preset.second", _checked(made, "second", second)))
    _check_overlaps(made, parts)
    if made.findings or choices.wan is None:
        return made
    addresses = dict(parts)
    _make_wan(made, choices.wan, addresses["wan"], asks_prefix=preset.asks_prefix)
    inside = [_make_lan(made, choices.lan, addresses["preset.lan"])]
    if preset.second is not None and second:
        unknown = choices.unknown or preset.second.unknown
        inside.append(
            _make_second(made, preset.second, second, addresses["preset.second"], inside[0].id, unknown)
        )
    _make_services(made, preset, inside)
    return made


def default_routes(gateways: Sequence[str]) -> Iterator[StaticRoute]:
    """The ways to the internet by these gateways, one of each family."""
    for gateway in gateways:
        version = ipaddress.ip_address(gateway).version
        yield StaticRoute(f"default-v{version}", "::/0" if version == 6 else "0.0.0.0/0", gateway)


# -- what was chosen ------------------------------------------------------------------------------------


def _check_ports(made: Made, choices: Choices, second: Network | None, ports: Collection[str]) -> None:
    """Every port is there, and has one part."""
    if len(ports) < 2:
        made.refuse("wan.interface", "a preset needs two ports, and this router has fewer", "one-port")
        return
    taken: dict[str, str] = {}
    wan = () if choices.wan is None else (choices.wan.port,)
    if not wan:
        made.refuse("wan.interface", "choose the port that faces the internet")
    wanted = [("wan.interface", "WAN", wan), ("preset.lan.ports", "LAN", choices.lan.ports)]
    if second:
        wanted.append(("preset.second.ports", "other network", second.ports))
        if bool(second.ports) == (second.vlan_id is not None):
            made.refuse("preset.second.ports", "choose either ports of its own, or a VLAN of the LAN's ports")
    if not choices.lan.ports:
        made.refuse("preset.lan.ports", "choose at least one port for the LAN")
    for where, part, names in wanted:
        for name in names:
            if name not in ports:
                made.refuse(where, f"this router has no port {name}", "no-port")
            elif name in taken:
                what = "named twice" if taken[name] == part else f"a port of the {taken[name]} already"
                made.refuse(where, f"{name} is {what}", "one-port")
            taken.setdefault(name, part)


def _checked(made: Made, name: str, network: Network) -> tuple[str, ...]:
    """The addresses in canonical text, of those that can be used."""
    where = f"preset.{name}.addresses"
    found = _parsed(made, where, network.addresses)
    v4 = [ipaddress.ip_interface(text).network for text in found if ":" not in text]
    if not v4 and len(found) == len(network.addresses):
        made.refuse(where, "hosts get their IPv4 addresses here: give one, such as 192.168.88.1/24")
    for text in v4:
        if text.num_addresses > MAX_ADDRESSES:
            made.refuse(where, f"{text} is too large for one DHCP server: /16 at most", "too-many-addresses")
        elif text.num_addresses < 4:
            made.refuse(where, f"{text} has no room for a host beside the router", "no-addresses")
    return found


def _checked_uplink(made: Made, wan: Uplink | None) -> tuple[str, ...]:
    if wan is None:
        return ()
    found = _parsed(made, "wan.addresses", wan.addresses)
    if wan.addressing == "static" and not wan.addresses:
        made.refuse("wan.addresses", "a WAN needs an address, or DHCP that asks for one")
    networks = [ipaddress.ip_interface(text).network for text in found]
    seen: set[int] = set()
    for text in wan.gateways:
        try:
            gateway = ipaddress.ip_address(parse_host(text))
        except Invalid as problem:
            made.refuse("wan.gateways", problem.message, problem.code)
            continue
        if len(found) == len(wan.addresses) and not any(gateway in network for network in networks):
            made.refuse("wan.gateways", f"the gateway {gateway} is not in a network of the WAN address")
        if gateway.version in seen:
            made.refuse(
                "wan.gateways", f"there is one gateway of IPv{gateway.version}, and {gateway} is another"
            )
        seen.add(gateway.version)
    return found


def _parsed(made: Made, where: str, addresses: Sequence[str]) -> tuple[str, ...]:
    found = []
    for text in addresses:
        try:
            found.append(parse_address(text))
        except Invalid as problem:
            made.refuse(where, problem.message, problem.code)
    return tuple(found)


def _check_overlaps(made: Made, parts: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Nobody could tell on which side an address is."""
    names = {"wan": "WAN", "preset.lan": "LAN", "preset.second": "other network"}
    for (first, left), (later, right) in combinations(parts, 2):
        for one in (ipaddress.ip_interface(text).network for text in left):
            for other in (ipaddress.ip_interface(text).network for text in right):
                if one.version == other.version and one.overlaps(other):
                    text = f"{other} overlaps {one} of the {names[first]}: choose another network"
                    made.refuse(f"{later}.addresses", text, "overlapping-networks")


# -- what is made ---------------------------------------------------------------------------------------


def _make_wan(made: Made, wan: Uplink, addresses: tuple[str, ...], *, asks_prefix: bool) -> None:
    """One without an IPv6 address of its own learns it, and asks for a prefix for the networks inside."""
    learns = not any(":" in text for text in addresses)
    asks = learns and asks_prefix
    made.taken = Delegated(wan.port) if asks else None
    interface = Interface(
        wan.port,
        role="wan",
        addresses=addresses,
        addressing=wan.addressing,
        ipv6_addressing="auto" if learns else "static",
        dhcpv6=Dhcpv6() if asks else None,
        overhead_bytes=usual_overhead_bytes("physical"),
        reverse_path=REVERSE_PATH["wan"],
    )
    made.add("wan.addresses", interface)
    made.add("wan.gateways", *default_routes([parse_host(text) for text in wan.gateways]))


def _make_lan(made: Made, lan: Network, addresses: tuple[str, ...]) -> Interface:
    found = _inside("lan", "br-lan", lan.ports, addresses, isolated=False, taken=made.taken)
    made.add("preset.lan.addresses", found, DhcpServer("lan", found.id))
    return found


def _make_second(
    made: Made, second: Second, network: Network, addresses: tuple[str, ...], lan: str, unknown: Unknown
) -> Interface:
    if network.vlan_id is None:
        found = _inside(
            *(second.zone, f"br-{second.zone}", network.ports, addresses),
            isolated=True,
            unknown=unknown,
            taken=made.taken,
        )
    else:
        tagged = Vlan(lan, network.vlan_id)
        found = _inside(
            second.zone, "", (second.zone,), addresses, vlan=tagged, unknown=unknown, taken=made.taken
        )
    zone, where = second.zone, "preset.second.addresses"
    made.add(where, found, DhcpServer(zone, found.id), Zone(zone, REACHES))
    made.add(where, ZonePolicy(f"{zone}-wan", zone, "wan"))
    if second.from_lan:
        made.add(where, ZonePolicy(f"lan-{zone}", "lan", zone))
    return found


def _inside(
    role: str,
    bridge: str,
    ports: tuple[str, ...],
    addresses: tuple[str, ...],
    *,
    isolated: bool = False,
    vlan: Vlan | None = None,
    unknown: Unknown = "allow",
    taken: Delegated | None = None,
) -> Interface:
    """A port, a bridge of several or a VLAN. Hosts there learn IPv6 where a prefix of it can be announced:
    its own, or else a part of what the provider gives."""
    members = tuple(BridgePort(name, isolated=isolated) for name in ports)
    found = Interface(
        ports[0] if len(ports) == 1 else bridge,
        role=role,
        addresses=addresses,
        overhead_bytes=usual_overhead_bytes("physical" if vlan is None else "vlan"),
        reverse_path=REVERSE_PATH["lan"],
        unknown=unknown,
        vlan=vlan,
        bridge=Bridge(members) if len(ports) > 1 else None,
    )
    has_prefix = any(network.length == SLAAC_BITS for network in announced_networks(found))
    if has_prefix:
        return replace(found, ra=Announcement())
    return found if taken is None else replace(found, ra=Announcement(), delegated=taken)


def _make_services(made: Made, preset: Preset, inside: Sequence[Interface]) -> None:
    named = () if len(inside) == 1 else tuple(DnsInterface(item.id) for item in inside)
    made.add("preset.lan.addresses", Dns(enabled=True, interfaces=named))
    made.add("wan.interface", Firewall(allow_ping_from_wan=preset.ping_from_wan))
    own = tuple(network for item in inside for network in _public(item))
    if own:
        made.add("preset.lan.addresses", NatRule("n1", "none", source=own, comment="Public addresses inside"))


def _public(interface: Interface) -> Iterator[str]:
    """Its IPv4 networks that the internet reaches as they are, so that nobody translates them."""
    for text in interface.addresses:
        network = ipaddress.ip_interface(text).network
        if network.version == 4 and network.is_global:
            yield str(network)
