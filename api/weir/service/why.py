# SPDX-License-Identifier: Apache-2.0
"""Why is this customer slow? Gathers what is measured on one customer's line for `weir.diagnosis.line`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any, NamedTuple

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.diagnosis.judged import clause
from weir.diagnosis.line import Answer, judge
from weir.diagnosis.measured import (
    WAYS,
    Flow,
    Found,
    Line,
    Link,
    Lost,
    Machine,
    Measured,
    Port,
    Station,
    Taker,
    Uplink,
    Usual,
    Way,
)
from weir.diagnosis.processors import Spent
from weir.diagnosis.symptom import Number
from weir.diagnosis.usual import usual_of
from weir.model import tree
from weir.model.document import Document
from weir.model.objects import Queue
from weir.model.problem import Invalid, Problem
from weir.service.configuration import ConfigService
from weir.service.stats import StatsService
from weir.stats.absent import UNMEASURED
from weir.wire.client import AgentClient

Json = dict[str, Any]
FEW_SAMPLES = 5
"""With less of the last two minutes, only the last second is known (a queue that nobody looked at lately)."""
MOST_CHILDREN = 20_000


class Why(NamedTuple):
    """`queue_id` None: no queue limits the address. `towards` None: by the uplink in use, whatever the far
    end."""

    queue_id: str | None
    queue_name: str | None
    address: str | None
    towards: str | None
    uplink: Uplink | None
    answer: Answer


class WhyService:
    def __init__(self, agent: AgentClient, config: ConfigService) -> None:
        self._agent = agent
        self._config = config

    @requires("config.read")
    def line(
        self,
        by: Principal,
        stats: StatsService,
        queue_id: str | None,
        address: str | None,
        towards: str | None = None,
    ) -> Why:
        """The line of a queue, or of the host that has an address, to `towards` or the internet. Raises
        `NotFound`, `Invalid` and, while the agent does not answer, `Unavailable`."""
        if (queue_id is None) == (address is None):
            raise Invalid("give a queue or an address, and not both", code="invalid-request", path="queue")
        if queue_id is not None:
            self._config.get(by, "queue", queue_id)
        asked = {"queue_id": queue_id, "address": address, "towards": towards}
        told = self._agent.call("customer_line", {name: value for name, value in asked.items() if value})
        with self._config.document(by) as document:
            queue = document.queue(told["queue_id"])
            above = list(tree.ancestors(document, queue)) if queue else []
            lines = _lines(document, [*([queue] if queue else []), *above], stats, told)
        seen, usual = self._seen(by, queue), _usual(stats, queue)
        trips = _medians(seen)
        access, uplink = told["access"], told["uplink"]
        no_queue, queue_unknown = _without_queue(told)
        interfaces, checked = _Interfaces(stats), _checked(told)
        return Why(
            told["queue_id"],
            queue.name if queue else None,
            told["address"],
            told["towards"],
            checked,
            judge(
                Measured(
                    device=_station(access, told["address"], _no_station(told)),
                    access=interfaces.port(access, _no_access(told)),
                    queue=lines[0] if lines else None,
                    parents=tuple(lines[1:]),
                    machine=self._machine(told, stats),
                    uplink=interfaces.port(uplink, f"no route leads to {told['towards']}"),
                    gateway=_station(uplink, None, _no_gateway(told)),
                    checked=checked,
                    uplink_by=_uplink_by(told),
                    no_queue=no_queue,
                    queue_unknown=queue_unknown,
                    device_round_trip_us=trips.get("download"),
                    internet_round_trip_us=trips.get("upload"),
                    device_usual=usual["download"],
                    internet_usual=usual["upload"],
                    lost=_lost(seen),
                )
            ),
        )

    def _seen(self, by: Principal, queue: Queue | None) -> Json:
        """What the programs saw of its TCP in the last minute; empty where nobody knows."""
        if queue is None:
            return {}
        try:
            return self._config.details(by, queue.id)
        except Problem:
            return {}

    def _machine(self, told: Json, stats: StatsService) -> Machine:
        memory = stats.router.system()
        total = memory["memory_total_bytes"]
        share = memory["memory_available_bytes"] / total if total else None
        cores = None if told["cores"] is None else tuple(Spent(**core) for core in told["cores"])
        try:
            found = self._agent.call("findings")
        except Problem as problem:
            return Machine(cores, share, None, f"what ails the router cannot be asked: {problem.message}")
        if found["at_ms"] is None:
            return Machine(cores, share, None, "the router was not looked at yet")
        return Machine(cores, share, tuple(_found(item) for item in found["findings"]))


def _medians(seen: Json) -> dict[Way, float]:
    """Of the round trips, in us, by direction."""
    found = seen.get("round_trips", {})
    return {way: found[way]["median_us"] for way in WAYS if found.get(way)}


def _lost(seen: Json) -> dict[Way, Lost]:
    found = seen.get("losses", {})
    names = [field.name for field in fields(Lost)]
    return {way: Lost(**{name: found[way][name] for name in names}) for way in WAYS if found.get(way)}


def _usual(stats: StatsService, queue: Queue | None) -> dict[Way, Usual]:
    """Of the queue's own hours of the last seven days."""
    if queue is None:
        return {way: Usual() for way in WAYS}
    week = stats.history(queue.id, "7d")
    return {way: usual_of(week[way]["round_trip_us"]) for way in WAYS}


def _without_queue(told: Json) -> tuple[str, str]:
    """Where the line has no queue: the address that none limits, or else why that is not known."""
    if told["queue_id"] is not None:  # of the agent's configuration, and not of the API's
        return "", f"queue {told['queue_id']} is no longer there"
    if told["may_be_in_vrf"]:
        return "", f"no queue limits {told['address']} in the main table, and it may be in a VRF"
    return told["address"], ""


def _checked(told: Json) -> Uplink | None:
    found = told["checked"]
    if found is None:
        return None
    loss = found["loss_percent"]
    return Uplink(
        found["id"],
        found["status"],
        found["answers"] or "",
        found["round_trip_us"],
        None if loss is None else loss / 100,
    )


def _uplink_by(told: Json) -> str:
    """Why it is this port that leads to the internet."""
    if told["towards"] is None:
        return f"It is uplink {told['checked']['id']}, the one in use."
    if told["uplink"] is None:
        return ""
    said = f"The route to {told['towards']} leaves by it"
    if told["checked"] is not None:
        return f"{said}: it is uplink {told['checked']['id']}."
    return f"{said}." if told["uplinks"] else f"{said}; no uplink is configured for this line."


def _no_gateway(told: Json) -> str:
    if told["towards"] is None:
        return f"uplink {told['checked']['id']} has no gateway"
    return f"no gateway leads to {told['towards']}"


def _no_access(told: Json) -> str:
    if told["address"] is None:
        return "the queue has no target that tells its port"
    return f"no route leads to {told['address']}"


def _no_station(told: Json) -> str:
    return "no one address of it is known" if told["address"] is None else _no_access(told)


def _found(item: Json) -> Found:
    numbers = tuple(
        Number(number["name"], number["value"], number["unit"], number["threshold"])
        for number in item["numbers"]
    )
    return Found(item["code"], item["severity"], item["subject"], item["sentence"], numbers)


def _station(side: Json | None, address: str | None, reason: str) -> Station:
    """The next station of one end; without one the address that was asked about."""
    station = side and side["station"]
    if not side or not station:
        return Station(address, side["interface"] if side else "", None, None, False, reason)
    return Station(
        station["address"],
        side["interface"],
        station["state"],
        station["confirmed_s"],
        address is not None and station["address"] != address,
        f"{station['address']} was not heard of on {side['interface']}" if station["state"] == "none" else "",
    )


class _Interfaces:
    """What is measured of interfaces, read once for an answer."""

    def __init__(self, stats: StatsService) -> None:
        router = stats.router
        self._counted = router.counted
        self._held = router.kernel_interfaces()
        is_known = router.measured and router.lost_at is None
        self._live = {item["id"]: item for item in router.interfaces()["items"]} if is_known else {}

    def port(self, side: Json | None, reason: str) -> Port:
        if side is None:
            return Port(reason=reason)
        names = [each["name"] for each in side["links"]]
        if not names:
            return Port(reason=f"interface {side['interface']} is not there")
        if unread := next((name for name in names if name not in self._held), None):
            return Port(reason=f"{unread} came after the interfaces were read last")
        links = tuple(self._link(each["name"], each["duplex"]) for each in side["links"])
        return Port(links, "", tuple(f"which port of {name} it is" for name in side["shared"]))

    def _link(self, name: str, duplex: str | None) -> Link:
        item, live, counted = self._held[name], self._live.get(name), self._counted(name)
        return Link(
            name,
            bool(item["up"]),
            bool(item.get("carrier", item["up"])),
            item.get("speed_bps"),
            duplex,
            live["rx_bps"] if live else None,
            live["tx_bps"] if live else None,
            counted.packets if counted else None,
            counted.errors if counted else None,
            counted.span_s if counted else 0.0,
        )


def _lines(document: Document, queues: Sequence[Queue], stats: StatsService, told: Json) -> list[Line]:
    """Queues with their figures of the last two minutes."""
    if not queues:
        return []
    found = stats.queues([queue.id for queue in queues])
    modes = _modes(stats, told)
    return [
        _line(document, queue, stats, told["queue_id"], (row, found["stale_reason"], modes))
        for queue, row in zip(queues, found["items"], strict=True)
    ]


def _line(
    document: Document,
    queue: Queue,
    stats: StatsService,
    asked: str,
    figures: tuple[Json, str | None, _Modes],
) -> Line:
    row, stale, modes = figures
    recent, day = stats.history(queue.id, "2m"), stats.history(queue.id, "24h")
    flows = {way: _flow(queue, way, row, recent[way], day[way]["rate_bps"]) for way in WAYS}
    for way in modes.classful:
        flows[way] = replace(flows[way], early_ps=(), ancestor_ps=())
    unmeasured = stale or ("" if row["live"] else stats.unmeasured(queue.id) or UNMEASURED)
    return Line(
        queue.id,
        queue.name,
        flows["upload"],
        flows["download"],
        modes.policed,
        {} if queue.id == asked else _takers(document, queue, stats, asked),
        unmeasured,
        modes.classful,
        stats.trees.unseen,
        next(iter(document.children_of(queue.id)), None) is not None,
    )


def _flow(queue: Queue, way: Way, row: Json, recent: Json, day: Sequence[float | None]) -> Flow:
    number = WAYS.index(way)
    samples: Mapping[str, Sequence[float | None]] = recent
    if row["live"] and sum(value is not None for value in recent["rate_bps"]) < FEW_SAMPLES:
        worst = row["worst_delay_us"]
        samples = {
            "rate_bps": [row["rate_bps"][way]],
            "drops_ps": [row["drops_ps"][way]],
            "early_drops_ps": [],
            "ancestor_drops_ps": [],
            "marks_ps": [row["marks_ps"][way]],
            "worst_delay_us": [worst[way]] if worst else [],
        }
    return Flow(
        queue.max_limit_bps[number],
        queue.burst_limit_bps[number],
        samples["rate_bps"],
        samples["drops_ps"],
        samples["early_drops_ps"],
        samples["ancestor_drops_ps"],
        samples["marks_ps"],
        samples["worst_delay_us"],
        row["packets_ps"][way] if row["live"] else None,
        day,
    )


class _Modes(NamedTuple):
    """As in `Line`."""

    policed: Mapping[Way, str]
    classful: frozenset[Way]


def _modes(stats: StatsService, told: Json) -> _Modes:
    """How both directions are shaped: upload is limited where it leaves to the internet, download where it
    leaves to the device."""
    shapers = (stats.router.status or {}).get("shapers") or {}
    sides: tuple[tuple[Way, Json | None], ...] = (("upload", told["uplink"]), ("download", told["access"]))
    policed: dict[Way, str] = {}
    classful: set[Way] = set()
    for way, side in sides:
        for name in [item["name"] for item in side["links"]] if side else []:
            mode = shapers.get(name, {}).get("mode")
            if mode == "police":
                reason = clause(shapers[name].get("reason") or "nothing waits there")
                policed.setdefault(way, f"{name} is policed ({reason})")
            if mode == "htb":
                classful.add(way)
    return _Modes(policed, frozenset(classful))


def _takers(document: Document, parent: Queue, stats: StatsService, asked: str | None) -> dict[Way, Taker]:
    """By direction, the queue below a parent that takes most, but not the one that is asked about or what
    that one hangs below."""
    queue = document.queue(asked)
    own = {asked, *(item.id for item in tree.ancestors(document, queue))} if queue else set()
    ids = [item for item in islice(document.children_of(parent.id), MOST_CHILDREN) if item not in own]
    found: dict[Way, Taker] = {}
    for number, way in enumerate(WAYS):
        largest = stats.largest(ids, number)
        taker = document.queue(largest[0]) if largest else None
        if largest and taker:
            found[way] = Taker(taker.id, taker.name, largest[1])
    return found
