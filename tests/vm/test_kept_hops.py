# SPDX-License-Identifier: Apache-2.0
"""The FIB's answers are kept exactly as long as they are right: on Linux 6.12 as on the developer's kernel,
and with VRFs."""

from __future__ import annotations

import os

import pytest

from tests.datapath.conftest import datapath, own_namespace, standing_datapath
from tests.datapath.kept_hops import MARKED
from tests.datapath.test_fast_hops import (
    FAR_NET,
    OTHER,
    OTHER_MAC,
    UP,
    Router,
    one_processor,
    router,
    test_a_cable_that_is_pulled_takes_its_neighbours_along,
    test_a_longer_prefix_inside_takes_its_region_out,
    test_a_neighbour_that_does_not_answer_any_more_is_sent_nothing,
    test_a_neighbour_that_says_that_it_moved_is_believed_at_once,
    test_a_next_hop_object_may_change_its_gateway,
    test_a_smaller_mtu_holds_from_the_next_packet_on,
    test_one_answer_is_that_of_all_addresses_of_a_route,
    test_the_routers_own_hardware_address_is_the_new_one,
    test_the_very_next_packet_goes_the_new_way,
)
from tests.datapath.topology import run

__all__ = [
    "datapath",
    "one_processor",
    "own_namespace",
    "router",
    "standing_datapath",
    "test_a_cable_that_is_pulled_takes_its_neighbours_along",
    "test_a_longer_prefix_inside_takes_its_region_out",
    "test_a_neighbour_that_does_not_answer_any_more_is_sent_nothing",
    "test_a_neighbour_that_says_that_it_moved_is_believed_at_once",
    "test_a_next_hop_object_may_change_its_gateway",
    "test_a_smaller_mtu_holds_from_the_next_packet_on",
    "test_one_answer_is_that_of_all_addresses_of_a_route",
    "test_the_routers_own_hardware_address_is_the_new_one",
    "test_the_very_next_packet_goes_the_new_way",
]
pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")


@pytest.fixture(scope="session")
def built() -> None:
    """The machine that started this one has built the datapath."""


def test_the_kernel_can_be_looked_into(router: Router) -> None:
    """Or the tests above would all be skipped."""
    assert router.datapath.hops_reason() == ""


def test_a_port_of_entry_in_a_vrf_has_the_vrfs_routes_at_once(router: Router) -> None:
    run("ip", "link", "add", "blue", "type", "vrf", "table", "1001")
    run("ip", "link", "set", "blue", "up")
    run("ip", "route", "add", FAR_NET, "via", OTHER, "dev", "wan0", "onlink", "table", "1001")
    router.keep()
    run("ip", "link", "set", "lan0", "master", "blue")
    assert router.goes_to() == OTHER_MAC
    router.keep()
    run("ip", "link", "set", "lan0", "nomaster")
    assert router.goes_to() not in (MARKED.hex(":"), OTHER_MAC)


def test_a_way_out_that_goes_into_a_vrf_is_one_no_more(router: Router) -> None:
    run("ip", "link", "add", "blue", "type", "vrf", "table", "1001")
    run("ip", "link", "set", "blue", "up")
    router.keep()
    run("ip", "link", "set", "wan0", "master", "blue")
    assert router.goes_to() == UP
