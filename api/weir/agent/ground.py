# SPDX-License-Identifier: Apache-2.0
"""What the agent stands on: that it is the only one, its signals, and the datapath with its pins."""

from __future__ import annotations

import argparse
import fcntl
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from weir.adapters.bpffs import is_bpffs, mount_bpffs
from weir.adapters.datapath import Datapath
from weir.adapters.modules import load_flow_tables
from weir.agent.options import daemon_folder
from weir.model.limits import MAX_DOMAIN
from weir.model.problem import Unavailable


def only_one(state_dir: Path) -> IO[str]:
    """The lock that one agent holds, in a folder that is made if need be, with that of the daemons: their
    users go through both, whatever the umask. Raises `Unavailable` when another agent holds it."""
    try:
        if not state_dir.exists():
            state_dir.mkdir(parents=True)
            state_dir.chmod(0o755)
        daemon_folder(state_dir).mkdir(exist_ok=True)
        daemon_folder(state_dir).chmod(0o755)
        handle = (state_dir / "agent.lock").open("w")
    except OSError as error:
        raise Unavailable(f"{state_dir} cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise Unavailable(f"another agent is running (it holds {state_dir / 'agent.lock'})") from error
    return handle


def signals(stack: ExitStack) -> Callable[[], object]:
    """Catch SIGTERM and SIGINT from now on; the answer waits for one.

    By a wakeup descriptor: a thread that is just about to wait for an `Event` would miss a signal.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer.fileno())
    stack.callback(reader.close)
    stack.callback(writer.close)
    stack.callback(signal.set_wakeup_fd, -1)
    return lambda: reader.recv(1)


def open_datapath(options: argparse.Namespace, slots: int) -> Datapath:
    mount_pins(options.pin_dir)
    load_flow_tables()
    return Datapath.open(options.pin_dir, options.library, slots, domains=MAX_DOMAIN + 1)


def mount_pins(pin_dir: Path) -> None:
    """A BPF file system at the pins' folder, unless it is on one."""
    if not (is_bpffs(pin_dir) if pin_dir.exists() else is_bpffs(pin_dir.parent)):
        mount_bpffs(pin_dir)
