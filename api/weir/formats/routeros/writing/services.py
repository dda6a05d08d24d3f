# SPDX-License-Identifier: Apache-2.0
"""DHCP, names, time, WireGuard peers and the router's own name."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from weir.formats.routeros.menus.reached import PEOPLE, PROGRAMS
from weir.formats.routeros.writing import ways_out
from weir.formats.routeros.writing.dhcp6 import dhcp6
from weir.formats.routeros.writing.links import is_written
from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    section,
    time_text,
)
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer, Network, gateway_of, names_told, network_of, spans_of
from weir.kinds.dns import Dns
from weir.kinds.dns_forward import DnsForward
from weir.kinds.dns_record import DnsRecord
from weir.kinds.identity import Identity
from weir.kinds.management import Management
from weir.kinds.ntp import Ntp
from weir.kinds.ssh_server import SshServer
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.arp import GUARDED
from weir.model.document import Document

BEHIND_ALL = 210
"""Distance of a lease's default route here."""
_VALUES = {"A": "address", "AAAA": "address", "CNAME": "cname", "TXT": "text", "NS": "ns"}


def services(document: Document) -> Iterator[str]:
    """Clients and servers of DHCP before what names them."""
    yield from section("/ip dhcp-client", _clients(document))
    yield from _dhcp(document)
    yield from dhcp6(document)
    yield from section("/ip dns", _names(document))
    yield from section("/ip dns static", [*_records(document), *_forwards(document)])
    yield from section("/system ntp client", _time(document))
    yield from _reached(document.single(Management))
    yield from _ssh(document)
    yield from section("/interface wireguard peers", _peers(document))
    identity = document.single(Identity)
    about = [(key, value) for key in ("contact", "location") if (value := getattr(identity, key))]
    yield from section("/snmp", [command(about, "set")] if about else [])
    zone = identity.time_zone
    yield from section("/system clock", [command([("time-zone-name", zone)], "set")] if zone else [])
    name = identity.hostname
    yield from section("/system identity", [command([("name", name)], "set")] if name else [])


def _clients(document: Document) -> Iterator[str]:
    """Beside uplinks the route of any other lease is behind theirs, as it is here."""
    clients = sorted(item.id for item in document.interfaces() if item.addressing == "dhcp")
    far = ways_out.leased(document)
    usual = [("default-route-distance", str(BEHIND_ALL))] if ways_out.placed(document) else []
    for name in clients:
        distance = [("default-route-distance", str(far[name]))] if name in far else usual
        yield command([("interface", name), *distance])


def _ssh(document: Document) -> Iterator[str]:
    """Only where somebody configured it: RouterOS has it on from the start, with passwords."""
    server = document.get("ssh-server", "ssh-server")
    if not isinstance(server, SshServer):
        return
    said = [("address", ",".join(server.sources)), ("port", str(server.port))]
    said.append(("disabled", "no" if server.enabled else "yes"))
    yield from section("/ip service", [command(said, "set ssh")])
    if server.enabled:
        yield from section("/ip ssh", [command([("strong-crypto", "yes")], "set")])
        why = "RouterOS asks accounts without a key for their password"
        yield f"{not_written('that ssh-server takes keys alone', why)}\n"
    if server.idle_timeout_s != SshServer().idle_timeout_s:
        yield f"{not_written('the idle timeout of ssh-server', 'RouterOS has it at its accounts')}\n"


def _reached(management: Management) -> Iterator[str]:
    """From where people and programs may come, whichever of these services RouterOS has on."""
    address = [("address", ",".join(management.sources))]
    names = (*PEOPLE, *PROGRAMS) if management.sources else ()
    yield from section("/ip service", (command(address, f"set {name}") for name in names))
    if management.certificate:
        yield f"{not_written('the certificate of management', 'its key is a secret')}\n"


# -- DHCP --------------------------------------------------------------------------------------------------


def _dhcp(document: Document) -> Iterator[str]:
    servers = sorted(document.every(DhcpServer), key=lambda item: item.id)
    served = {item.id: network_of(item, document.interface(item.interface)) for item in servers}
    known = [(item, network) for item in servers if (network := served[item.id]) is not None]
    yield from section("/ip pool", (_pool(document, item, network) for item, network in known))
    yield from section("/ip dhcp-server", (_server(document, item) for item, _ in known))
    yield from section("/ip dhcp-server network", (_told(document, item, net) for item, net in known))
    reservations = sorted(document.every(DhcpReservation), key=lambda item: item.id)
    yield from section("/ip dhcp-server lease", map(_lease, reservations))
    for item in servers:
        if served[item.id] is None:
            yield f"{not_written(f'dhcp-server {item.id}', 'its interface has no network')}\n"
        elif item.options:
            yield f"{not_written(f'dhcp-server {item.id}', 'its options')}\n"


def _pool(document: Document, item: DhcpServer, network: Network) -> str:
    interface = document.interface(item.interface)
    own = [text.partition("/")[0] for text in interface.addresses if ":" not in text] if interface else []
    spans = spans_of(item, network, tuple(int(IPv4Address(text)) for text in own))
    ranges = ",".join(f"{IPv4Address(first)}-{IPv4Address(last)}" for first, last in spans)
    return command([("name", item.id), ("ranges", ranges)])


def _server(document: Document, item: DhcpServer) -> str:
    interface = document.interface(item.interface)
    said = [("name", item.id), ("interface", item.interface), ("address-pool", item.id)]
    said += [("lease-time", time_text(item.lease_s * 1000))]
    said += [("add-arp", "yes")] if interface is not None and interface.arp == GUARDED else []
    if item.relayed is not None and item.relayed.relays:
        said.append(("relay", item.relayed.relays[0]))
    return command([*said, *common(disabled=item.disabled, comment=item.comment)])


def _told(document: Document, item: DhcpServer, network: Network) -> str:
    """RouterOS tells only what is said here."""
    said: list[Property] = [("address", str(network.network))]
    gateway = gateway_of(item, network)
    if gateway not in (None, "0.0.0.0"):
        said.append(("gateway", str(gateway)))
    asked, domain = names_told(item, network, document.single(Dns), document.interface(item.interface))
    said += [("dns-server", ",".join(asked))] if asked else []
    said += [("domain", domain)] if domain else []
    said += [("ntp-server", ",".join(item.ntp_servers))] if item.ntp_servers else []
    return command(said)


def _lease(item: DhcpReservation) -> str:
    said = [("address", item.address), ("server", item.server)]
    if item.mac is not None:
        said.append(("mac-address", item.mac.upper()))
    elif item.client_id is not None:
        said.append(("client-id", item.client_id))
    else:
        return not_written(f"dhcp-reservation {item.id}", "RouterOS reserves by no circuit id")
    said += [("block-access", "yes")] if item.block else []
    return command([*said, *common(disabled=item.disabled, comment=item.comment)])


# -- names, time, peers --------------------------------------------------------------------------------------


def _names(document: Document) -> Iterator[str]:
    dns = document.single(Dns)
    if dns == Dns():
        return
    said = [
        ("allow-remote-requests", "yes" if dns.enabled else "no"),
        ("cache-size", f"{dns.cache_mib * 1024}KiB"),
    ]
    plain = [item.address for item in dns.servers if item.tls_name is None]
    said += [("servers", ",".join(plain))] if plain else []
    yield command(said, "set")
    for item in dns.servers:
        if item.tls_name is not None:
            yield not_written(f"server {item.address}", "RouterOS does not ask by TLS")


def _records(document: Document) -> Iterator[str]:
    for item in sorted(document.every(DnsRecord), key=lambda item: item.id):
        try:
            said = [("name", item.name), ("type", item.type), *_value(item)]
        except UnsaidError as problem:
            yield not_written(f"dns-record {item.id}", str(problem))
            continue
        said += [("ttl", time_text(item.ttl_s * 1000))]
        said += [("match-subdomain", "yes")] if item.subdomains else []
        yield command([*said, *common(disabled=item.disabled, comment=item.comment)])


def _value(item: DnsRecord) -> list[Property]:
    if item.type in _VALUES:
        return [(_VALUES[item.type], item.value)]
    if item.type == "MX":
        preference, _, host = item.value.partition(" ")
        return [("mx-preference", preference), ("mx-exchange", host)]
    raise UnsaidError(f"records of the type {item.type} are not written")


def _forwards(document: Document) -> Iterator[str]:
    for item in sorted(document.every(DnsForward), key=lambda item: item.id):
        if not item.servers:
            yield not_written(f"dns-forward {item.id}", "it names no server")
            continue
        said = [("name", item.domain), ("type", "FWD"), ("match-subdomain", "yes")]
        said.append(("forward-to", item.servers[0].address))
        yield command([*said, *common(disabled=item.disabled, comment=item.comment)])
        if len(item.servers) > 1 or item.servers[0].tls_name is not None:
            yield not_written(f"dns-forward {item.id}", "all but its first server, and TLS")


def _time(document: Document) -> Iterator[str]:
    """Only where somebody configured it: what follows from nothing is no change when it is read back."""
    ntp = document.get("ntp", "ntp")
    if isinstance(ntp, Ntp) and ntp.enabled and ntp.servers:
        servers = ",".join(server.address for server in ntp.servers)
        yield command([("enabled", "yes"), ("servers", servers)], "set")


def _peers(document: Document) -> Iterator[str]:
    for item in sorted(document.every(WireguardPeer), key=lambda item: item.id):
        if not is_written(document, item.interface):
            continue
        said = [("name", item.id), ("interface", item.interface), ("public-key", item.public_key or "")]
        said.append(("allowed-address", ",".join(item.allowed_ips)))
        if item.endpoint is not None:
            host, _, port = item.endpoint.rpartition(":")
            said += [("endpoint-address", host.strip("[]")), ("endpoint-port", port)]
        if item.keepalive_s:
            said.append(("persistent-keepalive", time_text(item.keepalive_s * 1000)))
        yield command([*said, *common(disabled=item.disabled, comment=item.comment)])
        if item.preshared_key is not None:
            yield not_written(f"wireguard-peer {item.id}", "its preshared key, which is a secret")
