# SPDX-License-Identifier: Apache-2.0
"""What the name service is asked for: how it works, and an entry for each record, split domain and list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.dns import Dns, serving
from weir.kinds.dns_block_list import DnsBlockList
from weir.kinds.dns_forward import DnsForward
from weir.kinds.dns_record import DnsRecord, aliases
from weir.kinds.dns_upstream import DnsUpstream
from weir.model.address import split_address
from weir.model.dns_values import is_within, parent_of, reverse_name, value_text
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """`addresses` are the router's own on which it answers, `networks` who may ask. `lease_domains` are DHCP
    servers with the domain in which their leases have names, `lease_domains_6` those of IPv6; `domains` are
    all local ones."""

    addresses: tuple[str, ...]
    networks: tuple[str, ...]
    servers: tuple[DnsUpstream, ...]
    domain: str
    domains: tuple[str, ...]
    lease_domains: tuple[tuple[str, str], ...]
    lease_domains_6: tuple[tuple[str, str], ...]
    rebind_protection: bool
    private_domains: tuple[str, ...]
    dnssec: bool
    cache_mib: int

    @property
    def name(self) -> str:
        return "service"


@dataclass(frozen=True, slots=True)
class RecordSpec:
    """`lines` are records in the form of zone files; an alias of a lease has none, and `follows` its name."""

    id: str
    owner: str
    type: str
    lines: tuple[str, ...]
    subdomains: bool = False
    follows: str | None = None
    ttl_s: int = 0

    @property
    def name(self) -> str:
        return f"record {self.id}"


@dataclass(frozen=True, slots=True)
class ForwardSpec:
    """One split domain."""

    id: str
    domain: str
    servers: tuple[DnsUpstream, ...]
    dnssec: bool

    @property
    def name(self) -> str:
        return f"split domain {self.id}"


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """One block list."""

    id: str
    domains: tuple[str, ...]
    allowed: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"block list {self.id}"


Spec = ServiceSpec | RecordSpec | ForwardSpec | BlockSpec
Wanted = Mapping[str, Spec]
T = TypeVar("T", bound=ConfigObject)
_WORDS = {"dns-record": "record", "dns-forward": "split domain", "dns-block-list": "block list"}


class DnsPart(EntriesPart[Spec]):
    """Empty while the name service is off."""

    name, what = "dns", "DNS"
    made_of = frozenset(("dns", *_WORDS, "dhcp-server", "dhcpv6-server", "interface"))
    after = ("network", "bridges", "routes")

    def key(self, entry: Spec) -> str:
        return entry.name

    def wanted(self, document: Document) -> Wanted:
        dns = document.single(Dns)
        if not dns.enabled:
            return {}
        forwards = [
            ForwardSpec(item.id, item.domain, item.servers, item.dnssec)
            for item in _in_order(document, DnsForward)
        ]
        service = _service(dns, document)
        entries: list[Spec] = [service, *forwards, *_records(document, service, forwards)]
        entries += [
            BlockSpec(item.id, item.domains, item.allowed) for item in _in_order(document, DnsBlockList)
        ]
        return {entry.name: entry for entry in entries}

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        key = "service" if item.kind == "dns" else f"{_WORDS.get(item.kind)} {item.id}"
        found = wanted.get(key)
        if found is not None:
            yield self.text(None, found)

    def text(self, old: Spec | None, new: Spec) -> str:
        if isinstance(new, ServiceSpec):
            where = ", ".join(new.addresses) or "no address of a LAN"
            whom = ", ".join(server.address for server in new.servers) or "the root servers"
            return f"service on {where}, which asks {whom}"
        if isinstance(new, RecordSpec):
            return f"record {'; '.join(new.lines) or f'{new.owner} as the lease of {new.follows}'}"
        if isinstance(new, ForwardSpec):
            return f"{new.domain} asked of {', '.join(server.address for server in new.servers)}"
        return f"block list {new.id} of {len(new.domains):,} domains"


def service_of(wanted: Wanted) -> ServiceSpec | None:
    found = wanted.get("service")
    return found if isinstance(found, ServiceSpec) else None


def records_of(wanted: Wanted) -> list[RecordSpec]:
    return [spec for spec in wanted.values() if isinstance(spec, RecordSpec)]


def wildcards(wanted: Wanted) -> list[str]:
    """Names whose records answer for every name below them that has no record of its own."""
    return [record.owner for record in records_of(wanted) if record.subdomains and record.lines]


def is_below(name: str, domains: Iterable[str]) -> bool:
    return any(name != domain and is_within(name, domain) for domain in domains)


def forwards_of(wanted: Wanted) -> list[ForwardSpec]:
    return [spec for spec in wanted.values() if isinstance(spec, ForwardSpec)]


def blocks_of(wanted: Wanted) -> list[BlockSpec]:
    return [spec for spec in wanted.values() if isinstance(spec, BlockSpec)]


def _in_order(document: Document, of: type[T]) -> list[T]:
    """The enabled ones, by id."""
    enabled = (item for item in document.every(of) if not getattr(item, "disabled", False))
    return sorted(enabled, key=lambda item: item.id)


def _service(dns: Dns, document: Document) -> ServiceSpec:
    interfaces = serving(document)
    addresses = [text for item in interfaces for text in item.addresses]
    networks = [split_address(text)[1].text for text in addresses]
    leases = _lease_domains(dns, document.every(DhcpServer))
    leases_6 = _lease_domains(dns, document.every(Dhcpv6Server))
    return ServiceSpec(
        tuple(dict.fromkeys(split_address(text)[0] for text in addresses)),
        tuple(dict.fromkeys((*networks, *dns.serve_to))),
        dns.servers,
        dns.domain,
        tuple(dict.fromkeys((dns.domain, *(domain for _, domain in (*leases, *leases_6))))),
        leases,
        leases_6,
        dns.rebind_protection,
        dns.private_domains,
        dns.dnssec,
        dns.cache_mib,
    )


def _lease_domains(dns: Dns, servers: Iterable[DhcpServer | Dhcpv6Server]) -> tuple[tuple[str, str], ...]:
    if not dns.leases_as_names:
        return ()
    return tuple(sorted((item.id, item.domain or dns.domain) for item in servers))


def _records(document: Document, service: ServiceSpec, forwards: list[ForwardSpec]) -> Iterator[RecordSpec]:
    domain = service.domain
    items = _in_order(document, DnsRecord)
    alias_of = aliases(document)
    held: dict[str, list[DnsRecord]] = {}
    for item in items:
        held.setdefault(item.owner(domain), []).append(item)
    named: set[str] = {item.owner(domain) for item in items if item.type in ("PTR", "CNAME")}
    for item in items:
        if item.type == "CNAME":
            yield _alias(item, service, forwards, alias_of, held)
            continue
        lines = [_line(item.owner(domain), item, domain)]
        if item.type in ("A", "AAAA") and reverse_name(item.value) not in named:
            named.add(reverse_name(item.value))
            lines.append(f"{reverse_name(item.value)}. {item.ttl_s} IN PTR {item.owner(domain)}.")
        yield RecordSpec(item.id, item.owner(domain), item.type, tuple(lines), item.subdomains)


def _alias(
    item: DnsRecord,
    service: ServiceSpec,
    forwards: list[ForwardSpec],
    alias_of: Mapping[str, str],
    held: Mapping[str, list[DnsRecord]],
) -> RecordSpec:
    """unbound does not look among local names for what an alias stands for, so that is done here: an alias
    of a local name has the records of that name, one of a lease follows it, any other is an alias."""
    owner = item.owner(service.domain)
    name, seen = alias_of[owner], {owner}
    while name in alias_of and name not in seen:
        seen.add(name)
        name = alias_of[name]
    targets = [other for other in held.get(name, ()) if other.type != "CNAME"]
    above = name
    while not targets and above not in held and (above := parent_of(above)):
        targets = [other for other in held.get(above, ()) if other.subdomains and other.type != "CNAME"]
    if targets:
        lines = tuple(_line(owner, other, service.domain) for other in targets)
        return RecordSpec(item.id, owner, item.type, lines, item.subdomains)
    is_local = any(is_within(name, domain) for domain in service.domains)
    if is_local and not any(is_within(name, forward.domain) for forward in forwards):
        return RecordSpec(item.id, owner, item.type, (), item.subdomains, name, item.ttl_s)
    return RecordSpec(item.id, owner, item.type, (f"{owner}. {item.ttl_s} IN CNAME {name}.",), True)


def _line(owner: str, item: DnsRecord, domain: str) -> str:
    return f"{owner}. {item.ttl_s} IN {item.type} {value_text(item.type, item.value, domain)}"


DNS = DnsPart()
