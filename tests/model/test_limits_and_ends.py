# SPDX-License-Identifier: Apache-2.0
"""Findings: limits more than one level above, ends that nothing reaches, options without effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair, Queue, QueueType, Total
from weir.model.rules import validate, validate_all

M = 1_000_000
TOWER = Queue("t", "tower", ("10.0.0.0/16",), max_limit_bps=Pair(0, 100 * M), total=Total(max_limit_bps=M))
FREE = Queue("f", "free", parent="t")
WAN = Interface("wan0", "wan")


def said(items: list[ConfigObject]) -> list[tuple[str, str]]:
    return [(item.code, item.path) for item in validate_all(Document(items)) if item.severity == "warning"]


def test_a_queue_is_compared_with_the_nearest_limit_above_it() -> None:
    fast = Queue("q", "q", ("10.0.0.1/32",), parent="f", max_limit_bps=Pair(9 * M, 200 * M))
    (found,) = validate_all(Document([TOWER, FREE, fast]))
    assert (found.code, found.path) == ("child-above-parent", "queue/q/max_limit_bps.download")
    assert found.message == ("queue 'q' may download at 200 Mbit/s, but 'tower' above it only at 100 Mbit/s")
    assert said([TOWER, replace(FREE, max_limit_bps=Pair(0, 200 * M)), fast]) == [
        ("child-above-parent", "queue/f/max_limit_bps.download")
    ]


def test_totals_are_compared_with_totals() -> None:
    fast = Queue("q", "q", ("10.0.0.1/32",), parent="f", total=Total(max_limit_bps=2 * M))
    assert said([TOWER, FREE, fast]) == [("child-above-parent", "queue/q/total.max_limit_bps")]


def test_a_lower_limit_is_said_at_queues_far_below() -> None:
    fast = Queue("q", "q", ("10.0.0.1/32",), parent="f", max_limit_bps=Pair(0, 50 * M))
    document = Document([TOWER, FREE, fast])
    change = Change("queue", "t", TOWER, replace(TOWER, max_limit_bps=Pair(0, 20 * M)))
    document.apply([change])
    assert [(item.code, item.id) for item in validate(document, [change])] == [("child-above-parent", "q")]


def test_a_dst_that_is_no_interface_is_said() -> None:
    queue = Queue("q", "q", ("10.0.0.1/32",), dst="wan0")
    assert said([queue]) == [("unknown-interface", "queue/q/dst")]
    assert said([queue, replace(WAN, disabled=True)]) == [("interface-disabled", "queue/q/dst")]
    assert said([queue, WAN]) == []


def test_an_interface_that_goes_is_said_where_it_is_the_dst() -> None:
    document = Document([Queue("q", "q", ("10.0.0.1/32",), dst="wan0"), WAN])
    change = Change("interface", "wan0", WAN, None)
    document.apply([change])
    assert {(item.code, item.path) for item in validate(document, [change])} == {
        ("still-referenced", "interface/wan0"),
        ("unknown-interface", "queue/q/dst"),
    }


def test_ipv4_in_the_clothes_of_ipv6_matches_nothing() -> None:
    queue = Queue("q", "q", ("::ffff:10.0.0.0/120@7", "::/0"), dst="::ffff:192.0.2.1/128")
    found = [item for item in validate_all(Document([queue])) if item.code == "mapped-address"]
    assert [(item.field, "10.0.0.0/24" in item.message) for item in found] == [
        ("target", True), ("dst", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"pcq-classifier": "src-address,banana"}, {"pcq-classifier"}),
        ({"pcq-classifier": "src-address,src-port"}, {"pcq-classifier"}),
        ({"pcq-classifier": "src-address", "pcq-dst-address-mask": "24"}, {"pcq-dst-address-mask"}),
        (
            {"pcq-classifier": "src-address,dst-address", "pcq-dst-address6-mask": "64"},
            {"pcq-dst-address6-mask"},
        ),
        ({"pcq-classifier": "dst-address", "pcq-dst-address-mask": "33"}, {"pcq-dst-address-mask"}),
        ({"foo": "1", "pcq-total-limit": "2000KiB"}, {"foo", "pcq-total-limit"}),
        (
            {"pcq-classifier": "dst-address", "pcq-src-address-mask": "32", "pcq-dst-address-mask": "24"},
            set(),
        ),
    ],
)  # fmt: skip
def test_every_option_that_does_nothing_is_named(options: dict[str, str], named: set[str]) -> None:
    item = QueueType("mine", "pcq", tuple(sorted(options.items())))
    found = validate_all(Document([item]))
    assert {finding.field for finding in found} == {f"options.{name}" for name in named}


def test_an_option_without_effect_is_named_with_its_value_and_why() -> None:
    item = QueueType("mine", "pfifo", (("pfifo-limit", "many"), ("pfifo-size", "9")))
    assert [found.message for found in validate_all(Document([item]))] == [
        "the option pfifo-limit of queue type 'mine' is 'many', which is not a number from 0 to 1000000: "
        "the default holds",
        "the option pfifo-size of queue type 'mine' has no effect on the kind pfifo",
    ]
