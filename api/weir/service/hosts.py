# SPDX-License-Identifier: Apache-2.0
"""The hosts beside the router: their addresses by interface and hardware address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.wire.client import AgentClient


@dataclass(frozen=True, slots=True)
class HostAddress:
    """One address of a host. `state` is of the kernel (RFC 4861, section 7.3.2): `reachable`, `stale` (not in
    use lately), `asking`, `failed` (no answer) or `permanent`; `confirmed_s` seconds since it last answered,
    None when it never did; `queue` the id of the queue that limits it, None for none. `name` is of its DHCP
    lease, None without one."""

    address: str
    state: str
    confirmed_s: float | None
    queue: str | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """A station on a link; without `mac` an address that nobody has answered for."""

    interface: str
    mac: str | None
    addresses: tuple[HostAddress, ...]

    @property
    def id(self) -> str:
        return f"{self.interface}/{self.mac or self.addresses[0].address}"

    @property
    def confirmed_s(self) -> float | None:
        """Seconds since any of its addresses answered."""
        return min(
            (found.confirmed_s for found in self.addresses if found.confirmed_s is not None), default=None
        )


class HostService:
    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    @requires("config.read")
    def hosts(self, _by: Principal, words: str = "") -> tuple[list[Host], int]:
        """Hosts by interface and address, and how many addresses the kernel has that are not listed.

        `words` is a part of interface, MAC, address or name, or a whole address or prefix. Raises
        `Unavailable`.
        """
        answer = self._agent.call("hosts")
        listed = answer["hosts"]
        found = [host for host in hosts_of(listed) if is_match(host, words)]
        return found, int(answer["total"]) - len(listed)


def hosts_of(listed: Iterable[dict[str, Any]]) -> list[Host]:
    """One host for all addresses that one MAC of an interface has."""
    by_station: dict[tuple[str, str], list[HostAddress]] = {}
    for item in listed:
        address = HostAddress(
            item["address"], item["state"], item["confirmed_s"], item["queue"], item["name"]
        )
        by_station.setdefault((item["interface"], item["mac"] or item["address"]), []).append(address)
    found = []
    for (interface, station), addresses in by_station.items():
        addresses.sort(key=lambda each: _order(each.address))
        mac = None if station == addresses[0].address else station
        found.append(Host(interface, mac, tuple(addresses)))
    return sorted(
        found, key=lambda host: (host.interface, host.mac is None, _order(host.addresses[0].address))
    )


def is_match(host: Host, words: str) -> bool:
    """Whether a search for `words` finds a host."""
    words = words.strip().lower()
    try:
        network = ip_network(words, strict=False)
    except ValueError:
        pass
    else:
        return any(ip_address(found.address) in network for found in host.addresses)
    addresses = (text for found in host.addresses for text in (found.address, (found.name or "").lower()))
    texts = (host.interface.lower(), host.mac or "", *addresses)
    return any(words in text for text in texts)


def _order(address: str) -> tuple[int, int]:
    """IPv4 before IPv6."""
    parsed = ip_address(address)
    return parsed.version, int(parsed)
