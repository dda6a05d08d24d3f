# SPDX-License-Identifier: Apache-2.0
"""Interfaces and their addresses, by netlink (pyroute2), in the network namespace of this process.

Addresses that Weir sets carry the protocol number `OUR_PROTO` (IFA_PROTO, Linux 5.18), so that only
they are ever removed. An older kernel ignores the mark: there, nothing is removed. Interfaces that Weir
makes are in the group `OUR_GROUP` from their first moment on.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from weir.adapters.rtnl import IPRoute, NetlinkError
from weir.model.problem import ApplyFailed, NotFound, Unavailable, Unsupported

OUR_PROTO = 87
"""Not in use by the kernel (1 to 3) nor by any daemon that we ship."""

OUR_GROUP = 87
"""Of interfaces (IFLA_GROUP); 0 is everybody's."""

VLAN_PROTOCOLS: dict[str, int] = {"802.1Q": 0x8100, "802.1ad": 0x88A8}
"""EtherTypes of the tags."""

MADE_WITH = {"bond": ("bond_mode", "bond_ad_lacp_rate")}
"""By the kind of an interface: the settings that it keeps for life, as pyroute2 calls them."""

GRO_MAX_BYTES = 65536
"""What Linux begins with."""

SOCKET_REQUESTS = 1000
"""pyroute2 (0.9.5) remembers something of each request as long as its socket is open: the end of the event
loop made for it, as a message that nobody takes, and that loop's number. An agent makes three a second.
"""

_UNREACHABLE = 7
_KERNELS_PROTO = 2
_IFF_UP, _IFF_LOOPBACK, _IFF_RUNNING = 0x1, 0x8, 0x40
_ARPHRD_ETHER = 1
_SCOPE_LINK = 253
_FAMILY: dict[int, Literal[4, 6]] = {socket.AF_INET: 4, socket.AF_INET6: 6}
_FAMILY_NUMBER: dict[Literal[4, 6], int] = {4: socket.AF_INET, 6: socket.AF_INET6}


@dataclass(frozen=True, slots=True)
class Link:
    """An interface. `kind` is the kernel's ("veth", "vlan", ...), "physical" when it names none; `master` and
    `lower` are the indexes of what it belongs to and of what it is stacked on, 0 = nothing."""

    name: str
    index: int
    kind: str
    mac: str
    mtu: int
    up: bool
    carrier: bool
    ethernet: bool
    tx_queues: int
    qdisc: str
    master: int
    lower: int
    counters: dict[str, int]
    gro_max_bytes: int = GRO_MAX_BYTES
    vlan: tuple[int, int] = (0, 0)
    """Of a VLAN interface: its id and EtherType."""
    ours: bool = False
    """It carries the mark of the interfaces that we make."""
    vrf_table: int = 0
    """Of a VRF: its routing table."""
    made_with: tuple[tuple[str, int], ...] = ()
    """What the kernel was told when it made the device, and changes no more: `MADE_WITH`."""


@dataclass(frozen=True, slots=True)
class Address:
    """`text` is `host/length`; `ours`: it carries our mark."""

    ifindex: int
    family: Literal[4, 6]
    text: str
    ours: bool


@dataclass(frozen=True, slots=True)
class RoutingRule:
    """Which table is looked up: `table` for any packet, with `l3mdev` that of the packet's VRF; or none.

    `ours`: it carries our mark (FRA_PROTOCOL).
    """

    family: Literal[4, 6]
    priority: int
    table: int
    l3mdev: bool = False
    unreachable: bool = False
    ours: bool = True

    @property
    def meaning(self) -> tuple[int, int, bool, bool]:
        return (self.priority, self.table, self.l3mdev, self.unreachable)

    @property
    def text(self) -> str:
        what = "unreachable" if self.unreachable else f"lookup {self.table}"
        return f"IPv{self.family} {self.priority}: {'VRFs' if self.l3mdev else 'all'} {what}"


def _socket() -> IPRoute:
    """Raises `Unavailable`."""
    try:
        return IPRoute()
    except OSError as error:
        raise Unavailable(f"no netlink socket: {error.strerror}", code="netlink") from error


class Links:
    """Thread-safe: one request at a time over one netlink socket."""

    def __init__(self) -> None:
        self._netlink = _socket()
        self._left = SOCKET_REQUESTS
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._netlink.close()

    def links(self) -> dict[str, Link]:
        """All interfaces of the namespace by name."""
        found = (_link(message) for message in self._ask(lambda: list(self._netlink.get_links())))
        return {link.name: link for link in found}

    def link(self, name: str) -> Link:
        """Raises `NotFound` naming the interface."""
        found = self.links().get(name)
        if found is None:
            raise NotFound(
                f"there is no interface {name}", code="no-such-interface", path=f"interface/{name}"
            )
        return found

    def addresses(self) -> list[Address]:
        """All addresses but IPv6 link-local ones that the kernel made itself."""
        found = (_address(message) for message in self._ask(lambda: list(self._netlink.get_addr())))
        return [address for address in found if address is not None]

    def add_vlan(self, name: str, parent: str, tag: int, protocol: str) -> None:
        """Make a VLAN interface with our mark. Raises `Unsupported` for a kernel without VLANs."""
        index = self.link(parent).index
        what = f"{name}: VLAN {tag} ({protocol}) of {parent}"
        words = {"vlan_id": tag, "vlan_protocol": VLAN_PROTOCOLS[protocol], "group": OUR_GROUP}
        self._make(
            what,
            lambda: self._netlink.link("add", ifname=name, kind="vlan", link=index, **words),
            "this kernel has no VLANs (8021q)",
            "no-vlan",
        )

    def add_vrf(self, name: str, table: int) -> None:
        """Make a VRF with our mark. Raises `Unsupported` for a kernel without VRFs."""
        what = f"{name}: VRF with table {table}"
        words = {"vrf_table": table, "group": OUR_GROUP}
        self._make(
            what,
            lambda: self._netlink.link("add", ifname=name, kind="vrf", **words),
            "this kernel has no VRFs (CONFIG_NET_VRF)",
            "no-vrf",
        )

    def add_device(self, name: str, kind: str, made_with: Iterable[tuple[str, int]] = ()) -> None:
        """Make an interface that is on no other one, with our mark. Raises `Unsupported` for a kernel without
        that kind."""
        words = {"ifname": name, "kind": kind, "group": OUR_GROUP, **dict(made_with)}
        request = partial(self._netlink.link, "add", **words)
        self._make(f"{name}: {kind}", request, f"this kernel has no {kind}", f"no-{kind}")

    def set_master(self, name: str, master: str) -> None:
        """Put an interface into a VRF; "" takes it out of what it belongs to. The kernel takes it down
        meanwhile, and up again unless that was a bond."""
        index = self.link(name).index
        above = self.link(master).index if master else 0
        what = f"{name}: into {master}" if master else f"{name}: out of what it belongs to"
        self._change(what, lambda: self._netlink.link("set", index=index, master=above))

    def rules(self) -> frozenset[RoutingRule]:
        """Those that ask nothing of a packet but whether it is in a VRF."""
        found: set[RoutingRule | None] = set()
        for number in _FAMILY:
            found.update(map(_rule, self._ask(partial(self._dump_rules, number))))
        return frozenset(rule for rule in found if rule is not None)

    def _dump_rules(self, family: int) -> list[Any]:
        """None for a family that the kernel does not have, or has without rules."""
        try:
            return list(self._netlink.get_rules(family=family))
        except NetlinkError as error:
            if error.code in (errno.EAFNOSUPPORT, errno.EOPNOTSUPP):
                return []
            raise

    def change_rule(self, action: Literal["add", "delete"], rule: RoutingRule) -> None:
        """An equal one that is there, or is not there any more, is as good."""
        words: dict[str, Any] = {"family": _FAMILY_NUMBER[rule.family], "priority": rule.priority}
        if rule.l3mdev:
            words["FRA_L3MDEV"] = 1
        if rule.unreachable:
            words["action"] = _UNREACHABLE
        else:
            words["table"] = rule.table
        if action == "add":
            words["FRA_PROTOCOL"] = OUR_PROTO if rule.ours else _KERNELS_PROTO
        tolerate = (errno.EEXIST,) if action == "add" else (errno.ENOENT,)
        self._change(f"rule {rule.text}", lambda: self._netlink.rule(action, **words), tolerate)

    def remove_link(self, name: str) -> None:
        """Remove an interface; one that went meanwhile is as good."""
        link = self.links().get(name)
        if link is not None:
            self._change(name, lambda: self._netlink.link("del", index=link.index), tolerate=(errno.ENODEV,))

    def set_up(self, name: str, up: bool) -> None:
        index = self.link(name).index
        self._change(name, lambda: self._netlink.link("set", index=index, state="up" if up else "down"))

    def set_mtu(self, name: str, mtu: int) -> None:
        """`mtu` in bytes. Raises `ApplyFailed` when the device cannot."""
        index = self.link(name).index
        self._change(f"{name}: MTU {mtu}", lambda: self._netlink.link("set", index=index, mtu=mtu))

    def set_gro_max(self, name: str, size_bytes: int) -> None:
        """How large packets may get that the kernel merges on arrival (GRO); for IPv4 as well, Linux 6.3."""
        index = self.link(name).index
        self._change(
            f"{name}: GRO up to {size_bytes} bytes",
            lambda: self._netlink.link("set", index=index, gro_max_size=size_bytes),
        )

    def add_address(self, name: str, text: str) -> None:
        """Add `host/length` with our mark; an equal address of somebody else's is left as it is."""
        index, (host, length) = self.link(name).index, _split(text)
        self._change(
            f"{name}: address {text}",
            lambda: self._netlink.addr("add", index=index, address=host, prefixlen=length, proto=OUR_PROTO),
            tolerate=(errno.EEXIST,),
        )

    def mark_address(self, name: str, text: str) -> None:
        """Give an address that is there our mark; nothing else about it changes."""
        index, (host, length) = self.link(name).index, _split(text)
        self._change(
            f"{name}: address {text}",
            lambda: self._netlink.addr(
                "replace", index=index, address=host, prefixlen=length, proto=OUR_PROTO
            ),
        )

    def limit_address(self, name: str, text: str, seconds: int) -> None:
        """An address of ours is removed by the kernel after so many seconds from now, unless told again."""
        index, (host, length) = self.link(name).index, _split(text)
        self._change(
            f"{name}: address {text} for {seconds} s",
            lambda: self._netlink.addr(
                "replace",
                index=index,
                address=host,
                prefixlen=length,
                proto=OUR_PROTO,
                preferred_lft=seconds,
                valid_lft=seconds,
            ),
        )

    def remove_address(self, name: str, text: str) -> None:
        index, (host, length) = self.link(name).index, _split(text)
        self._change(
            f"{name}: address {text}",
            lambda: self._netlink.addr("delete", index=index, address=host, prefixlen=length),
            tolerate=(errno.EADDRNOTAVAIL,),
        )

    def _renew(self) -> None:
        """Another socket in its time; the lock is held. Requests look for the socket when they are made."""
        self._left -= 1
        if self._left < 0:
            new = _socket()
            self._netlink.close()
            self._netlink, self._left = new, SOCKET_REQUESTS

    def _ask(self, request: Callable[[], list[Any]]) -> list[Any]:
        with self._lock:
            self._renew()
            try:
                return request()
            except (NetlinkError, OSError) as error:
                raise Unavailable(f"netlink: {error}", code="netlink") from error

    def _make(self, what: str, request: Callable[[], object], missing: str, code: str) -> None:
        """Make an interface; a kernel that does not know the kind is told from other faults."""
        try:
            self._change(what, request)
        except ApplyFailed as problem:
            if isinstance(problem.__cause__, NetlinkError) and problem.__cause__.code == errno.EOPNOTSUPP:
                raise Unsupported(f"{what}: {missing}", code=code) from problem
            raise

    def _change(self, what: str, request: Callable[[], object], tolerate: tuple[int, ...] = ()) -> None:
        with self._lock:
            self._renew()
            try:
                request()
            except NetlinkError as error:
                if error.code not in tolerate:
                    raise ApplyFailed(f"{what}: {os.strerror(error.code)}", code="netlink") from error
            except OSError as error:
                raise ApplyFailed(f"{what}: {error}", code="netlink") from error


def _link(message: Any) -> Link:
    information = message.get("linkinfo")
    kind = information.get("kind") if information is not None else None
    statistics = message.get("stats64") or {}
    flags = int(message["flags"])
    return Link(
        name=str(message.get("ifname")),
        index=int(message["index"]),
        kind=str(kind) if kind else ("loopback" if flags & _IFF_LOOPBACK else "physical"),
        mac=str(message.get("address") or ""),
        mtu=int(message.get("mtu") or 0),
        up=bool(flags & _IFF_UP),
        carrier=bool(flags & _IFF_RUNNING),
        ethernet=int(message["ifi_type"]) == _ARPHRD_ETHER,
        tx_queues=int(message.get("num_tx_queues") or 1),
        qdisc=str(message.get("qdisc") or ""),
        master=int(message.get("master") or 0),
        lower=0 if message.get("link_netnsid") is not None else int(message.get("link") or 0),
        counters={name: int(statistics.get(name, 0)) for name in _COUNTERS},
        gro_max_bytes=int(message.get("gro_max_size") or GRO_MAX_BYTES),
        vlan=_vlan(information) if kind == "vlan" else (0, 0),
        ours=message.get("group") == OUR_GROUP,
        vrf_table=_vrf_table(information) if kind == "vrf" else 0,
        made_with=_made_with(information, MADE_WITH[kind]) if kind in MADE_WITH else (),
    )


def _made_with(information: Any, names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    data = information.get("data")
    held = {} if data is None else {name: data.get(name) for name in names}
    return tuple((name, int(value)) for name, value in held.items() if value is not None)


def _vlan(information: Any) -> tuple[int, int]:
    data = information.get("data")
    return (0, 0) if data is None else (int(data.get("vlan_id") or 0), int(data.get("vlan_protocol") or 0))


def _vrf_table(information: Any) -> int:
    data = information.get("data")
    return 0 if data is None else int(data.get("vrf_table") or 0)


def _rule(message: Any) -> RoutingRule | None:
    """None for one that asks for more: addresses, marks, interfaces."""
    asked = ("iifname", "oifname", "fwmark", "goto", "uid_range", "ip_proto", "sport_range", "dport_range")
    lengths = message["src_len"] or message["dst_len"] or message["tos"]
    if lengths or any(message.get(name) for name in asked):
        return None
    unreachable = message["action"] == _UNREACHABLE
    l3mdev = bool(message.get("l3mdev"))
    table = 0 if unreachable or l3mdev else int(message.get("table") or 0)
    return RoutingRule(
        _FAMILY[message["family"]],
        int(message.get("priority") or 0),
        table,
        l3mdev,
        unreachable,
        message.get("protocol") == OUR_PROTO,
    )


_COUNTERS = (
    "rx_bytes",
    "rx_packets",
    "rx_dropped",
    "rx_errors",
    "rx_missed_errors",
    "tx_bytes",
    "tx_packets",
    "tx_dropped",
    "tx_errors",
)


def _address(message: Any) -> Address | None:
    family = _FAMILY.get(message["family"])
    text = message.get("local") or message.get("address")
    ours = message.get("proto") == OUR_PROTO
    if family is None or text is None or (family == 6 and message["scope"] == _SCOPE_LINK and not ours):
        return None
    return Address(int(message["index"]), family, f"{text}/{message['prefixlen']}", ours)


def _split(text: str) -> tuple[str, int]:
    host, _, length = text.partition("/")
    return host, int(length)
