# SPDX-License-Identifier: Apache-2.0
"""Checks of uplinks: what is asked by an uplink, and how often, to know whether it works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, Host, HostName, Moment, Port, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.uplink import Uplink
from weir.model.address import is_dns_name
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning

MOST_CHECKS = 8
PORTS = {"tcp": 443, "http": 80, "dns": 53}


@dataclass(frozen=True, slots=True)
class UplinkCheck(ConfigObject):
    """Asked by the uplink's interface and gateway, whichever uplink has the default route."""

    kind: ClassVar[Kind] = "uplink-check"
    id: str
    uplink: Annotated[str, Ref("uplink", help="The uplink that it is for.")]
    target: Annotated[
        str,
        Host(
            help="Who is asked, an IPv4 address in the internet. Not the gateway: it answers also when "
            "nothing behind it works.",
            example="198.51.100.1",
        ),
    ]
    type: Annotated[
        str,
        Choice(
            "ping",
            "tcp",
            "http",
            "dns",
            help="`ping`: it answers an echo request. `tcp`: it accepts a connection. `http`: it answers a "
            "request with a status below 400. `dns`: it answers a question, whatever the answer is.",
        ),
    ] = "ping"
    port: Annotated[
        int | None,
        Port(
            help="Where it is asked; 443 for `tcp`, 80 for `http`, 53 for `dns` unless said.",
            when=When("type", ("ping",), unless=True),
        ),
    ] = None
    host: Annotated[
        str | None,
        HostName(
            label="Name",
            help="The site that `http` asks for, or the name that `dns` does; unless said, the root.",
            example="example.com",
            when=When("type", ("http", "dns")),
        ),
    ] = None
    interval_s: Annotated[int, Whole(1, 3600, help="Seconds between questions.")] = 1
    timeout_ms: Annotated[
        int,
        Whole(
            50,
            60_000,
            help="Milliseconds after which an answer counts as missing. The next question follows at once "
            "then, until the check has failed.",
        ),
    ] = 800
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is not asked, and its uplink is judged by the others.")] = False

    @property
    def name(self) -> str:
        return f"{self.type} {self.target} of {self.uplink}"


def target_is_ipv4(_view: View, check: UplinkCheck) -> Iterator[Finding]:
    if parse_prefix(check.target).family != 4:
        yield error(
            "uplink-not-ipv4", check, "target", "uplinks are of IPv4 in this release: name an IPv4 address"
        )


def name_is_name(_view: View, check: UplinkCheck) -> Iterator[Finding]:
    if check.type == "dns" and check.host is not None and not is_dns_name(check.host):
        yield error(
            "bad-host", check, "host", f"{check.host} is an address: a name server is asked for a name"
        )


def not_too_many(view: View, check: UplinkCheck) -> Iterator[Finding]:
    same = sorted(
        item.id
        for item in view.document.every(UplinkCheck)
        if item.uplink == check.uplink and not item.disabled
    )
    if check.id in same[MOST_CHECKS:]:
        text = f"an uplink can have {MOST_CHECKS} checks that are not disabled"
        yield error("too-many-checks", check, "uplink", text)


def is_beyond(view: View, check: UplinkCheck) -> Iterator[Finding]:
    """The gateway is beside the router: what is behind it may be dead while it answers."""
    uplink = view.document.get("uplink", check.uplink)
    if not check.disabled and isinstance(uplink, Uplink) and uplink.gateway == check.target:
        text = f"{check.target} is the gateway of {check.uplink}: it may answer while nothing behind it works"
        yield warning("check-of-gateway", check, "target", text)


KIND = Declaration(
    UplinkCheck,
    singular="uplink check",
    plural="uplink checks",
    short="check",
    about="What is asked by an uplink to know whether it works.",
    columns=("uplink", "type", "target", "answer", "loss_percent", "interval_s", "timeout_ms", "comment"),
    area="Routing",
    purpose="An uplink is down when all its checks have failed. Ask two targets that do not fail together.",
    state={
        "answer": Text(200, label="Last answer", help="What was heard last, or why nothing was."),
        "answered_at": Moment(help="When it answered last, as far as this agent knows."),
        "round_trip_us": Whole(0, 2**31, label="Round trip", help="Microseconds of the last answer."),
        "loss_percent": Whole(0, 100, label="Loss", help="Of the last 20 questions."),
    },
    rules=(
        Rule("target-is-ipv4", "uplink-check", target_is_ipv4, own("uplink-check"), True),
        Rule("name-is-name", "uplink-check", name_is_name, own("uplink-check"), True),
        Rule("not-too-many", "uplink-check", not_too_many, all_after("uplink-check", "uplink-check"), True),
        Rule("is-beyond", "uplink-check", is_beyond, all_after("uplink-check", "uplink"), False),
    ),
)
