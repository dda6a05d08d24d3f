# SPDX-License-Identifier: Apache-2.0
"""Queue types and queues as a RouterOS v7 export.

Parents come before their children, as RouterOS needs them, and siblings in their order. Reading the text back
into the same document gives the same objects. Text outside ASCII becomes `\\HH` bytes of UTF-8, as
RouterOS writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from weir.formats.tree import parents_first
from weir.model.document import Document
from weir.model.limits import DAYS, MINUTES_PER_DAY
from weir.model.objects import (
    DEFAULT_BUCKET,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE_TYPE,
    NO_TOTAL,
    ZERO,
    Pair,
    Queue,
    QueueType,
    TimeWindow,
    Total,
)

_PLAIN = re.compile(r"[A-Za-z0-9_.:,/-]+")
_SPECIAL = {'"': '\\"', "\\": "\\\\", "$": "\\$", "?": "\\?", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_WEEK = ("sun", *(day for day in DAYS if day != "sun"))


def write(document: Document) -> str:
    """As `written`, in one piece."""
    return "".join(written(document))


def written(document: Document) -> Iterator[str]:
    """The queue types and queues of `document`, line by line; other kinds have no place in this file."""
    yield "# Written by Weir: queue types and simple queues for RouterOS 7\n/queue type\n"
    types = (item for item in document.of_kind("queue-type").values() if isinstance(item, QueueType))
    yield from (f"{_type_line(item)}\n" for item in sorted(types, key=lambda item: item.id))
    yield "/queue simple\n"
    names = _unique_names(document.queues())
    yield from (f"{_queue_line(queue, names)}\n" for queue in parents_first(document))


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
    return _command(properties)


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
        properties.append(("time", _window_text(queue.time)))
    if queue.comment:
        properties.append(("comment", queue.comment))
    if queue.disabled:
        properties.append(("disabled", "yes"))
    properties.extend(_total_properties(queue.total))
    return _command(properties)


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


def _command(properties: Iterable[tuple[str, str]]) -> str:
    return "add " + " ".join(f"{key}={_quote(value)}" for key, value in sorted(properties))


def _quote(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_character(character) for character in value) + '"'


def _character(character: str) -> str:
    special = _SPECIAL.get(character)
    if special is not None:
        return special
    if " " <= character <= "~":
        return character
    return "".join(f"\\{byte:02X}" for byte in character.encode("utf-8", "replace"))


def _pair(pair: Pair[int], show: Callable[[int], str]) -> str:
    return f"{show(pair.upload)}/{show(pair.download)}"


def rate_text(rate_bps: int) -> str:
    """The shortest exact form: `10M`, `1500k`, `64`."""
    for unit, letter in _UNITS:
        if rate_bps and rate_bps % unit == 0:
            return f"{rate_bps // unit}{letter}"
    return str(rate_bps)


def time_text(time_ms: int) -> str:
    """`10s`, `1m30s`, `1s500ms`."""
    seconds, rest_ms = divmod(time_ms, 1000)
    text = "".join(
        f"{count}{unit}"
        for count, unit in (
            (seconds // 86400, "d"),
            (seconds // 3600 % 24, "h"),
            (seconds // 60 % 60, "m"),
            (seconds % 60, "s"),
            (rest_ms, "ms"),
        )
        if count
    )
    return text or "0s"


def _seconds_text(time_ms: int) -> str:
    return f"{time_ms / 1000:g}" if time_ms % 1000 else str(time_ms // 1000)


def _window_text(window: TimeWindow) -> str:
    end = "1d" if window.end_min == MINUTES_PER_DAY else time_text(window.end_min * 60_000)
    days = ",".join(day for day in _WEEK if day in window.days)
    return f"{time_text(window.start_min * 60_000)}-{end},{days}"
