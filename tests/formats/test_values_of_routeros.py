# SPDX-License-Identifier: Apache-2.0
"""Most values of an export stand for themselves; that is found out before anything is taken out of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weir.formats.routeros.lexer import is_plain, names_a_variable, unescape

# As the lexer keeps them: a character is a byte.
values = st.text(st.characters(max_codepoint=255) | st.sampled_from('\\$"aC3_n?'), max_size=12)


@given(values)
def test_a_plain_value_is_what_taking_it_apart_would_give(raw: str) -> None:
    if is_plain(raw):
        assert unescape(raw) == (raw, "utf-8")
        assert not names_a_variable(raw)


@given(st.from_regex(r"[A-Za-z0-9 ./:,<>-]{0,20}", fullmatch=True))
def test_what_queues_hold_is_plain(raw: str) -> None:
    assert is_plain(raw)
