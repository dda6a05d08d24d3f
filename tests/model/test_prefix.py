# SPDX-License-Identifier: Apache-2.0
"""Prefixes have one text, however quickly it is found."""

from __future__ import annotations

from ipaddress import ip_network

from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient, prefixes
from weir.model.claims import pack, pack_text
from weir.model.prefix import canonical_prefix, parse_prefix, parse_prefix_in_domain, plain_prefix
from weir.model.problem import Invalid

octets = st.integers(0, 260).map(str) | st.sampled_from(("", "00", "010", "0x1", "1 ", "٣"))
lengths = st.integers(0, 40).map(lambda length: f"/{length}") | st.sampled_from(
    ("", "/", "/024", "/٣", "/8/8")
)
nearly = st.builds(lambda parts, length: ".".join(parts) + length, st.lists(octets, max_size=5), lengths)


def said(read: object, text: str) -> object:
    try:
        return read(text)  # type: ignore[operator]
    except Invalid as problem:
        return problem.code


@patient
@given(prefixes() | nearly | st.text(max_size=20))
def test_a_prefix_has_the_text_that_parsing_it_gives(text: str) -> None:
    assert said(canonical_prefix, text) == said(lambda text: parse_prefix(text).text, text)


@patient
@given(prefixes() | nearly)
def test_a_plain_prefix_is_what_others_read(text: str) -> None:
    found = plain_prefix(text)
    if found is not None:
        network = ip_network(text)
        assert found == (network.version, int(network.network_address), network.prefixlen)


@given(prefixes())
def test_most_prefixes_are_plain(text: str) -> None:
    assert plain_prefix(text) == parse_prefix(text)
    assert plain_prefix(f"{text}@1") is None


@patient
@given(prefixes() | nearly | st.text(max_size=20), st.sampled_from(("", "@0", "@7", "@/8", "@9999")))
def test_a_target_is_packed_as_it_is_parsed(text: str, domain: str) -> None:
    def parsed(text: str) -> int:
        number, prefix = parse_prefix_in_domain(text)
        return pack(prefix, number)

    assert said(pack_text, text + domain) == said(parsed, text + domain)
