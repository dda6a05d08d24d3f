# SPDX-License-Identifier: Apache-2.0
"""What the stack may route and the programs cannot read: the port's own queue's, or dropped."""

from __future__ import annotations

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from weir.adapters.datapath_records import Mode, Role

SLOT, OWN = 7, 9
UNREAD = 0xFFFFF << 8
CUSTOMER, INTERNET = "10.64.1.7", "198.51.100.1"
CUSTOMER6, INTERNET6 = "2001:db8:64:7::1", "2001:db8:100::1"

up4, up6 = p.ipv4(CUSTOMER, INTERNET), p.ipv6(CUSTOMER6, INTERNET6)
UNREADABLE = {
    "nine priority tags, ipv4": (p.ethernet(p.VLAN, p.tags([0] * 9, p.IPV4, up4)), "deep-tags"),
    "nine priority tags, ipv6": (p.ethernet(p.VLAN, p.tags([0] * 9, p.IPV6, up6)), "deep-tags"),
    "twenty 802.1ad tags": (p.ethernet(p.QINQ, p.tags([0] * 20, p.IPV4, up4, p.QINQ)), "deep-tags"),
    "tags without end": (p.ethernet(p.VLAN, p.tags([0] * 5, p.VLAN, b"\0")), "deep-tags"),
    "compressed ppp": (p.ethernet(p.PPPOE, p.pppoe(p.PPP_COMPRESSED, bytes(40))), "unreadable"),
    "compressed ppp, one byte": (
        p.ethernet(p.PPPOE, p.pppoe_short(p.PPP_COMPRESSED, bytes(40))),
        "unreadable",
    ),
}
ROUTED = {"ipv4": p.ethernet(p.IPV4, up4), "ipv6": p.ethernet(p.IPV6, up6)}
MODES: list[Mode] = ["edt", "police", "htb"]


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    loaded.mode("edt")
    loaded.limit(SLOT, 8_000_000)
    loaded.limit(OWN, 8_000_000)
    loaded.classify(4, p.value4(CUSTOMER), 32, SLOT)
    loaded.classify(6, p.value6("2001:db8:64:7::"), 64, SLOT)
    return loaded


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_the_ports_own_queues(router: Loaded, name: str) -> None:
    router.mode("edt", slot_for_interface_target=OWN)
    frame = UNREADABLE[name][0]
    run = router.ingress(frame)
    assert (run.verdict, run.mark) == (NEXT, OWN << 8)
    assert router.egress(frame).verdict == NEXT
    assert router.counters(OWN, DOWNLOAD)["packets"] == 1
    assert router.unshaped() == {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ROUTED)
def test_what_came_in_unreadable_is_dropped_where_it_would_leave(
    router: Loaded, name: str, mode: Mode
) -> None:
    for frame, _ in UNREADABLE.values():
        assert router.ingress(frame, mark=SLOT << 8).mark == UNREAD
    router.mode(mode)
    stranger = p.frame4("192.0.2.1", "192.0.2.2")
    for frame in (stranger, ROUTED[name]):
        assert router.egress(frame, mark=UNREAD).verdict == DROP
    assert router.unshaped() == {"unreadable": 2}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_leaves_unreadable_is_its_senders_or_dropped(router: Loaded, name: str) -> None:
    frame, reason = UNREADABLE[name]
    assert router.egress(frame, mark=SLOT << 8).verdict == NEXT
    assert router.counters(SLOT, UPLOAD)["packets"] == 1
    assert router.egress(frame, mark=UNREAD).verdict == DROP
    assert router.egress(frame).verdict == DROP
    assert router.unshaped() == {reason: 2}


def test_what_a_member_could_not_read_the_bridge_reads(router: Loaded) -> None:
    router.datapath.attach("lo", Role.CLASSIFY | Role.YIELDS, "edt")
    assert router.ingress(p.frame4("192.0.2.1", INTERNET), mark=UNREAD).mark == 0
    assert router.ingress(p.frame4("192.0.2.1", INTERNET), mark=SLOT << 8).mark == SLOT << 8
    assert router.ingress(p.frame4(CUSTOMER, INTERNET), mark=UNREAD).mark == SLOT << 8


def test_ppp_control_and_arp_pass(router: Loaded) -> None:
    for frame in (p.ethernet(p.PPPOE, p.pppoe(p.PPP_LCP, bytes(8))), p.ethernet(p.ARP, bytes(28))):
        assert router.ingress(frame).mark == 0
        assert router.egress(frame).verdict == NEXT
    assert router.unshaped() == {"not-ip": 2}
