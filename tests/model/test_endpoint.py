# SPDX-License-Identifier: Apache-2.0
"""Hosts with their port, and keys, in their one form."""

from __future__ import annotations

import pytest

from weir.model.endpoint import join_endpoint, parse_endpoint, parse_key, split_endpoint
from weir.model.problem import Invalid


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("VPN.Example.net.:51820", "vpn.example.net:51820"),
        ("192.0.2.1:00080", "192.0.2.1:80"),
        ("[2001:DB8:0::1]:51820", "[2001:db8::1]:51820"),
    ],
)
def test_an_endpoint_has_one_form(text: str, form: str) -> None:
    assert parse_endpoint(text) == form
    assert join_endpoint(*split_endpoint(form)) == form


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:0518209",
        "2001:db8::1:51820",
        "[::1]",
        "a b:1",
    ],
)
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_endpoint(text)


def test_a_key_is_32_bytes_and_never_repeated_in_words() -> None:
    assert parse_key("A" * 43 + "=") == "A" * 43 + "="
    for wrong in ("A" * 44, "A" * 42 + "==", "A" * 43, "A" * 42 + "B="):
        with pytest.raises(Invalid) as refused:
            parse_key(wrong)
        assert wrong not in refused.value.message
