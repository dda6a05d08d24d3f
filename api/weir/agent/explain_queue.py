# SPDX-License-Identifier: Apache-2.0
"""One queue: what was asked, what it was compiled into, and what the kernel holds at this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from weir.adapters import connection_limits
from weir.adapters.datapath_records import ClassRecord, LineRecord, Port
from weir.agent.configuration import Configuration
from weir.backends.ports import PortsWanted
from weir.backends.tables import record_of
from weir.compiler import NO_SLOT, ClassSpec, Compiled, explain, total_id
from weir.model.claims import pack
from weir.model.prefix import WIDTH, Prefix, looks_like_prefix, parse_prefix_in_domain
from weir.model.units import format_rate_long
from weir.parts.firewall import FIREWALL

MANY_PORTS = 8
"""So many are named; what is wrong is named of all."""


class Reads(Protocol):
    """The part of `Datapath` that is asked here."""

    def lookup(self, domain: int, family: int, address: int) -> int: ...
    def attached(self) -> dict[str, Port]: ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the kernel holds for a queue, and for each prefix the slot found and the slot wanted."""

    spec: ClassSpec | None
    record: ClassRecord | None
    total_spec: ClassSpec | None
    total_record: ClassRecord | None
    lookups: Mapping[str, tuple[int, int]]
    far: tuple[int, int]
    """Of the far ends that lead to it, how many there should be and how many of these the kernel has."""
    ports: Mapping[str, int]
    waits: Mapping[str, tuple[str, bool]]
    """By direction: how packets wait on the ports that limit it, and whether each holds what it should."""
    path: Sequence[dict[str, Any]]
    """Lines on what is not the queue's own: the ports that packets pass, and the rate that is charged now."""


def explain_queue(configuration: Configuration, datapath: Reads, queue_id: str) -> dict[str, Any]:
    """The answer of the method `explain`; `agrees` when every line does. Raises `NotFound`."""
    with configuration.lock:
        compiled = configuration.compiled
        found = explain(compiled, configuration.document, queue_id)
        spec, total = compiled.class_of(queue_id), compiled.class_of(total_id(queue_id))
        read_class = configuration.executor.tables.read_class
        seen = _Seen(
            spec,
            read_class(spec.slot) if spec else None,
            total,
            read_class(total.slot) if total else None,
            {fate.prefix: _lookups(compiled, datapath, fate.prefix) for fate in found.prefixes},
            configuration.executor.tables.far_ends(compiled.shaping, spec.slot) if spec else (0, 0),
            {name: port.target_slot for name, port in datapath.attached().items()},
            {way: configuration.executor.waits(compiled, spec, way) for way in ("upload", "download")}
            if spec
            else {},
            _path(configuration, spec) if spec else (),
        )
    lines = []
    for line in found.lines:
        kernel, agrees = _kernel_side(line.field, line.asked, seen)
        lines.append({**asdict(line), "kernel": kernel, "agrees": agrees})
    lines += seen.path
    return {
        "asked": found.asked,
        "compiled": found.to_json(),
        "kernel": {
            "class": None if seen.record is None else _record_json(seen.record),
            "total": None if seen.total_record is None else _record_json(seen.total_record)["upload"],
            "lookups": {prefix: slot for prefix, (slot, _) in seen.lookups.items()},
            "ports": [name for name, slot in seen.ports.items() if spec and slot == spec.slot],
        },
        "lines": lines,
        "agrees": all(line["agrees"] for line in lines),
    }


def _path(configuration: Configuration, spec: ClassSpec) -> list[dict[str, Any]]:
    compiled = configuration.compiled
    rules = compiled.of(FIREWALL)
    reports = configuration.executor.ports.reports(PortsWanted(compiled.shaping.ports, rules))
    wrong = [f"{report.ifname}: {words}" for report in reports for words in report.wrong]
    meant = ", ".join(f"{report.ifname} {report.meant}" for report in reports[:MANY_PORTS])
    more = f" and {len(reports) - MANY_PORTS} more" if len(reports) > MANY_PORTS else ""
    lines = [
        _line("ports", "", meant + more, "; ".join(wrong) or "programs, records and qdiscs are so", not wrong)
    ]
    ways: tuple[tuple[Literal[0, 1], str], ...] = ((0, "upload"), (1, "download"))
    for way, name in ways:
        rate_bps, is_own = configuration.executor.tables.in_force_bps(spec.slot, way)
        lent = not is_own and configuration.sharing.is_lent(spec.slot, way)
        text = _rate_text(rate_bps)
        text += ", lent by the share controller" if lent else "" if is_own else ", not what was compiled"
        own = _rate_text(getattr(spec, name).rate_bps)
        lines.append(_line(f"charged.{name}", "", own, text, is_own or lent))
        for port, otherwise in configuration.executor.trees(compiled, spec, name).items():
            text = "; ".join(otherwise) or "its HTB classes and those above are so"
            lines.append(_line(f"htb.{name}", "", f"{port}: {own}", text, not otherwise))
    dropped = connection_limits.refused_of_class(spec.slot)
    if dropped:
        words = f"{dropped} packets that would open a connection while the upload was full: dropped"
        lines.append(_line("connections", "", "", words, True))
    return lines


def _rate_text(rate_bps: int) -> str:
    return format_rate_long(rate_bps) if rate_bps else "unlimited"


def _line(field: str, asked: str, compiled: str, kernel: str, agrees: bool) -> dict[str, Any]:
    return {"field": field, "asked": asked, "compiled": compiled, "kernel": kernel, "agrees": agrees}


def _lookups(compiled: Compiled, datapath: Reads, text: str) -> tuple[int, int]:
    """(slot that a packet of the prefix's first address gets, slot that it should get)."""
    domain, prefix = parse_prefix_in_domain(text)
    host = pack(Prefix(prefix.family, prefix.value, WIDTH[prefix.family]), domain)
    tables = compiled.tables
    slots = [slot for item in (*tables.claims.covering(host), host) if (slot := tables.slot_of(item))]
    return datapath.lookup(domain, prefix.family, prefix.value), slots[-1] if slots else NO_SLOT


def _kernel_side(field: str, asked: str, seen: _Seen) -> tuple[str, bool]:
    """The third column of a line, and whether it says the same as the second."""
    if field == "target":
        return _target(asked, seen)
    spec, record = seen.spec, seen.record
    if spec is None or record is None:
        return "no class", spec is None and record is None
    wanted = record_of(spec)
    if field.startswith("queue_type."):
        return seen.waits[field.partition(".")[2]]
    if field == "dst":
        asked_ends, held_ends = seen.far
        return f"{held_ends} of {asked_ends} far ends", held_ends == asked_ends
    if field == "class":
        return (
            f"slot {spec.slot} is {'this' if record.key == spec.key else 'another'} queue's",
            record.key == spec.key,
        )
    if field == "parent":
        text = f"slot {record.parent_slot}" if record.parent_slot else "top level"
        return text, record.parent_slot == wanted.parent_slot
    if field.endswith(".upload"):
        return _line_text(record.upload), record.upload == wanted.upload
    if field.endswith(".download"):
        return _line_text(record.download), record.download == wanted.download
    if field.endswith(".total"):
        return _total(record, seen)
    return "", record == wanted


def _total(record: ClassRecord, seen: _Seen) -> tuple[str, bool]:
    """The class that both directions are charged to, and whether they are."""
    if seen.total_spec is None or seen.total_record is None:
        return "no class", False
    text = f"slot {record.total_slot}, {_line_text(seen.total_record.upload)}"
    same = seen.total_record == record_of(seen.total_spec)
    return text, same and record.total_slot == seen.total_spec.slot


def _target(asked: str, seen: _Seen) -> tuple[str, bool]:
    if looks_like_prefix(asked):
        slot, wanted = seen.lookups[asked]
        own = seen.spec is not None and slot == seen.spec.slot
        text = "no class" if slot == NO_SLOT else f"slot {slot}{' (this queue)' if own else ''}"
        return f"first address: {text}", slot == wanted
    slot = seen.ports.get(asked, NO_SLOT)
    wanted = seen.spec.slot if seen.spec else NO_SLOT
    if asked not in seen.ports:
        return f"{asked} is not attached", False
    return f"port's class: {f'slot {slot}' if slot else 'none'}", slot == wanted


def _line_text(line: LineRecord) -> str:
    if not line.rate_bps:
        return "unlimited, counted only"
    return f"{format_rate_long(line.rate_bps)}, bucket {line.burst_bytes} bytes"


def _record_json(record: ClassRecord) -> dict[str, Any]:
    return {
        "key": f"{record.key:016x}",
        "parent_slot": record.parent_slot,
        "total_slot": record.total_slot,
        "upload": {**asdict(record.upload), "burst_bytes": record.upload.burst_bytes},
        "download": {**asdict(record.download), "burst_bytes": record.download.burst_bytes},
    }
