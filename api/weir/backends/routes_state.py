# SPDX-License-Identifier: Apache-2.0
"""What FRR and the kernel hold of the static routes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Self

from weir.adapters.route_messages import Entry, KernelRoute, Place


@dataclass(frozen=True, slots=True)
class RoutesState:
    """FRR's lines; its routes in the kernel and our copies of them; whether FRR has run for a while."""

    lines: Set[str]
    installed: Mapping[Place, KernelRoute]
    copies: Mapping[Place, KernelRoute]
    settled: bool
    judged: Collection[Place]
    """Where the two have to be compared: everywhere, or where they were found to differ."""
    own: Mapping[Place, tuple[Entry, ...]] = field(default_factory=dict)
    """The kernel's, without FRR."""
    ready: Set[str] = frozenset()
    """The interfaces that are up and have a link."""

    @classmethod
    def whole(
        cls, lines: Set[str], installed: Iterable[KernelRoute], copies: Iterable[KernelRoute], settled: bool
    ) -> Self:
        of_frr, ours = {route.place: route for route in installed}, {route.place: route for route in copies}
        return cls(lines, of_frr, ours, settled, of_frr.keys() | ours.keys())
