# SPDX-License-Identifier: Apache-2.0
"""The journal, by processes without rights: its last lines, and followed for one server of logs by a reader
and a sender."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from weir.adapters.confined import ended, start_confined, why
from weir.adapters.process import ENVIRONMENT
from weir.adapters.unprivileged import without_root
from weir.model.problem import Unavailable

READER = "journalctl"
LONGEST_LINE = 4096
LAST_S = 20.0


def last_lines(asked: Sequence[str], lines: int, most_bytes: int, reader: str = READER) -> tuple[bytes, bool]:
    """At most so many entries that are `asked` for by options of journalctl(1), the newest first, and whether
    more than `most_bytes` would have come. Raises `Unavailable` with the reader's own words."""
    how = ("--quiet", "--reverse", "--output=short-iso-precise", f"--lines={lines}", *asked)
    found = said_by(how, most_bytes, LAST_S, reader)
    return found.data, found.is_cut


@dataclass(frozen=True, slots=True)
class Said:
    """What the reader wrote, and what it complained of although it did not fail."""

    data: bytes
    is_cut: bool
    complaint: str


def said_by(asked: Sequence[str], most_bytes: int, most_s: float, reader: str = READER) -> Said:
    """What journalctl(1) writes with these options, up to `most_bytes`. Raises `Unavailable` with its own
    words."""
    try:
        process = _reading(reader, *asked)
    except OSError as error:
        text = f"no process could be started for it: {error.strerror}"
        raise Unavailable(text, code="no-journal") from error
    assert process.stdout is not None and process.stderr is not None
    stop = threading.Timer(most_s, process.kill)
    stop.start()
    try:
        data = process.stdout.read(most_bytes + 1)
        is_cut = len(data) > most_bytes
        if is_cut:
            process.kill()
        said = process.stderr.read(LONGEST_LINE)
        code = process.wait()
    finally:
        stop.cancel()
        process.kill()
        process.stdout.close()
        process.stderr.close()
    if code != 0 and not is_cut:
        raise Unavailable(f"the journal cannot be read: {why(code, said)}", code="no-journal")
    return Said(data[:most_bytes], is_cut, " ".join(said.decode("utf-8", "replace").split()))


def _reading(reader: str, *asked: str) -> subprocess.Popen[bytes]:
    """The reader without rights but to read the journal; it ends with the thread that calls this."""
    return subprocess.Popen(
        (*without_root("nobody", group="systemd-journal", outlives=False), reader, "--no-pager", *asked),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
    )


class Forwarding:
    """`order` is what `weir.courier.syslog` is told, `severity` the number from which messages are sent, and
    `since_s` the Unix time from which. The thread that makes it has to stay: both processes end with it."""

    def __init__(self, order: dict[str, Any], severity: int, since_s: int, reader: str = READER) -> None:
        """Raises `OSError`."""
        asked = ("--follow", "--no-tail", "--output=json", f"--priority={severity}", f"--since=@{since_s}")
        self._reader = _reading(reader, *asked)
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
