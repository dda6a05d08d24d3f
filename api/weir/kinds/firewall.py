# SPDX-License-Identifier: Apache-2.0
"""The firewall's policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Flag, Many, Port, Rows, Whole
from weir.kinds.connection_helper import SPOKEN, ConnectionHelper
from weir.kinds.declaration import Declaration
from weir.kinds.management import Management
from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import CHALLENGE_PORT, MANAGEMENT_PORTS, Zone
from weir.model.interface import members_of
from weir.model.limits import MAX_CONNECTIONS, MAX_PORTS
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, notice, own, warning
from weir.model.zones import INSIDE, NO_ZONE, WAN


@dataclass(frozen=True, slots=True)
class Firewall(ConfigObject):
    """The minimal policy: replies are allowed, everything else from WAN is dropped unless named here."""

    kind: ClassVar[Kind] = "firewall"
    id: str = "firewall"
    masquerade: Annotated[
        bool,
        Flag(
            label="Masquerade: customers share the WAN address",
            help="IPv4 packets that leave through a WAN get its address. IPv6 is never translated. "
            "Uploads are still counted by the customer's own address.",
        ),
    ] = True
    drop_new_from_wan: Annotated[
        bool,
        Flag(
            label="Drop new connections from the WAN",
            help="From WAN interfaces only replies (conntrack established, related), IPv6 neighbour "
            "discovery and what is allowed below pass.",
        ),
    ] = True
    allow_ping_from_wan: Annotated[
        bool,
        Flag(
            label="Answer ping from the WAN", help="ICMP and ICMPv6 echo requests to the router are answered."
        ),
    ] = True
    allowed_wan_tcp_ports: Annotated[
        tuple[int, ...],
        Many(
            Port(),
            MAX_PORTS,
            label="Open TCP ports",
            help="TCP ports of the router that the WAN may reach.",
            example="443",
            option="allow-tcp",
        ),
    ] = ()
    connections_per_source: Annotated[
        int,
        Whole(
            0,
            MAX_CONNECTIONS,
            label="Connections per address",
            help="Tracked connections that an address may have at once, by interface; "
            "of IPv6 a /64, and a /56 four times as many. New ones beyond it are dropped, of bounds from "
            "512 on some from three quarters on. 0: any number, and one customer can fill the table.",
        ),
    ] = 4096
    helpers: Annotated[
        tuple[ConnectionHelper, ...],
        Rows(
            ConnectionHelper,
            len(SPOKEN),
            by="helper",
            option="helper",
            label="Connection helpers",
            importance="folded",
            help="Protocols that announce further connections, such as the data of FTP. The router reads "
            "what is said in connections that begin inside and in those that NAT rules forward from outside, "
            "and lets pass what they announce. An attacker who makes a program inside say such words opens "
            "ports: name only what is needed.",
        ),
    ] = ()


def firewall_sense(view: View, firewall: Firewall) -> Iterator[Finding]:
    if not firewall.drop_new_from_wan:
        yield warning(
            "open-to-wan",
            firewall,
            "drop_new_from_wan",
            "anyone outside can reach the router and the networks behind it",
        )
    if not any(item.role == "wan" and not item.disabled for item in view.document.interfaces()):
        yield notice(
            "no-wan",
            firewall,
            None,
            "no enabled interface has the role wan, so the firewall has nothing to do",
        )


_OPENS_PORTS = ("ftp", "sip")
"""By which the far end reaches ports that it made a program inside name."""


def helper_servers(_view: View, firewall: Firewall) -> Iterator[Finding]:
    for place, row in enumerate(firewall.helpers):
        if row.helper in _OPENS_PORTS and not row.servers:
            title = SPOKEN[row.helper].title
            text = f"the helper of {title} is for all servers, and any that a program inside is made to "
            text += "speak with may reach ports of its host: name the servers where you know them"
            yield notice("helper-for-all-servers", firewall, f"helpers[{place}].servers", text)


def open_sign_in(view: View, firewall: Firewall) -> Iterator[Finding]:
    """A warning where everybody outside comes as far as the login page or SSH; `open-to-wan` is said already
    where nothing is dropped."""
    wans = [item for item in view.document.interfaces() if item.role == WAN and not item.disabled]
    if not wans or not firewall.drop_new_from_wan:
        return
    open_ports = set(map(str, firewall.allowed_wan_tcp_ports))
    ssh = view.document.single(SshServer)
    ways = (
        (view.document.single(Management), {*MANAGEMENT_PORTS} - {CHALLENGE_PORT}, "the sign-in page"),
        (ssh, {str(ssh.port)} if ssh.enabled else set(), "the SSH server"),
    )
    for item, ports, what in ways:
        if not item.sources and (found := sorted(ports & open_ports, key=int)):
            text = (
                f"anyone outside can reach {what}: TCP port {found[0]} is open to the WAN, and "
                f"{item.kind} names no sources"
            )
            yield warning("sign-in-open-to-wan", firewall, "allowed_wan_tcp_ports", text)


def somebody_manages(view: View, firewall: Firewall) -> Iterator[Finding]:
    """A warning where no zone in use reaches the login page, the API or SSH."""
    interfaces = [item for item in view.document.interfaces() if not item.disabled]
    below = {name for item in interfaces for name in members_of(item)}  # nothing comes in by those
    ports = [item for item in interfaces if item.is_port and item.id not in below]
    zones = {item.role for item in ports}
    own = [zone for zone in view.document.every(Zone) if zone.id in zones]
    managing = not zones.isdisjoint(INSIDE) or any({"management", "any"} & {*zone.reaches} for zone in own)
    ssh = view.document.single(SshServer)
    managed = {*MANAGEMENT_PORTS, *((str(ssh.port),) if ssh.enabled else ())}
    open_ports = set(map(str, firewall.allowed_wan_tcp_ports)) & managed
    from_wan = WAN in zones and (bool(open_ports) or not firewall.drop_new_from_wan)
    if (own or NO_ZONE in zones) and not managing and not from_wan:
        text = "no zone in use reaches the router's management: only the console can change anything then"
        yield warning("locks-out", firewall, None, text)


KIND = Declaration(
    Firewall,
    singular="firewall policy",
    plural="firewall policies",
    short="firewall",
    about="The minimal policy between LAN and WAN.",
    is_single=True,
    area="Firewall",
    rules=(
        Rule("firewall-sense", "firewall", firewall_sense, all_after("firewall", "interface"), False),
        Rule("helper-servers", "firewall", helper_servers, own("firewall"), False),
        Rule(
            "sign-in-open-to-wan",
            "firewall",
            open_sign_in,
            all_after("firewall", "interface", "management", "ssh-server"),
            False,
        ),
        Rule(
            "somebody-manages",
            "firewall",
            somebody_manages,
            all_after("firewall", "interface", "zone", "ssh-server"),
            False,
        ),
    ),
)
