# SPDX-License-Identifier: Apache-2.0
"""Agents that start in a moment: forked from a process that has imported what an agent imports.

Importing takes a third of an agent's start, and 16 s where a processor is emulated. So one process for each
worker imports it all, has no thread, and forks an agent whenever a rig wants one. From there on that is what
`python -m weir.agent.main` runs. The lab and the tests of the agent's start use the command itself.

    python -m tests.agent.warm    with one end of a pair of sockets as standard input
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from lab import confine, netns

PROGRAM = "weir.agent.main"
PACKAGES = ("weir.agent", "weir.adapters", "weir.backends", "weir.compiler", "weir.diagnosis", "weir.kinds")
MAX_BYTES = 65_536
POLL_S = 0.01


def place(namespace: str, shown: dict[str, str]) -> None:
    """Move this process into the namespace; each folder of `shown` is at the place that it names, for this
    process and its children."""
    netns.enter(namespace)
    if shown:
        confine.own_mounts()
    for folder, where in shown.items():
        confine.bind(Path(folder), Path(where))


class Forked:
    """A process that the server made, as `subprocess.Popen` has one."""

    def __init__(self, server: _Server, pid: int, command: Sequence[str]) -> None:
        self.pid = pid
        self.args = command
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Its exit status, or the negative number of the signal that ended it; None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired`."""
        until_s = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until_s is not None and time.monotonic() > until_s:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def start(options: Sequence[str], namespace: str, shown: dict[str, str], output: int) -> Forked:
    """An agent with these options, placed as `place` says, that writes to the file `output`."""
    server = _server()
    asked = {"options": list(options), "namespace": namespace, "shown": shown}
    return Forked(server, server.ask(asked, output), [PROGRAM, *options])


@cache
def _server() -> _Server:
    return _Server()


class _Server:
    """This worker's; it ends with it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.Popen([sys.executable, "-m", "tests.agent.warm"], stdin=theirs.fileno())

    def ask(self, question: dict[str, Any], *descriptors: int) -> Any:
        socket.send_fds(self._socket, [json.dumps(question).encode()], descriptors)
        return json.loads(self._socket.recv(MAX_BYTES))


def serve(link: socket.socket) -> None:
    """Answer until the other end is closed; in an agent it returns as soon as that has been made."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(link, MAX_BYTES, 1)
        if not text:
            os._exit(0)
        question = json.loads(text)
        if "ended" in question:
            pid, status = os.waitpid(question["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if not answer:
                link.close()
                _become(question, descriptors[0])
            os.close(descriptors[0])
        link.send(json.dumps(answer).encode())


def _become(asked: dict[str, Any], output: int) -> NoReturn:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    faulthandler.enable()
    place(asked["namespace"], asked["shown"])
    raise SystemExit(importlib.import_module(PROGRAM).main(asked["options"]))


def load() -> None:
    for package in PACKAGES:
        found = importlib.import_module(package)
        for item in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not item.name.endswith("__main__"):
                importlib.import_module(item.name)


if __name__ == "__main__":
    load()
    gc.freeze()
    serve(socket.socket(fileno=os.dup(0)))
