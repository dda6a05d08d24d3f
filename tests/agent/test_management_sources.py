# SPDX-License-Identifier: Apache-2.0
"""Who reaches the ports of the web interface and the API, by connections of real clients of both families."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.sessions import Session
from tests.agent.test_effects import committed, goes_on
from tests.polling import until
from weir.kinds.certificate import Certificate
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.management import Management
from weir.kinds.zone import Zone
from weir.model.objects import ConfigObject

LAN4, LAN6, WAN4 = "10.64.0.1", "2001:db8:64::1", "203.0.113.2"
DESK4, GUEST4, DESK6, GUEST6 = "10.64.0.2", "10.64.0.77", "2001:db8:64::2", "2001:db8:64::77"
OUTSIDE = "203.0.113.1"
MANAGED, OTHER = (80, 443, 8080), 7000
DESK = Management(sources=(f"{DESK4}/32", f"{DESK6}/128"))
ACCEPT_ALL = FirewallRule("all", chain="input", action="accept")
OPEN = Firewall(allowed_wan_tcp_ports=(*MANAGED, OTHER))
OPS = Zone("ops", ("management",))
ACME = Certificate("web", "acme", names=("r.example.net",), directory="https://198.51.100.1/directory")


@dataclass(frozen=True)
class Try:
    namespace: str
    source: str
    reached: str
    port: int


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), OPEN)
        for address in (f"{GUEST4}/24", f"{DESK6}/64", f"{GUEST6}/64"):
            nodad = ("nodad",) if ":" in address else ()
            made.run("ip", "addr", "add", address, "dev", "c0", *nodad, namespace=made.client_ns)
        yield made


@pytest.fixture(scope="module", autouse=True)
def servers(rig: Rig) -> Iterator[dict[int, socket.socket]]:
    """By port, of both families."""
    with ExitStack() as stack, netns.inside(rig.router):
        found = {
            port: stack.enter_context(
                socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
            )
            for port in (*MANAGED, OTHER)
        }
        until(
            "the router has its address", lambda: not rig.json("ip", "-j", "-6", "addr", "show", "tentative")
        )
        yield found


@pytest.fixture
def commit(rig: Rig) -> Iterator[Callable[..., Any]]:
    """Commits and answers the effects that were said; the next test finds the router as it was."""
    made: list[ConfigObject] = []

    def commit(*items: ConfigObject, delete: Sequence[ConfigObject] = ()) -> Any:
        made.extend(items)
        made[:] = [item for item in made if item not in delete]
        return committed(rig, *items, delete=[(item.kind, item.id) for item in delete])

    yield commit
    gone = {(item.kind, item.id) for item in made if isinstance(item, FirewallRule | Zone | Certificate)}
    rig.commit(Management(), lan(), delete=sorted(gone))


def from_lan(rig: Rig, source: str, port: int) -> Try:
    return Try(rig.client_ns, source, LAN6 if ":" in source else LAN4, port)


def from_wan(rig: Rig, port: int) -> Try:
    return Try(rig.internet, OUTSIDE, WAN4, port)


def on_loopback(rig: Rig, address: str, port: int) -> Try:
    return Try(rig.router, address, address, port)


def reached(rig: Rig, tried: list[Try]) -> bool:
    return who_reaches(tried, set(tried)) == set(tried)


def who_reaches(tried: list[Try], expected: set[Try]) -> set[Try]:
    """Whose new connections are taken. Those that are not expected to be are tried first: what they send has
    been refused by the time that the expected ones are through."""
    with ExitStack() as stack:
        opened: dict[Try, socket.socket] = {}
        for each in sorted(tried, key=lambda item: item in expected):
            one = stack.enter_context(bound(each.namespace, each.source, kind=socket.SOCK_STREAM))
            one.setblocking(False)
            one.connect_ex((each.reached, each.port))
            opened[each] = one

        def there() -> set[Try]:
            return {each for each, one in opened.items() if is_connected(one)}

        until("those get through that may", lambda: there() >= expected, 10.0)
        return there()


def is_connected(one: socket.socket) -> bool:
    try:
        one.getpeername()
    except OSError:
        return False
    return True


def refused(rig: Rig) -> int:
    found: Any = rig.agent.call("state", {"kind": "management", "ids": None})
    return int(found["objects"]["management"]["refused_packets"])


def everywhere(rig: Rig) -> list[Try]:
    hosts = [
        from_lan(rig, host, port) for host in (DESK4, GUEST4, DESK6, GUEST6) for port in (*MANAGED, OTHER)
    ]
    own = [on_loopback(rig, address, 8080) for address in ("127.0.0.1", "::1", LAN4)]
    return [*hosts, *own, *(from_wan(rig, port) for port in (*MANAGED, OTHER))]


def may(rig: Rig) -> set[Try]:
    """With `DESK`: who is one of the sources, the router itself, and everybody at any other port."""
    return {
        each
        for each in everywhere(rig)
        if each.source in (DESK4, DESK6) or each.port == OTHER or each.namespace == rig.router
    }


def test_without_sources_everybody_comes_whom_the_firewall_lets_in(
    rig: Rig, commit: Callable[..., Any]
) -> None:
    commit(Management())
    assert reached(rig, everywhere(rig))
    assert refused(rig) == 0


@pytest.mark.parametrize("rules", [(), (ACCEPT_ALL,)], ids=["lan", "where a rule accepts everything"])
def test_with_sources_only_they_reach_it_in_either_family(
    rig: Rig, commit: Callable[..., Any], rules: tuple[FirewallRule, ...]
) -> None:
    commit(DESK, *rules)
    assert who_reaches(everywhere(rig), may(rig)) == may(rig)
    kept_out = len(everywhere(rig)) - len(may(rig))
    assert refused(rig) >= kept_out > 0
    for line in rig.explain("management", "management")["lines"]:
        assert line["agrees"] is not False, line


def test_a_zone_with_management_is_bounded_as_well(rig: Rig, commit: Callable[..., Any]) -> None:
    commit(OPS, replace(lan(), role="ops"), DESK)
    tried = [
        from_lan(rig, host, port) for host in (DESK4, GUEST4, DESK6, GUEST6) for port in (*MANAGED, OTHER)
    ]
    expected = {each for each in tried if each.source in (DESK4, DESK6) and each.port != OTHER}
    assert who_reaches(tried, expected) == expected


def test_a_network_of_one_family_keeps_the_other_out(rig: Rig, commit: Callable[..., Any]) -> None:
    commit(Management(sources=("2001:db8:64::/64",)))
    tried = [from_lan(rig, host, 443) for host in (DESK4, GUEST4, DESK6, GUEST6)]
    expected = {each for each in tried if ":" in each.source}
    assert who_reaches(tried, expected) == expected


def test_the_port_of_challenges_is_open_while_an_authority_makes_a_certificate(
    rig: Rig, commit: Callable[..., Any]
) -> None:
    commit(DESK, ACME)
    tried = [from_wan(rig, port) for port in MANAGED]
    expected = {each for each in tried if each.port == 80}
    assert who_reaches(tried, expected) == expected
    commit(delete=[ACME])
    assert who_reaches(tried, set()) == set()


def test_no_rule_cuts_the_router_off_from_itself(rig: Rig, commit: Callable[..., Any]) -> None:
    """Neither nginx nor the command line from the API: a rule without an interface is about lo, too."""
    shut = FirewallRule("none", chain="input", action="drop", protocol="tcp", ports=("8080",))
    mute = FirewallRule("mute", chain="output", action="drop", protocol="tcp")
    commit(shut, mute)
    own = [on_loopback(rig, address, 8080) for address in ("127.0.0.1", "::1", LAN4)]
    tried = [*own, from_lan(rig, DESK4, 8080)]
    assert who_reaches(tried, set(own)) == set(own)


def test_sessions_from_elsewhere_end_as_it_is_said_and_others_go_on(
    rig: Rig, servers: dict[int, socket.socket], commit: Callable[..., Any]
) -> None:
    assert commit(Management(sources=("10.64.0.0/24",)))["management", "management"]["sessions"] is None
    with session(rig, servers, DESK4) as stays, session(rig, servers, GUEST4) as ends:
        assert commit(Management(sources=("10.64.0.0/24", "2001:db8::/32"))) == {}, "more of them may come"
        assert goes_on(stays) and goes_on(ends)
        said = commit(DESK)["management", "management"]
        assert said["effect"] == "drops-sessions" and "outside of its sources" in said["text"]
        until("it is silent", lambda: ends.is_over or ends.silent_s > 3)
        assert goes_on(stays)
        assert commit(Management()) == {}


@contextmanager
def session(rig: Rig, servers: dict[int, socket.socket], source: str) -> Iterator[Session]:
    near = bound(rig.client_ns, source, kind=socket.SOCK_STREAM)
    near.connect((LAN4, 8080))
    own = near.getsockname()
    while True:
        far, peer = servers[8080].accept()
        if peer[0].removeprefix("::ffff:") == own[0] and peer[1] == own[1]:
            break
        far.close()  # of a test before
    found = Session(near, far)
    try:
        yield found
    finally:
        found.close()
