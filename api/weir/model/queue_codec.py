# SPDX-License-Identifier: Apache-2.0
"""A queue's JSON form. Equal pairs, ids and types are shared: 100,000 queues hold few distinct ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from weir.fields import TYPE_NAMES
from weir.model import limits
from weir.model.address import parse_end, parse_target
from weir.model.objects import (
    DEFAULT_BUCKET,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE_TYPE,
    NO_TOTAL,
    ZERO,
    Pair,
    Queue,
    TimeWindow,
    Total,
)
from weir.model.problem import Invalid
from weir.model.reader import DIRECTIONS, Json, Reader, shown
from weir.model.schedule import ALWAYS

_QUEUE_FIELDS = frozenset(Queue.__slots__)
_TOTAL_FIELDS = frozenset(Total.__slots__)
_TIME_FIELDS = frozenset({"start", "end", "days"})
_type_pairs: dict[tuple[str, str], Pair[str]] = {("default-small", "default-small"): DEFAULT_QUEUE_TYPE}


def read_queue(reader: Reader) -> Queue:
    reader.refuse_unknown(_QUEUE_FIELDS)
    name = _read_name(reader)
    given = {field: read(reader) for field, read in _OPTIONAL.items() if field in reader.data}
    return Queue(reader.id, name, **given)


def _read_name(reader: Reader) -> str:
    if "name" not in reader.data:
        reader.error("name", "missing", "must be given")
        return ""
    name = reader.text("name", "?", limits.MAX_NAME_CHARS, limits.CONTROL_CHARACTER)
    if not name.strip():
        reader.error("name", "bad-text", "must not be blank")
    return name


def _read_dst(reader: Reader) -> str | None:
    value = reader.data["dst"]
    if value is None:
        return None
    try:
        return parse_end(value)
    except Invalid as problem:
        reader.error("dst", problem.code, problem.message)
        return None


def _read_parent(reader: Reader) -> str | None:
    parent = reader.optional_matching("parent", limits.OBJECT_ID, "a queue's id or null")
    return None if parent is None else sys.intern(parent)


def _read_queue_types(reader: Reader) -> Pair[str]:
    inner = reader.inner("queue_type")
    if inner is None:
        return DEFAULT_QUEUE_TYPE
    inner.refuse_unknown(DIRECTIONS)
    both = tuple(
        inner.matching(way, "default-small", limits.QUEUE_TYPE_ID, TYPE_NAMES.wanted)
        for way in ("upload", "download")
    )
    pair = _type_pairs.get((both[0], both[1]))
    if pair is None:
        if len(_type_pairs) >= 4096:
            _type_pairs.clear()
        pair = _type_pairs[both[0], both[1]] = Pair(sys.intern(both[0]), sys.intern(both[1]))
    return pair


def _read_time(reader: Reader) -> TimeWindow | None:
    inner = reader.inner("time")
    if inner is None:
        return None
    inner.refuse_unknown(_TIME_FIELDS)
    start_min, end_min = _read_clock(inner, "start", 0), _read_clock(inner, "end", limits.MINUTES_PER_DAY)
    if start_min >= end_min:
        inner.error(
            "end",
            "bad-time",
            f"({_clock(end_min)}) must be later than start ({_clock(start_min)}); "
            "for a night that crosses midnight make two queues",
        )
    days = inner.list_of("days", 7, _read_day) if "days" in inner.data else limits.DAYS
    if not days:
        inner.error("days", "bad-time", "must name at least one day")
    window = TimeWindow(start_min, end_min, tuple(day for day in limits.DAYS if day in days))
    return None if window == ALWAYS else window


def _read_day(value: object) -> str:
    if value not in limits.DAYS:
        raise Invalid(f"must be one of {', '.join(limits.DAYS)}, not {shown(value)}", code="bad-time")
    return str(value)


def _read_clock(reader: Reader, field: str, default_min: int) -> int:
    value = reader.data.get(field)
    if value is None:
        return default_min
    if isinstance(value, str) and len(value) == 5 and value[2] == ":" and value.isascii():
        hours, minutes = value[:2], value[3:]
        if hours.isdigit() and minutes.isdigit() and int(minutes) < 60:
            minute = int(hours) * 60 + int(minutes)
            if minute <= limits.MINUTES_PER_DAY:
                return minute
    reader.error(field, "bad-time", f"must be a time of day from 00:00 to 24:00, not {shown(value)}")
    return default_min


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _read_total(reader: Reader) -> Total:
    inner = reader.inner("total")
    if inner is None or not inner.data:
        return NO_TOTAL
    inner.refuse_unknown(_TOTAL_FIELDS)
    rate = limits.MAX_RATE_BPS
    total = Total(
        max_limit_bps=inner.integer("max_limit_bps", 0, 0, rate),
        limit_at_bps=inner.integer("limit_at_bps", 0, 0, rate),
        burst_limit_bps=inner.integer("burst_limit_bps", 0, 0, rate),
        burst_threshold_bps=inner.integer("burst_threshold_bps", 0, 0, rate),
        burst_time_ms=inner.integer("burst_time_ms", 0, 0, limits.MAX_BURST_TIME_MS),
        priority=inner.integer("priority", 8, 1, 8),
        queue_type=sys.intern(
            inner.matching("queue_type", "default-small", limits.QUEUE_TYPE_ID, TYPE_NAMES.wanted)
        ),
        bucket_size_ms=inner.integer("bucket_size_ms", 100, 0, limits.MAX_BUCKET_SIZE_MS),
    )
    return NO_TOTAL if total == NO_TOTAL else total


def _each_way(field: str, default: Pair[int], low: int, high: int) -> Callable[[Reader], Pair[int]]:
    return lambda reader: reader.integers_each_way(field, default, low, high)


_OPTIONAL: Mapping[str, Callable[[Reader], Any]] = {
    "target": lambda reader: reader.list_of("target", limits.MAX_TARGETS, parse_target),
    "dst": _read_dst,
    "parent": _read_parent,
    "position": lambda reader: reader.integer("position", 0, 0, limits.MAX_POSITION),
    "max_limit_bps": _each_way("max_limit_bps", ZERO, 0, limits.MAX_RATE_BPS),
    "limit_at_bps": _each_way("limit_at_bps", ZERO, 0, limits.MAX_RATE_BPS),
    "burst_limit_bps": _each_way("burst_limit_bps", ZERO, 0, limits.MAX_RATE_BPS),
    "burst_threshold_bps": _each_way("burst_threshold_bps", ZERO, 0, limits.MAX_RATE_BPS),
    "burst_time_ms": _each_way("burst_time_ms", ZERO, 0, limits.MAX_BURST_TIME_MS),
    "priority": _each_way("priority", DEFAULT_PRIORITY, 1, 8),
    "queue_type": _read_queue_types,
    "bucket_size_ms": _each_way("bucket_size_ms", DEFAULT_BUCKET, 0, limits.MAX_BUCKET_SIZE_MS),
    "time": _read_time,
    "total": _read_total,
    "comment": lambda reader: reader.text(
        "comment", "", limits.MAX_COMMENT_CHARS, limits.CONTROL_BUT_NEWLINE_OR_TAB
    ),
    "disabled": lambda reader: reader.flag("disabled", False),
}
"""What a queue may leave out; most of a stored one's fields are not there."""


def queue_stored_json(item: Queue) -> Json:
    """As `queue_json` without the fields that hold their default."""
    found: Json = {"id": item.id, "name": item.name}
    for field, default, write in _STORED:
        value = getattr(item, field)
        if value is not default and value != default:
            found[field] = write(value)
    return found


def queue_json(item: Queue) -> Json:
    return {
        "id": item.id,
        "name": item.name,
        "target": list(item.target),
        "dst": item.dst,
        "parent": item.parent,
        "position": item.position,
        "max_limit_bps": _pair_json(item.max_limit_bps),
        "limit_at_bps": _pair_json(item.limit_at_bps),
        "burst_limit_bps": _pair_json(item.burst_limit_bps),
        "burst_threshold_bps": _pair_json(item.burst_threshold_bps),
        "burst_time_ms": _pair_json(item.burst_time_ms),
        "priority": _pair_json(item.priority),
        "queue_type": _pair_json(item.queue_type),
        "bucket_size_ms": _pair_json(item.bucket_size_ms),
        "time": _time_json(item.time),
        "total": _total_json(item.total),
        "comment": item.comment,
        "disabled": item.disabled,
    }


def _pair_json(pair: Pair[int] | Pair[str]) -> Json:
    return {"upload": pair.upload, "download": pair.download}


def _time_json(time: TimeWindow | None) -> Json | None:
    if time is None:
        return None
    return {"start": _clock(time.start_min), "end": _clock(time.end_min), "days": list(time.days)}


def _total_json(total: Total) -> Json:
    return {name: getattr(total, name) for name in Total.__slots__}


def _same(value: object) -> object:
    return value


_WRITERS: Mapping[str, Callable[[Any], object]] = {
    "target": list,
    **dict.fromkeys(("dst", "parent", "position", "comment", "disabled"), _same),
    "time": _time_json,
    "total": _total_json,
}
_DEFAULTS = Queue("defaults", "defaults")
_STORED = tuple(
    (field, getattr(_DEFAULTS, field), _WRITERS.get(field, _pair_json))
    for field in Queue.__slots__
    if field not in ("id", "name")
)
