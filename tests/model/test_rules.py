# SPDX-License-Identifier: Apache-2.0
"""What validation says, in the words that an operator reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair, Queue, QueueType, TimeWindow, Total
from weir.model.rule import View
from weir.model.rules import all_rules, validate, validate_all


def M(upload: float, download: float) -> Pair[int]:
    return Pair(int(upload * 1_000_000), int(download * 1_000_000))


LAN = Interface("lan0", "lan", ("10.64.0.1/24", "2001:db8:64::1/64"))
WAN = Interface("wan0", "wan", ("203.0.113.2/24",))
TOWER = Queue("t", "tower", ("10.0.0.0/16",), position=1, max_limit_bps=M(100, 100))

SAID = [
    (
        [Queue("q1", "acme", parent="gone", target=("10.0.0.1/32",))],
        ("error queue/q1/parent queue 'acme' names the parent 'gone', which does not exist",),
    ),
    (
        [Queue("q1", "one", parent="q2"), Queue("q2", "two", parent="q1")],
        (
            "error queue/q1/parent queue 'one' is its own ancestor: 'one' -> 'two' -> 'one'",
            "error queue/q2/parent queue 'two' is its own ancestor: 'two' -> 'one' -> 'two'",
        ),
    ),
    (
        [Queue("q1", "self", parent="q1")],
        ("error queue/q1/parent queue 'self' is its own ancestor: 'self' -> 'self'",),
    ),
    (
        [Queue("q1", "acme", ("10.0.0.1/32",)), Queue("q2", "acme", ("10.0.0.2/32",))],
        (
            "error queue/q1/name queue q2 has the same name, 'acme'",
            "error queue/q2/name queue q1 has the same name, 'acme'",
        ),
    ),
    (
        [TOWER, Queue("q2", "acme", ("10.0.5.0/24", "192.0.2.1/32"), position=2)],
        (
            "warning queue/q2/target 10.0.5.0/24 of queue 'acme' never matches: "
            "queue 'tower' (10.0.0.0/16) comes first",
        ),
    ),
    (
        [TOWER, Queue("q2", "acme", ("10.0.0.0/16",), position=2)],
        ("warning queue/q2/target queue 'acme' never matches: queue 'tower' (the same target) comes first",),
    ),
    (
        [TOWER, Queue("q2", "acme", ("10.0.5.0/24", "10.0.6.0/24"), position=2)],
        (
            "warning queue/q2/target queue 'acme' never matches: "
            "queue 'tower' (10.0.0.0/16) takes 10.0.5.0/24 and comes first",
        ),
    ),
    (
        [Queue("q1", "acme", ("10.0.0.1/32",), max_limit_bps=M(7, 7), burst_limit_bps=M(12, 12))],
        (
            "warning queue/q1/burst_threshold_bps.upload the upload burst of queue 'acme' never happens: "
            "its threshold is 0",
            "warning queue/q1/burst_threshold_bps.download the download burst of queue 'acme' never happens: "
            "its threshold is 0",
        ),
    ),
    (
        [Queue("q1", "acme", ("10.0.0.1/32",), max_limit_bps=M(7, 7), burst_limit_bps=M(0, 5))],
        (
            "error queue/q1/burst_limit_bps.download the download burst of queue 'acme' (5 Mbit/s) is below "
            "the limit of 7 Mbit/s: a burst would slow the queue down",
        ),
    ),
    (
        [
            Queue(
                "q1",
                "acme",
                ("10.0.0.1/32",),
                max_limit_bps=M(0, 7),
                burst_limit_bps=M(3, 10),
                burst_threshold_bps=M(3, 11),
                burst_time_ms=Pair(8000, 8000),
            )
        ],
        (
            "warning queue/q1/burst_limit_bps.upload the upload burst of queue 'acme' has no effect: "
            "without a limit there is nothing to exceed",
            "warning queue/q1/burst_threshold_bps.download the download burst of queue 'acme' never ends: "
            "no average over 8s can exceed 10 Mbit/s, and the threshold is 11 Mbit/s",
        ),
    ),
    (
        [Queue("q1", "acme", ("10.0.0.1/32",), max_limit_bps=M(1, 1), limit_at_bps=M(2, 1))],
        (
            "error queue/q1/limit_at_bps.upload the upload guarantee of queue 'acme', 2 Mbit/s, "
            "is above its limit of 1 Mbit/s",
        ),
    ),
    (
        [Queue("q1", "typo", ("10.0.0.1/32",), max_limit_bps=Pair(400, 0), total=Total(max_limit_bps=500))],
        (
            "warning queue/q1/max_limit_bps.upload the upload limit of queue 'typo' is 400 bit/s: "
            "one full packet takes 30.0 s; is a k or an M missing?",
            "warning queue/q1/total.max_limit_bps the total limit of queue 'typo' is 500 bit/s: "
            "one full packet takes 24.0 s; is a k or an M missing?",
        ),
    ),
    (
        [TOWER, Queue("q1", "acme", ("10.0.0.1/32",), parent="t", max_limit_bps=M(50, 200))],
        (
            "warning queue/q1/max_limit_bps.download queue 'acme' may download at 200 Mbit/s, "
            "but its parent 'tower' only at 100 Mbit/s",
        ),
    ),
    (
        [
            TOWER,
            Queue("q1", "a", ("10.0.0.1/32",), parent="t", limit_at_bps=M(90, 10)),
            Queue("q2", "b", ("10.0.0.2/32",), parent="t", limit_at_bps=M(40, 10)),
            Queue("q3", "c", ("10.0.0.3/32",), parent="t", limit_at_bps=M(99, 99), disabled=True),
        ],
        (
            "warning queue/t/max_limit_bps.upload the queues below 'tower' are promised 130 Mbit/s of "
            "upload, 1.3 times its limit of 100 Mbit/s",
        ),
    ),
    (
        [TOWER, Queue("q1", "acme", ("192.0.2.1/32", "10.0.0.1/32"), parent="t")],
        (
            "warning queue/q1/target 192.0.2.1/32 of queue 'acme' is not inside the target of 'tower' "
            "above it (10.0.0.0/16); only what is inside can match",
        ),
    ),
    (
        [LAN, WAN, Queue("q1", "acme", ("ether4", "wan0"))],
        (
            "warning queue/q1/target queue 'acme' has the target 'ether4', which is neither a prefix nor a "
            "configured interface; it matches nothing until there is one",
            "warning queue/q1/target queue 'acme' has the WAN interface 'wan0' as target: what your users "
            "download is upload as seen from there",
        ),
    ),
    (
        [Queue("q1", "acme", ("10.0.0.1/32",), queue_type=Pair("mine", "pcq-download-default"))],
        ("error queue/q1/queue_type.upload queue 'acme' names the queue type 'mine', which does not exist",),
    ),
    (
        [
            WAN,
            Queue("q1", "far", ("10.0.0.1/32",), dst="2001:db8::/32"),
            Queue("q2", "kid", ("10.0.0.1/32",), parent="q1", dst="wan0"),
        ],
        (
            "warning queue/q2/dst queue 'kid' matches nothing by dst wan0: it has nothing in common with dst "
            "2001:db8::/32 of 'far' above it",
        ),
    ),
    (
        [
            Queue("q1", "far", ("10.0.0.1/32",), dst="192.0.2.0/24"),
            Queue("q2", "kid", ("10.0.0.1/32",), parent="q1", dst="192.0.0.0/16"),
            Queue("q3", "narrow", ("10.0.0.1/32",), parent="q1", dst="192.0.2.7/32"),
        ],
        (
            "warning queue/q2/dst queue 'kid' takes packets with 192.0.2.0/24 only: its dst 192.0.0.0/16 is "
            "wider than that of 'far' above it",
        ),
    ),
    (
        [
            *(WAN, Interface("eth9")),
            *(Queue(name, name, ("10.0.0.1/32",), dst=dst) for name, dst in (("q1", "wan0"), ("q2", "eth9"))),
        ],
        (),
    ),
    (
        [Queue("q1", "empty")],
        ("warning queue/q1/target queue 'empty' has no target and no children, so it matches nothing",),
    ),
    (
        [replace(TOWER, disabled=True), Queue("q1", "acme", ("10.0.0.1/32",), parent="t")],
        (
            "warning queue/q1/parent queue 'acme' limits nothing while 'tower' above it is disabled",
            "warning queue/t/disabled 10.0.0.0/16 of queue 'tower' is in no queue while it is disabled: "
            "nothing limits it then; a parent, or a queue for the whole network after it, would",
        ),
    ),
    (
        [Interface("lan0", "lan", ("10.0.0.0/24", "10.1.0.255/24", "224.0.0.1/24"))],
        (
            "error interface/lan0/addresses 10.0.0.0/24 of interface lan0 is the network 10.0.0.0/24 itself, "
            "not a host in it",
            "error interface/lan0/addresses 10.1.0.255/24 of interface lan0 is the broadcast address of "
            "10.1.0.0/24",
            "error interface/lan0/addresses 224.0.0.1/24 of interface lan0 is a multicast address",
        ),
    ),
    (
        [LAN, Interface("lan1", "lan", ("10.64.0.129/25",))],
        (
            "warning interface/lan0/addresses 10.64.0.0/24 of interface lan0 overlaps a network of lan1: "
            "the router cannot tell where its hosts are",
            "warning interface/lan1/addresses 10.64.0.128/25 of interface lan1 overlaps a network of lan0: "
            "the router cannot tell where its hosts are",
        ),
    ),
    (
        [LAN, StaticRoute("r1", "0.0.0.0/0", "10.99.0.1")],
        (
            "warning static-route/r1/gateway the gateway 10.99.0.1 of route 0.0.0.0/0 is in no connected "
            "network, so the route stays inactive",
        ),
    ),
    (
        [LAN, StaticRoute("r1", "0.0.0.0/0", "2001:db8:64::2"), StaticRoute("r2", "::/0", "10.64.0.1")],
        (
            "error static-route/r1/gateway route 0.0.0.0/0 is IPv4, its gateway 2001:db8:64::2 IPv6",
            "error static-route/r2/gateway route ::/0 is IPv6, its gateway 10.64.0.1 IPv4",
            "error static-route/r2/gateway the gateway 10.64.0.1 of route ::/0 is this router's own address "
            "on lan0",
        ),
    ),
    (
        [LAN, StaticRoute("r1", "::/0", "fe80::1"), StaticRoute("r2", "::/0", interface="wan9")],
        (
            "error static-route/r1/interface the gateway fe80::1 is link-local: route ::/0 must "
            "name an interface",
            "error static-route/r2/interface route ::/0 names the interface 'wan9', which is not configured",
        ),
    ),
    (
        [StaticRoute("r1", "192.0.2.0/24"), StaticRoute("r2", "192.0.2.0/24", blackhole=True)],
        (
            "error static-route/r1/gateway route 192.0.2.0/24 needs a gateway, an interface or blackhole, "
            "and not none of them",
        ),
    ),
    (
        [WAN, Firewall(drop_new_from_wan=False)],
        (
            "warning firewall/firewall/drop_new_from_wan anyone outside can reach the router and the "
            "networks behind it",
        ),
    ),
]


REST = Queue("rest", "everybody else", ("10.0.0.0/8",), position=99)


def said(items: list[ConfigObject]) -> list[str]:
    return [f"{item.severity} {item.path} {item.message}" for item in validate_all(Document(items))]


@pytest.mark.parametrize(("items", "expected"), SAID, ids=lambda value: None)
def test_findings_name_object_field_and_numbers(items: list[ConfigObject], expected: tuple[str, ...]) -> None:
    assert sorted(said(items)) == sorted(expected)


@pytest.mark.parametrize(
    "items",
    [
        [TOWER, Queue("q1", "acme", ("10.0.0.1/32",), parent="t", position=9)],
        [TOWER, Queue("q1", "acme", ("10.0.0.1/32",), position=0)],
        [replace(TOWER, disabled=True), Queue("q1", "acme", ("10.0.0.1/32",), position=2), REST],
        [
            replace(TOWER, time=TimeWindow(0, 600, ("mon",))),
            Queue("q1", "acme", ("10.0.0.1/32",), position=2),
            REST,
        ],
        [Queue("a", "all"), Queue("q1", "acme", ("10.0.0.1/32",), parent="a")],
        [LAN, Queue("b", "behind", ("lan0",)), Queue("q1", "acme", ("192.0.2.1/32",), parent="b")],
        [LAN, WAN, StaticRoute("r1", "0.0.0.0/0", "203.0.113.1"), Firewall()],
        [WAN, StaticRoute("r1", "::/0", "fe80::1", "wan0")],
        [Queue(f"q{n}", f"level {n}", (), parent=f"q{n - 1}" if n else None) for n in range(7)]
        + [Queue("q7", "level 7", ("10.0.0.1/32",), parent="q6")],
    ],
    ids=lambda items: None,
)
def test_sensible_documents_have_no_findings(items: list[ConfigObject]) -> None:
    assert said(items) == []


def test_nine_levels_are_one_too_many() -> None:
    queues = [Queue(f"q{n}", f"level {n + 1}", parent=f"q{n - 1}" if n else None) for n in range(9)]
    errors = [item for item in validate_all(Document(queues)) if item.severity == "error"]
    assert [(item.path, item.message) for item in errors] == [
        ("queue/q8/parent", "queue 'level 9' is on level 9; at most 8 levels are possible")
    ]


@pytest.mark.parametrize(
    ("deleted", "rest", "message"),
    [
        (
            TOWER,
            [Queue(f"q{n}", f"c{n}", (f"10.0.0.{n}/32",), parent="t") for n in range(5)],
            "error queue/t queue 'tower' is still the parent of queue 'c0', 'c1', 'c2' and 2 more",
        ),
        (
            QueueType("mine", "pcq"),
            [Queue("q1", "acme", ("10.0.0.1/32",), queue_type=Pair("mine", "mine"))],
            "error queue-type/mine queue type 'mine' is still used by queue 'acme'",
        ),
        (
            WAN,
            [StaticRoute("r1", "0.0.0.0/0", interface="wan0")],
            "error interface/wan0 interface 'wan0' is still named by route 0.0.0.0/0",
        ),
        (
            WAN,
            [Queue("q1", "acme", ("wan0",))],
            "warning interface/wan0 interface 'wan0' is still the target of queue 'acme'",
        ),
    ],
)
def test_deleting_what_others_name_is_said_at_what_is_deleted(
    deleted: ConfigObject, rest: list[ConfigObject], message: str
) -> None:
    document = Document([deleted, *rest])
    change = Change(deleted.kind, deleted.id, deleted, None)
    document.apply([change])
    findings = validate(document, [change])
    assert message in [f"{item.severity} {item.path} {item.message}" for item in findings]


def test_deleting_an_override_of_a_built_in_type_is_fine() -> None:
    item = QueueType("default", "pcq")
    document = Document([item, Queue("q1", "a", ("10.0.0.1/32",), queue_type=Pair("default", "default"))])
    change = Change("queue-type", "default", item, None)
    document.apply([change])
    assert validate(document, [change]) == []


def test_many_queues_on_one_prefix_are_validated_in_linear_time() -> None:
    queues = [Queue(f"q{n}", f"n{n}", ("0.0.0.0/0",), position=n) for n in range(3000)]
    findings = validate_all(Document(queues))
    assert len(findings) == 2999
    assert {item.message.partition("queue 'n0'")[1] for item in findings} == {"queue 'n0'"}


def test_many_changes_in_one_tree_reach_each_queue_a_few_times() -> None:
    chain = [Queue(f"q{n}", "same", ("::/0",), parent=f"q{n - 1}" if n else None) for n in range(1000)]
    document = Document(chain)
    changes = [Change("queue", queue.id, None, queue) for queue in chain]
    for rule in all_rules():
        view = View(document)
        reached = sum(1 for change in changes for _ in rule.reach(view, change))
        assert reached <= 4 * len(chain), rule.name


def test_an_overlap_of_two_addresses_in_one_network_is_said_once() -> None:
    interfaces = [
        Interface("lan0", "lan", ("10.0.0.1/29", "10.0.0.2/29")),
        Interface("lan1", "lan", ("10.0.0.3/29",)),
    ]
    findings = validate_all(Document(interfaces))
    assert [finding.id for finding in findings if finding.code == "overlapping-networks"] == ["lan0", "lan1"]
