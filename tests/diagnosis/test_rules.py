# SPDX-License-Identifier: Apache-2.0
"""Each rule by table: what is sick gives its finding and nothing else, what is healthy gives none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.diagnosis.samples import cores, judged, unseen, well
from weir.diagnosis.findings import LOOKS_KEPT, LOOKS_TO_RAISE, RULES
from weir.diagnosis.sample import Chain, Port, Socket, Table, UplinkLook
from weir.diagnosis.shown import findings_json
from weir.diagnosis.texts import AILMENTS, LOOKS, UNBUILT

FULL, HALF, IDLE = {"softirq": 95, "squeezed": 500}, {"softirq": 50}, {"softirq": 2}
Look = Callable[[int], dict[str, Any]]


def always(**found: Any) -> Look:
    return lambda _step: found


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
    "sources are looked up": ("second-lookup", "all", always(reverse_path=("all",))),
}  # fmt: skip

HEALTHY: dict[str, Look] = {
    "all cores are full": always(),
    "one core is full and loses nothing": lambda step: {"cores": cores(step, {"softirq": 100}, IDLE, IDLE)},
    "a machine of one core is full": lambda step: {"cores": cores(step, FULL)},
    "routing waits behind programs, not packets": lambda step: {
        "cores": cores(step, HALF, HALF),
        "stalled_us": {"frr.service": 4_000_000 * step},
    },
    "a few drops in millions": lambda step: {"cores": cores(step, {"packets": 4_000_000, "drops": 100})},
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
    assert answer["looked_at"] == [] and len(answer["not_looked_at"]) == len(LOOKS) + len(UNBUILT)
