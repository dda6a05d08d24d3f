# SPDX-License-Identifier: Apache-2.0
"""The power goes while RAUC writes the other slot and changes the boot order.

An update runs once in the virtual machine, with the real RAUC on a disk with the image's layout,
while revisions are committed. QEMU keeps each write in its order; after any of them the disk must
start, by the real GRUB, a slot that is whole, with the configuration that was reported as committed.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess

import pytest

from tests.agent.bundles import missing_tools as tools_of_bundles
from tests.image.slot_disk import missing_tools
from tests.kernel.guest.update_under_load import MARK
from tests.kernel.product import needs_kernel
from tests.kernel.updated_disk import NEW_VERSION, UpdatedDisk
from tests.kernel.write_log import Replay
from weir.model.problem import Problem

MISSING = [*missing_tools(), *tools_of_bundles()]
CUTS = int(os.environ.get("WEIR_POWER_CUTS", "30"))
"""Of each kind: after a write to the boot partition, and after any."""
WHOLE_STARTS = 3

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def update(tmp_path_factory: pytest.TempPathFactory) -> UpdatedDisk:
    return UpdatedDisk(tmp_path_factory.mktemp("cut"))


@pytest.fixture
def generator() -> random.Random:
    seed = int(os.environ.get("WEIR_POWER_CUT_SEED") or random.randrange(1 << 32))
    print(f"WEIR_POWER_CUT_SEED={seed}")
    return random.Random(seed)


def moments(update: UpdatedDisk, generator: random.Random) -> list[int]:
    """Numbers of writes to cut after: some that touch the boot partition, some others, and the end."""
    every = len(update.writes)
    boot = [number + 1 for number, write in enumerate(update.writes) if update.touches_boot(write)]
    near = generator.sample(boot, min(CUTS, len(boot)))
    return sorted({*near, *generator.sample(range(every), min(CUTS, every)), every})


def reported(disk: bytes | bytearray) -> int:
    """The revision whose commit was reported last."""
    return int.from_bytes(disk[MARK : MARK + 8], "little")


def survives(update: UpdatedDisk, disk: bytes | bytearray) -> tuple[str, int]:
    """The slot that starts and the revision of the configuration; raises what is not as it was promised."""
    slot = update.grub_chooses(disk)
    if not update.holds_whole_system(disk, slot):
        raise AssertionError(f"slot {slot} is chosen and not whole")
    revision = update.revision(disk)
    if revision < reported(disk):
        raise AssertionError(f"revision {reported(disk)} was committed, {revision} is there")
    return slot, revision


def say(faults: list[str]) -> None:
    """Nothing but the faults: the log of a check on another machine may be cut off early."""
    if faults:
        pytest.fail("\n".join([f"{len(faults)} disks are not well:", *faults[:10]]), pytrace=False)


def test_whenever_the_power_goes_grub_chooses_a_whole_system_and_the_configuration_is_there(
    update: UpdatedDisk, generator: random.Random
) -> None:
    replay = Replay(update.before, update.writes)
    slots, revisions = set(), set()
    faults: list[str] = []
    disks = 0
    for count in moments(update, generator):
        replay.forward(count)
        for what, disk in replay.states(generator):
            disks += 1
            try:
                slot, revision = survives(update, disk)
            except (AssertionError, OSError, subprocess.SubprocessError, sqlite3.Error, Problem) as fault:
                faults.append(f"after {count} of {len(update.writes)} writes; {what}: {fault!r}"[:600])
                continue
            slots.add(slot)
            revisions.add(revision)
    say(faults)
    print(f"{disks} disks, {update.boots} of their boot partitions started, {len(revisions)} revisions")
    assert slots == {"A", "B"}
    assert len(revisions) > 2


def test_a_superblock_of_which_the_power_left_one_sector_costs_no_revision(update: UpdatedDisk) -> None:
    """Its checksum is in the other one. Few draws hit this: only the first writes change both."""
    replay = Replay(update.before, update.writes)
    faults = []
    for number in update.superblock_writes():
        replay.forward(number)
        for disk in update.half_of(number, replay.now):
            found = update.revision(disk)
            if found < reported(disk):
                faults.append(f"write {number}: revision {reported(disk)} was committed, {found} is there")
    say(faults)


def test_whenever_the_power_goes_the_disk_starts_to_its_end(
    update: UpdatedDisk, generator: random.Random
) -> None:
    """The product's kernel and the slot's own system, from the disk."""
    every = len(update.writes)
    replay = Replay(update.before, update.writes)
    faults = []
    for count in [*sorted(generator.sample(range(every), WHOLE_STARTS - 1)), every]:
        replay.forward(count)
        *_, (what, disk) = replay.states(generator)
        found = update.start(disk)
        version = NEW_VERSION if found.get("slot") == "B" else "0.1.0"
        revision = update.revision(update.after_start())
        if {**found, "whole": "yes", "data": "yes", "version": version} != found:
            faults.append(f"after {count} of {every} writes; {what}: {found} of {update.console()[-400:]!r}")
        if revision < reported(disk):
            faults.append(f"after {count} of {every} writes; {what}: revision {revision}")
    say(faults)
    assert found["slot"] == "B"
