# SPDX-License-Identifier: Apache-2.0
"""A disk with the image's layout, an update on it, and what any moment of it left behind."""

from __future__ import annotations

import configparser
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.agent.bundles import Bundler
from tests.crash.whole import whole_revision
from tests.image.slot_disk import MEBIBYTE, SlotDisk
from tests.kernel.product import KERNEL, printed
from tests.kernel.slot_system import PARTS, make_system
from tests.kernel.write_log import SECTOR_BYTES, Write, read

NOISE_BYTES = 2_000_000
DATA_BYTES = 64 * MEBIBYTE
NEW_VERSION = "0.2.0"
SUPERBLOCK = range(1024, 2048)
"""Of ext4: where it lies in its partition, two sectors long."""
STARTED = re.compile(rb"started: slot=(\w*) version=(\S*) whole=(\w+) data=(\w+)\.")
PROGRAM = "slot_that_says_itself"


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


class UpdatedDisk:
    """`before` the update, its `writes`, and what of a later state of the disk is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        data = folder / "data.ext4"
        with data.open("wb") as file:
            file.truncate(DATA_BYTES)
        run("/usr/sbin/mkfs.ext4", "-q", "-O", "metadata_csum,64bit", data)
        (folder / "teller").mkdir()
        self._teller = SlotDisk(folder / "teller")
        """Its kernel says at once which slot GRUB chose; its boot partition comes from another disk."""
        self._chosen: dict[bytes, str] = {}
        """The slot by the boot partition's content: GRUB knows nothing else."""
        self.disk = SlotDisk(folder, KERNEL, data)
        kernel = (folder / "kernel.squashfs").read_bytes()
        old, new = (
            make_system(folder, version, PROGRAM, noise_bytes=NOISE_BYTES)
            for version in ("0.1.0", NEW_VERSION)
        )
        for slot in "AB":
            self.disk.write(f"system-{slot}", old)
        self._systems = {"A": [(kernel, old)], "B": [(kernel, old), (kernel + b"new", new)]}
        self.before = self.disk.disk.read_bytes()
        self.writes = self._update(kernel + b"new", new)

    def _update(self, kernel: bytes, system: bytes) -> list[Write]:
        bundler = Bundler(self._folder)
        bundle = bundler.make(NEW_VERSION, system=system, kernel=kernel)
        config = bundler.config(**{name: Path(f"/dev/vda{number}") for name, number in PARTS.items()})
        told = config.read_text(encoding="utf-8")
        own = str(self._folder / "central.status")
        assert own in told
        config.write_text(told.replace(own, "/data/rauc/central.status"), encoding="utf-8")
        log = self._folder / "writes.log"
        printed(
            "build/venv/bin/python", "-m", "tests.kernel.guest.update_under_load", str(config), str(bundle),
            options=("--disk", str(self.disk.disk), "--disk-log", str(log)),
        )  # fmt: skip
        return read(log)

    def _part(self, disk: bytes | bytearray, name: str) -> bytes:
        start, size = self.disk.parts[name]
        return bytes(memoryview(disk)[start : start + size])

    def touches_boot(self, write: Write) -> bool:
        start, size = self.disk.parts["boot"]
        return start <= write.offset < start + size

    @property
    def boots(self) -> int:
        """How often GRUB was started to choose."""
        return len(self._chosen)

    def grub_chooses(self, disk: bytes | bytearray) -> str:
        """The slot that the real GRUB starts with this boot partition."""
        boot = self._part(disk, "boot")
        key = hashlib.sha256(boot).digest()
        if key not in self._chosen:
            self._teller.write("boot", boot)
            slot = self._teller.boot()
            if not slot:
                raise AssertionError(f"nothing started: {self._teller.console()[-400:]!r}")
            self._chosen[key] = slot
        return self._chosen[key]

    def holds_whole_system(self, disk: bytes | bytearray, slot: str) -> bool:
        held = self._part(disk, f"kernel-{slot}"), self._part(disk, f"system-{slot}")
        return any(
            held[0].startswith(kernel) and held[1].startswith(system)
            for kernel, system in self._systems[slot]
        )

    def start(self, disk: bytes | bytearray) -> dict[str, str]:
        """Power on with this disk until the slot's own system says what it found; {} when none did.

        That system has no e2fsck, so the check of its data partition comes before.
        """
        self.disk.disk.write_bytes(disk)
        self.disk.write("data", self._checked_data(disk).read_bytes())
        found = self.disk.start(STARTED, "virtio")
        names = ("slot", "version", "whole", "data")
        return {} if found is None else dict(zip(names, map(bytes.decode, found.groups()), strict=True))

    def console(self) -> str:
        """Of the last start."""
        return self.disk.console()

    def after_start(self) -> bytes:
        return self.disk.disk.read_bytes()

    def superblock_writes(self) -> list[int]:
        """Numbers of the writes that change the data partition's superblock."""
        start = self.disk.parts["data"][0] + SUPERBLOCK.start
        return [
            number
            for number, write in enumerate(self.writes)
            if write.offset <= start < write.offset + len(write.data)
        ]

    def half_of(self, number: int, disk: bytes | bytearray) -> Iterator[bytearray]:
        """The disk before that write to the superblock, with one sector of it written; then the other."""
        start, write = self.disk.parts["data"][0] + SUPERBLOCK.start, self.writes[number]
        for sector in (start, start + SECTOR_BYTES):
            torn = bytearray(disk)
            torn[sector : sector + SECTOR_BYTES] = write.data[sector - write.offset :][:SECTOR_BYTES]
            yield torn

    def _checked_data(self, disk: bytes | bytearray) -> Path:
        """The data partition after the check that the image makes before it mounts it (libexec/weir/data)."""
        partition = self._folder / "data.cut"
        partition.write_bytes(self._part(disk, "data"))
        for words in (["-p"], ["-f", "-y"]):
            command = ["/usr/sbin/e2fsck", *words, str(partition)]
            checked = subprocess.run(command, capture_output=True, text=True, check=False)
            if checked.returncode < 4:
                return partition
        raise AssertionError(f"e2fsck ended with {checked.returncode}: {checked.stdout[-500:]}")

    @staticmethod
    def _slots_are_told(status: Path) -> None:
        """RAUC's file of what each slot holds is as it was or as it will be."""
        if not status.exists():
            return
        told = status.read_bytes()
        try:
            configparser.ConfigParser().read_string(told.decode())
        except (configparser.Error, UnicodeDecodeError):
            raise AssertionError(f"RAUC's file of the slots holds {told[:60]!r}") from None

    def revision(self, disk: bytes | bytearray) -> int:
        """Of the configuration, after what the image does at its start: a check that replays the journal."""
        partition = self._checked_data(disk)
        found = self._folder / "found"
        shutil.rmtree(found, ignore_errors=True)
        found.mkdir()
        for name in ("weir.db", "weir.db-wal", "rauc/central.status"):
            target = found / Path(name).name
            run("/usr/sbin/debugfs", "-R", f"dump /{name} {target}", partition)
        self._slots_are_told(found / "central.status")
        if not (found / "weir.db").exists():
            return 0
        return whole_revision(found / "weir.db")
