# SPDX-License-Identifier: Apache-2.0
"""Updates of the system: take a bundle from the API, check it, let RAUC install it, start into it.

The API hands over the name of an upload, never a path or a command. The bundle is copied to root's own folder
before anything looks at it, so that what was checked is what is installed. One installation at a time;
the running system is not touched by it.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from weir.adapters.rauc import Rauc, Slots
from weir.model.bundle import MAX_BUNDLE_BYTES, no_room, not_kept
from weir.model.problem import Conflict, Invalid, NotFound, Problem
from weir.store.clock import wall_ms
from weir.store.owner import acting_as, owner_to_be
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

OLDEST_VERSION = "0.1.0"
"""The first release whose configuration database this one's can be handed back to."""
_UPLOAD = re.compile(r"[0-9a-f]{32}")
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([0-9A-Za-z.-]{1,64}))?")


@dataclass(slots=True)
class Job:
    """The last installation, for people to watch. `percent` is RAUC's."""

    state: Literal["idle", "installing", "installed", "failed"] = "idle"
    percent: int = 0
    what: str = ""
    version: str | None = None
    code: str | None = None
    message: str | None = None
    started_at_ms: int | None = None
    ended_at_ms: int | None = None


class Updates:
    """`inbox` is where the API leaves uploads, `folder` is root's own; `restart` restarts the machine."""

    def __init__(self, rauc: Rauc, inbox: Path, folder: Path, restart: Callable[[], None]) -> None:
        self._rauc = rauc
        self._inbox = inbox
        self._folder = folder
        self._restart_machine = restart
        self._lock = threading.Lock()
        self._job = Job()
        self._before: Slots | None = None
        """The slots when the installation began: RAUC's service answers nobody while it installs."""

    def table(self) -> Mapping[str, Handler]:
        return {
            "updates": self._status,
            "update_install": self._install,
            "update_choose": self._choose,
            "restart": self._restart,
        }

    def busy(self) -> str:
        """Why the machine may not go down now, "" when it may."""
        with self._lock:
            return _busy().message if self._job.state == "installing" else ""

    def _status(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        with self._lock:
            job = asdict(self._job)
            before = self._before if self._job.state == "installing" else None
        try:
            found = before or self._rauc.status()
        except Problem as problem:
            return {"available": False, "reason": problem.message, "slots": [], "job": job}
        return {
            "available": True,
            "reason": None,
            "booted": found.booted,
            "next": found.next,
            "slots": [asdict(slot) for slot in found.slots],
            "job": job,
        }

    def _install(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """Take and check the bundle, then install it in the background."""
        self._rauc.require()
        self._begin()
        try:
            self._remember(self._rauc.status())
            bundle = self._take(params.get("upload"))
            version = self._check(bundle)
        except BaseException:
            self._end("idle")
            self._discard()
            raise
        with self._lock:
            self._job.version = version
        threading.Thread(target=self._run, args=(bundle,), name="update", daemon=True).start()
        return self._status(params, peer)

    def _choose(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """The slot that the next start takes."""
        self._refuse_while_installing()
        found = self._rauc.status()
        name = params.get("slot")
        chosen = next((slot for slot in found.slots if slot.name == name), None)
        if chosen is None:
            raise NotFound(f"there is no slot {str(name)[:20]!r}", code="no-such-slot", path="slot")
        if not chosen.booted and not chosen.good and chosen.version is None:
            raise Conflict(f"slot {chosen.name} holds no system that could start", code="slot-empty")
        self._rauc.mark("active", "booted" if chosen.booted else "other")
        return self._status(params, peer)

    def _restart(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """Only where there are slots: elsewhere the machine is somebody's workstation."""
        self.restart(f"uid {peer.uid}")
        return {"restarting": True}

    def restart(self, asked_by: str) -> None:
        """Raises `Conflict` (`no-slots`, `update-running`), and what RAUC and systemd say."""
        self._refuse_while_installing()
        if self._rauc.status().booted is None:
            raise Conflict("this system was not started from a slot", code="no-slots")
        log.warning("restarting, as asked by %s", asked_by)
        self._restart_machine()

    def _refuse_while_installing(self) -> None:
        with self._lock:
            if self._job.state == "installing":
                raise _busy()

    def _remember(self, slots: Slots) -> None:
        with self._lock:
            self._before = slots

    def _begin(self) -> None:
        with self._lock:
            if self._job.state == "installing":
                raise _busy()
            self._job = Job("installing", 0, "Checking the bundle", started_at_ms=wall_ms())
            self._before = None

    def _end(self, state: Literal["idle", "installed", "failed"], problem: Problem | None = None) -> None:
        with self._lock:
            self._job.state = state
            self._job.ended_at_ms = wall_ms()
            if problem is not None:
                self._job.code, self._job.message = problem.code, problem.message

    def _run(self, bundle: Path) -> None:
        try:
            self._rauc.install(bundle, self._progress)
        except Problem as problem:
            log.warning("the update failed: %s", problem.message)
            self._end("failed", problem)
        else:
            log.info("the update is installed; the next start runs it")
            self._end("installed")
        finally:
            self._discard()

    def _progress(self, percent: int, what: str) -> None:
        with self._lock:
            self._job.percent, self._job.what = percent, what

    def _take(self, upload: object) -> Path:
        """Copy the upload to root's own folder, as a file that nobody else can write."""
        if not isinstance(upload, str) or not _UPLOAD.fullmatch(upload):
            raise Invalid("an upload is named by 32 hexadecimal digits", code="bad-request", path="upload")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self._folder / "bundle.raucb"
        source = self._inbox / f"{upload}.raucb"
        try:
            with acting_as(owner_to_be(self._inbox)):
                descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as reader:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BUNDLE_BYTES:
                    raise Invalid(
                        f"a bundle is a file of at most {MAX_BUNDLE_BYTES >> 20} MiB", code="bundle-too-large"
                    )
                if found.st_size > shutil.disk_usage(self._folder).free:
                    raise no_room()
                with _private(target) as writer:
                    shutil.copyfileobj(reader, writer, 1 << 20)
        except OSError as error:
            raise not_kept(error, "the upload cannot be read") from error
        return target

    def _check(self, bundle: Path) -> str:
        """The version of a bundle that may be installed. Raises `Invalid` (`bundle-...`)."""
        found = self._rauc.inspect(bundle)
        ours = self._rauc.status().compatible
        if found.compatible != ours:
            raise Invalid(
                f"the bundle is made for {found.compatible[:64]!r}, this router is {ours!r}",
                code="bundle-foreign",
            )
        version, oldest = _sortable(found.version), _sortable(OLDEST_VERSION)
        if version < oldest:
            raise Invalid(
                f"version {found.version} is older than {OLDEST_VERSION}, the oldest that can read this "
                "router's configuration",
                code="bundle-too-old",
            )
        return found.version

    def _discard(self) -> None:
        (self._folder / "bundle.raucb").unlink(missing_ok=True)


def _private(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _busy() -> Conflict:
    return Conflict("an update is being installed", code="update-running")


def _sortable(version: str) -> tuple[int, int, int, bool, str]:
    """Semantic versions in order: 1.0.0-rc.1 comes before 1.0.0. Raises `Invalid` for anything else."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise Invalid(f"{version[:64]!r} is no version such as 1.2.3", code="bundle-version")
    return int(found[1]), int(found[2]), int(found[3]), found[4] is None, found[4] or ""
