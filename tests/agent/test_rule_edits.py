# SPDX-License-Identifier: Apache-2.0
"""What is said to nft for a change of a few rules among thousands."""

from __future__ import annotations

import random

import pytest

from weir.adapters.nft_commands import MOST_EDITS, Chain, Command, Rule, Table, commands

COUNT = 2000


def rule(number: int) -> Rule:
    return (f"f{number}", (f'{{"counter":"r_f{number}"}}', '{"drop":null}'))


def table(rules: list[Rule], *, is_held: bool = False) -> Table:
    handles = tuple(range(10, 10 + len(rules))) if is_held else ()
    chain = Chain("forward", "filter", "forward", 0, "accept", tuple(rules), handles)
    return Table({"forward": chain}, (), frozenset())


def done(held: Table, steps: list[Command]) -> list[str]:
    """The comments of the rules after the steps, as nft does them."""
    chain = held.chains["forward"]
    rows = list(zip(chain.handles, (comment for comment, _ in chain.rules), strict=True))
    for step in steps:
        ((verb, what),) = step.items()
        said = what.get("rule") or what["chain"]
        match verb:
            case "flush":
                rows.clear()
            case "delete":
                rows.remove(next(row for row in rows if row[0] == said["handle"]))
            case "add":
                rows.append((0, said["comment"]))
            case "insert":
                before = next(at for at, row in enumerate(rows) if row[0] == said["handle"])
                rows.insert(before, (0, said["comment"]))
    return [comment for _, comment in rows]


@pytest.mark.parametrize("place", [0, 1, COUNT // 2, COUNT - 1])
def test_a_change_of_one_rule_is_one_rule(place: int) -> None:
    rules = [rule(number) for number in range(COUNT)]
    changed = [*rules[:place], rule(9999), *rules[place + 1 :]]
    for wanted, most in ((changed, 2), ([*rules[:place], *rules[place + 1 :]], 1)):
        held = table(rules, is_held=True)
        steps = commands(held, table(wanted))
        assert len(steps) == most
        assert done(held, steps) == [comment for comment, _ in wanted]
    held = table(rules, is_held=True)
    more = [*rules[:place], rule(9999), *rules[place:]]
    steps = commands(held, table(more))
    assert len(steps) == 1 and done(held, steps) == [comment for comment, _ in more]


def test_any_change_leads_to_what_is_wanted() -> None:
    rng = random.Random(7)
    for _ in range(300):
        old = [rule(number) for number in rng.sample(range(12), rng.randrange(10))]
        new = [rule(number) for number in rng.sample(range(12), rng.randrange(10))]
        held = table(old, is_held=True)
        assert done(held, commands(held, table(new))) == [comment for comment, _ in new]


@pytest.mark.parametrize(("place", "to"), [(3, COUNT - 5), (COUNT - 5, 3), (0, COUNT - 1), (COUNT - 1, 0)])
def test_a_move_of_one_rule_moves_no_other(place: int, to: int) -> None:
    rules = [rule(number) for number in range(COUNT)]
    moved = [*rules[:place], *rules[place + 1 :]]
    moved.insert(to, rules[place])
    held = table(rules, is_held=True)
    steps = commands(held, table(moved))
    assert len(steps) == 2
    assert done(held, steps) == [comment for comment, _ in moved]


def test_where_much_differs_a_chain_is_filled_again() -> None:
    rules = [rule(number) for number in range(COUNT)]
    others = [rule(number + COUNT) for number in range(MOST_EDITS)]
    steps = commands(table(rules, is_held=True), table([rules[0], *others, rules[-1]]))
    assert "flush" in steps[0] and len(steps) == 1 + 2 + len(others)
    assert len(commands(table(rules), table([*rules, rule(9999)]))) == COUNT + 2, "no handles are known"
