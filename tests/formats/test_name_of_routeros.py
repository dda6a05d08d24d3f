# SPDX-License-Identifier: Apache-2.0
"""The name of a RouterOS router, and its notice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import import_of, only
from weir.formats.routeros.menus.machine import host_name_of
from weir.kinds.identity import is_host_name


@pytest.mark.parametrize(
    ("given_name", "name", "fate"),
    [
        ("tower-7", "tower-7", "imported"),
        ("Core.example.net", "Core.example.net", "imported"),
        ('"Tower #7 (north)"', "Tower-7-north", "changed"),
        ("10.0.0.1", "10-0-0-1", "changed"),
        ("a" * 70, "a" * 63, "changed"),
    ],
)
def test_a_name_is_taken_or_what_is_nearest_to_it(given_name: str, name: str, fate: str) -> None:
    report = import_of(f"/system identity\nset name={given_name}\n")
    assert only(report, "identity")["hostname"] == name
    assert report.lines[-1].fate == fate


def test_a_name_without_a_letter_or_digit_is_left_out() -> None:
    (line,) = import_of('/system identity\nset name="###"\n').lines
    assert line.fate == "left-out" and "Nothing in it" in line.reason


@given(st.text(max_size=100) | st.from_regex(r"[a-z0-9.-]{1,100}", fullmatch=True))
def test_what_is_made_of_a_name_is_one(text: str) -> None:
    name = host_name_of(text)
    assert name is None or is_host_name(name)


def test_a_notice_that_is_shown_at_login_is_taken() -> None:
    text = '/system identity\nset name=core\n/system note\nset note="Keep\\r\\nout" show-at-login=yes\n'
    found = only(import_of(text), "identity")
    assert (found["hostname"], found["login_banner"]) == ("core", "Keep\nout")
    (line,) = import_of("/system note\nset note=mine show-at-login=no\n").lines
    assert line.fate == "left-out"
