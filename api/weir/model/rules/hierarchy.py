# SPDX-License-Identifier: Apache-2.0
"""Names and the tree: each queue has one name, one parent that exists, and at most seven queues above it."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.document import Change
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.objects import Queue
from weir.model.problem import Finding
from weir.model.rule import Rule, View, below_if, caused_by, differs, error, old_and_new, warning

_MANY = 16


def duplicate_name(view: View, queue: Queue) -> Iterator[Finding]:
    if not view.document.queue_ids_by_name.is_shared(queue.name):
        return
    same = view.document.queue_ids_by_name.of(queue.name)
    if len(same) > _MANY:
        others = f"{len(same) - 1} other queues have"
    else:
        others = f"queue {min(other for other in same if other != queue.id)} has"
    yield error("duplicate-name", queue, "name", f"{others} the same name, {queue.name!r}")


@caused_by("queue")
def _same_name(view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue" and differs(change, "name"):
        for item in old_and_new(change):
            if item is not None and view.once("name", item.name):
                yield from view.document.queue_ids_by_name.of(item.name)


def unknown_parent(view: View, queue: Queue) -> Iterator[Finding]:
    if queue.parent is not None and view.document.queue(queue.parent) is None:
        yield error(
            "unknown-parent",
            queue,
            "parent",
            f"queue {queue.name!r} names the parent {queue.parent!r}, which does not exist",
        )


def cycle(view: View, queue: Queue) -> Iterator[Finding]:
    path = [queue.name]
    for above in view.above(queue):
        path.append(above.name)
        if above.parent == queue.id:
            break
    else:
        if queue.parent != queue.id:
            return
    loop = " -> ".join(repr(name) for name in [*path, queue.name])
    yield error("cycle", queue, "parent", f"queue {queue.name!r} is its own ancestor: {loop}")


def too_deep(view: View, queue: Queue) -> Iterator[Finding]:
    level = 1 + len(view.above(queue))
    if level > MAX_QUEUE_LEVELS:
        yield error(
            "too-deep",
            queue,
            "parent",
            f"queue {queue.name!r} is on level {level}; at most {MAX_QUEUE_LEVELS} levels are possible",
        )


def no_target(view: View, queue: Queue) -> Iterator[Finding]:
    if not queue.target and queue.dst is None and not view.document.children_of(queue.id):
        yield warning(
            "no-target",
            queue,
            "target",
            f"queue {queue.name!r} has no target and no children, so it matches nothing",
        )


@caused_by("queue")
def _itself_and_parents(_view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
        for item in old_and_new(change):
            if item is not None and item.parent is not None:
                yield item.parent


def parent_disabled(view: View, queue: Queue) -> Iterator[Finding]:
    if queue.disabled:
        return
    for above in view.above(queue):
        if above.disabled:
            yield warning(
                "parent-disabled",
                queue,
                "parent",
                f"queue {queue.name!r} limits nothing while {above.name!r} above it is disabled",
            )
            return


RULES = (
    Rule("duplicate-name", "queue", duplicate_name, _same_name, True),
    Rule("unknown-parent", "queue", unknown_parent, below_if("parent"), True),
    Rule("cycle", "queue", cycle, below_if("parent", "name"), True),
    Rule("too-deep", "queue", too_deep, below_if("parent"), True),
    Rule("no-target", "queue", no_target, _itself_and_parents, False),
    Rule("parent-disabled", "queue", parent_disabled, below_if("parent", "disabled", "name"), False),
)
