# SPDX-License-Identifier: Apache-2.0
"""What TCP lost on either side of this router, as its programs saw it in passing (docs/adr/0231)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from weir.diagnosis.measured import WAYS, Lost, Way
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import percent
from weir.diagnosis.thresholds import LOSS_BYTES, LOSS_PACKETS, LOSS_SHARE
from weir.model.units import counted

Side = Literal["device", "internet"]
Where = Literal["before", "here", "after"]
Losses = Mapping[Way, Lost]
NOT_SEEN = "no TCP with timestamps was seen in it in the last minute, or an HTB class holds it"
SIDES: dict[Side, str] = {"device": "between the device and this router", "internet": "behind the gateway"}


def side_of(way: Way, where: Where) -> Side:
    """An upload comes from the device."""
    return "device" if (way == "upload") == (where == "before") else "internet"


def _where(way: Way, side: Side) -> Where:
    return "before" if (way == "upload") == (side == "device") else "after"


def share(lost: Lost, where: Where) -> float:
    """Of the bytes that were sent towards there: what was lost before this router did not pass at first."""
    count = lost.before_bytes if where == "before" else lost.after_bytes
    return count / max(lost.seen_bytes + lost.before_bytes, 1)


def unknown(lost: Lost | None, where: Where) -> str:
    """Why a direction's loss before or after this router is not known; "" where it is."""
    if lost is None:
        return NOT_SEEN
    if lost.seen_bytes < LOSS_BYTES:
        return f"only {lost.seen_bytes:,} bytes of it were seen, and {LOSS_BYTES:,} are needed"
    packets = _packets(lost, where)
    if share(lost, where) >= LOSS_SHARE and packets < LOSS_PACKETS:
        return f"only {counted(packets, 'packet')} sent again, and {LOSS_PACKETS} are needed"
    return ""


def lossy(losses: Losses, side: Side) -> Way | None:
    """The direction that loses most on a side, more than the bound; None: neither does as far as is known."""
    known = [way for way in WAYS if not unknown(losses.get(way), _where(way, side))]
    worst = max(known, key=lambda way: share(losses[way], _where(way, side)), default=None)
    return worst if worst and share(losses[worst], _where(worst, side)) >= LOSS_SHARE else None


def said(losses: Losses, side: Side, way: Way) -> str:
    """The beginning of a sentence."""
    where = _where(way, side)
    return f"{percent(share(losses[way], where))} of the {way} is lost {SIDES[side]}, {where} this router"


def side_numbers(losses: Losses, side: Side) -> tuple[Number, ...]:
    """Of both directions, as far as they are known."""
    found: list[Number] = []
    for way in WAYS:
        where = _where(way, side)
        if not unknown(losses.get(way), where):
            found.append(Number(f"{way}_lost_share", share(losses[way], where), "share", LOSS_SHARE))
    return tuple(found)


def unseen(losses: Losses, side: Side) -> Iterator[str]:
    """What of a side's loss is not known."""
    missing = [way for way in WAYS if unknown(losses.get(way), _where(way, side))]
    if len(missing) == len(WAYS):
        yield f"loss {SIDES[side]}"
    else:
        yield from (f"loss {SIDES[side]} ({way})" for way in missing)


def numbers(lost: Lost, where: Where) -> tuple[Number, ...]:
    """Of one direction on one side."""
    return (
        Number("lost_share", share(lost, where), "share", LOSS_SHARE),
        Number("sent_again", _packets(lost, where), "packets", float(LOSS_PACKETS)),
        Number("seen", lost.seen_bytes, "bytes", float(LOSS_BYTES)),
    )


def _packets(lost: Lost, where: Where) -> int:
    return lost.before_packets if where == "before" else lost.after_packets
