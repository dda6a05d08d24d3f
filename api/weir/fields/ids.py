# SPDX-License-Identifier: Apache-2.0
"""What the id of an object may look like; a reference to it looks the same."""

from __future__ import annotations

import re
from dataclasses import dataclass

from weir.model import limits


@dataclass(frozen=True, slots=True)
class IdForm:
    """`wanted` continues "id must be ...". With `assigned` the router makes ids: that letter and a number."""

    pattern: re.Pattern[str]
    max_chars: int
    wanted: str
    assigned: str = ""


OBJECT_IDS = IdForm(
    limits.OBJECT_ID,
    63,
    "1 to 63 characters of a-z, 0-9, '_', '.' or '-', the first a letter or digit",
)
INTERFACE_NAMES = IdForm(
    limits.INTERFACE_ID, 15, "an interface name: up to 15 letters, digits, '_', '.' or '-'"
)
TYPE_NAMES = IdForm(
    limits.QUEUE_TYPE_ID,
    63,
    "a queue type's name: up to 63 letters, digits, blanks, '_', '.' or '-'",
)
