#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Point GRUB's boot sector at a core image in a GPT "BIOS boot" partition, as grub-install does.

    bios_boot.py BOOT_IMG CORE_IMG SECTOR OUT_BOOT OUT_CORE

OUT_BOOT holds the 440 bytes of code only: what follows in the first sector is the partition table's, and
genimage refuses an image that reaches into it.

Two numbers change (GRUB, include/grub/i386/pc/boot.h): where boot.img finds the core's first sector, and
where that first sector finds the rest.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

KERNEL_SECTOR_OFFSET = 0x5C
BLOCK_LIST_OFFSET = 0x200 - 12
CODE_BYTES = 440


def patched(boot: bytes, core: bytes, sector: int) -> tuple[bytes, bytes]:
    """Both images for a core that begins at `sector`. Raises `ValueError` when one is not GRUB's."""
    if len(boot) != 512 or boot[510:] != b"\x55\xaa":
        raise ValueError("the first image is no GRUB boot.img: 512 bytes with a boot signature")
    start, sectors = struct.unpack_from("<QH", core, BLOCK_LIST_OFFSET)
    if start != 2 or not 0 < sectors <= len(core) // 512 + 1:
        raise ValueError("the second image is no GRUB core image for i386-pc")
    new_boot, new_core = bytearray(boot), bytearray(core)
    struct.pack_into("<Q", new_boot, KERNEL_SECTOR_OFFSET, sector)
    struct.pack_into("<Q", new_core, BLOCK_LIST_OFFSET, sector + 1)
    return bytes(new_boot[:CODE_BYTES]), bytes(new_core)


def main() -> None:
    if len(sys.argv) != 6:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    boot, core = (Path(name).read_bytes() for name in sys.argv[1:3])
    try:
        results = patched(boot, core, int(sys.argv[3]))
    except ValueError as error:
        sys.exit(f"bios_boot.py: {error}")
    for name, data in zip(sys.argv[4:], results, strict=True):
        Path(name).write_bytes(data)


if __name__ == "__main__":
    main()
