# SPDX-License-Identifier: Apache-2.0
"""Incidents on the disk: a file each, so that one that is damaged takes no other with it (docs/adr/0212).

A file is a line with the head, preceded by its checksum, and the detail, compressed. What cannot be written
is kept in memory, `MOST_UNWRITTEN` at most, until it can. The folder may be deleted at any time.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import zlib
from pathlib import Path
from typing import Any

KEPT = 200
MOST_BYTES = 65_536
"""Of one file."""
MOST_UNWRITTEN = 16
_ENDING = ".incident"
_DRAFT = ".new"
_OF_HEAD = {
    "at", "code", "subject", "severity", "sentence", "times", "last_at", "state", "recorded_until"
}  # fmt: skip
_OF_DETAIL = {"start", "cores", "interfaces", "queues", "names", "events", "left_out"}
log = logging.getLogger("weir.stats")
Json = dict[str, Any]


class IncidentFiles:
    """Not shared with another process. Thread-safe. Nothing raises where a disk or a file is bad: `problems`
    names it."""

    def __init__(self, folder: Path | None) -> None:
        """In memory without a folder."""
        self._folder = folder
        self._lock = threading.Lock()
        self._heads: dict[int, Json] = {}
        self._unwritten: dict[int, bytes] = {}
        self._damaged: dict[int, str] = {}
        self._refusal: str | None = None
        self._highest = 0
        with self._lock:
            self._look_round()

    def _look_round(self) -> None:
        """Learn what is there."""
        try:
            found = list(self._folder.iterdir()) if self._folder is not None else []
        except FileNotFoundError:
            return
        except OSError as error:
            self._refuse(f"{self._folder} cannot be read: {error.strerror}")
            return
        for path in found:
            if path.suffix == _DRAFT:
                self._remove(path.name)  # of a write that the process did not survive
            elif path.suffix == _ENDING and re.fullmatch("[1-9][0-9]{0,8}", path.stem):
                self._learn(int(path.stem))
        self._highest = max((*self._heads, *self._damaged), default=0)
        self._trim()

    def _learn(self, number: int) -> None:
        try:
            with self._path(number).open("rb") as file:
                self._heads[number] = _head(file.readline(MOST_BYTES))
        except (OSError, ValueError) as error:
            self._find_damaged(number, error)

    def _find_damaged(self, number: int, error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) else f"it is damaged ({error})"
        self._heads.pop(number, None)
        self._damaged[number] = f"incident {number} cannot be read from {self._path(number)}: {why}"
        log.warning("%s", self._damaged[number])

    def add(self, head: Json, content: bytes) -> int:
        """A new incident (`content` of `packed`), whose number it returns; the oldest ones go."""
        with self._lock:
            self._highest += 1
            self._write(self._highest, head, content)
            self._trim()
            return self._highest

    def put(self, number: int, head: Json, content: bytes) -> None:
        """More is known of an incident; one that went meanwhile stays away."""
        with self._lock:
            if number in self._heads:
                self._write(number, head, content)

    def put_head(self, number: int, head: Json) -> None:
        """Its detail stays as it is."""
        with self._lock:
            if number not in self._heads:
                return
            self._heads[number] = head
            try:
                _, _, detail = self._content(number).partition(b"\n")
            except OSError as error:
                self._find_damaged(number, error)
                return
            self._write(number, head, _line(head) + detail)

    def keep_head(self, number: int, head: Json) -> None:
        """In memory only; `put_head` writes it."""
        with self._lock:
            if number in self._heads:
                self._heads[number] = head

    def retry(self) -> None:
        """Write what could not be written."""
        with self._lock:
            for number, content in list(self._unwritten.items()):
                self._write(number, self._heads[number], content)
                if number in self._unwritten:
                    return

    def heads(self) -> list[Json]:
        """The newest first, each with its `id`."""
        with self._lock:
            return [{"id": number, **self._heads[number]} for number in sorted(self._heads, reverse=True)]

    def head(self, number: int) -> Json | None:
        with self._lock:
            return self._heads.get(number)

    def read(self, number: int) -> Json | None:
        """Head and detail; None: there is none, or it is damaged, which `problems` tells then."""
        with self._lock:
            if number not in self._heads:
                return None
            try:
                return {"id": number, **self._heads[number], **unpacked(self._content(number))}
            except (OSError, ValueError, zlib.error) as error:
                self._find_damaged(number, error)
                return None

    def why_damaged(self, number: int) -> str | None:
        with self._lock:
            return self._damaged.get(number)

    @property
    def problems(self) -> list[str]:
        """What cannot be read or written, the newest first."""
        with self._lock:
            damaged = [self._damaged[number] for number in sorted(self._damaged, reverse=True)]
            return [*([self._refusal] if self._refusal else []), *damaged]

    # --- with the lock held ---

    def _path(self, number: int) -> Path:
        return (self._folder or Path()) / f"{number}{_ENDING}"

    def _content(self, number: int) -> bytes:
        if number in self._unwritten:
            return self._unwritten[number]
        with self._path(number).open("rb") as file:
            return file.read(MOST_BYTES + 1)

    def _write(self, number: int, head: Json, content: bytes) -> None:
        self._heads[number] = head
        try:
            if self._folder is not None:
                _replace(self._path(number), content)
        except OSError as error:
            self._refuse(f"incidents cannot be written to {self._folder}: {error.strerror}")
        else:
            if self._folder is not None:
                self._unwritten.pop(number, None)
                self._refusal = None if not self._unwritten else self._refusal
                return
        self._unwritten[number] = content
        if len(self._unwritten) > MOST_UNWRITTEN:
            self._drop_oldest_unwritten()

    def _drop_oldest_unwritten(self) -> None:
        """What was written of it before stays."""
        number = min(self._unwritten)
        del self._unwritten[number], self._heads[number]
        if self._folder is not None and self._path(number).exists():
            self._learn(number)

    def _refuse(self, why: str) -> None:
        if why != self._refusal:
            log.warning("%s; the newest %d are kept in memory until they can", why, MOST_UNWRITTEN)
        self._refusal = why

    def _trim(self) -> None:
        for number in [*self._heads, *self._damaged]:
            if number <= self._highest - KEPT:
                self._forget(number)

    def _forget(self, number: int) -> None:
        self._heads.pop(number, None)
        self._damaged.pop(number, None)
        self._unwritten.pop(number, None)
        self._remove(self._path(number).name)

    def _remove(self, name: str) -> None:
        if self._folder is not None:
            try:
                (self._folder / name).unlink(missing_ok=True)
            except OSError as error:
                self._refuse(f"{self._folder / name} cannot be removed: {error.strerror}")


def packed(head: Json, detail: Json) -> bytes:
    """A file's content, at most `MOST_BYTES`: the last queues, then the last interfaces are left out where it
    would be more, and `left_out` counts them."""
    line, kept = _line(head), dict(detail)
    while True:
        content = line + zlib.compress(json.dumps(kept, separators=(",", ":")).encode())
        longest = "queues" if kept["queues"] else "interfaces"
        if len(content) <= MOST_BYTES or not kept[longest]:
            return content
        going = max(1, len(kept[longest]) // 4)
        kept[longest] = kept[longest][:-going]
        kept["left_out"] += going


def unpacked(content: bytes) -> Json:
    """The detail in a file's content. Raises ValueError or zlib.error."""
    return _checked(zlib.decompress(content.partition(b"\n")[2]), _OF_DETAIL)


def _checked(text: bytes, names: set[str]) -> Json:
    found = json.loads(text)
    if not isinstance(found, dict) or not names <= found.keys():
        raise ValueError("it is of another version")
    return found


def _line(head: Json) -> bytes:
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _head(line: bytes) -> Json:
    """Raises ValueError."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise ValueError("its checksum is wrong")
    return _checked(text, _OF_HEAD)


def _replace(path: Path, content: bytes) -> None:
    """The old content or the new is there, also when the power goes."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(_DRAFT)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
