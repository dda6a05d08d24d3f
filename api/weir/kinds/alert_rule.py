# SPDX-License-Identifier: Apache-2.0
"""What of the router's findings is told, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, Many, Ref, Whole, Word
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, own, warning

MAX_TARGETS = 16
SEVERITIES = ("notice", "warning", "error")
"""From the mildest."""
CODES = (
    "backlog-full",
    "certificate-ending",
    "certificate-invalid",
    "connections-full",
    "control-plane-starved",
    "crowded-listener",
    "listener-overflow",
    "lock-wait",
    "long-softirq",
    "neighbours-full",
    "one-core-works",
    "one-lock",
    "ring-overrun",
    "scan",
    "second-lookup",
    "set-names-unanswered",
    "set-not-fetched",
    "set-outdated",
    "slow-route-lookup",
    "socket-unread",
    "softirq-late",
    "stack-drops",
    "uplink-down",
)
"""Those of `weir.diagnosis.texts.AILMENTS`; a declaration cannot look there."""


@dataclass(frozen=True, slots=True)
class AlertRule(ConfigObject):
    """One choice of findings. When one begins and when it ends, each target gets a message."""

    kind: ClassVar[Kind] = "alert-rule"
    id: str
    severity: Annotated[
        str, Choice(*SEVERITIES, label="At least", help="Findings that are at least that severe are told.")
    ] = "warning"
    codes: Annotated[
        tuple[str, ...],
        Many(
            Word(*CODES),
            len(CODES),
            option="code",
            label="Findings",
            help="Only these are told; none here: all.",
            importance="folded",
        ),
    ] = ()
    targets: Annotated[
        tuple[str, ...],
        Many(Ref("alert-target"), MAX_TARGETS, option="target", help="Who is told."),
    ] = ()
    repeat_after_s: Annotated[
        int,
        Whole(
            0,
            7 * 86_400,
            help="A finding that lasts is told again after that time. 0: it is not.",
            importance="folded",
        ),
    ] = 0
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and tells nobody.")] = False


def tells_somebody(_view: View, item: AlertRule) -> Iterator[Finding]:
    if not item.targets and not item.disabled:
        yield warning("tells-nobody", item, "targets", "no target is named, so nobody is told")
    if 0 < item.repeat_after_s < 60:
        text = f"each finding is told again every {item.repeat_after_s} s: targets may refuse so many"
        yield warning("often-repeated", item, "repeat_after_s", text)


KIND = Declaration(
    AlertRule,
    singular="alert rule",
    plural="alert rules",
    short="alert-rule",
    argument="rule_id",
    about="Which findings are told to which alert targets.",
    columns=("severity", "codes", "targets", "comment"),
    area="System",
    purpose="An alert rule tells its targets when a finding of the diagnostics begins and when it ends.",
    rules=(Rule("tells-somebody", "alert-rule", tells_somebody, own("alert-rule"), False),),
)
