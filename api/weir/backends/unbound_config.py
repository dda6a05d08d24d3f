# SPDX-License-Identifier: Apache-2.0
"""unbound's configuration for what the name service is asked for (unbound.conf(5))."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from weir.kinds.dns_upstream import DnsUpstream
from weir.parts.dns import (
    ForwardSpec,
    RecordSpec,
    ServiceSpec,
    Spec,
    blocks_of,
    forwards_of,
    is_below,
    records_of,
    service_of,
    wildcards,
)

LEASES = "leases.conf"
"""Names of leases: a file that is kept beside the configuration, and read with it."""
_IDENTITY = "  identity: "
_MIB = 1 << 20
PRIVATE = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8", "0.0.0.0/8"),
    *("100.64.0.0/10", "fc00::/7", "fe80::/10", "::1/128", "::/128", "::ffff:0:0/96"),
)
"""Addresses that an answer from outside does not have (RFC 6890)."""
ANCHORS = (
    ". IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D",
    ". IN DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16",
)
"""The keys of the root, of 2017 and of 2024 (IANA's root-anchors.xml)."""


def config_text(wanted: Mapping[str, Spec], socket: Path, ca_bundle: Path) -> str:
    """The whole file. Its digest is what unbound calls its identity, which it tells the agent and nobody
    else."""
    service = service_of(wanted)
    if service is None:
        return ""
    lines = [
        *_server(service, socket, ca_bundle),
        *_zones(service, wanted),
        *("remote-control:", "  control-enable: yes", f'  control-interface: "{socket}"'),
        "  control-use-cert: no",
        *(line for forward in forwards_of(wanted) for line in _forward(forward.domain, forward.servers)),
        *_forward(".", service.servers),
    ]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    lines.insert(1, f'{_IDENTITY}"{digest}"')
    return "\n".join(lines) + "\n"


def identity_of(text: str) -> str | None:
    """The digest in a configuration; None without one."""
    found = (line for line in text.splitlines() if line.startswith(_IDENTITY))
    return next((line.removeprefix(_IDENTITY).strip('"') for line in found), None)


def listening_of(text: str) -> list[str]:
    """What unbound takes at its start only: on which addresses it answers."""
    return [line for line in text.splitlines() if line.startswith("  interface: ")]


def cache_of(text: str) -> list[str]:
    """With other values of these its memory starts empty."""
    names = ("  msg-cache-size: ", "  rrset-cache-size: ", "  module-config: ")
    return [line for line in text.splitlines() if line.startswith(names)]


def _server(service: ServiceSpec, socket: Path, ca_bundle: Path) -> Iterator[str]:
    yield "server:"
    yield from (
        *("  hide-identity: yes", "  hide-version: yes", '  username: ""', '  chroot: ""', '  pidfile: ""'),
        *(f'  directory: "{socket.parent}"', "  use-syslog: no", '  logfile: ""', "  verbosity: 0"),
        *("  num-threads: 1", "  ip-freebind: yes", "  prefetch: yes", "  minimal-responses: yes"),
        f"  msg-cache-size: {service.cache_mib * _MIB // 3}",
        f"  rrset-cache-size: {service.cache_mib * _MIB * 2 // 3}",
        f'  module-config: "{"validator " * service.dnssec}iterator"',
        f'  tls-cert-bundle: "{ca_bundle}"',
    )
    yield from (f"  interface: {address}" for address in ("127.0.0.1", *service.addresses))
    # Who is not named gets no answer at all, not even a refusal.
    yield from (f"  access-control: {network} deny" for network in ("0.0.0.0/0", "::0/0"))
    yield from (f"  access-control: {network} allow" for network in ("127.0.0.0/8", *service.networks))
    if service.rebind_protection:
        yield from (f"  private-address: {network}" for network in PRIVATE)
    if service.dnssec:
        yield from (f'  trust-anchor: "{anchor}"' for anchor in ANCHORS)
    # A pattern: a file that is not there is no error then.
    yield f'  include: "{socket.parent}/[{LEASES[0]}]{LEASES[1:]}"'


def _zones(service: ServiceSpec, wanted: Mapping[str, Spec]) -> Iterator[str]:
    """What is answered from here. Of two zones of one name the first here stands: what people wrote of a name
    is before the domain that it is in, and that before lists of what does not exist."""
    forwards, records = forwards_of(wanted), records_of(wanted)
    yield from _own_domains(service, forwards)
    zones: dict[str, str] = {}
    above = wildcards(wanted)
    zones.update(dict.fromkeys(above, "redirect"))
    for record in records:
        if record.owner not in zones and is_below(record.owner, above):
            zones[record.owner] = "transparent"
    for forward in forwards:
        zones.setdefault(forward.domain, "transparent")
    for domain in service.domains:
        zones.setdefault(domain, "static" if domain == service.domain else "transparent")
    for block in blocks_of(wanted):
        zones.update({name: "transparent" for name in block.allowed if name not in zones})
    blocked = {name: "always_nxdomain" for block in blocks_of(wanted) for name in block.domains}
    for record in records:
        if _is_blocked(record.owner, blocked) and record.owner not in zones:
            zones[record.owner] = "transparent"
    zones = {**blocked, **zones}
    yield from (f'  local-zone: "{name}." {kind}' for name, kind in zones.items())
    yield from _data(records)


def _own_domains(service: ServiceSpec, forwards: Iterable[ForwardSpec]) -> Iterator[str]:
    """Domains whose names may have private addresses, and need no signatures."""
    private = dict.fromkeys((*service.domains, *service.private_domains, *(item.domain for item in forwards)))
    if service.rebind_protection:
        yield from (f'  private-domain: "{domain}"' for domain in private)
    if service.dnssec:
        yield from (f'  domain-insecure: "{item.domain}"' for item in forwards if not item.dnssec)


def _data(records: Iterable[RecordSpec]) -> Iterator[str]:
    for record in records:
        yield from (f"  local-data: '{line}'" for line in record.lines)


def _is_blocked(name: str, blocked: Mapping[str, str]) -> bool:
    labels = name.split(".")
    return any(".".join(labels[start:]) in blocked for start in range(len(labels)))


def _forward(domain: str, servers: Iterable[DnsUpstream]) -> Iterator[str]:
    told = [
        f"  forward-addr: {server.address}@{server.used_port}"
        + (f"#{server.tls_name}" if server.tls_name else "")
        for server in servers
    ]
    if told:
        yield from ("forward-zone:", f'  name: "{domain.removesuffix(".")}."', *told)
        if any("#" in line for line in told):
            yield "  forward-tls-upstream: yes"
