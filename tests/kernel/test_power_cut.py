# SPDX-License-Identifier: Apache-2.0
"""The power goes while RAUC writes the other slot and changes the boot order.

An update runs once in the virtual machine, with the real RAUC on a disk with the image's layout,
while revisions are committed. QEMU keeps each write in its order; after any of them the disk must
start, by the real GRUB, a slot that is whole, with the configuration that was reported as committed.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.agent.bundles import missing_tools as tools_of_bundles
from tests.image.slot_disk import missing_tools
from tests.kernel.guest.update_under_load import MARK
from tests.kernel.product import needs_kernel
from tests.kernel.updated_disk import NEW_VERSION, UpdatedDisk
from tests.kernel.write_log import Replay

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


def test_whenever_the_power_goes_grub_chooses_a_whole_system_and_the_configuration_is_there(
    update: UpdatedDisk, generator: random.Random
) -> None:
    replay = Replay(update.before, update.writes)
    slots, revisions = set(), set()
    disks = 0
    for count in moments(update, generator):
        replay.forward(count)
        for what, disk in replay.states(generator):
            where = f"after {count} of {len(update.writes)} writes; {what}"
            disks += 1
            slot = update.grub_chooses(disk)
            assert slot, f"{where}: nothing started"
            assert update.holds_whole_system(disk, slot), f"{where}: slot {slot} is not whole"
            revision = update.revision(disk)
            assert revision >= reported(disk), f"{where}: revision {reported(disk)} was committed"
            slots.add(slot)
            revisions.add(revision)
    print(f"{disks} disks, {update.boots} of their boot partitions started, {len(revisions)} revisions")
    assert slots == {"A", "B"}
    assert len(revisions) > 2


def test_whenever_the_power_goes_the_disk_starts_to_its_end(
    update: UpdatedDisk, generator: random.Random
) -> None:
    """The product's kernel and the slot's own system, from the disk."""
    every = len(update.writes)
    replay = Replay(update.before, update.writes)
    for count in [*sorted(generator.sample(range(every), WHOLE_STARTS - 1)), every]:
        replay.forward(count)
        *_, (what, disk) = replay.states(generator)
        found = update.start(disk)
        where = f"after {count} of {every} writes; {what}: {found}"
        assert (found.get("whole"), found.get("data")) == ("yes", "yes"), where
        assert found["version"] == (NEW_VERSION if found["slot"] == "B" else "0.1.0"), where
        assert update.revision(update.after_start()) >= reported(disk), where
    assert found["slot"] == "B"
