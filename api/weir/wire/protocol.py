# SPDX-License-Identifier: Apache-2.0
"""The language of API and agent: one JSON object per line over a Unix stream socket.

Request `{"id": n, "method": str, "params": {...}}`, answer `{"id": n, "result": ...}` or
`{"id": n, "problem": {...}}`. A request may announce that one parameter follows as lines of its
own (`"lines": {"param": "changes", "count": 100000}`), so that neither side ever holds a tree of
100,000 objects: a line is decoded when it is looked at and forgotten again. With `"each": 2000` a line is an
array of so many of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NoReturn

from weir.model import problem as problems
from weir.model.problem import Finding, Invalid, Problem

Json = Any
"""What `json.loads` returns. The receiver checks it; nothing here is trusted."""
JsonObject = dict[str, Any]

NOT_PREPARED = "not-prepared"
"""The code of a problem: what the agent prepared does not fit any more, or it does not know it."""
MAX_LINE_BYTES = 256 << 20
"""A request (its lines included) or an answer above this is refused and the connection closed."""
MAX_FDS = 8
SEVERITIES = ("error", "warning", "notice")

PROBLEMS: dict[str, type[Problem]] = {
    kind.default_code: kind
    for kind in (
        problems.Invalid,
        problems.NotFound,
        problems.Conflict,
        problems.PreconditionFailed,
        problems.PreconditionRequired,
        problems.Unauthenticated,
        problems.Forbidden,
        problems.Unavailable,
        problems.ApplyFailed,
        problems.Unsupported,
    )
}


class Lines:
    """A parameter that comes as lines: each is decoded as it arrives, and looked at once, so that sender and
    receiver work at the same time. Raises `Invalid` for a broken line, and what `next_line` raises.

    With `each` a line is an array of so many values, the last one of what is left of `count`.
    """

    def __init__(self, next_line: Callable[[], bytes], count: int, each: int = 0) -> None:
        self._next_line = next_line
        self._count = count
        self._each = each
        self._left = lines_of(count, each)
        self.failure: Exception | None = None
        """What kept the rest from arriving."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Json]:
        return chain.from_iterable(self._arrays()) if self._each else map(decode, self._lines())

    def finish(self) -> None:
        """Let those pass that nobody looked at: what comes behind them is another message. Raises `failure`
        once more."""
        if self.failure is not None:
            raise self.failure
        for _ in self._lines():
            pass

    def _arrays(self) -> Iterator[list[Json]]:
        left = self._count
        for line in self._lines():
            yield _array(line, min(self._each, left))
            left -= self._each

    def _lines(self) -> Iterator[bytes]:
        while self._left:
            try:
                line = self._next_line()
            except Exception as error:
                self.failure = error
                raise
            self._left -= 1
            yield line


def _array(line: bytes, wanted: int) -> list[Json]:
    found = decode(line)
    if not isinstance(found, list) or len(found) != wanted:
        raise Invalid(f"a line must be an array of {wanted} values", code="bad-request")
    return found


def lines_of(count: int, each: int) -> int:
    """How many lines bring so many values."""
    return -(-count // each) if each else count


def encode_line(value: Json) -> bytes:
    """Compact ASCII JSON and a newline; raises `ValueError` for NaN and infinity."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def decode(line: bytes) -> Json:
    """Read one line. Raises `Invalid` (code `bad-json`) whatever the bytes are."""
    try:
        return _DECODER.decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not a line of JSON: {error}", code="bad-json") from error


def decode_line(line: bytes) -> JsonObject:
    """Read one line that must be a JSON object. Raises `Invalid` (code `bad-json`)."""
    value = decode(line)
    if not isinstance(value, dict):
        raise Invalid("a message must be a JSON object", code="bad-json")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""One for all lines: making one takes longer than reading most of them."""


def problem_to_json(problem: Problem) -> JsonObject:
    return {
        "type": _type_of(problem),
        "code": problem.code,
        "message": problem.message,
        "path": problem.path,
        "findings": [finding.to_json() for finding in problem.findings],
    }


def problem_from_json(value: Json) -> Problem:
    """The problem that the other side raised; anything odd in it becomes a plain `Problem`."""
    if not isinstance(value, dict):
        return Problem("the agent answered with an unreadable problem", code="bad-answer")
    kind = PROBLEMS.get(str(value.get("type") or value.get("code")), Problem)
    path = value.get("path")
    findings = value.get("findings")
    return kind(
        str(value.get("message", "no message")),
        code=str(value.get("code") or kind.default_code),
        path=path if isinstance(path, str) else None,
        findings=[_finding(item) for item in findings if isinstance(item, dict)]
        if isinstance(findings, list)
        else (),
    )


def _type_of(problem: Problem) -> str:
    for kind in type(problem).__mro__:
        if issubclass(kind, Problem) and kind.default_code in PROBLEMS:
            return kind.default_code
    return Problem.default_code


def _finding(value: JsonObject) -> Finding:
    severity = value.get("severity")
    field = value.get("field")
    return Finding(
        severity=severity if severity in SEVERITIES else "error",
        code=str(value.get("code", "")),
        message=str(value.get("message", "")),
        kind=str(value.get("kind", "")),
        id=str(value.get("id", "")),
        field=field if isinstance(field, str) else None,
    )
