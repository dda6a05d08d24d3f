# SPDX-License-Identifier: Apache-2.0
"""Lists of addresses as they are published: what is read of them, what is refused, and what any bytes do."""

from __future__ import annotations

import ipaddress
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kinds.toys import toy
from tests.model.strategies import patient
from weir.courier.dial import Failed
from weir.courier.listed import LONGEST_LINE, Listed
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Document
from weir.model.prefix import parse_prefix
from weir.model.prefix_groups import Groups, Shape, count_of, packed, unpacked
from weir.model.problem import Invalid
from weir.model.rules import validate_all
from weir.parts.filter import looked_up
from weir.parts.firewall import FIREWALL
from weir.parts.head import Head
from weir.parts.sets import SETS

DROP = b"; Spamhaus DROP List 2026/01/01\n; Expires: ...\n1.10.16.0/20 ; SBL256894\n1.19.0.0/16 ; SBL434604\n"
NETSET = b"#\n# firehol_level1\n#\n0.0.0.0/8\n1.10.16.0/20\n5.134.128.0/19\n"
CSV = b'address,country,seen\r\n"192.0.2.7","DE",3\r\n2001:db8::/32,FR,4\r\n'
HOSTS = b"\xef\xbb\xbf192.0.2.7\n192.0.2.7\n192.0.2.8   # seen twice\n\n2001:db8::1"


def read(data: bytes, most: int = 1000, chunk: int = 1 << 16) -> tuple[Groups, int]:
    listed = Listed(most)
    for at in range(0, len(data), chunk):
        listed.take(data[at : at + chunk])
    return listed.end()


def texts(groups: Groups) -> set[str]:
    return {
        f"{ipaddress.ip_address(network)}/{shape.length}"
        for shape, networks in groups.items()
        for network in networks
    }


@pytest.mark.parametrize(
    ("data", "found", "skipped"),
    [
        (DROP, {"1.10.16.0/20", "1.19.0.0/16"}, 0),
        (NETSET, {"0.0.0.0/8", "1.10.16.0/20", "5.134.128.0/19"}, 0),
        (CSV, {"192.0.2.7/32", "2001:db8::/32"}, 1),
        (HOSTS, {"192.0.2.7/32", "192.0.2.8/32", "2001:db8::1/128"}, 0),
        (b"10.0.0.1\r10.0.0.2\r", {"10.0.0.1/32", "10.0.0.2/32"}, 0),
        (b"10.0.0.1;office;x\n", {"10.0.0.1/32"}, 0),
    ],
)
def test_lists_as_they_are_published(data: bytes, found: set[str], skipped: int) -> None:
    for chunk in (1, 2, 7, 1 << 16):
        groups, odd = read(data, chunk=chunk)
        assert (texts(groups), odd) == (found, skipped)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"# nothing\n\n;\n", "it is empty"),
        (b"hello\n", "there is no address in it: line 1 begins with 'hello'"),
        (b"10.0.0.1/24\n", "there is no address in it: line 1 begins with '10.0.0.1/24'"),
        (b"10.0.0.1\na\nb\n", "2 of its 3 lines are no addresses: line 2 begins with 'a'"),
        (b"\n <html>", "it is a web page or XML, and no list of addresses"),
        (b"[", "it is JSON, and no list of addresses"),
        (b"10.0.0.1\n::/0\n", "line 2 has every address of IPv6: such a list is not taken"),
        (b"10.0.0.1-10.0.0.9", "line 1 has two addresses: ranges are not taken, only prefixes"),
        (b"10.0.0.1 - 10.0.0.9", "line 1 has two addresses: ranges are not taken, only prefixes"),
        (b"10.0.0.0\t10.0.0.255\t24\n", "line 1 has two addresses: ranges are not taken, only prefixes"),
        (b"10.0.0.1\n10.0.0.2\n10.0.0.3\n", "it has more than 2 entries (max_entries)"),
        (b"x" * (LONGEST_LINE + 1), f"line 1 has more than {LONGEST_LINE} characters"),
        (b"1\n" + b"#" * LONGEST_LINE + b"#\n", f"line 3 has more than {LONGEST_LINE} characters"),
        (bytes(range(256)), "there is no address in it"),
    ],
)
def test_what_is_no_list_is_refused_with_its_reason(data: bytes, why: str) -> None:
    with pytest.raises(Failed) as refused:
        read(data, most=2)
    assert str(refused.value).startswith(why)


def test_one_odd_line_in_twenty_is_taken_and_no_more() -> None:
    good = b"".join(b"10.0.0.%d\n" % number for number in range(40))
    assert read(good + b"a\n" * 3)[1] == 3
    with pytest.raises(Failed, match="4 of its 44 lines are no addresses"):
        read(good + b"a\n" * 4)


lines = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        (b"10.0.0.1", b"10.0.0.0/8", b"2001:db8::/32", b"::1", b"# x", b"1.2.3.4,5", b"-", b"1.2.3.4-")
    ),
    st.integers(0, 2**32 - 1).map(lambda value: str(ipaddress.ip_address(value)).encode()),
)


@patient
@given(st.lists(lines, max_size=40).map(b"\n".join), st.integers(1, 9))
@example(b"1\n", 1)
def test_any_bytes_give_prefixes_or_a_reason(data: bytes, chunk: int) -> None:
    """The same in whichever pieces they come; what is taken is what a router takes elsewhere."""

    def told(size: int) -> object:
        try:
            return read(data, most=30, chunk=size)
        except Failed as failed:
            assert str(failed)
            return str(failed)

    whole = told(1 << 16)
    assert told(chunk) == whole
    if isinstance(whole, tuple):
        groups = whole[0]
        assert 0 < count_of(groups) <= 30
        assert all(parse_prefix(text).length for text in texts(groups))
        assert unpacked(packed(groups), 30) == groups


@patient
@given(st.binary(max_size=200), st.randoms(use_true_random=False))
def test_any_bytes_are_prefixes_or_refused(data: bytes, rng: random.Random) -> None:
    good = packed(
        {Shape(4, 24): {b"\xc0\0\2\0", b"\xc6\x33\x64\0"}, Shape(6, 32): {b"\x20\1\r\xb8" + bytes(12)}}
    )
    at = rng.randrange(len(good))
    for tried in (data, good[:at], good[:at] + data[:1] + good[at + 1 :], good + data):
        try:
            found = unpacked(tried, 5)
        except Invalid:
            continue
        assert count_of(found) <= 5
        for text in texts(found):
            assert parse_prefix(text).length


def test_too_many_of_everything_and_nothing_are_refused() -> None:
    three = packed({Shape(4, 32): {bytes((10, 0, 0, last)) for last in range(3)}})
    assert count_of(unpacked(three, 3)) == 3
    for data in (
        three[:-1],
        three + three,
        packed({Shape(4, 0): {bytes(4)}}),
        packed({Shape(4, 8): {b"\n\0\0\1"}}),
    ):
        with pytest.raises(Invalid):
            unpacked(data, 6)
    with pytest.raises(Invalid):
        unpacked(three, 2)


# -- the model -------------------------------------------------------------------------------------------


UNFIT = (
    ({"source": "url"}, "set-incomplete"),
    ({"source": "url", "url": "ftp://lists.example.net/"}, "bad-url"),
    ({"source": "url", "url": "file:///etc/passwd"}, "bad-url"),
    ({"source": "url", "url": "https://lists.example.net/", "type": "port"}, "fetched-set"),
    ({"source": "url", "url": "https://lists.example.net/", "refresh_s": 1}, "bad-number"),
)


def test_what_cannot_be_fetched_is_refused(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        for said, code in UNFIT:
            answer = router.api("PUT", "/sets/drop", said)
            assert answer.status_code == 422
            assert code in {item["code"] for item in answer.json["findings"]}, answer.json


def test_a_list_takes_no_entries_and_a_set_with_entries_becomes_no_list() -> None:
    listed = Set("drop", source="url", url="https://lists.example.net/")
    held = Document(
        [listed, SetEntry("e1", "drop", "192.0.2.0/24"), Set("open", source="url", url="http://a.example/")]
    )
    codes = {(found.severity, found.code, found.path) for found in validate_all(held)}
    assert ("error", "fetched-set", "set-entry/e1/set") in codes
    assert ("error", "set-has-entries", "set/drop/type") in codes
    assert ("warning", "list-in-the-clear", "set/open/url") in codes


def test_rules_look_at_the_lengths_that_a_list_has_now() -> None:
    listed = Set("drop", source="url", url="https://lists.example.net/")
    document = Document([listed, FirewallRule("f1", chain="forward", action="drop", source_set="drop")])
    assert not SETS.wanted(document)
    rules = FIREWALL.wanted(document)
    (counted,) = {rule.counter for rule in rules if rule.counter.startswith("r_")}
    heads = [Head("drop", "ipv4_addr", 24), Head("drop", "ipv4_addr", 32), Head("other", "ipv4_addr", 8)]
    for known in ([], heads):
        made = list(looked_up(rules, known))
        assert not any(lookup.origin for rule in made for lookup in rule.lookups)
        names = [lookup.set for rule in made for lookup in rule.lookups]
        assert names == (["a4_32_drop", "a4_24_drop"] if known else [])
        assert {rule.counter for rule in made if rule.counter.startswith("r_")} == {counted}
