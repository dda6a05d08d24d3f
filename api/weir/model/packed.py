# SPDX-License-Identifier: Apache-2.0
"""Queues at rest: one row of bytes each instead of a dozen objects (docs/adr/0035).

A router runs for months with the same 100,000 queues and looks at a handful per second. As objects they
take 620 bytes each, as rows 190 with their id; a row becomes a `Queue` in 5 us whenever it is asked for.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, MutableMapping
from operator import attrgetter
from typing import Any

from weir.model.objects import Queue

_RECENT = 1024
"""Queues read lately are kept as objects: parents are asked for once per child."""
_SPARE_TARIFFS = 1000

_OWN_FIELDS = ("id", "name", "target", "parent", "position", "comment")
_SHARED_FIELDS = tuple(name for name in Queue.__slots__ if name not in _OWN_FIELDS)
_shared = attrgetter(*_SHARED_FIELDS)

Tariff = tuple[Any, ...]
"""What many queues have in common, kept once per distinct combination: the values of `_SHARED_FIELDS`."""


class QueueTable(MutableMapping[str, Queue]):
    """Queues by id, in the order they came. They stay objects until `pack`; from then on all are rows."""

    __slots__ = ("_most_tariffs", "_numbers", "_recent", "_rows", "_tariffs", "is_packed")

    def __init__(self, *, is_packed: bool = False) -> None:
        self.is_packed = is_packed
        self._rows: dict[str, bytes | Queue] = {}
        self._tariffs: list[Tariff] = []
        self._numbers: dict[Tariff, int] = {}
        self._most_tariffs = _SPARE_TARIFFS
        self._recent: dict[str, Queue] = {}

    def __getitem__(self, queue_id: str) -> Queue:
        row = self._rows[queue_id]
        return row if isinstance(row, Queue) else self._read(queue_id, row)

    def get(self, queue_id: str, default: Any = None) -> Any:
        """As a dictionary's."""
        row = self._rows.get(queue_id)
        if row is None:
            return default
        return row if isinstance(row, Queue) else self._read(queue_id, row)

    def __setitem__(self, queue_id: str, queue: Queue) -> None:
        if self.is_packed:
            if len(self._tariffs) > self._most_tariffs:
                self._forget_tariffs()
            self._rows[queue_id] = self._row(queue)
            self._recent.pop(queue_id, None)
        else:
            self._rows[queue_id] = queue

    def __delitem__(self, queue_id: str) -> None:
        del self._rows[queue_id]
        self._recent.pop(queue_id, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, queue_id: object) -> bool:
        return queue_id in self._rows

    @property
    def tariffs(self) -> int:
        """How many distinct combinations are kept."""
        return len(self._tariffs)

    def pack(self) -> None:
        """Make rows of all objects, now and from now on."""
        for queue_id, row in self._rows.items():
            if isinstance(row, Queue):
                self._rows[queue_id] = self._row(row)
        self.is_packed = True
        self._forget_tariffs()

    def copy(self) -> QueueTable:
        """A table of its own with the same queues."""
        twin = QueueTable(is_packed=self.is_packed)
        twin._rows = dict(self._rows)
        twin._tariffs = list(self._tariffs)
        twin._numbers = dict(self._numbers)
        twin._most_tariffs = self._most_tariffs
        return twin

    def _row(self, queue: Queue) -> bytes:
        number = self._number(_shared(queue))
        own = (queue.name, queue.target, queue.parent, queue.position, queue.comment, number)
        return _of_its_size(marshal.dumps(own))

    def _number(self, tariff: Tariff) -> int:
        number = self._numbers.get(tariff)
        if number is None:
            number = self._numbers[tariff] = len(self._tariffs)
            self._tariffs.append(tariff)
        return number

    def _forget_tariffs(self) -> None:
        """Keep those that some queue has: a billing system that turns rates up and down makes many."""
        before, self._tariffs, self._numbers = self._tariffs, [], {}
        numbers: dict[int, int] = {}
        for queue_id, row in self._rows.items():
            if isinstance(row, Queue):
                continue
            *own, number = marshal.loads(row)
            if number not in numbers:
                numbers[number] = self._number(before[number])
            if numbers[number] != number:
                self._rows[queue_id] = _of_its_size(marshal.dumps((*own, numbers[number])))
        self._most_tariffs = 2 * len(self._tariffs) + _SPARE_TARIFFS

    def _read(self, queue_id: str, row: bytes) -> Queue:
        found = self._recent.get(queue_id)
        if found is None:
            name, target, parent, position, comment, number = marshal.loads(row)
            shared = dict(zip(_SHARED_FIELDS, self._tariffs[number], strict=True))
            found = Queue(queue_id, name, target, parent=parent, position=position, comment=comment, **shared)
            if len(self._recent) >= _RECENT:
                self._recent.clear()
            self._recent[queue_id] = found
        return found


def _of_its_size(row: bytes) -> bytes:
    """A copy: `marshal` writes into a kilobyte and cuts it, which leaves the row in the C heap and not among
    small objects of its size (39 against 34 MB for 100,000 queues)."""
    return bytes(memoryview(row))
