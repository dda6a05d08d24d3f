# SPDX-License-Identifier: Apache-2.0
"""Few rules go to the kernel by netlink: as nft reads them, all or none, and no more than few."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.test_decisions import random_firewall
from tests.agent.test_filter_rules import ACTIONS, MATCHES, OBJECTS, PREFIXES, rule
from weir.adapters import nft, nft_edits, nft_encoded, nft_numbers, nft_reread
from weir.backends.firewall import FirewallBackend, FirewallWanted, table_of
from weir.backends.sets import SetsBackend
from weir.kinds.firewall_rule import FirewallRule
from weir.model.document import Document
from weir.model.problem import ApplyFailed
from weir.parts.firewall import FIREWALL
from weir.parts.sets import SETS

CONFIGURATIONS = int(os.environ.get("WEIR_FIREWALLS", "12"))
COUNT = 2000


@pytest.fixture(autouse=True)
def namespace(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(nft, "_edits", True)
    name = f"weir-agent-test-{os.getpid()}-netlink-r"
    netns.create(name)
    try:
        with netns.inside(name):
            netns.run(["ip", "link", "add", "p1", "type", "veth", "peer", "name", "p2"])
            yield
    finally:
        netns.remove(name)


@pytest.fixture
def firewall() -> FirewallBackend:
    return FirewallBackend()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each transaction of the firewall, how many messages it was by netlink, 0 = nft did it."""
    found: list[int] = []
    send = nft.send

    def counting(edits: nft_edits.Edits, generation: int) -> bool:
        found.append(len(edits.messages))
        return send(edits, generation)

    def programs(argv: list[str], **said: object) -> str:
        if "-f" in argv:
            found.append(0)
        return run(argv, **said)

    run = nft.run
    monkeypatch.setattr(nft, "send", counting)
    monkeypatch.setattr(nft, "run", programs)
    return found


def wanted_of(document: Document, ports: tuple[str, ...] = ()) -> FirewallWanted:
    return FirewallWanted(FIREWALL.wanted(document), ports)


def brought(wanted: FirewallWanted, firewall: FirewallBackend) -> None:
    difference = firewall.diff(firewall.read(), wanted)
    if difference:
        firewall.apply(difference)
        firewall.verify(difference)


def with_sets(document: Document) -> None:
    """Beside those that are there."""
    sets = SetsBackend()
    difference = sets.diff(sets.read(), SETS.wanted(document))
    difference.gone = []
    sets.apply(difference)


def agrees_with_nft(wanted: FirewallWanted) -> bool:
    """By a listing of nft's, which also finds netlink's reading true."""
    nft.look_again()
    return nft.agree(nft.read_table(), table_of(wanted)) and nft._edits


def some_ports() -> list[tuple[str, ...]]:
    """Those that a flow table may have: none where the kernel has no flow tables."""
    try:
        nft.apply_text(
            "add table inet probe\n"
            "add flowtable inet probe f { hook ingress priority 0; devices = { p1 }; }\n"
            "delete table inet probe\n"
        )
    except ApplyFailed:
        return [()]
    return [(), ("p1",), ("p1", "p2")]


def many() -> list[FirewallRule]:
    """Each with a network, ports and a counter of its own."""
    return [
        rule(
            f"r{at}",
            position=at,
            source=(f"10.{at >> 8}.{at & 255}.0/24",),
            protocol="tcp",
            ports=("80", "443"),
        )
        for at in range(COUNT)
    ]


def test_each_rule_of_netlink_is_read_by_nft_as_it_was_meant(
    firewall: FirewallBackend, written: list[int]
) -> None:
    """Each alone: put in, and taken out with its counter and its chains."""
    rules = [rule(f"m{number}", **said) for number, said in enumerate(MATCHES)]
    rules += [rule(f"a{number}", source=PREFIXES, **said) for number, said in enumerate(ACTIONS)]
    rules += [rule(f"b{number}", source_set="bad", **said) for number, said in enumerate(ACTIONS)]
    plain = [rule("first", source=("192.0.2.0/24",)), rule("last", "accept")]
    with_sets(Document([*OBJECTS, *rules]))
    brought(wanted_of(Document([*OBJECTS, *plain])), firewall)
    by_netlink = 0
    for one in rules:
        for objects in ([*OBJECTS, *plain, one], [*OBJECTS, *plain]):
            written.clear()
            wanted = wanted_of(Document(objects))
            brought(wanted, firewall)
            by_netlink += bool(written and written[0])
            assert agrees_with_nft(wanted), one
    assert by_netlink > 1.5 * len(rules), "most need no nft"


def test_random_rules_become_others(firewall: FirewallBackend, written: list[int]) -> None:
    by_netlink = 0
    for number in range(CONFIGURATIONS):
        rng = random.Random(number)
        before, other = random_firewall(rng), random_firewall(rng)
        some = rng.sample([item for item in other if isinstance(item, FirewallRule)], 2)
        netns.run(["nft", "flush", "ruleset"])
        ports = rng.choice(some_ports())
        for document in (before, Document([*before, *some])):
            with_sets(document)
        brought(wanted_of(before, ports), firewall)
        written.clear()
        for document in (Document([*before, *some]), before):
            wanted = wanted_of(document, ports)
            brought(wanted, firewall)
            assert agrees_with_nft(wanted), number
        by_netlink += sum(map(bool, written))
    assert by_netlink > CONFIGURATIONS // 2


def test_one_of_many_rules_is_a_few_messages_and_no_program(
    firewall: FirewallBackend, written: list[int]
) -> None:
    """Two for the rule that goes and the one that comes, two for each set that it alone looks at, and one for
    a counter or chain that comes or goes; also where ports forward what rules let pass."""
    rules = many()
    for ports in some_ports():
        more = 10 if ports else 0  # the flow table, made again with the rules about who enters it
        before = rules
        brought(wanted_of(Document(before), ports), firewall)
        changes = {
            "another destination": (
                [*before[:9], replaced(before[9], destination=("192.0.2.1/32",)), *before[10:]],
                4,
            ),
            "one more": ([*before, rule("new", position=COUNT)], 2),
            "one less": ([*before[:9], *before[10:]], 4),
            "one moved to the end": ([*before[:9], *before[10:], replaced(before[9], position=COUNT)], 4),
            "a log": ([*before[:9], replaced(before[9], log=True), *before[10:]], 7),
        }
        for what, (after, most) in changes.items():
            for objects in (after, before):
                written.clear()
                brought(wanted_of(Document(objects), ports), firewall)
                assert len(written) == 1 and 0 < written[0] <= most + more, (what, written)
        assert agrees_with_nft(wanted_of(Document(before), ports))


@pytest.mark.parametrize("echo", [nft_numbers.ECHO, 0], ids=["told", "not told"])
def test_a_rule_that_came_is_read_back_where_it_stands(
    firewall: FirewallBackend, monkeypatch: pytest.MonkeyPatch, echo: int
) -> None:
    """Alone, where the kernel tells of it and others are around it; else with its whole chain."""
    whole: list[str] = []
    by_chain = nft_reread._handles

    def handles(link: Any, chain: str, rows: Any) -> Any:
        whole.append(chain)
        return by_chain(link, chain, rows)

    monkeypatch.setattr(nft_reread, "_handles", handles)
    monkeypatch.setattr(nft_numbers, "ECHO", echo)
    rules = [rule(f"r{at}", position=at, source=(f"10.0.{at}.0/24",)) for at in range(9)]
    brought(wanted_of(Document(rules)), firewall)
    for at, alone in ((4, True), (0, False), (8, False)):
        whole.clear()
        changed = [*rules[:at], replaced(rules[at], destination=("192.0.2.1/32",)), *rules[at + 1 :]]
        brought(wanted_of(Document(changed)), firewall)
        assert whole == ([] if alone and echo else ["forward"]), at
        assert agrees_with_nft(wanted_of(Document(changed)))
        brought(wanted_of(Document(rules)), firewall)


def test_a_rule_that_stands_elsewhere_than_it_should_is_not_read_back(firewall: FirewallBackend) -> None:
    """Nor one that says something else."""
    rules = [rule(f"r{at}", position=at, source=(f"10.0.{at}.0/24",)) for at in range(9)]
    wanted = table_of(wanted_of(Document([*rules[:4], rule("new", position=4), *rules[4:]])))
    brought(wanted_of(Document(rules)), firewall)
    held = nft.read_table()
    assert held is not None
    edits = nft_edits.edits_of(nft.commands(held, wanted), held)
    assert edits is not None and nft_edits.send(edits, nft.generation())
    read = nft_reread.read_back(edits, held)
    assert nft.agree(read, wanted)
    rows = edits.chains["forward"]
    rows[4], rows[5] = rows[5], rows[4]
    assert nft_reread.read_back(edits, held) is None
    rows[4], rows[5] = rows[5], rows[4]
    (new,) = edits.come
    other = new._replace(expressions=new.expressions[:-1])
    edits.come[:], rows[4] = [other], other
    assert nft_reread.read_back(edits, held) is None


def test_a_change_in_between_is_noticed(firewall: FirewallBackend, written: list[int]) -> None:
    rules = [rule(f"r{at}", position=at, source=(f"10.0.{at}.0/24",)) for at in range(9)]
    brought(wanted_of(Document(rules)), firewall)
    wanted = wanted_of(Document(rules[:-1]))
    difference = firewall.diff(firewall.read(), wanted)
    netns.run(["nft", "add", "rule", "inet", "weir", "forward", "accept"])
    written.clear()
    firewall.apply(difference)
    assert written == [0], "what was read is not what is there, so nft does it"
    with pytest.raises(ApplyFailed, match="forward"):
        firewall.verify(difference)
    brought(wanted, firewall)
    assert agrees_with_nft(wanted)
    more = wanted_of(Document(rules))
    difference = firewall.diff(firewall.read(), more)
    firewall.apply(difference)
    netns.run(["nft", "flush", "chain", "inet", "weir", "forward"])
    with pytest.raises(ApplyFailed, match="forward"):
        firewall.verify(difference)


def test_what_the_kernel_refuses_is_done_not_at_all(firewall: FirewallBackend, written: list[int]) -> None:
    """The rule names a set that is not there."""
    rules = [rule(f"r{at}", position=at, source=(f"10.0.{at}.0/24",)) for at in range(9)]
    before = wanted_of(Document([*OBJECTS, *rules]))
    brought(before, firewall)
    bad = wanted_of(Document([*OBJECTS, *rules[1:], rule("odd", source_set="one")]))
    written.clear()
    with pytest.raises(ApplyFailed, match="odd"):
        brought(bad, firewall)
    assert written[0] > 0, "it was tried by netlink"
    assert nft.agree(nft.read_table(), table_of(before))


def test_where_nft_reads_something_else_it_writes_from_then_on(
    firewall: FirewallBackend, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later version of nft may."""
    rules = [rule(f"r{at}", position=at, source=(f"10.0.{at}.0/24",)) for at in range(9)]
    encoded = nft_encoded.encoded
    monkeypatch.setattr(nft_edits, "encoded", lambda expressions: encoded(expressions[:-1]))
    brought(wanted_of(Document(rules[1:])), firewall)
    brought(wanted_of(Document(rules)), firewall)
    assert written[-1] > 0
    nft.look_again()
    nft.read_table()
    written.clear()
    brought(wanted_of(Document(rules)), firewall)
    assert written == [0]
    assert nft.agree(nft.read_table(), table_of(wanted_of(Document(rules))))


def replaced(one: FirewallRule, **said: Any) -> FirewallRule:
    return replace(one, **said)
