# SPDX-License-Identifier: Apache-2.0
"""A machine that hangs is reset by its watchdog and the boot counter counts it (real GRUB, kernel, systemd).

The watchdog is QEMU's i6300ESB; the test itself never restarts the machine.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.image.slot_disk import SlotDisk, missing_tools
from tests.kernel.product import KERNEL, ROOT, needs_kernel
from tests.kernel.slot_system import SHARED_FILES, make_system

SYSTEMD = Path("/lib/systemd/systemd")
WATCHED = ("-device", "i6300esb", "-watchdog-action", "reset", "-action", "reboot=reset")
THREE_STARTS_S = 1000.0
"""And two hangs of up to half a minute, on emulated processors that others use as well."""
MISSING = [*missing_tools(), *([] if SYSTEMD.exists() else ["systemd"])]

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]


@pytest.fixture
def disk(tmp_path: Path) -> SlotDisk:
    """Slot A was started once already and is not good yet."""
    disk = SlotDisk(tmp_path, KERNEL)
    words = f"--chdir={ROOT} /bin/sh tests/kernel/guest/slot_hangs"
    for slot in "AB":
        disk.write(f"system-{slot}", make_system(tmp_path, slot, "slot_with_shared_files", words=words))
    for name in ("grubenv", "grubenv.copy"):
        disk.set_environment(name, ORDER="A B", A_OK="1", A_TRY="1", B_OK="1", B_TRY="0")
    return disk


def test_a_slot_whose_kernel_or_first_process_hangs_is_left_by_itself(disk: SlotDisk) -> None:
    third = re.compile(rb"slot B with A_TRY=3\.")
    found = disk.start(third, "virtio", *SHARED_FILES, *WATCHED, timeout_s=THREE_STARTS_S)
    told = disk.log.read_text(errors="replace")
    assert found is not None, told[-3000:]
    events = re.findall(r"slot . with A_TRY=.|RuntimeWatchdogUSec=\w+|it hangs|(?<!end )Kernel panic", told)
    assert events[:4] == ["slot A with A_TRY=2", "RuntimeWatchdogUSec=30s", "it hangs", "Kernel panic"]
    assert events[4:8] == [
        "slot A with A_TRY=3",
        "RuntimeWatchdogUSec=20s",
        "it hangs",
        "slot B with A_TRY=3",
    ]
