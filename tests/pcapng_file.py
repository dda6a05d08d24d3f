# SPDX-License-Identifier: Apache-2.0
"""What is in a pcapng file, read without our own words for it (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Seen(NamedTuple):
    """What an independent look into a file finds: its comments, packets as (way, comment, bytes, time), and
    (received, dropped)."""

    comment: str
    packets: list[tuple[int, str, bytes, int]]
    statistics: tuple[int, int]


def seen(data: bytes) -> Seen:
    comment, packets, statistics = "", [], (-1, -1)
    while data:
        kind, length = struct.unpack_from("=II", data)
        body, data = data[8 : length - 4], data[length:]
        if kind == 0x0A0D0D0A:
            comment = options(body[16:])[1].decode()
        elif kind == 6:
            high, low, kept = struct.unpack_from("=III", body, 4)
            given = options(body[20 + kept + -kept % 4 :])
            way = struct.unpack("=I", given[2])[0]
            packets.append((way, given.get(1, b"").decode(), body[20 : 20 + kept], high << 32 | low))
        elif kind == 5:
            given = options(body[12:])
            statistics = tuple(struct.unpack("=Q", given[code])[0] for code in (4, 5))  # type: ignore[assignment]
    return Seen(comment, packets, statistics)


def options(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while code := struct.unpack_from("=H", data)[0]:
        length = struct.unpack_from("=H", data, 2)[0]
        found[code], data = data[4 : 4 + length], data[4 + length + -length % 4 :]
    return found
