# SPDX-License-Identifier: Apache-2.0
"""Tells what ails the router to those who are not there: findings in, messages to targets out.

What was told is remembered in memory: after a start of the agent a finding that lasts is told again.
"""

from __future__ import annotations

import secrets as random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from weir.adapters.courier import Outcome, deliver
from weir.agent.outbox import FIRST_WAIT_S, Outbox
from weir.backends.held import HeldBackend
from weir.diagnosis import messages
from weir.diagnosis.messages import Event, Json, Message
from weir.host import host_name
from weir.kinds.alert_rule import SEVERITIES
from weir.model.problem import Conflict, Invalid, Problem
from weir.parts.alerts import RuleSpec, TargetSpec
from weir.parts.wireguard import Sealed
from weir.store.clock import wall_ms
from weir.wire.server import Handler, Peer

Key = tuple[str, str, str]
"""Of what was told: the target, the finding's code and its subject."""


class Alerts:
    """Thread-safe. `opened` gives a secret's plain text; it is asked when a message is sent, not before."""

    def __init__(
        self,
        targets: HeldBackend[TargetSpec],
        rules: HeldBackend[RuleSpec],
        opened: Callable[[Sealed], str],
        ca_bundle: str,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self._opened = opened
        self._ca_bundle = ca_bundle
        self._first_wait_s = first_wait_s
        self._lock = threading.Lock()
        self._testing = threading.Lock()
        self._targets: Mapping[str, TargetSpec] = {}
        self._rules: Mapping[str, RuleSpec] = {}
        self._outboxes: dict[str, Outbox] = {}
        self._told: dict[Key, tuple[Json, float]] = {}
        """The finding as it was last, and when it was told."""
        targets.changed = self.tell_these
        rules.changed = self.tell_of_these

    def table(self) -> Mapping[str, Handler]:
        return {"alert_test": self._test}

    def stop(self) -> None:
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.stop()

    def tell_of_these(self, rules: Mapping[str, RuleSpec]) -> None:
        """The rules are these from now on."""
        with self._lock:
            self._rules = rules

    def tell_these(self, targets: Mapping[str, TargetSpec]) -> None:
        """The targets are these from now on. What waits for one that is gone is dropped, and so is what it
        was told."""
        with self._lock:
            before, self._targets = self._targets, targets
            for name in before.keys() - self._targets.keys():
                self._outboxes.pop(name).stop()
            self._told = {key: told for key, told in self._told.items() if key[0] in self._targets}
            for name, spec in self._targets.items():
                send = partial(self._attempt, spec)
                if name not in self._outboxes:
                    self._outboxes[name] = Outbox(name, send, self._first_wait_s)
                elif before[name] != spec:
                    self._outboxes[name].hurry(send)

    def looked(self, findings: Sequence[Json]) -> None:
        """These are the findings now. Never waits for anybody outside."""
        now_s = time.monotonic()
        with self._lock:
            meant = self._meant(findings)
            for key in self._told.keys() - meant.keys():
                finding = self._told[key][0]
                if key in self._meant((finding,)):
                    self._tell("ends", finding, key[0])
            self._told = {
                key: (finding, self._told_s(key, finding, repeat_after_s, now_s))
                for key, (finding, repeat_after_s) in meant.items()
            }

    def _meant(self, findings: Iterable[Json]) -> dict[Key, tuple[Json, int]]:
        """Which target is told of which finding, and again after how many seconds (0: not): of several rules
        the one that repeats soonest."""
        found: dict[Key, tuple[Json, int]] = {}
        for rule, finding in product(self._rules.values(), findings):
            if is_meant(rule, finding):
                for name in self._targets.keys() & set(rule.targets):
                    key = (name, finding["code"], finding["subject"])
                    others = found[key][1] if key in found else 0
                    again = min(filter(None, (others, rule.repeat_after_s)), default=0)
                    found[key] = (finding, again)
        return found

    def _told_s(self, key: Key, finding: Json, repeat_after_s: int, now_s: float) -> float:
        """When it was told last, which may be now."""
        known = self._told.get(key)
        if known is None:
            self._tell("begins", finding, key[0])
            return now_s
        if repeat_after_s and now_s - known[1] >= repeat_after_s:
            self._tell("continues", finding, key[0])
            return now_s
        return known[1]

    def _tell(self, event: Event, finding: Json, target: str) -> None:
        message = messages.about(event, finding, host_name(), random.token_hex(8), wall_ms())
        self._outboxes[target].put(message)

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of targets; of one that is disabled nothing is known."""
        with self._lock:
            return {
                name: outbox.state() for name, outbox in self._outboxes.items() if ids is None or name in ids
            }

    def _attempt(self, spec: TargetSpec, message: Message) -> Outcome:
        if spec.lacks:
            return Outcome(False, f"its {spec.lacks} is unknown to this router: enter it again")
        try:
            secret = "" if spec.secret is None else self._opened(spec.secret)
        except Problem as problem:
            return Outcome(False, problem.message)
        return deliver(order_of(spec, secret, self._ca_bundle, message))

    def _test(self, params: Json, _peer: Peer) -> Json:
        """One message to one target, now; what it answered. Raises `Conflict` (`target-off`, `test-busy`)."""
        target_id, by = params.get("id"), params.get("by")
        if not isinstance(target_id, str) or not isinstance(by, str):
            raise Invalid("an id and a name are needed", code="bad-request")
        with self._lock:
            spec, outbox = self._targets.get(target_id), self._outboxes.get(target_id)
        if spec is None or outbox is None:
            text = f"alert target {target_id} is disabled, or not in force yet: nothing is sent to it"
            raise Conflict(text, code="target-off")
        if not self._testing.acquire(blocking=False):
            raise Conflict("another test is under way: try again in a moment", code="test-busy")
        try:
            begun_s = time.monotonic()
            message = messages.test(by, host_name(), random.token_hex(8), wall_ms())
            outcome = self._attempt(spec, message)
            outbox.note(outcome)
        finally:
            self._testing.release()
        took_ms = round((time.monotonic() - begun_s) * 1000)
        return {"delivered": outcome.delivered, "answer": outcome.answer, "took_ms": took_ms}


def is_meant(rule: RuleSpec, finding: Json) -> bool:
    """Whether a rule tells of a finding."""
    is_severe = SEVERITIES.index(finding["severity"]) >= SEVERITIES.index(rule.severity)
    return is_severe and (not rule.codes or finding["code"] in rule.codes)


def order_of(spec: TargetSpec, secret: str, ca_bundle: str, message: Message) -> Json:
    """What the process that sends it is told (`weir.courier`)."""
    return {
        "type": spec.type,
        "id": message.id,
        "router": host_name(),
        "at_ms": message.at_ms,
        "server": spec.server,
        "port": spec.port,
        "security": spec.security,
        "username": spec.username,
        "secret": secret,
        "sender": spec.sender,
        "recipients": list(spec.recipients),
        "url": spec.url,
        "header": spec.header,
        "ca_bundle": ca_bundle,
        "subject": message.summary,
        "text": message.text,
        "body": message.facts,
    }
