# SPDX-License-Identifier: Apache-2.0
"""The time zone: a link that `/etc/localtime` of the read-only system leads to."""

from __future__ import annotations

import os
import time
from pathlib import Path

from weir.model.problem import ApplyFailed

LINK = Path("/data/zone/localtime")
ZONES = Path("/usr/share/zoneinfo")
LOCAL = Path("/etc/localtime")
_USUAL = "UTC"
_MAGIC = b"TZif"


class TimeZone:
    """`link` is what `/etc/localtime` leads to; its folder exists only on the appliance. On any other machine
    this process alone has the zone, with a link `own`, and before that the machine's."""

    def __init__(self, own: Path, link: Path = LINK, zones: Path = ZONES) -> None:
        self._is_ours = link.parent.is_dir()
        self._link = link if self._is_ours else own
        self._zones = zones
        if not self._is_ours and own.is_symlink():
            self._take(self.read())

    @property
    def file(self) -> Path:
        """Of the zone in force (tzfile(5)); there may be none, which means UTC."""
        return self._link if self._is_ours or self._link.is_symlink() else LOCAL

    def read(self) -> str:
        """The name of the zone in force, `UTC` where none was chosen."""
        try:
            target = self.file.readlink()
        except OSError:
            return _USUAL
        return str(target.relative_to(self._zones)) if target.is_relative_to(self._zones) else _USUAL

    def set(self, name: str) -> None:
        """From now on local time is that of `name`. Raises `ApplyFailed`."""
        if not _is_zone(self._zones / name):
            raise ApplyFailed(f"this system has no time zone {name}", code="unknown-time-zone")
        new = self._link.with_name(f"{self._link.name}.new")
        try:
            new.unlink(missing_ok=True)
            new.symlink_to(self._zones / name)
            new.replace(self._link)
        except OSError as error:
            raise ApplyFailed(
                f"the time zone cannot be stored: {error.strerror}", code="disk-full"
            ) from error
        self._take(name)

    def _take(self, name: str) -> None:
        """For this process; others look at the link."""
        if not self._is_ours:
            os.environ["TZ"] = name
        time.tzset()


def _is_zone(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
