# SPDX-License-Identifier: Apache-2.0
"""Prefixes have one text, however quickly it is found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient, prefixes
from weir.model.prefix import canonical_prefix, parse_prefix
from weir.model.problem import Invalid

octets = st.integers(0, 260).map(str) | st.sampled_from(("", "00", "010", "0x1", "1 ", "٣"))
lengths = st.integers(0, 40).map(lambda length: f"/{length}") | st.sampled_from(
    ("", "/", "/024", "/٣", "/8/8")
)
nearly = st.builds(lambda parts, length: ".".join(parts) + length, st.lists(octets, max_size=5), lengths)


def said(read: object, text: str) -> str:
    try:
        return read(text)  # type: ignore[operator]
    except Invalid as problem:
        return problem.code


@patient
@given(prefixes() | nearly | st.text(max_size=20))
def test_a_prefix_has_the_text_that_parsing_it_gives(text: str) -> None:
    assert said(canonical_prefix, text) == said(lambda text: parse_prefix(text).text, text)
