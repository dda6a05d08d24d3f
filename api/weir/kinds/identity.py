# SPDX-License-Identifier: Apache-2.0
"""What the router is called, where it stands, whose time it shows, and what it says before sign-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar
from zoneinfo import ZoneInfo

from weir.fields import Text, ZoneName
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.reader import shown
from weir.model.rule import Rule, View, error, own

MAX_HOST_NAME_CHARS = 64
"""Linux' (`__NEW_UTS_LEN`)."""
MAX_BANNER_CHARS = 1000
MAX_ABOUT_CHARS = 255
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Identity(ConfigObject):
    """The router's name, time zone and notice."""

    kind: ClassVar[Kind] = "identity"
    id: str = "identity"
    hostname: Annotated[
        str | None,
        Text(
            MAX_HOST_NAME_CHARS,
            min_chars=1,
            label="Host name",
            help="One or more labels of letters, digits and '-' (RFC 1123). Empty: the name that the machine "
            "has without Weir.",
            example="tower-7.example.net",
        ),
    ] = None
    time_zone: Annotated[
        str | None,
        ZoneName(
            help="Hours of rules, queues and jobs are of it. Empty: the zone that the machine has without "
            "Weir, which is UTC where nobody chose one.",
            example="Europe/Berlin",
        ),
    ] = None
    login_banner: Annotated[
        str,
        Text(
            MAX_BANNER_CHARS,
            lines=True,
            label="Sign-in notice",
            help="Shown to everybody on the sign-in page and on the console, before a password is asked for.",
        ),
    ] = ""
    contact: Annotated[str, Text(MAX_ABOUT_CHARS, help="Who looks after the router.")] = ""
    location: Annotated[str, Text(MAX_ABOUT_CHARS, help="Where it stands.")] = ""


def is_host_name(text: str) -> bool:
    """Whether a machine can be called so (RFC 1123, section 2.1). The last label has a letter: what looks
    like an address is none."""
    labels = text.split(".")
    return (
        len(text) <= MAX_HOST_NAME_CHARS
        and all(map(_LABEL.fullmatch, labels))
        and not (labels[-1].isdigit() and len(labels) > 1)
    )


def is_time_zone(name: str) -> bool:
    """Whether this system's tz database has it."""
    try:
        return _ZONE.fullmatch(name) is not None and bool(ZoneInfo(name).key)
    except (KeyError, OSError, ValueError):
        return False  # none of that name, a folder of them, or a file of another kind


def host_name_is_one(_view: View, identity: Identity) -> Iterator[Finding]:
    if identity.hostname is not None and not is_host_name(identity.hostname):
        form = "labels of letters, digits and '-' with dots between them, such as tower-7"
        text = f"{shown(identity.hostname)} is no host name: {form}"
        yield error("bad-host-name", identity, "hostname", text)


def time_zone_is_known(_view: View, identity: Identity) -> Iterator[Finding]:
    if identity.time_zone is not None and not is_time_zone(identity.time_zone):
        text = f"there is no time zone {shown(identity.time_zone)}; give a name such as Europe/Berlin"
        yield error("unknown-time-zone", identity, "time_zone", text)


KIND = Declaration(
    Identity,
    singular="identity",
    plural="identities",
    short="identity",
    about="What the router is called, its time zone, and what it says before sign-in (`/system identity` and "
    "`/system clock` of RouterOS).",
    is_single=True,
    area="System",
    rules=(
        Rule("host-name", "identity", host_name_is_one, own("identity"), True),
        Rule("time-zone", "identity", time_zone_is_known, own("identity"), True),
    ),
    state={
        "current_name": Text(MAX_HOST_NAME_CHARS, help="What the kernel calls the machine."),
        "current_zone": ZoneName(label="Current time zone", help="The zone whose time the machine shows."),
    },
)
