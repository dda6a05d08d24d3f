# SPDX-License-Identifier: Apache-2.0
"""What a process without rights may read or start: pytest's own folders are root's alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def readable_folder(name: str) -> Iterator[Path]:
    """A folder of this test run, which is gone afterwards."""
    made = Path(f"/run/weir-{name}-test-{os.getpid()}")
    made.mkdir(mode=0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def shell_script(folder: Path, text: str) -> str:
    """The path of a program in `folder` that does this."""
    made = folder / "reader"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return str(made)
