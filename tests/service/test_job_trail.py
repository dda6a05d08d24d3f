# SPDX-License-Identifier: Apache-2.0
"""What jobs did is in the audit trail, at its time."""

from __future__ import annotations

import pytest

from tests.service.router import Router, person
from weir.kinds.job import Job
from weir.model.problem import Forbidden
from weir.service.job_trail import JobTrail
from weir.service.types import Edit

RUN = {"job": "nightly", "action": "restart", "due_ms": 1, "at_ms": 1_800_000_000_000}


def test_each_run_is_noted_once_with_what_became_of_it(router: Router) -> None:
    router.agent.runs = [
        {**RUN, "number": 1, "result": "done", "detail": ""},
        {**RUN, "number": 2, "result": "missed", "detail": "the router was off"},
    ]
    trail = JobTrail(router.service.agent, router.service.audit)
    trail.take()
    trail.take()
    newest, older = router.service.audit.list(person(scope="admin"))[:2]
    assert (newest.actor, newest.via, newest.action, newest.subject) == (
        "job",
        "agent",
        "job.restart",
        "nightly",
    )
    assert (newest.outcome, newest.detail) == ("missed", "missed: the router was off")
    assert (older.outcome, older.detail, older.at_ms) == ("ok", "done", RUN["at_ms"])
    assert len(router.service.audit.list(person(scope="admin"))) == 2


def test_only_administrators_change_jobs(router: Router) -> None:
    edit = Edit("job", "nightly", Job("nightly", time="04:30"))
    with pytest.raises(Forbidden):
        router.service.config.commit(person(scope="write"), [edit])
    router.service.config.commit(person(scope="admin"), [edit])
