# SPDX-License-Identifier: Apache-2.0
"""The commit: one at a time, through the store and the agent, all or nothing.

    thousands of changes: read, and connect    before anybody waits (`weir.service.preparation`)
        encode, validate and add up,           before anybody waits
        while the agent: prepare               reads, validates and compiles them as they come
        validate what was committed since      before anybody waits
    connect to the agent                       down: refused before anything is written
    take the store's write lock
        catch up, check what was expected, validate (or what was committed since)
        write the revision                     still invisible to everybody else
        agent: apply                           a refusal or a timeout rolls the store back;
                                               thousands of changes are applied while they are written
    COMMIT                                     from here on the revision is the truth
    agent: settle                              without it the agent goes by the store when it wakes up

Whatever dies in between, the store holds the old or the new revision, and the agent, seeing its
connection drop before `settle`, brings the kernel to what the store holds.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.principal import Principal
from weir.model.document import Change
from weir.model.packed_changes import more_queues
from weir.model.problem import ApplyFailed, Conflict, Problem, Unsupported
from weir.service.own_way import Judged, OwnWay
from weir.service.packed_edits import any_queue, more_queues_by
from weir.service.plans import require_admin, require_plans
from weir.service.preparation import (
    ROUNDS,
    Outdated,
    Prepared,
    catch_up,
    confirm,
    prepare,
    read_request,
    refuse_early,
    try_request,
)
from weir.service.request import Request, Timing, check_request
from weir.service.running_document import MANY, Running, Trial
from weir.service.turn import Turn
from weir.service.types import Committed, Confirmation, Edit
from weir.store import ConfigStore, Pending, WriteTransaction
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.store.versions import AT_ONCE, ChangedVersions, line_of, lines_of
from weir.wire.client import AgentClient, AgentConnection, Arrays
from weir.wire.protocol import NOT_PREPARED, Json

log = logging.getLogger(__name__)

APPLY_TIMEOUT_S = 60.0
APPLY_TIMEOUT_PER_CHANGE_S = 0.002
SETTLE_TIMEOUT_S = 5.0
LOCK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class _Written:
    base: int
    revision: int
    trial: Trial
    applied: dict[str, Any]
    confirm: Confirmation | None
    way: Judged | None = None


@dataclass(frozen=True, slots=True)
class _Ready:
    """What was prepared here, and the agent's name for what it prepared."""

    prepared: Prepared
    token: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """How the agent is told of changes: itself, or that it knows them."""

    params: dict[str, Json]
    lines: tuple[str, Collection[bytes]] | None


class Committer:
    def __init__(
        self,
        store: ConfigStore,
        running: Running,
        agent: AgentClient,
        audit: AuditService,
        failed: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """`failed` is told in a sentence when the system refused what was valid."""
        self._store = store
        self._running = running
        self._agent = agent
        self._audit = audit
        self._failed = failed
        self.own_way = OwnWay(running, agent)
        self._turn = Turn()
        self._large = Turn()
        """One commit of thousands at a time: a second one would need as much memory again."""

    def run(self, by: Principal, request: Request) -> Committed:
        """Commit or raise; whatever is raised, nothing was changed.

        `Unavailable` (agent or store), `Invalid` (findings), `Conflict` (a confirmation is pending),
        `PreconditionFailed`, `NotFound`, `Unsupported` (`too-many-queues`), `ApplyFailed` (the kernel
        refused).
        """
        check_request(request)
        timing = Timing()
        try:
            if request.size <= MANY:
                return self._run(by, request, timing)
            with self._large.of(request.size):
                return self._run_large(by, request, timing)
        except ApplyFailed as problem:
            self._failed(f"A commit by {by.username} failed, and nothing was changed: {problem.message}")
            raise

    def _run_large(self, by: Principal, request: Request, timing: Timing) -> Committed:
        """Prepare before the lock; at last under it, when others are faster each time."""
        for _ in range(ROUNDS):
            try:
                with ExitStack() as held:
                    link, ready = self._prepared_by_both(held, request, timing)
                    ready = replace(ready, prepared=catch_up(ready.prepared, request, self._store))
                    timing.mark("catch-up")
                    with self._turn.of(ready.prepared.read.versions.count):
                        return self._run_on(link, by, request, ready, timing)
            except Outdated as reason:
                log.info("what was prepared is outdated; once more: %s", reason)
        return self._run(by, request, timing)

    def _prepared_by_both(
        self, held: ExitStack, request: Request, timing: Timing
    ) -> tuple[AgentConnection, _Ready]:
        """Encoded and validated here while the agent reads, validates and compiles: two processes, neither of
        which needs the other's answer. What is wrong is said as it is said here, with all findings. The
        connection, which an exception closes so that the agent forgets, stays open as long as `held`."""
        asked: list[tuple[AgentConnection, Future[str]]] = []
        with ThreadPoolExecutor(1, thread_name_prefix="prepare") as helper:

            def begin(versions: ChangedVersions) -> None:
                link = held.enter_context(self._agent.connection())
                asked.append((link, helper.submit(_prepare_agent, link, versions)))

            read = read_request(request, self._store, self._require_room_for_changes, begin)
            timing.mark("read")
            prepared = prepare(read, request, self._running)
            timing.mark("prepare")
            link, token = asked[0]
            ready = _Ready(prepared, token.result())
            timing.mark("agent")
            return link, ready

    def _run(self, by: Principal, request: Request, timing: Timing) -> Committed:
        with self._turn.of(request.size), self._agent.connection() as link:
            return self._run_on(link, by, request, None, timing)

    def _run_on(
        self, link: AgentConnection, by: Principal, request: Request, ready: _Ready | None, timing: Timing
    ) -> Committed:
        with self._running.expecting() as expect, self._store.write(LOCK_TIMEOUT_S) as transaction:
            timing.mark("lock")
            written = self._write(by, request, ready, transaction, link, timing)
            expect(written.base, written.revision, written.trial)
        timing.mark("commit")
        if written.revision != written.base:
            written.applied["settled"] = _settle(link, written.revision)
            timing.mark("settle")
            self.own_way.took(written.revision, written.way)
        if written.revision != written.base:
            self._record(by, request, written)
            timing.mark("audit")
        return Committed(
            revision=written.revision,
            changes=written.trial.changes,
            findings=written.trial.findings,
            applied=written.applied,
            confirm=written.confirm,
            timing_ms=timing.spent_ms,
        )

    def why_no_room(self, edits: Sequence[Edit]) -> str | None:
        """A sentence when the router's tables hold fewer queues than there would be after many edits.

        Counted first, as validating and applying so many takes a minute. None where there is room, where the
        agent does not say, and for few edits, which the agent refuses quickly.
        """
        if len(edits) <= MANY or not any_queue(edits):
            return None
        with self._running.document_for(len(edits)) as document:
            more = more_queues_by(edits, document)
        return self._why_no_room(more)

    def require_room(self, edits: Sequence[Edit]) -> None:
        """Raises `Unsupported` (`too-many-queues`) where `why_no_room` has a sentence."""
        _raise_if_full(self.why_no_room(edits))

    def _require_room_for_changes(self, changes: Sequence[Change]) -> None:
        _raise_if_full(self._why_no_room(more_queues(changes)))

    def _why_no_room(self, more: int) -> str | None:
        """The same of so many more queues than there are."""
        if more <= 0:
            return None
        with self._running.document() as document:
            queues = len(document.of_kind("queue")) + more
        try:
            room = self._agent.call("status").get("class_capacity")
            if room is None or queues <= room:
                return None
            more = self._agent.call("room", {"queues": queues})["more"]
        except Problem:
            return None
        full = f"There would be {queues} queues, and this router has room for {room}"
        return f"{full}{more and '; '}{more}. Nothing was changed."

    def _record(self, by: Principal, request: Request, written: _Written) -> None:
        count = len(written.trial.changes)
        detail = "1 change" if count == 1 else f"{count} changes"
        if request.confirm_within_s is not None:
            detail += f", to be confirmed within {request.confirm_within_s} s"
        subject = f"revision {written.revision}"
        self._audit.note(entry_of(by, f"config.{request.audited_as or request.kind}", subject, detail=detail))

    def _write(
        self,
        by: Principal,
        request: Request,
        ready: _Ready | None,
        transaction: WriteTransaction,
        link: AgentConnection,
        timing: Timing,
    ) -> _Written:
        refuse_early(request, transaction)
        base = transaction.head
        if ready is None:
            trial = try_request(request, self._running, transaction)
        else:
            trial = confirm(ready.prepared, request, self._store, transaction)
        require_plans(by, trial.changes)
        require_admin(by, trial.changes)
        way = self.own_way.require_way_back(by, request, trial)
        changes = trial.changes
        timing.mark("validate")
        if request.also is not None:
            request.also(transaction)
        if not changes and not request.answers_pending:
            return _Written(base, base, trial, {}, None)
        revision = base + 1
        asked = _asked(changes, None if ready is None else ready.token)
        with self._applying(link, base, revision, asked, len(changes)) as applied:
            transaction.append(
                kind=request.kind,
                author=by.username,
                source=by.source,
                message=request.message,
                changes=changes,
                restores=request.restores,
                versions=None if ready is None else ready.prepared.read.versions,
            )
            timing.mark("write")
            answer = applied()
        armed = _arm(by, request.confirm_within_s, base, revision, transaction)  # its time begins now
        timing.mark("apply")
        return _Written(base, revision, trial, answer, armed, way)

    @contextmanager
    def _applying(
        self, link: AgentConnection, base: int, revision: int, asked: _Asked, count: int
    ) -> Iterator[Callable[[], dict[str, Any]]]:
        """The agent's answer to so many changes. It works on thousands while they are written.

        Should writing fail, the agent finds its connection closed and goes by the store, as ever. Raises
        `Outdated` when the agent cannot take in what was changed since it prepared them.
        """
        params = {"base": base, "revision": revision, **asked.params}
        ask = partial(_ask_apply, link, params, asked.lines, _patience_s(count))
        if count <= MANY:
            yield ask
            return
        with ThreadPoolExecutor(1, thread_name_prefix="apply") as helper:
            yield helper.submit(ask).result


def _prepare_agent(link: AgentConnection, versions: ChangedVersions) -> str:
    """The agent's name for the changes that it has validated and compiled. Raises what `apply` raises."""
    lines = ("changes", _arrays(versions))
    return str(link.call("prepare", lines=lines, timeout_s=_patience_s(versions.count))["prepared"])


def _asked(changes: Sequence[Change], token: str | None) -> _Asked:
    if token is not None:
        return _Asked({"prepared": token}, None)
    return _Asked({}, ("changes", encoded(changes)))


def _ask_apply(
    link: AgentConnection,
    params: dict[str, Json],
    lines: tuple[str, Collection[bytes]] | None,
    timeout_s: float,
) -> dict[str, Any]:
    try:
        return link.call("apply", params, lines=lines, timeout_s=timeout_s)
    except Conflict as conflict:
        if conflict.code == NOT_PREPARED:
            raise Outdated(conflict.message) from conflict
        raise


def _patience_s(count: int) -> float:
    return APPLY_TIMEOUT_S + APPLY_TIMEOUT_PER_CHANGE_S * count


def _raise_if_full(sentence: str | None) -> None:
    if sentence is not None:
        raise Unsupported(sentence, code="too-many-queues")


def hash_of(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _arm(
    by: Principal, window_s: int | None, base: int, revision: int, transaction: WriteTransaction
) -> Confirmation | None:
    """Write down that the revision is undone after `window_s` unless it is confirmed with the token."""
    if window_s is None:
        return None
    token = secrets.token_urlsafe(24)
    now_wall, now_boot = wall_ms(), boottime_ms()
    transaction.set_pending(
        Pending(
            revision=revision,
            base_revision=base,
            window_s=window_s,
            deadline_wall_ms=now_wall + window_s * 1000,
            boot_id=boot_id(),
            deadline_boottime_ms=now_boot + window_s * 1000,
            token_hash=hash_of(token),
            author=by.username,
            created_at_ms=now_wall,
        )
    )
    return Confirmation(revision, base, token, float(window_s))


def _settle(link: AgentConnection, revision: int) -> bool:
    """Tell the agent that the revision is durable; if it went away it finds out by itself."""
    try:
        link.call("settle", {"revision": revision}, timeout_s=SETTLE_TIMEOUT_S)
    except Problem as problem:
        link.close()
        log.warning("revision %d is committed, the agent did not settle it: %s", revision, problem)
        return False
    return True


def encoded(changes: Sequence[Change]) -> Collection[bytes]:
    """Lines for the agent: `{"kind", "id", "new"}`, `new` without the fields that hold their default; of
    thousands as arrays, which are made when they are sent."""
    if len(changes) <= MANY:
        return [line_of(change) for change in changes]
    return Arrays(len(changes), AT_ONCE, partial(lines_of, changes))


def _arrays(versions: ChangedVersions) -> Arrays:
    return Arrays(versions.count, AT_ONCE, versions.lines)
