# SPDX-License-Identifier: Apache-2.0
"""The journal, followed for one server of logs: a reader and a sender, each a process without rights."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from weir.adapters.confined import ended, start_confined, why
from weir.adapters.process import ENVIRONMENT
from weir.adapters.unprivileged import without_root

READER = "journalctl"
LONGEST_LINE = 4096


class Forwarding:
    """`order` is what `weir.courier.syslog` is told, `severity` the number from which messages are sent, and
    `since_s` the Unix time from which. The thread that makes it has to stay: both processes end with it."""

    def __init__(self, order: dict[str, Any], severity: int, since_s: int, reader: str = READER) -> None:
        """Raises `OSError`."""
        asked = (
            "--follow",
            "--no-tail",
            "--output=json",
            "--no-pager",
            f"--priority={severity}",
            f"--since=@{since_s}",
        )
        self._reader = subprocess.Popen(
            (*without_root("nobody", group="systemd-journal", outlives=False), reader, *asked),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        assert self._reader.stdout is not None
        try:
            said = (str(os.getpid()), json.dumps(order))
            self._sender = start_confined("weir.courier.syslog", *said, stdin=self._reader.stdout)
        except OSError:
            self._reader.kill()
            self._reader.communicate()
            raise
        self._reader.stdout.close()

    def reports(self) -> Iterator[dict[str, Any]]:
        """What the sender says of how it goes, until it or the reader ends."""
        assert self._sender.stdout is not None
        while line := self._sender.stdout.readline(LONGEST_LINE):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found

    def end(self) -> str:
        """Both are gone after it; why, where nobody stopped them. The sender ends by itself with the
        reader."""
        sender = ended(self._sender)
        reader = ended(self._reader) if sender == 0 else 0
        self.stop()
        (_, sender_said), (_, reader_said) = self._sender.communicate(), self._reader.communicate()
        if sender == 0:
            return f"the journal cannot be followed: {why(reader, reader_said)}"
        return f"the process that sends messages failed: {why(sender, sender_said)}"

    def stop(self) -> None:
        """From any thread: the reports come to an end."""
        self._sender.kill()
        self._reader.kill()
