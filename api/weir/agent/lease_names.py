# SPDX-License-Identifier: Apache-2.0
"""The names of hosts with a DHCP lease, in the name service: each as its host comes, without a commit.

What clients say that they are called is theirs to choose, so little is believed of it: it becomes one label
of letters, digits and dashes, no name that programs trust without asking, and takes nobody else's name. It
is written to a file beside unbound's, which reads it at its start, and told to the one that runs.
"""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from weir.adapters import files
from weir.adapters.kea_leases import Lease
from weir.adapters.unbound import Unbound
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.dns import DnsBackend
from weir.backends.kea_config import servers_of, subnet_id
from weir.backends.unbound_config import LEASES
from weir.loop import Loop
from weir.model.dns_values import absolute, reverse_name
from weir.parts import dhcp, dhcp6, dns

log = logging.getLogger(__name__)

PERIOD_S = 1.0
TTL_S = 60
"""For so long others remember a name: a host may have another address after it."""
ANSWER_S = 2.0
NOT_OF_CLIENTS = frozenset(("localhost", "wpad", "isatap"))
"""Names by which programs find a proxy or a router without being told: no client may have them."""
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
Names = dict[str, tuple[str, ...]]
"""By name the records that it has, in the form of zone files."""
Hosts = dict[str, tuple[str, ...]]
"""By name the addresses of a host: one of IPv4, one of IPv6, or both."""


class Asked(NamedTuple):
    """What the configuration that runs asks for: of the name service, of the DHCP servers on links, of those
    behind relay agents and of those of IPv6."""

    services: dns.Wanted
    direct: dhcp.Wanted
    relayed: dhcp.Wanted
    six: dhcp6.Wanted

    @property
    def four(self) -> dhcp.Wanted:
        return {**self.direct, **self.relayed}


class LeaseNames:
    """Follows leases from `start` until `stop`."""

    def __init__(
        self,
        leases: LeaseTable,
        resolver: DnsBackend,
        wanted: Callable[[], Asked],
    ) -> None:
        self._leases = leases
        self._resolver = resolver
        self._unbound: Unbound = resolver.unbound
        self._wanted = wanted
        self._file = self._unbound.control / LEASES
        self._given: Names | None = None
        """What the running unbound has; None: not known."""
        self._seen: tuple[Any, ...] = ()
        self._owners: Hosts = {}
        """So that nobody takes another's name."""
        self._loop = Loop("lease-names", self._turn, first_s=PERIOD_S, again_s=PERIOD_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    def _turn(self) -> float:
        self.follow()
        return PERIOD_S

    def follow(self) -> None:
        """Tell unbound what came and went since the last time. Raises a `Problem`; then it is tried again."""
        asked = self._wanted()
        services = asked.services
        if dns.service_of(services) is None or not self._file.parent.is_dir():
            self._given, self._seen, self._resolver.lease_names = None, (), 0
            return
        seen = (*asked, self._leases.version())
        if self._given is not None and self._is_seen(seen):
            return
        hosts = named(self._leases.held().values(), asked, self._owners)
        self._owners = hosts
        names = records(hosts, services)
        written = _read(self._file)
        if names != written:
            _write(self._file, names)
        self._tell(written, self._given, names, {record.owner for record in dns.records_of(services)})
        self._given, self._seen, self._resolver.lease_names = names, seen, len(hosts)

    def _is_seen(self, seen: tuple[Any, ...]) -> bool:
        same = len(self._seen) == len(seen) and all(map(operator.is_, seen[:3], self._seen[:3]))
        return same and seen[3:] == self._seen[3:]

    def _tell(self, written: Names, given: Names | None, after: Names, of_records: AbstractSet[str]) -> None:
        """What changed; all of it where nobody knows what unbound was told, as it takes the same twice. Where
        a record has the name of a lease now, unbound reads its files: to remove a name takes the record, too.
        """
        before, known = (written, {}) if given is None else (given, given)
        gone = [f"{name}." for name in before if after.get(name) != before[name]]
        if any(name in of_records for name in before if name not in after):
            self._resolver.reload()
            return
        come = [line for name, lines in after.items() if known.get(name) != lines for line in lines]
        if gone:
            self._unbound.ask("local_datas_remove", ANSWER_S, gone)
        if come:
            self._unbound.ask("local_datas", ANSWER_S, come)


class _Claim(NamedTuple):
    """`mac` is empty where Kea does not know it."""

    name: str
    address: str
    mac: str
    is_reserved: bool

    @property
    def family(self) -> int:
        return 6 if ":" in self.address else 4

    def is_of_the_same_host(self, other: _Claim) -> bool:
        return (self.is_reserved and other.is_reserved) or bool(self.mac and self.mac == other.mac)


def named(
    leases: Iterable[Lease], asked: Asked, owners: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Hosts:
    """A reservation's name is before what clients say; of two clients the one that had the name keeps it
    (`owners`). A name has an address of the other family, too, where that is of the same hardware address,
    or reserved for the name as well. Names of records are not among them."""
    taken, above = {record.owner for record in dns.records_of(asked.services)}, dns.wildcards(asked.services)

    def rank(claim: _Claim) -> int:
        return 0 if claim.is_reserved else 1 if claim.address in owners.get(claim.name, ()) else 2

    found: dict[str, dict[int, _Claim]] = {}
    for claim in sorted(_claims(list(leases), asked), key=rank):
        if claim.name in taken or dns.is_below(claim.name, above):
            continue
        held = found.setdefault(claim.name, {})
        if claim.family not in held and all(map(claim.is_of_the_same_host, held.values())):
            held[claim.family] = claim
    return {name: tuple(held[family].address for family in sorted(held)) for name, held in found.items()}


def _claims(leases: list[Lease], asked: Asked) -> Iterator[_Claim]:
    """What hosts are called, each by what names it first."""
    macs = {lease.address: lease.mac.replace(":", "") for lease in leases}
    domains = _domains(asked)
    reserved = set()
    for server, by, value, address, hostname in _reservations(asked):
        domain = domains.get(server)
        if hostname and domain:
            reserved.add(address)
            mac = value.replace(":", "") if by == "hw-address" else macs.get(address, "")
            yield _Claim(absolute(hostname, domain), address, mac, True)
    served = {(4, subnet_id(spec.network)): (4, spec.id) for spec in servers_of(asked.four)}
    served |= {(6, subnet_id(spec.network)): (6, spec.id) for spec in asked.six.values() if spec.network}
    for lease in leases:
        domain = domains.get(served.get((lease.family, lease.subnet_id), (0, "")))
        label = label_of(lease.hostname)
        if domain and label and not lease.is_prefix and lease.address not in reserved:
            yield _Claim(f"{label}.{domain}", lease.address, macs[lease.address], False)


def _domains(asked: Asked) -> dict[tuple[int, str], str]:
    """In which leases have names, by the family and the server that gave them."""
    service = dns.service_of(asked.services)
    if service is None:
        return {}
    by_family = ((4, service.lease_domains), (6, service.lease_domains_6))
    return {(family, server): domain for family, domains in by_family for server, domain in domains}


def _reservations(asked: Asked) -> Iterator[tuple[tuple[int, str], str, str, str, str | None]]:
    """Of each the server, what tells the host and its value, the address and the name."""
    for spec in asked.four.values():
        if isinstance(spec, dhcp.ReservationSpec):
            yield (4, spec.server), spec.by, spec.value, spec.address, spec.hostname
    for server in asked.six.values():
        for one in server.reserved if server.network is not None else ():
            if one.end is not None:
                yield (6, server.id), one.by, one.value, server.address_of(one.end), one.hostname


def label_of(hostname: str) -> str | None:
    """What a client is called: the first label of what it says, or None for what is no name of a host."""
    label = hostname.partition(".")[0].lower().replace("_", "-").strip("-")
    return label if _LABEL.fullmatch(label) and label not in NOT_OF_CLIENTS else None


def records(hosts: Mapping[str, tuple[str, ...]], services: dns.Wanted) -> Names:
    """Each host's name and the names of its addresses, unless a record has them; and aliases of hosts."""
    items = dns.records_of(services)
    found: Names = {name: _addresses(name, addresses) for name, addresses in hosts.items()}
    named_already = {line.partition(". ")[0] for item in items for line in item.lines}
    for name, addresses in hosts.items():
        for reverse in map(reverse_name, addresses):
            if reverse not in named_already and reverse not in found:
                found[reverse] = (f"{reverse}. {TTL_S} IN PTR {name}.",)
    for item in items:
        if item.follows is not None and item.follows in hosts:
            found[item.owner] = _addresses(item.owner, hosts[item.follows])
    return found


def _addresses(name: str, addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{name}. {TTL_S} IN {'AAAA' if ':' in text else 'A'} {text}" for text in addresses)


def _read(path: Path) -> Names:
    """What was written there; nothing of a file that is not there."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    found: Names = {}
    for line in text.splitlines():
        data = line.partition("'")[2].removesuffix("'")
        if data:
            name = data.partition(". ")[0]
            found[name] = (*found.get(name, ()), data)
    return found


def _write(path: Path, names: Names) -> None:
    lines = [f"local-data: '{line}'\n" for found in names.values() for line in found]
    files.replace(path, "".join(["server:\n", *lines]).encode(), mode=0o644)
