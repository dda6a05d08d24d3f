# SPDX-License-Identifier: Apache-2.0
"""Loss on either side of the router: whose it is, what is too little to tell, and that nothing is guessed."""

from __future__ import annotations

import pytest

from tests.diagnosis.lines import M, at, flow, healthy, line
from weir.diagnosis.line import Loss, judge
from weir.diagnosis.lost import NOT_SEEN, Where
from weir.diagnosis.measured import Lost, Measured, Way
from weir.diagnosis.thresholds import LOSS_BYTES, LOSS_PACKETS, LOSS_SHARE

SEEN = 1_000_000
LOSSY = 40_000


def losing(where: str, count: int = LOSSY, packets: int = 30, seen: int = SEEN) -> Lost:
    before = (count, packets) if where == "before" else (0, 0)
    after = (count, packets) if where == "after" else (0, 0)
    return Lost(seen, *before, *after)


def lost_at(measured: Measured, way: Way, where: Where) -> Loss:
    (found,) = (item for item in judge(measured).losses if (item.way, item.where) == (way, where))
    return found


@pytest.mark.parametrize(
    ("way", "where", "place", "code"),
    [
        ("upload", "before", "device", "loss-device-side"),
        ("upload", "after", "internet", "loss-internet"),
        ("download", "before", "internet", "loss-internet"),
        ("download", "after", "device", "loss-device-side"),
    ],
)
def test_the_side_on_which_it_is_lost_is_the_culprit(way: Way, where: Where, place: str, code: str) -> None:
    well = Lost(SEEN, 0, 0, 0, 0)
    measured = healthy(lost={"upload": well, "download": well, way: losing(where)})
    answer = judge(measured)
    assert answer.culprit is not None and (answer.culprit.place, answer.culprit.code) == (place, code)
    assert [item.place for item in answer.line if item.state != "clear"] == [place]
    numbers = {item.name: (item.value, item.threshold) for item in answer.culprit.numbers}
    value, threshold = numbers[f"{way}_lost_share"]
    assert threshold == LOSS_SHARE and 0.038 <= value <= 0.04
    told = lost_at(measured, way, where)
    assert [item.name for item in told.numbers] == ["lost_share", "sent_again", "seen"]


def test_below_the_bound_it_is_ruled_out_with_both_numbers() -> None:
    least = round(LOSS_SHARE * SEEN)
    answer = judge(healthy(lost={"download": losing("after", least - 1)}))
    device = at(answer, "device")
    assert device.state == "clear"
    assert {item.name: item.threshold for item in device.numbers}["download_lost_share"] == LOSS_SHARE
    assert at(judge(healthy(lost={"download": losing("after", least)})), "device").state == "culprit"


def test_a_direction_that_was_not_seen_is_named_and_not_ruled_out() -> None:
    answer = judge(healthy(lost={"download": losing("after", 0, 0)}))
    assert "loss between the device and this router (upload)" in at(answer, "device").unknown
    assert "loss behind the gateway (upload)" in at(answer, "internet").unknown
    assert lost_at(healthy(lost={}), "upload", "before").sentence.startswith(f"Not known: {NOT_SEEN}.")
    nothing = judge(healthy(lost={}))
    assert "loss between the device and this router" in at(nothing, "device").unknown
    assert "loss behind the gateway" in at(nothing, "internet").unknown


@pytest.mark.parametrize(
    ("few", "words"),
    [
        (losing("after", 9_000, 9, LOSS_BYTES - 1), "only 149,999 bytes of it were seen, and 150,000 are"),
        (losing("after", LOSSY, LOSS_PACKETS - 1), "only 2 packets sent again, and 3 are needed"),
    ],
)
def test_too_little_to_tell_is_not_known(few: Lost, words: str) -> None:
    measured = healthy(lost={"download": few})
    assert judge(measured).culprit is None
    told = lost_at(measured, "download", "after")
    assert words in told.sentence and not told.numbers
    assert any("loss between the device" in item for item in at(judge(measured), "device").unknown)


def test_what_the_router_itself_dropped_comes_before_loss_elsewhere() -> None:
    full = line(download=flow(49 * M, drops_ps=30.0))
    answer = judge(healthy(queue=full, lost={"download": losing("after")}))
    assert answer.culprit is not None and answer.culprit.code == "queue-full"
    assert at(answer, "device").state == "trouble"
