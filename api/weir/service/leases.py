# SPDX-License-Identifier: Apache-2.0
"""The leases that this router's DHCP servers gave. The agent has them; nothing is kept here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.wire.client import AgentClient


@dataclass(frozen=True, slots=True)
class GivenLease:
    """`expires_ms` since 1970; `interface` the one that the client is behind, None behind relay agents;
    `reservation` the one of this address, None without one; `network` the one of an address, `gateway` where
    a prefix is routed to, `origin` whose part either is."""

    address: str
    mac: str | None
    hostname: str | None
    client_id: str | None
    expires_ms: int
    server: str
    interface: str | None
    reservation: str | None
    network: str | None
    gateway: str | None
    origin: str | None


class LeaseService:
    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    @requires("config.read")
    def page(self, _by: Principal, words: str, start: int, limit: int) -> tuple[list[GivenLease], int]:
        """Leases from number `start` on, by address, and how many there are. `words` is a part of address,
        MAC or host name. Raises `Unavailable`."""
        answer = self._agent.call("leases", {"words": words, "start": start, "limit": limit})
        return [lease_of(item) for item in answer["leases"]], int(answer["total"])


def lease_of(item: Mapping[str, Any]) -> GivenLease:
    """As the agent tells of it."""
    return GivenLease(**{name: item[name] for name in GivenLease.__slots__})
