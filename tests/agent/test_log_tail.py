# SPDX-License-Identifier: Apache-2.0
"""The last lines of a log come from a process without rights, bounded in size, or not with its own words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readable import readable_folder, shell_script
from weir.adapters.journal import last_lines
from weir.model.problem import Unavailable

NOBODY = "65534"


@pytest.fixture
def folder() -> Iterator[Path]:
    with readable_folder("log-tail") as made:
        yield made


def test_a_process_without_rights_reads_what_was_asked_for(folder: Path) -> None:
    data, is_cut = last_lines(["--unit=weir-*"], 7, 1000, shell_script(folder, 'id -u; echo "$@"'))
    user, options = data.decode().splitlines()
    assert user == NOBODY and not is_cut
    assert {"--reverse", "--lines=7", "--unit=weir-*"} <= set(options.split())


def test_what_never_ends_is_cut(folder: Path) -> None:
    data, is_cut = last_lines([], 7, 10_000, shell_script(folder, "exec yes"))
    assert is_cut and data == b"y\n" * 5000


def test_a_reader_that_fails_is_told_in_its_own_words(folder: Path) -> None:
    with pytest.raises(Unavailable, match="the journal cannot be read: no files"):
        last_lines([], 7, 1000, shell_script(folder, "echo no files >&2; exit 1"))
    with pytest.raises(Unavailable, match="nothing-there"):
        last_lines([], 7, 1000, "/run/nothing-there")
