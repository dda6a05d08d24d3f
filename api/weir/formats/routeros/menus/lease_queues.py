# SPDX-License-Identifier: Apache-2.0
"""Queues of DHCP leases: of the `rate-limit` of a static lease RouterOS makes a dynamic queue, which is in no
export (RouterOS manual, DHCP server)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from weir.formats.draft import Draft, QueueValues, read_target
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.table import Row
from weir.formats.routeros.values import rates_bps, times_ms
from weir.model.document import Document
from weir.model.objects import Pair

FIRST, LAST = "first", "bottom"
"""Of `insert-queue-before`; else the name of a queue."""
_PARTS = ("max_limit_bps", "burst_limit_bps", "burst_threshold_bps")
_USUAL_BURST_MS = Pair(1000, 1000)


class Limited(NamedTuple):
    """A lease with a limit, which became the reservation `reservation` of `server`."""

    line: LineDraft
    reservation: str
    server: str
    address: str
    limit: QueueValues


class Place(NamedTuple):
    """Where a server's leases have their queues: below `parent`, and before the queue `before`."""

    parent: str | None
    before: str


def rate_limit(value: str, row: Row) -> QueueValues | None:
    """`5M/20M 6M/25M 4M/16M 8/8`: limit, burst, threshold, time; what is received first, which is the host's
    upload. None for none, and for one that cannot be read: the lease is kept without it."""
    words = value.split()
    try:
        if len(words) > len(_PARTS) + 1:
            raise ValueError("expected at most a limit, a burst, its threshold and its time")
        pairs = [rates_bps(word).pair for word in words[: len(_PARTS)]]
        found: QueueValues = {}
        for name, pair in zip(_PARTS, pairs, strict=False):
            found[name] = pair  # type: ignore[literal-required]
        if len(pairs) > 1:
            found.setdefault("burst_threshold_bps", pairs[0])
            found["burst_time_ms"] = times_ms(words[-1]) if len(words) > len(_PARTS) else _USUAL_BURST_MS
    except ValueError as problem:
        row.warn("rate-limit", f"{row.shown('rate-limit')} is not taken: {problem}.")
        return None
    return found or None


def queues(
    limited: Iterable[Limited],
    places: Callable[[str], Place],
    disabled: Callable[[str], bool | None],
    taken: set[str],
    existing: Document,
) -> Iterator[tuple[Draft, str]]:
    """With the queue that each is before. `disabled` says whether a reservation is; None: it was left out.
    `taken` are the targets of the file's own queues; those of these are added."""
    held = {target: queue.name for queue in existing.queues() for target in queue.target}
    for item in limited:
        off, target = disabled(item.reservation), read_target(item.address, item.line)
        if off is None:
            continue
        if target in taken or held.get(target, item.address) != item.address:
            text = "Its rate-limit is not taken: a queue has this address as its target already."
            item.line.note("warning", "queue-there", text)
            continue
        taken.add(target)
        place = places(item.server)
        draft = Draft(item.line, item.address, place.parent)
        draft.values = {**item.limit, "target": (target,), "disabled": off}
        said = f"Its rate-limit is the queue {quoted(item.address)}."
        item.line.note("changed", "queue-of-lease", said)
        yield draft, place.before
