# SPDX-License-Identifier: Apache-2.0
"""Queues at rest: one row of bytes each instead of a dozen objects (docs/adr/0035).

A router runs for months with the same 100,000 queues and looks at a handful per second. As objects they
take 620 bytes each, as rows 190 with their id; a row becomes a `Queue` in 5 us whenever it is asked for.
"""

from __future__ import annotations

import marshal
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, overload

from weir.model.objects import Queue
from weir.model.row_table import RowTable

T = TypeVar("T")
S = TypeVar("S")

_RECENT = 1024
"""Queues read lately are kept as objects: parents are asked for once per child."""
_SPARE_TARIFFS = 1000

_OWN_FIELDS = ("id", "name", "target", "parent", "position", "comment")
_SHARED_FIELDS = tuple(name for name in Queue.__slots__ if name not in _OWN_FIELDS)
_shared = attrgetter(*_SHARED_FIELDS)

Tariff = tuple[Any, ...]
"""What many queues have in common, kept once per distinct combination: the values of `_SHARED_FIELDS`."""


class QueueKit:
    """Queues as the tuples that rows are made of, and the tariffs that these tuples name by number."""

    __slots__ = ("_numbers", "tariffs")

    def __init__(self) -> None:
        self.tariffs: list[Tariff] = []
        self._numbers: dict[Tariff, int] = {}

    def values(self, queue: Queue) -> tuple[Any, ...]:
        """Everything but the id."""
        number = self.number(_shared(queue))
        return queue.name, queue.target, queue.parent, queue.position, queue.comment, number

    def number(self, tariff: Tariff) -> int:
        """The number of a tariff, which is kept from now on."""
        number = self._numbers.get(tariff)
        if number is None:
            number = self._numbers[tariff] = len(self.tariffs)
            self.tariffs.append(tariff)
        return number

    def queue(self, queue_id: str, values: tuple[Any, ...]) -> Queue:
        """The queue that `values` was made of."""
        name, target, parent, position, comment, number = values
        dst, *shared, disabled = self.tariffs[number]
        fields = (queue_id, name, target, dst, parent, position, *shared, comment, disabled)
        return Queue(*fields)

    def copy(self) -> QueueKit:
        twin = QueueKit()
        twin.tariffs, twin._numbers = list(self.tariffs), dict(self._numbers)
        return twin


class QueueTable(MutableMapping[str, Queue]):
    """Queues by id, in the order they came. They stay objects until `pack`; from then on all are rows."""

    __slots__ = ("_kit", "_most_tariffs", "_objects", "_recent", "_rows")

    def __init__(self, *, is_packed: bool = False) -> None:
        self._objects: dict[str, Queue] | None = None if is_packed else {}
        """None where all are rows."""
        self._rows = RowTable()
        self._kit = QueueKit()
        self._most_tariffs = _SPARE_TARIFFS
        self._recent: dict[str, Queue] = {}

    @property
    def is_packed(self) -> bool:
        return self._objects is None

    def __getitem__(self, queue_id: str) -> Queue:
        found: Queue | None = self.get(queue_id)
        if found is None:
            raise KeyError(queue_id)
        return found

    def get(self, queue_id: str, default: Any = None) -> Any:
        """As a dictionary's."""
        if self._objects is not None:
            return self._objects.get(queue_id, default)
        found = self._recent.get(queue_id)
        if found is not None:
            return found
        row = self._rows.get(queue_id)
        return default if row is None else self._read(queue_id, row)

    def name_of(self, queue_id: str) -> str | None:
        """The present name of a queue; None for one that is not there."""
        queue: Queue | None = self.get(queue_id)
        return None if queue is None else queue.name

    def __setitem__(self, queue_id: str, queue: Queue) -> None:
        if self._objects is not None:
            self._objects[queue_id] = queue
            return
        if self.tariffs > self._most_tariffs:
            self._forget_tariffs()
        self._rows[queue_id] = self._row(queue)
        self._recent.pop(queue_id, None)

    def append(self, queue: Queue) -> None:
        """A row of a queue that is not there yet. Nothing else is done with the table before `settle`."""
        self._rows.append(queue.id, self._row(queue))

    def settle(self) -> None:
        """Into the memory that takes least, after many changes or appended rows."""
        self._rows.settle()
        self._most_tariffs = max(self._most_tariffs, 2 * self.tariffs + _SPARE_TARIFFS)

    def __delitem__(self, queue_id: str) -> None:
        del (self._rows if self._objects is None else self._objects)[queue_id]
        self._recent.pop(queue_id, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows if self._objects is None else self._objects)

    def __len__(self) -> int:
        return len(self._rows if self._objects is None else self._objects)

    def __contains__(self, queue_id: object) -> bool:
        return queue_id in (self._rows if self._objects is None else self._objects)

    @property
    def tariffs(self) -> int:
        """How many distinct combinations are kept."""
        return len(self._kit.tariffs)

    def pack(self) -> None:
        """Make rows of all objects, now and from now on."""
        if self._objects is not None:
            for queue in self._objects.values():
                self.append(queue)
            self._objects = None
        self.settle()

    def copy(self) -> QueueTable:
        """A table of its own with the same queues."""
        twin = QueueTable()
        twin._objects = None if self._objects is None else dict(self._objects)
        twin._rows = self._rows.copy()
        twin._kit = self._kit.copy()
        twin._most_tariffs = self._most_tariffs
        return twin

    def _read(self, queue_id: str, row: bytes) -> Queue:
        found = self._kit.queue(queue_id, marshal.loads(row))
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[queue_id] = found
        return found

    def _row(self, queue: Queue) -> bytes:
        return marshal.dumps(self._kit.values(queue))

    def _forget_tariffs(self) -> None:
        """Keep those that some queue has: a billing system that turns rates up and down makes many."""
        before, self._kit = self._kit, QueueKit()
        numbers: dict[int, int] = {}

        def renumbered() -> Iterator[tuple[str, bytes]]:
            for queue_id, row in self._rows.items():
                *own, number = marshal.loads(row)
                if number not in numbers:
                    numbers[number] = self._kit.number(before.tariffs[number])
                yield queue_id, marshal.dumps((*own, numbers[number]))

        self._rows.lay_down(renumbered())
        self._most_tariffs = 2 * self.tariffs + _SPARE_TARIFFS


class LazyList(Sequence[T]):
    """A sequence whose values are made whenever they are looked at."""

    __slots__ = ()

    @abstractmethod
    def at(self, index: int) -> T:
        """The value at an index from 0 on."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        places = range(len(self))
        return (
            [self.at(place) for place in places[index]]
            if isinstance(index, slice)
            else self.at(places[index])
        )

    def __iter__(self) -> Iterator[T]:
        return map(self.at, range(len(self)))


class PackedList(LazyList[T]):
    """Values in one piece of memory; each is recreated whenever it is looked at.

    100,000 objects that come and go leave memory behind, because whatever outlives them lies between them.
    One piece goes back as a whole.
    """

    __slots__ = ("_ends", "_rows", "_unpack")

    def __init__(self, items: Iterable[S], pack: Callable[[S], Any], unpack: Callable[[Any], T]) -> None:
        """`pack` gives what `marshal` can write: text, numbers, None and tuples of them."""
        self._rows, self._ends, self._unpack = bytearray(), array("Q", (0,)), unpack
        for item in items:
            self._rows += marshal.dumps(pack(item))
            self._ends.append(len(self._rows))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def at(self, index: int) -> T:
        return self._unpack(self.values(index))

    def values(self, index: int) -> Any:
        """What `pack` gave for the value at an index."""
        return marshal.loads(memoryview(self._rows)[self._ends[index] : self._ends[index + 1]])


class PackedQueues(PackedList[Queue]):
    """Queues in one piece of memory, in the order they came."""

    __slots__ = ()

    def __init__(self, queues: Iterable[Queue]) -> None:
        kit = QueueKit()
        super().__init__(
            queues,
            lambda queue: (queue.id, *kit.values(queue)),
            lambda values: kit.queue(values[0], values[1:]),
        )


def row_of(values: Any) -> bytes:
    """What `marshal.loads` makes `values` of again.

    A copy: `marshal` writes into a kilobyte and cuts it, which leaves the row in the C heap and not among
    small objects of its size (39 against 34 MB for 100,000 queues).
    """
    return bytes(memoryview(marshal.dumps(values)))
