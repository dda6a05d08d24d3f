# SPDX-License-Identifier: Apache-2.0
"""The other end of a line: the port to the internet, the uplink that it is, and what is behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weir.diagnosis.judged import Fix, Judged, clause, worst
from weir.diagnosis.line_ends import PERMANENT, port, round_trip, seen
from weir.diagnosis.measured import Measured, Uplink
from weir.diagnosis.symptom import Number
from weir.diagnosis.thresholds import INTERNET_ROUND_TRIP_US

UNSEEN_INTERNET = "loss behind the gateway"


def uplink(measured: Measured) -> Judged:
    """Its port and, where it is an uplink of the configuration, the verdict of its checks."""
    found = port("uplink", measured.uplink, measured)
    checked = measured.checked
    if checked is not None:
        found = _checked(found, checked)
    return replace(found, sentence=f"{found.sentence} {measured.uplink_by}".rstrip())


def _checked(found: Judged, checked: Uplink) -> Judged:
    numbers = _check_numbers(checked)
    if checked.status == "down":
        said = f"Uplink {checked.id} is down, all of its checks have failed: {clause(checked.answers)}."
        look = Fix(
            "uplink", f"Look at {checked.id}.", "uplink", checked.id, f"weir uplink state {checked.id}"
        )
        failed = Judged("uplink", checked.id, "trouble", said, "checks-failed", numbers, (look,))
        return worst([failed, *([found] if found.state == "trouble" else [])]) or failed
    if checked.status != "up":
        why = f"its checks: {clause(checked.answers)}" if checked.answers else "it has no checks"
        return replace(found, unknown=(*found.unknown, f"whether uplink {checked.id} works ({why})"))
    if found.state == "trouble":
        return found
    said = f"{found.sentence} Uplink {checked.id} is up; its checks said last: {clause(checked.answers)}."
    return replace(found, sentence=said, numbers=(*found.numbers, *numbers))


def _check_numbers(checked: Uplink) -> tuple[Number, ...]:
    trip = round_trip("check_round_trip_ms", checked.round_trip_us, INTERNET_ROUND_TRIP_US)
    lost = () if checked.loss_share is None else (Number("check_loss_share", checked.loss_share, "share"),)
    return (*trip, *lost)


def internet(measured: Measured) -> Judged:
    """What is behind this router."""
    found = worst(_internet(measured))
    if found is not None:
        return found
    station, trip_us, checked = measured.gateway, measured.internet_round_trip_us, measured.checked
    subject = station.address or ""
    if trip_us is not None:
        numbers = round_trip("internet_round_trip_ms", trip_us, INTERNET_ROUND_TRIP_US)
        said = f"The far ends answer after {trip_us / 1000:,.0f} ms"
        return Judged("internet", subject, "clear", f"{said}.", "", numbers, (), (UNSEEN_INTERNET,))
    unseen = ("the round trip to the far ends", UNSEEN_INTERNET)
    if checked is not None and checked.status == "up" and checked.round_trip_us is not None:
        said = f"A check by uplink {checked.id} was answered after {checked.round_trip_us / 1000:,.0f} ms"
        return Judged("internet", subject, "clear", f"{said}.", "", _check_numbers(checked), (), unseen)
    if station.state == "reachable":
        said = f"the gateway {subject} answers, and no round trip behind it was seen in the last minute"
    elif station.state == "permanent":
        said = f"the gateway {subject} {PERMANENT}; no round trip was seen in the last minute"
    else:
        said = clause(station.reason) or "no round trip was seen in the last minute"
    return Judged("internet", subject, "unknown", f"Not known: {said}.", unknown=unseen)


def _internet(measured: Measured) -> Iterator[Judged]:
    station, trip_us, checked = measured.gateway, measured.internet_round_trip_us, measured.checked
    subject = station.address or ""
    if station.state == "failed":
        said = f"The gateway {station.address} does not answer on {station.interface}"
        ping = (Fix("ping", "Ask for it.", "tool", subject, f"weir ping {subject}"),)
        yield Judged("internet", subject, "trouble", f"{said}.", "gateway-silent", seen(station), ping)
    if trip_us is not None:
        if trip_us >= INTERNET_ROUND_TRIP_US:
            said = f"The way to the far ends and back takes {trip_us / 1000:,.0f} ms"
            numbers = round_trip("internet_round_trip_ms", trip_us, INTERNET_ROUND_TRIP_US)
            yield Judged("internet", subject, "trouble", f"{said}.", "slow-internet", numbers)
    elif checked is not None and (checked.round_trip_us or 0.0) >= INTERNET_ROUND_TRIP_US:
        said = f"The fastest check by uplink {checked.id} takes {(checked.round_trip_us or 0) / 1000:,.0f} ms"
        yield Judged("internet", subject, "trouble", f"{said}.", "slow-internet", _check_numbers(checked))
