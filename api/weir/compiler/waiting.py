# SPDX-License-Identifier: Apache-2.0
"""From a queue type to how packets of a class wait: as a backlog in bytes, and as a leaf below HTB."""

from __future__ import annotations

from weir.compiler.types import OWN_WAITING, PACKET_BYTES, Waiting
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.document import Document
from weir.model.objects import QueueType
from weir.model.queue_options import Value, values_of

DEFAULT_TYPE = "default-small"
_DEFAULT_PACKETS = 50
_DEFAULT_BFIFO_BYTES = 15_000
_FIFO_OPTION = {"pfifo": "pfifo-limit", "mq-pfifo": "mq-pfifo-limit"}


def waiting_of(document: Document, type_id: str) -> Waiting:
    """How packets of a queue with this type wait; Weir's own way for a type that does not exist.

    `default-small`, which every queue has that names none, means Weir's own way unless it is configured:
    its 10 packets would be 2 ms at 50 Mbit/s (docs/adr/0044).
    """
    found = document.queue_type(type_id)
    if found is None or found is BUILTIN_QUEUE_TYPES[DEFAULT_TYPE]:
        return OWN_WAITING
    values = values_of(found)
    return Waiting(found.type, _backlog_bytes(found, dict(values)), values)


def _backlog_bytes(queue_type: QueueType, values: dict[str, Value]) -> int | None:
    """What a fifo holds, at least one packet; packets count as full ones, as EDT knows only time."""
    kind = queue_type.type
    if kind == "none":
        return 0
    if kind == "bfifo":
        return max(int(values.get("bfifo-limit", _DEFAULT_BFIFO_BYTES)), PACKET_BYTES)
    if kind in _FIFO_OPTION:
        return max(int(values.get(_FIFO_OPTION[kind], _DEFAULT_PACKETS)), 1) * PACKET_BYTES
    return None
