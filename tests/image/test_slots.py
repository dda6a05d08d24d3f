# SPDX-License-Identifier: Apache-2.0
"""The real GRUB menu on a disk with the image's layout, in QEMU: which slot runs, and when it is left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.image.slot_disk import SlotDisk, missing_tools

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}"),
]


@pytest.fixture
def disk(tmp_path: Path) -> SlotDisk:
    return SlotDisk(tmp_path)


def test_a_slot_that_never_gets_healthy_is_left_after_three_boots(disk: SlotDisk) -> None:
    assert disk.boot() == "A"
    assert (disk.kernel, disk.system) == ("gpt3", disk.partition_uuid(4))
    assert disk.environment()["A_TRY"] == "1"
    disk.set_environment(A_TRY="3")
    assert disk.boot() == "B"
    assert (disk.kernel, disk.system) == ("gpt5", disk.partition_uuid(6))
    environment = disk.environment()
    assert (environment["A_TRY"], environment["B_TRY"]) == ("3", "1")


def test_an_update_runs_in_the_other_slot_and_stays_there_when_it_is_marked_good(disk: SlotDisk) -> None:
    disk.set_environment(ORDER="B A", B_OK="1", B_TRY="0")
    assert disk.boot() == "B"
    disk.set_environment(B_TRY="0")
    assert disk.boot() == "B"


def test_with_no_good_slot_left_both_are_tried_again(disk: SlotDisk) -> None:
    disk.set_environment(A_OK="0", B_OK="0")
    assert disk.boot() == "A"
    assert disk.environment()["A_OK"] == "1"


@pytest.mark.parametrize("damage", [b"", bytes(1024)])
def test_a_damaged_environment_is_read_and_counted_in_its_copy(disk: SlotDisk, damage: bytes) -> None:
    disk.set_environment("grubenv.copy", ORDER="B A", A_OK="0", B_TRY="1")
    disk.damage("grubenv", damage)
    assert disk.boot() == "B"
    assert disk.environment("grubenv.copy")["B_TRY"] == "2"


def test_with_both_environments_damaged_the_router_starts(disk: SlotDisk) -> None:
    for name in ("grubenv", "grubenv.copy"):
        disk.damage(name, b"")
    assert disk.boot() == "A"


def test_the_kernel_gets_the_microcode_that_its_slot_has(tmp_path: Path) -> None:
    disk = SlotDisk(tmp_path, microcode=b"of the processors\0")
    assert disk.boot() == "A"
    found = disk.start(re.compile(rb"initrd: ([\w ]+)"), "ide", timeout_s=120)
    assert found is not None
    assert found[1].strip() == b"of the processors"


def test_a_slot_without_microcode_starts_without(disk: SlotDisk) -> None:
    assert disk.boot() == "A"
    assert "initrd" not in disk.console()
    assert "not found" not in disk.console()


IMAGES = "lhash_entries=65536 rcu_nocbs=all preempt=voluntary"
OWN = "lhash_entries=131072 preempt=full"


def parameters(disk: SlotDisk) -> str:
    """What the last start's kernel was told between the image's other words."""
    found = re.search(r"no_timer_check (.*) bonding\.max_bonds=0", disk.console())
    assert found is not None, disk.console()
    return found[1]


def test_own_parameters_are_tried_once_and_kept_when_the_system_is_called_good(disk: SlotDisk) -> None:
    assert disk.boot() == "A"
    assert parameters(disk) == IMAGES
    disk.set_environment(PARAMETERS=OWN, PARAMETERS_OK="0", PARAMETERS_TRY="0")
    disk.boot()
    assert parameters(disk) == OWN
    assert disk.environment()["PARAMETERS_TRY"] == "1"
    disk.boot()
    assert parameters(disk) == IMAGES, "nobody called the first start good"
    disk.set_environment(PARAMETERS_OK="1", A_TRY="0")
    disk.boot()
    assert parameters(disk) == OWN


def test_where_no_slot_started_own_parameters_are_left_out(disk: SlotDisk) -> None:
    disk.set_environment(PARAMETERS=OWN, PARAMETERS_OK="1", PARAMETERS_TRY="1", A_OK="0", B_OK="0")
    assert disk.boot() == "A"
    assert parameters(disk) == IMAGES
