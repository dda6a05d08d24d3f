# SPDX-License-Identifier: Apache-2.0
"""Two customers with the same address behind two interfaces: real traffic, each with a limit of its own.

Which of them a packet to that address is for is the kernel's to know: here by a rule for the sender.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent import traffic
from tests.agent.rig import Rig, lan, running, wan
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue

LIMITS_BPS = {"first": 4_000_000, "second": 1_500_000}
FAR = {"first": "203.0.113.1", "second": "203.0.113.9"}
"""With whom each of them talks."""


@pytest.fixture(scope="module")
def clients() -> Iterator[tuple[Rig, dict[str, str]]]:
    with running() as rig:
        second = f"{rig.name}-s"
        netns.create(second)
        rig.cable("lan1", second, "c1")
        netns.ip(second, ["addr add 10.64.0.2/24 dev c1", "route add default via 10.64.0.1"])
        netns.ip(rig.internet, ["addr add 203.0.113.9/24 dev i0", "route add 10.64.0.0/16 via 203.0.113.2"])
        rig.commit(
            lan(),
            Interface("lan1", "lan", ("10.64.0.1/24",), domain=2),
            wan(),
            Firewall(drop_new_from_wan=False, masquerade=False),
            Queue("first", "first", ("10.64.0.2/32",), max_limit_bps=both("first")),
            Queue("second", "second", ("10.64.0.0/24@2",), max_limit_bps=both("second")),
        )
        netns.ip(
            rig.router,
            ["route add 10.64.0.0/24 dev lan1 table 100", "rule add from 203.0.113.9 lookup 100 pref 100"],
        )
        yield rig, {"first": rig.client_ns, "second": second}


def both(who: str) -> Pair[int]:
    return Pair(LIMITS_BPS[who], LIMITS_BPS[who])


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize(("who", "other"), [("first", "second"), ("second", "first")])
def test_each_has_a_limit_and_counters_of_its_own(
    clients: tuple[Rig, dict[str, str]], who: str, other: str, direction: str
) -> None:
    rig, namespaces = clients
    before = {name: rig.counters(name, direction)["packets"] for name in (who, other)}
    limit_bps = LIMITS_BPS[who]
    arrived_bps = traffic.rate_bps(
        namespaces[who], rig.internet, direction, 3 * limit_bps, far_address=FAR[who]
    )
    # A sender that is kept from running for longer than a bucket lasts (20 ms) loses what it did not send.
    assert 0.6 * limit_bps < arrived_bps < 1.1 * limit_bps
    after = {name: rig.counters(name, direction)["packets"] for name in (who, other)}
    assert after[who] > before[who] + 100
    assert after[other] == before[other]


def test_explain_asks_the_kernel_in_the_queues_domain(clients: tuple[Rig, dict[str, str]]) -> None:
    rig, _ = clients
    explained = rig.explain("second")
    assert explained["agrees"]
    assert explained["kernel"]["lookups"] == {"10.64.0.0/24@2": explained["compiled"]["slot"]}


def test_an_interface_changes_its_domain_while_it_runs(clients: tuple[Rig, dict[str, str]]) -> None:
    rig, _ = clients
    rig.commit(Interface("lan1", "lan", ("10.64.0.1/24",), domain=3))
    before = rig.counters("second", "upload")["packets"]
    assert traffic.arriving(clients[1]["second"], rig.internet, 50) == 50
    assert rig.counters("second", "upload")["packets"] == before
