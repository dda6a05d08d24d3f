# SPDX-License-Identifier: Apache-2.0
"""Which sets are fetched, and from where: held by the agent itself, which fetches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from weir.backends.backend import Comparison
from weir.backends.held import HeldBackend, HeldDifference
from weir.model.objects import ConfigObject
from weir.parts.explained import Line
from weir.parts.fetched import FETCHED, FetchedSpec

Specs = Mapping[str, FetchedSpec]


class FetchedBackend(HeldBackend[FetchedSpec]):
    """`told` says what became of fetching a set, and whether that is well."""

    def __init__(self) -> None:
        super().__init__(FETCHED)
        self.told: Callable[[FetchedSpec], tuple[str, bool]] = lambda spec: ("", True)

    def explain(
        self,
        found: Comparison[Specs, Specs, HeldDifference[FetchedSpec]],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        spec = found.wanted.get(item.id)
        if spec is not None:
            words, is_well = self.told(spec)
            yield Line("source", spec.said, words, is_well)
