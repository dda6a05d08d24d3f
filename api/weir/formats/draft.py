# SPDX-License-Identifier: Apache-2.0
"""A queue while it is being read: certain values, and references by name that are not yet resolved."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from functools import lru_cache
from sys import intern
from typing import Any, Generic, TypedDict, TypeVar, cast

from weir.formats.report import LineDraft
from weir.model.limits import (
    CONTROL_BUT_NEWLINE_OR_TAB,
    CONTROL_CHARACTER,
    MAX_COMMENT_CHARS,
    MAX_NAME_CHARS,
    MAX_TARGETS,
)
from weir.model.objects import Pair, TimeWindow, Total
from weir.model.packed import row_of
from weir.model.prefix import Prefix, canonical_prefix, parse_prefix, split_domain
from weir.model.problem import Invalid


class QueueValues(TypedDict, total=False):
    """The fields of a `Queue` that need no other object."""

    target: tuple[str, ...]
    dst: str | None
    max_limit_bps: Pair[int]
    limit_at_bps: Pair[int]
    burst_limit_bps: Pair[int]
    burst_threshold_bps: Pair[int]
    burst_time_ms: Pair[int]
    priority: Pair[int]
    queue_type: Pair[str]
    bucket_size_ms: Pair[int]
    time: TimeWindow | None
    total: Total
    comment: str
    disabled: bool


_SHARED = tuple(name for name in QueueValues.__annotations__ if name not in ("target", "comment"))
_ABSENT = object()


@lru_cache(maxsize=4096)
def _tariff(values: tuple[object, ...]) -> tuple[object, ...]:
    """One object for all queues of the same values."""
    return values


T = TypeVar("T")


class _Own(Generic[T]):
    """A field of a draft that is part of its row while it is folded."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, draft: Draft, _owner: object) -> T:
        found: T = draft._known()[self._place]
        return found

    def __set__(self, draft: Draft, value: T) -> None:
        known = list(draft._known())
        known[self._place] = value
        draft._own = row_of(tuple(known)) if draft._open is None else known


class Draft:
    """`parent_name` and the queue types are names as the file gives them; the name is an id if
    `parent_is_id`.

    `wanted_id` is an id that the file chose; `key` is the file's own key of the queue, which outlives a
    change of its name and is added to a name that another queue has already. `unmatchable` says that the
    file's way to select traffic has no counterpart, so the queue must not match. `further_lines` are other
    lines that describe the same queue.

    A file has hundreds of thousands of them: `fold` packs what is known, and looking at `values` unfolds it.
    """

    __slots__ = ("_open", "_own", "_shared", "further_lines", "line", "parent_is_id", "parent_name")

    name = _Own[str](0)
    key = _Own["str | None"](1)
    wanted_id = _Own["str | None"](2)
    position = _Own["int | None"](3)
    unmatchable = _Own[bool](4)

    def __init__(self, line: LineDraft, name: str, parent_name: str | None = None) -> None:
        self.line, self.parent_name, self.parent_is_id = line, parent_name, False
        self.further_lines: list[LineDraft] | None = None
        self._open: QueueValues | None = QueueValues()
        self._own: list[Any] | bytes = [name, None, None, None, False]
        self._shared: tuple[object, ...] = ()

    def _known(self) -> Sequence[Any]:
        """The fields that are the draft's own; of a folded one also its target and comment."""
        own = self._own
        found: Sequence[Any] = marshal.loads(own) if isinstance(own, bytes) else own
        return found

    @property
    def identity(self) -> tuple[str, str | None, str | None]:
        """Name, key and wanted id, for who asks for several: a folded draft is unfolded once."""
        name, key, wanted_id, *_ = self._known()
        return name, key, wanted_id

    @property
    def values(self) -> QueueValues:
        if self._open is None:
            *self._own, target, comment = self._known()
            pairs = zip(_SHARED, self._shared, strict=True)
            found = {name: value for name, value in pairs if value is not _ABSENT}
            if target is not None:
                found["target"] = target
            if comment is not None:
                found["comment"] = comment
            self._open = cast("QueueValues", found)
        return self._open

    @values.setter
    def values(self, values: QueueValues) -> None:
        self._open = values

    @property
    def target(self) -> tuple[str, ...]:
        """Of the values, which stay folded."""
        found: tuple[str, ...] | None = self._known()[-2] if self._open is None else self._open.get("target")
        return found or ()

    def fold(self) -> None:
        """Take as little memory as possible until the values are looked at again."""
        found = self._open
        if found is None:
            return
        self._shared = _tariff(tuple([found.get(name, _ABSENT) for name in _SHARED]))
        self._own = row_of((*self._known(), found.get("target"), found.get("comment")))
        self._open = None
        if self.parent_name is not None:
            self.parent_name = intern(self.parent_name)

    def add_line(self, line: LineDraft) -> None:
        """One more line that describes this queue."""
        if self.further_lines is None:
            self.further_lines = []
        self.further_lines.append(line)

    @property
    def lines(self) -> list[LineDraft]:
        """Every line that describes this queue."""
        return [self.line, *(self.further_lines or ())]


def clean_name(text: str, line: LineDraft) -> str:
    """A name without control characters, of at most `MAX_NAME_CHARS`; blanks at the ends stay."""
    name = text if text.isprintable() else CONTROL_CHARACTER.sub(" ", text)
    if name != text:
        line.note("changed", "control-characters", "Control characters in the name became blanks.")
    if len(name) > MAX_NAME_CHARS:
        name = name[:MAX_NAME_CHARS]
        line.note("changed", "name-cut", f"The name was cut to {MAX_NAME_CHARS} characters.")
    return name


def clean_comment(text: str, line: LineDraft) -> str:
    """A comment as the model allows it: line ends and tabs stay, other control characters become blanks."""
    comment = text.replace("\r\n", "\n")
    if not comment.isprintable():
        comment = CONTROL_BUT_NEWLINE_OR_TAB.sub(" ", comment)
    if comment != text:
        line.note("changed", "control-characters", "Control characters in the comment became blanks.")
    if len(comment) > MAX_COMMENT_CHARS:
        comment = comment[:MAX_COMMENT_CHARS]
        line.note("changed", "comment-cut", f"The comment was cut to {MAX_COMMENT_CHARS} characters.")
    return comment


def distinct_targets(targets: list[str], line: LineDraft) -> tuple[str, ...]:
    """Targets without repetition, at most `MAX_TARGETS`."""
    distinct = tuple(dict.fromkeys(targets))
    if len(distinct) < len(targets):
        note_repeated(line)
    if len(distinct) > MAX_TARGETS:
        left_off = len(distinct) - MAX_TARGETS
        line.note(
            "warning",
            "too-many-targets",
            f"A queue has at most {MAX_TARGETS} targets: the last {left_off} are left off.",
        )
    return distinct[:MAX_TARGETS]


def note_repeated(line: LineDraft) -> None:
    line.note("changed", "repeated-target", "An address that the target names twice counts once.")


def read_target(text: str, line: LineDraft) -> str:
    """A prefix, perhaps in a domain (`10.0.0.0/24@2`), as a queue's target has it. Raises `Invalid`."""
    domain, prefix_text = split_domain(text)
    prefix = read_prefix(prefix_text, line)
    if not domain:
        return prefix
    target = f"{prefix}@{domain}"
    if line.written(prefix):
        line.widen(target, text)
    return target


def read_prefix(text: str, line: LineDraft) -> str:
    """A prefix, canonical; host bits are cleared and said to be. Raises `Invalid`."""
    try:
        return canonical_prefix(text)
    except Invalid as problem:
        if problem.code != "host-bits-set":
            raise
    address, _, length_text = text.partition("/")
    host = parse_prefix(address)
    length = int(length_text)
    width = host.length
    network = Prefix(host.family, host.value >> (width - length) << (width - length), length)
    line.note("changed", "host-bits", f"{text} has host bits set; it means {network.text}.")
    line.widen(network.text, text)
    return network.text
