# SPDX-License-Identifier: Apache-2.0
"""What a change of firewall rules, or of sets that they look at, says of sessions."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from weir.backends.rule_effects import entries_judged, judged_otherwise
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.source_limit import SourceLimit
from weir.model.document import Change, Document
from weir.model.objects import TimeWindow
from weir.parts.effect import Effect, Sessions
from weir.parts.firewall import FIREWALL


class Looking(SimpleNamespace):
    """Notes for which prefixes sessions are counted; there are as many as prefixes."""

    asked: list[list[str]]

    def sessions(self, networks: Any) -> Sessions:
        self.asked.append(list(networks))
        return Sessions(len(self.asked[-1]), True)


def effects(before: list[Any], after: list[Any], *changed: str, kind: str = "firewall-rule") -> list[Effect]:
    delta = FIREWALL.delta(FIREWALL.wanted(Document(before)), FIREWALL.wanted(Document(after)))
    return list(judged_otherwise(delta, Looking(changed=[(kind, name) for name in changed], asked=[])))


def test_a_rule_that_refuses_is_said_to_drop_the_sessions_of_its_prefixes() -> None:
    drop = FirewallRule("d", "forward", "drop", source=("192.0.2.7/32",))
    (found,) = effects([], [drop], "d")
    assert (found.id, found.severity, found.sessions) == ("d", "drops-sessions", Sessions(1, True))
    assert effects([], [FirewallRule("d", "forward", "drop", ct_state=("new",))], "d") == []
    accept = FirewallRule("a", "forward", "accept", source=("192.0.2.7/32",))
    assert effects([], [accept], "a") == []
    assert effects([drop], [], "d") == []
    (lost,) = effects([accept, drop], [drop], "a")
    assert lost.id == "a" and "behind it" in lost.text
    night = TimeWindow(0, 360, ("mon",))
    (found,) = effects([], [replace(drop, time=night)], "d")
    assert found.text.endswith("end, in its hours")
    (lost,) = effects([accept, drop], [replace(accept, time=night), drop], "a")
    assert lost.text.endswith("may refuse its sessions, outside its hours")


def test_a_limit_of_connections_ends_none_that_exists() -> None:
    few, slow = SourceLimit(connections=3), SourceLimit(rate=3)
    assert effects([], [FirewallRule("d", "forward", "drop", source_limit=few)], "d") == []
    (found,) = effects([], [FirewallRule("d", "forward", "drop", source_limit=slow)], "d")
    assert found.severity == "drops-sessions"


def test_a_rule_that_is_several_in_nftables_is_judged_as_one() -> None:
    rule = FirewallRule("d", "forward", "drop", source=("192.0.2.0/24",), log=True)
    (found,) = effects([], [rule], "d")
    assert found.sessions == Sessions(1, True), "its prefix is in another line than its verdict"
    assert effects([], [replace(rule, ct_state=("new",))], "d") == []
    assert effects([rule], [], "d") == [], "the jump to its verdict lets nothing pass"


def test_a_rule_drops_the_sessions_of_what_it_refuses_beyond_before() -> None:
    rule = FirewallRule("d", "forward", "drop", source=("192.0.2.0/24", "198.51.100.0/24"))
    other = FirewallRule("z", "forward", "drop", position=9, destination=("203.0.113.0/24",))
    more = replace(rule, source=(*rule.source, "10.0.0.0/8", "10.1.0.0/16"))
    (found,) = effects([rule], [more], "d")
    assert found.sessions == Sessions(2, True)
    assert effects([more], [rule], "d") == []
    assert effects([rule], [replace(rule, comment="why"), other], "d") == []
    (whole,) = effects([rule], [replace(rule, source=())], "d")
    assert whole.sessions == Sessions(2, True), "both families, all of them"


def test_a_rule_that_moves_behind_another_is_said_to_drop_sessions() -> None:
    accept = FirewallRule("a", "forward", "accept", 1, protocol="tcp")
    drop = FirewallRule("d", "forward", "drop", 2)
    assert [found.id for found in effects([accept, drop], [replace(accept, position=3), drop], "a")] == ["a"]
    assert effects([accept, drop], [replace(accept, position=0), drop], "a") == []


def test_which_rules_have_moved_is_found_in_any_two_orders() -> None:
    rng = random.Random(7)
    chains = {f"r{n}": ("forward", "input")[n % 2] for n in range(8)}
    refusing = FirewallRule("z", "forward", "drop", 100)
    for _ in range(300):
        before, after = (
            [
                FirewallRule(name, chains[name], "accept", position=rng.randrange(9), protocol="tcp")
                for name in rng.sample(list(chains), 7)
            ]
            for _ in range(2)
        )
        both = {rule.id for rule in before} & {rule.id for rule in after}
        said = {effect.id for effect in effects([*before, refusing], [*after, refusing], *both)}
        assert said == {name for name in both if earlier(before, name, both) != earlier(after, name, both)}


def earlier(order: list[FirewallRule], name: str, both: set[str]) -> set[str]:
    """Which rules that stay come before one in its chain."""
    own = next(rule for rule in order if rule.id == name)
    place = (own.position, own.id)
    return {
        rule.id
        for rule in order
        if rule.chain == own.chain and rule.id in both and (rule.position, rule.id) < place
    }


def test_sessions_of_thousands_of_rules_are_not_counted_for_each() -> None:
    rules = [
        FirewallRule(f"r{n}", "forward", "drop", source=(f"10.0.{n >> 8}.{n & 255}/32",)) for n in range(2000)
    ]
    looking = Looking(changed=[("firewall-rule", rule.id) for rule in rules], asked=[])
    delta = FIREWALL.delta(FIREWALL.wanted(Document([])), FIREWALL.wanted(Document(rules)))
    found = list(judged_otherwise(delta, looking))
    assert len(found) == 2000 and {effect.severity for effect in found} == {"drops-sessions"}
    assert len(looking.asked) == 20


def test_a_service_is_said_to_drop_what_the_rules_that_name_it_refuse() -> None:
    rule = FirewallRule("d", "forward", "drop", service="s")
    services = [Service("s", ("80",)), Service("s", ("80", "443"))]
    (found,) = effects([services[0], rule], [services[1], rule], "s", kind="service")
    assert (found.kind, found.id, found.severity) == ("service", "s", "drops-sessions")


def entry_effects(document: list[Any], *changes: tuple[SetEntry | None, SetEntry | None]) -> list[Effect]:
    made = [Change("set-entry", (old or new).id, old, new) for old, new in changes]  # type: ignore[union-attr]
    before = Document([*document, *(old for old, _ in changes if old)])
    after = Document([*document, *(new for _, new in changes if new)])
    rules = FIREWALL.wanted(before), FIREWALL.wanted(after)
    return list(entries_judged(made, *rules, Looking(asked=[]).sessions))


def test_entries_are_said_to_drop_the_sessions_that_rules_refuse_by_them() -> None:
    document = [Set("bad"), Set("good"), Set("unused")]
    document += [FirewallRule("a", "forward", "accept", 1, source_set="good")]
    document += [FirewallRule("d", "forward", "drop", 2, source_set="bad")]
    bad, good = SetEntry("e", "bad", "192.0.2.0/24"), SetEntry("g", "good", "192.0.2.0/24")
    assert [(found.id, found.sessions) for found in entry_effects(document, (None, bad))] == [
        ("e", Sessions(1, True))
    ]
    assert entry_effects(document, (bad, None)) == []
    assert entry_effects(document, (None, good)) == []
    assert entry_effects(document, (good, None)) == [], "no rule refuses by an empty set"
    (lost,) = entry_effects([*document, FirewallRule("r", "forward", "drop", 3)], (good, None))
    assert lost.id == "g" and "behind it" in lost.text
    assert entry_effects(document, (None, replace(bad, set="unused"))) == []
    assert entry_effects(document, (None, replace(bad, disabled=True))) == []
    assert entry_effects(document, (bad, replace(bad, comment="why"))) == []


def test_of_thousands_of_entries_it_is_not_known_how_many_sessions_they_drop() -> None:
    document = [Set("bad"), FirewallRule("d", "forward", "drop", source_set="bad")]
    entries = [SetEntry(f"e{n}", "bad", f"10.{n >> 8}.{n & 255}.0/24") for n in range(3000)]
    found = entry_effects(document, *((None, entry) for entry in entries))
    assert len(found) == 1000 and {effect.sessions for effect in found} == {None}
