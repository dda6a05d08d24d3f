# SPDX-License-Identifier: Apache-2.0
"""What ails the router, and doing something about it: a change that is committed on trial, measured again,
and goes back unless somebody confirms it (docs/adr/0186)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.diagnosis.texts import AILMENTS, Remedy
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.tuning import Tuning
from weir.model.document import Change
from weir.model.problem import Conflict, Invalid, NotFound, Problem
from weir.service.commit import Committer
from weir.service.request import Request
from weir.service.types import Committed
from weir.store import ReadTransaction
from weir.wire.client import AgentClient

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Applied:
    """`trial` is the agent's: the measurement that runs from now on; None, and why, where there is none."""

    committed: Committed
    trial: Json | None
    untried: str | None


class DiagnosisService:
    """Findings are the agent's, and nothing of them is stored."""

    def __init__(self, agent: AgentClient, committer: Committer) -> None:
        self._agent = agent
        self._committer = committer

    @requires("config.read")
    def findings(self, _by: Principal) -> Json:
        """What was found, what was looked at and what could not be. Raises `Unavailable`."""
        return self._agent.call("findings")

    @requires("config.write")
    def apply(self, by: Principal, code: str, subject: str, remedy_id: str, confirm_within_s: int) -> Applied:
        """Commit a remedy of a finding that there is now as a revision of its own; it goes back unless it is
        confirmed in time. Raises `NotFound`, `Invalid` (`not-applicable`), `Conflict` and as a commit."""
        remedy = self._remedy(by, code, subject, remedy_id)

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            made = _bound if remedy.bound_pps else _override
            return [made(transaction, remedy, subject)]

        message = f"remedy {remedy.id} against {code} of {subject}"
        request = Request(
            produce=produce, message=message, confirm_within_s=confirm_within_s, audited_as="remedy"
        )
        committed = self._committer.run(by, request)
        asked = {"code": code, "subject": subject, "remedy": remedy.id, "revision": committed.revision}
        try:
            return Applied(committed, self._agent.call("try_remedy", asked), None)
        except Problem as problem:
            return Applied(committed, None, f"it is not measured again: {problem.message}")

    def _remedy(self, by: Principal, code: str, subject: str, remedy_id: str) -> Remedy:
        offered = [
            remedy["id"]
            for finding in self.findings(by)["findings"]
            if (finding["code"], finding["subject"]) == (code, subject)
            for remedy in finding["remedies"]
        ]
        if not offered:
            raise NotFound(f"there is no finding {code} of {subject!r} now", code="no-finding", path="code")
        if remedy_id not in offered:
            text = f"{code} has no remedy {remedy_id!r}; there are {', '.join(offered)}"
            raise NotFound(text, code="no-remedy", path="remedy")
        remedy = next(item for item in AILMENTS[code].remedies if item.id == remedy_id)
        if not (remedy.setting or remedy.bound_pps):
            text = f"the remedy {remedy_id!r} is not one setting: {remedy.text}"
            raise Invalid(text, code="not-applicable", path="remedy")
        return remedy


def _override(transaction: ReadTransaction, remedy: Remedy, subject: str) -> Change:
    stored = transaction.stored("tuning", "tuning")
    old = stored.object if stored is not None else Tuning()
    assert isinstance(old, Tuning)
    overrides = dict(old.overrides)
    setting = f"{remedy.setting}.{subject}" if remedy.of_port else remedy.setting
    if overrides.get(setting):  # a larger value may stand there
        text = f"{setting} is overridden with {overrides[setting]!r} already: change it by hand"
        raise Conflict(text, code="applied-already", path=f"tuning/tuning/overrides/{setting}")
    overrides[setting] = remedy.value
    new = replace(old, overrides=tuple(sorted(overrides.items())))
    return Change("tuning", "tuning", None if stored is None else old, new)


def _bound(transaction: ReadTransaction, remedy: Remedy, subject: str) -> Change:
    """Under an id that says whose it is. Another object that bounds this source is found by validation."""
    name = f"scan-{re.sub('[^0-9a-f]+', '-', subject)}"
    stored = transaction.stored("bounded-source", name)
    old = None if stored is None else stored.object
    if isinstance(old, BoundedSource) and not old.disabled:
        rate = old.packets_per_second
        text = f"{old.source} is bounded to {rate} packets a second already: change it by hand"
        raise Conflict(text, code="applied-already", path=f"bounded-source/{name}")
    new = BoundedSource(name, subject, packets_per_second=remedy.bound_pps, burst=remedy.bound_pps)
    return Change("bounded-source", name, old, new)
