# SPDX-License-Identifier: Apache-2.0
"""Whose memory it is that a packet touches: a table of what one configuration touches beyond another.

    python -m bench.touched_where edt-100k mq-fq-100k [FOLDER]

By function: what each was the first to touch in a packet. What one path touches early another may touch
late, so single rows may be below zero; the sum is what counts. Then each place in memory that our programs
were first at.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from bench import touched
from bench.touched import Seen, Touches
from bench.touched_rows import FOLDER, Symbols

LEAST = 0.05
"""Lines or pages of a packet below which nothing is shown."""
NOTHING = Touches(0, 0, 0, 0, 0, 0)


def by_function(seen: Seen, symbols: Symbols) -> dict[str, Touches]:
    found: defaultdict[str, Touches] = defaultdict(lambda: NOTHING)
    for origin in seen.origins:
        name = symbols.name(origin.address)
        found[name] -= NOTHING - origin.touches
    return found


def shown(touches: Touches) -> str:
    return " ".join(f"{value:6.2f}" for value in astuple(touches))


def functions(seen: Seen, than: Seen, symbols: Symbols) -> Iterator[str]:
    first, second = by_function(seen, symbols), by_function(than, symbols)
    names = sorted({*first, *second}, key=lambda name: second.get(name, NOTHING).lines - first[name].lines)
    for name in names:
        more = first.get(name, NOTHING) - second.get(name, NOTHING)
        if any(abs(value) > LEAST for value in astuple(more)):
            yield f"{shown(more)}  {name}"


def places(seen: Seen, symbols: Symbols, folder: Path) -> Iterator[str]:
    text = (folder / "vmallocinfo").read_text()
    areas = [
        (int(first, 16), int(last, 16), who)
        for first, last, who in re.findall(r"^0x([0-9a-f]+)-0x([0-9a-f]+)\s+\d+ (\S+)\+", text, re.MULTILINE)
    ]
    for origin in sorted(seen.origins, key=lambda origin: origin.address):
        name = symbols.name(origin.address)
        if not name.startswith("weir_") or origin.touches.lines < LEAST:
            continue
        where = "directly mapped, or the kernel's own"
        for first, last, who in areas:
            if first <= origin.lowest < last:
                begin, end = origin.lowest - first, origin.highest - first
                where = f"{who}, {last - first:,} bytes: {begin:#x} to {end:#x}"
        yield f"{shown(origin.touches)}  {name}: {where}"


def main() -> None:
    name, than = sys.argv[1:3]
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else FOLDER
    symbols = Symbols(folder)
    seen, other = (touched.read(folder / f"touched-{one}") for one in (name, than))
    print(" lines  pages   near (64)    far (1,024)")
    print(shown(seen.touches - other.touches), " in all")
    for line in (*functions(seen, other, symbols), "", *places(seen, symbols, folder)):
        print(line)


if __name__ == "__main__":
    main()
