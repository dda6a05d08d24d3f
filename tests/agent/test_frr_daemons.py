# SPDX-License-Identifier: Apache-2.0
"""Which daemons of FRR have to listen: mgmtd, too, where there is one (static routes are its, in FRR 10)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from weir.adapters.frr import Frr


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[ExitStack]:
    """zebra and staticd."""
    with ExitStack() as stack:
        for daemon in ("zebra", "staticd"):
            listen(stack, tmp_path, daemon)
        yield stack


def listen(stack: ExitStack, folder: Path, daemon: str) -> None:
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(str(folder / f"{daemon}.vty"))
    server.listen()


@pytest.mark.usefixtures("listening")
def test_an_frr_without_mgmtd_is_up(tmp_path: Path) -> None:
    assert Frr(tmp_path, tmp_path).down_reason() == ""


@pytest.mark.usefixtures("listening")
def test_an_mgmtd_that_died_is_named_and_its_routes_are_not_read(tmp_path: Path) -> None:
    """It leaves its pid file; vtysh would find no route in what is left of FRR, and fail to add one."""
    frr = Frr(tmp_path, tmp_path)
    before = frr.identity()
    (tmp_path / "mgmtd.pid").touch()
    assert frr.down_reason() == f"FRR is not running: no mgmtd in {tmp_path}"
    assert frr.read_lines() == frozenset()
    assert frr.identity() != before


def test_an_mgmtd_that_listens_is_part_of_a_running_frr(tmp_path: Path, listening: ExitStack) -> None:
    listen(listening, tmp_path, "mgmtd")
    assert Frr(tmp_path, tmp_path).down_reason() == ""
