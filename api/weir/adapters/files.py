# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced as a whole: a reader finds the old content or the new."""

from __future__ import annotations

import os
from pathlib import Path


def draft_of(path: Path) -> Path:
    """Where the new content is gathered; what an interrupted replacement may have left."""
    return path.with_name(f"{path.name}.new")


def replace(path: Path, content: bytes, *, durable: bool = False, mode: int = 0o600) -> None:
    """Give `path` this content, readable by its owner only unless `mode` says otherwise. Raises OSError; the
    old content stays then.

    `durable`: also whenever the power goes, and the new content is on the disk on return.
    """
    new = draft_of(path)
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)  # whatever the umask
        if durable:
            file.flush()
            os.fsync(file.fileno())
    new.replace(path)
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Names made, changed or removed in it are on the disk on return. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
