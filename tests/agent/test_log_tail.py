# SPDX-License-Identifier: Apache-2.0
"""The last lines of a log come from a process without rights, bounded in size, or not with its own words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from weir.adapters.journal import last_lines
from weir.model.problem import Unavailable

NOBODY = "65534"


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that a process without rights may read."""
    made = Path(f"/run/weir-log-tail-test-{os.getpid()}")
    made.mkdir(mode=0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def reader(folder: Path, script: str) -> str:
    made = folder / "reader"
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    return str(made)


def test_a_process_without_rights_reads_what_was_asked_for(folder: Path) -> None:
    data, is_cut = last_lines(["--unit=weir-*"], 7, 1000, reader(folder, 'id -u; echo "$@"'))
    user, options = data.decode().splitlines()
    assert user == NOBODY and not is_cut
    assert {"--reverse", "--lines=7", "--unit=weir-*"} <= set(options.split())


def test_what_never_ends_is_cut(folder: Path) -> None:
    data, is_cut = last_lines([], 7, 10_000, reader(folder, "exec yes"))
    assert is_cut and data == b"y\n" * 5000


def test_a_reader_that_fails_is_told_in_its_own_words(folder: Path) -> None:
    with pytest.raises(Unavailable, match="the journal cannot be read: no files"):
        last_lines([], 7, 1000, reader(folder, "echo no files >&2; exit 1"))
    with pytest.raises(Unavailable, match="nothing-there"):
        last_lines([], 7, 1000, "/run/nothing-there")
