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
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NoReturn, overload

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


class Lines(Sequence[Json]):
    """A parameter that came as lines: decodes one at a time. Raises `Invalid` for a broken line.

    With `each` a line is an array of so many values, the last one of what is left of `count`.
    """

    def __init__(self, raw: list[bytes], count: int | None = None, each: int = 0) -> None:
        self._raw = raw
        self._count = len(raw) if count is None else count
        self._each = each

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index]
        return (
            self._array(place // self._each)[place % self._each] if self._each else decode(self._raw[place])
        )

    def __iter__(self) -> Iterator[Json]:
        if not self._each:
            return map(decode, self._raw)
        return chain.from_iterable(map(self._array, range(len(self._raw))))

    def _array(self, index: int) -> list[Json]:
        found = decode(self._raw[index])
        wanted = min(self._each, self._count - index * self._each)
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
