# SPDX-License-Identifier: Apache-2.0
"""Notices that something in the network stack changed; what changed is found by reading it.

The messages are not decoded beyond their type: an event that was lost (ENOBUFS) is as good as one
that arrived, and a reader that compares whole states cannot be confused by their order.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Literal

from weir.adapters import nft, tc
from weir.adapters.netfilter import FAMILY_ARP, FAMILY_BRIDGE, FAMILY_INET
from weir.adapters.nft_generation import OF_EVENTS

KernelTopic = Literal["links", "routes", "firewall", "classes"]

_NETLINK_ADD_MEMBERSHIP, _SOL_NETLINK = 1, 270
_NETLINK_NETFILTER = 12
_RTNLGRP = {
    "link": 1,
    "tc": 4,
    "ipv4-address": 5,
    "ipv4-route": 7,
    "ipv4-rule": 8,  # after a change the fast path keeps nothing until routes were looked at
    "ipv6-address": 9,
    "ipv6-route": 11,
}
_NFNLGRP_NFTABLES = 7
_NFT_TRACE = 17
_NFNL_SUBSYS_NFTABLES = 10
_NFT_RULES = (0, 3, 6)
"""NFT_MSG_NEWTABLE, NEWCHAIN, NEWRULE: a chain that is there already has to be told of too, as its policy is
changed so, and a table, which may wake up."""
_FAMILIES = {FAMILY_INET: nft.FAMILY, FAMILY_ARP: nft.ARP, FAMILY_BRIDGE: nft.BRIDGE}
"""Of our tables, as nft calls them."""
_TOPICS: dict[int, KernelTopic] = {
    16: "links",  # RTM_NEWLINK
    17: "links",
    20: "links",  # RTM_NEWADDR
    21: "links",
    24: "routes",  # RTM_NEWROUTE
    25: "routes",
    32: "routes",  # RTM_NEWRULE
    33: "routes",
    36: "links",  # RTM_NEWQDISC
    37: "links",
    40: "classes",  # RTM_NEWTCLASS
    41: "classes",
}
_JUDGED_AGAIN_S = 0.01
"""While a transaction of ours is done, whose events come before its end."""
_HEADER = struct.Struct("=IHHII")
"""nlmsghdr: length, type, flags, sequence, port of who asked for the change."""
_RECEIVE_BYTES = 1 << 20


class Events:
    """Netlink multicast of this process's network namespace. One thread waits; any may `drain`."""

    def __init__(self) -> None:
        self._route = listen(socket.NETLINK_ROUTE, list(_RTNLGRP.values()))
        self._netfilter = listen(_NETLINK_NETFILTER, [_NFNLGRP_NFTABLES])
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._is_unjudged = False
        """Something of nftables changed, and it is not known yet by whom."""

    def wait(self, timeout_s: float) -> set[KernelTopic]:
        """What changed; empty at the timeout, perhaps before, and after `wake`."""
        if self._is_unjudged:
            timeout_s = min(timeout_s, _JUDGED_AGAIN_S)
        watched = [self._route, self._netfilter, self._wake_reader]
        readable, _, _ = select.select(watched, [], [], max(timeout_s, 0.0))
        if self._wake_reader in readable:
            self._wake_reader.recv(4096)
        return self.drain()

    def settle(self, quiet_s: float, limit_s: float) -> set[KernelTopic]:
        """Collect until nothing came for `quiet_s`, at most `limit_s`: a burst becomes one look."""
        found: set[KernelTopic] = set()
        deadline = time.monotonic() + limit_s
        while (left_s := deadline - time.monotonic()) > 0:
            more = self.wait(min(quiet_s, left_s))
            if not more:
                break
            found |= more
        return found

    def drain(self) -> set[KernelTopic]:
        """What has arrived, without waiting. Of the firewall what others changed: who does a transaction of
        ours looks at what came of it."""
        found: set[KernelTopic] = set()
        for data in receive_all(self._route):
            found |= _topics(data) if data else {"links", "routes", "classes"}
        for data in receive_all(self._netfilter):
            if not data or _HEADER.unpack_from(data)[1] & 0xFF != _NFT_TRACE:
                self._is_unjudged = True
        if self._is_unjudged:
            broken = OF_EVENTS.was_broken()
            self._is_unjudged = broken is None
            if broken:
                found.add("firewall")
        return found

    def wake(self) -> None:
        """Make `wait` return at once, from any thread."""
        self._wake_writer.send(b"x")

    def close(self) -> None:
        for handle in (self._route, self._netfilter, self._wake_reader, self._wake_writer):
            handle.close()


class RuleEvents:
    """Tells of rules and chains of nftables that are not Weir's as soon as the kernel does, to one thread."""

    def __init__(self) -> None:
        self._netfilter = listen(_NETLINK_NETFILTER, [_NFNLGRP_NFTABLES])
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)

    def foreign(self, timeout_s: float) -> bool:
        """Wait for a change of somebody else's tables, chains or rules. False: timeout, or `wake`."""
        readable, _, _ = select.select([self._netfilter, self._wake_reader], [], [], timeout_s)
        if self._wake_reader in readable:
            self._wake_reader.recv(4096)
        return any(not data or _is_foreign(data) for data in receive_all(self._netfilter))

    def wake(self) -> None:
        """Make `foreign` return at once, from any thread."""
        self._wake_writer.send(b"x")

    def close(self) -> None:
        for handle in (self._netfilter, self._wake_reader, self._wake_writer):
            handle.close()


def _is_foreign(data: bytes) -> bool:
    """Whether one of the messages is of a table, chain or rule that is in no table of ours."""
    for kind, start, end in messages(data):
        if kind & 0xFF in _NFT_RULES and kind >> 8 == _NFNL_SUBSYS_NFTABLES and end - start >= 8:
            family = data[start]
            (length,) = struct.unpack_from("=H", data, start + 4)  # the first attribute is the table's name
            name = data[start + 8 : start + 4 + length].rstrip(b"\0")
            if not nft.is_ours(_FAMILIES.get(family, ""), name.decode(errors="replace")):
                return True
    return False


def listen(protocol: int, groups: list[int]) -> socket.socket:
    """A netlink socket of this thread's network namespace that is told of some groups, and never waits."""
    handle = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
    handle.bind((0, 0))
    for group in groups:
        handle.setsockopt(_SOL_NETLINK, _NETLINK_ADD_MEMBERSHIP, group)
    handle.setblocking(False)
    return handle


def receive_all(handle: socket.socket) -> list[bytes]:
    """Every waiting datagram; an empty one stands for events that the kernel had to drop."""
    datagrams: list[bytes] = []
    while True:
        try:
            datagrams.append(handle.recv(65536))
        except BlockingIOError:
            return datagrams
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            datagrams.append(b"")


def _topics(data: bytes) -> set[KernelTopic]:
    """Of classes only what others changed: our own commits of thousands would have trees read again."""
    found: set[KernelTopic] = set()
    for kind, start, _ in messages(data):
        topic = _TOPICS.get(kind)
        if topic == "classes" and tc.is_own_batch(_HEADER.unpack_from(data, start - _HEADER.size)[4]):
            continue
        if topic:
            found.add(topic)
    return found


def messages(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(type, first byte after the header, end) of each message of a datagram."""
    place = 0
    while place + 16 <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, place)
        if length < 16:
            return
        yield kind, place + 16, min(place + length, len(data))
        place += (length + 3) & ~3
