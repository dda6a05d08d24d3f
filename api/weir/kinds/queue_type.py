# SPDX-License-Identifier: Apache-2.0
"""Queue types. The class is in `weir.model.objects`: documents and queues know it."""

from __future__ import annotations

from collections.abc import Iterator

from weir.fields import TYPE_NAMES
from weir.kinds.declaration import Declaration, Known
from weir.model.objects import QueueType
from weir.model.problem import Finding
from weir.model.queue_options import OPTIONS, faults_of
from weir.model.rule import Rule, View, own, warning


def queue_type_option(_view: View, queue_type: QueueType) -> Iterator[Finding]:
    for option, why in faults_of(queue_type):
        yield warning(
            "queue-type-option",
            queue_type,
            f"options.{option}",
            f"the option {option} of queue type {queue_type.id!r} {why}",
        )


KIND = Declaration(
    QueueType,
    singular="queue type",
    plural="queue types",
    short="queue-type",
    about="How the packets of a queue wait.",
    ids=TYPE_NAMES,
    argument="type_id",
    area="Shaping",
    purpose="A queue type says how the packets of a queue wait: which algorithm, and with which options.",
    known={
        "options": Known(
            "type",
            {kind: {name: option.field for name, option in found.items()} for kind, found in OPTIONS.items()},
        )
    },
    adds=("enforcement", "used_by"),
    columns=("type", "options", "comment"),
    rules=(Rule("queue-type-option", "queue-type", queue_type_option, own("queue-type"), False),),
)
