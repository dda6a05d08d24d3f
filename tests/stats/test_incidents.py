# SPDX-License-Identifier: Apache-2.0
"""Around what began, two minutes before and after are kept by second: few, small, and also on a bad disk."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from weir.stats import incident_files
from weir.stats.incident_files import KEPT, MOST_BYTES, MOST_UNWRITTEN, IncidentFiles, packed, unpacked
from weir.stats.incidents import (
    AGAIN_S,
    AROUND_S,
    MOST_EVENTS,
    RECORDING,
    SECONDS,
    WRITE_S,
    Event,
    Recorder,
    Wanted,
)

CAUSE = Event("chains", "192.0.2.1:80", "warning", "A chain is long.")
EMPTY: dict[str, Any] = {
    "start": 0, "cores": [], "interfaces": [], "queues": [], "names": {}, "events": [], "left_out": 0
}  # fmt: skip


class Figures:
    """One interface whose rate is the second that it was measured in; two minutes of it are known."""

    def __init__(self) -> None:
        self.now = 0
        self.wanted: list[Wanted] = []

    def look(self, wanted: Wanted) -> dict[str, Any]:
        self.wanted.append(wanted)
        start = self.now - AROUND_S
        values = list(range(start, self.now))
        interface = {"id": "wan0", "start": start, "ways": {"rx": {"rate_bps": values}}}
        return {"interfaces": [interface], "queues": [], "names": {}}


def follow(
    recorder: Recorder, figures: Figures, seconds: range, began: Mapping[int, Sequence[Event]]
) -> None:
    for figures.now in seconds:
        recorder.take(float(figures.now), float(figures.now), [0.5], began.get(figures.now, ()))


def head_of(number: int, **fields: Any) -> dict[str, Any]:
    head = {
        "at": number, "code": "chains", "subject": "s", "severity": "warning", "sentence": "It is long.",
        "times": 1, "last_at": number, "state": "whole", "recorded_until": number + 120,
    }  # fmt: skip
    return head | fields


def test_two_minutes_before_and_after_are_kept_by_second() -> None:
    files, figures = IncidentFiles(None), Figures()
    recorder = Recorder(files, figures.look)
    follow(recorder, figures, range(10_000, 10_301), {10_150: [CAUSE]})
    (head,) = files.heads()
    found = files.read(head["id"])
    assert found is not None and (found["at"], found["recorded_until"]) == (10_150, 10_270)
    assert (found["state"], found["start"]) == ("whole", 10_030)
    rates = found["interfaces"][0]["ways"]["rx"]["rate_bps"]
    assert rates == list(range(10_030, 10_270)) and len(rates) == SECONDS
    assert found["cores"] == [[0.5]] * SECONDS
    assert figures.wanted[0] == Wanted("192.0.2.1:80") and figures.wanted[-1].interfaces == ("wan0",)


def test_a_clock_that_is_set_neither_ends_nor_prolongs_it() -> None:
    files, figures = IncidentFiles(None), Figures()
    recorder = Recorder(files, figures.look)
    for step in range(AROUND_S + 1):
        assert step == 0 or files.heads()[0]["state"] == "recording"
        wall = 10_000.0 + step - (9_000 if step > 60 else 0)
        recorder.take(wall, float(step), None, [CAUSE] if step == 0 else ())
    (head,) = files.heads()
    assert (head["state"], head["recorded_until"]) == ("whole", 10_000)


def test_what_happened_meanwhile_is_told_with_it() -> None:
    files, figures = IncidentFiles(None), Figures()
    recorder = Recorder(files, figures.look)
    commit = Event("commit", "revision 7", "notice", "Revision 7 was committed.", begins=False)
    began = {10_000: [commit], 10_100: [commit], 10_150: [CAUSE], 10_200: [commit], 10_280: [commit]}
    follow(recorder, figures, range(10_000, 10_301), began)
    (head,) = files.heads()
    found = files.read(head["id"])
    assert found is not None
    assert [(event["at"], event["code"]) for event in found["events"]] == [
        (10_100, "commit"), (10_150, "chains"), (10_200, "commit")
    ]  # fmt: skip


def test_a_storm_is_recorded_in_bounds() -> None:
    files, figures = IncidentFiles(None), Figures()
    recorder = Recorder(files, figures.look)
    storm = [Event("port-down", f"port{number}", "error", "It is down.") for number in range(500)]
    follow(recorder, figures, range(10_000, 10_122), {10_000: storm})
    assert len(files.heads()) == RECORDING
    found = files.read(1)
    assert found is not None and len(found["events"]) == MOST_EVENTS


def test_what_was_before_it_is_kept_when_the_process_is_killed(tmp_path: Path) -> None:
    figures = Figures()
    recorder = Recorder(IncidentFiles(tmp_path), figures.look)
    follow(recorder, figures, range(10_000, 10_160), {10_150: [CAUSE]})
    files = IncidentFiles(tmp_path)
    Recorder(files, figures.look).resume(20_000.0, 5.0)
    found = files.read(files.heads()[0]["id"])
    assert found is not None and (found["recorded_until"], found["state"]) == (10_150, "cut")
    rates = found["interfaces"][0]["ways"]["rx"]["rate_bps"]
    assert rates == [*range(10_030, 10_150), *[None] * AROUND_S]


def test_a_recording_goes_on_after_a_restart(tmp_path: Path) -> None:
    figures = Figures()
    recorder = Recorder(IncidentFiles(tmp_path), figures.look)
    follow(recorder, figures, range(10_000, 10_160), {10_150: [CAUSE]})
    files = IncidentFiles(tmp_path)
    again = Recorder(files, figures.look)
    again.resume(10_200.0, 10_200.0)
    follow(again, figures, range(10_200, 10_301), {10_205: [CAUSE]})
    (head,) = files.heads()
    assert (head["state"], head["recorded_until"], head["times"]) == ("whole", 10_270, 2)
    found = files.read(head["id"])
    assert found is not None
    assert found["interfaces"][0]["ways"]["rx"]["rate_bps"] == list(range(10_030, 10_270))


def test_the_same_is_counted_until_it_was_quiet_for_long(tmp_path: Path) -> None:
    files, figures = IncidentFiles(tmp_path), Figures()
    recorder = Recorder(files, figures.look)
    begins = {second: [CAUSE] for second in (10_000, 10_001, 10_300, 10_300 + AGAIN_S)}
    follow(recorder, figures, range(10_000, 11_100), begins)
    assert [(head["at"], head["times"]) for head in files.heads()] == [(10_300 + AGAIN_S, 1), (10_000, 3)]
    again = IncidentFiles(tmp_path).heads()[1]
    assert (again["times"], again["last_at"]) == (3, 10_300), "it is written, too"


def test_the_oldest_go_and_none_is_too_large(tmp_path: Path) -> None:
    files = IncidentFiles(tmp_path)
    for number in range(1, KEPT + 6):
        files.add(head_of(number), packed(head_of(number), EMPTY))
    assert [head["at"] for head in files.heads()] == list(range(KEPT + 5, 5, -1))
    assert len(list(tmp_path.iterdir())) == KEPT
    noise = random.Random(1)
    values = {"rate_bps": [noise.random() for _ in range(SECONDS)]}
    queues = [{"id": f"q{number}", "ways": {"upload": values, "download": values}} for number in range(60)]
    content = packed(head_of(1), {**EMPTY, "queues": queues})
    kept = unpacked(content)
    assert len(content) <= MOST_BYTES
    assert 0 < len(kept["queues"]) == 60 - kept["left_out"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no incident at all" * 100,
        lambda data: data[:30] + b"\x00" + data[31:],
        lambda data: data[:9] + b"{}\n",
        lambda data: b"00000000 " + data[9:],
    ],
)
def test_a_damaged_head_is_named_and_takes_no_other_with_it(
    tmp_path: Path, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    before = IncidentFiles(tmp_path)
    for number in range(1, 4):
        before.add(head_of(number), packed(head_of(number), EMPTY))
    path = tmp_path / "2.incident"
    path.write_bytes(damage(path.read_bytes()))
    (tmp_path / "9.new").write_bytes(b"half of a write")
    (tmp_path / "notes.txt").write_bytes(b"somebody's")
    files = IncidentFiles(tmp_path)
    assert [head["id"] for head in files.heads()] == [3, 1]
    (problem,) = files.problems
    assert "incident 2" in problem and str(path) in problem and "damaged" in problem
    assert problem in caplog.text and files.read(2) is None and files.why_damaged(2) == problem
    assert files.read(1) is not None and files.add(head_of(4), packed(head_of(4), EMPTY)) == 4
    assert not (tmp_path / "9.new").exists() and (tmp_path / "notes.txt").exists()


def test_a_damaged_detail_is_found_when_it_is_read(tmp_path: Path) -> None:
    files = IncidentFiles(tmp_path)
    for number in (1, 2):
        files.add(head_of(number), packed(head_of(number), EMPTY))
    path = tmp_path / "1.incident"
    path.write_bytes(path.read_bytes()[:-9])
    assert files.read(1) is None and files.read(2) is not None
    assert "incident 1" in files.problems[0] and [head["id"] for head in files.heads()] == [2]


def test_a_full_disk_is_named_and_nothing_is_lost_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, files = Figures(), IncidentFiles(tmp_path)
    files.add(head_of(1), packed(head_of(1), EMPTY))
    recorder = Recorder(files, figures.look)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(incident_files.os, "fsync", full)
        follow(recorder, figures, range(10_000, 10_140), {10_010: [CAUSE]})
        assert [path.name for path in tmp_path.iterdir()] == ["1.incident"]
        assert files.problems == [f"incidents cannot be written to {tmp_path}: No space left on device"]
        assert [head["state"] for head in files.heads()] == ["whole", "whole"]
        assert files.read(2) is not None
    follow(recorder, figures, range(10_140, 10_140 + WRITE_S + 1), {})
    assert files.problems == []
    found = IncidentFiles(tmp_path).read(2)
    assert found is not None and found["state"] == "whole"


def test_what_waits_for_a_disk_is_bounded(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"where the folder would be")
    files = IncidentFiles(place)
    for number in range(1, MOST_UNWRITTEN + 5):
        files.add(head_of(number), packed(head_of(number), EMPTY))
    assert [head["id"] for head in files.heads()] == list(range(MOST_UNWRITTEN + 4, 4, -1))
    assert str(place) in files.problems[0]
