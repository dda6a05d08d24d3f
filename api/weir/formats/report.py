# SPDX-License-Identifier: Apache-2.0
"""What an import found: the objects it would write, and the fate of every line of the input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weir.model.objects import Queue, QueueType

Fate = Literal["imported", "changed", "warning", "left-out"]
SEVERITY: dict[Fate, int] = {"imported": 0, "changed": 1, "warning": 2, "left-out": 3}

MAX_SOURCE_CHARS = 400


@dataclass(frozen=True, slots=True)
class Line:
    """The fate of one command or row, which spans the physical lines `number` to `end` of `file`.

    `commands` is above 1 where a run of commands that have nothing to do with queues shares one
    entry. `source` is the text as written, cut to `MAX_SOURCE_CHARS`; where the text may hold a
    secret it is only the section's path.
    """

    number: int
    end: int
    source: str
    fate: Fate
    code: str
    reason: str
    object_id: str | None
    file: str
    commands: int = 1


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Objects with their final ids, and lines in the order of the input.

    `silent_lines` counts the physical lines that carry no command: blank ones, comments, section
    headings. Every other physical line is inside the span of at least one `Line`.
    """

    format: str
    queues: tuple[Queue, ...]
    queue_types: tuple[QueueType, ...]
    lines: tuple[Line, ...]
    silent_lines: int = 0

    @property
    def summary(self) -> dict[str, int]:
        """Commands by fate; the sum is the number of commands or rows in the input."""
        counts = {"imported": 0, "changed": 0, "warning": 0, "left_out": 0}
        for line in self.lines:
            counts[line.fate.replace("-", "_")] += line.commands
        return counts


@dataclass(slots=True)
class LineDraft:
    """A line while the import still finds things to say about it; the worst fate wins."""

    number: int
    end: int
    source: str
    file: str
    fate: Fate = "imported"
    code: str = "ok"
    reasons: list[str] = field(default_factory=list)
    object_id: str | None = None
    commands: int = 1

    def note(self, fate: Fate, code: str, reason: str) -> None:
        if self.code == "ok" or SEVERITY[fate] > SEVERITY[self.fate]:
            self.fate, self.code = fate, code
        if reason not in self.reasons:
            self.reasons.append(reason)

    def finish(self) -> Line:
        object_id = None if self.fate == "left-out" else self.object_id
        reason = " ".join(self.reasons)
        return Line(
            self.number,
            self.end,
            shorten(self.source),
            self.fate,
            self.code,
            reason,
            object_id,
            self.file,
            self.commands,
        )


_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), " ")


def shorten(text: str, limit: int = MAX_SOURCE_CHARS) -> str:
    """`text` on one line without control characters, cut to `limit`; the number left off is added."""
    head = text[:limit]
    if not head.isprintable():
        head = head.translate(_CONTROL)
    return head if len(text) <= limit else f"{head}… ({len(text) - limit} more characters)"


def quoted(text: str, limit: int = 60) -> str:
    """A value inside a sentence."""
    return f"“{shorten(text, limit)}”"
