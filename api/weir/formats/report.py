# SPDX-License-Identifier: Apache-2.0
"""What an import found: the objects it would write, and the fate of every line of the input."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from weir.model.objects import ConfigObject, Queue, QueueType
from weir.model.packed import PackedList, row_of
from weir.model.problem import Finding, Invalid

Fate = Literal["imported", "changed", "warning", "left-out"]
SEVERITY: dict[Fate, int] = {"imported": 0, "changed": 1, "warning": 2, "left-out": 3}

MAX_SOURCE_CHARS = 400
MAX_LINES_OF_REPORT = 500_000
"""Commands or rows: for a report of 262,143 queues, and as many lines besides that make none."""
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
    """Objects with their final ids, and lines in the order of the input; both packed (docs/adr/0123).

    `silent_lines` counts the physical lines that carry no command: blank ones, comments, section
    headings. Every other physical line is inside the span of at least one `Line`. `findings` are
    about a file as a whole. `others` are objects of all other kinds.
    """

    format: str
    queues: Sequence[Queue]
    queue_types: tuple[QueueType, ...]
    lines: PackedLines
    silent_lines: int = 0
    findings: tuple[Finding, ...] = ()
    others: tuple[ConfigObject, ...] = ()

    @property
    def summary(self) -> dict[str, int]:
        """Commands by fate; the sum is the number of commands or rows in the input."""
        return self.lines.summary


@dataclass(slots=True)
class _Said:
    """What is known of a line. `reasons` are in the order found, the others are counted."""

    number: int
    end: int
    source: str
    file: str
    fate: Fate = "imported"
    code: str = "ok"
    reasons: tuple[str, ...] = ()
    further_reasons: int = 0
    commands: int = 1


_said_values = attrgetter(*_Said.__slots__)
_NOTHING_SAID = _said_values(_Said(0, 0, "", ""))[4:]


def _row(said: _Said) -> bytes:
    """What `_Said` is made of again; of most lines nothing is said."""
    values = _said_values(said)
    return row_of(values[:4] if values[4:] == _NOTHING_SAID else values)


class LineDraft:
    """A line while the import still finds things to say about it; the worst fate wins.

    A file has hundreds of thousands of them: `fold` packs what is known, and more can be said all the same.
    At most `MAX_REASONS` reasons are kept. `widened` leads from a prefix to how the file wrote it, where that
    had host bits.
    """

    __slots__ = ("_open", "_row", "object_id", "widened")

    def __init__(self, number: int, end: int, source: str, file: str) -> None:
        self._open: _Said | None = _Said(number, end, shorten(source), file)
        self._row = b""
        self.object_id: str | None = None
        self.widened: dict[str, str] | None = None

    def fold(self) -> None:
        """Take as little memory as possible from now on."""
        if self._open is not None:
            self._row = _row(self._open)
            self._open = None

    def _said(self) -> _Said:
        return self._open if self._open is not None else _Said(*marshal.loads(self._row))

    @property
    def number(self) -> int:
        return self._said().number

    @property
    def end(self) -> int:
        return self._said().end

    @property
    def source(self) -> str:
        return self._said().source

    @property
    def file(self) -> str:
        return self._said().file

    @property
    def fate(self) -> Fate:
        return self._said().fate

    def note(self, fate: Fate, code: str, reason: str) -> None:
        said = self._said()
        if said.code == "ok" or SEVERITY[fate] > SEVERITY[said.fate]:
            said.fate, said.code = fate, code
        if reason not in said.reasons:
            if len(said.reasons) < MAX_REASONS:
                said.reasons = (*said.reasons, reason)
            else:
                said.further_reasons += 1
        self._changed(said)

    def take_in(self, other: LineDraft) -> None:
        """One more command, which shares this entry."""
        said = self._said()
        said.end, said.commands = max(said.end, other.end), said.commands + 1
        self._changed(said)

    def _changed(self, said: _Said) -> None:
        if self._open is None:
            self._row = _row(said)

    def widen(self, prefix: str, written: str) -> None:
        """`prefix` is what a text with host bits became."""
        self.widened = {**(self.widened or {}), prefix: written}

    def written(self, prefix: str) -> str | None:
        """The text that became `prefix`, where it had host bits."""
        return self.widened.get(prefix) if self.widened else None

    def finish(self) -> tuple[Any, ...]:
        """The values of its `Line`."""
        said = self._said()
        object_id = None if said.fate == "left-out" else self.object_id
        reason = " ".join(said.reasons)
        if said.further_reasons:
            reason += f" And {said.further_reasons} more of this kind."
        return (
            said.number,
            said.end,
            said.source,
            said.fate,
            said.code,
            reason,
            object_id,
            said.file,
            said.commands,
        )


class PackedLines(PackedList[Line]):
    """The lines as a report holds them; `summary` has their commands by fate."""

    __slots__ = ("summary",)

    def __init__(self, lines: list[LineDraft]) -> None:
        """`lines` is empty afterwards, as there is no room for both."""
        self.summary = {"imported": 0, "changed": 0, "warning": 0, "left_out": 0}
        lines.reverse()
        super().__init__(self._finished(lines), tuple, lambda values: Line(*values))

    def _finished(self, lines: list[LineDraft]) -> Iterator[tuple[Any, ...]]:
        while lines:
            values = lines.pop().finish()
            self.summary[values[_FATE].replace("-", "_")] += values[_COMMANDS]
            yield values


_FATE, _COMMANDS = map(Line.__slots__.index, ("fate", "commands"))


def add_line(lines: list[LineDraft], line: LineDraft) -> None:
    """Raises `Invalid` above `MAX_LINES_OF_REPORT`: each line of a report takes memory.

    The line before is folded: a reader looks at one line at a time.
    """
    if len(lines) >= MAX_LINES_OF_REPORT:
        raise Invalid(
            f"The import has more than {MAX_LINES_OF_REPORT} commands or rows, more than a router can hold.",
            code="import-too-large",
        )
    if lines:
        lines[-1].fold()
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
