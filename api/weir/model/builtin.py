# SPDX-License-Identifier: Apache-2.0
"""The queue types that exist on every RouterOS device, so that imported queues find what they name.

Sizes and defaults: RouterOS v7 manual, queues, "queue types"; exports never contain them.
"""

from __future__ import annotations

from weir.model.objects import QueueType


def _type(name: str, kind: str, **options: str) -> QueueType:
    pairs = tuple(sorted((key.replace("_", "-"), value) for key, value in options.items()))
    return QueueType(name, kind, pairs, "built in")


BUILTIN_QUEUE_TYPES: dict[str, QueueType] = {
    item.id: item
    for item in (
        _type("default", "pfifo", pfifo_limit="50"),
        _type("default-small", "pfifo", pfifo_limit="10"),
        _type("ethernet-default", "pfifo", pfifo_limit="50"),
        _type("wireless-default", "sfq", sfq_allot="1514", sfq_perturb="5"),
        _type("synchronous-default", "red", red_avg_packet="1000", red_limit="60"),
        _type("hotspot-default", "sfq", sfq_allot="1514", sfq_perturb="5"),
        _type("only-hardware-queue", "none"),
        _type("multi-queue-ethernet-default", "mq-pfifo", mq_pfifo_limit="50"),
        _type("pcq-upload-default", "pcq", pcq_classifier="src-address", pcq_limit="50KiB", pcq_rate="0"),
        _type("pcq-download-default", "pcq", pcq_classifier="dst-address", pcq_limit="50KiB", pcq_rate="0"),
    )
}
"""By name. Part of every document without being stored in it; an object of the same id replaces one."""
