# SPDX-License-Identifier: Apache-2.0
"""What a tool is: its arguments with their bounds, who may run it, and for how long at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weir.fields import Group
from weir.fields.members import Member, Reading
from weir.model.problem import Finding, Invalid
from weir.model.reader import Reader
from weir.model.scope import Scope

LINES, PCAPNG = "text/event-stream", "application/x-pcapng"


@dataclass(frozen=True)
class Tool:
    """`of` is a frozen dataclass whose fields are the arguments, declared as those of a kind.

    `seconds` is the longest that given arguments may take; the agent ends a run soon after it. `columns` are
    the members of an event that a person reads, by event. An event with `key` replaces the one before it that
    has the same value there. `needs` says what the router must allow, for the documentation.
    """

    name: str
    title: str
    of: type
    about: str
    scope: Scope
    subject: str
    seconds: Callable[[Any], float]
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    key: str = ""
    needs: str = ""
    answers: str = LINES
    asks_agent: bool = False
    """Whether its process has a socket as its input, at which the agent tells what only it knows."""
    check: Callable[[Any], Finding | None] = lambda _arguments: None
    tail_bytes: int = 0
    """How much of the end of a file `is_whole` looks at."""
    is_whole: Callable[[bytes], bool] = lambda _tail: True
    """Whether a file ends as one does that nothing cut short."""

    @property
    def operation(self) -> str:
        """What the API's document calls it: a name in programs."""
        return f"run_{self.name.replace('-', '_')}"

    @cached_property
    def group(self) -> Group:
        """The arguments as one field, for schemas and forms."""
        return Group(self.of, called=f"{self.of.__name__}Run")

    @property
    def members(self) -> tuple[Member, ...]:
        return self.group.members

    def read(self, body: dict[str, Any]) -> Any:
        """The arguments. Raises `Invalid` with a finding for every field that is wrong."""
        findings: list[Finding] = []
        reader = Reader(body, self.name, "", findings)
        reader.refuse_unknown(frozenset(member.name for member in self.members))
        given = Reading(self.members).given(reader)
        arguments = None if findings else self.of(**given)
        if arguments is not None and (found := self.check(arguments)) is not None:
            findings.append(found)
        if findings:
            first = findings[0]
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            text = f"{self.name}: {first.message}{more}"
            raise Invalid(text, code=first.code, path=first.field, findings=findings)
        return arguments

    def to_json(self, arguments: Any) -> dict[str, Any]:
        return dict(self.group.to_json(arguments))

    def subject_of(self, arguments: Any) -> str:
        """What is looked at, in one line for the audit trail."""
        return f"{self.name} {getattr(arguments, self.subject)}"
