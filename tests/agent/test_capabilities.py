# SPDX-License-Identifier: Apache-2.0
"""When the kernel's features are tried."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from weir.adapters.datapath_records import Capability
from weir.adapters.frr import Frr
from weir.agent import capabilities

WITHIN_S = 10.0


@pytest.fixture
def found(tmp_path: Path) -> capabilities.Capabilities:
    return capabilities.Capabilities(dict.fromkeys(capabilities.QDISCS, ""), Frr(tmp_path, tmp_path), None)


def test_features_are_tried_when_it_is_time_and_not_in_the_way_of_the_start(
    found: capabilities.Capabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []
    heard = threading.Event()

    def probe(_library: Path | None) -> list[Capability]:
        tried.append(time.monotonic())
        return [Capability("edt-pacing", False, "packets were not held back")]

    monkeypatch.setattr(capabilities, "probe", probe)
    begun = time.monotonic()
    found.probe(lambda _reason: heard.set(), after_s=0.5)
    assert [item["reason"] for item in found.to_json() if item["id"] == "datapath"] == ["is being tried"]
    assert heard.wait(WITHIN_S)
    assert tried[0] - begun >= 0.5


def test_an_agent_that_stops_before_tries_nothing_any_more(
    found: capabilities.Capabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path | None] = []
    monkeypatch.setattr(capabilities, "probe", tried.append)
    found.probe(lambda _reason: None, after_s=3600.0)
    found.stop()
    waiting = [thread for thread in threading.enumerate() if thread.name == "probe"]
    for thread in waiting:
        thread.join(WITHIN_S)
        assert not thread.is_alive()
    assert tried == []
