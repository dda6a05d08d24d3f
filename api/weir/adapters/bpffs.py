# SPDX-License-Identifier: Apache-2.0
"""A BPF file system to pin programs, maps and links in."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from weir.model.problem import Unavailable

_BPF_FS_MAGIC = 0xCAFE4A11
_MNT_DETACH = 2


def is_bpffs(folder: Path) -> bool:
    """True when `folder` is on a BPF file system (statfs magic)."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(256)
    if libc.statfs(os.fsencode(folder), buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value == _BPF_FS_MAGIC


def mount_bpffs(folder: Path) -> None:
    """Make `folder` a BPF file system (root only), unless it is one. Raises `Unavailable`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}", code="no-bpffs") from error
    if is_bpffs(folder):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"weir", os.fsencode(folder), b"bpf", 0, b"mode=0700") != 0:
        reason = os.strerror(ctypes.get_errno())
        raise Unavailable(f"a BPF file system cannot be mounted on {folder}: {reason}", code="no-bpffs")


def unmount_bpffs(folder: Path) -> None:
    """Undo `mount_bpffs`; what is pinned there and attached nowhere else goes. Raises `Unavailable`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if is_bpffs(folder) and libc.umount2(os.fsencode(folder), _MNT_DETACH) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise Unavailable(f"{folder} cannot be unmounted: {reason}", code="no-bpffs")
