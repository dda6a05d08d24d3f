# SPDX-License-Identifier: Apache-2.0
"""capture: packets of an interface as they come, by the network stack and by the fast path, as pcapng."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any, Protocol

from weir.probes import pcapng
from weir.probes.fast_frames import FastFrames
from weir.probes.output import Gone, Output
from weir.probes.stack_frames import StackFrames
from weir.tools.capture import MAPS, Capture

LOOK_S = 0.02
"""So long the fast path's packets wait in the kernel: to be told of each would slow it down."""
LATE_NS = 2_000_000
"""So much later than its time a packet may come and is still in its place in the file."""
MOST_WAITING = 8192
"""Of packets that wait for earlier ones; more may wait only where the clock was set back."""
ENDING_S = 0.5
"""So long what has come may still be written when time is over."""
_AT_ONCE_BYTES = 4096
"""PIPE_BUF: a pipe takes so much as a whole, so that a run that is stopped has written no half block."""
_MESSAGE_BYTES = 1 << 14
_IS_IN = (
    "Packets with the comment 'fast path' are those that it forwarded. All of them are shown as they leave: "
    "of those that came in here, too, addresses, ports, MACs, TTL and VLAN tags are already the new ones."
)
_TAGGED = "What {} receives by it is in a capture of the interface below only."
_LOST = "{} packets of the fast path, whether they pass the filter or not, were not shown by the kernel."
_NO_ETHERNET = "{} has no Ethernet, so the fast path has none of its packets."


class _Source(Protocol):
    def read(self) -> list[pcapng.Packet]: ...


def run(asked: Capture, output: Output, confine: Callable[[], None], note: str) -> None:
    """`note` is what the file says of itself, before what it says of the fast path. Raises `OSError`."""
    with ExitStack() as stack:
        stacked = stack.enter_context(closing(StackFrames(asked)))
        fast, said = _fast_path(asked, stack, stacked.is_ethernet)
        confine()
        link = pcapng.ETHERNET if stacked.is_ethernet else pcapng.IP
        output.write(pcapng.begin(f"{note} {said}".strip(), asked.interface, link, asked.packet_bytes))
        file = _File(output, asked.most_bytes, [stacked] if fast is None else [stacked, fast])
        with suppress(Gone):  # a run that somebody stops ends as one whose time is over
            _packets(asked, output, stacked.descriptor, file)
        if fast is not None:
            fast.stop()
        with suppress(Gone):
            file.finish(time.monotonic() + ENDING_S)
        received, dropped = stacked.sums()
        if fast is not None:
            sums = fast.sums()
            received, dropped = received + sums.seen, dropped + sums.dropped
            if sums.lost:
                output.write(pcapng.remark(time.time_ns(), _LOST.format(sums.lost)))
        output.write(pcapng.end(time.time_ns(), received, dropped))


def _fast_path(asked: Capture, stack: ExitStack, is_ethernet: bool) -> tuple[FastFrames | None, str]:
    """What the fast path forwards, where that can be seen; and what the file says of it."""
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as agent:
        given, maps, _, _ = socket.recv_fds(agent, _MESSAGE_BYTES, len(MAPS))
    told: dict[str, Any] = json.loads(given)
    if not told["fast"]:
        return None, ""
    if asked.protocol == "arp":
        return None, "The fast path forwards no ARP."
    if not is_ethernet:
        return None, _NO_ETHERNET.format(asked.interface)
    try:
        if len(maps) != len(MAPS):
            raise OSError(0, "the agent has not said where it is")
        fast = stack.enter_context(closing(FastFrames(told["library"], asked, maps)))
    except OSError as error:
        return None, f"What the fast path forwards is NOT here: {error.strerror}."
    said = [_IS_IN]
    if told["is_tagged"]:
        said.append(_TAGGED.format(asked.interface))
    return fast, " ".join(said)


def _packets(asked: Capture, output: Output, descriptor: int, file: _File) -> None:
    until_s, has_more = time.monotonic() + asked.seconds, False
    while (now_s := time.monotonic()) < until_s and not file.is_full:
        if not has_more:
            output.wait(descriptor, min(until_s, now_s + LOOK_S) if file.has_many_sources else until_s)
        has_more = file.take()


class _File:
    """Packets of all sources in the order of their times, as far as there is room for them."""

    def __init__(self, output: Output, most_bytes: int, sources: Sequence[_Source]) -> None:
        self._output = output
        self._left_bytes = most_bytes
        self._sources = sources
        self._waiting: list[pcapng.Packet] = []
        self.is_full = False

    @property
    def has_many_sources(self) -> bool:
        return len(self._sources) > 1

    def take(self) -> bool:
        """Read a part of what has come, and write what nothing earlier can come for. Whether there may be
        more to read."""
        through_ns, has_more = time.time_ns() - LATE_NS * self.has_many_sources, False
        for source in self._sources:
            if packets := source.read():
                has_more = True
                through_ns = min(through_ns, packets[-1].at_ns)
                self._waiting += packets
        self._waiting.sort(key=lambda packet: packet.at_ns, reverse=True)
        self._write(None if len(self._waiting) > MOST_WAITING else through_ns)
        return has_more

    def finish(self, until_s: float) -> None:
        """Write what has come, as far as there is time for it."""
        while not self.is_full and time.monotonic() < until_s and self.take():
            pass
        self._write(None)

    def _write(self, through_ns: int | None) -> None:
        """Those that wait, the last one first, up to a time."""
        made = b""
        while self._waiting and not self.is_full:
            if through_ns is not None and self._waiting[-1].at_ns > through_ns:
                break
            block = pcapng.packet(self._waiting.pop())
            self._left_bytes -= len(block)
            self.is_full = self._left_bytes < 0
            if len(made) + len(block) > _AT_ONCE_BYTES or self.is_full:
                self._output.write(made)
                made = b""
            made += b"" if self.is_full else block
        if made:
            self._output.write(made)
