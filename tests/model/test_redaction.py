# SPDX-License-Identifier: Apache-2.0
"""A secret is taken out of what a stranger repeats, in each form that it was sent in."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from json import dumps
from time import process_time
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
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_each_form_of_a_password_is_hidden(said: str) -> None:
    assert redacted(f"535 {said} is wrong", SECRET, "weir") == "535 *** is wrong"


@pytest.mark.parametrize(
    "said",
    [
        dumps(SECRET)[1:-1].replace("/", "\\/"),  # PHP's json_encode
        dumps(SECRET)[1:-1].replace("&", "\\u0026"),  # Go's encoding/json
        "".join(f"\\u{ord(char):04X}" for char in SECRET),
        escape(SECRET).replace("&quot;", "&#34;"),  # Go's html/template
        "".join(f"&#x{ord(char):04x};" for char in SECRET),
        SECRET.replace("/", "&sol;"),
        quote(SECRET, safe="").lower(),
        quote(SECRET, safe="/"),
        dumps(escape(SECRET)).replace("&", "\\u0026")[1:-1],
        dumps(dumps(SECRET))[3:-3],
        quote(coded(SECRET), safe=""),
        coded(SECRET).replace("/", "\\/"),
    ],
)
def test_a_password_is_hidden_however_its_characters_are_written(said: str) -> None:
    assert said != SECRET and redacted(f'{{"t":"{said}"}}', SECRET, "weir") == '{"t":"***"}'


@pytest.mark.parametrize("write", [lambda text: dumps(text)[1:-1], lambda text: quote(text).lower()])
def test_letters_of_more_than_one_byte_are_hidden(write: Callable[[str], str]) -> None:
    secret = "g\u00e9h\u20acim\U0001f600"
    assert write(secret).isascii() and redacted(f"({write(secret)})", secret) == "(***)"


def test_what_else_is_said_stays_as_it_was_written() -> None:
    said = "&lt;b&gt; 100%25 a\\/b \\u00"
    assert redacted(f"{said} &#115;3cr3t {said}", "s3cr3t") == f"{said} *** {said}"


def test_a_long_answer_takes_little_time() -> None:
    """Also one that was made for a secret whose characters can be read in more than one way."""
    secret = "\\/" * 40 + "x"
    begun = process_time()
    for said in ("\\\\/" * 8000, "&amp;" * 8000, "%5c" * 8000, "\\u005c" * 8000):
        assert redacted(said, secret, is_cut=True)
    assert process_time() - begun < 5


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
def test_base64_of_more_than_the_secret_hides_what_is_of_the_secret(before: str) -> None:
    said = coded(f"{before}{SECRET}\r\n")
    answer = redacted(said, SECRET)
    assert "***" in answer and len(answer) < len(said) - len(SECRET)


def test_a_key_is_hidden_as_bytes_and_as_urls_have_it() -> None:
    data = bytes(range(230, 256)) + b"\xff\xfe" * 3
    key = b64encode(data).decode()
    for said in (data.hex(), data.hex().upper(), urlsafe_b64encode(data).decode()):
        assert said != key and redacted(f"peer {said}", key) == "peer ***"


def test_base64_as_urls_have_it_is_hidden() -> None:
    said = urlsafe_b64encode(b"~~~~~ what is it? ~~~~~").decode()
    assert "-" in said or "_" in said
    assert "***" in redacted(said, "what is it?") and "***" in redacted(said, "~~~~~ what")


@pytest.mark.parametrize("scheme", ["Bearer", "Token", "bearer"])
def test_what_stands_after_the_scheme_is_hidden_alone(scheme: str) -> None:
    text = f"the {scheme} abc-123 is no token; abc-123, {coded('abc-123')}"
    assert redacted(text, f"{scheme} abc-123") == "the *** is no token; ***, ***"


def test_what_a_basic_login_holds_is_hidden() -> None:
    assert redacted("weir:horse, horse", f"Basic {coded('weir:horse')}") == "***, ***"


def test_words_between_other_blanks_are_hidden() -> None:
    assert redacted("correct\thorse", "correct  horse") == "***\t***"


def test_no_part_of_the_secret_stays_at_a_cut() -> None:
    slow = "".join(f"\\u{ord(char):04x}" for char in SECRET)
    for said in (SECRET, quote(SECRET, safe=""), slow, slow.replace("\\", "%5c")):
        for length in range(len(said) + 1):
            answer = redacted("." * 200 + said[:length], SECRET, is_cut=True)
            assert answer.rstrip("*").strip(".") == ""
    assert redacted("ab", SECRET, is_cut=True) == ""


def test_without_a_secret_a_text_stays_as_it_is() -> None:
    assert redacted("250 Ok", "", "weir", is_cut=True) == "250 Ok"
