# SPDX-License-Identifier: Apache-2.0
"""What to commit, and how."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weir.model.document import Change
from weir.model.problem import Invalid
from weir.store import ReadTransaction, WriteTransaction
from weir.store.rows import RevisionKind

MIN_CONFIRM_S = 1
MAX_CONFIRM_S = 3600
MAX_MESSAGE_CHARS = 2000

Produce = Callable[[ReadTransaction], Sequence[Change]]


@dataclass(frozen=True, slots=True)
class Request:
    """What to commit and how. `produce` says what changes; it reads, and may be asked more than once."""

    produce: Produce
    kind: RevisionKind = "commit"
    message: str = ""
    confirm_within_s: int | None = None
    restores: int | None = None
    answers_pending: bool = False
    expected_head: int | None = None
    also: Callable[[WriteTransaction], None] | None = None
    audited_as: str = ""
    """What the audit trail calls it, `config.` before it; without it the revision's kind."""
    size: int = 0
    """About how many changes there are. Thousands are prepared before the write lock is taken."""
    state: Callable[[ReadTransaction], object] | None = None
    """What `produce` reads besides the objects that it changes: other when it has to be asked again."""


def check_request(request: Request) -> None:
    """Raises `Invalid`."""
    window_s = request.confirm_within_s
    if window_s is not None and not MIN_CONFIRM_S <= window_s <= MAX_CONFIRM_S:
        raise Invalid(f"confirm_within_s must be {MIN_CONFIRM_S} to {MAX_CONFIRM_S}", path="confirm_within_s")
    if len(request.message) > MAX_MESSAGE_CHARS:
        raise Invalid(f"the message is longer than {MAX_MESSAGE_CHARS} characters", path="message")


@dataclass(slots=True)
class Timing:
    """How long each step of a commit took."""

    started: float = field(default_factory=time.perf_counter)
    spent_ms: dict[str, float] = field(default_factory=dict)

    def mark(self, name: str) -> None:
        now = time.perf_counter()
        self.spent_ms[name] = (now - self.started) * 1000.0
        self.started = now
