# SPDX-License-Identifier: Apache-2.0
"""The configuration in memory and in the kernel, moved together over changes and kept equal."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from weir.agent.dhcp_client import Lease
from weir.agent.drift import DriftLog
from weir.agent.executor import Executor, Synced, Timing
from weir.agent.sharing import Sharing
from weir.agent.slots import SlotLog
from weir.agent.way_back import Before, WayBack
from weir.backends.tables import PackedTables, TablesDifference
from weir.compiler import Earlier, Missed, Plan, SlotAllocation, nothing_compiled, update
from weir.memory import give_back_soon
from weir.model.document import Change, Document
from weir.model.objects import Kind
from weir.model.packed_changes import PackedChanges, outlines_of
from weir.model.problem import Finding, Invalid, Problem
from weir.model.rules import rewrites_queues, validate
from weir.parts.routes import ROUTES

log = logging.getLogger(__name__)

MAX_STEPS = 1000
SHAPED = ("queue", "queue-type")
"""Kinds whose change is hitless: what they become are classes and prefixes."""
SLICE = 500
"""Entries compared in one hold of the lock: about 5 ms."""
PAUSE_S = 0.002
"""Between two holds; a lock is not fair, and a thread that waits must get it."""
MANY_CHANGES = 5000


class Done(NamedTuple):
    """What became of changes; `effects` as in a preview, None: not known or not asked for."""

    plan: Plan
    timing: Timing
    effects: list[dict[str, Any]] | None


class RunningConfiguration:
    """Thread-safe; its lock is held for as long as document and kernel may differ."""

    def __init__(
        self,
        executor: Executor,
        sharing: Sharing,
        capacity: int,
        now_local: Callable[[], datetime],
        refusing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`now_local` gives the router's local time, without a zone: what time windows are compared with.
        What is raised within `refusing()` may be given more words."""
        self.executor = executor
        self.sharing = sharing
        self.lock = threading.RLock()
        self._state = "starting"
        self.drift = DriftLog()
        self._now_local = now_local
        self._capacity = capacity
        self._refusing = refusing
        self.document = Document()
        self.compiled = nothing_compiled(SlotAllocation(capacity), self._now_local(), executor.registered)
        self.slot_log = SlotLog(lambda: self.compiled.slots(), self.lock)
        self._before: Before | None = None
        """What ran before the last plan, for as long as somebody may want to go back there."""
        self._missed: list[Missed] | None = None
        """What ran since a plan is being made ahead; None: none is."""
        self._loaded = False

    @property
    def class_capacity(self) -> int:
        """How many classes the tables hold; a queue takes one, with a `total` two."""
        return self._capacity - 1

    @property
    def loaded(self) -> bool:
        """Whether the document is the store's."""
        return self._loaded

    def pass_time(self) -> None:
        """Open and close time windows, of queues and of firewall rules: those whose edge has passed since the
        last plan. What daemons are given for a time only ends as well. That is no drift."""
        with self.lock:
            if self._loaded:
                self._advance((), strict=False)
                if over := self.executor.pass_time(self.compiled):
                    self._sync(over, "time")

    def reconcile(self, parts: Iterable[str] | None = None) -> Synced:
        """Compare the kernel with what is wanted and repair it (None: all parts); what was found is in the
        drift log."""
        with self.lock:
            if not self._loaded:
                return Synced()
            return self._sync(parts, "drift")

    def look_again(self) -> None:
        """What netlink alone told of a change is not relied on by who reads next."""
        with self.lock:
            self.executor.firewall.look_again()

    def take_lease(self, ifname: str, lease: Lease | None) -> None:
        """A DHCP server gave or refused an address: bring it to the kernel. That is no drift."""
        with self.lock:
            if self.executor.leases.note(ifname, lease) and self._loaded:
                self._sync(self.executor.looking_at("leases"), "lease")

    def follow_delegations(self, note: Callable[[], bool]) -> None:
        """`note` says whether something about delegated prefixes changed: bring it to the kernel and to
        hosts. That is no drift. Raises a `Problem`."""
        with self.lock:
            if note() and self._loaded:
                self._sync(self.executor.looking_at("leases"), "prefix")

    def follow_prefixes(self, prefixes: Collection[str] | None) -> None:
        """Routers behind have been given these prefixes, or have them no more; None: look at all. That is no
        drift."""
        with self.lock:
            if not self._loaded:
                return
            if prefixes is None:
                self._sync((ROUTES.name,), "prefix")
            else:
                self._noted(self.executor.follow_prefixes(self.compiled, prefixes), (ROUTES.name,), "prefix")

    def follow_uplinks(self, *, moved: bool) -> None:
        """What is known of uplinks has changed, and with `moved` which one is first: what passes beside the
        stack has a route of its own, and is sent up. That is no drift. Raises a `Problem`."""
        with self.lock:
            if self._loaded:
                self._sync(self.executor.looking_at("uplinks"), "uplink")
                if moved:
                    self.executor.firewall.forget_flows()

    def follow_fetched(self, step: Callable[[], Sequence[str]]) -> bool:
        """`step` changes a little of what sets have, and names the parts that have to follow; none: there is
        no more to do, and the answer is False. That is no drift."""
        with self.lock:
            parts = step()
            if parts and self._loaded:
                self._sync(parts, "fetched")
            return bool(parts)

    def follow_routing(self) -> None:
        """Which packets XDP may send by a port has changed with the routes. That is no drift."""
        with self.lock:
            if self._loaded:
                self._sync(self.executor.looking_at("routing"), "routes")

    def tables_agree(self) -> bool:
        """Compare all classes and prefixes in short holds of the lock, so that no change has to wait.

        What changes meanwhile may make a prefix look wrong: False means "compare as a whole".
        """
        tables = self.executor.tables
        for first in range(1, self._capacity, SLICE):
            with self.lock:
                slots = range(first, min(first + SLICE, self._capacity))
                if not tables.agrees(self.compiled.shaping, slots):
                    return False
            time.sleep(PAUSE_S)
        with self.lock:
            held, count = tables.read().prefixes(), 0
        while part := list(islice(held, SLICE)):
            count += len(part)
            with self.lock:
                wanted = self.compiled.shaping.prefixes
                if any(wanted.get(key) != slot for key, slot in part):
                    return False
            time.sleep(PAUSE_S)
        with self.lock:
            return count == len(self.compiled.shaping.prefixes)

    def rest(self) -> None:
        """Called now and then: hold no mapping that was not used since."""
        with self.lock:
            self.executor.tables.rest()

    def preview(self, changes: Sequence[Change]) -> dict[str, Any]:
        """What changes would do: steps, counts and errors; nothing is done.

        Thousands are looked at on a copy, so that nobody waits for them.
        """
        if len(changes) > MANY_CHANGES:
            return self._previewed_beside(changes)
        with self.lock:
            changes = completed(changes, self.document)
            after = self._document_after(changes)
            try:
                errors = validate(after, changes, errors_only=True)
                with self._refusing():
                    plan = update(self.compiled, after, changes, self._now_local())
            finally:
                self._take_back(after, changes)
            return self._previewed(plan, changes, errors)

    def _previewed_beside(self, changes: Sequence[Change]) -> dict[str, Any]:
        with self.lock:
            document, compiled = self.document.copy(), self.compiled.copy()
        try:
            changes = completed(changes, document)
            after = after_beside(document, changes)
            errors = validate(after, changes, errors_only=True)
            with self._refusing():
                plan = update(compiled, after, changes, self._now_local())
            with self.lock:
                return self._previewed(plan, changes, errors)
        finally:
            give_back_soon()

    def _previewed(self, plan: Plan, changes: Sequence[Change], errors: Sequence[Finding]) -> dict[str, Any]:
        return {
            "steps": steps_json(plan),
            "counts": plan.counts()._asdict(),
            "effects": self._effects(plan, changes, is_question=True),
            "findings": [finding.to_json() for finding in errors],
        }

    def _effects(
        self, plan: Plan, changes: Sequence[Change], *, is_question: bool = False
    ) -> list[dict[str, Any]] | None:
        """What a plan costs, object by object; None when it cannot be said."""
        others = (change for change in changes if change.kind not in SHAPED)
        try:
            return self.executor.effects(plan, self.compiled, others, is_question=is_question)
        except Problem as problem:
            log.warning("what the change costs is not known: %s", problem.message)
            return None

    def _advance(self, changes: Sequence[Change], *, strict: bool) -> Done:
        """Move document, compiled state and kernel over `changes`.

        Strict: refuse and restore on any failure. Not strict (the store has it already): what the
        kernel refuses is a fault that is tried again, and the rest is done.
        """
        self._state = "applying"
        after = self._document_after(changes)
        try:
            if strict:
                refuse_invalid(after, changes)
            plan = update(self.compiled, after, changes, self._now_local())
            with self.executor.read_once():
                effects = self._effects(plan, changes) if strict else None
                timing = self._execute(plan, strict)
        except BaseException:
            self._take_back(after, changes)
            self._state = self.drift.state
            raise
        self._take(after, changes, plan, timing is not None)
        return Done(plan, timing or Timing(0.0, 0.0), effects)

    def _take(self, after: Document, changes: Sequence[Change], plan: Plan, complete: bool) -> None:
        """The kernel holds what the plan says, or not all of it: go on from there."""
        self._before = Before(
            self.document if after is not self.document else None, plan, Earlier.of(self.compiled)
        )
        self.document = after
        self.compiled.accept(plan)
        self.slot_log.note(plan)
        if self._missed is not None:
            self._missed.append(Missed(changes, plan))
        self.sharing.follow(plan)
        if not complete:
            self._sync(self.executor.touched(plan), "change")
        self._state = self.drift.state

    def _go(self, way: WayBack) -> None:
        """Back to where a way leads: by its plan, if that fits, else as by any other changes."""
        plan = way.plan
        if plan is None or not way.holds(self.compiled):
            self._advance(way.changes, strict=False)
            return
        self._state = "applying"
        complete = True
        try:
            self.executor.execute(plan, self.compiled, way.tables)
        except Problem as problem:
            log.warning("not everything could be applied: %s", problem.message)
            complete = False
        except BaseException:
            self._state = self.drift.state
            raise
        after = self._document_after(way.changes) if way.document is None else way.document
        self._take(after, way.changes, plan, complete)

    def _document_after(self, changes: Sequence[Change]) -> Document:
        """The document after the changes: the same one, or of much of it another one beside it."""
        if len(changes) > MANY_CHANGES and rewrites_queues(self.document, changes):
            return self.document.after(changes)
        self.document.apply(changes)
        return self.document

    def _take_back(self, after: Document, changes: Sequence[Change]) -> None:
        """The document as before `_document_after`."""
        if after is self.document:
            self.document.revert(changes)
        if len(changes) > MANY_CHANGES:
            give_back_soon()

    def _execute(self, plan: Plan, strict: bool, packed: PackedTables | None = None) -> Timing | None:
        """None when not everything could be done (lenient only): the parts must then be compared whole."""
        try:
            if strict:
                self.executor.refuse_missing(plan)
            timing = self.executor.execute(plan, self.compiled, packed)
            return timing if packed is None else self._verified(plan, timing)
        except Exception as error:
            if not strict and isinstance(error, Problem):
                log.warning("not everything could be applied: %s", error.message)
                return None
            log.warning("apply failed, restoring: %s", error)
            self._sync(self.executor.touched(plan), "restore")
            raise

    def _verified(self, plan: Plan, timing: Timing) -> Timing:
        """Read back what was stored from packed records. Raises `ApplyFailed`."""
        begun = time.perf_counter()
        self.executor.tables.verify(TablesDifference.of(plan.shaping))
        return Timing(timing.apply_ms, timing.verify_ms + (time.perf_counter() - begun) * 1000)

    def _tidy(self, changes: Sequence[Change]) -> None:
        """Nobody goes back. After thousands of changes: pack the document, and give back what they took."""
        self._before = None
        if len(changes) > MANY_CHANGES:
            self.document.pack()
            give_back_soon()

    def _sync(self, parts: Iterable[str] | None, occasion: str) -> Synced:
        chosen = tuple(self.executor.stages if parts is None else parts)
        return self._noted(self.executor.sync(self.compiled, chosen), chosen, occasion)

    def _noted(self, synced: Synced, chosen: tuple[str, ...], occasion: str) -> Synced:
        self.drift.note(synced, occasion, chosen)
        self._state = self.drift.state
        return synced


def completed(changes: Sequence[Change], document: Document) -> Sequence[Change]:
    """Changes with the `old` that this process holds; the sender's is not asked for. Raises `Invalid`."""
    seen = defaultdict[Kind, set[str]](set)
    for kind, object_id, _ in outlines_of(changes):
        if object_id in seen[kind]:
            path = f"{kind}/{object_id}"
            raise Invalid(f"{kind} {object_id} is changed twice", code="twice", path=path)
        seen[kind].add(object_id)
    if isinstance(changes, PackedChanges):
        return changes.against(document.copy())
    held = document.get
    found = (Change(item.kind, item.id, held(item.kind, item.id), item.new) for item in changes)
    return [change for change in found if change.old is not None or change.new is not None]


def after_beside(document: Document, changes: Sequence[Change]) -> Document:
    """Another document; the changes look into the one before."""
    if rewrites_queues(document, changes):
        return document.after(changes)
    after = document.copy()
    after.apply(changes)
    return after


def refuse_invalid(after: Document, changes: Sequence[Change]) -> None:
    """Raises `Invalid` with the first hundred errors."""
    errors = [f for f in validate(after, changes, errors_only=True) if f.severity == "error"]
    if errors:
        first = errors[0]
        raise Invalid(first.message, code=first.code, path=first.path, findings=errors[:100])


def steps_json(plan: Plan) -> list[dict[str, str]]:
    return [
        {"backend": step.backend, "action": step.action, "what": f"{step.what} {step.text}"}
        for step in islice(plan.steps(), MAX_STEPS)
    ]
