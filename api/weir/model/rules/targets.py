# SPDX-License-Identifier: Apache-2.0
"""What queues match: targets that overlap, lie outside their parent, or name what does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.claims import pack, pack_text, text_of
from weir.model.document import (
    Change,
    Document,
    interface_targets,
    is_always_in_force,
    packed_targets,
)
from weir.model.interface import Interface
from weir.model.objects import Queue
from weir.model.prefix import Prefix, looks_like_prefix, parse_prefix, parse_prefix_in_domain, split_domain
from weir.model.problem import Finding
from weir.model.rule import Rule, View, below_if, caused_by, differs, error, notice, old_and_new, own, warning
from weir.model.tree import subtree_ids

EVERYTHING = (Prefix(4, 0, 0), Prefix(6, 0, 0))
_MAPPED = parse_prefix("::ffff:0:0/96")


def shadowed(view: View, queue: Queue) -> Iterator[Finding]:
    """Targets that never match because a queue before this one takes all their packets."""
    if queue.disabled or not queue.target:
        return
    first: tuple[str, Queue, str] | None = None
    count = 0
    for text in queue.target:
        found = _shadowing(view, queue, text)
        if found is not None:
            count += 1
            first = first or (text, *found)
    if first is None:
        return
    text, by, through = first
    if count == len(queue.target):
        what = f"queue {queue.name!r} never matches: "
    elif count == 1:
        what = f"{text} of queue {queue.name!r} never matches: "
    else:
        what = f"{count} of {len(queue.target)} targets of queue {queue.name!r} never match: "
    whole = f" takes {text} and" if count > 1 else ""
    through = "the same target" if through == text else through
    yield warning("shadowed", queue, "target", f"{what}queue {by.name!r} ({through}){whole} comes first")


def _shadowing(view: View, queue: Queue, text: str) -> tuple[Queue, str] | None:
    """The best-ranked queue that takes all packets of a target before `queue`, and by which target."""
    document = view.document
    if not looks_like_prefix(text):
        best = _first_before(view, queue, view.takers(text))
        return None if best is None else (best, text)
    targets = document.targets()
    packed = pack_text(text)
    candidates = [*targets.covering(packed)]
    if len(targets.get(packed)) > 1:
        candidates.append(packed)
    found: tuple[Queue, str] | None = None
    for candidate in candidates:
        best = _first_before(view, queue, view.takers(candidate))
        if best is not None and (found is None or view.rank(best) < view.rank(found[0])):
            found = (best, text_of(candidate))
    return found


def _first_before(view: View, queue: Queue, candidates: list[str]) -> Queue | None:
    """Of queues in matching order the first that ranks before `queue` and is not below it."""
    own_rank = view.rank(queue) if candidates else None
    for other_id in candidates:
        other = view.document.queue(other_id)
        if other is None or other_id == queue.id:
            continue
        if own_rank is not None and view.rank(other) >= own_rank:
            return None
        if not view.is_below(other, queue.id):
            return other
    return None


@caused_by("queue")
def _shadow_reach(view: View, change: Change) -> Iterator[str]:
    """A queue that moves, or matches something else, may uncover or hide whatever lies in its targets."""
    if change.kind != "queue":
        return
    if not differs(change, "target", "dst", "parent", "position", "disabled", "time", "name"):
        yield change.id
        return
    targets = view.document.targets()
    names: set[str] = set()
    old, _ = old_and_new(change)
    items = [old] if old is not None else []
    moved = differs(change, *_RANKING)
    ids = subtree_ids(view.document, change.id, view.walked) if moved else (change.id,)
    items += [item for item in map(view.document.queue, ids) if item is not None]
    for item in items:
        yield item.id
        names.update(interface_targets(item))
        for packed in packed_targets(item):
            if view.once("inside", packed):
                for inside in targets.inside(packed):
                    yield from targets.get(inside)
    for name in names:
        if view.once("interface", name):
            yield from view.document.queue_ids_by_interface.of(name)


_RANKING = ("dst", "parent", "position", "disabled", "time")


def unlimited_meanwhile(view: View, queue: Queue) -> Iterator[Finding]:
    """A queue that is not in force matches nothing, as in RouterOS; so whose are its packets then?"""
    if is_always_in_force(queue) or any(is_always_in_force(above) for above in _heirs(view, queue)):
        return
    nobodys = [text for text in queue.target if not _has_other_taker(view, queue, text)]
    if nobodys:
        more = f" and {len(nobodys) - 1} more" if len(nobodys) > 1 else ""
        say, field, when = (
            (warning, "disabled", "while it is disabled")
            if queue.disabled
            else (notice, "time", "outside its time window")
        )
        yield say(
            "unlimited-meanwhile",
            queue,
            field,
            f"{nobodys[0]}{more} of queue {queue.name!r} is in no queue {when}: nothing limits it then; "
            "a parent, or a queue for the whole network after it, would",
        )


def _heirs(view: View, queue: Queue) -> Iterator[Queue]:
    """Those above that take what the queue leaves: not where it names a far end of its own."""
    if queue.dst is None:
        for above in view.above(queue):
            yield above
            if above.dst is not None:
                return


def _has_other_taker(view: View, queue: Queue, text: str) -> bool:
    """Whether a queue that is not disabled names this or what covers it, perhaps at other hours."""
    document = view.document
    if looks_like_prefix(text):
        targets, packed = document.targets(), pack_text(text)
        ids = {other for candidate in [*targets.covering(packed), packed] for other in targets.get(candidate)}
    else:
        ids = set(document.queue_ids_by_interface.of(text))
    others = (document.queue(other) for other in ids - {queue.id})
    return any(
        other is not None
        and other.dst is None
        and not any(item.disabled for item in (other, *view.above(other)))
        and not view.is_below(other, queue.id)
        for other in others
    )


def outside_parent(view: View, queue: Queue) -> Iterator[Finding]:
    """Packets reach a queue only through its parent: what the parent does not match, it never sees."""
    limiting = next((above for above in view.above(queue) if above.target), None)
    if limiting is None or not queue.target:
        return
    outside = [text for text in queue.target if not _is_inside(view.document, text, limiting)]
    if outside:
        shown = outside[0] if len(outside) == 1 else f"{outside[0]} and {len(outside) - 1} more"
        yield warning(
            "child-outside-parent",
            queue,
            "target",
            f"{shown} of queue {queue.name!r} is not inside the target of {limiting.name!r} above it "
            f"({_shown_targets(limiting)}); only what is inside can match",
        )


def _is_inside(document: Document, text: str, limiting: Queue) -> bool:
    if not looks_like_prefix(text):
        return text in limiting.target
    if interface_targets(limiting):
        return True
    targets = document.targets()
    packed = pack_text(text)
    return limiting.id in targets.get(packed) or any(
        limiting.id in targets.get(covering) for covering in targets.covering(packed)
    )


def _shown_targets(queue: Queue) -> str:
    few = ", ".join(queue.target[:3])
    return few if len(queue.target) <= 3 else f"{few} and {len(queue.target) - 3} more"


def interface_target(view: View, queue: Queue) -> Iterator[Finding]:
    for name in interface_targets(queue):
        yield from _missing_interface(view, queue, "target", name)
        interface = view.document.interface(name)
        if interface is not None and interface.role == "wan" and not interface.disabled:
            yield warning(
                "wan-target",
                queue,
                "target",
                f"queue {queue.name!r} has the WAN interface {name!r} as target: what your users download is "
                "upload as seen from there",
            )


def interface_dst(view: View, queue: Queue) -> Iterator[Finding]:
    if queue.dst is not None and not looks_like_prefix(queue.dst):
        yield from _missing_interface(view, queue, "dst", queue.dst)


def _missing_interface(view: View, queue: Queue, field: str, name: str) -> Iterator[Finding]:
    interface = view.document.interface(name)
    if interface is None:
        yield warning(
            "unknown-interface",
            queue,
            field,
            f"queue {queue.name!r} has the {field} {name!r}, which is neither a prefix nor a configured "
            "interface; it matches nothing until there is one",
        )
    elif interface.disabled:
        yield warning(
            "interface-disabled",
            queue,
            field,
            f"queue {queue.name!r} has the {field} {name!r}, an interface that is disabled",
        )
    elif interface.vrf_table is not None:
        yield warning(
            "vrf-as-interface",
            queue,
            field,
            f"queue {queue.name!r} has the {field} {name!r}, a VRF: packets come and go through the "
            "interfaces in it, so it matches nothing",
        )
    elif interface.loopback is not None:
        yield warning(
            "loopback-as-interface",
            queue,
            field,
            f"queue {queue.name!r} has the {field} {name!r}, a loopback: nothing comes in by it or leaves by "
            "it, so it matches nothing",
        )


def unknown_domain(view: View, queue: Queue) -> Iterator[Finding]:
    """A prefix of a domain that no interface is in."""
    unknown = [text for text in queue.target if "@" in text and not _is_anywhere(view, text)]
    if unknown:
        domain, _ = split_domain(unknown[0])
        yield warning(
            "unknown-domain",
            queue,
            "target",
            f"{unknown[0]} of queue {queue.name!r} matches nothing: "
            f"no enabled interface is in domain {domain}",
        )


def _is_anywhere(view: View, text: str) -> bool:
    domain, _ = split_domain(text)
    return any(item.domain == domain and not item.disabled for item in view.document.interfaces())


@caused_by("queue", "interface")
def _users_of_domain(view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
    elif change.kind == "interface" and differs(change, "domain", "disabled"):
        targets = view.document.targets()
        domains = {item.domain for item in (change.old, change.new) if isinstance(item, Interface)}
        for domain in sorted(domains - {0}):
            for everything in EVERYTHING:
                for packed in targets.inside(pack(everything, domain)):
                    yield from targets.get(packed)


def mapped_address(_view: View, queue: Queue) -> Iterator[Finding]:
    """IPv4 in the clothes of IPv6 (RFC 4291, 2.5.5.2) is for sockets: no packet carries such an address."""
    for field, texts in (("target", queue.target), ("dst", (queue.dst,) if queue.dst else ())):
        for text in texts:
            if ":" not in text or text[0] not in ":0":  # all others are something else from their start
                continue
            if _MAPPED.covers(prefix := parse_prefix_in_domain(text)[1]):
                plain = Prefix(4, prefix.value & 0xFFFFFFFF, prefix.length - _MAPPED.length).text
                yield warning(
                    "mapped-address",
                    queue,
                    field,
                    f"{text} of queue {queue.name!r} matches nothing: packets carry {plain} as IPv4",
                )


@caused_by("queue", "interface")
def _users_of_interface(view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
    elif change.kind == "interface" and differs(change, "role", "disabled", "is_port"):
        yield from view.document.queue_ids_by_interface.of(change.id)


@caused_by("queue", "interface")
def _users_as_dst(view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
    elif change.kind == "interface" and differs(change, "disabled", "is_port"):
        yield from view.document.far_interface_queue_ids


def unknown_queue_type(view: View, queue: Queue) -> Iterator[Finding]:
    for field, name in (
        ("queue_type.upload", queue.queue_type.upload),
        ("queue_type.download", queue.queue_type.download),
        ("total.queue_type", queue.total.queue_type),
    ):
        if name != "default-small" and view.document.queue_type(name) is None:
            yield error(
                "unknown-queue-type",
                queue,
                field,
                f"queue {queue.name!r} names the queue type {name!r}, which does not exist",
            )


@caused_by("queue", "queue-type")
def _users_of_type(view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
    elif change.kind == "queue-type" and (change.old is None or change.new is None):
        yield from view.document.queue_ids_by_type.get(change.id, ())


def dst_not_enforced(view: View, queue: Queue) -> Iterator[Finding]:
    """A `dst` narrows targets; alone it does not say which way is up."""
    if queue.dst is None:
        return
    why = ""
    if not queue.target and not view.document.children_of(queue.id):
        why = "without a target nothing says which direction is upload"
    for above in view.above(queue):
        if above.dst is not None and not _have_common(queue.dst, above.dst):
            why = f"it has nothing in common with dst {above.dst} of {above.name!r} above it"
    if why:
        yield warning(
            "dst-not-enforced",
            queue,
            "dst",
            f"queue {queue.name!r} matches nothing by dst {queue.dst}: {why}",
        )


def dst_wider(view: View, queue: Queue) -> Iterator[Finding]:
    """A `dst` around one above it: only what that one holds comes to the queue."""
    for above in view.above(queue):
        if queue.dst is None or above.dst in (None, queue.dst) or not _have_common(queue.dst, above.dst):
            continue
        if parse_prefix(queue.dst).covers(parse_prefix(above.dst)):
            yield warning(
                "dst-wider",
                queue,
                "dst",
                f"queue {queue.name!r} takes packets with {above.dst} only: its dst {queue.dst} is wider "
                f"than that of {above.name!r} above it",
            )
            return


@caused_by("queue")
def _dst_reach(view: View, change: Change) -> Iterator[str]:
    """Those above as well: one without a target matches by its children's, if it has any."""
    yield from below_if("dst", "parent", "name")(view, change)
    if change.kind == "queue" and differs(change, "parent"):
        for item in old_and_new(change):
            if item is not None and item.parent is not None and view.document.queue(item.parent) is not None:
                yield item.parent


def _have_common(one: str, other: str) -> bool:
    """Whether one entry can say both: the same interface, or prefixes of which one holds the other."""
    if one == other or not (looks_like_prefix(one) and looks_like_prefix(other)):
        return one == other
    first, second = parse_prefix(one), parse_prefix(other)
    return first.family == second.family and (first.covers(second) or second.covers(first))


RULES = (
    Rule("shadowed", "queue", shadowed, _shadow_reach, False),
    Rule("unlimited-meanwhile", "queue", unlimited_meanwhile, _shadow_reach, False),
    Rule("child-outside-parent", "queue", outside_parent, below_if("target", "parent", "name"), False),
    Rule("interface-target", "queue", interface_target, _users_of_interface, False),
    Rule("unknown-domain", "queue", unknown_domain, _users_of_domain, False),
    Rule("interface-dst", "queue", interface_dst, _users_as_dst, False),
    Rule("mapped-address", "queue", mapped_address, own("queue"), False),
    Rule("unknown-queue-type", "queue", unknown_queue_type, _users_of_type, True),
    Rule("dst-not-enforced", "queue", dst_not_enforced, _dst_reach, False),
    Rule("dst-wider", "queue", dst_wider, below_if("dst", "parent", "name"), False),
)
