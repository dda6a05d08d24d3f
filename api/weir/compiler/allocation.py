# SPDX-License-Identifier: Apache-2.0
"""Which queue has which slot in the kernel's class table.

A queue keeps its slot for life, so that a change of one disturbs no other. A freed slot goes to the back
of the line: its counters can still be read, and a packet on its way cannot land in a stranger's class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set

from weir.compiler.types import class_key
from weir.model.problem import Unsupported

DEFAULT_CAPACITY = 131_072
"""Slots including slot 0, which stays empty. The datapath's own default."""


class SlotAllocation:
    """Free slots, and those found in the kernel at start that still wait for their queue."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY, recovered: Mapping[int, int] | None = None) -> None:
        """`recovered`: slot -> class key, as read back from the kernel; `capacity` counts slot 0."""
        self.capacity = capacity
        self._slot_by_key = {key: slot for slot, key in (recovered or {}).items() if 0 < slot < capacity}
        taken = set(self._slot_by_key.values())
        self._next = max(taken, default=0) + 1
        self._freed = deque(slot for slot in range(1, self._next) if slot not in taken)

    def copy(self) -> SlotAllocation:
        twin = SlotAllocation(self.capacity)
        twin._slot_by_key = dict(self._slot_by_key)
        twin._next = self._next
        twin._freed = self._freed.copy()
        return twin

    def draft(self) -> SlotDraft:
        return SlotDraft(self.capacity, self._slot_by_key, self._next, self._freed)

    def accept(self, draft: SlotDraft) -> None:
        """Make a draft the truth. Slots recovered from the kernel that no queue asked for become free."""
        for _ in range(draft.reused):
            self._freed.popleft()
        if draft.reclaimed:
            self._freed = deque(slot for slot in self._freed if slot not in draft.reclaimed)
        self._freed.extend(sorted(draft.slot_by_key.values()))
        self._freed.extend(draft.released)
        self._slot_by_key = {}
        self._next = draft.next_unused


class SlotDraft:
    """Slots taken and released by one plan; nothing holds until `SlotAllocation.accept`."""

    def __init__(
        self, capacity: int, slot_by_key: dict[int, int], next_unused: int, freed: deque[int]
    ) -> None:
        self._capacity = capacity
        self.slot_by_key = dict(slot_by_key)
        self.next_unused = next_unused
        self._freed = freed
        self._begun = (next_unused, len(slot_by_key))
        self.reused = 0
        self.released: deque[int] = deque()
        self.reclaimed: Set[int] = frozenset()
        """Free slots that go back to the queues that had them last."""

    @property
    def is_used(self) -> bool:
        """Whether a slot was taken or released."""
        return bool(self.reused or self.released) or self._begun != (self.next_unused, len(self.slot_by_key))

    def take(self, queue_id: str) -> int:
        """A slot for a queue that has none. Raises `Unsupported` when the table is full."""
        if self.slot_by_key:
            recovered = self.slot_by_key.pop(class_key(queue_id), None)
            if recovered is not None:
                return recovered
        if self.next_unused < self._capacity:
            self.next_unused += 1
            return self.next_unused - 1
        if self.reused < len(self._freed):
            self.reused += 1
            return self._freed[self.reused - 1]
        if self.slot_by_key:
            return self.slot_by_key.popitem()[1]
        if self.released:
            return self.released.popleft()
        raise Unsupported(
            f"this router's class table holds {self._capacity - 1} queues and is full", code="too-many-queues"
        )

    def release(self, slot: int) -> None:
        self.released.append(slot)
