# SPDX-License-Identifier: Apache-2.0
"""Alerts: who can be told, and which findings are told to whom."""

from __future__ import annotations

from dataclasses import dataclass

from weir.fields.secret import LOST
from weir.kinds.alert_rule import AlertRule
from weir.kinds.alert_target import AlertTarget
from weir.parts.part import ObjectsPart
from weir.parts.wireguard import Sealed, sealed_of


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """`secret` is the password or the token; `lacks` names it where this router does not know it."""

    id: str
    type: str
    server: str
    port: int
    security: str
    username: str
    sender: str
    recipients: tuple[str, ...]
    url: str
    header: str
    secret: Sealed | None
    lacks: str


@dataclass(frozen=True, slots=True)
class RuleSpec:
    id: str
    severity: str
    codes: tuple[str, ...]
    targets: tuple[str, ...]
    repeat_after_s: int


class TargetsPart(ObjectsPart[TargetSpec]):
    name, what = "alert-targets", "alert"
    of = AlertTarget
    made_of = frozenset(("alert-target",))

    def key(self, entry: TargetSpec) -> str:
        return entry.id

    def entry(self, item: AlertTarget) -> TargetSpec | None:
        return None if item.disabled else _target(item)

    def text(self, old: TargetSpec | None, new: TargetSpec) -> str:
        if new.type == "mail":
            where = f"mail to {', '.join(new.recipients)} by {new.server} port {new.port}"
        else:
            where = f"POST to {new.url}"
        return f"target {new.id}: {where}"


class RulesPart(ObjectsPart[RuleSpec]):
    name, what = "alert-rules", "alert"
    of = AlertRule
    made_of = frozenset(("alert-rule",))

    def key(self, entry: RuleSpec) -> str:
        return entry.id

    def entry(self, item: AlertRule) -> RuleSpec | None:
        if item.disabled:
            return None
        return RuleSpec(item.id, item.severity, item.codes, item.targets, item.repeat_after_s)

    def text(self, old: RuleSpec | None, new: RuleSpec) -> str:
        what = ", ".join(new.codes) or "every finding"
        return f"rule {new.id}: {what}, {new.severity} or worse, to {', '.join(new.targets) or 'nobody'}"


def _target(item: AlertTarget) -> TargetSpec:
    is_mail = item.type == "mail"
    path, value = ("password", item.password) if is_mail else ("token", item.token)
    return TargetSpec(
        item.id,
        item.type,
        item.server or "",
        item.used_port,
        item.security,
        item.username,
        item.sender or "",
        item.recipients,
        item.url or "",
        item.header,
        sealed_of(item.kind, item.id, path, value),
        path if value == LOST else "",
    )


ALERT_TARGETS, ALERT_RULES = TargetsPart(), RulesPart()
