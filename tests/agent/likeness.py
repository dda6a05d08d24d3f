# SPDX-License-Identifier: Apache-2.0
"""Sends frames to a router and says what leaves it by each port, to compare two ways through it."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

from lab import netns
from tests.agent.random_packets import ICMP, ICMP6, IPV4, IPV6, QINQ, VLAN
from tests.agent.rig import Rig
from tests.datapath.packets import checksum
from weir.model.interface import Interface

ARP = 0x0806
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 32 << 20
BATCH = 64
QUIET_S = 0.03
DEADLINE_S = 20.0
NUMBER = re.compile(rb"no(\d{6})\.")
NEIGHBOURLY = range(130, 138)
SELDOM = (b"\5\0", b"\5\1", b"\3\0", b"\3\1", b"\3\15")
"""ICMP type and code: redirects; net or host unreachable, or prohibited (rated by time:
`ip_rt_error_burst`)."""
IFF_TAP, IFF_NO_PI, TUNSETIFF = 0x0002, 0x1000, 0x400454CA
TAG_KINDS = (VLAN.to_bytes(2, "big"), QINQ.to_bytes(2, "big"))
SENTINEL = b"sentinel of %s after %d"

Left = dict[int | None, Counter[tuple[str, bytes]]]
"""Of each frame's number (None: there is none in it), what left to which end, and how often."""
NOTHING: Counter[tuple[str, bytes]] = Counter()


@dataclass(frozen=True, slots=True)
class End:
    """The far end of one of the router's ports. `router` and `own` are IPv4 addresses that know each
    other."""

    namespace: str
    device: str
    router_mac: bytes
    router: str
    own: str


class Wire(Protocol):
    """What frames pass to and from the router."""

    def send(self, frame: bytes, /) -> int: ...

    def received(self) -> Iterator[bytes]:
        """What has arrived since the last call, without waiting."""

    def close(self) -> None: ...


class Cable:
    """A device whose other end is the router's. The kernel takes the outermost tag off before one sees it."""

    def __init__(self, namespace: str, device: str) -> None:
        with netns.inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self._socket.bind((device, ETH_P_ALL))
        self._socket.setblocking(False)
        self.send = self._socket.send
        self.close = self._socket.close

    def received(self) -> Iterator[bytes]:
        while True:
            try:
                frame, (_, _, kind, _, _) = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            if kind != socket.PACKET_OUTGOING:
                yield frame


class Tap:
    """A port of the router that this process holds the other end of: frames are what they are on a wire, with
    their tags, and the driver has native XDP."""

    def __init__(self, namespace: str, device: str) -> None:
        with netns.inside(namespace):
            self._file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(self._file, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))

    def send(self, frame: bytes, /) -> int:
        return os.write(self._file, frame)

    def received(self) -> Iterator[bytes]:
        while True:
            try:
                yield os.read(self._file, 65536)
            except BlockingIOError:
                return

    def close(self) -> None:
        os.close(self._file)


class Ends:
    """All of them, listening; their own stacks must answer nothing (`mute`). The caller holds `taps`."""

    def __init__(
        self, ends: Sequence[End], taps: Mapping[str, Wire] | None = None, own: Sequence[str] = ()
    ) -> None:
        """`own`: more IPv4 addresses of the router."""
        self._ends = ends
        self.questions = 0
        self._routers = {ip_address(text).packed for text in (*own, *(end.router for end in ends))}
        self._stack = ExitStack()
        self._links = dict(taps or {})
        for end in ends:
            if end.device not in self._links:
                cable = self._stack.enter_context(closing(Cable(end.namespace, end.device)))
                self._links[end.device] = cable

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def sent(self, frames: Sequence[tuple[str, bytes]]) -> Left:
        """Send frames from the devices named; what the router sent then."""
        left: Left = {}
        for first in range(0, len(frames), BATCH):
            for device, frame in frames[first : first + BATCH]:
                self._links[device].send(frame)
            for device, frame in self._until_quiet(first):
                number = NUMBER.search(frame)
                key = int(number[1]) if number else None
                left.setdefault(key, Counter())[device, self._normal(frame)] += 1
        return left

    def _until_quiet(self, number: int) -> Iterator[tuple[str, bytes]]:
        """What arrives until the router has answered a question from each end, and a while after."""
        awaited = set()
        for end in self._ends:
            words = SENTINEL % (end.device.encode(), number)
            self._links[end.device].send(_question(end, words))
            awaited.add(words)
            self.questions += 1
        quiet_s = deadline_s = time.monotonic() + DEADLINE_S
        while (now_s := time.monotonic()) < quiet_s:
            got = False
            for device, frame in self._waiting():
                got = True
                if not (answered := {words for words in awaited if words in frame}):
                    yield device, frame
                awaited -= answered
            if got or (not awaited and quiet_s == deadline_s):
                quiet_s = min(deadline_s, now_s + QUIET_S) if not awaited else deadline_s
            time.sleep(0.001)
        assert not awaited, f"the router did not answer: {awaited}"

    def _waiting(self) -> Iterator[tuple[str, bytes]]:
        for device, link in self._links.items():
            for frame in link.received():
                if not _is_housekeeping(frame[_tags_bytes(frame) :]):
                    yield device, frame

    def _normal(self, frame: bytes) -> bytes:
        """Without what the router draws by chance: the identification of its own IPv4 packets."""
        tags_bytes = _tags_bytes(frame)
        plain = frame[tags_bytes:]
        if plain[12:14] != IPV4.to_bytes(2, "big") or plain[26:30] not in self._routers:
            return frame
        return frame[: 18 + tags_bytes] + b"id" + plain[20:24] + b"ck" + plain[26:]


def compared(
    rig: Rig, frames: Sequence[tuple[str, bytes]], far: Ends, configured: Callable[[str], list[Interface]]
) -> tuple[int, Counter[str]]:
    """Send frames with the fast path of what is configured `auto`, and with it `off`; that all left alike.
    How many of them XDP forwarded, and how many went up, by port (questions too)."""
    rig.commit(*configured("auto"))
    assert set(fast_ports(rig).values()) == {"on"}, fast_ports(rig)
    before = went_up(rig)
    by_xdp = far.sent(frames)
    up = went_up(rig) - before
    fast = len(frames) + far.questions - up.total()
    rig.commit(*configured("off"))
    assert set(fast_ports(rig).values()) == {"off"}
    by_stack = far.sent(frames)
    unlike = {
        number: (dict(by_xdp.get(number, NOTHING) - stack), dict(stack - by_xdp.get(number, NOTHING)))
        for number, stack in {**dict.fromkeys(by_xdp, NOTHING), **by_stack}.items()
        if by_xdp.get(number) != stack
    }
    print(f"{len(frames)} frames, {fast} by XDP, {len(by_stack)} with an effect, {len(unlike)} unlike")
    for number, (only_xdp, only_stack) in list(unlike.items())[:20]:
        sent = frames[number] if number is not None else "?"
        print(f"frame {number}: {sent}\n {only_xdp=}\n {only_stack=}")
    assert not unlike
    return fast, up


def fast_ports(rig: Rig) -> dict[str, str]:
    items = rig.agent.call("interfaces")["value"]
    return {item["name"]: item["shaper"]["fast_path"] for item in items if item["shaper"]}


def went_up(rig: Rig) -> Counter[str]:
    items = rig.agent.call("interfaces")["value"]
    return Counter({item["name"]: sum(item["passed_up_packets"].values()) for item in items})


def mute(namespace: str) -> None:
    """The end's own stack drops whatever arrives, after it was seen."""
    hook = "type filter hook prerouting priority -300; policy drop;"
    rules = f"add table inet mute; add chain inet mute drops {{ {hook} }}"
    netns.run(["ip", "netns", "exec", namespace, "nft", rules])


def _question(end: End, words: bytes) -> bytes:
    """An echo request (RFC 792) to the router's address on that port."""
    echo = bytearray(struct.pack("!BBHI", 8, 0, 0, 1) + words + bytes(len(words) % 2))
    echo[2:4] = checksum(bytes(echo)).to_bytes(2, "big")
    head = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(echo), 1, 0, 64, ICMP, 0))
    head += ip_address(end.own).packed + ip_address(end.router).packed
    head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
    return end.router_mac + bytes.fromhex("0200000000aa0800") + head + echo


def _tags_bytes(frame: bytes) -> int:
    """How much of a frame are tags. What is behind them has the addresses at another place, and the same
    offsets from its EtherType on."""
    found = 0
    while frame[12 + found : 14 + found] in TAG_KINDS:
        found += 4
    return found


def _is_housekeeping(frame: bytes) -> bool:
    """What the router's kernel sends by itself, or only so often: ARP and its IPv6 counterparts, redirects,
    and that there is no way."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == IPV6:
        return (
            frame[22] == 0xFE
            or frame[22:38] == bytes(16)
            or (frame[20] == ICMP6 and frame[54:55] and frame[54] in NEIGHBOURLY)
        )
    return kind == ARP or (kind == IPV4 and frame[23] == ICMP and _icmp(frame) in SELDOM)


def _icmp(frame: bytes) -> bytes:
    """Type and code; an answer to a packet with options has options."""
    place = 14 + (frame[14] & 15) * 4
    return frame[place : place + 2]
