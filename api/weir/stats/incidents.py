# SPDX-License-Identifier: Apache-2.0
"""What happened around something that began: two minutes before it and two after, second by second.

Nothing more is sampled for it but the cores: of interfaces and queues, what the statistics hold in memory is
kept. A second without a sample is None. `weir.stats.incident_files` keeps them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from weir.stats.incident_files import IncidentFiles, packed, unpacked

AROUND_S = 120
SECONDS = 2 * AROUND_S
WRITE_S = 60
"""What a power cut may take of an incident that is being recorded."""
RECORDING = 4
"""At once; what begins meanwhile is among the events of these."""
AGAIN_S = 600
"""One cause is recorded again after it was quiet for so long; until then it is counted."""
MOST_EVENTS = 100
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. What `begins` an incident is recorded, the rest only told beside others."""

    code: str
    subject: str
    severity: str
    sentence: str
    begins: bool = True

    @property
    def key(self) -> tuple[str, str]:
        return self.code, self.subject


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose figures an incident has: of its beginning, and what it is about."""

    subject: str
    interfaces: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()


Look = Callable[[Wanted], Json]


@dataclass(slots=True)
class _Recording:
    """`ends` and `due` are monotonic, so that setting the clock neither ends nor prolongs it. The detail is
    packed between two notes: of 36 series it is 40 kB, not 3 MB."""

    number: int
    at: float
    ends: float
    due: float
    head: Json
    content: bytes = b""
    events: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """A cause that was recorded, and when it was seen last (monotonic)."""

    number: int
    clock: float
    changed: bool = False


class Recorder:
    """By one thread. `look` gives the last two minutes of interfaces and queues, as lists of series: `id`,
    `start` (Unix seconds) and `ways`, figures by direction, second by second."""

    def __init__(self, files: IncidentFiles, look: Look) -> None:
        self._files = files
        self._look = look
        self._cores: deque[tuple[int, Sequence[float]]] = deque(maxlen=SECONDS + 2)
        self._events: deque[Json] = deque(maxlen=MOST_EVENTS)
        self._open: list[_Recording] = []
        self._known: dict[tuple[str, str], _Known] = {}
        self._retry_at = 0.0

    def resume(self, now: float, clock: float) -> None:
        """Go on with what was being recorded when the process ended; what is too long ago stays cut."""
        for head in self._files.heads():
            number = head.pop("id")
            if head["state"] != "recording":
                continue
            left_s = head["at"] + AROUND_S - now
            found = self._files.read(number) if 0 < left_s <= AROUND_S else None
            if found is None or len(self._open) >= RECORDING:
                self._files.put_head(number, {**head, "state": "cut"})
                continue
            detail = {name: value for name, value in found.items() if name not in {"id", *head}}
            recording = _Recording(number, head["at"], clock + left_s, clock, head, packed(head, detail))
            recording.events = detail["events"]
            self._open.append(recording)
            self._known[head["code"], head["subject"]] = _Known(number, clock)

    def take(self, now: float, clock: float, cores: Sequence[float] | None, events: Iterable[Event]) -> None:
        """Once a second: the time (Unix seconds, and monotonic), the cores' busy shares (None: not known) and
        what happened since."""
        if cores:
            self._cores.append((int(now), cores))
        begun = list(events)
        for event in begun:
            self._tell(event, now)
        for event in begun:
            if event.begins:
                self._begin(event, now, clock)
        for recording in [item for item in self._open if clock >= item.due]:
            self._go_on(recording, now, clock)
        if clock >= self._retry_at:
            self._retry_at = clock + WRITE_S
            self._files.retry()
            self._write_again(clock)

    def _tell(self, event: Event, now: float) -> None:
        told = {"at": now, **asdict(event)}
        self._events.append(told)
        for recording in self._open:
            if len(recording.events) < MOST_EVENTS:
                recording.events.append(told)

    def _begin(self, event: Event, now: float, clock: float) -> None:
        known = self._known.get(event.key)
        if known is not None and clock - known.clock < AGAIN_S:
            known.clock, known.changed = clock, True
            self._count(known, now)
            return
        if len(self._open) >= RECORDING:
            return
        head = {
            "at": now, "code": event.code, "subject": event.subject, "severity": event.severity,
            "sentence": event.sentence, "times": 1, "last_at": now, "state": "recording",
            "recorded_until": now,
        }  # fmt: skip
        before = [told for told in self._events if now - AROUND_S <= told["at"] <= now]
        recording = _Recording(0, now, clock + AROUND_S, clock + WRITE_S, head, events=before)
        recording.content = packed(head, self._noted(recording, now))
        recording.number = self._files.add(head, recording.content)
        self._open.append(recording)
        self._known[event.key] = _Known(recording.number, clock)

    def _count(self, known: _Known, now: float) -> None:
        """It happened again: its head says how often, and is written with the next minute."""
        for recording in self._open:
            if recording.number == known.number:
                recording.head = {**recording.head, "times": recording.head["times"] + 1, "last_at": now}
                known.changed = False
                return
        head = self._files.head(known.number)
        if head is not None:
            self._files.keep_head(known.number, {**head, "times": head["times"] + 1, "last_at": now})

    def _write_again(self, clock: float) -> None:
        for key, known in list(self._known.items()):
            head = self._files.head(known.number)
            if known.changed and head is not None:
                known.changed = False
                self._files.put_head(known.number, head)
            if clock - known.clock >= AGAIN_S:
                del self._known[key]

    def _go_on(self, recording: _Recording, now: float, clock: float) -> None:
        is_over = clock >= recording.ends
        recording.due = min(clock + WRITE_S, recording.ends)
        recording.head = {
            **recording.head,
            "recorded_until": max(recording.at, min(now, recording.at + AROUND_S)),
            "state": "whole" if is_over else "recording",
        }
        recording.content = packed(recording.head, self._noted(recording, now))
        self._files.put(recording.number, recording.head, recording.content)
        if is_over:
            self._open.remove(recording)

    def _noted(self, recording: _Recording, now: float) -> Json:
        """What is known now, added to what was kept before."""
        start = int(recording.at) - AROUND_S
        known = unpacked(recording.content) if recording.content else {}
        names = {what: tuple(item["id"] for item in known.get(what, ())) for what in ("interfaces", "queues")}
        found = self._look(Wanted(recording.head["subject"], **names))
        cores: list[list[float] | None] = known.get("cores") or [None] * SECONDS
        for second, shares in self._cores:
            if 0 <= second - start < SECONDS:
                cores[second - start] = [round(share, 3) for share in shares]
        return {
            "start": start,
            "cores": cores,
            "interfaces": joined(known.get("interfaces", ()), found["interfaces"], start),
            "queues": joined(known.get("queues", ()), found["queues"], start),
            "names": {**known.get("names", {}), **found.get("names", {})},
            "events": list(recording.events),
            "left_out": 0,
        }


def joined(known: Iterable[Json], found: Iterable[Json], start: int) -> list[Json]:
    """Series of `SECONDS` seconds from `start`, of what was known and what was found later: `{id, ways}`,
    where a way has lists of figures."""
    series: dict[str, Json] = {item["id"]: item["ways"] for item in known}
    for item in found:
        first = round(item["start"]) - start
        ways = series.setdefault(item["id"], {})
        for way, figures in item["ways"].items():
            for name, values in figures.items():
                row = ways.setdefault(way, {}).setdefault(name, [None] * SECONDS)
                for place, value in enumerate(values, first):
                    if value is not None and 0 <= place < SECONDS:
                        row[place] = value
    return [{"id": name, "ways": ways} for name, ways in series.items()]
