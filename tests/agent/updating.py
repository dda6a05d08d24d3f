# SPDX-License-Identifier: Apache-2.0
"""RAUC's real service on a bus of its own, and the agent's updates in front of it."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.polling import until
from weir.adapters.rauc import Rauc
from weir.agent.updates import Updates
from weir.wire.server import Peer

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
<allow user="*"/></policy></busconfig>
"""


class UpdatingMachine:
    """Runs from `slot`, as far as RAUC can tell, until `stack` is closed. `folder` is for sockets and logs.

    `data` has the uploads and the agent's own copy; `boot` has GRUB's environment. Without a `slot` it is
    the one that the kernel was told.
    """

    def __init__(
        self,
        stack: ExitStack,
        config: Path,
        folder: Path,
        *,
        data: Path,
        boot: Path,
        slot: str | None = "A",
    ) -> None:
        bus = folder / "bus"
        (folder / "bus.conf").write_text(BUS.format(path=bus))
        own = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus}", "WEIR_BOOT_FOLDER": str(boot)}
        stack.enter_context(patch.dict(os.environ, own))
        self._stack = stack
        self._start(["dbus-daemon", "--nofork", f"--config-file={folder / 'bus.conf'}"], folder / "bus.log")
        until("the bus", bus.exists)
        self.log = folder / "service.log"
        told = [f"--override-boot-slot={slot}"] if slot else []
        self._start(["rauc", f"--conf={config}", *told, "service"], self.log)
        self.inbox = data / "uploads"
        self.inbox.mkdir()
        self.updates = Updates(Rauc(config), self.inbox, data / "own", lambda: None)
        until("RAUC's service", lambda: self.call("updates")["available"])

    def _start(self, command: list[str], log: Path) -> None:
        with log.open("wb") as output:
            process = self._stack.enter_context(
                subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            )
        self._stack.callback(process.kill)

    def call(self, method: str, **params: Any) -> Any:
        return self.updates.table()[method](params, Peer(1, 1, 0, 0))

    def install(self, bundle: bytes) -> Any:
        """The job at its end, whatever that is."""
        name = "0" * 32
        (self.inbox / f"{name}.raucb").write_bytes(bundle)
        self.call("update_install", upload=name)
        # Not by `updates`: that runs a program each time, and competes with what is waited for.
        # On emulated processors, beside others, it takes minutes.
        until("the end", lambda: not self.updates.busy(), within_s=400)
        return self.call("updates")["job"]
