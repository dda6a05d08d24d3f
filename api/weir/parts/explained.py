# SPDX-License-Identifier: Apache-2.0
"""One object in the system: what it was compiled to, what the system has, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Line(NamedTuple):
    """One aspect, as text for people.

    `field` is the field of the object that it is about, or what the aspect is called. `system` was read just
    now. `agrees` None: it could not be read, and `system` says why.
    """

    field: str
    compiled: str
    system: str
    agrees: bool | None


def unread(compiled: str, reason: str) -> Line:
    """What nobody could look at."""
    return Line("", compiled, f"cannot be read: {reason}", None)


def agreement(lines: Iterable[Line]) -> bool | None:
    """False when one differs, None when nothing was read or not all of it could be."""
    found = [line.agrees for line in lines]
    if False in found:
        return False
    return True if found and None not in found else None
