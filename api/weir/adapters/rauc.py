# SPDX-License-Identifier: Apache-2.0
"""RAUC, which checks bundles, writes slots and keeps the boot loader's choice.

The program talks to RAUC's own service over D-Bus where it has to; reading a bundle needs no service.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from weir.model.problem import ApplyFailed, Invalid, Problem, Unavailable, Unsupported

DEFAULT_CONFIG = Path("/etc/rauc/system.conf")
QUICK_TIMEOUT_S = 60.0
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_PROGRESS = re.compile(r"\s*(\d{1,3})% (.+)")
_NOISE = re.compile(r"^(\(?rauc[:-].*|.*-Message: .*|installing)$")

# What RAUC says, and what that means to the person who sent the bundle. The first that fits.
_REASONS: tuple[tuple[re.Pattern[str], type[Problem], str, str], ...] = (
    (
        re.compile(r"Invalid bundle format|[Ss]ignature size|bundle size|squashfs magic|bundle too small"),
        Invalid,
        "bundle-damaged",
        "the file is no signed update bundle: it was cut short, or it is something else",
    ),
    (
        re.compile(r"signature verification failed|[Vv]erify error|no signature"),
        Invalid,
        "bundle-untrusted",
        "the bundle is not signed by an authority that this router trusts",
    ),
    (
        re.compile(r"[Cc]ompatible.*(mismatch|does not match)"),
        Invalid,
        "bundle-foreign",
        "the bundle is made for another product",
    ),
    (
        re.compile(r"[Cc]hecksum|verity|Input/output error"),
        ApplyFailed,
        "bundle-corrupt",
        "the bundle's content is not what was signed",
    ),
    (
        re.compile(r"[Ss]ize of image .* slot size"),
        ApplyFailed,
        "slot-too-small",
        "the slot on this router's disk is too small for this system",
    ),
    (
        re.compile(r"[Nn]o space left"),
        Unavailable,
        "disk-full",
        "there is no room left on the disk",
    ),
)


@dataclass(frozen=True, slots=True)
class Bundle:
    compatible: str
    version: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A system slot; `name` is the boot loader's. `good`: the boot loader may start it."""

    name: str
    booted: bool
    good: bool
    version: str | None
    installed_at: str | None


@dataclass(frozen=True, slots=True)
class Slots:
    """`next` is the slot that the next start takes, None when the boot loader has no good one left."""

    compatible: str
    booted: str | None
    next: str | None
    slots: tuple[Slot, ...]


class Rauc:
    """Thread-safe: every call is a process of its own."""

    def __init__(self, config: Path = DEFAULT_CONFIG, program: str = "rauc") -> None:
        self._config = config
        self._program = program

    def require(self) -> None:
        """Raises `Unsupported` where there are no slots: on a development machine, in the lab."""
        if not self._config.exists():
            raise Unsupported(
                "this router does not run from an image with two slots, so there is nothing to update",
                code="no-slots",
            )

    def inspect(self, bundle: Path) -> Bundle:
        """Check the signature and read the manifest. Raises `Invalid` (`bundle-...`)."""
        shown = self._run("info", "--output-format=json", str(bundle))
        found = _object(shown)
        return Bundle(str(found.get("compatible", "")), str(found.get("version", "")))

    def status(self) -> Slots:
        """Raises `Unsupported`, `Unavailable` when RAUC's service does not answer."""
        self.require()
        return _slots(_object(self._run("status", "--detailed", "--output-format=json")))

    def mark(self, what: Literal["good", "active"], slot: Literal["booted", "other"]) -> None:
        self.require()
        self._run("status", f"mark-{what}", slot)

    def install(self, bundle: Path, progress: Callable[[int, str], None]) -> None:
        """Write a bundle into the slot that does not run, and choose it for the next start.

        `progress` hears percent and what is being done. Takes minutes; raises `Invalid`, `ApplyFailed`.
        """
        self.require()
        said: list[str] = []
        try:
            with subprocess.Popen(
                [self._program, f"--conf={self._config}", "install", str(bundle)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=_environment(),
            ) as running:
                for line in running.stdout or ():
                    step = _PROGRESS.match(line)
                    if step is None:
                        said.append(line)
                    else:
                        progress(min(int(step[1]), 100), step[2].strip())
        except OSError as error:
            raise Unavailable(f"rauc cannot be run: {error.strerror}", code="program-missing") from error
        if running.returncode != 0:
            raise problem_of("".join(said))

    def _run(self, *words: str) -> str:
        argv = [self._program, f"--conf={self._config}", *words]
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=QUICK_TIMEOUT_S,
                env=_environment(),
                check=False,
            )
        except FileNotFoundError as error:
            raise Unavailable("the program rauc is not installed", code="program-missing") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable("rauc did not answer in time", code="program-timeout") from error
        if done.returncode != 0:
            raise problem_of(done.stderr + done.stdout)
        return done.stdout


def problem_of(said: str) -> Problem:
    """What RAUC's words mean; its own last sentence goes with it."""
    lines = [line.strip() for line in said.splitlines()]
    sentences = [line for line in lines if line and not _NOISE.match(line)]
    own = sentences[-1] if sentences else "it said nothing"
    for pattern, kind, code, meaning in _REASONS:
        if pattern.search(said):
            return kind(f"{meaning} (RAUC: {own[:300]})", code=code)
    return ApplyFailed(f"RAUC: {own[:300]}", code="update-failed")


def _environment() -> Mapping[str, str]:
    """The bus may be named by the process that started us; everything else is fixed."""
    bus = os.environ.get("DBUS_SYSTEM_BUS_ADDRESS")
    return {**_ENVIRONMENT, "DBUS_SYSTEM_BUS_ADDRESS": bus} if bus else _ENVIRONMENT


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unavailable("rauc answered something that is not JSON", code="bad-answer")
    return found


def _slots(found: dict[str, Any]) -> Slots:
    """System slots only: a kernel's slot follows its parent."""
    listed: dict[str, dict[str, Any]] = {}
    for item in found.get("slots", ()):
        listed.update(item)
    slots = []
    for entry in listed.values():
        if not entry.get("bootname"):
            continue
        status = entry.get("slot_status") or {}
        slots.append(
            Slot(
                name=str(entry["bootname"]),
                booted=entry.get("state") == "booted",
                good=entry.get("boot_status") == "good",
                version=(status.get("bundle") or {}).get("version"),
                installed_at=(status.get("installed") or {}).get("timestamp"),
            )
        )
    primary = listed.get(str(found.get("boot_primary")), {}).get("bootname")
    booted = next((slot.name for slot in slots if slot.booted), None)
    return Slots(str(found.get("compatible", "")), booted, primary, tuple(slots))
