# SPDX-License-Identifier: Apache-2.0
"""GRUB's two BIOS images point at each other by sector numbers."""

from __future__ import annotations

import struct
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_loader = SourceFileLoader("weir_bios_boot", str(ROOT / "board/image/bios_boot.py"))
_spec = spec_from_loader(_loader.name, _loader)
assert _spec is not None
bios_boot = module_from_spec(_spec)
_loader.exec_module(bios_boot)

BOOT = bytes(510) + b"\x55\xaa"
CORE = bytes(0x1F4) + struct.pack("<QHH", 2, 3, 0x820) + bytes(3 * 512)


def test_both_images_learn_where_the_core_is() -> None:
    boot, core = bios_boot.patched(BOOT, CORE, 4096)
    assert struct.unpack_from("<Q", boot, 0x5C) == (4096,)
    assert struct.unpack_from("<QHH", core, 0x1F4) == (4097, 3, 0x820)
    assert len(core) == len(CORE)


def test_the_boot_code_ends_where_the_partition_table_begins() -> None:
    """genimage refuses a larger one for the `mbr` of genimage.cfg."""
    boot, _ = bios_boot.patched(BOOT, CORE, 4096)
    assert len(boot) == 440


def test_other_files_are_refused() -> None:
    with pytest.raises(ValueError, match=r"boot\.img"):
        bios_boot.patched(BOOT[:-1], CORE, 4096)
    with pytest.raises(ValueError, match="core image"):
        bios_boot.patched(BOOT, bytes(4096), 4096)
