# SPDX-License-Identifier: Apache-2.0
"""Which routes and rules let the FIB's answers be kept, and which addresses have one answer in common."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest

from lab import netns
from weir.adapters.kernel_routes import read_route_facts
from weir.adapters.plain_routes import NO_REGIONS

NAMESPACE = "weir-plain-routes"


@pytest.fixture
def routes() -> Iterator[None]:
    """A namespace with two links, and a default route by a gateway of the first."""
    netns.remove(NAMESPACE)
    netns.create(NAMESPACE)
    netns.ip(
        NAMESPACE,
        [
            "link set lo up",
            "link add wan type veth peer name wan-far",
            "link add lan type veth peer name lan-far",
            *(f"link set {name} up" for name in ("wan", "wan-far", "lan", "lan-far")),
            "address add 198.51.100.1/24 dev wan",
            "address add 10.64.0.1/24 dev lan",
            "route add default via 198.51.100.2",
        ],
    )
    yield
    netns.remove(NAMESPACE)


def regions(*commands: str) -> dict[str, int] | None:
    """After these commands: the number of each address' region."""
    if commands:
        netns.ip(NAMESPACE, list(commands))
    with netns.inside(NAMESPACE):
        found = read_route_facts().regions
    if found is None:
        return None
    numbers = array("H", found)
    return {address: numbers[_region(address)] for address in ADDRESSES}


ADDRESSES = ("8.8.8.8", "203.0.113.7", "198.51.100.9", "10.64.0.9", "10.65.0.9", "127.0.0.1", "224.0.0.5")


def _region(address: str) -> int:
    first, second, *_ = (int(part) for part in address.split("."))
    return first << 8 | second


def test_what_takes_the_default_route_has_one_answer(routes: None) -> None:
    found = regions()
    assert found is not None
    assert found["8.8.8.8"] == found["203.0.113.7"] == found["10.65.0.9"] == 1
    assert found["198.51.100.9"] == found["10.64.0.9"] == found["127.0.0.1"] == 0


def test_each_wide_route_by_a_gateway_has_its_own(routes: None) -> None:
    found = regions("route add 10.0.0.0/8 via 198.51.100.3", "route add 10.65.0.0/16 via 198.51.100.4")
    assert found is not None
    assert len({found["8.8.8.8"], found["10.65.0.9"]}) == 2
    assert found["10.64.0.9"] == 0
    assert regions("route replace 10.65.0.0/16 dev wan")["10.65.0.9"] == 0  # type: ignore[index]
    assert regions("route replace blackhole 10.65.0.0/16")["10.65.0.9"] == 0  # type: ignore[index]


def test_a_route_with_and_one_without_gateway_for_one_prefix_have_none(routes: None) -> None:
    found = regions("route add 10.65.0.0/16 via 198.51.100.4", "route add 10.65.0.0/16 dev wan metric 9")
    assert found is not None and found["10.65.0.9"] == 0


NOT_PLAIN = {
    "several gateways": "route add 10.9.0.0/24 nexthop via 198.51.100.3 nexthop via 198.51.100.4",
    "several gateways in a table of its own": (
        "route add 10.9.0.0/24 table 7 nexthop via 198.51.100.3 nexthop via 198.51.100.4"
    ),
    "type of service": "route add 10.9.0.0/24 tos 0x10 via 198.51.100.3",
    "a blackhole for a type of service": "route add blackhole 10.9.0.0/24 tos 0x10",
    "a rule by source": "rule add from 10.64.0.0/24 lookup 7",
    "a rule by type of service": "rule add tos 0x10 lookup 7",
    "a rule by protocol": "rule add ipproto tcp lookup 7",
    "a rule by port": "rule add ipproto udp dport 53 lookup 7",
}
ONLY_BY_ADDRESS = {
    "a rule for all": "rule add lookup 7 pref 100",
    "a rule by destination": "rule add to 8.0.0.0/8 lookup 7",
    "a rule by port of entry": "rule add iif lan lookup 7",
    "a rule by mark": "rule add fwmark 5 lookup 7",
    "a rule that forbids": "rule add to 8.0.0.0/8 prohibit",
    "a rule that is gone": "rule del pref 32767",
    "a route of the last table": "route add 9.0.0.0/8 via 198.51.100.3 table 253",
}


@pytest.mark.parametrize("case", NOT_PLAIN)
def test_where_more_than_addresses_decides_nothing_is_kept(routes: None, case: str) -> None:
    assert regions(NOT_PLAIN[case]) is None


@pytest.mark.parametrize("case", ONLY_BY_ADDRESS)
def test_other_rules_than_the_usual_ones_leave_no_common_answers(routes: None, case: str) -> None:
    found = regions(ONLY_BY_ADDRESS[case])
    if case == "a rule that is gone":
        assert found is not None and found["8.8.8.8"] == 1, "one less looks at nothing more"
    else:
        assert found is not None and not any(found.values())


def test_nothing_is_kept_where_learnt_mtus_decide(routes: None) -> None:
    netns.sysctl(NAMESPACE, {"ipv4/ip_forward_use_pmtu": "1"})
    assert regions() is None


def test_no_region_is_an_answer_of_the_right_size() -> None:
    assert len(NO_REGIONS) == 131_072
