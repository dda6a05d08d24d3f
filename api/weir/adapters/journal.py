# SPDX-License-Identifier: Apache-2.0
"""The journal, followed for one server of logs: a reader and a sender, each a process without rights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from weir.adapters.process import ENVIRONMENT
from weir.adapters.unprivileged import unconfined

READER = "journalctl"
LONGEST_LINE = 4096
_SHOWN_CHARS = 200


class Forwarding:
    """`order` is what `weir.courier.syslog` is told, `severity` the number from which messages are sent, and
    `since_s` the Unix time from which. The thread that makes it has to stay: both processes end with it."""

    def __init__(self, order: dict[str, Any], severity: int, since_s: int, reader: str = READER) -> None:
        """Raises `OSError`."""
        kept = {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
        resolver = {"RES_OPTIONS": "timeout:2 attempts:2"}
        asked = (
            "--follow",
            "--no-tail",
            "--output=json",
            "--no-pager",
            f"--priority={severity}",
            f"--since=@{since_s}",
        )
        rights = ("--reuid=nobody", "--regid=systemd-journal", "--clear-groups", "--no-new-privs")
        none = ("--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", *unconfined())
        self._reader = subprocess.Popen(
            ("setpriv", "--pdeathsig=KILL", *rights, *none, "--", reader, *asked),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        assert self._reader.stdout is not None
        try:
            self._sender = subprocess.Popen(
                (sys.executable, "-m", "weir.courier.syslog", str(os.getpid()), json.dumps(order)),
                stdin=self._reader.stdout,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**ENVIRONMENT, **kept, **resolver},
                start_new_session=True,
            )
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
        """Both are gone after it; what the reader complained of."""
        self._sender.kill()
        self._reader.kill()
        assert self._reader.stderr is not None and self._sender.stdout is not None
        said = self._reader.stderr.read(4096).decode("utf-8", "replace")
        self._reader.stderr.close()
        self._sender.stdout.close()
        self._sender.wait()
        self._reader.wait()
        return " ".join(said.split())[-_SHOWN_CHARS:]

    def stop(self) -> None:
        """From any thread: the reports come to an end."""
        self._sender.kill()
        self._reader.kill()
