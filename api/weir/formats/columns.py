# SPDX-License-Identifier: Apache-2.0
"""The columns of Weir's own CSV: one for each value of a queue, with the unit in its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from weir.formats.draft import Draft, QueueValues, clean_comment, distinct_targets, read_prefix, read_target
from weir.formats.quantity import priority, rate_bps, time_ms, truth
from weir.formats.report import quoted
from weir.model.limits import DAYS, INTERFACE_ID, MAX_BUCKET_SIZE_MS, MAX_BURST_TIME_MS, MINUTES_PER_DAY
from weir.model.objects import NO_TOTAL, Pair, Queue, TimeWindow, Total
from weir.model.prefix import looks_like_prefix
from weir.model.schedule import ALWAYS, window_text

_DEFAULT = Queue("default", "default")


@dataclass(frozen=True, slots=True)
class Column:
    """`show` gives a queue's cell; `read` puts a cell into a draft, raises `ValueError` or `Invalid`."""

    name: str
    show: Callable[[Queue], str]
    read: Callable[[Draft, str], None]


def values_of(queue: Queue) -> QueueValues:
    """The fields of an existing queue that a row may leave as they are."""
    return QueueValues(
        target=queue.target,
        dst=queue.dst,
        max_limit_bps=queue.max_limit_bps,
        limit_at_bps=queue.limit_at_bps,
        burst_limit_bps=queue.burst_limit_bps,
        burst_threshold_bps=queue.burst_threshold_bps,
        burst_time_ms=queue.burst_time_ms,
        priority=queue.priority,
        queue_type=queue.queue_type,
        bucket_size_ms=queue.bucket_size_ms,
        time=queue.time,
        total=queue.total,
        comment=queue.comment,
        disabled=queue.disabled,
    )


def _milliseconds(highest_ms: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else time_ms(text)
        if value > highest_ms:
            raise ValueError(f"at most {highest_ms} ms")
        return value

    return read


@lru_cache(maxsize=4096)
def _shared(upload: int | str, download: int | str) -> Pair[int | str]:
    """One object for all queues of the same values."""
    return Pair(upload, download)


def _one_direction(field: str, way: str, name: str, parse: Callable[[str], int | str]) -> Column:
    def show(queue: Queue) -> str:
        return str(getattr(getattr(queue, field), way))

    def read(draft: Draft, cell: str) -> None:
        default: Pair[int | str] = getattr(_DEFAULT, field)
        pair: Pair[int | str] = draft.values.get(field, default)  # type: ignore[assignment]
        value = parse(cell) if cell else getattr(default, way)
        if getattr(pair, way) != value:
            other = (value, pair.download) if way == "upload" else (pair.upload, value)
            draft.values[field] = _shared(other[0], other[1])  # type: ignore[literal-required]

    return Column(name, show, read)


def _both_directions(field: str, unit: str, parse: Callable[[str], int | str]) -> list[Column]:
    stem = field.removesuffix(unit)
    return [_one_direction(field, way, f"{stem}_{way}{unit}", parse) for way in ("upload", "download")]


def _of_total(field: str, parse: Callable[[str], int | str]) -> Column:
    def show(queue: Queue) -> str:
        return str(getattr(queue.total, field))

    def read(draft: Draft, cell: str) -> None:
        total = draft.values.get("total", NO_TOTAL)
        value = parse(cell) if cell else getattr(NO_TOTAL, field)
        if getattr(total, field) != value:
            draft.values["total"] = replace(total, **{field: value})  # type: ignore[arg-type]

    return Column(f"total_{field}", show, read)


def _address(text: str, read: Callable[[str], str]) -> str:
    if looks_like_prefix(text):
        return read(text)
    if INTERFACE_ID.fullmatch(text):
        return text
    raise ValueError(f"{quoted(text)} is neither a prefix nor an interface")


def _read_target(draft: Draft, cell: str) -> None:
    words = cell.replace(",", " ").split()
    draft.values["target"] = distinct_targets(
        [_address(word, lambda text: read_target(text, draft.line)) for word in words], draft.line
    )


def _read_dst(draft: Draft, cell: str) -> None:
    draft.values["dst"] = (
        _address(cell.strip(), lambda text: read_prefix(text, draft.line)) if cell.strip() else None
    )


def _show_time(queue: Queue) -> str:
    return "" if queue.time is None else window_text(queue.time)


def _read_time(draft: Draft, cell: str) -> None:
    if not cell.strip():
        draft.values["time"] = None
        return
    hours, _, names = cell.strip().partition(" ")
    start, dash, end = hours.partition("-")
    days = {name.strip().lower() for name in names.split(",") if name.strip()} or set(DAYS)
    if not dash or not days.issubset(DAYS):
        raise ValueError("expected a window such as 08:00-18:00 mon,tue")
    start_min, end_min = time_ms(start) // 60_000, time_ms(end) // 60_000
    if not start_min < end_min <= MINUTES_PER_DAY:
        raise ValueError("a window ends after it begins and by 24:00; for a night make two queues")
    window = TimeWindow(start_min, end_min, tuple(day for day in DAYS if day in days))
    draft.values["time"] = None if window == ALWAYS else window


def _read_comment(draft: Draft, cell: str) -> None:
    draft.values["comment"] = clean_comment(cell, draft.line)


def _read_disabled(draft: Draft, cell: str) -> None:
    draft.values["disabled"] = truth(cell) if cell else False


_PARSERS: dict[str, Callable[[str], int | str]] = {
    "max_limit_bps": rate_bps,
    "limit_at_bps": rate_bps,
    "burst_limit_bps": rate_bps,
    "burst_threshold_bps": rate_bps,
    "burst_time_ms": _milliseconds(MAX_BURST_TIME_MS),
    "priority": priority,
    "queue_type": str,
    "bucket_size_ms": _milliseconds(MAX_BUCKET_SIZE_MS),
}


def _columns() -> list[Column]:
    columns = [
        Column("target", lambda queue: " ".join(queue.target), _read_target),
        Column("dst", lambda queue: queue.dst or "", _read_dst),
    ]
    for field, parse in _PARSERS.items():
        unit = next((end for end in ("_bps", "_ms") if field.endswith(end)), "")
        columns.extend(_both_directions(field, unit, parse))
    columns.append(Column("time", _show_time, _read_time))
    columns.extend(_of_total(field.name, _PARSERS[field.name]) for field in fields(Total))
    columns.append(Column("comment", lambda queue: queue.comment, _read_comment))
    columns.append(Column("disabled", lambda queue: "yes" if queue.disabled else "no", _read_disabled))
    return columns


COLUMNS = _columns()
