# SPDX-License-Identifier: Apache-2.0
"""The router's clock: where it takes the time from, and to whom it gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Flag, HostName, Many, Prefix, Rows, Text, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, own, warning

MAX_SERVERS = 16
MAX_NETWORKS = 64


@dataclass(frozen=True, slots=True)
class NtpServer:
    """Who is asked for the time."""

    address: Annotated[str, HostName(help="Address or DNS name.", example="192.0.2.123")]
    type: Annotated[
        str,
        Choice("server", "pool", help="`pool`: a name with many addresses, of which up to four are used."),
    ] = "server"
    iburst: Annotated[
        bool,
        Flag(
            label="Fast start",
            help="Send four requests at once at the start, so that the first time comes within 6 s.",
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Ntp(ConfigObject):
    """The time service: NTP client and, for the networks that are named, server."""

    kind: ClassVar[Kind] = "ntp"
    id: str = "ntp"
    enabled: Annotated[
        bool, Flag(help="When off, the clock is not corrected and the router answers no clients.")
    ] = True
    servers: Annotated[
        tuple[NtpServer, ...],
        Rows(
            NtpServer,
            MAX_SERVERS,
            by="address",
            option="server",
            help="Where the time comes from. Four or more outvote a wrong one.",
        ),
    ] = (NtpServer("pool.ntp.org", "pool"),)
    serve_to: Annotated[
        tuple[str, ...],
        Many(
            Prefix(),
            MAX_NETWORKS,
            help="Networks whose hosts may ask this router for the time. Empty: nobody may.",
            example="192.168.88.0/24",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class NtpSource:
    """One server as the router sees it."""

    name: Annotated[str, Text(253)]
    status: Annotated[str | None, Text(20)] = None
    reachable: Annotated[bool | None, Flag()] = None
    stratum: Annotated[int | None, Whole(0, 16)] = None
    offset_ns: Annotated[int | None, Whole(-MAX_EXACT, MAX_EXACT)] = None


def ntp_sense(_view: View, ntp: Ntp) -> Iterator[Finding]:
    if ntp.enabled and not ntp.servers:
        yield warning("no-time-source", ntp, "servers", "no server is named, so nothing corrects the clock")
    if ntp.enabled and any(network.endswith("/0") for network in ntp.serve_to):
        text = "every address may ask for the time, and attackers use such servers to flood others: "
        text += "name your own networks"
        yield warning("open-ntp", ntp, "serve_to", text)


KIND = Declaration(
    Ntp,
    singular="time service",
    plural="time services",
    short="ntp",
    about="Where the clock's time comes from, and to whom it is served (`/system ntp` of RouterOS).",
    is_single=True,
    area="Services",
    rules=(Rule("ntp-sense", "ntp", ntp_sense, own("ntp"), False),),
    state={
        "synchronised": Flag(help="Whether the clock follows a source."),
        "stratum": Whole(0, 16, help="Steps to a reference clock. 0 means not synchronised."),
        "reference": Text(253, help="The source that the clock follows."),
        "offset_ns": Whole(
            -MAX_EXACT,
            MAX_EXACT,
            label="Offset",
            help="How far the clock was behind at the last measurement.",
        ),
        "sources": Rows(NtpSource, 256, by="name", help="The servers that are asked, one row each."),
    },
)
