# SPDX-License-Identifier: Apache-2.0
"""A small file system of a test's own, to fill up and to make read-only."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Self


class SmallDisk:
    """Mounted at `folder`, which must not exist yet, until `close`; of `size` as tmpfs(5) reads it."""

    def __init__(self, folder: Path, size: str = "8m") -> None:
        self.folder = folder
        self._ballast = folder / "ballast"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "weir-test", folder], check=True)

    def fill(self) -> None:
        """Not a byte is left."""
        with self._ballast.open("wb", buffering=0) as file:
            for size_bytes in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size_bytes)) == size_bytes:
                        pass
                except OSError:
                    continue

    def forbid(self) -> None:
        """Make it read-only."""
        self._remount("ro")

    def free(self) -> None:
        """Undo `fill` and `forbid`."""
        self._remount("rw")
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", self.folder], check=True)
