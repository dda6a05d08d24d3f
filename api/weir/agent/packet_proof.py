# SPDX-License-Identifier: Apache-2.0
"""A frame of our own that goes a packet's way through the router and is caught before it leaves
(docs/adr/0223). What it met is told as the kernel told it; who asks compares it with what was foretold."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from weir.adapters import nft, tracked
from weir.adapters.datapath import Datapath
from weir.adapters.frame_catcher import MOST_LINES, Caught, FrameCatcher
from weir.adapters.link_messages import RawLink, link_at
from weir.adapters.neighbours import neighbour_at
from weir.adapters.nft_trace import FrameTrace, Traced
from weir.adapters.proof_frame import Ends, ProofFrame, send_own
from weir.adapters.tracked import First
from weir.agent.configuration import Configuration
from weir.agent.packet_class import Classes
from weir.agent.packet_path import MARK_SHIFT, PacketPath, queue_json
from weir.model.problem import Conflict, Invalid, Problem
from weir.parts.firewall import FIREWALL, tracks
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

Json = dict[str, Any]
_SLOT_BITS = 0xFFFFF
_SETTLE_S = 0.05
"""The frame's way is over before sending it returns, or so long after on a busy processor."""
_EGRESS_S, _HELD_S, _LOOK_S = 0.02, 4.0, 0.001
"""From the last chain to the port; and where a next station that was known is asked for again: the kernel
gives up after three seconds."""
_KNOWN = ("reachable", "stale", "permanent", "not-needed")
_NO_STATION = "the next station {} is not known, so the frame was stopped before the router would ask for it"


@dataclass(frozen=True, slots=True)
class _Asked:
    """`leaves`: foretold, "" = it is foretold not to leave."""

    frame: ProofFrame
    came: RawLink | None
    leaves: RawLink | None
    lines: tuple[int, ...]
    charged: tuple[Json, ...]
    zones: frozenset[int]
    is_tracked: bool
    mode: str
    """How limits are kept where it leaves."""
    not_caught: str
    station: str | None
    """The next one's address."""
    far: str
    """Its destination behind NAT, as foretold."""

    @property
    def first(self) -> First:
        ends = self.frame.ends
        return First(self.frame.protocol, ends.source, ends.source_port, ends.destination, ends.port)


class PacketProof:
    """One frame at a time. What is attached, and the table that traces, end with this process."""

    def __init__(self, configuration: Configuration, datapath: Datapath, path: PacketPath) -> None:
        self._configuration = configuration
        self._datapath = datapath
        self._path = path
        self._busy = threading.Lock()
        self._catcher: FrameCatcher | None = None

    def table(self) -> dict[str, Handler]:
        return {"packet_prove": self._prove}

    def stop(self) -> None:
        if self._catcher is not None:
            self._catcher.close()

    def _prove(self, params: Json, _peer: Peer) -> Json:
        """`behind`: as `packet_path` is asked for the packet behind NAT of its destination; `leaves`: the
        interface by which it is foretold to leave. Raises `Conflict` (`proof-busy`, `connection-exists`),
        `Invalid` and `Unavailable`."""
        if not self._busy.acquire(blocking=False):
            raise Conflict("a frame is on its way already; one at a time", code="proof-busy")
        try:
            begun_s = time.monotonic()
            told = self._path.answer(params["behind"])
            asked = self._asked(params, told)
            for zone in asked.zones:
                if tracked.is_known(asked.first, zone):
                    text = "a connection with these addresses and ports is there, and a frame would be of it"
                    raise Conflict(text, code="connection-exists", path="source_port")
            found = self._run(asked)
            return {**found, "took_ms": round((time.monotonic() - begun_s) * 1000, 1)}
        finally:
            self._busy.release()

    def _asked(self, params: Json, told: Json) -> _Asked:
        ends = Ends(params["source"], params["source_port"], params["destination"], params["port"])
        try:
            frame = ProofFrame.made(ends, params["protocol"], int(params["tos"]))
        except (KeyError, ValueError) as error:
            raise Invalid(f"no frame can be made of it: {error}", code="bad-request") from error
        leaves = _link(params["leaves"])
        not_caught, near = "", told["neighbour"]
        if leaves is not None and near is not None and not _is_known(near):
            not_caught = _NO_STATION.format(near["address"])
        with self._configuration.lock:
            compiled = self._configuration.compiled
            rules = compiled.of(FIREWALL)
            zones = frozenset({0, *(rule.zone for rule in rules if rule.verdict == "zone")})
            charged = tuple(told["charged"][:MOST_LINES])
            classes = [compiled.class_of(item["queue"]) for item in charged]
            is_tracked = any(map(tracks, rules))
        mode = "none" if told["egress"] is None else str(told["egress"]["mode"])
        ways = zip(charged, classes, strict=True)
        lines = tuple(spec.slot * 2 + (item["way"] == "download") for item, spec in ways if spec is not None)
        came = None if params["sent"] else _link(params["interface"])
        if came is None and not params["sent"]:
            raise Invalid(f"there is no interface {params['interface']}", code="no-such-interface")
        far = str(params["behind"]["destination"])
        station = None if near is None else near["address"]
        return _Asked(frame, came, leaves, lines, charged, zones, is_tracked, mode, not_caught, station, far)

    def _run(self, asked: _Asked) -> Json:
        catcher, why = self._attached(asked)
        caught_at = asked.leaves.index if asked.leaves is not None and not why else 0
        try:
            with FrameTrace(asked.frame.recognised(), caught_at, asked.is_tracked) as trace:
                try:
                    refused = self._send(asked, catcher)
                    steps = trace.told(_SETTLE_S)
                    caught = _caught(asked, catcher, steps) if caught_at and catcher is not None else None
                finally:
                    self._forget(asked)
        finally:
            if catcher is not None:
                catcher.detach()
        return self._told(asked, refused, steps, caught, why)

    def _attached(self, asked: _Asked) -> tuple[FrameCatcher | None, str]:
        """And why nothing is caught at the port, "" = it is, or need not be."""
        try:
            catcher = self._catcher = self._catcher or FrameCatcher(self._datapath)
        except OSError as error:
            return None, error.strerror or str(error)
        catcher.ask(asked.frame, asked.lines)
        if asked.leaves is None or asked.not_caught:
            return catcher, asked.not_caught
        return catcher, catcher.attach(asked.leaves.index)

    def _send(self, asked: _Asked, catcher: FrameCatcher | None) -> str:
        """Why the kernel took no such frame at all, "" = it did."""
        try:
            if asked.came is None:
                if catcher is not None:
                    catcher.send(asked.frame.frame(""), 0)
                send_own(asked.frame)
            elif catcher is None:
                return "the kernel refuses the program that gives frames to a port"
            else:
                catcher.send(asked.frame.frame(asked.came.mac), asked.came.index)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _forget(self, asked: _Asked) -> None:
        for zone in asked.zones:
            with suppress(Problem):  # it is forgotten in a second without us (nft_trace.py)
                tracked.forget(asked.first, zone)

    def _told(
        self, asked: _Asked, refused: str, steps: Sequence[Traced], caught: Caught | None, why: str
    ) -> Json:
        names = dict(socket.if_nameindex())
        entered = next((step for step in steps if step.came), None)
        leaving = next((step for step in reversed(steps) if step.leaves), None)
        headers = [ends for step in steps if (ends := asked.frame.read(step.header)) is not None]
        inside = [step for step in steps if step.table != nft.PROOF_TABLE]
        last = steps[-1] if steps else None
        return {
            "refused": "" if last is not None and last.verdict == "drop" else refused,
            "source_port": asked.frame.ends.source_port,
            "traced": bool(steps),
            "came": names.get(entered.came) if entered else None,
            "sender": self._sender(asked, steps),
            "rules": [
                {"table": step.table, "chain": step.chain, "verdict": step.verdict, "comment": step.comment}
                for step in inside
                if step.says
            ],
            "taken": last is not None and (last.table, last.chain) == (nft.PROOF_TABLE, "taken"),
            "left_chains": last is not None and (last.table, last.chain) == (nft.PROOF_TABLE, "leaves"),
            "leaves": names.get(leaving.leaves) if leaving else None,
            "ends": _ends_json(headers[-1]) if headers else None,
            "turned": _ends_json(_turned(asked, steps)),
            "caught": None if caught is None else self._caught_json(asked, caught),
            "not_caught": why,
        }

    def _sender(self, asked: _Asked, steps: Sequence[Traced]) -> Json | None:
        """Whose upload it is by the mark that the port's program gave it; None: it is nobody's."""
        slot = steps[0].mark >> MARK_SHIFT & _SLOT_BITS if steps else 0
        if not slot or asked.came is None:
            return None
        with self._configuration.lock:
            shaping = self._configuration.compiled.shaping
            out = None if asked.leaves is None else shaping.ports.get(asked.leaves.name)
            classes = Classes(self._datapath, shaping.classes)
            return queue_json(classes.of_sender(slot, shaping.ports.get(asked.came.name), out, asked.far))

    def _caught_json(self, asked: _Asked, caught: Caught) -> Json:
        charged = [
            {"queue": item["queue"], "way": item["way"], "packets": count}
            for item, count in zip(asked.charged, caught.counted, strict=False)
        ]
        return {
            "passed": caught.passed,
            "waits_us": None if asked.mode == "htb" else round(caught.waits_ns / 1000, 1),
            "priority": caught.priority,
            "mac": caught.mac,
            "station_mac": _mac_of_station(asked),
            "charged": charged,
            "ends": _ends_json(asked.frame.read(caught.header)) if caught.passed else None,
        }


def _turned(asked: _Asked, steps: Sequence[Traced]) -> Ends | None:
    """Its ends behind NAT of the destination: in the chains behind routing."""
    for step in steps:
        if step.chain in ("forward", "input", "taken") and (ends := asked.frame.read(step.header)):
            return ends
    return None


def _is_known(near: Json) -> bool:
    """Also while the kernel asks whether it is still there."""
    return near["state"] in _KNOWN or (near["state"] == "asking" and near["confirmed_s"] is not None)


def _mac_of_station(asked: _Asked) -> str | None:
    """Of the next station that is foretold, as the kernel knows it now."""
    if asked.leaves is None or asked.station is None:
        return None
    found = neighbour_at(asked.leaves.index, asked.station)
    return found.mac.hex(":") if found is not None and found.mac else None


def _caught(asked: _Asked, catcher: FrameCatcher, steps: Sequence[Traced]) -> Caught | None:
    """What the port saw; None: it did not come so far. A frame that waits for its next station after all is
    waited for, so that it does not leave later."""
    if not steps or (steps[-1].chain, steps[-1].verdict) != ("leaves", "accept"):
        return None
    until_s = time.monotonic() + _EGRESS_S
    end_s = time.monotonic() + _HELD_S
    while True:
        found, now_s = catcher.seen(), time.monotonic()
        if found.passed or now_s > end_s or (now_s > until_s and not _waits(asked)):
            return found
        select.select([], [], [], _LOOK_S)


def _waits(asked: _Asked) -> bool:
    """Whether the kernel has no address of hardware of the next station now, but needs one."""
    return asked.leaves is not None and asked.leaves.asks and _mac_of_station(asked) is None


def _link(name: str | None) -> RawLink | None:
    try:
        return link_at(socket.if_nametoindex(name)) if name else None
    except OSError:
        return None


def _ends_json(ends: Ends | None) -> Json | None:
    if ends is None:
        return None
    return {
        "source": ends.source,
        "source_port": ends.source_port,
        "destination": ends.destination,
        "port": ends.port,
    }
