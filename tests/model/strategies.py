# SPDX-License-Identifier: Apache-2.0
"""Documents for property tests: few addresses and names, so that everything overlaps and collides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.model.declared import combined, drawn, up_to_two, values_of
from weir.fields import Group
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.kinds.tuning import Tuning
from weir.model.document import Change, Document
from weir.model.interface import Interface, Vlan
from weir.model.links import Bond, Bridge
from weir.model.objects import ConfigObject, Pair, Queue, QueueType, TimeWindow, Total
from weir.model.prefix import WIDTH, Prefix

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For machines that do other things at the same time."""

BASE = {4: 0x0A000000, 6: 0x20010DB8 << 96}
TINY_LENGTHS = {4: (0, 8, 29, 30, 31, 32), 6: (0, 32, 125, 126, 127, 128)}

rates = st.sampled_from((0, 400, 1_000_000, 2_000_000, 5_000_000))
rate_pairs = st.builds(Pair, rates, rates)


@st.composite
def prefixes(draw: st.DrawFn) -> str:
    """Prefixes around eight neighbouring addresses of each family."""
    family = draw(st.sampled_from((4, 4, 6)))
    length = draw(st.sampled_from(TINY_LENGTHS[family]))
    shift = WIDTH[family] - length
    value = BASE[family] | draw(st.integers(0, 7))
    return Prefix(family, value >> shift << shift, length).text


addresses = st.one_of(
    st.integers(0, 7).map(lambda host: f"10.0.0.{host}"),
    st.integers(0, 7).map(lambda host: f"2001:db8::{host:x}"),
    st.sampled_from(("10.9.9.9", "192.0.2.1", "2001:db8:1::1", "::5")),
)

WINDOWS = (
    TimeWindow(480, 1080, ("mon", "tue", "sat")),
    TimeWindow(720, 1440, ("mon",)),
    TimeWindow(0, 721, ("sat", "sun")),
)
prefixes_in_domains = st.builds(
    lambda prefix, domain: f"{prefix}{domain}", prefixes(), st.sampled_from(("", "", "", "@2"))
)
targets = st.lists(prefixes_in_domains, max_size=3, unique=True).map(tuple)
mixed_targets = st.lists(
    st.one_of(prefixes_in_domains, st.sampled_from(("lan0", "wan0", "gone0"))), max_size=3, unique=True
).map(tuple)

QUEUE_IDS = tuple(f"q{index}" for index in range(8))


def queues(
    ids: st.SearchStrategy[str],
    parents: st.SearchStrategy[str | None],
) -> st.SearchStrategy[Queue]:
    return st.builds(
        Queue,
        id=ids,
        name=st.sampled_from(("acme", "bob", "carl", "dora", "eve")),
        target=mixed_targets,
        dst=st.sampled_from((None, None, None, None, "198.51.100.0/24")),
        parent=parents,
        position=st.integers(0, 3),
        max_limit_bps=rate_pairs,
        limit_at_bps=rate_pairs,
        burst_limit_bps=rate_pairs,
        burst_threshold_bps=rate_pairs,
        burst_time_ms=st.sampled_from((Pair(0, 0), Pair(10_000, 0))),
        queue_type=st.builds(
            Pair,
            st.sampled_from(("default-small", "default", "mine", "gone")),
            st.just("default-small"),
        ),
        time=st.sampled_from((None, None, None, *WINDOWS)),
        total=st.sampled_from((Total(), Total(max_limit_bps=400, limit_at_bps=500))),
        disabled=st.sampled_from((False, False, False, True)),
    )


DSTS = ("198.51.100.0/24", "198.51.100.64/26", "2001:db8:100::/40", "wan0")


def matching_queues(
    ids: st.SearchStrategy[str], parents: st.SearchStrategy[str | None]
) -> st.SearchStrategy[Queue]:
    """Queues that differ in what they match; with few draws, as trees are made of many."""
    return st.builds(
        Queue,
        id=ids,
        name=st.just("any"),
        target=targets,
        dst=st.sampled_from((None, None, None, None, *DSTS)),
        parent=parents,
        position=st.integers(0, 3),
        max_limit_bps=st.sampled_from((Pair(0, 0), Pair(1_000_000, 2_000_000))),
        total=st.sampled_from((Total(), Total(), Total(max_limit_bps=3_000_000))),
        time=st.sampled_from((None, None, None, *WINDOWS)),
        disabled=st.sampled_from((False, False, False, True)),
    )


@st.composite
def valid_trees(draw: st.DrawFn) -> list[Queue]:
    """Queues whose parents exist and form a tree."""
    found: list[Queue] = []
    for index in range(draw(st.integers(0, 8))):
        parents = st.sampled_from((None, *(queue.id for queue in found)))
        found.append(draw(matching_queues(st.just(f"q{index}"), parents)))
    return found


VLANS = [
    Vlan(*some) for some in combined(("lan0", "wan0", "wan1", "gone0"), (1, 4094), ("802.1Q", "802.1ad"))
]
BRIDGES, BONDS = values_of(Group(Bridge)), values_of(Group(Bond))
assert BRIDGES is not None and BONDS is not None
ADDRESSES = ("10.0.0.1/29", "10.0.0.0/29", "192.0.2.1/24", "2001:db8::1/64", "fe80::1/64")


def _seldom(values: Sequence[object]) -> list[object]:
    """None in two of three."""
    return [*[None] * (2 * len(values)), *values]


interfaces = (
    drawn(
        Interface,
        {
            "id": ("lan0", "wan0", "wan1"),
            "role": ("lan", "wan", "none"),
            "addresses": up_to_two(ADDRESSES),
            "addressing": ("static", "static", "dhcp"),
            "mtu": (None, 1000, 1500),
            "domain": (0, 0, 2),
            "vlan": _seldom(VLANS),
            "bridge": _seldom(BRIDGES),
            "bond": _seldom(BONDS),
            "vrf": (None, None, "wan1", "gone0"),
            "vrf_table": (None, None, None, 0, 7, 254),
            "disabled": (False, True),
        },
    )
    .map(lambda item: item if item.vlan is None else replace(item, vrf_table=None, bridge=None, bond=None))
    .map(lambda item: item if item.bridge is None else replace(item, vrf_table=None, bond=None))
    .map(lambda item: item if item.bond is None else replace(item, vrf_table=None))
)
routes = st.builds(
    StaticRoute,
    id=st.sampled_from(("r1", "r2")),
    destination=st.sampled_from(("0.0.0.0/0", "::/0", "198.51.100.0/24")),
    gateway=st.sampled_from((None, "10.0.0.2", "10.0.0.1", "2001:db8::2", "fe80::2", "203.0.113.1")),
    interface=st.sampled_from((None, "wan0", "gone0")),
    vrf=st.sampled_from((None, None, "wan1", "lan0")),
    blackhole=st.booleans(),
    disabled=st.booleans(),
)
anything = st.one_of(
    queues(st.sampled_from(QUEUE_IDS), st.one_of(st.none(), st.sampled_from((*QUEUE_IDS, "gone")))),
    queues(st.sampled_from(QUEUE_IDS), st.one_of(st.none(), st.sampled_from(QUEUE_IDS[:3]))),
    interfaces,
    routes,
    st.builds(QueueType, id=st.sampled_from(("mine", "default")), type=st.just("pcq")),
    st.builds(Firewall, drop_new_from_wan=st.booleans(), masquerade=st.booleans()),
    st.builds(
        Tuning, overrides=st.sampled_from(((), (("default-qdisc", ""),), (("softirq-budget", "4000"),)))
    ),
)


@st.composite
def changes_to(
    draw: st.DrawFn,
    document: Document,
    objects: st.SearchStrategy[ConfigObject] = anything,
    max_changes: int = 4,
) -> list[Change]:
    """Changes that fit a document; each object is changed at most once."""
    changes: dict[tuple[str, str], Change] = {}
    for _ in range(draw(st.integers(1, max_changes))):
        item = draw(objects)
        old = document.get(item.kind, item.id)
        new = None if old is not None and draw(st.booleans()) else item
        changes[item.kind, item.id] = Change(item.kind, item.id, old, new)
    return list(changes.values())


@st.composite
def valid_changes_to(draw: st.DrawFn, document: Document) -> list[Change]:
    """Changes of queues after which the parents still exist and form a tree: a parent has a smaller id."""
    changes: dict[str, Change] = {}
    wanted = {queue.id: queue for queue in document.queues()}
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(QUEUE_IDS) - 1))
        queue_id = QUEUE_IDS[index]
        old = wanted.get(queue_id)
        kind = draw(st.sampled_from(("replace", "rates", "move", "delete")))
        new = _next_state(draw, kind, old, queue_id, [key for key in wanted if key < queue_id])
        if new is None:
            _delete_below(wanted, queue_id)
        else:
            wanted[queue_id] = new
    for queue_id in QUEUE_IDS:
        before, after = document.queue(queue_id), wanted.get(queue_id)
        if before != after:
            changes[queue_id] = Change("queue", queue_id, before, after)
    return list(changes.values())


def _next_state(
    draw: st.DrawFn, kind: str, old: Queue | None, queue_id: str, before: Sequence[str]
) -> Queue | None:
    parents = st.sampled_from((None, *before))
    if kind == "delete" and old is not None:
        return None
    if kind == "rates" and old is not None:
        return replace(old, max_limit_bps=draw(rate_pairs))
    if kind == "move" and old is not None:
        return replace(old, position=draw(st.integers(0, 3)), parent=draw(parents))
    return draw(matching_queues(st.just(queue_id), parents))


def _delete_below(wanted: dict[str, Queue], queue_id: str) -> None:
    wanted.pop(queue_id, None)
    for child in [queue.id for queue in wanted.values() if queue.parent == queue_id]:
        _delete_below(wanted, child)
