# SPDX-License-Identifier: Apache-2.0
"""Frames that the kernel routes although they are not plain: the sender's limit holds, or nothing arrives."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.raw_frames import arrived_bps, mac_of, udp4, udp6
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath import packets as p
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.model.objects import Pair, Queue

OPEN = Firewall(masquerade=False, drop_new_from_wan=False)
LIMIT_BPS, OFFERED_BPS, IP_BYTES = 1_000_000, 8_000_000, 1228
CLIENT = {4: "10.64.0.2", 6: "2001:db8:64::2"}
FAR = {4: "203.0.113.1", 6: "2001:db8:100::1"}
CUSTOMER = Queue(
    "client", "client", ("10.64.0.2/32", "2001:db8:64::2/128"), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS)
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(addresses=("203.0.113.2/24", "2001:db8:100::2/64")), OPEN, CUSTOMER)
        netns.ip(made.client_ns, ["addr add 2001:db8:64::2/64 dev c0 nodad"])
        netns.ip(
            made.internet,
            ["addr add 2001:db8:100::1/64 dev i0 nodad", "route replace 10.64.0.0/16 via 203.0.113.2"],
        )
        for far in FAR.values():
            until(f"{far} answers", lambda far=far: answers(made, far))
        yield made


def answers(rig: Rig, address: str) -> bool:
    """Not before the addresses are past duplicate detection; neighbours are known afterwards."""
    return (
        subprocess.run(
            ["ping", "-c1", "-W1", address],
            capture_output=True,
            check=False,
            preexec_fn=netns.entering(rig.router),
        ).returncode
        == 0
    )


def upload_bps(rig: Rig, family: int, inner: bytes) -> float:
    return arrived_bps(
        (rig.client_ns, "c0"),
        mac_of(rig.router, "lan0"),
        inner,
        (rig.internet, FAR[family]),
        OFFERED_BPS,
        IP_BYTES,
    )


def tagged(family: int, tags: int, kind: int) -> bytes:
    """All that follows the addresses of Ethernet: so many priority tags (VID 0) and a UDP packet."""
    made = udp4 if family == 4 else udp6
    packet, ethertype = made(CLIENT[family], FAR[family], IP_BYTES), p.IPV4 if family == 4 else p.IPV6
    return p.ethernet(kind if tags else ethertype, p.tags([0] * tags, ethertype, packet, kind))[12:]


@pytest.mark.parametrize("kind", [p.VLAN, p.QINQ], ids=["802.1Q", "802.1ad"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("tags", [1, 3, 4, 5, 9])
def test_stacked_priority_tags_do_not_pass_the_limit(rig: Rig, tags: int, family: int, kind: int) -> None:
    # The kernel takes the first tag off by itself: nine are eight in the packet.
    assert 0.4 * LIMIT_BPS < upload_bps(rig, family, tagged(family, tags, kind)) < 1.15 * LIMIT_BPS


@pytest.mark.parametrize("family", [4, 6])
def test_more_tags_than_are_read_are_dropped_and_counted(rig: Rig, family: int) -> None:
    assert upload_bps(rig, family, tagged(family, 12, p.VLAN)) == 0
    (port,) = (port for port in rig.agent.call("interfaces")["value"] if port["name"] == "wan0")
    assert port["unshaped_packets"]["unreadable"] > 100


def test_more_tags_than_are_read_are_the_ports_own_queues(rig: Rig) -> None:
    own = Queue("port", "port", ("lan0",), max_limit_bps=Pair(2 * LIMIT_BPS, 2 * LIMIT_BPS))
    rig.commit(own)
    try:
        assert 0.4 < upload_bps(rig, 4, tagged(4, 12, p.VLAN)) / LIMIT_BPS < 2.3
        assert rig.counters("port", "upload")["packets"] > 100
    finally:
        rig.commit(delete=[("queue", "port")])


FOREIGN = {4: "172.31.9.9", 6: "2001:db8:bad::9"}
"""Of nobody's network here: what a customer writes who wants to be somebody else."""
UNUSED = {4: "10.64.0.77", 6: "2001:db8:64::77"}
"""Of the customer's own network, in no queue."""


def forged_bps(rig: Rig, family: int, source: str) -> float:
    made, ethertype = (udp4, p.IPV4) if family == 4 else (udp6, p.IPV6)
    return upload_bps(rig, family, p.ethernet(ethertype, made(source, FAR[family], IP_BYTES))[12:])


def checked(rig: Rig, ifname: str) -> dict[str, int]:
    (port,) = (port for port in rig.agent.call("interfaces")["value"] if port["name"] == ifname)
    counts: dict[str, int] = port["checked_packets"]
    return counts


@pytest.mark.parametrize("family", [4, 6])
def test_what_is_in_no_queue_passes_and_is_told_unless_the_interface_says_otherwise(
    rig: Rig, family: int
) -> None:
    before = checked(rig, "lan0")["unknown-rx"]
    assert forged_bps(rig, family, FOREIGN[family]) > 3 * LIMIT_BPS
    assert checked(rig, "lan0")["unknown-rx"] - before > 100
    assert checked(rig, "wan0")["unknown-tx"] > 100


@pytest.mark.parametrize("family", [4, 6])
def test_a_customer_with_a_foreign_address_is_dropped_by_the_reverse_path(rig: Rig, family: int) -> None:
    rig.commit(replace(lan(), reverse_path="strict"))
    try:
        assert forged_bps(rig, family, FOREIGN[family]) == 0
        assert checked(rig, "lan0")["wrong-way"] > 100
        assert answers(rig, "10.64.0.2"), "the network's own addresses pass"
    finally:
        rig.commit(lan())


@pytest.mark.parametrize("family", [4, 6])
def test_a_customer_with_an_unused_address_of_his_network_is_refused(rig: Rig, family: int) -> None:
    rig.commit(replace(lan(), unknown="drop"))
    try:
        assert forged_bps(rig, family, UNUSED[family]) == 0
        assert checked(rig, "lan0")["refused"] > 100
        assert 0.4 * LIMIT_BPS < upload_bps(rig, family, tagged(family, 0, p.VLAN)) < 1.15 * LIMIT_BPS
    finally:
        rig.commit(lan())


def test_the_default_queue_of_an_interface_takes_what_is_in_no_other(rig: Rig) -> None:
    rest = Queue("rest", "rest", ("lan0",), max_limit_bps=Pair(2 * LIMIT_BPS, 2 * LIMIT_BPS))
    rig.commit(replace(lan(), unknown="queue"), rest)
    try:
        assert 0.4 < forged_bps(rig, 4, UNUSED[4]) / LIMIT_BPS < 2.3
        rig.commit(replace(rest, disabled=True))
        assert forged_bps(rig, 4, UNUSED[4]) == 0, "never unlimited"
    finally:
        rig.commit(lan(), delete=[("queue", "rest")])


@pytest.mark.parametrize("source", ["240.0.0.9", "::ffff:10.64.0.2"])
def test_a_source_that_no_host_has_goes_nowhere(rig: Rig, source: str) -> None:
    before = checked(rig, "lan0")["impossible-source"]
    assert forged_bps(rig, 6 if ":" in source else 4, source) == 0
    assert checked(rig, "lan0")["impossible-source"] - before > 100
