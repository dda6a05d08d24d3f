# SPDX-License-Identifier: Apache-2.0
"""The time zone: a link that `/etc/localtime` of the read-only system leads to."""

from __future__ import annotations

import re
import time
from pathlib import Path

from weir.model.problem import Invalid, Unavailable, Unsupported

LINK = Path("/data/zone/localtime")
ZONES = Path("/usr/share/zoneinfo")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}")
_MAGIC = b"TZif"


class TimeZone:
    """`link` is what `/etc/localtime` leads to; its folder exists only on the appliance."""

    def __init__(self, link: Path = LINK, zones: Path = ZONES) -> None:
        self._link = link
        self._zones = zones

    def name(self) -> str:
        """The zone in force, `UTC` when none was chosen."""
        try:
            target = self._link.readlink()
        except OSError:
            return "UTC"
        return str(target.relative_to(self._zones)) if target.is_relative_to(self._zones) else "UTC"

    def choose(self, name: object) -> None:
        """From now on local time is that of `name`. Raises `Invalid`, `Unsupported`, `Unavailable`."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not _is_zone(self._zones / name):
            raise Invalid(
                f"there is no time zone {str(name)[:64]!r}; give a name such as Europe/Berlin",
                code="unknown-time-zone",
                path="time_zone",
            )
        if not self._link.parent.is_dir():
            raise Unsupported("this system's time zone is not Weir's to set", code="no-image")
        new = self._link.with_name(f"{self._link.name}.new")
        try:
            new.unlink(missing_ok=True)
            new.symlink_to(self._zones / name)
            new.replace(self._link)
        except OSError as error:
            raise Unavailable(
                f"the time zone cannot be stored: {error.strerror}", code="disk-full"
            ) from error
        time.tzset()


def _is_zone(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
