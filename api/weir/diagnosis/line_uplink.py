# SPDX-License-Identifier: Apache-2.0
"""The other end of a line: the port to the internet, the uplink that it is, and what is behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weir.diagnosis import lost
from weir.diagnosis.judged import Fix, Judged, clause, ms, worst
from weir.diagnosis.line_ends import PERMANENT, port, round_trip, seen
from weir.diagnosis.measured import Measured, Uplink
from weir.diagnosis.symptom import Number
from weir.diagnosis.thresholds import INTERNET_ROUND_TRIP_US
from weir.diagnosis.usual import beside, is_slower, unusual, usual_numbers


def uplink(measured: Measured) -> Judged:
    """Its port and, where it is an uplink of the configuration, the verdict of its checks."""
    found, checked = port("uplink", measured.uplink, measured), measured.checked
    failed = None if checked is None or checked.status != "down" else _failed(checked)
    if failed is not None and worst([failed, *([found] if found.state == "trouble" else [])]) is failed:
        return failed
    said, numbers, unknown = [found.sentence, measured.uplink_by], found.numbers, found.unknown
    if checked is not None and checked.status == "up" and found.state != "trouble":
        said.append(f"Its checks say that it is up (last answers: {clause(checked.answers)}).")
        numbers += _check_numbers(checked)
    elif checked is not None and checked.status == "unknown":
        why = f"its checks: {clause(checked.answers)}" if checked.answers else "it has no checks"
        unknown += (f"whether uplink {checked.id} works ({why})",)
    return replace(found, sentence=" ".join(filter(None, said)), numbers=numbers, unknown=unknown)


def _failed(checked: Uplink) -> Judged:
    said = f"All checks of uplink {checked.id} have failed: {clause(checked.answers)}."
    look = Fix("uplink", f"Look at {checked.id}.", "uplink", checked.id, f"weir uplink state {checked.id}")
    return Judged("uplink", checked.id, "trouble", said, "checks-failed", _check_numbers(checked), (look,))


def _check_numbers(checked: Uplink) -> tuple[Number, ...]:
    trip = round_trip("check_round_trip_ms", _check_trip_us(checked), INTERNET_ROUND_TRIP_US)
    lost = () if checked.loss_share is None else (Number("check_loss_share", checked.loss_share, "share"),)
    return (*trip, *lost)


def _check_trip_us(checked: Uplink | None) -> float | None:
    """Of an uplink that works: of one that is down an answer now and then tells nothing."""
    return None if checked is None or checked.status != "up" else checked.round_trip_us


def internet(measured: Measured) -> Judged:
    """What is behind this router."""
    found = worst(_internet(measured))
    if found is not None:
        return found
    station, trip_us, checked = measured.gateway, measured.internet_round_trip_us, measured.checked
    subject = station.address or ""
    usual = measured.internet_usual
    unseen = (*lost.unseen(measured.lost, "internet"), *unusual("the far ends", usual))
    losses = lost.side_numbers(measured.lost, "internet")
    if trip_us is not None:
        said = f"The far ends answer after {ms(trip_us)}{beside(trip_us, usual)}"
        numbers = (*_trip_numbers(measured), *losses)
        return Judged("internet", subject, "clear", f"{said}.", "", numbers, (), unseen)
    unseen = ("the round trip to the far ends", *unseen)
    check_us = _check_trip_us(checked)
    if checked is not None and check_us is not None:
        said = f"The fastest check of uplink {checked.id} is answered after {ms(check_us)}"
        numbers = (*_check_numbers(checked), *losses)
        return Judged("internet", subject, "clear", f"{said}.", "", numbers, (), unseen)
    if station.state == "reachable":
        said = f"the gateway {subject} answers, and no round trip behind it was seen in the last minute"
    elif station.state == "permanent":
        said = f"the gateway {subject} {PERMANENT}; no round trip was seen in the last minute"
    else:
        said = clause(station.reason) or "no round trip was seen in the last minute"
    return Judged("internet", subject, "unknown", f"Not known: {said}.", "", losses, (), unseen)


def _internet(measured: Measured) -> Iterator[Judged]:
    station, trip_us, checked = measured.gateway, measured.internet_round_trip_us, measured.checked
    subject = station.address or ""
    if station.state == "failed":
        said = f"The gateway {station.address} does not answer on {station.interface}"
        ping = (Fix("ping", "Ask for it.", "tool", subject, f"weir ping {subject}"),)
        yield Judged("internet", subject, "trouble", f"{said}.", "gateway-silent", seen(station), ping)
    if way := lost.lossy(measured.lost, "internet"):
        said, numbers = (
            lost.said(measured.lost, "internet", way),
            lost.side_numbers(measured.lost, "internet"),
        )
        yield Judged("internet", subject, "trouble", f"{said}.", "loss-internet", numbers)
    if trip_us is not None:
        usual, numbers = measured.internet_usual, _trip_numbers(measured)
        said = f"The way to the far ends and back takes {ms(trip_us)}{beside(trip_us, usual)}"
        if is_slower(trip_us, usual):
            yield Judged("internet", subject, "trouble", f"{said}.", "slower-internet", numbers)
        if trip_us >= INTERNET_ROUND_TRIP_US:
            unseen = unusual("the far ends", usual)
            yield Judged("internet", subject, "trouble", f"{said}.", "slow-internet", numbers, (), unseen)
    elif checked is not None and (check_us := _check_trip_us(checked) or 0.0) >= INTERNET_ROUND_TRIP_US:
        said = f"The fastest check of uplink {checked.id} takes {ms(check_us)}"
        yield Judged("internet", subject, "trouble", f"{said}.", "slow-internet", _check_numbers(checked))


def _trip_numbers(measured: Measured) -> tuple[Number, ...]:
    trip_us = measured.internet_round_trip_us
    return (
        *round_trip("internet_round_trip_ms", trip_us, INTERNET_ROUND_TRIP_US),
        *usual_numbers("internet", trip_us, measured.internet_usual),
    )
