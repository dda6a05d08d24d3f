# SPDX-License-Identifier: Apache-2.0
"""Alerts: who can be told, and which findings are told to whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.fields.secret import LOST
from weir.kinds.alert_rule import AlertRule
from weir.kinds.alert_target import AlertTarget
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart
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

    @property
    def name(self) -> str:
        return f"target {self.id}"


@dataclass(frozen=True, slots=True)
class RuleSpec:
    id: str
    severity: str
    codes: tuple[str, ...]
    targets: tuple[str, ...]
    repeat_after_s: int

    @property
    def name(self) -> str:
        return f"rule {self.id}"


Spec = TargetSpec | RuleSpec


class AlertsPart(EntriesPart[Spec]):
    name, what = "alerts", "alert"
    made_of = frozenset(("alert-target", "alert-rule"))

    def key(self, entry: Spec) -> str:
        return entry.name

    def wanted(self, document: Document) -> Mapping[str, Spec]:
        specs: list[Spec] = [_target(item) for item in document.every(AlertTarget) if not item.disabled]
        specs += [_rule(item) for item in document.every(AlertRule) if not item.disabled]
        return {spec.name: spec for spec in sorted(specs, key=self.key)}

    def told(self, wanted: Mapping[str, Spec], item: ConfigObject) -> Iterator[str]:
        spec = wanted.get(f"{'target' if isinstance(item, AlertTarget) else 'rule'} {item.id}")
        return iter(() if spec is None else (self.text(None, spec),))

    def text(self, old: Spec | None, new: Spec) -> str:
        if isinstance(new, RuleSpec):
            what = ", ".join(new.codes) or "every finding"
            return f"{new.name}: {what}, {new.severity} or worse, to {', '.join(new.targets) or 'nobody'}"
        if new.type == "mail":
            return f"{new.name}: mail to {', '.join(new.recipients)} by {new.server} port {new.port}"
        return f"{new.name}: POST to {new.url}"


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


def _rule(item: AlertRule) -> RuleSpec:
    return RuleSpec(item.id, item.severity, item.codes, item.targets, item.repeat_after_s)


def targets_of(wanted: Mapping[str, Spec]) -> dict[str, TargetSpec]:
    """By id."""
    return {spec.id: spec for spec in wanted.values() if isinstance(spec, TargetSpec)}


def rules_of(wanted: Mapping[str, Spec]) -> dict[str, RuleSpec]:
    """By id."""
    return {spec.id: spec for spec in wanted.values() if isinstance(spec, RuleSpec)}


ALERTS = AlertsPart()
