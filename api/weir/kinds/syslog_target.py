# SPDX-License-Identifier: Apache-2.0
"""Where the router's logs are sent as they are written (RFC 5424)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, HostName, Moment, Port, Text, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind

PORTS = {"udp": 514, "tcp": 514, "tls": 6514}
"""RFC 5426, common use (RFC 6587 names none), RFC 5425."""
SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
"""By number (RFC 5424, 6.2.1)."""
FACILITIES = (
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
)
LOCAL_FACILITIES = tuple(f"local{number}" for number in range(8))
"""Those from 16 on."""


@dataclass(frozen=True, slots=True)
class SyslogTarget(ConfigObject):
    """One server that keeps logs."""

    kind: ClassVar[Kind] = "syslog-target"
    id: str
    address: Annotated[str, HostName(help="The server.", example="logs.example.net")]
    protocol: Annotated[
        str,
        Choice(
            "udp",
            "tcp",
            "tls",
            help="Nobody knows what UDP loses. With TLS the server's certificate is checked; where it "
            "does not fit, nothing is sent.",
        ),
    ] = "udp"
    port: Annotated[int | None, Port(help="Empty: 514, or 6514 with TLS.", importance="folded")] = None
    severity: Annotated[
        str, Choice(*SEVERITIES, label="At least", help="Messages that are at least that severe are sent.")
    ] = "info"
    facility: Annotated[
        str | None,
        Choice(
            *FACILITIES,
            *LOCAL_FACILITIES,
            help="Messages are sent under this facility. Empty: each under its own.",
            importance="folded",
        ),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and nothing is sent to it.")] = False

    @property
    def used_port(self) -> int:
        return self.port or PORTS[self.protocol]


def facility_number(name: str) -> int:
    """RFC 5424, 6.2.1."""
    return 16 + LOCAL_FACILITIES.index(name) if name in LOCAL_FACILITIES else FACILITIES.index(name)


KIND = Declaration(
    SyslogTarget,
    singular="syslog target",
    plural="syslog targets",
    short="syslog-target",
    argument="target_id",
    about="Where the router's logs are sent (`/system logging` of RouterOS).",
    columns=("address", "protocol", "severity", "sent", "lost", "last_error", "comment"),
    area="System",
    purpose="A syslog target gets the router's logs as they are written.",
    state={
        "sent": Whole(
            0,
            MAX_EXACT,
            help="Messages that were sent since the agent's start; with TCP and TLS, "
            "those that were acknowledged.",
        ),
        "waiting": Whole(0, MAX_EXACT, help="Messages that wait to be sent, or acknowledged."),
        "lost": Whole(
            0,
            MAX_EXACT,
            help="Messages that found no room while they waited, or waited when the target changed or the "
            "sender failed, since the agent's start.",
        ),
        "last_error": Text(500, help="Why messages cannot be sent now. Nothing while they can."),
        "last_error_at": Moment(label="Error at", help="When that was."),
    },
)
