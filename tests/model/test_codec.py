# SPDX-License-Identifier: Apache-2.0
"""JSON to objects and back: what is written is read, what is wrong is named, nothing else is raised."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import anything, patient
from weir.kinds import DECLARED
from weir.model.codec import from_json, merge_patch, patched, to_json, to_stored_json
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind, Pair, Queue, TimeWindow
from weir.model.problem import Invalid
from weir.store.bodies import encode

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS: dict[Kind, tuple[str, ...]] = {
    kind: ("id", *(member.name for member in declared.members)) for kind, declared in DECLARED.items()
}
plausible = st.sampled_from(
    ("q1", "firewall", "lan0", "10.0.0.0/8", "10.0.0.1/99", "::/0", ["10.0.0.0/8", "lan0", 5], {}, -1, True)
) | st.sampled_from(
    ({"upload": 5}, {"upload": 1, "download": 10**13}, {"start": "24:00"}, {"days": ["mon", []]})
)


@patient
@given(anything)
def test_objects_survive_json(item: ConfigObject) -> None:
    for form in (to_json(item), to_stored_json(item)):
        assert from_json(item.kind, json.loads(json.dumps(form)), item.id) == item
    assert set(to_stored_json(item)) <= set(to_json(item))
    assert encode(item) == json.dumps(to_stored_json(item), separators=(",", ":"), ensure_ascii=False)


@patient
@given(st.sampled_from(list(DECLARED)), st.data())
def test_any_json_gives_an_object_or_invalid(kind: Kind, data: st.DataObject) -> None:
    known = st.dictionaries(st.sampled_from(FIELDS[kind]), json_values | plausible)
    value = data.draw(json_values | known | known.map(lambda fields: {"id": "q1", "name": "x"} | fields))
    try:
        item = from_json(kind, value)
    except Invalid as problem:
        assert problem.message and (problem.path or "").startswith(kind)
        assert all(finding.severity == "error" for finding in problem.findings)
    else:
        assert from_json(kind, to_json(item)) == item


def test_every_wrong_field_is_named_at_once() -> None:
    with pytest.raises(Invalid) as caught:
        from_json(
            "queue",
            {
                "id": "q17",
                "name": "a\nb",
                "nmae": "typo",
                "target": ["10.0.0.1/24", "10.0.0.0/24", "no such thing!"],
                "max_limit_bps": {"upload": "10M", "down": 1},
                "priority": {"upload": 0, "download": 8},
                "parent": "Not An Id",
                "time": {"start": "18:00", "end": "08:00"},
                "disabled": 1,
            },
        )
    assert [finding.path for finding in caught.value.findings] == [
        "queue/q17/nmae",
        "queue/q17/name",
        "queue/q17/target[0]",
        "queue/q17/target[2]",
        "queue/q17/parent",
        "queue/q17/max_limit_bps.down",
        "queue/q17/max_limit_bps.upload",
        "queue/q17/priority.upload",
        "queue/q17/time.end",
        "queue/q17/disabled",
    ]
    by_field = {finding.field: finding.message for finding in caught.value.findings}
    assert "did you mean 10.0.0.0/24?" in by_field["target[0]"]
    assert "make two queues" in by_field["time.end"]
    assert caught.value.message.startswith("queue q17: nmae is not a field of a queue (and 9 more)")


def test_addresses_become_canonical_and_count_once() -> None:
    queue = from_json(
        "queue",
        {"id": "q1", "name": "x", "target": ["10.64.1.7", "2001:DB8::/32", "10.64.1.7/32", "eth0.100"]},
    )
    assert isinstance(queue, Queue)
    assert queue.target == ("10.64.1.7/32", "2001:db8::/32", "eth0.100")
    interface = from_json("interface", {"id": "lan0", "addresses": ["192.0.2.1/24", "2001:DB8::1/64"]})
    assert isinstance(interface, Interface)
    assert interface.addresses == ("192.0.2.1/24", "2001:db8::1/64")


def test_a_target_may_be_a_prefix_in_a_domain() -> None:
    queue = from_json(
        "queue", {"id": "q", "name": "x", "target": ["10.0.0.7@2", "2001:DB8::/32@15", "::/0@0"]}
    )
    assert isinstance(queue, Queue)
    assert queue.target == ("10.0.0.7/32@2", "2001:db8::/32@15", "::/0")


@pytest.mark.parametrize(
    "text", ["10.0.0.0/24@16", "10.0.0.0/24@", "10.0.0.0/24@two", "lan0@2", "10.0.0.1/24@2"]
)
def test_a_domain_is_a_number_after_a_prefix(text: str) -> None:
    with pytest.raises(Invalid):
        from_json("queue", {"id": "q", "name": "x", "target": [text]})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("queue", {"name": "x", "dst": "10.0.0.0/24@2"}), ("static-route", {"destination": "10.0.0.0/24@2"})],
)
def test_far_ends_and_routes_have_no_domain(kind: Kind, fields: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        from_json(kind, {"id": "q", **fields})


def test_equal_pairs_are_one_object() -> None:
    one, two = (
        from_json("queue", {"id": f"q{n}", "name": "x", "max_limit_bps": {"upload": 7, "download": 9}})
        for n in (1, 2)
    )
    assert isinstance(one, Queue) and isinstance(two, Queue)
    assert one.max_limit_bps is two.max_limit_bps


def test_a_time_window_may_last_until_midnight() -> None:
    queue = from_json("queue", {"id": "q1", "name": "x", "time": {"start": "18:00", "end": "24:00"}})
    assert isinstance(queue, Queue)
    assert queue.time == TimeWindow(1080, 1440, ("mon", "tue", "wed", "thu", "fri", "sat", "sun"))


def test_a_time_window_that_is_always_open_is_none() -> None:
    queue = from_json("queue", {"id": "q1", "name": "x", "time": {"start": "00:00", "end": "24:00"}})
    assert isinstance(queue, Queue)
    assert queue.time is None


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_is_rfc_7396(target: object, patch: object, result: object) -> None:
    assert merge_patch(target, patch) == result


def test_a_patch_changes_one_direction_and_null_restores_a_default() -> None:
    queue = Queue("q1", "acme", max_limit_bps=Pair(1, 2), comment="old", parent="p")
    after = patched(queue, {"max_limit_bps": {"download": 5}, "comment": None, "parent": None})
    assert after == Queue("q1", "acme", max_limit_bps=Pair(1, 5))
    with pytest.raises(Invalid, match="name must be given"):
        patched(queue, {"name": None})
    with pytest.raises(Invalid, match="does not agree"):
        patched(queue, {"id": "q2"})
