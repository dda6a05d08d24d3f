# SPDX-License-Identifier: Apache-2.0
"""Queue types and queues. Reading them back into the same document gives the same objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from weir.formats.routeros.writing.script import command, section, time_text, window_text
from weir.formats.tree import parents_first
from weir.model.document import Document
from weir.model.objects import (
    DEFAULT_BUCKET,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE_TYPE,
    NO_TOTAL,
    ZERO,
    Pair,
    Queue,
    QueueType,
    Total,
)

_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


def lines(document: Document) -> Iterator[str]:
    """Parents come before their children, as RouterOS needs them, and siblings in their order."""
    types = (item for item in document.of_kind("queue-type").values() if isinstance(item, QueueType))
    yield from section("/queue type", (_type_line(item) for item in sorted(types, key=lambda item: item.id)))
    names = _unique_names(document.queues())
    yield from section("/queue simple", (_queue_line(queue, names) for queue in parents_first(document)))


def _unique_names(queues: Iterable[Queue]) -> dict[str, str]:
    """Names by id; RouterOS refuses a name twice, so further queues of a name carry their id as well."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for queue_id, name in sorted((queue.id, queue.name) for queue in queues):
        names[queue_id] = name if name not in taken else f"{name} ({queue_id})"
        taken.add(names[queue_id])
    return names


def _type_line(item: QueueType) -> str:
    properties = [("kind", item.type), ("name", item.id), *item.options]
    return command(properties)


def _queue_line(queue: Queue, names: dict[str, str]) -> str:
    pairs = (
        ("limit-at", queue.limit_at_bps, ZERO, rate_text),
        ("max-limit", queue.max_limit_bps, ZERO, rate_text),
        ("burst-limit", queue.burst_limit_bps, ZERO, rate_text),
        ("burst-threshold", queue.burst_threshold_bps, ZERO, rate_text),
        ("burst-time", queue.burst_time_ms, ZERO, time_text),
        ("bucket-size", queue.bucket_size_ms, DEFAULT_BUCKET, _seconds_text),
        ("priority", queue.priority, DEFAULT_PRIORITY, str),
    )
    properties = [("name", names[queue.id]), ("target", ",".join(queue.target))]
    properties.extend((key, _pair(pair, show)) for key, pair, default, show in pairs if pair != default)
    if queue.queue_type != DEFAULT_QUEUE_TYPE:
        properties.append(("queue", f"{queue.queue_type.upload}/{queue.queue_type.download}"))
    if queue.dst is not None:
        properties.append(("dst", queue.dst))
    if queue.parent is not None and queue.parent in names:
        properties.append(("parent", names[queue.parent]))
    if queue.time is not None:
        properties.append(("time", window_text(queue.time)))
    if queue.comment:
        properties.append(("comment", queue.comment))
    if queue.disabled:
        properties.append(("disabled", "yes"))
    properties.extend(_total_properties(queue.total))
    return command(properties)


def _total_properties(total: Total) -> Iterator[tuple[str, str]]:
    shown = (
        ("max-limit", total.max_limit_bps, NO_TOTAL.max_limit_bps, rate_text),
        ("limit-at", total.limit_at_bps, NO_TOTAL.limit_at_bps, rate_text),
        ("burst-limit", total.burst_limit_bps, NO_TOTAL.burst_limit_bps, rate_text),
        ("burst-threshold", total.burst_threshold_bps, NO_TOTAL.burst_threshold_bps, rate_text),
        ("burst-time", total.burst_time_ms, NO_TOTAL.burst_time_ms, time_text),
        ("bucket-size", total.bucket_size_ms, NO_TOTAL.bucket_size_ms, _seconds_text),
        ("priority", total.priority, NO_TOTAL.priority, str),
    )
    for key, value, default, show in shown:
        if value != default:
            yield f"total-{key}", show(value)
    if total.queue_type != NO_TOTAL.queue_type:
        yield "total-queue", total.queue_type


def _pair(pair: Pair[int], show: Callable[[int], str]) -> str:
    return f"{show(pair.upload)}/{show(pair.download)}"


def rate_text(rate_bps: int) -> str:
    """The shortest exact form: `10M`, `1500k`, `64`."""
    for unit, letter in _UNITS:
        if rate_bps and rate_bps % unit == 0:
            return f"{rate_bps // unit}{letter}"
    return str(rate_bps)


def _seconds_text(time_ms: int) -> str:
    return f"{time_ms / 1000:g}" if time_ms % 1000 else str(time_ms // 1000)
