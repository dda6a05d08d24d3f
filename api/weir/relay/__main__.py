# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.relay FILE`: relays as FILE says, until it is ended. SIGHUP has it read FILE again: relays
that stay as they are keep their sockets. Who writes a byte to its socket, in the folder `control` beside that
of FILE, is told what it has and has counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import resource
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from weir.probes.confine import CAP_NET_BIND_SERVICE, CAP_NET_RAW, become
from weir.relay.link import Counts, Link, Order

USER = "nobody"
"""Where root starts it. In the image systemd starts it, as a user of its own."""
RETRY_S = 1.0
"""So often a relay that could not be opened is tried again."""
_TELL_S = 0.2


class Relays:
    """All relays of this process."""

    def __init__(self, path: Path, selector: selectors.BaseSelector) -> None:
        self._path, self._selector = path, selector
        self._tag = ""
        self._orders: dict[str, Order] = {}
        self._counts: dict[str, Counts] = {}
        self._links: dict[str, Link] = {}
        self.failed: dict[str, str] = {}

    def read(self) -> None:
        """Do as the file says now. Raises `OSError`, `ValueError`, `TypeError` or `KeyError` for a file that
        is none of the agent's; then everything stays as it is."""
        content = json.loads(self._path.read_text(encoding="utf-8"))
        orders = {name: _order(body) for name, body in content["relays"].items()}
        self._orders, self._tag = orders, str(content["tag"])
        self._counts = {name: self._counts.get(name, Counts()) for name in orders}
        for name, link in list(self._links.items()):
            if orders.get(name) != link.order:
                self._close(name)
        self.open()

    def open(self) -> None:
        """Those that are not open."""
        self.failed = {}
        for name, order in self._orders.items():
            if name in self._links:
                continue
            try:
                link = Link(order, self._counts[name])
            except OSError as error:
                self.failed[name] = f"relay {name} on {order.ifname}: {error.strerror}"
                print(self.failed[name], file=sys.stderr, flush=True)
                continue
            self._links[name] = link
            self._selector.register(link.clients, selectors.EVENT_READ, link.from_clients)
            self._selector.register(link.servers, selectors.EVENT_READ, link.from_servers)

    def _close(self, name: str) -> None:
        link = self._links.pop(name)
        self._selector.unregister(link.clients)
        self._selector.unregister(link.servers)
        link.close()

    def state(self) -> dict[str, Any]:
        counted = {name: link.counts.to_json() for name, link in self._links.items()}
        return {"tag": self._tag, "failed": self.failed, "relays": counted}


def _order(body: dict[str, Any]) -> Order:
    return Order(**{**body, "servers": tuple(body["servers"])})


def main(argv: list[str]) -> int:
    (path,) = map(Path, argv)
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER)
        become(user.pw_uid, user.pw_gid, (CAP_NET_RAW, CAP_NET_BIND_SERVICE))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two sockets for each relay
    with selectors.DefaultSelector() as selector:
        relays = Relays(path, selector)
        control = _listen(path.parent.parent / "control" / "relay.sock")
        woken = _wake_by_signal()
        selector.register(control, selectors.EVENT_READ, lambda: _tell(control, relays))
        selector.register(woken, selectors.EVENT_READ, lambda: _again(woken, relays))
        relays.read()
        while True:
            for key, _ in selector.select(RETRY_S if relays.failed else None):
                key.data()
            if relays.failed:
                relays.open()


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    handle = socket.socket(socket.AF_UNIX)
    handle.setblocking(False)
    handle.bind(str(path))
    handle.listen()
    return handle


def _wake_by_signal() -> socket.socket:
    """What becomes readable by SIGHUP."""
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGHUP, lambda *_: None)
    return reader


def _again(woken: socket.socket, relays: Relays) -> None:
    woken.recv(4096)
    try:
        relays.read()
    except (OSError, ValueError, TypeError, KeyError) as error:
        print(f"its file cannot be read: {error}", file=sys.stderr, flush=True)


def _tell(control: socket.socket, relays: Relays) -> None:
    with contextlib.suppress(OSError):
        asker, _ = control.accept()
        with asker:
            asker.settimeout(_TELL_S)
            asker.recv(1)
            asker.sendall(json.dumps(relays.state()).encode())


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
