# SPDX-License-Identifier: Apache-2.0
"""A capture by a rig's agent while a test sends packets."""

from __future__ import annotations

import os
from collections.abc import Callable
from socket import inet_ntoa
from typing import Any

from tests.agent.rig import Rig
from tests.pcapng_file import Seen, seen

_FIRST_BYTES = 4096
Sent = tuple[int, str, str, str]
"""Way, comment, source and destination of a packet."""


def captured(rig: Rig, sends: Callable[[], object], **asked: Any) -> tuple[str, Seen]:
    """What the tool said of itself, and the file, which has begun before anything is sent."""
    answer, (output,) = rig.agent.call_for_fds(
        "tool_start", {"tool": "capture", "arguments": asked, "by": "admin"}
    )
    with os.fdopen(output, "rb") as file:
        first = os.read(output, _FIRST_BYTES)
        sends()
        return answer["note"], seen(first + file.read())


def by_addresses(found: Seen) -> set[Sent]:
    """Of IPv4 in Ethernet."""
    return {
        (way, comment, inet_ntoa(data[26:30]), inet_ntoa(data[30:34]))
        for way, comment, data, _ in found.packets
        if data[12:14] == b"\x08\x00"
    }
