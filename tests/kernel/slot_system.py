# SPDX-License-Identifier: Apache-2.0
"""Systems for the slots of a disk with the image's layout: one shell script and what it finds there."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from tests.image.slot_disk import pack

PARTS = {"kernel_A": 3, "system_A": 4, "kernel_B": 5, "system_B": 6}
"""The slots' partitions by their number."""
SHARED_FILES = (
    "-m", "1500",
    "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
    "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
)  # fmt: skip
"""What QEMU is told for a system of `slot_with_shared_files`; the memory is for an overlay of the files."""
FOLDERS = ("bin", "sbin", "proc", "sys", "dev", "data", "host", "upper", "root")


def make_system(
    folder: Path,
    name: str,
    program: str,
    *,
    words: str = "",
    noise_bytes: int = 0,
    content: tuple[Path, ...] = (),
) -> bytes:
    """A root file system that starts `program`, a file beside this one, and holds the sums of its content.

    `content` are folders that it has besides, under their own names.
    """
    root = folder / f"system-{name}"
    for below in FOLDERS:
        (root / below).mkdir(parents=True)
    shutil.copy("/usr/bin/busybox", root / "bin/busybox")
    shutil.copy(Path(__file__).with_name(program), root / "sbin/init")
    (root / "sbin/init").chmod(0o755)
    for extra in content:
        shutil.copytree(extra, root / extra.name)
    (root / "noise").write_bytes(os.urandom(noise_bytes))
    (root / "version").write_text(name)
    (root / "words").write_text(words)
    named = ("noise", "version", "bin/busybox")
    sums = [f"{hashlib.md5((root / item).read_bytes()).hexdigest()}  {item}\n" for item in named]
    (root / "sums").write_text("".join(sums))
    image = folder / f"system-{name}.squashfs"
    pack(root, image, "zstd")
    return image.read_bytes()
