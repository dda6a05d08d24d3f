# SPDX-License-Identifier: Apache-2.0
"""An update whose API never answers is left by itself: real GRUB, kernel, RAUC and `weir-health`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agent.bundles import Bundler
from tests.agent.bundles import missing_tools as tools_of_bundles
from tests.image.slot_disk import SlotDisk, missing_tools
from tests.kernel.product import KERNEL, ROOT, needs_kernel
from tests.kernel.slot_system import PARTS, SHARED_FILES, make_system

MISSING = [*missing_tools(), *tools_of_bundles()]
ENDED = re.compile(rb"the slot's end: (\w+ with \w)\.")

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]


@pytest.fixture
def disk(tmp_path: Path) -> SlotDisk:
    """After an update: slot B is chosen and was never started. Its API does not start."""
    disk = SlotDisk(tmp_path, KERNEL)
    config = Bundler(tmp_path).config(**{name: Path(f"/dev/vda{number}") for name, number in PARTS.items()})
    for slot, state in (("A", "well"), ("B", "broken")):
        program = f"{ROOT}/build/venv/bin/python -m tests.kernel.guest.slot_start {config} {state}"
        words = f"--chdir={ROOT} {program}"
        disk.write(f"system-{slot}", make_system(tmp_path, slot, "slot_with_shared_files", words=words))
    for name in ("grubenv", "grubenv.copy"):
        disk.set_environment(name, ORDER="B A", A_OK="1", A_TRY="0", B_OK="1", B_TRY="0")
    return disk


def test_a_slot_whose_api_never_answers_is_left_for_the_old_one(disk: SlotDisk) -> None:
    for wanted in (b"reboot with B", b"reboot with B", b"reboot with B", b"good with A"):
        found = disk.start(ENDED, "virtio", *SHARED_FILES)
        assert found is not None and found[1] == wanted, disk.log.read_text(errors="replace")[-3000:]
    for name in ("grubenv", "grubenv.copy"):
        environment = disk.environment(name)
        assert (environment["A_OK"], environment["A_TRY"], environment["B_TRY"]) == ("1", "0", "3")
