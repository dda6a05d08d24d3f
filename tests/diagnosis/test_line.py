# SPDX-License-Identifier: Apache-2.0
"""One culprit on a customer's line, by numbers; what was not measured is never ruled out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.diagnosis.lines import NO_FQ, M, at, core, flow, healthy, line, link, sick_link
from weir.diagnosis.judged import ORDER, clause
from weir.diagnosis.line import OURS, judge
from weir.diagnosis.measured import Found, Lost, Machine, Measured, Port, Station, Taker, Uplink, Usual
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import shown

FULL_TOWER = line(
    "tower", upload=flow(9 * M, 100 * M), download=flow(97 * M, 100 * M),
    takers={"download": Taker("q9", "Big Corp", 76 * M)},
)  # fmt: skip
SILENT = line(upload=flow(0.0, 10 * M), download=flow(0.0))
DEAF = line(upload=flow(0.0, 10 * M), download=flow(2 * M))
BURST = replace(flow(10 * M, 10 * M), burst_bps=20 * M, rates_bps=(20.0 * M,) * 20 + (10.0 * M,) * 100)
BACKLOG = Found("backlog-full", "warning", "core 0", "core 0 dropped 3 % of its packets.")
FAILED = Uplink("fiber", "down", "c1: no answer in 1000 ms", None, 1.0)

SICK: list[tuple[str, str, dict[str, Any], str]] = [
    ("queue-full", "queue", {"queue": line(download=flow(49 * M, drops_ps=30.0))},
     "acme is at its limit: download 49 Mbit/s of 50 Mbit/s."),
    ("policed", "queue", {"queue": line(download=flow(35 * M, drops_ps=30.0), policed={"download": NO_FQ})},
     "which slows TCP down: 35 Mbit/s download, as lan0 is policed (the kernel has no fq)."),
    ("burst-used", "queue", {"queue": line(upload=BURST)},
     "The burst of acme is over: upload was allowed 20 Mbit/s and is limited to 10 Mbit/s again; it has 10"),
    ("queue-drops", "queue", {"queue": line(download=flow(9 * M, drops_ps=5.0))},
     "drops 5 packets/s download"),
    ("parent-drops", "queue", {"queue": line(download=flow(9 * M, drops_ps=5.0, ancestor_ps=5.0))},
     "A queue above acme drops 5 packets/s"),
    ("long-wait", "queue", {"queue": line(upload=flow(M, 10 * M, waits_us=400_000.0))}, "up to 400 ms"),
    ("parent-full", "parent", {"parents": (FULL_TOWER,)},
     "tower above it is full: download 97 Mbit/s of 100 Mbit/s; Big Corp takes 78.4 % of it."),
    ("device-silent", "device", {"device": Station("10.64.0.2", "lan0", "failed")},
     "does not answer on lan0"),
    ("nothing-came", "device", {"queue": SILENT}, "No packet came from acme in 120 s."),
    ("nothing-comes-back", "device", {"queue": DEAF}, "No packet came from acme in 120 s, and 2 Mbit/s go"),
    ("slow-device-side", "device", {"device_round_trip_us": 240_000.0, "device_usual": Usual(168, 230_000.0)},
     "takes 240 ms (usual in the last 7 days: 230 ms)."),
    ("slower-device-side", "device", {"device_round_trip_us": 90_000.0, "device_usual": Usual(30, 30_000.0)},
     "The way to 10.64.0.2 and back takes 90 ms, 3.0 times the usual 30 ms of the last 7 days."),
    ("access-down", "access", {"access": sick_link(carrier=False)}, "lan0 has no carrier."),
    ("half-duplex", "access", {"access": sick_link(duplex="half")}, "half duplex"),
    ("port-errors", "access", {"access": sick_link(errors=900)}, "lan0 counted 900 errors in 110 s, 0.892 %"),
    ("slow-link", "access", {"access": sick_link(speed_bps=10 * M, rx_bps=1e6, tx_bps=5e6)},
     "negotiated 10 Mbit/s, less than the limit of 50 Mbit/s"),
    ("port-full", "uplink", {"uplink": Port((link("wan0", rx_bps=960e6),))},
     "wan0 receives 960 Mbit/s, 96 % of its speed of 1 Gbit/s."),
    ("uplink-down", "uplink", {"uplink":
                               Port((replace(link("wan0"), up=False),))}, "wan0 is switched off."),
    ("core-drops", "router", {"machine": Machine((core(0, drops=40), core(1)), 0.5, ())},
     "Core 0 dropped 40 packets between the last two looks at the cores: its backlog was full."),
    ("core-busy", "router", {"machine": Machine((core(0, 0.97), core(1)), 0.5, ())}, "Core 0 spends 97 %"),
    ("router-finding", "router", {"machine": Machine((core(0),), 0.5, (BACKLOG,))}, "core 0 dropped 3 %"),
    ("memory-low", "router", {"machine": Machine((core(0),), 0.01, ())}, "1 % of the memory"),
    ("gateway-silent", "internet", {"gateway": Station("203.0.113.1", "wan0", "failed")},
     "203.0.113.1 does not"),
    ("checks-failed", "uplink", {"checked": FAILED},
     "All checks of uplink fiber have failed: c1: no answer in 1000 ms."),
    ("loss-device-side", "device", {"lost": {"download": Lost(1_000_000, 0, 0, 40_000, 30)}},
     "4 % of the download is lost between the device and this router, after this router."),
    ("loss-internet", "internet", {"lost": {"download": Lost(970_000, 30_000, 20, 0, 0)}},
     "3 % of the download is lost behind the gateway, before this router."),
    ("slow-internet", "internet", {"internet_round_trip_us": 420_000.0, "internet_usual": Usual(23)},
     "takes 420 ms."),
    ("slower-internet", "internet", {"internet_round_trip_us": 140_000.0},
     "The way to the far ends and back takes 140 ms, 7.0 times the usual 20 ms of the last 7 days."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "place", "change", "words"), SICK, ids=[item[0] for item in SICK])
def test_one_trouble_is_the_culprit_with_its_number(
    code: str, place: str, change: dict[str, Any], words: str
) -> None:
    answer = judge(healthy(**change))
    assert answer.culprit is not None
    assert (answer.culprit.code, answer.culprit.place, answer.culprit.state) == (code, place, "culprit")
    assert words in answer.sentence
    assert [item.place for item in answer.line if item.state != "clear"] == [place]
    assert answer.culprit.numbers or code == "router-finding" or place == "device" or place == "internet"


def test_every_code_has_its_rank_and_its_test() -> None:
    assert sorted(code for code, *_ in SICK) == sorted(ORDER)


def test_a_line_that_was_measured_and_is_well_is_not_this_router() -> None:
    answer = judge(healthy())
    assert answer.culprit is None
    assert answer.sentence == (
        "It is not this router. acme is within its limits: upload 1 Mbit/s of 10 Mbit/s, download 5 Mbit/s "
        "of 50 Mbit/s. tower is within its limits: upload 20 Mbit/s of 100 Mbit/s, download 40 Mbit/s of "
        "100 Mbit/s."
    )
    assert {item.state for item in answer.line} == {"clear"}
    assert [item.place for item in answer.line] == [
        "device", "access", "queue", "parent", "router", "uplink", "internet"
    ]  # fmt: skip


def test_a_queue_with_others_below_it_is_not_blamed_for_what_their_own_limits_drop() -> None:
    """Its figures are theirs summed up; only what a queue above them dropped can be its doing."""
    policed = {"policed": {"download": NO_FQ}, "is_parent": True}
    dropping = line("tower", download=flow(40 * M, 100 * M, drops_ps=17.0), **policed)
    found = at(judge(healthy(queue=dropping, parents=())), "queue")
    assert (found.state, found.code) == ("clear", "")
    assert found.sentence.endswith("Queues below it drop 17 packets/s over their own limits.")
    its_own = flow(40 * M, 100 * M, drops_ps=17.0, ancestor_ps=17.0)
    found = at(judge(healthy(queue=line("tower", download=its_own, **policed), parents=())), "queue")
    assert (found.state, found.code) == ("culprit", "parent-drops")
    assert found.sentence.startswith("tower or a queue above it drops 17 packets/s download")


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (12.5, "share", "1,250 %"),
        (0.9999, "share", "100 %"),
        (0.004, "ms", "0.004 ms"),
        (0.3, "ms", "0.3 ms"),
        (9.97, "ms", "10 ms"),
        (60.0, "1/s", "60/s"),
        (0.0, "ms", "0 ms"),
    ],
)
def test_a_number_is_shown_as_people_read_it(value: float, unit: str, said: str) -> None:
    assert shown(Number("n", value, unit)) == said


def test_what_is_shorter_than_a_millisecond_is_not_none_and_one_is_one() -> None:
    answer = judge(healthy(device_round_trip_us=310.0, access=Port((link(errors=1),))))
    assert "round trip 0.3 ms" in at(answer, "device").sentence
    assert "1 error in 110 s" in at(answer, "access").sentence


UNMEASURED: dict[str, dict[str, Any]] = {
    "access": {"access": Port(reason="no route leads to it")},
    "queue": {"queue": line(unmeasured="it was not measured twice yet")},
    "parent": {"parents": (line("tower", unmeasured="it was not measured twice yet"),)},
    "router": {"machine": Machine(None, 0.5, None, "the agent just started")},
    "uplink": {"uplink": sick_link(errors=None)},
}


@pytest.mark.parametrize("place", OURS)
def test_what_was_not_measured_is_not_ruled_out(place: str) -> None:
    answer = judge(healthy(**UNMEASURED[place]))
    assert at(answer, place).state == "unknown"
    assert answer.sentence.startswith("Nothing was found in what was measured. Not known: ")
    assert "It is not this router" not in answer.sentence


def test_ends_that_were_not_measured_are_named_beside_a_router_that_is_well() -> None:
    ends = {
        "device_round_trip_us": None,
        "internet_round_trip_us": None,
        "gateway": Station(reason="no route"),
    }
    answer = judge(healthy(**ends))
    assert answer.sentence.startswith("It is not this router.")
    assert answer.sentence.endswith("Not known: the internet.")
    assert "the round trip to the device" in at(answer, "device").unknown


PERMANENT = "has a permanent neighbor entry, so the kernel does not check whether it answers"


def test_a_neighbour_with_a_permanent_entry_is_not_said_to_answer() -> None:
    ends = {
        "queue": line(upload=flow(0.0, 10 * M, seconds=5)),
        "device": Station("10.64.0.2", "lan0", "permanent"),
        "gateway": Station("203.0.113.1", "wan0", "permanent"),
        "internet_round_trip_us": None,
    }
    answer = judge(healthy(**ends))
    device, gateway = at(answer, "device"), at(answer, "internet")
    assert (device.state, device.sentence) == ("unknown", f"Not known: 10.64.0.2 {PERMANENT}.")
    assert device.unknown[0] == "the device"
    assert gateway.state == "unknown" and PERMANENT in gateway.sentence
    said = (device.sentence + gateway.sentence).replace(PERMANENT, "")
    assert "answers" not in said


def test_a_device_with_a_permanent_entry_that_sends_is_there() -> None:
    answer = judge(healthy(device=Station("10.64.0.2", "lan0", "permanent")))
    said = "10.64.0.2 sends packets; round trip 4 ms (usual in the last 7 days: 3 ms)."
    assert at(answer, "device").sentence == said


def test_an_own_limit_below_the_parents_share_is_the_culprit_also_under_a_full_parent() -> None:
    full = line(download=flow(49 * M, drops_ps=30.0))
    answer = judge(healthy(queue=full, parents=(FULL_TOWER,)))
    assert answer.culprit is not None and answer.culprit.code == "queue-full"


def test_a_parent_that_drops_the_customers_packets_is_the_culprit_also_at_its_own_limit() -> None:
    held = line(download=flow(49 * M, drops_ps=30.0, ancestor_ps=29.0))
    answer = judge(healthy(queue=held, parents=(FULL_TOWER,)))
    assert answer.culprit is not None and answer.culprit.code == "parent-full"
    assert at(answer, "queue").state == "trouble"


def test_a_short_burst_to_the_limit_is_no_culprit() -> None:
    rates = (5.0 * M,) * 117 + (50.0 * M,) * 3
    answer = judge(healthy(queue=line(download=replace(flow(5 * M), rates_bps=rates))))
    assert answer.culprit is None


def test_gaps_are_not_counted_as_nothing() -> None:
    gaps = replace(flow(0.0), rates_bps=(None,) * 115 + (0.0,) * 5)
    answer = judge(healthy(queue=line(upload=gaps, download=gaps)))
    assert answer.culprit is None, "five seconds are too few to say that nothing came"


def test_loss_is_known_here_and_said_to_be_unknown_where_no_tcp_was_seen() -> None:
    dropping = line(download=flow(49 * M, drops_ps=50.0, early_ps=20.0, ancestor_ps=5.0))
    losses = {(item.way, item.where): item for item in judge(healthy(queue=dropping, lost={})).losses}
    here = {number.name: number.value for number in losses["download", "here"].numbers}
    assert (here["sent_ps"], here["dropped_ps"], here["over_limit_ps"]) == (1000, 50, 25)
    assert here["dropped_share"] == pytest.approx(50 / 1050)
    for way in ("upload", "download"):
        for where in ("before", "after"):
            assert losses[way, where].sentence.startswith("Not known: ")  # type: ignore[index]
    assert "lan0" in losses["upload", "before"].sentence and "wan0" in losses["upload", "after"].sentence
    assert "wan0" in losses["download", "before"].sentence and "lan0" in losses["download", "after"].sentence


def test_without_a_queue_nothing_is_said_of_one() -> None:
    unknown = "no queue limits 10.64.0.9 in the main table, and it may be in a VRF"
    answer = judge(healthy(queue=None, parents=(), queue_unknown=unknown))
    assert at(answer, "queue").state == "unknown"
    assert at(answer, "queue").sentence == f"Not known: {unknown}."
    assert "Not known: the customer's queue" in answer.sentence
    assert {loss.sentence for loss in answer.losses if loss.where == "here"} == {f"Not known: {unknown}."}


def test_that_no_queue_limits_an_address_is_known() -> None:
    answer = judge(healthy(queue=None, parents=(), no_queue="10.64.0.9"))
    assert (at(answer, "queue").state, at(answer, "queue").subject) == ("clear", "10.64.0.9")
    assert answer.sentence == "It is not this router. No queue limits 10.64.0.9."
    here = [loss for loss in answer.losses if loss.where == "here"]
    assert {loss.sentence for loss in here} == {"No queue limits it, so none drops its packets."}
    assert [(number.name, number.value) for number in here[0].numbers] == [("dropped_ps", 0.0)]


BY = "It is uplink fiber, the one in use."


def test_an_uplink_that_is_up_is_told_with_what_its_checks_said() -> None:
    checked = Uplink("fiber", "up", "c1: answer in 12.0 ms", 12_000.0, 0.0)
    answer = judge(healthy(checked=checked, uplink_by=BY, internet_round_trip_us=None))
    assert at(answer, "uplink").sentence == (
        f"wan0 is up, 1 Gbit/s, 0 errors in 110 s. {BY} Its checks say that it is up "
        "(last answers: c1: answer in 12.0 ms)."
    )
    assert at(answer, "internet").sentence == "The fastest check of uplink fiber is answered after 12 ms."
    assert at(answer, "internet").state == "clear"


def test_a_cable_that_is_out_is_the_culprit_and_not_the_checks_that_follow_from_it() -> None:
    out = Port((replace(link("wan0"), carrier=False),))
    found = judge(healthy(uplink=out, checked=FAILED, uplink_by=BY))
    assert found.sentence == f"wan0 has no carrier. {BY}"


def test_a_limit_that_packets_meet_is_the_culprit_and_not_checks_that_nobody_answers() -> None:
    answer = judge(healthy(queue=line(download=flow(49 * M, drops_ps=30.0)), checked=FAILED))
    assert answer.culprit is not None and answer.culprit.code == "queue-full", "packets come by the uplink"
    assert at(answer, "uplink").state == "trouble"


def test_drops_of_which_no_reason_is_known_are_laid_to_no_limit() -> None:
    """Of a queue that nobody looked at lately one second is known, and only how much was dropped."""
    one = flow(9 * M, seconds=1, drops_ps=30.0, early_ps=(), ancestor_ps=())
    answer = judge(healthy(queue=line(download=one)))
    assert answer.culprit is not None and answer.culprit.sentence == (
        "acme or a queue above it drops 30 packets/s download at 9 Mbit/s of 50 Mbit/s; "
        "which one is not known yet."
    )
    (here,) = [item for item in answer.losses if (item.way, item.where) == ("download", "here")]
    assert {number.name for number in here.numbers} == {"sent_ps", "dropped_ps", "dropped_share", "marks_ps"}


def test_waits_that_are_not_known_are_told_by_direction() -> None:
    unseen = line(upload=flow(M, 10 * M, waits_us=()), download=flow(5 * M, waits_us=()))
    waits = ("how long packets wait (upload)", "how long packets wait (download)")
    assert at(judge(healthy(queue=unseen)), "queue").unknown == waits


def test_what_an_htb_class_drops_is_said_to_be_unknown_where_it_is() -> None:
    held = line(classful=frozenset(("download",)), uncounted="the agent is away")
    assert at(judge(healthy(queue=held)), "queue").unknown == ("what its HTB class drops (download)",)
    assert at(judge(healthy(queue=replace(held, uncounted=""))), "queue").unknown == ()


def test_of_what_an_htb_class_drops_it_is_not_said_whose_limit_it_was() -> None:
    dropping = flow(5 * M, drops_ps=[20.0] * 20, early_ps=(), ancestor_ps=())
    found = judge(healthy(queue=line(download=dropping, classful=frozenset(("download",))))).culprit
    assert found is not None and found.code == "queue-drops"
    assert "drops 20 packets/s download" in found.sentence and "HTB does not tell which" in found.sentence


def test_a_slow_check_is_a_slow_internet_unless_packets_of_the_customer_tell_otherwise() -> None:
    slow = Uplink("fiber", "up", "c1: answer in 420.0 ms", 420_000.0, 0.0)
    found = judge(healthy(checked=slow, internet_round_trip_us=None)).culprit
    assert found is not None and found.code == "slow-internet" and "420 ms" in found.sentence
    assert judge(healthy(checked=slow)).culprit is None


def test_answers_of_an_uplink_that_is_down_tell_no_round_trip() -> None:
    """Such as the first one after a failure."""
    down = Uplink("fiber", "down", "c1: answers in 420.0 ms", 420_000.0, 0.5)
    answer = judge(healthy(checked=down, internet_round_trip_us=None))
    assert at(answer, "internet").state == "unknown"
    assert [number.name for number in at(answer, "uplink").numbers] == ["check_loss_share"]


def test_of_an_uplink_without_checks_it_is_not_known_whether_it_works() -> None:
    answer = judge(healthy(checked=Uplink("fiber", "unknown"), internet_round_trip_us=None))
    assert at(answer, "uplink").unknown == ("whether uplink fiber works (it has no checks)",)
    assert at(answer, "internet").state == "unknown"


def test_cores_that_were_not_looked_at_twice_are_not_said_to_drop_nothing() -> None:
    router = at(judge(healthy(machine=Machine((), 0.5, ()))), "router")
    assert (router.state, router.sentence) == (
        "unknown",
        "Not known: the cores were not looked at twice yet.",
    )


def test_behind_a_colon_there_is_no_capital_but_of_names() -> None:
    assert clause("No sample was taken yet.") == "no sample was taken yet"
    assert clause("A route. The next.") == "a route. The next"
    for said in ("IPv6 is off", "Weir does not know it", "Wan1 is down", "Notes is a name", "A1 is a port"):
        assert clause(f"{said}.") == said
    cases: list[dict[str, Any]] = [
        {"queue": line(unmeasured="No sample was taken yet.")},
        {"queue": None, "queue_unknown": "No sample was taken yet."},
        {
            "device": Station("10.64.0.1", "lan0", "stale", None, True),
            "queue": line(upload=flow(0, seconds=5)),
        },
        {"gateway": Station("203.0.113.1", "wan0", "reachable"), "internet_round_trip_us": None},
        {"gateway": Station(reason="No route."), "internet_round_trip_us": None},
        {"access": Port(reason="No route.")},
        {"machine": Machine(None, None, None, "The agent does not answer.")},
    ]
    for change in cases:
        answer = judge(healthy(**change))
        said = " ".join(item.sentence for item in (*answer.line, *answer.losses))
        assert "known: " in said.lower()
        assert not re.search(r"known: [A-Z]", said.replace("Known", "known")), said


def test_a_router_that_measures_nothing_claims_nothing() -> None:
    nothing = Measured(
        Station(reason="?"),
        Port(reason="?"),
        None,
        (),
        Machine(reason="?"),
        Port(reason="?"),
        Station(reason="?"),
    )
    answer = judge(nothing)
    assert answer.culprit is None and {item.state for item in answer.line} == {"unknown"}
    assert not any(loss.numbers for loss in answer.losses)
