# SPDX-License-Identifier: Apache-2.0
"""The backend of a daemon that only says which word it has (`toy_daemon`)."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir.adapters.daemon import Daemon, Program
from weir.backends.daemons import DaemonBackend
from weir.model.problem import Unavailable

SCRIPT = str(Path(__file__).with_name("toy_daemon.py"))


class ToyBackend(DaemonBackend[str]):
    """A word is its file; the daemon says on its socket which word it has."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "toy.sock")
        program = Program(
            "toy",
            command=lambda config: (sys.executable, SCRIPT, "run", str(config), self.socket),
            check=lambda config: (sys.executable, SCRIPT, "check", str(config)),
        )
        super().__init__(Daemon(program, folder))

    def files(self, wanted: str) -> Mapping[str, str]:
        return {"toy.conf": f"{wanted}\n"} if wanted else {}

    def expected(self, wanted: str) -> object:
        return wanted

    def loaded(self, timeout_s: float) -> object:
        return self.ask(timeout_s)["has"]

    def ask(self, timeout_s: float = 1.0) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(timeout_s)
            try:
                client.connect(self.socket)
                answer: dict[str, Any] = json.loads(client.recv(4096))
            except (OSError, ValueError) as error:
                raise Unavailable(f"toy does not answer: {error}") from error
        return answer

    def bring(self, word: str) -> None:
        difference = self.diff(self.read(), word)
        if difference:
            self.apply(difference)
            self.verify(difference)
