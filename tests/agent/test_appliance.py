# SPDX-License-Identifier: Apache-2.0
"""Factory reset and power as the agent does them, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weir.adapters import data_partition
from weir.agent.appliance import Appliance, Machine
from weir.model.problem import Conflict, Invalid, Problem, Unsupported
from weir.wire.server import Peer

PEER = Peer(1, 1, 0, 0)


class Box:
    """An appliance whose machine only remembers what was done to it."""

    def __init__(self, state: str | None = "ok", busy: str = "") -> None:
        self.done: list[str] = []
        data = None if state is None else {"state": state, "message": "", "free_bytes": 1}
        machine = Machine(
            lambda: data,
            lambda mode: self.done.append(f"request {mode}"),
            lambda: self.done.append("restart"),
            lambda: self.done.append("off"),
        )
        self._table = Appliance(machine, lambda: busy).table()

    def __call__(self, method: str, **params: Any) -> Any:
        return self._table[method](params, PEER)

    def refusal(self, method: str, **params: Any) -> tuple[type[Problem], str]:
        with pytest.raises(Problem) as refused:
            self(method, **params)
        assert self.done == []
        return type(refused.value), refused.value.code


@pytest.mark.parametrize("mode", ["keep", "wipe"])
def test_a_reset_is_on_the_disk_before_the_machine_restarts(mode: str) -> None:
    box = Box()
    assert box("factory_reset", mode=mode) == {"restarting": True}
    assert box.done == [f"request {mode}", "restart"]


def test_a_damaged_partition_can_be_wiped_and_not_kept() -> None:
    box = Box("damaged")
    assert box.refusal("factory_reset", mode="keep") == (Conflict, "data-damaged")
    box("factory_reset", mode="wipe")
    assert box.done == ["request wipe", "restart"]


def test_what_cannot_be_reset_is_refused() -> None:
    missing, elsewhere = Box("missing"), Box(None)
    busy = Box(busy="an update is being installed")
    assert missing.refusal("factory_reset", mode="wipe") == (Conflict, "no-data-partition")
    assert busy.refusal("factory_reset", mode="wipe") == (Conflict, "update-running")
    assert busy.refusal("power_off") == (Conflict, "update-running")
    for mode in ("", "WIPE", None, ["keep"]):
        assert busy.refusal("factory_reset", mode=mode) == (Invalid, "bad-request")
    assert elsewhere.refusal("factory_reset", mode="keep") == (Unsupported, "no-image")
    assert elsewhere.refusal("power_off") == (Unsupported, "no-image")


def test_the_state_of_the_data_partition_is_what_the_start_found(tmp_path: Path) -> None:
    file = tmp_path / "state"
    assert data_partition.state(None, tmp_path) is None
    file.write_text("repaired\nit was damaged\n")
    found = data_partition.state(file, tmp_path)
    assert found is not None
    assert (found["state"], found["message"]) == ("repaired", "it was damaged")
    assert found["free_bytes"] > 0


def test_a_start_that_told_nothing_has_failed(tmp_path: Path) -> None:
    found = data_partition.state(tmp_path / "state", tmp_path)
    assert found == {"state": "failed", "message": data_partition.FAILED, "free_bytes": 0}


def test_a_partition_that_fills_up_later_is_told_as_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state"
    monkeypatch.setattr(data_partition, "LOW_BYTES", 1 << 62)
    for word, told in (("ok", "full"), ("damaged", "damaged")):
        file.write_text(f"{word}\nwords\n")
        found = data_partition.state(file, tmp_path)
        assert found is not None
        assert found["state"] == told
