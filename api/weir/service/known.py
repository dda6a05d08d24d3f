# SPDX-License-Identifier: Apache-2.0
"""The configuration as the agent runs it, for when the database does not say."""

from __future__ import annotations

import json
import os
from pathlib import Path

from weir.model.codec import from_json, parse_kind
from weir.model.objects import ConfigObject
from weir.model.problem import Unavailable
from weir.store.made import make
from weir.wire.client import AgentClient

TIMEOUT_S = 120.0


def running_objects(agent: AgentClient) -> tuple[int, list[ConfigObject]]:
    """The revision that runs and all its objects. Raises `Unavailable`."""
    answer, descriptors = agent.call_for_fds("running", timeout_s=TIMEOUT_S)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    if not descriptors:
        raise Unavailable("the agent did not say what it runs", code="bad-answer")
    found = []
    with os.fdopen(descriptors[0], "rb") as file:
        file.seek(0)
        for line in file:
            kind, object_id, body = json.loads(line)
            found.append(from_json(parse_kind(kind), json.loads(body), object_id, is_stored=True))
    return int(answer["revision"]), found


def write_running(agent: AgentClient, path: Path) -> None:
    """Make a database at `path` of what runs. Raises `Unavailable`, also when nothing does."""
    revision, objects = running_objects(agent)
    if revision == 0:
        raise Unavailable("the agent has no configuration either", code="nothing-runs")
    make(path, revision, objects, "what the router runs")
