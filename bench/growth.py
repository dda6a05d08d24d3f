# SPDX-License-Identifier: Apache-2.0
"""What the store grows to when each of 100,000 queues is changed every night (docs/adr/0026).

Each night is one commit; between nights the log is emptied, as it is beside single changes. The size is that
of all its files, the log included, sampled while a night is written. It is measured until three nights
in a row add nothing: history is bounded in bytes then, and a hundred nights are as large.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.rows import Row
from tests.store.objects import commit, new_store, queue
from weir.model.document import Change
from weir.model.objects import Queue

QUEUES = 100_000
MOST_NIGHTS = 40
LEVEL_NIGHTS = 3
SAMPLE_S = 0.05


def night(number: int) -> Iterator[Queue]:
    """The queues as they are after that night."""
    for count in range(QUEUES):
        address = f"10.{count >> 16}.{count >> 8 & 255}.{count & 255}/32"
        yield queue(f"q{count}", target=(address,), comment=f"night {number}")


@contextmanager
def largest(folder: Path) -> Iterator[list[int]]:
    """The largest size of a folder's files in bytes while the context lasts, as the one element."""
    found, over = [0], threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLE_S):
            found[0] = max(found[0], size_of(folder))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found[0] = max(found[0], size_of(folder))


def size_of(folder: Path) -> int:
    """Bytes of its files; one that has gone meanwhile is none."""
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="weir-growth-") as name:
        folder = Path(name)
        peaks = nights(folder)
    what = f"{QUEUES:,} queues changed every night, until {LEVEL_NIGHTS} of {len(peaks)} nights add nothing"
    sizes = f"{what}: all files of the store, log included, at most"
    return [Row.of("store-growth", sizes, "MB", [max(peaks) / 1e6])]


def nights(folder: Path) -> list[int]:
    """The most bytes of all files in each night."""
    store, olds = new_store(folder), list[Queue | None]([None] * QUEUES)
    peaks, files = list[int](), list[int]()
    try:
        while len(peaks) < MOST_NIGHTS and not is_level(files):
            news = list(night(len(peaks)))
            pairs = zip(olds, news, strict=True)
            with largest(folder) as peak:
                commit(store, [Change("queue", new.id, old, new) for old, new in pairs])
            peaks.append(peak[0])
            files.append((folder / "weir.db").stat().st_size)
            olds = list(news)
    finally:
        store.close()
    return peaks


def is_level(sizes: list[int]) -> bool:
    """Whether the last nights added nothing to what was there before them."""
    before, last = sizes[:-LEVEL_NIGHTS], sizes[-LEVEL_NIGHTS:]
    return bool(before) and max(last) <= max(before)
