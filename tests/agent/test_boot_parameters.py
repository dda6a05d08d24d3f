# SPDX-License-Identifier: Apache-2.0
"""Overrides of boot parameters: tried by the next start, and given up when it does not call itself well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent.test_tuning import Links, Machine, apply, machine
from weir.adapters.boot_parameters import BootParameters
from weir.backends.tuning import Setting, TuningBackend
from weir.model.problem import ApplyFailed, Problem

__all__ = ["machine"]


class Loader:
    """A boot loader that takes what the agent left for it, or says why not."""

    def __init__(self, folder: Path) -> None:
        self.wanted, self.told = folder / "boot-wanted", folder / "boot-told"
        self.state, self.words, self.complaint = "none", "", ""
        self.asked = 0

    def ask(self, argv: Sequence[str]) -> None:
        assert list(argv[:2]) == ["systemctl", "start"]
        self.asked += 1
        words = self.wanted.read_text().strip() if self.wanted.exists() else self.words
        if self.complaint:
            self.told.write_text(f"refused {self.complaint}\n")
            return
        if words != self.words:
            self.state, self.words = ("new" if words else "none"), words
        self.told.write_text(f"{self.state} {self.words}\n")

    def starts(self, state: str) -> None:
        """/run is empty after a start."""
        self.told.unlink()
        self.state = state


@pytest.fixture
def loader(tmp_path: Path) -> Loader:
    return Loader(tmp_path)


def bootable(machine: Machine, loader: Loader) -> TuningBackend:
    settings = [
        Setting("listen", "cmdline", "lhash_entries", "65536", "because", "E4", "no"),
        Setting("it", "cmdline", "preempt", "voluntary", "because", "E3", "no"),
    ]
    boot = BootParameters(loader.wanted, loader.told, loader.ask)
    return TuningBackend(settings, Links(), machine, boot=boot)  # type: ignore[arg-type]


def state_of(tuning: TuningBackend, identity: str, **overrides: str) -> tuple[str, str | None]:
    (place,) = next(entry for entry in tuning.to_json(overrides) if entry["id"] == identity)["places"]
    return place["state"], place["why"]


def test_an_override_of_a_boot_parameter_comes_with_the_next_start(machine: Machine, loader: Loader) -> None:
    tuning = bootable(machine, loader)
    assert apply(tuning) == []
    assert loader.asked == 0, "without an override nobody is asked"
    said = ["boot parameters of the next start: lhash_entries=65536 preempt=full"]
    assert apply(tuning, it="full") == said
    assert apply(tuning, it="full") == []
    assert state_of(tuning, "it", it="full")[0] == "restart"
    machine.file("proc/cmdline", "quiet lhash_entries=65536 preempt=full\n")
    loader.starts("good")
    tuning = bootable(machine, loader)
    assert apply(tuning, it="full") == []
    assert state_of(tuning, "it", it="full") == ("applied", None)
    assert apply(tuning) == ["boot parameters of the next start: the image's own"]
    assert loader.words == ""


def test_a_parameter_without_a_value_is_left_out(machine: Machine, loader: Loader) -> None:
    said = ["boot parameters of the next start: lhash_entries=65536"]
    assert apply(bootable(machine, loader), it="") == said
    machine.file("proc/cmdline", "quiet lhash_entries=65536\n")
    loader.starts("good")
    tuning = bootable(machine, loader)
    assert state_of(tuning, "it", it="")[0] == "left"
    assert apply(tuning, it="full") == ["boot parameters of the next start: lhash_entries=65536 preempt=full"]
    assert state_of(tuning, "it", it="full")[0] == "restart"


def test_a_parameter_that_a_start_did_not_survive_is_not_tried_again_until_it_changes(
    machine: Machine, loader: Loader
) -> None:
    apply(bootable(machine, loader), it="full")
    loader.starts("tried")
    tuning = bootable(machine, loader)
    machine.file("proc/cmdline", "quiet lhash_entries=65536 preempt=voluntary\n")
    assert apply(tuning, it="full") == []
    kind, why = state_of(tuning, "it", it="full")
    assert kind == "refused"
    assert "did not call itself well" in (why or "")
    assert apply(tuning, it="lazy") == ["boot parameters of the next start: lhash_entries=65536 preempt=lazy"]


def test_what_is_no_parameter_stops_the_commit(machine: Machine, loader: Loader) -> None:
    for value in ("full quiet", "$x", "x" * 65):
        with pytest.raises(ApplyFailed, match="no boot parameter"):
            apply(bootable(machine, loader), it=value)
    loader.complaint = "boot-choice: no space left"
    with pytest.raises(Problem, match="no space left"):
        apply(bootable(machine, loader), it="full")
