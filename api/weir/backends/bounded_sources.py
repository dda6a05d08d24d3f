# SPDX-License-Identifier: Apache-2.0
"""Bounded sources in the datapath, which counts for each what it let pass and dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from weir.adapters.datapath_records import BoundedSource, SourceBound, SourceKey
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.model.prefix import WIDTH, Prefix
from weir.parts.bounded_sources import Bound
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

_V4_BEFORE = bytes(10) + b"\xff\xff"
"""As the datapath has IPv4 addresses (RFC 4291, section 2.5.5.2)."""

Held = Mapping[SourceKey, BoundedSource]
Wanted = Mapping[str, Bound]


class Bounds(Protocol):
    """The part of `Datapath` that is used here."""

    def bound_sources(self, bounds: Mapping[SourceKey, SourceBound]) -> None: ...
    def bounded_sources(self) -> dict[SourceKey, BoundedSource]: ...


class Dropped(NamedTuple):
    """`id` of the object, "" where the datapath has one that nobody configured."""

    id: str
    packets: int


@dataclass(frozen=True, slots=True)
class BoundsDifference:
    wanted: Mapping[SourceKey, SourceBound]
    set: tuple[SourceKey, ...]
    gone: tuple[SourceKey, ...]

    def __bool__(self) -> bool:
        return bool(self.set or self.gone)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("bounded-sources", "change", "bounded source", _text(key)) for key in self.set),
            *(step("bounded-sources", "remove", "bounded source", _text(key)) for key in self.gone),
        ]


class BoundedSourcesBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("hooks",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, datapath: Bounds) -> None:
        self._datapath = datapath
        self._ids: Mapping[SourceKey, str] = {}
        """Of what was last wanted: whose a source is."""

    def read(self) -> Held:
        return self._datapath.bounded_sources()

    def diff(self, held: Held, wanted: Wanted) -> BoundsDifference:
        bounds = {_key(bound.source): SourceBound(bound.cost_ns, bound.burst_ns) for bound in wanted.values()}
        self._ids = {_key(bound.source): bound.id for bound in wanted.values()}
        changed = (key for key, bound in bounds.items() if key not in held or held[key].bound != bound)
        return BoundsDifference(bounds, tuple(changed), tuple(held.keys() - bounds.keys()))

    def apply(self, difference: BoundsDifference) -> None:
        self._datapath.bound_sources(difference.wanted)

    def verify(self, difference: BoundsDifference) -> None:
        held = {key: found.bound for key, found in self.read().items()}
        wrong = [f"{_text(key)} is not bounded so" for key in difference.set
                 if held.get(key) != difference.wanted[key]]  # fmt: skip
        wrong += [f"{_text(key)} is still bounded" for key in difference.gone if key in held]
        refuse("bounded-sources", wrong)

    def effects(self, look: Look[Held, Wanted, BoundsDifference]) -> Iterator[Effect]:
        return iter(())  # of others no packet is lost, and of the source what is too much is meant to be

    def explain(
        self, found: Comparison[Held, Wanted, BoundsDifference], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        bound = found.wanted.get(item.id)
        if bound is None:
            return
        held = found.held.get(_key(bound.source))
        agrees = held is not None and held.bound == SourceBound(bound.cost_ns, bound.burst_ns)
        words = f"{held.passed:,} packets taken, {held.dropped:,} dropped" if held else "it is not bounded"
        yield Line("datapath", told[0] if told else bound.source.text, words, agrees)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """What was counted, by object."""
        return {
            self._ids[key]: {"passed": found.passed, "dropped": found.dropped}
            for key, found in self.read().items()
            if key in self._ids and (ids is None or self._ids[key] in ids)
        }

    def dropped(self) -> Iterator[Dropped]:
        for key, found in self.read().items():
            yield Dropped(self._ids.get(key, ""), found.dropped)


def _key(prefix: Prefix) -> SourceKey:
    address = prefix.value.to_bytes(WIDTH[prefix.family] // 8, "big")
    if prefix.family == 4:
        return SourceKey(_V4_BEFORE + address, 96 + prefix.length)
    return SourceKey(address, prefix.length)


def _text(key: SourceKey) -> str:
    if key.bits >= 96 and key.address.startswith(_V4_BEFORE):
        return Prefix(4, int.from_bytes(key.address[12:], "big"), key.bits - 96).text
    return Prefix(6, int.from_bytes(key.address, "big"), key.bits).text
