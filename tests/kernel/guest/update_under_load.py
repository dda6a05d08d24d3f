# SPDX-License-Identifier: Apache-2.0
"""An update from slot A to B while the configuration changes, for test_power_cut.py.

Words: RAUC's configuration and the bundle. /dev/vda is a disk with the image's layout. The number of each
revision that was reported as committed goes to the disk, past its file systems, at MARK.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from tests.agent.updating import UpdatingMachine
from tests.crash.writer import commit
from weir.store import ConfigStore

DISK = Path("/dev/vda")
MARK = 1 << 20
"""In the gap before the first partition."""
COMMIT_EVERY_S = 0.3
BOOT = Path("/boot-of-disk")
DATA = Path("/data")
DATA_SCRIPT = Path(__file__).resolve().parents[3] / "board/overlay/usr/libexec/weir/data"


def mount_partitions() -> None:
    """As the image does: by its fstab and by its own script."""
    for point in (BOOT, DATA):
        point.mkdir()
    options = ["-t", "vfat", "-o", "nosuid,nodev,umask=0077"]
    subprocess.run(["mount", *options, f"{DISK}2", str(BOOT)], check=True)
    environment = {**os.environ, "WEIR_DATA_DEVICE": f"{DISK}7"}
    subprocess.run([str(DATA_SCRIPT), "start"], env=environment, check=True)
    assert (DATA / "rauc").is_dir(), Path("/run/weir-data/state").read_text()


class Marks:
    """One sector, written without the kernel's cache."""

    def __init__(self) -> None:
        self._descriptor = os.open(DISK, os.O_WRONLY | os.O_DIRECT)
        self._sector = mmap.mmap(-1, 4096)

    def tell(self, text: str) -> None:
        word, number = text.split()
        if word == "done":
            self._sector[:8] = int(number).to_bytes(8, "little")
            os.pwrite(self._descriptor, self._sector, MARK)


def commit_until(ended: threading.Event, database: Path) -> None:
    marks = Marks()
    store = ConfigStore.open(database, create=True)
    while not ended.wait(COMMIT_EVERY_S):
        commit(store, marks.tell)


def main(config: Path, bundle: Path) -> None:
    mount_partitions()
    ended = threading.Event()
    writer = threading.Thread(target=commit_until, args=(ended, DATA / "weir.db"))
    with ExitStack() as stack:
        stack.callback(writer.join)
        stack.callback(ended.set)
        machine = UpdatingMachine(stack, config, Path(tempfile.mkdtemp()), data=DATA, boot=BOOT / "grub")
        writer.start()
        job = machine.install(bundle.read_bytes())
        assert job["state"] == "installed", (job, machine.log.read_text())
        # The way back and forth again: the boot order changes without an installation.
        for slot in "AB":
            assert machine.call("update_choose", slot=slot)["next"] == slot
    # No unmounting: the power goes.
    os.sync()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
