# SPDX-License-Identifier: Apache-2.0
"""What validation says, in the words that an operator reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weir.model.document import Change, Document
from weir.model.objects import (
    ConfigObject,
    Firewall,
    Interface,
    Pair,
    Queue,
    QueueType,
    StaticRoute,
    TimeWindow,
    Total,
)
from weir.model.rules import RULES, validate, validate_all
from weir.model.rules.base import View


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
            "warning firewall/firewall/drop_new_from_wan whoever is outside can reach the router and the "
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


CLOSED = (
    {"disabled": True},
    {"time": TimeWindow(0, 600, ("mon",))},
)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(
    ("others", "is_said"),
    [
        pytest.param([], True, id="nobody else"),
        pytest.param([REST], False, id="a queue for everybody else"),
        pytest.param([replace(REST, disabled=True)], True, id="one that is disabled as well"),
        pytest.param([replace(REST, dst="192.0.2.0/24")], True, id="one for a certain far end"),
        pytest.param([Queue("up", "site")], False, id="a parent without target"),
        pytest.param([Queue("up", "site", disabled=True)], True, id="a parent that is disabled"),
    ],
)
def test_what_is_in_no_queue_while_its_own_is_not_in_force_is_said(
    closed: dict[str, Any], others: list[Queue], is_said: bool
) -> None:
    parent = "up" if any(other.id == "up" for other in others) else None
    queue = replace(TOWER, parent=parent, **closed)
    found = [
        finding
        for finding in validate_all(Document([queue, *others]))
        if finding.code == "unlimited-meanwhile" and finding.id == "t"
    ]
    assert [item.severity for item in found] == (
        ["warning" if queue.disabled else "notice"] if is_said else []
    )


OWN = Queue("own", "everybody else", ("lan0",))


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([replace(WAN, unknown="drop")], "unknown-on-wan"),
        ([replace(WAN, unknown="drop", disabled=True)], None),
        ([replace(LAN, unknown="queue")], "no-queue-for-unknown"),
        ([replace(LAN, unknown="queue"), replace(OWN, disabled=True)], "no-queue-for-unknown"),
        ([replace(LAN, unknown="queue"), OWN], None),
        ([replace(LAN, unknown="drop")], None),
        ([replace(LAN, unknown="drop"), OWN], "unknown-dropped"),
    ],
    ids=lambda value: None,
)
def test_unknown_that_means_something_else_is_said(items: list[ConfigObject], code: str | None) -> None:
    codes = {item.code for item in validate_all(Document(items)) if item.kind == "interface"}
    assert codes == ({code} if code else set())


@pytest.mark.parametrize("reverse_path", ["strict", "loose"])
def test_a_strict_reverse_path_and_equal_routes_are_said(reverse_path: Any) -> None:
    routes = [StaticRoute(f"r{n}", "0.0.0.0/0", f"203.0.113.{n + 5}", distance=n // 2 + 1) for n in range(3)]
    for count, equal in ((1, False), (2, True)):
        found = validate_all(Document([replace(WAN, reverse_path=reverse_path), *routes[:count]]))
        said = any(item.code == "strict-and-equal-routes" for item in found)
        assert said is (equal and reverse_path == "strict")


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
            "error interface/wan0 interface 'wan0' is still named by the route to 0.0.0.0/0",
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
    for rule in RULES:
        view = View(document)
        reached = sum(1 for change in changes for _ in rule.reach(view, change))
        assert reached <= 4 * len(chain), rule.name


def test_networks_of_two_domains_do_not_overlap_and_both_have_gateways() -> None:
    document = Document(
        [
            Interface("lan0", "lan", ("10.0.0.1/29",)),
            Interface("lan1", "lan", ("10.0.0.1/29", "10.1.0.1/29"), domain=2),
            StaticRoute("r", "10.9.0.0/16", gateway="10.1.0.2"),
        ]
    )
    assert not {"overlapping-networks", "gateway-unreachable"} & {f.code for f in validate_all(document)}


def test_a_target_in_a_domain_without_interface_matches_nothing_and_says_so() -> None:
    queue = Queue("q", "q", ("10.0.0.0/24", "10.0.0.0/24@2", "10.0.1.0/24@2"))
    lan = Interface("lan1", "lan", domain=2)
    said = [f for f in validate_all(Document([queue, lan])) if f.code == "unknown-domain"]
    assert said == []
    without = Document([queue, replace(lan, disabled=True)])
    said = [f for f in validate_all(without) if f.code == "unknown-domain"]
    assert [finding.id for finding in said] == ["q"]
    assert "10.0.0.0/24@2" in said[0].message
    changed = validate(without, [Change("interface", "lan1", lan, replace(lan, disabled=True))])
    assert said[0] in changed


def test_a_child_in_another_domain_is_outside_its_parent() -> None:
    parent = Queue("p", "p", ("10.0.0.0/24",))
    child = Queue("c", "c", ("10.0.0.5/32@2",), parent="p")
    lan = Interface("lan1", "lan", domain=2)
    found = [f for f in validate_all(Document([parent, child, lan])) if f.code == "child-outside-parent"]
    assert [finding.id for finding in found] == ["c"]


def test_the_same_target_in_two_domains_shadows_nobody() -> None:
    queues = [Queue("a", "a", ("10.0.0.0/24",)), Queue("b", "b", ("10.0.0.0/24@2",))]
    found = validate_all(Document([*queues, Interface("lan1", "lan", domain=2)]))
    assert not [finding for finding in found if finding.code == "shadowed"]


def test_an_overlap_of_two_addresses_in_one_network_is_said_once() -> None:
    interfaces = [
        Interface("lan0", "lan", ("10.0.0.1/29", "10.0.0.2/29")),
        Interface("lan1", "lan", ("10.0.0.3/29",)),
    ]
    findings = validate_all(Document(interfaces))
    assert [finding.id for finding in findings if finding.code == "overlapping-networks"] == ["lan0", "lan1"]
