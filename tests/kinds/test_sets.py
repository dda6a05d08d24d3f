# SPDX-License-Identifier: Apache-2.0
"""Sets and their entries: what is accepted, what the kernel is asked for, and what a change of one costs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.toys import Toy, toy
from tests.model.strategies import patient
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.source_limit import SourceLimit
from weir.model.document import Change, Document
from weir.model.members import form_of, parse_member
from weir.model.problem import Invalid
from weir.parts.sets import SETS, Head, text_of

SETS_OF_EACH_TYPE = (
    Set("blocked"),
    Set("web", "port"),
    Set("inside", "interface"),
    Set("phones", "mac"),
    Set("off", disabled=True),
    Set("seen", source="dynamic", timeout_s=60, max_entries=100),
)
VALUES = {
    "blocked": ["192.0.2.0/24", "192.0.2.7/32", "2001:db8::/32", "10.0.0.0/8", "2001:db8::1/128"],
    "web": ["80", "443", "8000-8003", "8002-8005"],
    "inside": ["lan0", "lan0.7"],
    "phones": ["02:00:00:00:00:01", "02:00:00:00:00:02"],
    "off": ["192.0.2.0/24"],
}


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as found:
        for item in ("blocked", "web"):
            type_ = "port" if item == "web" else "address"
            assert found.api("PUT", f"/sets/{item}", {"type": type_}).status_code == 201
        yield found


@pytest.mark.parametrize(
    ("given_value", "canonical", "form"),
    [
        ("192.0.2.7", "192.0.2.7/32", "address"),
        ("2001:DB8::/32", "2001:db8::/32", "address"),
        ("0443", "443", "port"),
        ("5000-5010", "5000-5010", "port"),
        ("7-7", "7", "port"),
        ("02-00-00-00-00-AA", "02:00:00:00:00:aa", "mac"),
        ("lan0.7", "lan0.7", "interface"),
    ],
)
def test_a_value_has_one_canonical_text_and_a_form(given_value: str, canonical: str, form: str) -> None:
    assert parse_member(given_value) == canonical
    assert form_of(canonical) == form
    assert parse_member(canonical) == canonical


@pytest.mark.parametrize(
    "value",
    ["", "0", "65536", "9-8", "192.0.2.1/24", "2001:db8::/129", "a b", 7.5, None, "\ud800", ["x"], "x" * 65],
)
def test_what_no_set_can_hold_is_refused_by_name(router: Toy, value: object) -> None:
    with pytest.raises(Invalid):
        parse_member(value)
    answer = router.api("POST", "/set-entries", {"set": "blocked", "value": value})
    assert answer.status_code == 422, answer.json
    assert any("value" in (item["field"] or "") for item in answer.json["findings"]), answer.json


def test_an_entry_fits_its_set_and_a_set_with_entries_stays(router: Toy) -> None:
    wrong = router.api("POST", "/set-entries", {"set": "web", "value": "192.0.2.0/24"})
    assert wrong.status_code == 422 and wrong.json["findings"][0]["code"] == "wrong-type"
    assert router.api("POST", "/set-entries", {"set": "nowhere", "value": "80"}).status_code == 422
    made = router.api("POST", "/set-entries", {"set": "blocked", "value": "192.0.2.9"})
    assert made.status_code == 201 and made.json["value"] == "192.0.2.9/32"
    etag = router.api("GET", "/sets/blocked").json["etag"]
    changed = router.api("PUT", "/sets/blocked", {"source": "dynamic"}, etag=etag)
    assert changed.status_code == 422 and changed.json["findings"][0]["code"] == "set-has-entries"
    gone = router.api("DELETE", "/sets/blocked", etag=etag)
    assert gone.status_code == 422 and "192.0.2.9/32" in gone.text
    assert "192.0.2.9/32" in router.weir("set-entry", "list")


def test_a_disabled_set_and_one_that_learns_hold_nothing_configured() -> None:
    wanted = SETS.wanted(Document([*SETS_OF_EACH_TYPE, SetEntry("e1", "off", "192.0.2.0/24")]))
    assert {head.name for head in wanted} == {"d4_60_100_seen", "d6_60_100_seen"}
    assert not any(wanted.values())


def test_keys_are_those_of_packets() -> None:
    found = SETS.wanted(Document([*SETS_OF_EACH_TYPE, SetEntry("e1", "blocked", "192.0.2.0/24")]))
    assert found[Head("blocked", "ipv4_addr", 24)] == {bytes((192, 0, 2, 0)): 1}


@patient
@given(st.randoms(use_true_random=False))
def test_changes_lead_where_the_whole_document_does(rng: random.Random) -> None:
    document = Document(SETS_OF_EACH_TYPE)
    state = SETS.wanted(document)
    for _ in range(30):
        name = f"e{rng.randrange(8)}"
        in_set = rng.choice([*VALUES])
        new = None if rng.random() < 0.3 else SetEntry(name, in_set, rng.choice(VALUES[in_set]))
        change = Change("set-entry", name, document.get("set-entry", name), new)
        changes = [change] if change.old or new else []
        if rng.random() < 0.3:
            item = rng.choice(list(document.every(Set)))
            other = replace(item, disabled=rng.random() < 0.5, comment="why", timeout_s=rng.choice((60, 90)))
            changes.append(Change("set", item.id, item, other))
        if rng.random() < 0.3:
            old = document.get("firewall-rule", "f1")
            limit = rng.choice((None, SourceLimit(connections=3), SourceLimit(connections=3, rate=7)))
            rule = FirewallRule("f1", "forward", "drop", source_limit=limit, disabled=rng.random() < 0.3)
            changes.append(Change("firewall-rule", "f1", old, rng.choice((rule, rule, old and None))))
            changes = [change for change in changes if change.old or change.new]
        document.apply(changes)
        before = state
        state, delta = SETS.moved(before, document, changes)
        assert state == SETS.wanted(document)
        assert SETS.applied(state, delta.inverse()) == before
        whole = SETS.delta(before, state)
        assert {
            (c.head, frozenset(c.added), frozenset(c.removed), c.made, c.gone) for c in delta.changes
        } == {(c.head, frozenset(c.added), frozenset(c.removed), c.made, c.gone) for c in whole.changes}
        assert len(list(SETS.made(delta))) + len(list(SETS.removed(delta))) >= len(delta.changes)


def test_a_set_that_changes_costs_no_other_set_its_entries() -> None:
    entries = [SetEntry(f"e{number}", "blocked", f"10.0.{number}.0/24") for number in range(200)]
    document = Document([Set("blocked"), *entries])
    before = SETS.wanted(document)
    for old, new in ((None, Set("new")), (Set("blocked"), Set("blocked", comment="why"))):
        change = Change("set", new.id, old, new)
        document.apply([change])
        after, delta = SETS.moved(before, document, [change])
        assert not delta and all(after[head] is values for head, values in before.items())


def test_a_step_says_the_value() -> None:
    assert text_of(Head("x", "ipv6_addr", 32), bytes.fromhex("20010db8" + "00" * 12)) == "2001:db8::/32"
    assert text_of(Head("x", "inet_service"), b"\x01\xbb") == "443"
    assert text_of(Head("x", "ether_addr"), bytes.fromhex("020000000001")) == "02:00:00:00:00:01"
    assert text_of(Head("x", "ifname"), b"lan0".ljust(16, b"\0")) == "lan0"
