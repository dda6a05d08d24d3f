# SPDX-License-Identifier: Apache-2.0
"""A secret is taken out of what a stranger repeats, in each form that it was sent in."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from json import dumps
from urllib.parse import quote

import pytest

from weir.redaction import redacted

SECRET = 's3cr3t-"abc"/def&'


def coded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        dumps(SECRET)[1:-1],
        escape(SECRET),
        quote(SECRET, safe=""),
        coded(SECRET),
        coded(f"\0weir\0{SECRET}"),
        coded(f"weir:{SECRET}"),
    ],
)
def test_each_form_of_a_password_is_hidden(said: str) -> None:
    assert redacted(f"535 {said} is wrong", SECRET, "weir") == "535 *** is wrong"


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
def test_base64_of_more_than_the_secret_hides_what_is_of_the_secret(before: str) -> None:
    said = coded(f"{before}{SECRET}\r\n")
    answer = redacted(said, SECRET)
    assert "***" in answer and len(answer) < len(said) - len(SECRET)


@pytest.mark.parametrize("scheme", ["Bearer", "Token", "bearer"])
def test_what_stands_after_the_scheme_is_hidden_alone(scheme: str) -> None:
    text = f"the {scheme} abc-123 is no token; abc-123, {coded('abc-123')}"
    assert redacted(text, f"{scheme} abc-123") == "the *** is no token; ***, ***"


def test_what_a_basic_login_holds_is_hidden() -> None:
    assert redacted("weir:horse, horse", f"Basic {coded('weir:horse')}") == "***, ***"


def test_words_between_other_blanks_are_hidden() -> None:
    assert redacted("correct\thorse", "correct  horse") == "***\t***"


def test_no_part_of_the_secret_stays_at_a_cut() -> None:
    for length in range(len(SECRET) + 1):
        answer = redacted("." * 200 + SECRET[:length], SECRET, is_cut=True)
        assert answer == "." * len(answer) or answer.rstrip(".*") == ""
    assert redacted("ab", SECRET, is_cut=True) == ""


def test_without_a_secret_a_text_stays_as_it_is() -> None:
    assert redacted("250 Ok", "", "weir", is_cut=True) == "250 Ok"
