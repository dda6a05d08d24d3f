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
from pathlib import Path

from weir.loop import Loop
from weir.store import Damage

log = logging.getLogger(__name__)

AFTER_S, EVERY_S = 60.0, 86_400.0
LONGEST_S = 3600.0


class DailyCheck:
    """`damage` is what the last look found; None before the first."""

    def __init__(self, database: Path, after_s: float = AFTER_S) -> None:
        self._database = database
        self._process: subprocess.Popen[bytes] | None = None
        self._loop = Loop("daily-check", self._turn, first_s=after_s, again_s=EVERY_S)
        self.damage: list[Damage] | None = None

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.end()
        if self._process is not None:
            self._process.kill()
        self._loop.stop()

    def soon(self) -> None:
        """Something was done about what was found."""
        self._loop.wake()

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
            if not self._loop.ending:
                log.warning("%s was not checked: %s", self._database, said.decode(errors="replace").strip())
            return
        self.damage = [Damage(**item) for item in json.loads(out)]
        for item in self.damage[:10]:
            log.error("%s", item.message)

    def _turn(self) -> float:
        try:
            self.look()
        except (OSError, ValueError, TypeError) as error:
            log.warning("%s was not checked: %s", self._database, error)
        return EVERY_S
