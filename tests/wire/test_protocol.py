# SPDX-License-Identifier: Apache-2.0
"""Messages survive the wire, and any bytes at all give an answer or a clear refusal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.serving import arrived
from weir.model.problem import ApplyFailed, Finding, Forbidden, Invalid, Problem, Throttled
from weir.wire.protocol import (
    Lines,
    decode,
    decode_line,
    encode_line,
    problem_from_json,
    problem_to_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(JSON)
def test_a_value_is_one_line_and_comes_back_as_it_was(value: object) -> None:
    line = encode_line(value)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line[:-1]) == value


@unhurried
@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused_as_invalid(data: bytes) -> None:
    try:
        assert isinstance(decode_line(data), dict)
    except Invalid as problem:
        assert problem.code == "bad-json"


@pytest.mark.parametrize("line", [b"NaN", b'{"a":Infinity}', b"[" * 100_000, b"9" * 10_000, b"\xff\xfe{}"])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises(Invalid):
        decode(line)


def test_numbers_that_are_not_json_are_not_sent() -> None:
    with pytest.raises(ValueError):
        encode_line({"rate": float("nan")})


def test_a_problem_keeps_its_class_code_path_and_findings() -> None:
    finding = Finding("error", "unknown-parent", "there is no such parent", "queue", "q1", "parent")
    sent = ApplyFailed("the kernel said no", code="tc", path="queue/q1", findings=[finding])
    got = problem_from_json(problem_to_json(sent))
    assert type(got) is ApplyFailed
    assert (got.message, got.code, got.path, got.findings) == (
        "the kernel said no",
        "tc",
        "queue/q1",
        (finding,),
    )


def test_a_problem_without_a_class_of_its_own_on_the_wire_stays_a_problem() -> None:
    assert type(problem_from_json(problem_to_json(Throttled("slow down", retry_after_s=3)))) is Problem
    assert type(problem_from_json(problem_to_json(Forbidden("no")))) is Forbidden


@unhurried
@given(JSON)
def test_any_json_becomes_a_problem(value: object) -> None:
    assert isinstance(problem_from_json(value), Problem)


def test_lines_decode_when_looked_at() -> None:
    lines = arrived([b'{"id":1}', b"2", b"broken", b"4"])
    assert len(lines) == 4
    each = iter(lines)
    assert next(each) == {"id": 1} and next(each) == 2
    with pytest.raises(Invalid):
        next(each)
    assert list(lines) == [4]


@pytest.mark.parametrize("second", [b"[3,4]", b"[]", b"3", b"{}"])
def test_an_array_of_another_length_than_was_announced_is_refused(second: bytes) -> None:
    lines = Lines(iter([b"[1,2]", second]).__next__, 3, 2)
    each = iter(lines)
    assert len(lines) == 3 and next(each) == 1 and next(each) == 2
    with pytest.raises(Invalid, match="an array of 1 values"):
        next(each)
