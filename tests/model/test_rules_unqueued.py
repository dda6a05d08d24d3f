# SPDX-License-Identifier: Apache-2.0
"""What validation says of packets that are in no queue, and of sources that are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weir.kinds.static_route import StaticRoute
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair, Queue, TimeWindow
from weir.model.rules import validate_all

LAN = Interface("lan0", "lan", ("10.64.0.1/24", "2001:db8:64::1/64"))
WAN = Interface("wan0", "wan", ("203.0.113.2/24",))
SITE = Queue("t", "tower", ("10.0.0.0/16",), position=1, max_limit_bps=Pair(100_000_000, 100_000_000))
REST = Queue("rest", "everybody else", ("10.0.0.0/8",), position=99)

CLOSED = (
    {"disabled": True},
    {"time": TimeWindow(0, 600, ("mon",))},
)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(
    ("others", "is_said"),
    [
        pytest.param([], True, id="nobody else"),
        pytest.param([REST], False, id="a queue for everybody else"),
        pytest.param([replace(REST, disabled=True)], True, id="one that is disabled as well"),
        pytest.param([replace(REST, dst="192.0.2.0/24")], True, id="one for a certain far end"),
        pytest.param([Queue("up", "site")], False, id="a parent without target"),
        pytest.param([Queue("up", "site", disabled=True)], True, id="a parent that is disabled"),
    ],
)
def test_what_is_in_no_queue_while_its_own_is_not_in_force_is_said(
    closed: dict[str, Any], others: list[Queue], is_said: bool
) -> None:
    parent = "up" if any(other.id == "up" for other in others) else None
    queue = replace(SITE, parent=parent, **closed)
    found = [
        finding
        for finding in validate_all(Document([queue, *others]))
        if finding.code == "unlimited-meanwhile" and finding.id == "t"
    ]
    assert [item.severity for item in found] == (
        ["warning" if queue.disabled else "notice"] if is_said else []
    )


OWN = Queue("own", "everybody else", ("lan0",))


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([replace(WAN, unknown="drop")], "unknown-on-wan"),
        ([replace(WAN, unknown="drop", disabled=True)], None),
        ([replace(LAN, unknown="queue")], "no-queue-for-unknown"),
        ([replace(LAN, unknown="queue"), replace(OWN, disabled=True)], "no-queue-for-unknown"),
        ([replace(LAN, unknown="queue"), OWN], None),
        ([replace(LAN, unknown="drop")], None),
        ([replace(LAN, unknown="drop"), OWN], "unknown-dropped"),
    ],
    ids=lambda value: None,
)
def test_unknown_that_means_something_else_is_said(items: list[ConfigObject], code: str | None) -> None:
    codes = {item.code for item in validate_all(Document(items)) if item.kind == "interface"}
    assert codes == ({code} if code else set())


@pytest.mark.parametrize("reverse_path", ["strict", "loose"])
def test_a_strict_reverse_path_and_equal_routes_are_said(reverse_path: Any) -> None:
    routes = [StaticRoute(f"r{n}", "0.0.0.0/0", f"203.0.113.{n + 5}", distance=n // 2 + 1) for n in range(3)]
    for count, equal in ((1, False), (2, True)):
        found = validate_all(Document([replace(WAN, reverse_path=reverse_path), *routes[:count]]))
        said = any(item.code == "strict-and-equal-routes" for item in found)
        assert said is (equal and reverse_path == "strict")
