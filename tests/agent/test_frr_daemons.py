# SPDX-License-Identifier: Apache-2.0
"""Which daemons of FRR have to listen: mgmtd, too, where there is one (static routes are its, in FRR 10). And
which of them hang, when vtysh takes its time."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from weir.adapters.frr import Frr
from weir.model.problem import Unavailable


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


class Answering(socketserver.StreamRequestHandler):
    """A daemon that understands all that it is told."""

    def handle(self) -> None:
        while self.request.recv(4096):
            self.request.sendall(b"\0\0\0\0")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Frr]:
    """An FRR whose zebra answers, and whose vtysh takes half a second to write."""
    vtysh = tmp_path / "vtysh"
    vtysh.write_text('#!/bin/sh\ncase "$*" in *" -C "*) ;; *) sleep 0.5; echo done ;; esac\n')
    vtysh.chmod(0o755)
    frr = Frr(tmp_path, tmp_path)
    frr._vtysh[0] = str(vtysh)
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "zebra.vty"), Answering) as zebra:
        threading.Thread(target=zebra.serve_forever, args=(0.01,), daemon=True).start()
        yield frr
        zebra.shutdown()


def test_a_vtysh_that_is_slow_is_waited_for_while_the_daemons_answer(slow: Frr) -> None:
    assert slow.give(["hostname r1"], ["zebra"], 0.1) == ""


def test_a_daemon_that_is_silent_meanwhile_is_named_at_once(slow: Frr, tmp_path: Path) -> None:
    with ExitStack() as stack:
        listen(stack, tmp_path, "bgpd")
        begun_s = time.monotonic()
        with pytest.raises(Unavailable, match=r"^bgpd does not answer$"):
            slow.give(["hostname r1"], ["zebra", "bgpd"], 0.05)
        assert time.monotonic() - begun_s < 5, "it was not waited for as for one that is busy"
