# SPDX-License-Identifier: Apache-2.0
"""Where logs are sent."""

from __future__ import annotations

from dataclasses import dataclass

from weir.kinds.syslog_target import SEVERITIES, SyslogTarget, facility_number
from weir.parts.part import ObjectsPart


@dataclass(frozen=True, slots=True)
class LogSpec:
    """`severity` and `facility` are numbers of RFC 5424; None: each message has its own."""

    id: str
    address: str
    port: int
    protocol: str
    severity: int
    facility: int | None


class LogsPart(ObjectsPart[LogSpec]):
    name, what = "logs", "syslog target"
    of = SyslogTarget
    made_of = frozenset(("syslog-target",))

    def key(self, entry: LogSpec) -> str:
        return entry.id

    def entry(self, item: SyslogTarget) -> LogSpec | None:
        if item.disabled:
            return None
        facility = None if item.facility is None else facility_number(item.facility)
        severity = SEVERITIES.index(item.severity)
        return LogSpec(item.id, item.address, item.used_port, item.protocol, severity, facility)

    def text(self, old: LogSpec | None, new: LogSpec) -> str:
        where = f"{new.address} port {new.port} by {new.protocol.upper()}"
        return f"{new.id}: logs from {SEVERITIES[new.severity]} on to {where}"


LOGS = LogsPart()
