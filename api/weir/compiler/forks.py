# SPDX-License-Identifier: Apache-2.0
"""Queues with a `dst`: which of several queues with one target takes a packet (docs/adr/0014).

An *answer* says who may take the packets of a prefix: queue ids, the best rank first, up to the first without
a `dst`. An answer of one queue without `dst` is that queue's class; any other is a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from weir.compiler.clocks import UNLIMITED
from weir.compiler.types import NO_SLOT, ClassSpec, FarEntry, fork_id
from weir.model.claims import last_inside
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.prefix import Prefix, looks_like_prefix, parse_prefix

Answer = tuple[str, ...]
R = TypeVar("R", int, tuple[tuple[float, str], ...])

NOBODY: Answer = ()
FORK_DEPTH = MAX_QUEUE_LEVELS + 1
"""After every class that a fork leads to."""

INTERFACE = 0
_END_BYTES = 16


@dataclass(frozen=True, slots=True)
class Ranking:
    """What an answer is made with: every queue's rank, and the `dst` of those that have one."""

    rank: Callable[[str], object]
    dst: Mapping[str, str]

    def merged(self, own: Sequence[str], outer: Answer) -> Answer:
        """Who may take packets that both match, best first, ending with the first that takes all."""
        if len(own) == 1 and not outer:
            return (own[0],)
        found: list[str] = []
        for queue_id in sorted({*own, *outer}, key=self.rank):  # type: ignore[arg-type]
            found.append(queue_id)
            if queue_id not in self.dst:
                break
        return tuple(found)

    def is_fork(self, answer: Answer) -> bool:
        return bool(answer) and answer[0] in self.dst


def answers(
    in_order: Iterable[int], claimants: Callable[[int], Sequence[str]], ranking: Ranking, outermost: Answer
) -> Iterator[tuple[int, Answer | None]]:
    """For prefixes in address order: their answer, or None where what covers them gives the same."""
    open_around: list[tuple[int, Answer]] = []
    for packed in in_order:
        while open_around and open_around[-1][0] < packed:
            open_around.pop()
        outer = open_around[-1][1] if open_around else outermost
        found = ranking.merged(claimants(packed), outer)
        end = last_inside(packed)
        if end != packed:
            open_around.append((end, found))
        yield packed, None if found == outer else found


def narrower(within: str | None, own: str | None) -> str | None:
    """What is left of a `dst` below another. Raises `ValueError` when one table entry cannot say it: they
    have nothing in common, or one is an interface and the other a prefix."""
    if within is None or own is None or within == own:
        return own if within is None else within
    if looks_like_prefix(within) and looks_like_prefix(own):
        outer, inner = parse_prefix(within), parse_prefix(own)
        if outer.family == inner.family and outer.covers(inner):
            return own
        if outer.family == inner.family and inner.covers(outer):
            return within
    raise ValueError(f"{own} below {within}")


def fork_of(
    answer: Answer,
    dst: Mapping[str, str],
    slot_of: Callable[[str], int],
    slot_for: Callable[[str], int],
) -> ClassSpec:
    """The class of an answer that is a fork."""
    choices = list(_reached([(queue_id, dst[queue_id]) for queue_id in answer if queue_id in dst]))
    default = NO_SLOT if answer[-1] in dst else slot_of(answer[-1])
    far = tuple(
        FarEntry(*_end_of(text), slot_of(queue_id), rank) for rank, (queue_id, text) in enumerate(choices)
    )
    words = ", ".join(f"{queue_id} with {text}" for queue_id, text in choices)
    words += f", else {answer[-1]}" if default else ""
    slot = slot_for(fork_id(default, far))
    return ClassSpec(slot, words, default, FORK_DEPTH, UNLIMITED, UNLIMITED, far=far)


def _reached(choices: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Without the ends that lie in one of a better rank: no packet comes to them."""
    names: set[str] = set()
    prefixes: list[Prefix] = []
    for queue_id, text in choices:
        if not looks_like_prefix(text):
            if text not in names:
                yield queue_id, text
            names.add(text)
            continue
        prefix = parse_prefix(text)
        if not any(known.family == prefix.family and known.covers(prefix) for known in prefixes):
            yield queue_id, text
            prefixes.append(prefix)


def _end_of(text: str) -> tuple[int, bytes, int]:
    """Family, end and length, as a `FarEntry` has them."""
    if not looks_like_prefix(text):
        return INTERFACE, text.encode().ljust(_END_BYTES, b"\0"), 8 * _END_BYTES
    prefix = parse_prefix(text)
    size = 4 if prefix.family == 4 else _END_BYTES
    return prefix.family, prefix.value.to_bytes(size, "big").ljust(_END_BYTES, b"\0"), prefix.length
