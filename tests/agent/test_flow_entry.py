# SPDX-License-Identifier: Apache-2.0
"""Which rules say that a connection enters the flow table, and that they are others each time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent.rig import lan, wan
from weir.adapters.nft_canonical import canonical
from weir.adapters.nft_commands import Chain, Table, commands, flow_reset
from weir.adapters.nft_encoded import encoded
from weir.adapters.nft_fields import NotKnown
from weir.adapters.nft_turns import TURN_MASK, without_turn
from weir.adapters.uplink_rules import MASK
from weir.backends.firewall import FirewallWanted, table_of
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import RAW, FirewallRule
from weir.model.document import Document
from weir.parts.firewall import FIREWALL

PORTS = ("lan0", "wan0")
ESTABLISHED = FirewallRule("old", "forward", "accept", position=0, ct_state=("established", "related"))
BAD = "203.0.113.0/24"


def rule(name: str = "bad", action: str = "drop", chain: str = "forward", **said: Any) -> FirewallRule:
    return FirewallRule(name, chain, action, **{"position": 5, **said})


def table(*rules: FirewallRule) -> Table:
    found = table_of(FirewallWanted(FIREWALL.wanted(Document([Firewall(), lan(), wan(), *rules])), PORTS))
    assert found is not None
    return found


def asks_for_both(*rules: FirewallRule) -> bool:
    """Whether the rule that enters connections looks at their mark."""
    (entering,) = (made for made in table(*rules).chains["forward"].rules if '"flow"' in str(made))
    return '"mark"' in str(entering)


REFUSING = {
    "of a source": [rule(source=(BAD,))],
    "of all states": [rule(source=(BAD,), ct_state=("new", "established"))],
    "rejected": [rule(action="reject", destination=(BAD,))],
    "in a chain": [rule("to", "jump", jump_to="own"), rule(chain="own", source=(BAD,))],
    "in a chain of a chain, which comes back": [
        rule("to", "jump", jump_to="one"),
        rule("on", "jump", "one", jump_to="two"),
        rule("back", "jump", "two", jump_to="one"),
        rule(chain="two", source=(BAD,)),
    ],
    "before tracking": [rule(chain=RAW, source=(BAD,))],
    "before tracking, and all that is established": [ESTABLISHED, rule(chain=RAW, source=(BAD,))],
    "tracked no more": [rule(action="notrack", chain=RAW, protocol="udp")],
    "in a chain before tracking": [
        rule("to", "jump", RAW, jump_to="own"),
        rule(chain="own", source=(BAD,)),
    ],
}
LETTING = {
    "none": [],
    "new ones only": [rule(source=(BAD,), ct_state=("new", "invalid"))],
    "behind all that is established": [ESTABLISHED, rule(source=(BAD,))],
    "before tracking, of other protocols": [rule(chain=RAW, protocol="gre")],
    "accepting before tracking": [rule(action="accept", chain=RAW, source=(BAD,))],
    "accepting": [rule(action="accept", source=(BAD,))],
    "of what comes to the router": [rule(chain="input", source=(BAD,))],
    "in a chain that forwarded packets do not come to": [
        rule("to", "jump", "input", jump_to="own"),
        rule(chain="own", source=(BAD,)),
    ],
}


@pytest.mark.parametrize("rules", REFUSING.values(), ids=REFUSING)
def test_both_directions_have_to_pass_a_rule_that_may_refuse_one(rules: list[FirewallRule]) -> None:
    assert asks_for_both(*rules)


@pytest.mark.parametrize("rules", LETTING.values(), ids=LETTING)
def test_one_direction_is_enough_where_no_rule_ends_a_connection(rules: list[FirewallRule]) -> None:
    assert not asks_for_both(*rules)


def numbers(steps: list[dict[str, Any]]) -> set[int]:
    """That rules write into marks, and look for; each command is one that netlink can say, too."""
    found = set()
    for step in steps:
        made = next(iter(step.values())).get("rule", {}).get("expr", ())
        for expression in made:
            if "mark" in json.dumps(expression):
                encoded(made)
                found.add(expression["match"]["right"] if "match" in expression else _set(expression))
    return found


def _set(expression: dict[str, Any]) -> int:
    kept, number = expression["mangle"]["value"]["|"]
    assert kept["&"][1] == 0xFFFFFFFF ^ TURN_MASK
    return int(number)


def test_a_mark_of_an_earlier_flow_table_says_nothing() -> None:
    """What is there, with the handles that the kernel gave, is made again with another number each time."""
    wanted = table(*REFUSING["of a source"])
    chain = wanted.chains["forward"]
    numbered = Chain(*_said(chain), handles=tuple(range(2, 2 + len(chain.rules))))
    held = Table({**wanted.chains, "forward": numbered}, PORTS, wanted.counters)
    made = [numbers(commands(None, wanted)), *(numbers(flow_reset(held)) for _ in range(20))]
    assert all(len(turns) == 1 for turns in made), "what writes it and what looks for it agree"
    turns = set.union(*made)
    assert len(turns) == len(made)
    assert all(turn and turn & TURN_MASK == turn and not turn & MASK for turn in turns)
    assert commands(held, wanted) == []


def _said(chain: Chain) -> tuple[Any, ...]:
    return chain.name, chain.type, chain.hook, chain.priority, chain.policy, chain.rules


MARK = {"ct": {"key": "mark"}}


@pytest.mark.parametrize(
    "expression",
    [
        {"mangle": {"key": {"tcp option": {"name": "maxseg", "field": "size"}}, "value": 1432}},
        {"mangle": {"key": MARK, "value": 7}},
        {"mangle": {"key": MARK, "value": {"|": [MARK, 7]}}},
        {"mangle": {"key": MARK, "value": {"|": [{"&": [MARK, 7]}, 1, 2]}}},
        {"mangle": {"key": MARK, "value": {"|": [{"&": [MARK, 7]}, 1]}}},
        {"mangle": {"key": MARK, "value": {"|": [{"&": [MARK, "x"]}, 1]}}},
        {"match": {"op": "==", "left": {"ct": {"key": "direction"}}, "right": 5}},
        {"match": {"op": "<", "left": {"&": [MARK, 7]}, "right": 1}},
        {"match": {"op": "==", "left": {"&": [MARK, 7]}, "right": "x"}},
        {"match": {"op": "==", "left": {"&": [MARK]}, "right": 1}},
    ],
)
def test_another_form_is_left_to_nft(expression: dict[str, Any]) -> None:
    """Such as how much fits into a packet, which a rule writes elsewhere."""
    without_turn(expression)
    with pytest.raises(NotKnown):
        encoded([expression])


def written(kept: int, number: int) -> str:
    return canonical({"mangle": {"key": MARK, "value": {"|": [{"&": [MARK, kept]}, number]}}})


def test_rules_are_compared_without_their_number_and_with_all_else() -> None:
    """nft 1.0.6 shows the bits that are set among those that are kept, others do not."""
    rest = 0xFFFFFFFF ^ TURN_MASK
    assert written(rest, 0x100) == written(rest | 0x7700, 0x7700) == written(rest, 0)
    assert written(rest, 0x100) != written(rest & ~1, 0x100)
