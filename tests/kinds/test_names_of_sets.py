# SPDX-License-Identifier: Apache-2.0
"""Names of sets: what is read of answers, for how long addresses stay, and what is configured."""

from __future__ import annotations

import ipaddress
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.toys import toy
from tests.model.strategies import patient
from weir.adapters.kept_lists import Kept, KeptLists
from weir.adapters.resolver import FAMILIES, MOST_ADDRESSES, Answers, NameAnswer, judged
from weir.agent.name_book import (
    DENIED_S,
    FAILED_S,
    FIRST_RETRY_S,
    LAST_RETRY_S,
    LEAST_S,
    MOST_HELD,
    MOST_S,
    RESTARTED_S,
    NameBook,
)
from weir.courier.resolve import MOST_BYTES, Told, told_by
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Document
from weir.model.prefix_groups import Groups, Shape
from weir.model.rules import validate_all
from weir.parts.fetched import BY_NAME, FETCHED
from weir.parts.filter import looked_up
from weir.parts.firewall import FIREWALL
from weir.parts.head import Head
from weir.parts.sets import SETS
from weir.probes.lookup import query

A, CNAME, AAAA = 1, 5, 28
WWW = "www.example"
PACKET = query(0x1234, WWW, "A", MOST_BYTES)
QUESTION = PACKET[12 : len(PACKET) - 11]


# -- what is read of answers -----------------------------------------------------------------------------


def wire(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(name: str, kind: int, ttl_s: int, value: bytes) -> bytes:
    return wire(name) + struct.pack("!HHIH", kind, 1, ttl_s, len(value)) + value


def address(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def said(*records: bytes, flags: int = 0x8180, number: int = 0x1234, question: bytes = QUESTION) -> bytes:
    return struct.pack("!HHHHHH", number, flags, 1, len(records), 0, 0) + question + b"".join(records)


def test_aliases_are_followed_and_the_shortest_time_counts() -> None:
    told = told_by(
        said(
            record("cdn.example", CNAME, 7, wire("Edge.example")),
            record(WWW, CNAME, 60, wire("cdn.example")),
            record("edge.example", A, 20, address("192.0.2.1")),
            record("edge.example", A, 20, address("192.0.2.1")),
            record("elsewhere.example", A, 1, address("192.0.2.66")),
        ),
        PACKET,
        WWW,
        4,
    )
    assert told == Told(WWW, 4, "answer", "", 7, ("192.0.2.1",))


@pytest.mark.parametrize(
    "data",
    [
        said(record(WWW, A, 60, address("192.0.2.1")), number=0x1235),
        said(record(WWW, A, 60, address("192.0.2.1")), question=wire("other.example") + b"\0\1\0\1"),
        said(record(WWW, A, 60, address("192.0.2.1")), flags=0x0100),
        said(record(WWW, A, 60, b"\xc0\0\2")),
        b"",
    ],
)
def test_what_is_no_answer_to_the_question_is_passed_over(data: bytes) -> None:
    assert told_by(data, PACKET, WWW, 4) is None


def test_no_such_name_is_an_answer_and_a_failure_is_none() -> None:
    denied = told_by(said(flags=0x8183), PACKET, WWW, 4)
    assert denied is not None and (denied.what, denied.words) == ("denied", "no such name")
    with pytest.raises(OSError, match="server failure"):
        told_by(said(flags=0x8182), PACKET, WWW, 4)
    circle = said(record(WWW, CNAME, 9, wire("b.example")), record("b.example", CNAME, 9, wire(WWW)))
    assert told_by(circle, PACKET, WWW, 4) == Told(WWW, 4, "answer", "", 9, ())


@patient
@given(
    st.lists(
        st.tuples(
            st.sampled_from((WWW, "b.example")),
            st.sampled_from((A, CNAME, AAAA, 41)),
            st.integers(0, 2**32 - 1),
            st.one_of(st.binary(max_size=20), st.just(b"\x0a\0\0\1"), st.just(wire("b.example"))),
        ),
        max_size=8,
    ),
    st.binary(max_size=30),
)
def test_any_answer_gives_addresses_or_a_reason(
    records: list[tuple[str, int, int, bytes]], rest: bytes
) -> None:
    data = said(*(record(*item) for item in records)) + rest
    for each in (data, data[: len(data) - len(rest) // 2 - 1], data[:12] + rest):
        told = told_by(each, PACKET, WWW, 4)
        if told is None or told.what != "answer":
            continue
        found = judged(4, told.ttl_s, told.addresses)
        assert found.words or found.what == "answer"
        assert all(len(key) == 4 for key in found.addresses) and len(found.addresses) <= MOST_ADDRESSES


@pytest.mark.parametrize(
    ("family", "addresses", "taken", "words"),
    [
        (4, ["192.0.2.1", "10.0.0.1"], 2, ""),
        (4, ["192.0.2.1", "127.0.0.1"], 1, "127.0.0.1 is no other host's and was left out"),
        (4, ["0.0.0.0"], 0, "it has only addresses that no other host has, such as 0.0.0.0"),
        (4, ["0.1.2.3", "224.0.0.1", "240.0.0.1", "169.254.1.1", "255.255.255.255"], 0, "it has only"),
        (6, ["::", "::1", "ff02::1", "fe80::1", "::ffff:192.0.2.1"], 0, "it has only"),
        (6, ["2001:db8::1", "fd00::1", "64:ff9b::1"], 3, ""),
        (4, ["2001:db8::1"], 0, "it answered something that is no address of IPv4"),
        (4, ["localhost"], 0, "it answered something that is no address of IPv4"),
        (4, [f"198.51.100.{last}" for last in range(65)], 0, "it has more than 64 addresses"),
    ],
)
def test_addresses_that_no_other_host_has_are_not_taken(
    family: int, addresses: list[str], taken: int, words: str
) -> None:
    found = judged(family, 60, addresses)
    assert len(found.addresses) == taken and found.words.startswith(words)
    assert found.what == ("answer" if taken else "failed") and bool(found.words) == bool(words)


# -- for how long addresses stay -------------------------------------------------------------------------


def had(*texts: str, ttl_s: int = 60, name: str = WWW) -> Answers:
    v4 = frozenset(address(text) for text in texts)
    return {(name, 4): NameAnswer("answer", "", ttl_s, v4), (name, 6): NameAnswer("answer", "", ttl_s)}


def wrong(what: str, name: str = WWW) -> Answers:
    assert what in ("denied", "failed")
    return {(name, family): NameAnswer(what, "why") for family in FAMILIES}  # type: ignore[arg-type]


def texts(groups: Groups) -> set[str]:
    return {str(ipaddress.ip_address(key)) for keys in groups.values() for key in keys}


def book(*answers: Answers, now_s: float = 1000.0) -> NameBook:
    made = NameBook({}, now_s)
    made.follow([WWW])
    for answer in answers:
        made.take(answer, now_s, 1)
    return made


def test_an_address_that_left_the_answer_stays_for_two_times_of_it() -> None:
    made = book(had("192.0.2.1"))
    assert made.next_s() == 1060.0 and made.due(1049.0) == [] and made.due(1060.0) == [WWW]
    made.take(had("192.0.2.2"), 1060.0, 1)
    assert texts(made.groups()) == {"192.0.2.1", "192.0.2.2"}
    made.take(had("192.0.2.2"), 1119.0, 1)
    assert texts(made.groups()) == {"192.0.2.1", "192.0.2.2"}
    made.take(had("192.0.2.2"), 1120.0, 1)
    assert texts(made.groups()) == {"192.0.2.2"}


@pytest.mark.parametrize(
    ("ttl_s", "asked_s"), [(0, LEAST_S), (29, LEAST_S), (300, 300.0), (2**32 - 1, MOST_S)]
)
def test_it_is_asked_again_within_bounds(ttl_s: int, asked_s: float) -> None:
    assert book(had("192.0.2.1", ttl_s=ttl_s)).next_s() == 1000.0 + asked_s


@pytest.mark.parametrize(("what", "stays_s"), [("failed", FAILED_S), ("denied", DENIED_S)])
def test_without_a_good_answer_addresses_stay_for_a_time_that_is_told(what: str, stays_s: float) -> None:
    made = book(had("192.0.2.1"))
    made.take(wrong(what), 2000.0, 2)
    ((_, known),) = made.names()
    assert "what it has stays for" in known.error(2000.0) and known.failing_s() == 2000.0
    assert known.answered_ms == 1
    made.take(wrong(what), 2000.0 + stays_s - 1, 2)
    assert texts(made.groups()) == {"192.0.2.1"}
    made.take(wrong(what), 2000.0 + stays_s, 2)
    assert not made.groups() and known.error(1e6) == "why"
    made.take(had("192.0.2.3"), 2000.0 + stays_s + 1, 3)
    assert texts(made.groups()) == {"192.0.2.3"} and not known.error(1e6) and known.failing_s() is None


def test_a_good_answer_in_between_starts_the_time_again() -> None:
    made = book(had("192.0.2.1"))
    for begin_s in (2000.0, 2000.0 + FAILED_S / 2):
        made.take(wrong("failed"), begin_s, 2)
        made.take(had("192.0.2.1"), begin_s + 1, 2)
    made.take(wrong("failed"), 2000.0 + 1.2 * FAILED_S, 2)
    assert texts(made.groups()) == {"192.0.2.1"}


def test_no_addresses_at_all_is_as_no_such_name_and_one_family_alone_is_well() -> None:
    made = book(had("192.0.2.1"))
    ((_, known),) = made.names()
    assert not known.error(0)
    made.take(had(), 1100.0, 2)
    assert known.error(1100.0) == "it has no addresses (what it has stays for 60 min)"


def test_servers_that_fail_for_ipv6_alone_are_told_and_not_found() -> None:
    made = book(had("192.0.2.1") | {(WWW, 6): NameAnswer("failed", "server failure")})
    ((_, known),) = made.names()
    assert known.failing_s() is None and known.error(1000.0) == "IPv6: server failure"


def test_who_fails_is_asked_less_and_less_often() -> None:
    made, pauses = book(), []
    for _ in range(12):
        made.take(wrong("failed"), 1000.0, 1)
        pauses.append(made.next_s() - 1000.0)
    assert pauses[0] == FIRST_RETRY_S and pauses == sorted(pauses) and pauses[-1] == LAST_RETRY_S


def test_answers_that_take_turns_are_bounded() -> None:
    made = book()
    for turn in range(10):
        made.take(had(*(f"198.51.{turn}.{last}" for last in range(64)), ttl_s=3600), 1000.0 + turn, 1)
    assert len(texts(made.groups())) == MOST_HELD
    assert {f"198.51.9.{last}" for last in range(64)} <= texts(made.groups())


def test_what_was_kept_stays_until_answers_have_come_without_it_for_a_while() -> None:
    made = NameBook({WWW: ("192.0.2.1", "2001:db8::1")}, 1000.0, 5)
    assert not made.follow([WWW]) and made.due(1000.0) == [WWW]
    assert set(made.groups()) == {Shape(4, 32), Shape(6, 128)}
    made.take(had("192.0.2.2"), 1001.0, 6)
    assert texts(made.groups()) == {"192.0.2.1", "192.0.2.2", "2001:db8::1"}
    made.take(had("192.0.2.2"), 1000.0 + RESTARTED_S, 7)
    assert texts(made.groups()) == {"192.0.2.2"}
    assert made.follow(["other.example"]) and not made.groups()


answers = st.one_of(
    st.sampled_from(("denied", "failed")).map(wrong),
    st.lists(st.sampled_from(("192.0.2.1", "192.0.2.2", "192.0.2.3")), max_size=3, unique=True).flatmap(
        lambda texts: st.integers(0, 7200).map(lambda ttl_s: had(*texts, ttl_s=ttl_s))
    ),
)


@patient
@given(st.lists(st.tuples(st.floats(1, 50_000), answers), max_size=20))
def test_whatever_comes_the_last_answer_is_in_the_set_and_the_rest_was_once(
    turns: list[tuple[float, Answers]],
) -> None:
    made, now_s, ever = book(), 1000.0, set[str]()
    for pause_s, answer in turns:
        now_s += pause_s
        made.take(answer, now_s, round(now_s))
        told = {str(ipaddress.ip_address(key)) for each in answer.values() for key in each.addresses}
        ever |= told
        assert told <= texts(made.groups()) <= ever
        assert now_s + min(FIRST_RETRY_S, LEAST_S) <= made.next_s() <= now_s + MOST_S
        kept = NameBook(made.kept(), now_s)
        assert kept.groups() == made.groups()


# -- what is kept ----------------------------------------------------------------------------------------


def test_names_are_kept_with_their_addresses_and_damaged_ones_are_not_taken(tmp_path: Path) -> None:
    lists = KeptLists(tmp_path)
    made = book(had("192.0.2.1"))
    kept = Kept(BY_NAME, made.groups(), names=made.kept(), fetched_ms=7)
    lists.keep("office", kept)
    assert dict(lists.every()) == {"office": kept}
    place = tmp_path / "office.list"
    whole = place.read_bytes()
    for old, new in ((b"192.0.2.1", b"192.0.2.7"), (b"192.0.2.1", b"192.0.2.x"), (b"[", b"{")):
        place.write_bytes(whole.replace(old, new, 1))
        assert not dict(lists.every())


# -- the model -------------------------------------------------------------------------------------------

UNFIT = (
    ({}, "set-incomplete"),
    ({"names": [WWW], "type": "port"}, "fetched-set"),
    ({"names": ["192.0.2.1"]}, "bad-host"),
    ({"names": ["bücher.example"]}, "bad-host"),
    ({"names": ["a..example"]}, "bad-host"),
    ({"names": [f"n{number}.example" for number in range(257)]}, "too-many"),
)


def test_what_cannot_be_asked_for_is_refused(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        for said, code in UNFIT:
            answer = router.api("PUT", "/sets/office", {"source": "dns", **said})
            assert answer.status_code == 422
            assert code in {item["code"] for item in answer.json["findings"]}, answer.json
        made = router.api("PUT", "/sets/office", {"source": "dns", "names": ["WWW.Example."]})
        assert made.json["names"] == [WWW]
        assert (
            router.api("PUT", "/set-entries/e1", {"set": "office", "value": "192.0.2.0/24"}).status_code
            == 201
        )
        assert router.api("PUT", "/set-entries/e2", {"set": "office", "value": "80"}).status_code == 422


def test_rules_look_at_entries_and_at_what_the_names_have() -> None:
    named = Set("office", source="dns", names=(WWW, "b.example"))
    rule = FirewallRule("f1", chain="forward", action="drop", source_set="office")
    document = Document([named, SetEntry("e1", "office", "192.0.2.0/24"), rule])
    assert not [item for item in validate_all(document) if item.path.startswith("set")]
    assert list(SETS.wanted(document)) == [Head("office", "ipv4_addr", 24)]
    (spec,) = FETCHED.wanted(document).values()
    assert spec.names == (WWW, "b.example") and spec.origin == BY_NAME
    rules = FIREWALL.wanted(document)
    assert {lookup.origin for rule in rules for lookup in rule.lookups} == {"", f"{WWW}, b.example"}
    heads = [
        Head("office", "ipv4_addr", 24),
        Head("office", "ipv4_addr", 32),
        Head("office", "ipv6_addr", 128),
    ]
    for known, wanted in (([], ["a4_24_office"]), (heads, ["a4_24_office", "a4_32_office", "a6_128_office"])):
        made = list(looked_up(rules, known))
        assert [lookup.set for rule in made for lookup in rule.lookups] == wanted
    other = Document([Set("office", source="dns", names=(WWW,)), rule])
    assert set(FIREWALL.wanted(other)) != set(rules)
