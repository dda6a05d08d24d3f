# SPDX-License-Identifier: Apache-2.0
"""Whom the router tells what ails it: a mailbox, or an address in the web."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import (
    Choice,
    Comment,
    Flag,
    HostName,
    Mailbox,
    Many,
    Moment,
    Port,
    Secret,
    Text,
    Url,
    When,
    Whole,
)
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding, Invalid
from weir.model.rule import Rule, View, error, own, warning

MAX_RECIPIENTS = 16
MAX_SECRET_CHARS = 1000
PORTS = {"none": 25, "starttls": 587, "tls": 465}
"""Where a mail server is asked, by `security` (RFC 5321, RFC 6409, RFC 8314)."""
_MAIL, _WEBHOOK = When("type", ("mail",)), When("type", ("webhook",))
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""A field name (RFC 9110, 5.1)."""
_TAKEN = frozenset(
    ("connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent")
)


def in_ascii(text: str) -> None:
    """Raises `Invalid` for what neither a header nor the login of a mail server has room for."""
    if not text.isascii():
        raise Invalid("must be of ASCII characters", code="bad-secret")


@dataclass(frozen=True, slots=True)
class AlertTarget(ConfigObject):
    """One receiver. Which fields it needs depends on its type."""

    kind: ClassVar[Kind] = "alert-target"
    id: str
    type: Annotated[
        str,
        Choice(
            "mail", "webhook", help="`webhook`: a POST with JSON, which chat servers and scripts understand."
        ),
    ]
    server: Annotated[
        str | None,
        HostName(label="Mail server", help="Who takes the mail.", example="mail.example.net", when=_MAIL),
    ] = None
    port: Annotated[
        int | None,
        Port(help="Empty: 587 with STARTTLS, 465 with TLS, 25 without.", importance="folded", when=_MAIL),
    ] = None
    security: Annotated[
        str,
        Choice(
            "starttls",
            "tls",
            "none",
            help="With STARTTLS or TLS the server's certificate is checked; where it does not fit, "
            "nothing is sent.",
            when=_MAIL,
        ),
    ] = "starttls"
    username: Annotated[str, Text(200, help="Empty: the server wants no login.", when=_MAIL)] = ""
    password: Annotated[
        str | None, Secret(1, MAX_SECRET_CHARS, check=in_ascii, help="With the user name.", when=_MAIL)
    ] = None
    sender: Annotated[
        str | None,
        Mailbox(option="from", label="From", help="The sender.", example="router@example.net", when=_MAIL),
    ] = None
    recipients: Annotated[
        tuple[str, ...],
        Many(
            Mailbox(),
            MAX_RECIPIENTS,
            option="to",
            label="To",
            help="Who gets the mail.",
            example="noc@example.net",
            when=_MAIL,
        ),
    ] = ()
    url: Annotated[
        str | None,
        Url(
            label="URL",
            help="Where the JSON is sent. Everybody who may read the configuration sees it: a secret belongs "
            "into the token.",
            example="https://chat.example.net/hooks/router",
            when=_WEBHOOK,
        ),
    ] = None
    header: Annotated[
        str,
        Text(
            64,
            min_chars=1,
            help="The header that the token is sent in.",
            importance="folded",
            when=_WEBHOOK,
        ),
    ] = "Authorization"
    token: Annotated[
        str | None,
        Secret(
            1,
            MAX_SECRET_CHARS,
            check=in_ascii,
            help="The whole value of that header, such as `Bearer ...`. Empty: the header is not sent.",
            when=_WEBHOOK,
        ),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and nothing is sent to it.")] = False

    @property
    def used_port(self) -> int:
        return self.port or PORTS[self.security]


def can_be_reached(_view: View, item: AlertTarget) -> Iterator[Finding]:
    needed = ("server", "sender", "recipients") if item.type == "mail" else ("url",)
    for field in needed:
        if not getattr(item, field):
            yield error("target-incomplete", item, field, f"must be given where the type is {item.type}")
    if item.type == "mail":
        yield from _login_makes_sense(item)
    else:
        yield from _header_makes_sense(item)


def _login_makes_sense(item: AlertTarget) -> Iterator[Finding]:
    if (item.password is None) != (not item.username):
        field = "password" if item.password is None else "username"
        yield error("target-incomplete", item, field, "user name and password belong together")
    if not item.username.isascii():
        yield error("bad-text", item, "username", "must be of ASCII characters")
    if item.username and item.security == "none":
        text = "the password is sent unencrypted, and nobody checks to whom: choose starttls or tls"
        yield warning("password-in-the-clear", item, "security", text)


def _header_makes_sense(item: AlertTarget) -> Iterator[Finding]:
    if not _TOKEN.fullmatch(item.header) or item.header.lower() in _TAKEN:
        yield error("bad-header", item, "header", f"{item.header} is no header that can be chosen")
    if item.token is not None and (item.url or "").startswith("http:"):
        text = "the token is sent unencrypted, and nobody checks to whom: use https"
        yield warning("token-in-the-clear", item, "url", text)


KIND = Declaration(
    AlertTarget,
    singular="alert target",
    plural="alert targets",
    short="alert-target",
    argument="target_id",
    about="Whom the router tells what ails it (`/tool e-mail` of RouterOS).",
    columns=("type", "recipients", "url", "last_delivery", "last_error", "comment"),
    area="System",
    purpose="The router tells an alert target what ails it, by mail or webhook. An alert rule says what is "
    "told to whom.",
    rules=(Rule("can-be-reached", "alert-target", can_be_reached, own("alert-target"), True),),
    state={
        "last_delivery": Moment(help="When it took a message last, since the agent's start."),
        "last_error": Text(500, help="Why the last message was not taken. Nothing once one is taken again."),
        "last_error_at": Moment(label="Error at", help="When that was."),
        "waiting": Whole(0, MAX_EXACT, help="Messages that wait to be sent, the one under way included."),
        "lost": Whole(0, MAX_EXACT, help="Messages that were given up, since the agent's start."),
    },
)
