# SPDX-License-Identifier: Apache-2.0
"""A queue follows from its declaration as every other kind: JSON, forms, schemas, options, reference."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from weir.cli import queues
from weir.cli.quantities import WINDOW, PairType
from weir.fields import Hours, Ref, Target, Whole
from weir.http import forms
from weir.http.reference import table
from weir.http.schemas.queue import QUEUE
from weir.kinds import DECLARED
from weir.model.codec import from_json, to_json
from weir.model.limits import DAYS
from weir.model.objects import NO_TOTAL, Queue, TimeWindow, Total
from weir.model.pair import Pair
from weir.model.problem import Invalid
from weir.store.bodies import decode, encode

KIND = DECLARED["queue"]


def read(**fields: Any) -> Queue:
    found = from_json("queue", {"id": "q1", "name": "anna", **fields})
    assert isinstance(found, Queue)
    return found


def test_equal_pairs_names_and_totals_are_one_object() -> None:
    both = [
        read(
            max_limit_bps={"upload": 123_456_789, "download": 5},
            queue_type={"upload": "my type", "download": "other"},
            parent="".join(["to", "wer"]),
            total={"priority": 8},
        )
        for _ in range(2)
    ]
    for field in ("max_limit_bps", "queue_type", "parent", "total"):
        first, second = (getattr(item, field) for item in both)
        assert first is second, field
    assert both[0].total is NO_TOTAL


def test_a_direction_that_is_left_out_takes_the_default() -> None:
    assert read(priority={"upload": 3}).priority == Pair(3, 8)
    assert read(queue_type={"download": "pcq"}).queue_type == Pair("default-small", "pcq")
    assert read(bucket_size_ms=None).bucket_size_ms == Pair(100, 100)


def test_a_window_that_is_always_open_is_none() -> None:
    assert read(time={}).time is None
    window = read(time={"start": "08:00", "days": ["sun", "mon"]}).time
    assert window == TimeWindow(480, 1440, ("mon", "sun"))
    assert Hours(of="queues").to_json(window) == {"start": "08:00", "end": "24:00", "days": ["mon", "sun"]}


@pytest.mark.parametrize(
    "fields, path",
    [
        ({"name": " "}, "name"),
        ({"max_limit_bps": {"upload": 1, "down": 2}}, "max_limit_bps.down"),
        ({"queue_type": {"upload": "/"}}, "queue_type.upload"),
        ({"time": {"start": "8:00"}}, "time.start"),
        ({"time": {"start": "18:00", "end": "08:00"}}, "time.end"),
        ({"time": {"days": []}}, "time.days"),
        ({"total": {"max_limit_bps": -1}}, "total.max_limit_bps"),
        ({"dst": 5}, "dst"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(**fields)
    assert [finding.field for finding in caught.value.findings] == [path]


def test_a_stored_queue_has_what_differs_from_the_defaults() -> None:
    queue = replace(
        read(target=["10.0.0.1"], comment="é"),
        priority=Pair(1, 8),
        time=TimeWindow(0, 60, DAYS),
        total=Total(max_limit_bps=7),
    )
    text = encode(queue)
    assert json.loads(text).keys() == {"id", "name", "target", "priority", "time", "total", "comment"}
    assert decode("queue", "q1", text) == queue
    assert from_json("queue", to_json(queue)) == queue


def test_a_form_has_a_pair_as_a_group_of_two() -> None:
    described = {field["name"]: field for field in forms.described()["queue"]["fields"]}
    upload, download = described["burst_time_ms"]["fields"]
    assert (upload["name"], upload["label"], upload["unit"], upload["default"]) == (
        "upload",
        "Upload",
        "ms",
        0,
    )
    assert download["high"] == 24 * 3600 * 1000
    assert [field["name"] for field in described["time"]["fields"]] == ["start", "end", "days"]
    assert all(field.get("help") for field in described.values())


def test_schemas_and_reference_say_bounds_and_defaults() -> None:
    members = QUEUE.input().fields
    assert members["max_limit_bps"].load_default == {"upload": 0, "download": 0}
    assert members["total"].load_default["queue_type"] == "default-small"
    assert members["total"].allow_none and not members["name"].allow_none
    row = next(line for line in table(KIND).splitlines() if "`priority`" in line)
    assert row.startswith("| `priority` | pair, each 1 to 8; 8 | Who gets first")
    assert row.endswith("| yes; settles within a second of a change in demand, once a parent is short |")


def test_options_are_read_as_people_type_them() -> None:
    rates, times = PairType(Whole(0, 10**12), "bps"), PairType(Whole(0, 10**6), "ms")
    assert rates.convert("10M/1.5g", None, None) == {"upload": 10**7, "download": 1_500_000_000}
    assert times.convert("8s", None, None) == {"upload": 8000, "download": 8000}
    assert PairType(Ref("queue-type"), "").convert("a / b", None, None) == {"upload": "a", "download": "b"}
    assert WINDOW.convert("08:00-18:00 mon, tue", None, None) == {
        "start": "08:00",
        "end": "18:00",
        "days": ["mon", "tue"],
    }
    assert WINDOW.convert("08:00-18:00", None, None) == {"start": "08:00", "end": "18:00"}


@pytest.mark.parametrize(
    "option, value, said",
    [
        ("--max-limit", "10 apples", "is not a rate"),
        ("--burst-time", "2d", "86400000"),
        ("--priority", "9", "1<=x<=8"),
        ("--time", "08:00", "08:00-18:00 mon,tue"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_sent(option: str, value: str, said: str) -> None:
    result = CliRunner().invoke(queues.queue, ["set", "q1", option, value])
    assert result.exit_code == 2
    assert said in result.output


def test_targets_are_prefixes_of_domains_and_interfaces() -> None:
    assert [Target.parse(text) for text in ("10.0.0.1@2", "lan0")] == ["10.0.0.1/32@2", "lan0"]
