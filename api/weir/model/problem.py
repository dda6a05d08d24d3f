# SPDX-License-Identifier: Apache-2.0
"""One hierarchy of errors, from the model to the browser.

Every layer raises a `Problem`; `weir.http.problems` maps it once to an RFC 9457 document and
`weir.cli` prints it. `code` is stable and machine-readable, `message` is a sentence that names the
thing, `path` points at the object and field (`queue/q17/parent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What validation has to say about one field of one object."""

    severity: Severity
    code: str
    message: str
    kind: str
    id: str
    field: str | None = None

    @property
    def path(self) -> str:
        return "/".join(part for part in (self.kind, self.id, self.field) if part)

    def to_json(self) -> dict[str, str | None]:
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "kind": self.kind,
            "id": self.id,
            "field": self.field,
        }


class Problem(Exception):
    """Base of every error that Weir reports to a user."""

    default_code = "problem"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        path: str | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.path = path
        self.findings = tuple(findings)


class Invalid(Problem):
    """The request or document says something the model cannot accept."""

    default_code = "invalid"


class NotFound(Problem):
    default_code = "not-found"


class Conflict(Problem):
    """The request is fine but the present state forbids it (name taken, candidate out of date)."""

    default_code = "conflict"


class PreconditionFailed(Problem):
    """If-Match did not match: somebody else changed the object."""

    default_code = "precondition-failed"


class PreconditionRequired(Problem):
    default_code = "precondition-required"


class Unauthenticated(Problem):
    default_code = "unauthenticated"


class Forbidden(Problem):
    default_code = "forbidden"


class Throttled(Problem):
    """Too many attempts; `retry_after_s` says when the next one may be made."""

    default_code = "throttled"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(Problem):
    """A part of the router does not answer (agent, store, disk full); nothing was changed."""

    default_code = "unavailable"
    retry_after_s: int | None = None
    """When it is likely to work, if that is known."""


class ApplyFailed(Problem):
    """The kernel refused or did not hold what was asked; the previous state is back in force."""

    default_code = "apply-failed"


class Unsupported(Problem):
    """This kernel, or this version of Weir, cannot do it."""

    default_code = "unsupported"
