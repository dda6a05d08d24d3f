# SPDX-License-Identifier: Apache-2.0
"""A queue while it is being read: certain values, and references by name that are not yet resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from weir.formats.report import LineDraft
from weir.model.limits import (
    CONTROL_BUT_NEWLINE_OR_TAB,
    CONTROL_CHARACTER,
    MAX_COMMENT_CHARS,
    MAX_NAME_CHARS,
    MAX_TARGETS,
)
from weir.model.objects import Pair, TimeWindow, Total
from weir.model.prefix import Prefix, parse_prefix, split_domain, text_in_domain
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


@dataclass(slots=True)
class Draft:
    """`parent_name` and the queue types are names as the file gives them; `parent_id` wins where it is set.

    `wanted_id` is an id that the file
    chose; `stable_id` is one made from a key of the file that outlives a change of the name.
    `alternative_name` is used where another queue of the file has the name already; `unmatchable`
    says that the file's way to select traffic has no counterpart, so the queue must not match.
    `further_lines` are other lines that describe the same queue.
    """

    line: LineDraft
    name: str
    parent_name: str | None = None
    parent_id: str | None = None
    values: QueueValues = field(default_factory=lambda: QueueValues())
    wanted_id: str | None = None
    stable_id: str | None = None
    alternative_name: str | None = None
    position: int | None = None
    unmatchable: bool = False
    further_lines: list[LineDraft] = field(default_factory=list)


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
        line.note("changed", "repeated-target", "An address that the target names twice counts once.")
    if len(distinct) > MAX_TARGETS:
        left_off = len(distinct) - MAX_TARGETS
        line.note(
            "warning",
            "too-many-targets",
            f"A queue has at most {MAX_TARGETS} targets: the last {left_off} are left off.",
        )
    return distinct[:MAX_TARGETS]


def read_target(text: str, line: LineDraft) -> str:
    """A prefix, perhaps in a domain (`10.0.0.0/24@2`), as a queue's target has it. Raises `Invalid`."""
    domain, prefix_text = split_domain(text)
    prefix = read_prefix(prefix_text, line)
    target = text_in_domain(domain, prefix)
    if target != prefix.text and line.written(prefix.text):
        line.widen(target, text)
    return target


def read_prefix(text: str, line: LineDraft) -> Prefix:
    """A prefix; host bits are cleared and said to be. Raises `Invalid`."""
    try:
        return parse_prefix(text)
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
    return network
