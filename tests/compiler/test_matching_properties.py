# SPDX-License-Identifier: Apache-2.0
"""The compiled lookup gives the answer of the ordered walk, whatever the tree and whatever came before."""

from __future__ import annotations

import ipaddress
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.interpreter import Packet, first_match
from tests.model.strategies import addresses, anything, changes_to, patient, valid_changes_to, valid_trees
from weir.compiler import (
    ClassSpec,
    Compiled,
    SlotAllocation,
    compile_document,
    difference,
    explain,
    recompiled,
    update,
)
from weir.model.document import Change, Document
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.objects import ConfigObject, Queue
from weir.model.prefix import WIDTH, parse_prefix
from weir.model.rules import validate_all

MONDAY_MORNING = datetime(2026, 1, 5, 9, 0)
packets = st.builds(
    Packet,
    addresses,
    st.sampled_from((0, 0, 2)),
    st.sampled_from(("192.0.2.1", "198.51.100.1", "198.51.100.70", "2001:db8:100::1")),
    st.sampled_from(("eth9", "wan0")),
)
TIMES = st.sampled_from((MONDAY_MORNING, datetime(2026, 1, 5, 13, 0), datetime(2026, 1, 10, 12, 0)))


def longest_match(table: dict[tuple[int, int, int, int], int], address: str, domain: int) -> int:
    """What the datapath does: the slot of the longest entry that holds the address, 0 if there is none."""
    host = parse_prefix(address)
    for length in range(WIDTH[host.family], -1, -1):
        shift = WIDTH[host.family] - length
        slot = table.get((domain, host.family, host.value >> shift << shift, length))
        if slot is not None:
            return slot
    return 0


def settled(spec: ClassSpec, packet: Packet) -> int:
    """What the datapath does with a class it came to (datapath/bpf/far.h)."""
    if not spec.far:
        return spec.slot
    far, name = ipaddress.ip_address(packet.far), packet.behind.encode().ljust(16, b"\0")
    by_address = [
        end
        for end in spec.far
        if end.family == far.version
        and far in ipaddress.ip_network((end.end[: 4 if far.version == 4 else 16], end.length))
    ]
    found = sorted(by_address, key=lambda end: end.length)[-1:]
    found += [end for end in spec.far if end.family == 0 and end.end == name]
    return min(found, key=lambda end: end.rank).slot if found else spec.parent_slot


def answer(compiled: Compiled, packet: Packet) -> str | None:
    slot = longest_match(dict(compiled.shaping.prefixes), packet.address, packet.domain)
    classes = compiled.shaping.classes
    slot = settled(classes[slot], packet) if slot else 0
    return classes[slot].queue_id if slot else None


def state(compiled: Compiled) -> dict[str, object]:
    """Everything the kernel would hold, with queue ids for slots."""
    shaping = compiled.shaping
    name: dict[int, str | None] = {slot: spec.id for slot, spec in shaping.classes.items() if not spec.far}
    name[0] = None
    for slot, spec in shaping.classes.items():
        if spec.far:  # its id names slots, which differ from one compilation to the next
            ends = [(end.family, end.end, end.length, name[end.slot], end.rank) for end in spec.far]
            name[slot] = f"{ends} {name[spec.parent_slot]}"
    return {
        "classes": {
            name[spec.slot]: (
                name[spec.parent_slot],
                spec.depth,
                spec.upload,
                spec.download,
                name[spec.total_slot],
            )
            for spec in shaping.classes.values()
        },
        "prefixes": {key: name[slot] for key, slot in shaping.prefixes.items()},
        "ports": {port.ifname: (port.role, name[port.interface_slot]) for port in shaping.ports.values()},
        "site": compiled.wanted,
    }


@patient
@given(valid_trees(), st.lists(packets, min_size=1, max_size=6), TIMES)
def test_compiled_lookup_answers_as_the_ordered_walk(
    tree: list[Queue], seen: list[Packet], now: datetime
) -> None:
    compiled = compile_document(Document(tree), SlotAllocation(), now)
    for packet in seen:
        assert answer(compiled, packet) == first_match(tree, packet, now), packet


@patient
@given(valid_trees(), st.data())
def test_updates_lead_where_a_full_compilation_leads(tree: list[Queue], data: st.DataObject) -> None:
    document = Document(tree)
    compiled = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    for _ in range(3):
        before = compiled.slots()
        changes = data.draw(valid_changes_to(document))
        now = data.draw(TIMES)
        document.apply(changes)
        plan = update(compiled, document, changes, now)
        fresh = compile_document(document, SlotAllocation(), now)
        assert recompiled(compiled, document, now).counts() == plan.counts()
        compiled.accept(plan)
        assert state(compiled) == state(fresh)
        after = compiled.slots()
        assert all(after[queue_id] == slot for queue_id, slot in before.items() if queue_id in after)
        assert len(set(after.values())) == len(after)
        assert dict(compiled.shaping.classes) == {spec.slot: spec for spec in compiled.tables.by_id.values()}


@patient
@given(st.lists(anything, max_size=10), st.data())
def test_an_invalid_document_is_compiled_as_far_as_it_makes_sense(
    items: list[ConfigObject], data: st.DataObject
) -> None:
    """A preview shows the plan beside the errors, so cycles and missing parents must not stop it."""
    document = Document(items)
    compiled = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    changes = data.draw(changes_to(document))
    document.apply(changes)
    compiled.accept(update(compiled, document, changes))
    assert state(compiled) == state(compile_document(document, SlotAllocation(), MONDAY_MORNING))
    for queue_id in document.of_kind("queue"):
        assert explain(compiled, document, queue_id).lines


def test_a_chain_of_ten_thousand_queues_is_refused_and_not_a_crash() -> None:
    chain = [Queue(f"q{n}", f"n{n}", ("::/0",), parent=f"q{n - 1}" if n else None) for n in range(10_000)]
    document = Document(chain)
    compiled = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    assert len(compiled.shaping.classes) == MAX_QUEUE_LEVELS
    change = Change("queue", "q0", chain[0], None)
    document.apply([change])
    compiled.accept(update(compiled, document, [change]))
    assert not compiled.shaping.classes
    too_deep = [item for item in validate_all(document, errors_only=True) if item.code == "too-deep"]
    assert len(too_deep) == 10_000 - MAX_QUEUE_LEVELS - 1


@patient
@given(valid_trees(), st.data())
def test_a_plan_and_its_inverse_do_to_tables_what_they_say(tree: list[Queue], data: st.DataObject) -> None:
    document = Document(tree)
    compiled = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    kernel_before = (dict(compiled.shaping.classes), dict(compiled.shaping.prefixes))
    kernel = (dict(kernel_before[0]), dict(kernel_before[1]))
    changes = data.draw(valid_changes_to(document))
    document.apply(changes)
    plan = update(compiled, document, changes)
    for one, expected in ((plan, None), (plan.inverse(), kernel_before)):
        classes, prefixes = kernel
        for old, new in one.shaping.classes.set:
            assert classes.get(new.slot) == old
            assert not new.parent_slot or new.parent_slot in classes, "a parent is there before its child"
            assert not new.total_slot or new.total_slot in classes, "a total is there before it is charged"
            classes[new.slot] = new
        for *key, slot in one.shaping.prefixes.to_set():
            assert slot in classes, "a prefix never points at a class that is not there"
            prefixes[tuple(key)] = slot  # type: ignore[index]
        for key in one.shaping.prefixes.to_remove():
            del prefixes[key]
        for spec in one.shaping.classes.removed:
            assert spec.slot not in prefixes.values(), "nothing points at a class that goes"
            assert all(spec.slot not in (other.parent_slot, other.total_slot) for other in classes.values())
            del classes[spec.slot]
        if expected is None:
            compiled.accept(plan)
            expected = (dict(compiled.shaping.classes), dict(compiled.shaping.prefixes))
        assert kernel == expected


@patient
@given(valid_trees(), TIMES, TIMES)
def test_time_passing_is_an_update_without_changes(
    tree: list[Queue], before: datetime, after: datetime
) -> None:
    document = Document(tree)
    compiled = compile_document(document, SlotAllocation(), before)
    compiled.accept(update(compiled, document, [], after))
    fresh = compile_document(document, SlotAllocation(), after)
    assert state(compiled) == state(fresh)
    assert not difference(compiled, compiled)
