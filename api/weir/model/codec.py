# SPDX-License-Identifier: Apache-2.0
"""Objects from JSON and back: strict, with every error of a document in one `Invalid`.

The JSON form is the API's (docs/reference/model.md). `from_json` accepts exactly what `to_json`
writes, fills in defaults for what is left out, and brings addresses to canonical text. Equal pairs,
ids and types are shared between objects: 100,000 queues hold few distinct ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from weir.model import limits
from weir.model.address import parse_address, parse_host, parse_target
from weir.model.objects import (
    DEFAULT_BUCKET,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE_TYPE,
    KINDS,
    NO_TOTAL,
    ZERO,
    ConfigObject,
    Firewall,
    Interface,
    Kind,
    Pair,
    Queue,
    QueueType,
    StaticRoute,
    TimeWindow,
    Total,
    Tuning,
)
from weir.model.problem import Finding, Invalid
from weir.model.reader import DIRECTIONS, Reader, shown

Json = dict[str, object]

_ID_WANTED = "1 to 63 characters of a-z, 0-9, '_', '.' or '-', the first a letter or digit"
_INTERFACE_WANTED = "an interface name: up to 15 letters, digits, '_', '.' or '-'"
_TYPE_WANTED = "a queue type's name: up to 63 letters, digits, blanks, '_', '.' or '-'"
_ID_FORM = {
    "queue": (limits.OBJECT_ID, _ID_WANTED),
    "static-route": (limits.OBJECT_ID, _ID_WANTED),
    "firewall": (limits.OBJECT_ID, _ID_WANTED),
    "tuning": (limits.OBJECT_ID, _ID_WANTED),
    "interface": (limits.INTERFACE_ID, _INTERFACE_WANTED),
    "queue-type": (limits.QUEUE_TYPE_ID, _TYPE_WANTED),
}


def parse_kind(text: str) -> Kind:
    """Raises `Invalid` that lists the kinds."""
    if text not in KINDS:
        raise Invalid(
            f"there is no kind {shown(text)}; the kinds are {', '.join(KINDS)}", code="unknown-kind"
        )
    return text


def check_id(kind: Kind, object_id: object) -> str:
    """The interned id. Raises `Invalid` that says what an id of this kind may look like."""
    pattern, wanted = _ID_FORM[kind]
    if not isinstance(object_id, str) or not pattern.fullmatch(object_id):
        raise Invalid(f"id must be {wanted}, not {shown(object_id)}", code="bad-id", path=f"{kind}/?/id")
    return sys.intern(object_id)


def from_json(kind: Kind, data: object, object_id: str | None = None) -> ConfigObject:
    """Build one object. `object_id` (from a URL or a row) must agree with `data["id"]` if both are given.

    Raises `Invalid` whose findings name every field that is wrong, not only the first.
    """
    if not isinstance(data, dict):
        raise Invalid(f"a {kind} must be a JSON object, not {shown(data)}", code="bad-object", path=kind)
    own_id = check_id(kind, data.get("id", object_id))
    if object_id is not None and own_id != object_id:
        raise Invalid(
            f"id {own_id!r} does not agree with {shown(object_id)}",
            code="id-mismatch",
            path=f"{kind}/{own_id}/id",
        )
    findings: list[Finding] = []
    item = _READERS[kind](Reader(data, kind, own_id, findings))
    if findings:
        raise _invalid(item, findings)
    return item


def _invalid(item: ConfigObject, findings: list[Finding]) -> Invalid:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return Invalid(
        f"{item.kind} {item.id}: {first.message}{more}", code=first.code, path=first.path, findings=findings
    )


def to_json(item: ConfigObject) -> Json:
    """The whole object with its id, defaults included; read-only additions are the API's business."""
    return _WRITERS[item.kind](item)


def to_stored_json(item: ConfigObject) -> Json:
    """As `to_json` without the fields that hold their default: what a database row needs."""
    full, plain = to_json(item), _plain_json(item.kind)
    return {name: value for name, value in full.items() if name == "id" or plain.get(name, full) != value}


def merge_patch(target: object, patch: object) -> object:
    """RFC 7396: null removes a member, objects merge, anything else replaces. Neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def patched(item: ConfigObject, patch: object) -> ConfigObject:
    """The object after a merge patch: a removed field takes its default. Raises `Invalid`."""
    if not isinstance(patch, dict):
        raise Invalid(f"a patch must be a JSON object, not {shown(patch)}", code="bad-object", path=item.kind)
    return from_json(item.kind, merge_patch(to_json(item), patch), item.id)


# --- queue -------------------------------------------------------------------------------------------------

_QUEUE_FIELDS = frozenset(Queue.__slots__)
_TOTAL_FIELDS = frozenset(Total.__slots__)
_TIME_FIELDS = frozenset({"start", "end", "days"})
_type_pairs: dict[tuple[str, str], Pair[str]] = {("default-small", "default-small"): DEFAULT_QUEUE_TYPE}


def _read_queue(reader: Reader) -> Queue:
    reader.refuse_unknown(_QUEUE_FIELDS)
    rate = limits.MAX_RATE_BPS
    return Queue(
        id=reader.id,
        name=_read_name(reader),
        target=reader.list_of("target", limits.MAX_TARGETS, parse_target),
        dst=_read_one(reader, "dst", parse_target),
        parent=_read_parent(reader),
        position=reader.integer("position", 0, 0, limits.MAX_POSITION),
        max_limit_bps=reader.integers_each_way("max_limit_bps", ZERO, 0, rate),
        limit_at_bps=reader.integers_each_way("limit_at_bps", ZERO, 0, rate),
        burst_limit_bps=reader.integers_each_way("burst_limit_bps", ZERO, 0, rate),
        burst_threshold_bps=reader.integers_each_way("burst_threshold_bps", ZERO, 0, rate),
        burst_time_ms=reader.integers_each_way("burst_time_ms", ZERO, 0, limits.MAX_BURST_TIME_MS),
        priority=reader.integers_each_way("priority", DEFAULT_PRIORITY, 1, 8),
        queue_type=_read_queue_types(reader),
        bucket_size_ms=reader.integers_each_way(
            "bucket_size_ms", DEFAULT_BUCKET, 0, limits.MAX_BUCKET_SIZE_MS
        ),
        time=_read_time(reader),
        total=_read_total(reader),
        comment=_read_note(reader, "comment"),
        disabled=reader.flag("disabled", False),
    )


def _read_name(reader: Reader) -> str:
    if "name" not in reader.data:
        reader.error("name", "missing", "must be given")
        return ""
    name = reader.text("name", "?", limits.MAX_NAME_CHARS, limits.CONTROL_CHARACTER)
    if not name.strip():
        reader.error("name", "bad-text", "must not be blank")
    return name


def _read_note(reader: Reader, field: str) -> str:
    return reader.text(field, "", limits.MAX_COMMENT_CHARS, limits.CONTROL_BUT_NEWLINE_OR_TAB)


def _read_parent(reader: Reader) -> str | None:
    parent = reader.optional_matching("parent", limits.OBJECT_ID, "a queue's id or null")
    return None if parent is None else sys.intern(parent)


def _read_one(reader: Reader, field: str, read: Callable[[object], str]) -> str | None:
    value = reader.data.get(field)
    if value is None:
        return None
    try:
        return read(value)
    except Invalid as problem:
        reader.error(field, problem.code, problem.message)
        return None


def _read_queue_types(reader: Reader) -> Pair[str]:
    inner = reader.inner("queue_type")
    if inner is None:
        return DEFAULT_QUEUE_TYPE
    inner.refuse_unknown(DIRECTIONS)
    both = tuple(
        inner.matching(way, "default-small", limits.QUEUE_TYPE_ID, _TYPE_WANTED)
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
    return TimeWindow(start_min, end_min, tuple(day for day in limits.DAYS if day in days))


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
            inner.matching("queue_type", "default-small", limits.QUEUE_TYPE_ID, _TYPE_WANTED)
        ),
        bucket_size_ms=inner.integer("bucket_size_ms", 100, 0, limits.MAX_BUCKET_SIZE_MS),
    )
    return NO_TOTAL if total == NO_TOTAL else total


def _queue_json(item: Queue) -> Json:
    time, total = item.time, item.total
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
        "time": time
        and {"start": _clock(time.start_min), "end": _clock(time.end_min), "days": list(time.days)},
        "total": {name: getattr(total, name) for name in Total.__slots__},
        "comment": item.comment,
        "disabled": item.disabled,
    }


def _pair_json(pair: Pair[int] | Pair[str]) -> Json:
    return {"upload": pair.upload, "download": pair.download}


# --- the other kinds ---------------------------------------------------------------------------------------

_QUEUE_TYPE_FIELDS = frozenset(QueueType.__slots__)
_INTERFACE_FIELDS = frozenset(Interface.__slots__)
_ROUTE_FIELDS = frozenset(StaticRoute.__slots__)
_FIREWALL_FIELDS = frozenset(Firewall.__slots__)
_TUNING_FIELDS = frozenset(Tuning.__slots__)


def _read_queue_type(reader: Reader) -> QueueType:
    reader.refuse_unknown(_QUEUE_TYPE_FIELDS)
    if "type" not in reader.data:
        reader.error("type", "missing", "must be given")
    options: dict[str, str] = {}
    inner = reader.inner("options")
    if inner is not None:
        if len(inner.data) > limits.MAX_QUEUE_TYPE_OPTIONS:
            reader.error("options", "too-many", f"has more than {limits.MAX_QUEUE_TYPE_OPTIONS} entries")
        else:
            options = {name: _read_option(inner, name) for name in inner.data}
    return QueueType(
        id=reader.id,
        type=reader.one_of("type", "pfifo", limits.QUEUE_TYPE_KINDS),
        options=tuple(sorted(options.items())),
        comment=_read_note(reader, "comment"),
    )


def _read_option(inner: Reader, name: str) -> str:
    if not limits.OBJECT_ID.fullmatch(name):
        inner.error(shown(name), "bad-id", f"must be {_ID_WANTED}")
    return inner.text(name, "", limits.MAX_NAME_CHARS, limits.CONTROL_CHARACTER)


def _read_interface(reader: Reader) -> Interface:
    reader.refuse_unknown(_INTERFACE_FIELDS)
    return Interface(
        id=reader.id,
        role=reader.one_of("role", "none", ("lan", "wan", "none")),
        addresses=reader.list_of("addresses", limits.MAX_ADDRESSES, parse_address),
        mtu=reader.optional_integer("mtu", limits.MIN_MTU_BYTES, limits.MAX_MTU_BYTES),
        description=_read_note(reader, "description"),
        overhead_bytes=reader.integer(
            "overhead_bytes", 0, limits.MIN_OVERHEAD_BYTES, limits.MAX_OVERHEAD_BYTES
        ),
        shaper=reader.one_of("shaper", "auto", ("auto", "edt", "police", "htb")),
        fast_path=reader.one_of("fast_path", "auto", ("auto", "off")),
        disabled=reader.flag("disabled", False),
    )


def _read_static_route(reader: Reader) -> StaticRoute:
    reader.refuse_unknown(_ROUTE_FIELDS)
    destination = _read_one(reader, "destination", parse_route_destination)
    if reader.data.get("destination") is None:
        reader.error("destination", "missing", "must be given, for example 0.0.0.0/0")
    return StaticRoute(
        id=reader.id,
        destination=destination or "0.0.0.0/0",
        gateway=_read_one(reader, "gateway", parse_host),
        interface=reader.optional_matching("interface", limits.INTERFACE_ID, _INTERFACE_WANTED),
        blackhole=reader.flag("blackhole", False),
        distance=reader.integer("distance", 1, 1, 255),
        comment=_read_note(reader, "comment"),
        disabled=reader.flag("disabled", False),
    )


def parse_route_destination(value: object) -> str:
    """A prefix in canonical text. Raises `Invalid`."""
    text = parse_target(value)
    if "/" not in text:
        raise Invalid(f"must be a prefix such as 192.0.2.0/24, not {shown(value)}", code="bad-prefix")
    return text


def _read_firewall(reader: Reader) -> Firewall:
    reader.refuse_unknown(_FIREWALL_FIELDS)
    if reader.id != "firewall":
        reader.error("id", "bad-id", f"must be 'firewall': there is one such object, not {reader.id!r}")
    return Firewall(
        id=reader.id,
        masquerade=reader.flag("masquerade", True),
        drop_new_from_wan=reader.flag("drop_new_from_wan", True),
        allow_ping_from_wan=reader.flag("allow_ping_from_wan", True),
        allowed_wan_tcp_ports=reader.list_of("allowed_wan_tcp_ports", limits.MAX_PORTS, _read_port),
    )


def _read_tuning(reader: Reader) -> Tuning:
    reader.refuse_unknown(_TUNING_FIELDS)
    if reader.id != "tuning":
        reader.error("id", "bad-id", f"must be 'tuning': there is one such object, not {reader.id!r}")
    overrides: dict[str, str] = {}
    inner = reader.inner("overrides")
    if inner is not None:
        if len(inner.data) > limits.MAX_OVERRIDES:
            reader.error("overrides", "too-many", f"has more than {limits.MAX_OVERRIDES} entries")
        else:
            overrides = {name: _read_option(inner, name) for name in inner.data}
    return Tuning(reader.id, tuple(sorted(overrides.items())))


def _read_port(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 65535:
        raise Invalid(f"must be a TCP port from 1 to 65535, not {shown(value)}", code="bad-number")
    return value


def _slots_json(item: ConfigObject) -> Json:
    values = {name: getattr(item, name) for name in type(item).__slots__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _queue_type_json(item: QueueType) -> Json:
    return {"id": item.id, "type": item.type, "options": dict(item.options), "comment": item.comment}


def _tuning_json(item: Tuning) -> Json:
    return {"id": item.id, "overrides": dict(item.overrides)}


_READERS: Mapping[Kind, Callable[[Reader], ConfigObject]] = {
    "queue": _read_queue,
    "queue-type": _read_queue_type,
    "interface": _read_interface,
    "static-route": _read_static_route,
    "firewall": _read_firewall,
    "tuning": _read_tuning,
}
_WRITERS: Mapping[Kind, Callable[..., Json]] = {
    "queue": _queue_json,
    "queue-type": _queue_type_json,
    "interface": _slots_json,
    "static-route": _slots_json,
    "firewall": _slots_json,
    "tuning": _tuning_json,
}
_plain: dict[Kind, Json] = {}


def _plain_json(kind: Kind) -> Json:
    """The defaults of a kind; required fields are left out."""
    if kind not in _plain:
        required: Json = {"queue": {"name": "x"}, "queue-type": {"type": "pfifo"}}.get(kind, {})  # type: ignore[assignment]
        if kind == "static-route":
            required = {"destination": "0.0.0.0/0"}
        item = from_json(kind, {**required, "id": "tuning" if kind == "tuning" else "firewall"})
        _plain[kind] = {name: value for name, value in to_json(item).items() if name not in required}
    return _plain[kind]
