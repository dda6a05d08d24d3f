# SPDX-License-Identifier: Apache-2.0
"""Updates of the system and restarting it: uploads are kept here until the agent took its copy."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import threading
from pathlib import Path
from typing import IO, Any

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.bundle import MAX_BUNDLE_BYTES, no_room, not_kept
from weir.model.problem import Conflict, Invalid
from weir.wire.client import AgentClient

log = logging.getLogger(__name__)

SPARE_BYTES = 16 << 20
"""What an upload leaves free on the partition of the configuration."""
TAKE_TIMEOUT_S = 180.0
"""The agent copies the bundle and checks its signature before it answers."""
CHUNK_BYTES = 1 << 20
Json = dict[str, Any]


class UpdateService:
    """`inbox` is a folder of the API's own, beside the database. Thread-safe."""

    def __init__(self, agent: AgentClient, audit: AuditService, inbox: Path) -> None:
        self._agent = agent
        self._audit = audit
        self._inbox = inbox
        self._turn = threading.Lock()

    @requires("config.read")
    def status(self, _by: Principal) -> Json:
        """Slots and the last installation, as the agent tells them."""
        return self._agent.call("updates", timeout_s=TAKE_TIMEOUT_S)

    @requires("system.manage")
    def install(self, by: Principal, body: IO[bytes], length: int | None) -> Json:
        """Receive a bundle and let the agent check it; it is installed in the background.

        `length` is what was announced. Raises `Invalid` (`bundle-...`), `Conflict` (`update-running`),
        `Unavailable` (`disk-full`, `upload`), `Unsupported` (`no-slots`).
        """
        if not self._turn.acquire(blocking=False):
            raise Conflict("another bundle is being uploaded", code="update-running")
        try:
            name = self._receive(body, length)
            try:
                answer = self._agent.call("update_install", {"upload": name}, timeout_s=TAKE_TIMEOUT_S)
            finally:
                (self._inbox / f"{name}.raucb").unlink(missing_ok=True)
        finally:
            self._turn.release()
        version = str(answer.get("job", {}).get("version"))
        self._audit.note(entry_of(by, "system.update", f"version {version}"))
        return answer

    @requires("system.manage")
    def choose(self, by: Principal, slot: str) -> Json:
        """The slot that the next start takes. Raises `NotFound`, `Conflict`."""
        answer = self._agent.call("update_choose", {"slot": slot}, timeout_s=TAKE_TIMEOUT_S)
        self._audit.note(entry_of(by, "system.slot", f"slot {slot}"))
        return answer

    @requires("system.manage")
    def restart(self, by: Principal) -> None:
        """Restart the router. Raises `Unsupported` or `Conflict` where it was not started from a slot."""
        self._agent.call("restart", timeout_s=TAKE_TIMEOUT_S)
        self._audit.note(entry_of(by, "system.restart", ""))

    def _receive(self, body: IO[bytes], length: int | None) -> str:
        """Write the body to a file of the inbox, bounded; its name without the ending."""
        if not length:
            raise Invalid("the body is empty: send the bundle", code="no-file")
        if length > MAX_BUNDLE_BYTES:
            raise Invalid(
                f"a bundle has at most {MAX_BUNDLE_BYTES >> 20} MiB", code="bundle-too-large", path="body"
            )
        try:
            self._inbox.mkdir(mode=0o700, exist_ok=True)
            for left in self._inbox.glob("*.raucb"):  # of a process that was killed
                left.unlink(missing_ok=True)
            if shutil.disk_usage(self._inbox).free < length + SPARE_BYTES:
                raise no_room()
            name = secrets.token_hex(16)
            path = self._inbox / f"{name}.raucb"
            try:
                with _private(path) as file:
                    received = _copy(body, file, length)
                if received != length:
                    raise Invalid(f"{length} bytes were announced and {received} came", code="upload-cut")
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise not_kept(error, "the bundle cannot be stored") from error
        return name


def _copy(body: IO[bytes], file: IO[bytes], length: int) -> int:
    received = 0
    while received < length and (chunk := body.read(min(CHUNK_BYTES, length - received))):
        file.write(chunk)
        received += len(chunk)
    return received


def _private(path: Path) -> IO[bytes]:
    """A new file that only its owner may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
