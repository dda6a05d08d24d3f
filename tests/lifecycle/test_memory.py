# SPDX-License-Identifier: Apache-2.0
"""What a queue more costs in the memory of a running router (docs/benchmarks.md has what 100,000 take)."""

from __future__ import annotations

import time
from functools import partial

from bench.control import Imports
from bench.resources import proportional_kib
from tests.polling import until
from tests.router import Router, running_router

FEW, MANY = 2_000, 12_000
SETTLED_S = 13.0
"""What an import leaves behind is given back 1 s and 11 s after it (`weir.memory`)."""
MOST_BYTES = {"agent": 2_300, "api": 2_600}
"""For a queue, in the agent and in the API."""


def with_queues(router: Router, queues: int) -> dict[str, int]:
    """Bytes of each process after an import of so many queues, the least of half a second."""
    Imports(router, queues, "").round()
    settled_at_s = time.monotonic() + SETTLED_S
    until("what the import left is given back", lambda: time.monotonic() > settled_at_s)
    taken = dict[str, int]()
    for service in MOST_BYTES:
        pid = router.pid_of(service)
        assert pid is not None
        measure = partial(proportional_kib, pid)
        taken[service] = min(measure() for _ in range(10)) * 1024
    return taken


def test_a_queue_more_takes_little() -> None:
    """Some 1,500 bytes in the agent and 1,800 in the API, 200 more or less each time."""
    with running_router() as router:
        few, many = with_queues(router, FEW), with_queues(router, MANY)
    grown = {service: (many[service] - few[service]) / (MANY - FEW) for service in MOST_BYTES}
    assert all(0 < grown[service] <= most for service, most in MOST_BYTES.items()), grown
