# SPDX-License-Identifier: Apache-2.0
"""The names of hosts with a DHCP lease, in the name service: each as its host comes, without a commit.

What clients say that they are called is theirs to choose, so little is believed of it: it becomes one label
of letters, digits and dashes, no name that programs trust without asking, and takes nobody else's name. It
is written to a file beside unbound's, which reads it at its start, and told to the one that runs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.adapters.kea_leases import Lease
from weir.adapters.unbound import Unbound
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.dns import DnsBackend
from weir.backends.kea_config import servers_of, subnet_id
from weir.backends.unbound_config import LEASES
from weir.loop import Loop
from weir.model.dns_values import absolute, reverse_name
from weir.parts import dhcp, dns

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


class LeaseNames:
    """Follows leases from `start` until `stop`."""

    def __init__(
        self,
        leases: LeaseTable,
        resolver: DnsBackend,
        wanted: Callable[[], tuple[dns.Wanted, dhcp.Wanted, dhcp.Wanted]],
    ) -> None:
        """`wanted` is what the configuration that runs asks for of the name service and the DHCP servers."""
        self._leases = leases
        self._resolver = resolver
        self._unbound: Unbound = resolver.unbound
        self._wanted = wanted
        self._file = self._unbound.control / LEASES
        self._given: Names | None = None
        """What the running unbound has; None: not known."""
        self._seen: tuple[Any, ...] = ()
        self._owners: Mapping[str, str] = {}
        """From names to the address that has them, so that nobody takes another's."""
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
        services, direct, relayed = self._wanted()
        if dns.service_of(services) is None or not self._file.parent.is_dir():
            self._given, self._seen, self._resolver.lease_names = None, (), 0
            return
        seen = (services, direct, relayed, self._leases.version())
        if self._given is not None and self._is_seen(seen):
            return
        servers = {**direct, **relayed}
        hosts = named(self._leases.held().values(), servers, services, self._owners)
        self._owners = hosts
        names = records(hosts, services)
        written = _read(self._file)
        if names != written:
            _write(self._file, names)
        self._tell(written, self._given, names, {record.owner for record in dns.records_of(services)})
        self._given, self._seen, self._resolver.lease_names = names, seen, len(hosts)

    def _is_seen(self, seen: tuple[Any, ...]) -> bool:
        return len(self._seen) == len(seen) and all(
            new is old or (isinstance(new, int) and new == old)
            for new, old in zip(seen, self._seen, strict=True)
        )

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


def named(
    leases: Iterable[Lease], servers: dhcp.Wanted, services: dns.Wanted, owners: Mapping[str, str]
) -> dict[str, str]:
    """From the names of hosts to their addresses. A reservation's name is before what clients say; of two
    clients the one that had the name keeps it (`owners`). Names of records are not among them."""
    service = dns.service_of(services)
    domains = dict(service.lease_domains) if service is not None else {}
    taken, above = {record.owner for record in dns.records_of(services)}, dns.wildcards(services)

    def is_free(name: str) -> bool:
        return name not in taken and not dns.is_below(name, above)

    found: dict[str, str] = {}
    reserved = set()
    for spec in servers.values():
        if isinstance(spec, dhcp.ReservationSpec) and spec.hostname and spec.server in domains:
            name = absolute(spec.hostname, domains[spec.server])
            reserved.add(spec.address)
            if is_free(name):
                found.setdefault(name, spec.address)
    by_subnet = {subnet_id(spec.network): domains.get(spec.id) for spec in servers_of(servers)}
    asked: dict[str, list[str]] = {}
    for lease in leases:
        if lease.family != 4:
            continue
        domain, label = by_subnet.get(lease.subnet_id), label_of(lease.hostname)
        if domain and label and lease.address not in reserved:
            asked.setdefault(f"{label}.{domain}", []).append(lease.address)
    for name, addresses in asked.items():
        if name not in found and is_free(name):
            found[name] = owners[name] if owners.get(name) in addresses else addresses[0]
    return found


def label_of(hostname: str) -> str | None:
    """What a client is called: the first label of what it says, or None for what is no name of a host."""
    label = hostname.partition(".")[0].lower().replace("_", "-").strip("-")
    return label if _LABEL.fullmatch(label) and label not in NOT_OF_CLIENTS else None


def records(hosts: Mapping[str, str], services: dns.Wanted) -> Names:
    """Each host's name and the name of its address, unless a record has that; and aliases of hosts."""
    items = dns.records_of(services)
    found: Names = {name: (f"{name}. {TTL_S} IN A {address}",) for name, address in hosts.items()}
    named_already = {line.partition(". ")[0] for item in items for line in item.lines}
    for name, address in hosts.items():
        reverse = reverse_name(address)
        if reverse not in named_already and reverse not in found:
            found[reverse] = (f"{reverse}. {TTL_S} IN PTR {name}.",)
    for item in items:
        if item.follows is not None and item.follows in hosts:
            found[item.owner] = (f"{item.owner}. {TTL_S} IN A {hosts[item.follows]}",)
    return found


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
