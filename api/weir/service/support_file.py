# SPDX-License-Identifier: Apache-2.0
"""One file about a router for those who help: an archive that is written while it is sent (docs/adr/0208).

Nothing of it is held longer than the client takes to read it, and nothing of it touches the disk: a router
whose disk is full or read-only writes it too. What cannot be read is named in it with the reason.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import weir
from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.moment import moment
from weir.model.problem import Conflict, Problem
from weir.store.clock import wall_ms

log = logging.getLogger("weir.support")

FORMAT = "weir-support"
VERSION = 1
CONTENTS = "contents.json"
MOST_BYTES = 4 << 20
"""Of one part, before compression, unless it says otherwise."""
AT_ONCE_BYTES = 65_536
MOST_S = 300.0
"""A client that takes longer gets no end of it."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A file in it. `pieces` is called when its turn comes and may raise: then the file is left out, and the
    contents say why. What is beyond `most_bytes` is cut off."""

    name: str
    about: str
    pieces: Callable[[], Iterable[bytes]]
    most_bytes: int = MOST_BYTES


class SupportFile:
    """Pieces of the archive, for one reader."""

    def __init__(self, hostname: str, parts: Sequence[Part]) -> None:
        self._deadline = time.monotonic() + MOST_S
        self._is_over = False
        self._pieces = _written(hostname, parts)

    @property
    def is_over(self) -> bool:
        return self._is_over or time.monotonic() > self._deadline

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Raises `TimeoutError` after `MOST_S`: a reader is not told that it is whole."""
        if time.monotonic() > self._deadline:
            self.close()
            raise TimeoutError("the support file was not taken in time")
        try:
            return next(self._pieces)
        except StopIteration:
            self.close()
            raise

    def close(self) -> None:
        self._is_over = True
        self._pieces.close()


class SupportFiles:
    """One at a time. Thread-safe."""

    def __init__(self, audit: AuditService) -> None:
        self._audit = audit
        self._lock = threading.Lock()
        self._current: weakref.ref[SupportFile] | None = None
        """One that nobody reads any more is gone with its last reference."""

    @requires("system.manage")
    def begin(self, by: Principal, hostname: str, parts: Sequence[Part]) -> SupportFile:
        """Raises `Conflict` (`support-file-busy`) while another one is written."""
        with self._lock:
            current = None if self._current is None else self._current()
            if current is not None and not current.is_over:
                text = "a support file is being written already; one at a time"
                raise Conflict(text, code="support-file-busy")
            made = SupportFile(hostname, parts)
            self._current = weakref.ref(made)
        self._audit.note(entry_of(by, "system.support-file", "support file"))
        return made


class _Sink:
    """What the archive is written to: what came since it was last taken."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        self._waiting += data
        return len(data)

    def __len__(self) -> int:
        return len(self._waiting)

    def flush(self) -> None:
        """All is there at once."""

    def take(self) -> bytes:
        found = bytes(self._waiting)
        self._waiting.clear()
        return found


def _written(hostname: str, parts: Sequence[Part]) -> Generator[bytes, None, None]:
    sink, files = _Sink(), list[Json]()
    now = time.gmtime()
    with ZipFile(cast(Any, sink), "w") as archive:
        for part in parts:
            told: Json = {"name": part.name, "about": part.about, "bytes": 0, "cut": False, "problem": None}
            files.append(told)
            pieces = _read(part, told)
            first = next(pieces, None)
            if first is None:
                continue
            with archive.open(_entry(part.name, now), "w") as file:
                file.write(first)
                for piece in pieces:
                    file.write(piece)
                    if len(sink) >= AT_ONCE_BYTES:
                        yield sink.take()
        archive.writestr(_entry(CONTENTS, now), json.dumps(_contents(hostname, files), indent=1))
    yield sink.take()


def _entry(name: str, now: time.struct_time) -> ZipInfo:
    entry = ZipInfo(name, now[:6])
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def _read(part: Part, told: Json) -> Iterator[bytes]:
    """Pieces of a part up to its bound; `told` says how it went. A router that is ill is what this is for, so
    one part that fails does not take the others with it."""
    left = part.most_bytes
    try:
        for piece in part.pieces():
            kept = piece[:left]
            left -= len(kept)
            told["bytes"] += len(kept)
            if kept:
                yield kept
            if len(kept) < len(piece):
                told["cut"] = True
                return
    except Problem as problem:
        told["problem"] = problem.message
    except Exception as error:
        log.exception("%s of the support file failed", part.name)
        told["problem"] = f"it failed: {type(error).__name__}"


def _contents(hostname: str, files: list[Json]) -> Json:
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": moment(wall_ms()),
        "hostname": hostname,
        "release": weir.__version__,
        "files": files,
        "left_out": "passwords, keys, tokens and other secrets of the configuration; accounts, sessions, API "
        "tokens; packets. Names, addresses, comments and messages are in it as people wrote them.",
    }
