# SPDX-License-Identifier: Apache-2.0
"""Steps of a packet's way, in words: of the agent's answer, and of what is measured of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weir.kinds.bounded_source import BoundedSource
from weir.model import tree
from weir.model.document import Document
from weir.model.objects import Queue
from weir.model.prefix import parse_prefix
from weir.model.units import format_rate_long
from weir.service.path_answers import Step

Json = dict[str, Any]
_CHECKS = {
    "loopback": "nothing from outside may be for a loopback address",
    "impossible-source": "no host has the address {source}",
    "unknown": "{source} is in no queue, and {name} forwards only what is in one (unknown)",
    "no-way-back": "no route leads back to {source} (reverse_path)",
    "another-way-back": "the way back to {source} is {back}, not {name} (reverse_path)",
}
_LOOKED_AT = "impossible sources, the way back (reverse_path), who is in no queue (unknown)"


def ingress(document: Document, told: Json, asked_for: str) -> Step:
    """`asked_for`: how the interface became known, "" = it was given."""
    name = told["name"]
    item = document.interface(name)
    found = f" {asked_for}" if asked_for else ""
    if not told["there"]:
        return Step("ingress", "drops", f"There is no interface {name} now.", *_interface(document, name))
    if not told["up"] or not told["carrier"]:
        why = "has no carrier" if told["up"] else "is down"
        return Step("ingress", "drops", f"{name} {why}: nothing comes in by it.", *_interface(document, name))
    master = told["master"]
    if master and master["kind"] != "vrf":
        text = f"{name} is a port of the {master['kind']} {master['name']}."
        said = f"what {master['name']} switches by itself; ask for a packet that comes in by {master['name']}"
        return Step("ingress", "unknown", text, *_interface(document, name), not_known=(said,))
    zone = f"zone {item.role}" if item is not None else "not configured"
    vrf = f", VRF {master['name']}" if master else ""
    text = f"It comes in by {name}, {zone}{vrf}.{found}"
    return Step("ingress", "passes", text, *_interface(document, name))


def source(document: Document, told: Json, address: str) -> Step:
    """What the port checks of the packet's source."""
    check, name = told["check"], told["ingress"]["name"]
    if check is None:
        text = f"{address} may come in by {name}."
        if not told["ingress"]["classifies"]:
            return Step("source", "passes", f"{name} is no port of Weir's: no source is checked.")
        details, bound = [f"looked at: {_LOOKED_AT}"], _bound(document, address)
        if bound is None:
            return Step("source", "passes", text, *_interface(document, name), tuple(details))
        details.append(f"{bound.source} is bounded to {bound.packets_per_second:,} packets a second")
        unknown = (f"whether {bound.source} sends more than that now, which is dropped",)
        return Step("source", "passes", text, "bounded-source", bound.id, tuple(details), not_known=unknown)
    text = _CHECKS[check["code"]].format(source=address, name=name, back=check["way_back"])
    return Step("source", "drops", f"{name} drops it: {text}.", *_interface(document, name))


def _bound(document: Document, address: str) -> BoundedSource | None:
    """The one whose longest prefix has the address."""
    host = parse_prefix(address)
    found = ((parse_prefix(item.source), item) for item in document.every(BoundedSource) if not item.disabled)
    covering = [(prefix.length, item) for prefix, item in found if prefix.covers(host)]
    return max(covering, key=lambda pair: pair[0])[1] if covering else None


def queue_in(document: Document, told: Json, address: str) -> Step:
    """Whose upload it is."""
    sender = told["sender"]
    if sender is None:
        why = "its class is not known before its way is" if told["noted"] else "no queue"
        return Step("queue-in", "passes", f"{address} is in {why} on arrival.")
    queue = document.queue(sender["queue"])
    name = sender["queue"] if queue is None else queue.name
    text = f"{address} is in queue {name}; its upload is charged where the packet leaves."
    return Step("queue-in", "passes", text, "queue", sender["queue"])


def neighbour(told: Json, interface: str) -> Step:
    """The next station, as ARP or neighbour discovery knows it."""
    found = told["neighbour"]
    address, state = found["address"], found["state"]
    if state == "not-needed":
        return Step("neighbour", "passes", f"{interface} needs no hardware address of {address}.")
    ago = "" if found["confirmed_s"] is None else f", confirmed {found['confirmed_s']:.0f} s ago"
    if state in ("reachable", "permanent"):
        said = ago if state == "reachable" else ", set by hand"
        return Step("neighbour", "passes", f"{address} is known on {interface}{said}.")
    if state == "stale":
        text = f"{address} is known on {interface}{ago}; the kernel uses it, and asks again."
        return Step("neighbour", "passes", text)
    words = {
        "failed": f"{address} did not answer on {interface} last time: the packet waits for a new answer, "
        "and is dropped without one",
        "none": f"{address} is not known on {interface} yet: the packet waits until it answers, and is "
        "dropped if it does not",
    }
    text = words.get(state, f"{address} is being asked for on {interface}: the packet waits")
    return Step("neighbour", "waits", f"{text}.", not_known=(f"whether {address} answers",))


def egress(document: Document, told: Json, is_forwarded: bool) -> Step:
    """The port that it leaves by."""
    found = told["egress"]
    name, item = found["name"], document.interface(found["name"])
    of = _interface(document, name)
    if not found["up"] or not found["carrier"]:
        why = "has no carrier" if found["up"] else "is down"
        return Step("egress", "drops", f"{name} {why}: what leaves by it is dropped.", *of)
    if found["known_only"] and is_forwarded and not told["charged"]:
        text = f"{name} drops it: it is in no queue, and {name} sends only what is in one (unknown)."
        return Step("egress", "drops", text, *of)
    zone = f", zone {item.role}" if item is not None else ", not configured"
    how = f"limits are kept by {found['mode']}: {found['reason']}"
    details = () if found["mode"] == "none" else (how,)
    return Step("egress", "passes", f"It leaves by {name}{zone}.", *of, details)


def queue_out(document: Document, charged: Sequence[Json], mode: str, rows: Mapping[str, Json]) -> list[Step]:
    """Whose limits hold where it leaves, and how long packets wait there now."""
    if mode == "none":
        return [Step("queue-out", "passes", "No queue limits it: the port is not shaped.")]
    if not charged:
        return [Step("queue-out", "passes", "It is in no queue, so nothing limits it.")]
    return [_limited(document, found, mode, rows.get(found["queue"])) for found in charged]


def _limited(document: Document, found: Json, mode: str, row: Json | None) -> Step:
    queue, way = document.queue(found["queue"]), found["way"]
    name = found["queue"] if queue is None else queue.name
    limit = _limit(found["rate_bps"])
    waits, unknown = _wait(mode, row, way)
    above = () if queue is None else tuple(_above(document, queue, way))
    text = f"Queue {name}, {way}: {limit}{waits}."
    return Step("queue-out", "passes", text, "queue", found["queue"], above, unknown)


def _limit(rate_bps: int) -> str:
    return format_rate_long(rate_bps) if rate_bps else "no limit of its own"


def _above(document: Document, queue: Queue, way: str) -> list[str]:
    return [
        f"below {item.name}, {_limit(getattr(item.max_limit_bps, way))}"
        for item in tree.ancestors(document, queue)
    ]


def _wait(mode: str, row: Json | None, way: str) -> tuple[str, tuple[str, ...]]:
    """How long packets wait there now; what is not known of it."""
    if mode == "police":
        return ", nothing waits, and what is over it is dropped", ()
    if mode == "htb":
        return "", ("how long packets wait there now: HTB does not measure it",)
    if row is None:
        return "", ("how long packets wait there now: no figures of it yet",)
    if row["delay_us"] is None:
        return "", (f"how long packets wait there now: {row['delay_reason']}",)
    return f", packets wait {row['delay_us'][way] / 1000:.1f} ms now", ()


def fast_path(told: Json, protocol: str, state: str) -> Step:
    """Whether XDP would forward it beside the stack."""
    came, leaves = told["ingress"], told["egress"]
    if came is None:
        return Step("fast-path", "passes", "Not on the fast path: the router sends it itself.")
    for end in (came, leaves):
        fast = end["fast"]
        if not fast["takes_part"]:
            why = fast["reason"] or "its reason is not known"
            return Step("fast-path", "passes", f"Not on the fast path: {end['name']}, {why}.")
    if came["fast"]["only_known"] or leaves["fast"]["only_known"]:
        if protocol not in ("tcp", "udp"):
            text = f"Not on the fast path: the kernel's flow table holds no {protocol}."
            return Step("fast-path", "passes", text)
        if state != "established":
            text = "Not on the fast path: it is not of a connection in the kernel's flow table yet."
            return Step("fast-path", "passes", text)
        text = "On the fast path, if its connection is in the kernel's flow table and it need not wait."
        return Step("fast-path", "passes", text, not_known=("whether the flow table has its connection",))
    text = "On the fast path, unless it must wait in a queue or is unusual (fragments, options)."
    return Step("fast-path", "passes", text)


def _interface(document: Document, name: str) -> tuple[str | None, str | None]:
    return ("interface", name) if document.interface(name) is not None else (None, None)
