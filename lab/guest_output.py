# SPDX-License-Identifier: Apache-2.0
"""What a guest says, read as it comes: its command's output, and how far it is itself."""

from __future__ import annotations

import os
import re
import sys
import threading
import time


class Output(threading.Thread):
    """Copies a pipe to this program's output until it is closed at the other end."""

    def __init__(self, source: int, failure: re.Pattern[str] | None) -> None:
        super().__init__()
        self.named_failure = False
        """`failure` was found in what was said."""
        self._source = source
        self._failure = failure
        self._heard_s = time.monotonic()

    def silent_s(self) -> float:
        """Seconds since something was said, or since the start."""
        return time.monotonic() - self._heard_s

    def run(self) -> None:
        line = b""
        with os.fdopen(self._source, "rb", buffering=0) as pipe:
            while chunk := pipe.read(65536):
                self._heard_s = time.monotonic()
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
                line += chunk
                self._search(line)
                line = line[line.rfind(b"\n") + 1 :]

    def _search(self, words: bytes) -> None:
        if self._failure is not None and self._failure.search(words.decode(errors="replace")):
            self.named_failure = True


class Status(threading.Thread):
    """Reads what lab/vm/guest.sh tells: "up", and "exit" with the status of the command."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self.is_up = False
        self.exit_code: int | None = None
        self._source = source
        self._begun_s = time.monotonic()
        self._exit_s: float | None = None

    def lasted_s(self) -> float:
        return time.monotonic() - self._begun_s

    def off_for_s(self) -> float:
        """Seconds since the command ended; 0 while it runs."""
        return 0.0 if self._exit_s is None else time.monotonic() - self._exit_s

    def run(self) -> None:
        with os.fdopen(self._source, "r") as pipe:
            for line in pipe:
                match line.split():
                    case ["up"]:
                        self.is_up = True
                    case ["exit", code]:
                        self.exit_code, self._exit_s = int(code), time.monotonic()
