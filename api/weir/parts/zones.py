# SPDX-License-Identifier: Apache-2.0
"""Zones and their policies as rules (docs/adr/0177).

A document whose interfaces are all in lan, wan and open, without a policy, has none of these rules: those
zones reach what they reach by the policy of the firewall alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import LOG_PER_S, MANAGEMENT_PORTS, Zone, ZonePolicy
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.zones import BUILT_IN, NO_ZONE
from weir.parts.rule import FIXED_COUNTERS, PacketRule
from weir.parts.ssh import ssh_in

ESTABLISHED = ("established", "related")
NEIGHBOUR_DISCOVERY = (
    "nd-router-solicit",
    "nd-router-advert",
    "nd-neighbor-solicit",
    "nd-neighbor-advert",
)
NO_ZONES = "zone/"
"""What rules about interfaces without a zone are made of: of no object."""
_SERVICES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "management": (("tcp", MANAGEMENT_PORTS),),
    "dns": (("tcp-udp", ("53",)),),
    "dhcp": (("udp", ("67", "547")),),
    "ntp": (("udp", ("123",)),),
    "routing": (("ospf", ()), ("tcp", ("179",)), ("udp", ("3784-3785", "4784"))),
}
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Zones:
    """The enabled interfaces of each zone that packets come and go by, sorted."""

    members: Mapping[str, Names]

    @classmethod
    def of(cls, interfaces: Sequence[Interface]) -> Zones:
        found: dict[str, list[str]] = {}
        for item in interfaces:
            if item.is_port and not item.disabled:
                found.setdefault(item.role, []).append(item.id)
        return cls({name: tuple(names) for name, names in found.items()})

    def __getitem__(self, zone: str) -> Names:
        return self.members.get(zone, ())

    @property
    def configured(self) -> Iterator[tuple[str, Names]]:
        """Those beside the built-in ones."""
        fixed = (*BUILT_IN, NO_ZONE)
        return ((name, self.members[name]) for name in sorted(self.members) if name not in fixed)


def without_zone(zones: Zones) -> Iterator[PacketRule]:
    """Nothing passes an interface without a zone, not even what was let pass before."""
    names = zones[NO_ZONE]
    if names:
        text = "interfaces without a zone"
        start = PacketRule("forward", "drop", text, counter=f"{FIXED_COUNTERS}no_zone", made_by=NO_ZONES)
        yield replace(start, chain="input", in_interfaces=names)
        yield replace(start, in_interfaces=names)
        yield replace(start, out_interfaces=names)


def to_router(document: Document, zones: Zones, tunnels: Sequence[PacketRule]) -> Iterator[PacketRule]:
    """What each configured zone reaches of the router; `tunnels` are rules for them, by any interface."""
    for name, members in zones.configured:
        zone = document.get("zone", name)
        reaches = zone.reaches if isinstance(zone, Zone) else ()
        if "any" not in reaches:
            others = {"tunnels": tunnels, "management": tuple(ssh_in(document.single(SshServer)))}
            yield from _to_router(name, members, reaches, others)


def _to_router(
    name: str, members: Names, reaches: Names, others: Mapping[str, Sequence[PacketRule]]
) -> Iterator[PacketRule]:
    """`others` are rules by what a zone reaches, for it by any interface."""
    made_by = f"zone/{name}"
    start = PacketRule("input", "accept", "", members, made_by=made_by)
    yield replace(start, comment=f"answers to what the router asked in zone {name}", ct_states=ESTABLISHED)
    discovery = replace(start, family=6, protocol="icmpv6", icmp_types=NEIGHBOUR_DISCOVERY)
    yield replace(discovery, comment=f"IPv6 neighbour discovery in zone {name}")
    for word in sorted(reaches):
        match = replace(start, comment=f"{word} for zone {name}")
        for protocol, ports in _SERVICES.get(word, ()):
            yield replace(match, protocol=protocol, ports=ports)
        for rule in others.get(word, ()):
            words = f"{rule.comment} for zone {name}"
            yield replace(rule, comment=words, in_interfaces=members, made_by=rule.made_by or made_by)
        if word == "ping":
            yield replace(match, family=4, protocol="icmp", icmp_types=("echo-request",))
            yield replace(match, family=6, protocol="icmpv6", icmp_types=("echo-request",))
    text = f"everything else from zone {name} to the router"
    yield replace(start, verdict="drop", comment=text, counter=f"{ZONE_COUNTERS}{name}")


def between(document: Document, zones: Zones) -> Iterator[PacketRule]:
    """What people let pass from zone to zone, or forbade. They come before the firewall's policy."""
    policies = sorted(
        (item for item in document.every(ZonePolicy) if not item.disabled),
        key=lambda item: (item.from_zone, item.to_zone, item.id),
    )
    own = [name for _, names in zones.configured for name in names]
    answering = {name for item in policies if item.action == "drop" for name in zones[item.from_zone]}
    start = PacketRule(
        "forward", "accept", "answers to what zones may ask", ct_states=ESTABLISHED, made_by=NO_ZONES
    )
    if own or answering:
        yield replace(start, in_interfaces=tuple(sorted({*own, *answering})))
    if own:
        yield replace(start, out_interfaces=tuple(sorted(own)))
    within = {
        *own,
        *(name for item in policies if item.from_zone == item.to_zone for name in zones[item.from_zone]),
    }
    for name in sorted(within):
        text = f"what stays on {name}"
        yield replace(start, comment=text, ct_states=(), in_interfaces=(name,), out_interfaces=(name,))
    for item in policies:
        if zones[item.from_zone] and zones[item.to_zone]:
            yield from _of_policy(item, zones)


def _of_policy(policy: ZonePolicy, zones: Zones) -> Iterator[PacketRule]:
    rule = PacketRule(
        "forward",
        policy.action,
        f"policy {policy.id}",
        in_interfaces=zones[policy.from_zone],
        out_interfaces=zones[policy.to_zone],
        counter=f"{POLICY_COUNTERS}{policy.id}",
        made_by=f"zone-policy/{policy.id}",
    )
    if policy.log:
        first = replace(rule, verdict="log", counter="", ct_states=("new",), target=f"{policy.id}: ")
        yield replace(first, rate_per_s=LOG_PER_S, burst=LOG_PER_S)
    yield rule


def apart(zones: Zones) -> Iterator[PacketRule]:
    """Between zones of which no policy says anything. They come last."""
    for name, members in zones.configured:
        counter, made_by = f"{ZONE_COUNTERS}{name}", f"zone/{name}"
        text = f"everything else from zone {name}"
        yield PacketRule("forward", "drop", text, members, counter=counter, made_by=made_by)
        text = f"everything else to zone {name}"
        yield PacketRule("forward", "drop", text, out_interfaces=members, counter=counter, made_by=made_by)


ZONE_COUNTERS, POLICY_COUNTERS = "z_", "p_"
"""How the names of their counters begin."""


def zone_of(counter: str) -> str | None:
    """The zone that has a counter; None for a counter of another kind."""
    return counter.removeprefix(ZONE_COUNTERS) if counter.startswith(ZONE_COUNTERS) else None


def policy_of(counter: str) -> str | None:
    """The policy that has a counter; None for a counter of another kind."""
    return counter.removeprefix(POLICY_COUNTERS) if counter.startswith(POLICY_COUNTERS) else None
