# SPDX-License-Identifier: Apache-2.0
"""What an import found: the objects it would write, and the fate of every line of the input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weir.model.objects import Queue, QueueType
from weir.model.problem import Finding, Invalid

Fate = Literal["imported", "changed", "warning", "left-out"]
SEVERITY: dict[Fate, int] = {"imported": 0, "changed": 1, "warning": 2, "left-out": 3}

MAX_SOURCE_CHARS = 400
MAX_LINES_OF_REPORT = 500_000
"""Commands or rows: three times what a router of 131,071 classes can take in."""
MAX_REASONS = 12


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
    headings. Every other physical line is inside the span of at least one `Line`. `findings` are
    about a file as a whole.
    """

    format: str
    queues: tuple[Queue, ...]
    queue_types: tuple[QueueType, ...]
    lines: tuple[Line, ...]
    silent_lines: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def summary(self) -> dict[str, int]:
        """Commands by fate; the sum is the number of commands or rows in the input."""
        counts = {"imported": 0, "changed": 0, "warning": 0, "left_out": 0}
        for line in self.lines:
            counts[line.fate.replace("-", "_")] += line.commands
        return counts


@dataclass(slots=True)
class LineDraft:
    """A line while the import still finds things to say about it; the worst fate wins.

    `reasons` are in the order found, at most `MAX_REASONS`; the others are counted. `widened` leads from
    a prefix to how the file wrote it, where that had host bits.
    """

    number: int
    end: int
    source: str
    file: str
    fate: Fate = "imported"
    code: str = "ok"
    reasons: dict[str, None] = field(default_factory=dict)
    object_id: str | None = None
    commands: int = 1
    widened: dict[str, str] | None = None
    further_reasons: int = 0

    def __post_init__(self) -> None:
        self.source = shorten(self.source)

    def note(self, fate: Fate, code: str, reason: str) -> None:
        if self.code == "ok" or SEVERITY[fate] > SEVERITY[self.fate]:
            self.fate, self.code = fate, code
        if reason in self.reasons:
            return
        if len(self.reasons) < MAX_REASONS:
            self.reasons[reason] = None
        else:
            self.further_reasons += 1

    def widen(self, prefix: str, written: str) -> None:
        """`prefix` is what a text with host bits became."""
        self.widened = {**(self.widened or {}), prefix: written}

    def written(self, prefix: str) -> str | None:
        """The text that became `prefix`, where it had host bits."""
        return self.widened.get(prefix) if self.widened else None

    def finish(self) -> Line:
        object_id = None if self.fate == "left-out" else self.object_id
        reason = " ".join(self.reasons)
        if self.further_reasons:
            reason += f" And {self.further_reasons} more of this kind."
        return Line(
            self.number,
            self.end,
            self.source,
            self.fate,
            self.code,
            reason,
            object_id,
            self.file,
            self.commands,
        )


def add_line(lines: list[LineDraft], line: LineDraft) -> None:
    """Raises `Invalid` above `MAX_LINES_OF_REPORT`: each line of a report takes memory."""
    if len(lines) >= MAX_LINES_OF_REPORT:
        raise Invalid(
            f"The import has more than {MAX_LINES_OF_REPORT} commands or rows, more than a router can hold.",
            code="import-too-large",
        )
    lines.append(line)


def note_encoding(encoding: str, line: LineDraft, what: str = "The file") -> None:
    """Say on `line` when a text was not UTF-8."""
    if encoding != "utf-8":
        shown = encoding.replace("cp", "Windows-")
        line.note("changed", "encoding", f"{what} is not UTF-8: read as {shown}.")


def file_finding(code: str, message: str, name: str) -> Finding:
    """What is said of a file as a whole, before anything else of the report."""
    return Finding("warning", code, message, "file", name)


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
