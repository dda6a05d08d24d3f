# SPDX-License-Identifier: Apache-2.0
"""What follows when another uplink is first: connections that pass beside the stack are sent up."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.test_parts import configured
from tests.polling import until
from weir.agent import uplink_monitor
from weir.agent.configuration import Configuration
from weir.agent.uplink_monitor import UplinkMonitor
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Unavailable
from weir.parts.registry import PARTS

PORTS = [
    Interface("lan0", role="wan", addresses=("192.0.2.2/24",)),
    Interface("lan1", role="wan", addresses=("198.51.100.2/24",)),
]
FIBRE = Uplink("fibre", "lan0", "192.0.2.1", priority=1)
LTE = Uplink("lte", "lan1", "198.51.100.1", priority=2)
CHECK = UplinkCheck("p", "fibre", "203.0.113.1")


class Flows:
    """In the place of the firewall's backend: whether the lock was held each time flows were sent up."""

    def __init__(self, configuration: Configuration) -> None:
        self.held: list[bool] = []
        self.problem: ApplyFailed | None = None
        self._lock: Any = configuration.lock

    def forget_flows(self) -> None:
        self.held.append(self._lock._is_owned())
        if self.problem is not None:
            raise self.problem


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Configuration]:
    monkeypatch.setattr(uplink_monitor, "LOOK_S", 0.01)
    with configured(tmp_path, PARTS) as found:
        commit(found, *PORTS, FIBRE, LTE)
        yield found


@pytest.fixture
def flows(configuration: Configuration) -> Flows:
    found: Any = Flows(configuration)
    configuration.executor.firewall = found
    return found  # type: ignore[no-any-return]


@pytest.fixture
def monitor(configuration: Configuration, flows: Flows) -> UplinkMonitor:
    """One that has looked."""
    found = UplinkMonitor(configuration, SimpleNamespace())  # type: ignore[arg-type]
    found.look()
    flows.held.clear()
    found.look()
    assert not flows.held
    return found


def commit(configuration: Configuration, *items: ConfigObject) -> None:
    held = configuration.document.get
    changes = [Change(item.kind, item.id, held(item.kind, item.id), item) for item in items]
    with configuration.lock:
        configuration._advance(changes, strict=True)


@pytest.mark.parametrize(
    "change", [replace(FIBRE, priority=3), replace(FIBRE, disabled=True)], ids=["priority", "disabled"]
)
def test_a_commit_that_puts_another_one_first_sends_flows_up(
    configuration: Configuration, flows: Flows, monitor: UplinkMonitor, change: Uplink
) -> None:
    commit(configuration, change)
    monitor.look()
    assert flows.held == [True], "once, under the lock of the configuration"
    monitor.look()
    assert len(flows.held) == 1


def test_flows_that_cannot_be_sent_up_keep_no_connection_alive_and_are_tried_again(
    configuration: Configuration, flows: Flows, monitor: UplinkMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(monitor, "_flush", lambda spec: forgotten.append(spec.id))
    monkeypatch.setattr(uplink_monitor, "judged", lambda rounds, _before: "down" if rounds else "unknown")
    commit(configuration, CHECK)
    flows.problem = ApplyFailed("the flow table is busy")
    monitor.look()
    assert (forgotten, flows.held) == (["fibre"], [True])
    flows.problem = None
    monitor.look()
    assert (forgotten, flows.held) == (["fibre"], [True, True])
    monitor.look()
    assert len(flows.held) == 2


@pytest.mark.parametrize("step_s", [-1e9, 1e9])
def test_a_clock_that_is_set_changes_neither_the_order_nor_for_how_long_one_is_down(
    monitor: UplinkMonitor, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    begun_ms = time.time_ns() // 1_000_000
    monitor._uplinks.note("lte", "down")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + int(step_s * 1e9))
    until("the clock goes on", lambda: (monitor.looks()["lte"].down_s or 0.0) >= 0.01)
    monitor._uplinks.note("fibre", "down")
    assert monitor._uplinks.in_order(monitor._specs()) == ["fibre", "lte"], "it went down last"
    assert 0.0 < (monitor.looks()["lte"].down_s or 0.0) < 60.0
    since = datetime.fromisoformat(monitor.learn_uplinks(["lte"])["lte"]["since"]).timestamp()
    assert abs(since - begun_ms / 1000 - step_s) < 60.0, "by the clock as it goes now"


def test_what_is_told_of_a_switch_is_what_is_known(
    configuration: Configuration,
    monitor: UplinkMonitor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(uplink_monitor, "judged", lambda _rounds, _before: "down")
    monkeypatch.setattr(monitor, "_flush", lambda _spec: None)
    monkeypatch.setattr("weir.agent.uplinks.boottime_ms", count(1).__next__)
    with caplog.at_level(logging.INFO):
        monitor.look()
    (fibre, lte) = [text for text in caplog.messages if text.startswith("uplink ")]
    assert fibre == "uplink fibre is down (nothing checks it); no uplink works, and lte stays in use"
    assert lte == "uplink lte is down (nothing checks it); no uplink works, and this one stays in use"


def test_a_default_route_that_cannot_be_read_leaves_the_rest_known(
    monitor: UplinkMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> tuple[str, ...]:
        raise Unavailable("the kernel does not answer")

    monkeypatch.setattr(uplink_monitor.uplink_routes, "default_devices", fails)
    found = monitor.learn_uplinks(["lte"])["lte"]
    assert (found["in_use"], found["via"]) == (None, "198.51.100.1")
