# SPDX-License-Identifier: Apache-2.0
"""What a rule says of one place on a customer's line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import shown

Place = Literal["device", "access", "queue", "parent", "router", "uplink", "internet"]
State = Literal["culprit", "trouble", "clear", "unknown"]


@dataclass(frozen=True, slots=True)
class Fix:
    """What can be done. `kind` and `object` name what it is done to, `command` is the command line for it; ""
    where there is none."""

    id: str
    text: str
    kind: str = ""
    object: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """`code` names what is wrong, "" where nothing is. `unknown` are the things of this place that were not
    measured: they are never ruled out."""

    place: Place
    subject: str
    state: State
    sentence: str
    code: str = ""
    numbers: tuple[Number, ...] = ()
    fixes: tuple[Fix, ...] = ()
    unknown: tuple[str, ...] = ()


ORDER = (
    "uplink-down", "access-down", "device-silent", "gateway-silent", "parent-full",
    "burst-used", "queue-full", "policed", "parent-drops", "queue-drops", "checks-failed", "half-duplex",
    "port-errors", "port-full", "slow-link", "router-finding", "core-drops", "memory-low",
    "loss-device-side", "loss-internet", "long-wait",
    "nothing-comes-back", "nothing-came", "core-busy", "slower-device-side", "slower-internet",
    "slow-device-side", "slow-internet",
)  # fmt: skip
"""Which of several troubles is the culprit: what stops all packets, then what was counted as lost at a limit,
then what loses packets elsewhere, then what is slower than usual, then what is slow."""


def rate(bps: float) -> str:
    """A measured rate; none is 0, not unlimited."""
    return shown(Number("", bps, "bit/s"))


def ms(us: float) -> str:
    """A measured time of microseconds: `24 ms`, `0.3 ms`."""
    return shown(Number("", us / 1000, "ms"))


_OPENER = re.compile(r"^(The|An?|There|This|No|Its?|Nobody|Another|Only|More|Each|Not|Nothing)\b")
"""Words that a name never is, as in `webui/src/ui/format.ts`."""


def clause(text: str) -> str:
    """What somebody else said, as it stands behind a colon: without full stop, and without a capital but of a
    name."""
    return _OPENER.sub(lambda found: found[0].lower(), text).rstrip(".")


def worst(found: Iterable[Judged]) -> Judged | None:
    """The one that decides."""
    return min(found, key=lambda item: ORDER.index(item.code), default=None)
