# SPDX-License-Identifier: Apache-2.0
"""torch: the flows of a port or a queue, by their rates of the last second."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from weir.probes.output import Output
from weir.probes.torch_flows import Count, Flow, Flows
from weir.tools.torch import MAPS, Torch

Json = dict[str, Any]
GAP_S = 1.0
LOOK_S, BUSY_PACKETS = 0.02, 1000
"""From so many packets of the fast path in so long on, it is watched for a part of each second only. A look
that comes late has more of them at the same rate."""
LONGEST_S = 0.03
"""After so long a look is the last one, where so many are not of what is looked at; else the first one is."""
NAMED_S = 0.2
"""So long the agent has for names; those that come later are shown in the next second."""
MESSAGE_BYTES = 1 << 18
"""The slots of a million classes, a bit each, are 175 KB of it."""
PROTOCOLS = {
    1: "icmp",
    2: "igmp",
    6: "tcp",
    17: "udp",
    47: "gre",
    50: "esp",
    58: "icmpv6",
    89: "ospf",
    132: "sctp",
}
_WITH_PORTS = (6, 17, 132)
_PORT_WAYS, _QUEUE_WAYS = ("received", "sent"), ("upload", "download")
_NO_ENDS: Json = {"from": None, "from_port": None, "to": None, "to_port": None}
_NOBODY: Json = {"host": None, "queue": None}


def run(asked: Torch, output: Output, confine: Callable[[], None]) -> None:
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as agent:
        given, maps, _, _ = socket.recv_fds(agent, MESSAGE_BYTES, len(MAPS))
        seen = json.loads(given)
        slots = base64.b64decode(seen["slots"]) if asked.queue is not None else None
        with closing(Flows(seen["library"], seen["ifindexes"], slots, maps)) as flows:
            confine()
            if flows.unseen:
                why = f"what the fast path forwards is not counted: {flows.unseen}"
                output.tell("unseen", why=why)
            _Run(asked, output, agent, flows).run()


class _Added(NamedTuple):
    bytes: float
    packets: float


class _Run:
    def __init__(self, asked: Torch, output: Output, agent: socket.socket, flows: Flows) -> None:
        self._asked = asked
        self._output = output
        self._flows = flows
        self._names = _Names(agent)
        self._ways = _PORT_WAYS if asked.queue is None else _QUEUE_WAYS

    def run(self) -> None:
        begun_s, size, packets, exact = time.monotonic(), 0.0, 0.0, True
        before_s, (sums, flows) = begun_s, self._flows.read()
        for second in range(1, self._asked.seconds + 1):
            watched_s = watch(self._flows, partial(self._output.wait, None), begun_s + second * GAP_S)
            now_s, (new_sums, new_flows) = time.monotonic(), self._flows.read()
            share = min(watched_s / (now_s - before_s), 1.0) if watched_s else 1.0
            exact = exact and share == 1.0 and new_sums.estimated == sums.estimated
            added = _since(sums.total, new_sums.total, share)
            size, packets = size + added.bytes, packets + added.packets
            rates = [(_since(flows.get(flow), count, share), flow) for flow, count in new_flows.items()]
            self._tell(now_s - before_s, added, rates)
            before_s, sums, flows = now_s, new_sums, new_flows
        self._output.tell("summary", flows=len(flows), packets=round(packets), bytes=round(size), exact=exact)

    def _tell(self, seconds: float, added: _Added, rates: list[tuple[_Added, Flow]]) -> None:
        rates.sort(reverse=True)
        shown = rates[: self._asked.flows]
        self._names.ask(flow.address(end) for _, flow in shown if flow.family for end in flow[:2])
        self._row(0, {"way": None, "protocol": "all", **_NO_ENDS, **_NOBODY}, added, seconds)
        for rank, (count, flow) in enumerate(shown, 1):
            self._row(rank, self._said(flow), count, seconds)

    def _row(self, rank: int, said: Json, added: _Added, seconds: float) -> None:
        rates = {
            "rate_bps": round(added.bytes * 8 / seconds),
            "packets_per_s": round(added.packets / seconds),
        }
        self._output.tell("flow", rank=rank, **said, **rates)

    def _said(self, flow: Flow) -> Json:
        way = self._ways[flow.way]
        if not flow.family:
            return {"way": way, "protocol": "not IP", **_NO_ENDS, **_NOBODY}
        has_ports = flow.protocol in _WITH_PORTS
        ports = [int.from_bytes(port, "big") if has_ports else None for port in flow[2:4]]
        source, destination = (flow.address(end) for end in flow[:2])
        return {
            "way": way,
            "protocol": PROTOCOLS.get(flow.protocol, str(flow.protocol)),
            "from": source,
            "from_port": ports[0],
            "to": destination,
            "to_port": ports[1],
            **self._names.of(source, destination),
        }


def watch(
    flows: Flows, wait: Callable[[float], Any], until_s: float, busy_pps: float = BUSY_PACKETS / LOOK_S
) -> float:
    """Until that time of the monotonic clock, for which `wait` waits; for how long the fast path was watched
    if that was not all the time, else 0. While it carries much, by whatever port, it is watched for a small
    part of each second, as that slows it down. Raises `OSError`."""
    flows.watch_fast(True)
    begun_s, before = time.monotonic(), flows.sums()
    looked_s = begun_s
    while (now_s := time.monotonic()) < until_s:
        wait(min(now_s + LOOK_S, until_s))
        found = flows.sums()
        is_enough = found.total.fast_packets - before.total.fast_packets > BUSY_PACKETS
        looked_s, before_s = time.monotonic(), looked_s
        is_enough |= looked_s - begun_s > LONGEST_S
        if is_enough and found.fast_passed - before.fast_passed > busy_pps * (looked_s - before_s):
            flows.watch_fast(False)
            watched_ns = flows.sums().watched_ns
            wait(until_s)
            return watched_ns / 1e9
        before = found
    return 0.0


def _since(before: Count | None, now: Count, share: float) -> _Added:
    """What came between, if of the fast path that share was watched. A flow that gave way to others and
    came again counts from 0."""
    if before is None or before.packets > now.packets or before.fast_packets > now.fast_packets:
        before = Count(0, 0, 0, 0)
    added = [late - early for early, late in zip(before, now, strict=True)]
    return _Added(added[0] + added[2] / share, added[1] + added[3] / share)


class _Names:
    """What the agent says of addresses, each asked once."""

    def __init__(self, agent: socket.socket) -> None:
        self._agent = agent
        self._known: dict[str, Json] = {}

    def ask(self, addresses: Iterable[str]) -> None:
        new = sorted({address for address in addresses if address not in self._known})
        if new:
            self._known.update(dict.fromkeys(new, _NOBODY))
            self._agent.send(json.dumps(new).encode())
        until_s = time.monotonic() + NAMED_S
        while new and select.select([self._agent], [], [], max(until_s - time.monotonic(), 0))[0]:
            said = json.loads(self._agent.recv(MESSAGE_BYTES) or b"{}")
            self._known.update(said)
            if not said or new[0] in said:
                return

    def of(self, *ends: str) -> Json:
        """The name and the queue of the first end that has one."""
        known = [self._known.get(end, _NOBODY) for end in ends]
        return {key: next((item[key] for item in known if item[key] is not None), None) for key in _NOBODY}
