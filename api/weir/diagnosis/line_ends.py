# SPDX-License-Identifier: Apache-2.0
"""The customer's end of a line, ports, and the router between them."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis import lost
from weir.diagnosis.judged import Fix, Judged, Place, clause, ms, rate, worst
from weir.diagnosis.measured import WAYS, Link, Measured, Port, Station
from weir.diagnosis.processors import BUSY_SHARE
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import percent
from weir.diagnosis.thresholds import (
    DEVICE_ROUND_TRIP_US,
    ERROR_SHARE,
    ERRORS,
    FULL_SHARE,
    MEMORY_SHARE,
    SILENT_S,
)
from weir.diagnosis.usual import beside, is_slower, unusual, usual_numbers
from weir.model.units import counted

PERMANENT = "has a permanent neighbor entry, so the kernel does not check whether it answers"
"""NUD_PERMANENT, ip-neighbour(8)."""
LOSING = (
    "backlog-full", "ring-overrun", "one-core-works", "control-plane-starved", "neighbours-full",
    "connections-full",
)  # fmt: skip
"""Findings that a customer feels."""


def device(measured: Measured) -> Judged:
    """Does the customer's device answer, and does it send?"""
    found = worst(_device(measured))
    if found is not None:
        return found
    station, line = measured.device, measured.queue
    subject = station.address or ""
    trip_us = measured.device_round_trip_us
    numbers = (*_trip_numbers(measured), *lost.side_numbers(measured.lost, "device"))
    unseen = (
        *lost.unseen(measured.lost, "device"),
        *(("the round trip to the device",) if trip_us is None else ()),
        *unusual("the device", measured.device_usual),
    )
    sends = line is not None and not line.unmeasured and line.upload.rate_bps > 0
    if not sends and station.state != "reachable":
        said = f"Not known: {_unheard(station)}."
        return Judged("device", subject, "unknown", said, "", numbers, (), ("the device", *unseen))
    said = f"{named(station)} {'sends packets' if sends else 'answers'}"
    trip = ""
    if trip_us is not None:
        trip = f"; round trip {ms(trip_us)}{beside(trip_us, measured.device_usual)}"
    return Judged("device", subject, "clear", f"{said}{trip}.", "", numbers, (), unseen)


def _unheard(station: Station) -> str:
    if station.state == "permanent":
        return f"{clause(named(station))} {PERMANENT}"
    return station.reason or f"{clause(named(station))} was not heard of lately ({station.state})"


def _device(measured: Measured) -> Iterator[Judged]:
    station, line = measured.device, measured.queue
    subject = station.address or ""
    if station.state == "failed":
        said = f"{named(station)} does not answer on {station.interface} (ARP or neighbor discovery)"
        ping = (Fix("ping", "Ask for it.", "tool", subject, f"weir arping {station.interface} {subject}"),)
        yield Judged("device", subject, "trouble", f"{said}.", "device-silent", seen(station), ping)
    flow = None if line is None or line.unmeasured else line.upload
    if line is not None and flow is not None and flow.measured_s >= SILENT_S and not any(flow.rates_bps):
        silent = Number("silent_s", flow.measured_s, "s", SILENT_S)
        download_bps = line.download.rate_bps
        if download_bps > 0:
            said = (
                f"No packet came from {line.name} in {flow.measured_s} s, and {rate(download_bps)} go to it"
            )
            sent = Number("download_bps", download_bps, "bit/s")
            yield Judged("device", subject, "trouble", f"{said}.", "nothing-comes-back", (silent, sent))
        else:
            said = f"No packet came from {line.name} in {flow.measured_s} s"
            yield Judged("device", subject, "trouble", f"{said}.", "nothing-came", (silent, *seen(station)))
    if way := lost.lossy(measured.lost, "device"):
        said = lost.said(measured.lost, "device", way)
        numbers = lost.side_numbers(measured.lost, "device")
        yield Judged("device", subject, "trouble", f"{said}.", "loss-device-side", numbers)
    yield from _slow(measured, station, subject)


def _slow(measured: Measured, station: Station, subject: str) -> Iterator[Judged]:
    trip_us, usual = measured.device_round_trip_us, measured.device_usual
    if trip_us is None:
        return
    numbers = _trip_numbers(measured)
    said = f"The way to {named(station)} and back takes {ms(trip_us)}{beside(trip_us, usual)}"
    if is_slower(trip_us, usual):
        yield Judged("device", subject, "trouble", f"{said}.", "slower-device-side", numbers)
    if trip_us >= DEVICE_ROUND_TRIP_US:
        unseen = unusual("the device", usual)
        yield Judged("device", subject, "trouble", f"{said}.", "slow-device-side", numbers, (), unseen)


def _trip_numbers(measured: Measured) -> tuple[Number, ...]:
    trip_us = measured.device_round_trip_us
    return (
        *round_trip("device_round_trip_ms", trip_us, DEVICE_ROUND_TRIP_US),
        *usual_numbers("device", trip_us, measured.device_usual),
    )


def port(place: Place, found: Port, measured: Measured) -> Judged:
    """The customer's port, or the one to the internet, with what it is stacked on."""
    if not found.links:
        name = "the customer's port" if place == "access" else "the port to the internet"
        return Judged(place, "", "unknown", f"Not known: {clause(found.reason)}.", unknown=(name,))
    name = found.links[0].name
    trouble = worst(item for link in found.links for item in _port(place, link, measured))
    if trouble is not None:
        return trouble
    unseen = [*found.unseen]
    for link in found.links:
        unseen += [f"errors of {link.name}"] if link.errors is None else []
        unseen += [f"the speed of {link.name}"] if link.speed_bps is None else []
    numbers = tuple(number for link in found.links for number in _link_numbers(link))
    if all(link.errors is None for link in found.links):
        said = f"Not known: {name} is up, and its errors were not read twice yet."
        return Judged(place, name, "unknown", said, "", numbers, (), tuple(unseen))
    errors = sum(link.errors or 0 for link in found.links)
    seen_in = f"{counted(errors, 'error')} in {max(link.span_s for link in found.links):,.0f} s"
    speeds = [rate(link.speed_bps) for link in found.links if link.speed_bps]
    said = ", ".join([f"{name} is up", *speeds, seen_in])
    return Judged(place, name, "clear", f"{said}.", "", numbers, (), tuple(unseen))


def _port(place: Place, link: Link, measured: Measured) -> Iterator[Judged]:
    look = (Fix("interface", f"Look at {link.name} and its cable.", "interface", link.name),)
    numbers = _link_numbers(link)
    if not (link.up and link.carrier):
        why = "has no carrier" if link.up else "is switched off"
        code = "access-down" if place == "access" else "uplink-down"
        yield Judged(place, link.name, "trouble", f"{link.name} {why}.", code, numbers, look)
        return
    if link.duplex == "half":
        said = f"{link.name} negotiated half duplex: it sends or receives, not both"
        yield Judged(place, link.name, "trouble", f"{said}.", "half-duplex", numbers, look)
    if link.errors is not None and link.packets is not None and link.errors >= ERRORS:
        share = link.errors / max(link.packets + link.errors, 1)
        if share > ERROR_SHARE:
            said = (
                f"{link.name} counted {link.errors:,} errors in {link.span_s:,.0f} s, {percent(share)} of all"
            )
            yield Judged(place, link.name, "trouble", f"{said}.", "port-errors", numbers, look)
    if link.speed_bps is None:
        return
    for way, bps in (("receives", link.rx_bps), ("sends", link.tx_bps)):
        if bps is not None and bps >= FULL_SHARE * link.speed_bps:
            share = bps / link.speed_bps
            said = f"{link.name} {way} {rate(bps)}, {percent(share)} of its speed of {rate(link.speed_bps)}"
            yield Judged(place, link.name, "trouble", f"{said}.", "port-full", numbers, look)
    limits = _limits(measured)
    if limits and link.speed_bps < max(limits):
        said = f"{link.name} negotiated {rate(link.speed_bps)}, less than the limit of {rate(max(limits))}"
        yield Judged(place, link.name, "trouble", f"{said}.", "slow-link", numbers, look)


def _limits(measured: Measured) -> list[int]:
    line = measured.queue
    return [] if line is None else [line.flow(way).limit_bps for way in WAYS]


def _link_numbers(link: Link) -> tuple[Number, ...]:
    found = []
    if link.speed_bps is not None:
        found.append(Number("speed_bps", link.speed_bps, "bit/s"))
    for name, bps in (("rx_bps", link.rx_bps), ("tx_bps", link.tx_bps)):
        if bps is not None:
            found.append(Number(name, bps, "bit/s"))
    if link.errors is not None and link.packets is not None:
        share = link.errors / max(link.packets + link.errors, 1)
        found += [
            Number("errors", link.errors, "packets", ERRORS),
            Number("error_share", share, "share", ERROR_SHARE),
        ]
    return tuple(found)


def machine(measured: Measured) -> Judged:
    """Cores and memory, and what ails the router."""
    found = worst(_machine(measured))
    if found is not None:
        return found
    box = measured.machine
    numbers = _machine_numbers(measured)
    unseen = ("how long softirqs wait now", *(("the memory",) if box.memory_share is None else ()))
    if not box.cores or box.findings is None:
        said = f"Not known: {clause(box.reason) or 'the cores were not looked at twice yet'}."
        return Judged("router", "", "unknown", said, "", numbers, (), ("the processor cores", *unseen))
    busiest = max((core.softirq_share for core in box.cores), default=0.0)
    said = (
        "No core dropped a packet between the last two looks; "
        f"the busiest spends {percent(busiest)} of its time on packets"
    )
    return Judged("router", "", "clear", f"{said}.", "", numbers, (), unseen)


def _machine(measured: Measured) -> Iterator[Judged]:
    box = measured.machine
    numbers = _machine_numbers(measured)
    ports = {link.name for found in (measured.access, measured.uplink) for link in found.links}
    for item in box.findings or ():
        if item.code in LOSING and (item.code != "ring-overrun" or item.subject in ports):
            fix = (Fix("finding", "See its remedies.", "finding", item.code, "weir doctor"),)
            yield Judged(
                "router", item.subject, "trouble", item.sentence, "router-finding", item.numbers, fix
            )
    for core in box.cores or ():
        if core.drops > 0:
            packets = counted(core.drops, "packet")
            said = f"Core {core.number} dropped {packets} between the last two looks at the cores"
            why = "its backlog was full"
            yield Judged("router", f"core {core.number}", "trouble", f"{said}: {why}.", "core-drops", numbers)
        if core.softirq_share >= BUSY_SHARE:
            said = f"Core {core.number} spends {percent(core.softirq_share)} of its time on packets"
            yield Judged("router", f"core {core.number}", "trouble", f"{said}.", "core-busy", numbers)
    if box.memory_share is not None and box.memory_share < MEMORY_SHARE:
        said = f"{percent(box.memory_share)} of the memory is available"
        yield Judged("router", "memory", "trouble", f"{said}.", "memory-low", numbers)


def _machine_numbers(measured: Measured) -> tuple[Number, ...]:
    box, found = measured.machine, []
    if box.cores:
        found += [
            Number("softirq_share", max(core.softirq_share for core in box.cores), "share", BUSY_SHARE),
            Number("core_drops", sum(core.drops for core in box.cores), "packets", 0.0),
            Number("squeezes_ps", max(core.squeezes_ps for core in box.cores), "1/s"),
        ]
    if box.memory_share is not None:
        found.append(Number("memory_share", box.memory_share, "share", MEMORY_SHARE))
    return tuple(found)


def named(station: Station) -> str:
    """As the subject of a sentence."""
    if station.address is None:
        return "The customer's device"
    return f"The customer's router {station.address}" if station.is_router else station.address


def seen(station: Station) -> tuple[Number, ...]:
    """When it was heard of."""
    return () if station.confirmed_s is None else (Number("confirmed_s", station.confirmed_s, "s"),)


def round_trip(name: str, trip_us: float | None, bound_us: float) -> tuple[Number, ...]:
    """In ms; none where none was seen."""
    return () if trip_us is None else (Number(name, trip_us / 1000, "ms", bound_us / 1000),)
