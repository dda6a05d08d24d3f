# SPDX-License-Identifier: Apache-2.0
"""What makes this machine a router: switched on when all that packets have to pass is in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

SETTINGS = ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding")


@dataclass(frozen=True, slots=True)
class ForwardingDifference:
    """Settings to be switched on."""

    off: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.off)

    def steps(self) -> Sequence[Step]:
        return [step("network", "change", "setting", f"{name} = 1") for name in self.off]


class ForwardingBackend:
    """A router without interfaces is left as it is: somebody else may have switched it on."""

    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def read(self) -> Mapping[str, str | None]:
        return {name: read_sysctl(name) for name in SETTINGS}

    def diff(self, held: Mapping[str, str | None], wanted: bool) -> ForwardingDifference:
        """A kernel without IPv6 has no setting for it."""
        off = (name for name in SETTINGS if held.get(name) not in ("1", None))
        return ForwardingDifference(tuple(off) if wanted else ())

    def apply(self, difference: ForwardingDifference) -> None:
        for name in difference.off:
            write_sysctl(name, "1")

    def effects(self, look: Look[Mapping[str, str | None], bool, ForwardingDifference]) -> Iterator[Effect]:
        return iter(())  # it is switched on, and never off

    def explain(
        self,
        found: Comparison[Mapping[str, str | None], bool, ForwardingDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        for name, held in found.held.items():
            if held is not None:  # a kernel without IPv6
                yield Line(name, "1", held, name not in found.difference.off)

    def verify(self, difference: ForwardingDifference) -> None:
        held = self.read()
        refuse("network", [f"{name} is {held.get(name)}" for name in difference.off if held.get(name) != "1"])
