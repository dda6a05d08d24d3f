# SPDX-License-Identifier: Apache-2.0
"""What the diagnosis says of a watch that the kernel refuses."""

from __future__ import annotations

from typing import Any

from tests.polling import until
from weir.agent.sampler import Sampler
from weir.agent.watch import Watch


def why_not_looked_at(name: str, watch: Watch[Any, Any]) -> str:
    """The reason that is told of the look `name`; all else is looked at."""
    sampler = Sampler(10.0, watches={name: watch})
    sampler.start()
    try:
        until("it was tried", lambda: watch._refused)
        sampler.look()
        said = sampler.table()["findings"]({}, None)
    finally:
        sampler.stop()
    assert {"cores", "sockets"} <= {item["id"] for item in said["looked_at"]}
    reasons: dict[str, str] = {item["id"]: item["reason"] for item in said["not_looked_at"]}
    return reasons[name]
