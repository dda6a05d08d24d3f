# SPDX-License-Identifier: Apache-2.0
"""What fetched sets hold now, as the stages of sets and rules ask for it. Not thread-safe: it is changed with
the lock of the configuration held."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from weir.model.prefix_groups import Groups
from weir.parts.fetched import FetchedSpec
from weir.parts.firewall import FIREWALL
from weir.parts.head import Head
from weir.parts.sets import SETS, Contents

SLICE = 2000
"""Networks that are put in or taken out at once: a commit waits 0.1 s for them at most, and for 100,000 some
0.6 s."""

Parts = tuple[str, ...]


@dataclass(slots=True)
class _Held:
    origin: str
    heads: dict[Head, dict[bytes, int]] = field(default_factory=dict)


class FetchedSets:
    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def begin(self, set_id: str, origin: str, groups: Groups) -> None:
        """What was kept: all of it is there before anything else is."""
        self._held[set_id] = _Held(origin, _by_head(set_id, groups))

    def forget(self, set_id: str) -> None:
        """It is configured no more; one that is called so later has nothing of it."""
        self._held.pop(set_id, None)

    def contents(self, specs: Mapping[str, FetchedSpec]) -> Contents:
        """By the kernel's sets; those that are being emptied are among them."""
        return {
            head: networks
            for name, spec in specs.items()
            if (held := self._held.get(name)) is not None and held.origin == spec.origin
            for head, networks in held.heads.items()
        }

    def looked_at(self, specs: Mapping[str, FetchedSpec]) -> Collection[Head]:
        """Those that rules look at."""
        return [head for head, networks in self.contents(specs).items() if networks]

    def count(self, spec: FetchedSpec) -> int:
        return sum(map(len, self.contents({spec.id: spec}).values()))

    def holds(self, spec: FetchedSpec, groups: Groups) -> bool:
        """Whether these are what the set has."""
        held = self.contents({spec.id: spec})
        wanted = _by_head(spec.id, groups)
        return held.keys() == wanted.keys() and all(held[head] == wanted[head] for head in held)

    def steps(self, spec: FetchedSpec, groups: Groups) -> Iterator[Parts]:
        """Leads to another content in slices; each step names the parts that have to follow it. What both
        have is there all the time, and nothing goes before all that comes has come."""
        held = self._held.get(spec.id)
        if held is None or held.origin != spec.origin:
            held = self._held[spec.id] = _Held(spec.origin)
        wanted = _by_head(spec.id, groups)
        for head, networks in wanted.items():
            missing = [key for key in networks if key not in held.heads.get(head, {})]
            for first in range(0, len(missing), SLICE):
                before = held.heads.get(head)
                more = dict.fromkeys(missing[first : first + SLICE], 1)
                held.heads[head] = more if before is None else {**before, **more}
                yield (SETS.name,) if before else (SETS.name, FIREWALL.name)
        for head in list(held.heads):
            left = [key for key in held.heads[head] if key not in wanted.get(head, {})]
            for first in range(0, len(left), SLICE):
                gone = set(left[first : first + SLICE])
                held.heads[head] = {key: 1 for key in held.heads[head] if key not in gone}
                yield (SETS.name,)
        if held.heads.keys() != wanted.keys():
            yield (FIREWALL.name,)  # a set that a rule looks at cannot go
            held.heads = {head: networks for head, networks in held.heads.items() if head in wanted}
            yield (SETS.name,)


def _by_head(set_id: str, groups: Groups) -> dict[Head, dict[bytes, int]]:
    return {
        Head(set_id, "ipv6_addr" if shape.family == 6 else "ipv4_addr", shape.length): dict.fromkeys(
            networks, 1
        )
        for shape, networks in groups.items()
    }
