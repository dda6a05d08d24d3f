# SPDX-License-Identifier: Apache-2.0
"""A customer's round trip beside those of his own last week, by REST, from the file of the statistics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.http.test_why import M, place, seconds, why, with_customers
from tests.http.world import Client, World
from weir.stats.codes import DELAY_US
from weir.stats.samples import encode


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """With a past."""
    with World(tmp_path, statistics_database=tmp_path / "weir-statistics.db") as found:
        with_customers(found.client(), found)
        yield found


def past_hours(world: World, hours: int, trip_us: float) -> None:
    """The last hours, in which Acme's device answered after so long; of the far ends nothing."""
    figures = world.parts.stats._figures
    archive, now_s = figures._archive, time.time()
    assert archive is not None
    codes = np.zeros((1, 2), np.uint8)
    codes[0, 1] = DELAY_US.encode(np.array([trip_us], np.float32))[0]
    records = encode(np.full((6, 2), 1000, np.float32)).reshape(1, 2)
    slot = world.agent.maps.slots["acme"]
    for hour in range(hours):
        step = (int(now_s) // 3600 - hours + hour) * 6
        archive.write(step, world.agent.maps.keys[slot * 2 : slot * 2 + 1], records, codes)
    archive.fold(int(now_s) // 600)


@pytest.mark.parametrize(
    ("hours", "trip_us", "code", "words"),
    [
        (24, 3_000.0, "slower-device-side", "times the usual 3.0 ms of the last 7 days."),
        (24, 20_000.0, None, "round trip 24 ms (usual in the last 7 days: "),
        (23, 2_000.0, None, "round trip 24 ms."),
    ],
)
def test_a_round_trip_is_compared_with_the_customers_own_last_week(
    api: Client, world: World, hours: int, trip_us: float, code: str | None, words: str
) -> None:
    """The router's programs saw 24 ms just now."""
    seconds(world, 3, acme=(M, 5 * M))
    past_hours(world, hours, trip_us)
    answer = why(api, queue="acme")
    device = place(answer, "device")
    assert device["code"] == code, device
    assert words in device["sentence"]
    numbers = {item["name"]: item for item in device["numbers"]}
    assert numbers["device_usual_hours"]["shown"] == f"{hours} h"
    too_few = [item for item in device["not_known"] if "usual round trip to the device" in item]
    assert bool(too_few) is (hours < 24)
    history = api("GET", "/stats/queues/acme/history", query_string={"window": "7d"}).json
    seen = [value for value in history["download"]["round_trip_us"] if value is not None]
    assert seen == [pytest.approx(trip_us, rel=0.05)] * hours
    assert set(history["upload"]["round_trip_us"]) == {None}
