# SPDX-License-Identifier: Apache-2.0
"""Looking through all of the configuration and the accounts at the start and once a day.

It is done in a process that nobody waits for.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from weir.store import Damage

log = logging.getLogger(__name__)

AFTER_S, EVERY_S = 60.0, 86_400.0
LONGEST_S = 3600.0


class DailyCheck:
    """`damage` is what the last look found; None before the first."""

    def __init__(self, database: Path, after_s: float = AFTER_S) -> None:
        self._database = database
        self._after_s = after_s
        self._due = threading.Event()
        self._stopping = False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="daily-check", daemon=True)
        self.damage: list[Damage] | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._due.set()
        if self._process is not None:
            self._process.kill()
        if self._thread.is_alive():
            self._thread.join()

    def soon(self) -> None:
        """Something was done about what was found."""
        self._due.set()

    def look(self) -> None:
        """Look now. What cannot be looked at says so in the log; what was found before stays."""
        command = [sys.executable, "-m", "weir.store.verifying", str(self._database)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as self._process:
            try:
                os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)
            except OSError as error:
                log.debug("the check has the priority of the API: %s", error)
            try:
                out, said = self._process.communicate(timeout=LONGEST_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                log.warning("the check of %s was ended after an hour", self._database)
                return
        if self._process.returncode != 0:
            if not self._stopping:
                log.warning("%s was not checked: %s", self._database, said.decode(errors="replace").strip())
            return
        self.damage = [Damage(**item) for item in json.loads(out)]
        for item in self.damage[:10]:
            log.error("%s", item.message)

    def _run(self) -> None:
        wait_s = self._after_s
        while not self._stopping:
            self._due.wait(wait_s)
            self._due.clear()
            wait_s = EVERY_S
            if not self._stopping:
                try:
                    self.look()
                except (OSError, ValueError, TypeError) as error:
                    log.warning("%s was not checked: %s", self._database, error)
