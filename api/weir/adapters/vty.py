# SPDX-License-Identifier: Apache-2.0
"""Questions to one of FRR's daemons over its vty socket, as vtysh asks them.

A question is the command and a NUL; the answer ends with three NULs and a byte that says whether the command
was understood (vtysh_client_run in vtysh/vtysh.c).

vtysh takes 25 ms of processor time to start, as it knows all commands of all daemons; this takes none. What
is changed goes through vtysh, but for the name, which vtysh keeps to itself.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path

from weir.model.problem import ApplyFailed, Unavailable

_END = b"\0\0\0"
_CHUNK = 1 << 16


def ask(path: Path, command: str, timeout_s: float, *, within: tuple[str, ...] = ()) -> str:
    """`within` are the contexts in which a command is known. Raises `Unavailable` when nobody listens
    (`frr-down`) or the answer takes longer (`daemon-hangs`), and `ApplyFailed` for a command that the daemon
    does not know."""
    name = path.stem
    until_s = time.monotonic() + timeout_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as vty:
            vty.settimeout(timeout_s)
            vty.connect(str(path))
            for context in ("enable", *within):
                _answer(vty, context, until_s)
            text, is_known = _answer(vty, command, until_s)
    except TimeoutError as error:
        raise Unavailable(f"{name} does not answer", code="daemon-hangs") from error
    except OSError as error:
        raise Unavailable(f"{name} is not running: {error.strerror}", code="frr-down") from error
    if not is_known:
        raise ApplyFailed(f"{name} does not know {command!r}: {text.strip()}", code="frr-command")
    return text


def _answer(vty: socket.socket, command: str, until_s: float) -> tuple[str, bool]:
    vty.sendall(command.encode() + b"\0")
    found = b""
    while found[-4:-1] != _END:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        vty.settimeout(left_s)
        chunk = vty.recv(_CHUNK)
        if not chunk:
            raise ConnectionResetError(0, "it ended while it was asked")
        found += chunk
    return found[:-4].decode(errors="replace"), found[-1] == 0
