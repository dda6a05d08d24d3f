# SPDX-License-Identifier: Apache-2.0
"""The router's name service: who is asked for names, and who may ask this router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, Flag, HostName, Many, Prefix, Ref, Rows, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.dns_upstream import MAX_UPSTREAMS, DnsUpstream, UpstreamState, upstreams_make_sense
from weir.model.address import is_dns_name
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.outside import is_inside, is_outside
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning

MAX_INTERFACES, MAX_NETWORKS, MAX_DOMAINS = 256, 64, 256
WIDEST = {4: 8, 6: 16}
"""The shortest prefix of a network that may be served, by family: wider ones hold strangers."""


@dataclass(frozen=True, slots=True)
class DnsInterface:
    """Where it answers."""

    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            offered=When("role", ("wan",), unless=True),
            help="An interface with a static address, which is not a WAN.",
            example="br-lan",
        ),
    ]


@dataclass(frozen=True, slots=True)
class Dns(ConfigObject):
    """The name service. It answers hosts inside, and nobody else."""

    kind: ClassVar[Kind] = "dns"
    id: str = "dns"
    enabled: Annotated[
        bool, Flag(help="When on, the router answers questions for names, and DHCP servers tell clients so.")
    ] = False
    servers: Annotated[
        tuple[DnsUpstream, ...],
        Rows(
            DnsUpstream,
            MAX_UPSTREAMS,
            by="address",
            option="server",
            help="Who is asked. Empty: the router finds answers by itself, from the root servers on.",
        ),
    ] = ()
    interfaces: Annotated[
        tuple[DnsInterface, ...],
        Rows(
            DnsInterface,
            MAX_INTERFACES,
            by="interface",
            option="interface",
            help="Where it answers. Empty: on every LAN. Never on a WAN.",
        ),
    ] = ()
    serve_to: Annotated[
        tuple[str, ...],
        Many(
            Prefix(),
            MAX_NETWORKS,
            importance="folded",
            help="Networks behind other routers whose hosts may ask, beside those of the interfaces.",
            example="10.20.0.0/16",
        ),
    ] = ()
    domain: Annotated[
        str,
        HostName(
            label="Local domain",
            help="Local records and leases have their names here. Names in it that nobody has are asked of "
            "nobody else.",
        ),
    ] = "home.arpa"
    leases_as_names: Annotated[
        bool,
        Flag(
            help="Hosts with a DHCP lease or reservation are found by the name that they give. A local "
            "record of the same name wins."
        ),
    ] = True
    rebind_protection: Annotated[
        bool,
        Flag(
            help="Private addresses in answers from outside are left out, so that no web site reaches hosts "
            "inside by a name of its own."
        ),
    ] = True
    private_domains: Annotated[
        tuple[str, ...],
        Many(
            HostName(),
            MAX_DOMAINS,
            importance="folded",
            option="private-domain",
            help="Domains whose names may have private addresses all the same.",
            example="office.example.net",
        ),
    ] = ()
    dnssec: Annotated[
        bool,
        Flag(
            label="DNSSEC",
            help="Check signatures, and refuse what is forged. It needs the right time, and servers that "
            "pass signatures on.",
        ),
    ] = False
    cache_mib: Annotated[
        int,
        Whole(4, 4096, label="Cache, MiB", importance="folded", help="Memory for answers, in MiB."),
    ] = 32


def answers_on(dns: Dns, interface: Interface | None) -> bool:
    """Whether it answers hosts behind an interface."""
    if interface is None or not dns.enabled or interface.disabled or is_outside(interface):
        return False
    named = {item.interface for item in dns.interfaces}
    is_meant = interface.id in named if named else is_inside(interface)
    return is_meant and interface.vrf is None and bool(interface.addresses)


def serving(document: Document) -> list[Interface]:
    """The interfaces on which it answers, by id."""
    dns = document.single(Dns)
    found = [item for item in document.interfaces() if answers_on(dns, item)] if dns.enabled else []
    return sorted(found, key=lambda item: item.id)


def answers_inside_only(view: View, dns: Dns) -> Iterator[Finding]:
    """No stranger may ask, which would make it a weapon against others; and somebody may."""
    if not dns.enabled:
        return
    for number, item in enumerate(dns.interfaces):
        yield from _has_hosts(dns, f"interfaces[{number}].interface", item.interface, view)
    for network in dns.serve_to:
        address, _, length = network.partition("/")
        if int(length) < WIDEST[6 if ":" in address else 4]:
            text = (
                f"{network} holds strangers, and attackers use such servers to flood others: name your own "
            )
            text += "networks"
            yield error("open-resolver", dns, "serve_to", text)
    if not serving(view.document):
        text = "no LAN has a static address" if not dns.interfaces else "none of these interfaces can be used"
        yield warning("dns-nowhere", dns, "interfaces", f"{text}, so nobody but the router itself may ask")


def _has_hosts(dns: Dns, field: str, name: str, view: View) -> Iterator[Finding]:
    interface = view.document.interface(name)
    if interface is None:
        text = f"the name service names the interface {name!r}, which is not configured"
        yield error("unknown-interface", dns, field, text)
    elif is_outside(interface):
        text = f"{name} is a WAN, where the name service would answer strangers"
        yield error("dns-on-wan", dns, field, text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where the name service cannot answer"
        yield error("dns-in-vrf", dns, field, text)
    elif not interface.addresses:
        yield error("no-address", dns, field, f"{name} has no static address on which it could be asked")


def asks_others(view: View, dns: Dns) -> Iterator[Finding]:
    if dns.enabled:
        yield from upstreams_make_sense(view, dns, dns.servers)


def domains_are_names(_view: View, dns: Dns) -> Iterator[Finding]:
    for field, names in (("domain", (dns.domain,)), ("private_domains", dns.private_domains)):
        for name in names:
            if not is_dns_name(name):
                yield error("no-name", dns, field, f"{name} is an address, and no name of a domain")


_AFTER = all_after("dns", "interface")

KIND = Declaration(
    Dns,
    singular="name service",
    plural="name services",
    short="dns",
    about="Who is asked for names, and who may ask this router (`/ip dns` of RouterOS).",
    is_single=True,
    area="Services",
    rules=(
        Rule("answers-inside-only", "dns", answers_inside_only, _AFTER, True),
        Rule("asks-others", "dns", asks_others, _AFTER, True),
        Rule("domains-are-names", "dns", domains_are_names, all_after("dns"), True),
    ),
    state={
        "answering": Flag(help="Whether it runs and answers."),
        "uptime_s": Whole(0, MAX_EXACT, label="Uptime", help="Since it was started."),
        "queries": Whole(
            0, MAX_EXACT, help="Questions of hosts since its start, or since it read its files again."
        ),
        "cache_hits": Whole(0, MAX_EXACT, help="Of these, answered from memory."),
        "lease_names": Whole(0, MAX_EXACT, help="Names that come from DHCP leases and reservations now."),
        "upstreams": Rows(
            UpstreamState,
            MAX_UPSTREAMS,
            by="address",
            label="Servers",
            help="The servers that are asked, one row each.",
        ),
    },
)
