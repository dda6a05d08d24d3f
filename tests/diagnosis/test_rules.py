# SPDX-License-Identifier: Apache-2.0
"""Each rule by table: what is sick gives its finding and nothing else, what is healthy gives none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.diagnosis.samples import cores, judged, unseen, well
from weir.diagnosis.findings import LOOKS_KEPT, LOOKS_TO_RAISE, RULES
from weir.diagnosis.sample import (
    CertificateLook,
    Chain,
    CoreTime,
    DropRow,
    DropWindow,
    LockRow,
    LockWindow,
    Port,
    RouteLookups,
    Scan,
    SetLook,
    Socket,
    Softirq,
    SoftirqWindow,
    Table,
    UplinkLook,
)
from weir.diagnosis.shown import findings_json
from weir.diagnosis.texts import AILMENTS, LOOKS

FULL, HALF, IDLE = {"softirq": 95, "squeezed": 500}, {"softirq": 50}, {"softirq": 2}
Look = Callable[[int], dict[str, Any]]


def always(**found: Any) -> Look:
    return lambda _step: found


def softirq(vector: str, **found: int) -> SoftirqWindow:
    """A window of its own in which one vector on core 1 has these counts."""
    given = {"late": 0, "dear": 0, "wait_most_ns": 2_500_000, "run_most_ns": 400_000, **found}
    return SoftirqWindow(1.0, (Softirq(1, vector, behind="NET_RX", wait_task="a", run_task="b", **given),))


def stolen(dear: int, ticks: int, softirq_ticks: int = 35) -> SoftirqWindow:
    """A window of a second with so many long runs on core 1, of which the hypervisor took so many ticks of
    100; 20 were idle."""
    spent = {1: CoreTime(softirq=softirq_ticks, stolen=ticks, idle=20, total=100)}
    return replace(softirq("NET_RX", dear=dear), spent=spent)


def drops(seconds: float, **packets: int) -> DropWindow:
    """A window of its own in which so many packets were dropped at wan0, by reason."""
    return DropWindow(seconds, tuple(DropRow(reason, "wan0", count) for reason, count in packets.items()))


SICK: dict[str, tuple[str, str, Look]] = {
    "routing waits for a core that is full of packets": (
        "control-plane-starved",
        "frr.service",
        lambda step: {"stalled_us": {"frr.service": 1_500_000 * step}},
    ),
    "a program wakes late on a full core": (
        "control-plane-starved", "sampler", always(woken_late_s=0.25),
    ),
    "the neighbors are many": (
        "neighbours-full", "neighbours-v4", always(neighbours={"neighbours-v4": Table(60_000, 65_536, 0)}),
    ),
    "a neighbor found no room": (
        "neighbours-full",
        "neighbours-v6",
        lambda step: {"neighbours": {"neighbours-v6": Table(10, 65_536, 7 * step)}},
    ),
    "connections are many": (
        "connections-full", "connections", always(connections={"connections": Table(900, 1000, None)}),
    ),
    "a core drops from its backlog": (
        "backlog-full",
        "core 1",
        lambda step: {"cores": cores(step, HALF, {"softirq": 50, "drops": 2}, HALF)},
    ),
    "one core is full and the others idle": (
        "one-core-works", "core 0", lambda step: {"cores": cores(step, FULL, IDLE, IDLE, HALF)},
    ),
    "a port has a fifo for all its queues": (
        "one-lock", "eth0", always(ports={"eth0": Port(4, "pfifo", 0, 0)}),
    ),
    "a card has no buffers": (
        "ring-overrun", "eth0", lambda step: {"ports": {"eth0": Port(4, "mq", 1000 * step, 2 * step)}},
    ),
    "a source asks for many, on full cores": (
        "scan", "10.64.0.2/32", always(scans=(Scan("10.64.0.2/32", 5_000.0, 5_200.0),)),
    ),
    "sockets share an address": (
        "crowded-listener", "0.0.0.0:53", always(chains=(Chain("0.0.0.0:53", 17, 0),)),
    ),
    "nobody accepts": ("listener-overflow", "tcp", lambda step: {"overflows": 6 * step}),
    "nobody reads": (
        "socket-unread", "0.0.0.0:67", lambda step: {"sockets": (Socket("0.0.0.0:67", 100 * step),)},
    ),
    "all checks of an uplink failed": (
        "uplink-down", "fibre", always(uplinks={"fibre": UplinkLook(7.5)}),
    ),
    "a certificate ends in a week": (
        "certificate-ending", "web", always(certificates={"web": CertificateLook(7, 0)}),
    ),
    "a certificate is over": (
        "certificate-invalid", "web", always(certificates={"web": CertificateLook(-1, 1)}),
    ),
    "nothing was fetched for a set": (
        "set-not-fetched", "drop", always(sets={"drop": SetLook(300.0, 300.0)}),
    ),
    "a name of a set is not answered": (
        "set-names-unanswered", "office", always(sets={"office": SetLook(None, None, 3600.0, 1)}),
    ),
    "a set is of last week": (
        "set-outdated", "drop", always(sets={"drop": SetLook(None, 7 * 86_400.0)}),
    ),
    "routes are looked up slowly": (
        "slow-route-lookup", "IPv4", always(route_lookups=RouteLookups(70, 401, 1_000_000)),
    ),
    "packets wait on a core that has time": (
        "softirq-late",
        "NET_TX",
        lambda step: {"cores": cores(step, FULL, HALF, FULL), "softirqs": softirq("NET_TX", late=6)},
    ),
    "few packets take long": (
        "long-softirq", "NET_RX", lambda _step: {"softirqs": softirq("NET_RX", dear=11)},
    ),
    "few packets take longer than a hypervisor makes them": (
        "long-softirq", "NET_RX", lambda _step: {"softirqs": stolen(dear=400, ticks=10)},
    ),
    "the stack drops much of what came": (
        "stack-drops",
        "wan0",
        lambda step: {
            "cores": cores(step, {"packets": 500_000}),
            "ports": {},
            "drop_reasons": drops(1.0, NEIGH_FAILED=101, IP_CSUM=30),
        },
    ),
    "a core that carries packets spins": (
        "lock-wait",
        "core 1",
        lambda step: {
            "cores": cores(step, HALF, HALF),
            "lock_waits": LockWindow(2.0, (LockRow(1, 60_000_000, 90_000), LockRow(1, 50_000_000, 700))),
        },
    ),
    "sources are looked up": ("second-lookup", "all", always(reverse_path=("all",))),
}  # fmt: skip

HEALTHY: dict[str, Look] = {
    "packets wait on a core that is full of packets": lambda step: {
        "cores": cores(step, IDLE, {"softirq": 95}, {"softirq": 95}),
        "softirqs": softirq("NET_RX", late=900),
    },
    "the stack drops little of what came, most of it on the fast path": lambda step: {
        "cores": cores(step, {"packets": 500_000}),
        "drop_reasons": drops(1.0, NEIGH_FAILED=101),
    },
    "a few packets wait": lambda step: {
        "cores": cores(step, HALF, HALF),
        "softirqs": softirq("TIMER", late=5),
    },
    "what nobody waits for waits": lambda step: {
        "cores": cores(step, HALF, HALF),
        "softirqs": softirq("RCU", late=900),
    },
    "the hypervisor makes runs long": lambda _step: {"softirqs": stolen(dear=390, ticks=10)},
    "the hypervisor takes little of a core that does softirqs alone": lambda _step: {
        "softirqs": stolen(dear=80, ticks=1, softirq_ticks=79)
    },
    "a few runs take long": lambda _step: {"softirqs": softirq("NET_RX", dear=10)},
    "the stack drops a few": lambda step: {
        "cores": cores(step, HALF),
        "drop_reasons": drops(1.0, NEIGH_FAILED=100),
    },
    "a short window drops a few": lambda step: {
        "cores": cores(step, HALF),
        "drop_reasons": drops(0.2, NEIGH_FAILED=90),
    },
    "the stack drops few of very many": lambda _step: {"drop_reasons": drops(1.0, NEIGH_FAILED=1900)},
    "others drop, and what nobody misses is dropped": lambda step: {
        "cores": cores(step, HALF),
        "drop_reasons": drops(1.0, NETFILTER_DROP=9000, NOT_SPECIFIED=9000, SOCKET_FILTER=9000),
    },
    "strangers knock, and TCP drops what it has": lambda step: {
        "cores": cores(step, HALF),
        "drop_reasons": drops(1.0, NO_SOCKET=9000, TCP_OLD_DATA=9000, CPU_BACKLOG=9000),
    },
    "a core spins a little": lambda step: {
        "cores": cores(step, HALF, HALF),
        "lock_waits": LockWindow(2.0, (LockRow(1, 100_000_000, 90_000),)),
    },
    "a core that carries no packets spins": lambda step: {
        "cores": cores(step, HALF, IDLE),
        "lock_waits": LockWindow(1.0, (LockRow(1, 900_000_000, 90_000),)),
    },
    "all cores are full": always(),
    "one core is full and loses nothing": lambda step: {"cores": cores(step, {"softirq": 100}, IDLE, IDLE)},
    "a machine of one core is full": lambda step: {"cores": cores(step, FULL)},
    "routing waits behind programs, not packets": lambda step: {
        "cores": cores(step, HALF, HALF),
        "stalled_us": {"frr.service": 4_000_000 * step},
    },
    "a few drops in millions": lambda step: {"cores": cores(step, {"packets": 4_000_000, "drops": 100})},
    "a source asks for many, and nobody suffers": lambda step: {
        "cores": cores(step, HALF, HALF),
        "scans": (Scan("10.64.0.2/32", 5_000.0, 5_200.0),),
    },
    "tables are filled to four fifths": always(
        neighbours={"neighbours-v4": Table(80, 100, 5)}, connections={"connections": Table(80, 100, 5)}
    ),
    "nothing is tracked": always(connections={}),
    "a port of one queue has a fifo": always(ports={"eth0": Port(1, "pfifo", 0, 0)}),
    "a port is down": always(ports={"eth0": Port(8, "noop", 0, 0)}),
    "sixteen sockets share an address": always(chains=(Chain("0.0.0.0:53", 16, 0),)),
    "one connection a second is not accepted": lambda step: {"overflows": 5 * step},
    "a socket lost much long ago": always(sockets=(Socket("0.0.0.0:67", 1_000_000),)),
    "a new socket of the same address": lambda step: {"sockets": (Socket("0.0.0.0:67", 100),) * (step % 2)},
}


@pytest.mark.parametrize(("code", "subject", "look"), SICK.values(), ids=SICK)
def test_what_is_sick_is_found(code: str, subject: str, look: Look) -> None:
    findings = judged([well(step, **look(step)) for step in range(1, LOOKS_TO_RAISE + 2)])
    (found,) = findings_json(findings, None)["findings"]
    assert (found["code"], found["subject"]) == (code, subject)
    first = found["numbers"][0]
    refused = [number for number in found["numbers"] if number["name"] == "refused_ps"]
    assert first["value"] > first["threshold"] or refused[0]["value"] > refused[0]["threshold"]
    assert "{" not in found["sentence"] and found["sentence"].endswith(".")


@pytest.mark.parametrize("look", HEALTHY.values(), ids=HEALTHY)
def test_what_is_healthy_is_left_alone(look: Look) -> None:
    findings = judged([well(step, **look(step)) for step in range(1, 2 * LOOKS_KEPT)])
    assert findings_json(findings, None)["findings"] == []


def test_a_scan_that_fills_a_table_is_named_beside_it() -> None:
    look = {
        "scans": (Scan("10.64.0.2/32", 5_000.0, 5_200.0),),
        "connections": {"connections": Table(900, 1000, None)},
    }
    looks = [well(step, cores=cores(step, HALF, HALF), **look) for step in range(1, LOOKS_TO_RAISE + 2)]
    found = {(item["code"], item["subject"]) for item in findings_json(judged(looks), None)["findings"]}
    assert found == {("scan", "10.64.0.2/32"), ("connections-full", "connections")}


def test_every_rule_has_a_sick_sample_and_words() -> None:
    given = {code for _, codes, _ in RULES for code in codes}
    assert given == set(AILMENTS) == {code for code, _, _ in SICK.values()}
    assert {name for _, _, needs in RULES for name in needs} <= set(LOOKS)


def test_a_finding_is_said_since_its_first_sign_and_ends_after_six_looks_without() -> None:
    sick = {"chains": (Chain("0.0.0.0:179", 40, 0),)}
    looks = [well(1), well(2), *(well(step, **sick) for step in (3, 4))]
    assert not judged(looks).raised(), "two looks are no finding yet"
    looks.append(well(5, **sick))
    (held,) = judged(looks).raised()
    assert held.first_ms == looks[2].at_ms
    looks += [well(step) for step in range(6, 11)]
    assert judged(looks).raised(), "five looks without it are a pause"
    assert not judged([*looks, well(11)]).raised()


def test_what_cannot_be_looked_at_any_more_neither_ends_nor_is_said_to_be_well() -> None:
    looks = [well(step, chains=(Chain("[::]:22", 99, 0),)) for step in range(1, 6)]
    gone = [unseen(well(step), "the kernel is silent", "chains") for step in range(6, 30)]
    answer = findings_json(judged([*looks, *gone]), gone[-1])
    assert [item["doubt"] for item in answer["findings"]] == ["the kernel is silent"]
    assert {"id": "chains", "what": LOOKS["chains"], "reason": "the kernel is silent"} in answer[
        "not_looked_at"
    ]
    assert "chains" not in {item["id"] for item in answer["looked_at"]}


def test_before_the_first_look_nothing_is_said_to_be_well() -> None:
    answer = findings_json(judged([]), None)
    assert answer["looked_at"] == [] and len(answer["not_looked_at"]) == len(LOOKS)


def test_a_window_is_judged_once_however_often_it_is_looked_at() -> None:
    window = softirq("NET_RX", dear=500)
    findings = judged([well(step, softirqs=window) for step in range(10)])
    assert findings.raised() == []
    assert "softirqs" in {item["id"] for item in findings_json(findings, well(10))["looked_at"]}


def test_a_finding_about_softirqs_names_who_ran() -> None:
    sick = [
        well(step, cores=cores(step, HALF, HALF), softirqs=softirq("NET_TX", late=60)) for step in range(5)
    ]
    [said] = findings_json(judged(sick), sick[-1])["findings"]
    assert said["sentence"] == (
        "NET_TX softirqs wait for 1 ms and more, 60/s; the longest 2.5 ms, on core 1 behind NET_RX, "
        "when a was to run."
    )


def test_a_finding_about_drops_names_the_reason_with_most_packets() -> None:
    sick = [
        well(step, cores=cores(step, HALF), ports={}, drop_reasons=drops(1.0, IP_RPFILTER=150, A_NEW_ONE=400))
        for step in range(5)
    ]
    [said] = findings_json(judged(sick), sick[-1])["findings"]
    assert said["sentence"] == (
        "At wan0 the network stack drops 400 packets/s, 100 % of what the router receives: A_NEW_ONE."
    )
    assert said["numbers"][0]["threshold"] == 100


@pytest.mark.parametrize(
    ("unpaced", "offered"), [("", ["shaper"]), ("unknown qdisc", ["remove-root", "kernel-with-fq"])]
)
def test_a_shaper_is_offered_against_one_lock_only_where_it_can_pace(
    unpaced: str, offered: list[str]
) -> None:
    sick = [
        well(
            step,
            ports={"eth0": Port(4, "pfifo", 0, 0, unpaced), "eth1": Port(1, "noqueue", 0, 0)},
            lock_waits=LockWindow(1.0, (LockRow(2, 250_000_000, 42_000),)),
        )
        for step in range(5)
    ]
    held = {item["code"]: item for item in findings_json(judged(sick), sick[-1])["findings"]}
    for code in ("one-lock", "lock-wait"):
        assert [item["id"] for item in held[code]["remedies"]] == offered
        assert ("as `fq` does not work: unknown qdisc" in held[code]["sentence"]) == bool(unpaced)


def test_a_finding_about_locks_names_the_ports_that_share_one() -> None:
    sick = [
        well(
            step,
            ports={"eth0": Port(4, "pfifo", 0, 0)},
            lock_waits=LockWindow(1.0, (LockRow(2, 250_000_000, 42_000),)),
        )
        for step in range(5)
    ]
    said = [item["sentence"] for item in findings_json(judged(sick), sick[-1])["findings"]]
    assert (
        "core 2 spends 25 % of its time waiting for locks, 42 us at most; one lock for all queues: eth0."
        in said
    )


def test_the_figure_of_routes_is_told_where_nothing_is_wrong() -> None:
    sample = well(1, route_lookups=RouteLookups(65, 146, 100_004))
    looks = findings_json(judged([well(0), sample]), sample)["looked_at"]
    assert {item["id"]: item["figure"] for item in looks if item["figure"]} == {
        "route_lookups": "65 ns for one destination, 146 ns for random ones, 100,004 routes"
    }


def test_a_crowd_of_sockets_is_said_with_what_a_lookup_takes_where_it_was_measured() -> None:
    for took_ns, said in ((None, "looks at them all."), (6542, "looks at them all, which takes 6,542 ns.")):
        sick = [well(step, chains=(Chain("0.0.0.0:53", 17, 0, took_ns),)) for step in range(5)]
        [found] = findings_json(judged(sick), sick[-1])["findings"]
        assert found["sentence"].endswith(said)
