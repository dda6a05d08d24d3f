# SPDX-License-Identifier: Apache-2.0
"""Which ports of bridges let no answer of a DHCP server in: one table of nftables, replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from weir.adapters import dhcp_snooping, nft
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.parts.delta import Step
from weir.parts.dhcp_snooping import SnoopedBridge
from weir.parts.effect import Effect
from weir.parts.explained import Line

Wanted = Mapping[str, SnoopedBridge]


@dataclass(frozen=True, slots=True)
class SnoopingDifference:
    """The table as it is and as it has to be for these ports, "" = none."""

    held: str
    wanted: str
    ports: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.held != self.wanted

    def steps(self) -> Sequence[Step]:
        if not self:
            return []
        words = f"by {' '.join(self.ports) or 'no port'} no DHCP server's answers come in"
        return [step("dhcp-snooping", "change" if self.wanted else "remove", "table", words)]


class DhcpSnoopingBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("firewall",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self) -> None:
        self._learnt: tuple[tuple[str, ...], str] = (), ""

    def read(self) -> str:
        return dhcp_snooping.held(nft.ruleset())

    def diff(self, held: str, wanted: Wanted) -> SnoopingDifference:
        ports = tuple(sorted(name for item in wanted.values() for name in item.untrusted))
        return SnoopingDifference(held, self._expected(ports), ports)

    def _expected(self, ports: tuple[str, ...]) -> str:
        """How nft prints a table depends on its version; it is asked once for the same ports."""
        if self._learnt[0] != ports:
            self._learnt = ports, dhcp_snooping.expected(ports) if ports else ""
        return self._learnt[1]

    def apply(self, difference: SnoopingDifference) -> None:
        dhcp_snooping.apply(difference.ports)

    def verify(self, difference: SnoopingDifference) -> None:
        if self.read() != difference.wanted:
            refuse("dhcp-snooping", [f"the table {nft.BRIDGE} {dhcp_snooping.TABLE} is another"])

    def effects(self, look: Look[str, Wanted, SnoopingDifference]) -> Iterator[Effect]:
        return iter(())

    def explain(
        self, found: Comparison[str, Wanted, SnoopingDifference], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        for text in told:
            words = "the table is another" if found.difference else "it is so"
            yield Line("bridge.dhcp_snooping", text, words, not found.difference)
