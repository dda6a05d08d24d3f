# SPDX-License-Identifier: Apache-2.0
"""Limits of each source in firewall rules, by connections and packets through a router."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.ends import INSIDE, OUTSIDE, three_ends
from tests.agent.test_parts import configured
from tests.polling import until
from weir.agent.configuration import Configuration
from weir.agent.explain import explain_object
from weir.backends.firewall import FirewallBackend
from weir.backends.sets import SetsBackend
from weir.backends.sets_learnt import learn_rules
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.source_limit import OVER, WITHIN, SourceLimit
from weir.model.document import Change
from weir.parts.registry import PARTS
from weir.parts.sets import SETS

SERVER = OUTSIDE[0]
ONE, NEAR, OTHER, LAST = "10.64.0.2", "10.64.0.77", "10.64.1.2", "10.64.2.2"
"""Two of one /24, and two of others."""


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[str, str, str]]:
    with three_ends("limits") as names:
        assert {ONE, NEAR, OTHER, LAST} <= set(INSIDE)
        yield names


class Limited:
    """A router with rules, a UDP server behind it, and the connections that were opened to it."""

    def __init__(self, configuration: Configuration, ends: tuple[str, str, str], stack: ExitStack) -> None:
        self._configuration, self._stack = configuration, stack
        self.router, self._inside, outside = ends
        self._server = stack.enter_context(bound(outside, SERVER))
        self._server.settimeout(0.05)
        self._revision = 0
        self._sent = 0

    def commit(self, *changes: tuple[FirewallRule | None, FirewallRule | None]) -> None:
        before, self._revision = self._revision, self._revision + 1
        found = [Change("firewall-rule", (new or old).id, old, new) for old, new in changes]  # type: ignore[union-attr]
        with netns.inside(self.router):
            self._configuration.apply(before, self._revision, found)
            self._configuration._settled(self._configuration.following.judge(None))

    def passes(self, sender: socket.socket) -> bool:
        """Whether a packet gets there: before `sendto` returns, as all of it is one machine's stack."""
        self._sent += 1
        words = str(self._sent).encode()
        sender.sendto(words, self._server.getsockname())
        try:
            while self._server.recv(64) != words:
                pass
        except TimeoutError:
            return False
        return True

    def opened(self, source: str) -> socket.socket | None:
        """A connection that got through, or None."""
        sender = self._stack.enter_context(bound(self._inside, source))
        return sender if self.passes(sender) else None

    def opens(self, source: str, count: int) -> int:
        """How many of so many new connections get through."""
        return sum(self.opened(source) is not None for _ in range(count))

    def state(self, name: str) -> dict[str, Any]:
        with netns.inside(self.router):
            heads = self._configuration.compiled.of(SETS)
            found = learn_rules(lambda: heads, self._configuration.executor.firewall.counted)([name])
            return found[name]

    def explained(self, name: str) -> Any:
        with netns.inside(self.router):
            return explain_object(self._configuration, "firewall-rule", name)

    def drift(self) -> Any:
        with netns.inside(self.router):
            self._configuration.reconcile(("firewall",))
        return self._configuration.drift.to_json()


Running = Callable[..., Any]


@pytest.fixture
def running(tmp_path: Path, ends: tuple[str, str, str]) -> Running:
    @contextmanager
    def found(*rules: FirewallRule) -> Iterator[Limited]:
        with netns.inside(ends[0]):
            netns.run(["nft", "flush ruleset"])
            netns.run(["conntrack", "-F"])
            backends = {"firewall": FirewallBackend(), "sets": SetsBackend()}
            with configured(tmp_path, PARTS, **backends) as configuration, ExitStack() as stack:
                router = Limited(configuration, ends, stack)
                router.commit(*((None, rule) for rule in rules))
                yield router

    return found


def limited(name: str, action: str, limit: SourceLimit, position: int = 0, **said: Any) -> FirewallRule:
    return FirewallRule(name, "forward", action, position, protocol="udp", source_limit=limit, **said)


def test_a_source_has_so_many_connections_at_once_and_others_have_their_own(running: Running) -> None:
    with running(limited("few", "drop", SourceLimit(connections=3))) as router:
        first = [router.opened(ONE) for _ in range(3)]
        assert all(first) and router.opens(ONE, 2) == 0
        assert all(router.passes(one) for one in first), "those that exist go on"
        assert router.opens(NEAR, 4) == 3 and router.opens(OTHER, 4) == 3
        state = router.state("few")
        assert (state["packets"], state["sources"]) == (4, 3), "what is over the limit, and who is counted"
        assert router.explained("few")["agrees"] and not router.drift()


def test_a_connection_that_ends_makes_room_for_another(running: Running) -> None:
    with running(limited("few", "drop", SourceLimit(connections=2))) as router:
        assert router.opens(ONE, 3) == 2
        with netns.inside(router.router):
            netns.run(["conntrack", "-D", "-s", ONE])
        assert router.opens(ONE, 3) == 2


def test_what_accepts_within_the_limit_leaves_the_rest_to_the_next_rules(running: Running) -> None:
    rules = (
        FirewallRule("known", "forward", "accept", 1, ct_state=("established",)),
        limited("few", "accept", SourceLimit(WITHIN, connections=2), 2),
        FirewallRule("rest", "forward", "drop", 3, protocol="udp"),
    )
    with running(*rules) as router:
        assert router.opens(ONE, 4) == 2 and router.opens(OTHER, 1) == 1
        assert (router.state("few")["packets"], router.state("rest")["packets"]) == (3, 2)
        assert router.state("rest")["sources"] is None


@pytest.mark.parametrize(("match", "action"), [(OVER, "drop"), (WITHIN, "accept")])
def test_packets_of_a_source_pass_at_its_rate(running: Running, match: str, action: str) -> None:
    rule = limited("slow", action, SourceLimit(match, rate=1, per="hour", burst=4), 1)
    with running(rule, FirewallRule("rest", "forward", "accept" if match == OVER else "drop", 2)) as router:
        one = router.opened(ONE)
        assert one is not None
        assert [router.passes(one) for _ in range(5)] == [True] * 3 + [False] * 2
        assert router.opens(OTHER, 6) == 4
        assert router.state("slow")["sources"] == 2


def test_a_rate_that_comes_again_lets_packets_pass_again(running: Running) -> None:
    with running(limited("slow", "drop", SourceLimit(rate=20, burst=1))) as router:
        one = router.opened(ONE)
        assert one is not None and not router.passes(one)
        until("a packet passes after 50 ms", lambda: router.passes(one))


@pytest.mark.parametrize(("match", "action"), [(OVER, "drop"), (WITHIN, "accept")])
@pytest.mark.parametrize("said", [{"connections": 5}, {"rate": 1, "per": "hour", "burst": 5}])
def test_a_source_that_finds_no_place_is_over_its_limit(
    running: Running, match: str, action: str, said: dict[str, Any]
) -> None:
    """Nobody gets past a limit by filling the set with addresses."""
    rule = limited("full", action, SourceLimit(match, most_sources=2, **said), 1)
    with running(rule, FirewallRule("rest", "forward", "accept" if match == OVER else "drop", 2)) as router:
        assert [router.opens(source, 1) for source in (ONE, OTHER, LAST, NEAR)] == [1, 1, 0, 0]
        assert router.opens(ONE, 5) == 4, "who has a place is counted on"
        assert router.state("full")["sources"] == 2


def test_both_limits_hold_and_a_log_tells_what_is_over_them(running: Running) -> None:
    limit = SourceLimit(connections=3, rate=1, per="hour", burst=5, ipv4_length=24)
    rule = limited("both", "reject", limit, log=True, rate_per_s=1000, burst=100)
    with running(rule) as router:
        assert router.opens(ONE, 2) + router.opens(NEAR, 3) == 3, "they are one source, by 24 bits"
        with netns.inside(router.router):
            netns.run(["conntrack", "-F"])
        assert router.opens(ONE, 4) == 2, "and of these five packets were new"
        assert router.state("both")["sources"] == 2, "one in each set"


def test_who_has_how_many_is_known_under_any_other_change(running: Running) -> None:
    rule = limited("few", "drop", SourceLimit(connections=2))
    with running(rule) as router:
        assert router.opens(ONE, 3) == 2
        other = FirewallRule("other", "forward", "drop", 5, protocol="tcp")
        router.commit((None, other))
        changed = replace(rule, comment="why", destination=(f"{SERVER}/32",), log=True)
        router.commit((rule, changed), (other, None))
        assert router.opens(ONE, 2) == 0 and router.opens(OTHER, 1) == 1
        assert router.state("few")["packets"] == 3, "its counter goes on, too"
        more = replace(changed, source_limit=SourceLimit(connections=3))
        router.commit((changed, more))
        assert router.opens(ONE, 5) == 3, "with another number they are counted from then on"
        assert router.explained("few")["agrees"] and not router.drift()
        router.commit((more, replace(more, disabled=True)))
        with netns.inside(router.router):
            assert "set " not in netns.run(["nft", "list", "ruleset"]), "no set is left"
        assert router.explained("few")["agrees"]


def test_what_is_missing_of_a_limit_is_drift_and_is_made_again(running: Running) -> None:
    with running(limited("few", "drop", SourceLimit(connections=2))) as router:
        with netns.inside(router.router):
            netns.run(["nft", "flush chain inet weir x0_few_4_0"])
            assert not router.explained("few")["agrees"]
            router._configuration.reconcile(("firewall",))
        assert router.opens(ONE, 3) == 2
