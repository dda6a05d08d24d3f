# SPDX-License-Identifier: Apache-2.0
"""What the router is called, where it stands, and what it says to those who are about to sign in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Text
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.reader import shown
from weir.model.rule import Rule, View, error, own

MAX_HOST_NAME_CHARS = 64
"""Linux' (`__NEW_UTS_LEN`)."""
MAX_BANNER_CHARS = 1000
MAX_ABOUT_CHARS = 255
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Identity(ConfigObject):
    """The router's name and notice."""

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


def host_name_is_one(_view: View, identity: Identity) -> Iterator[Finding]:
    if identity.hostname is not None and not is_host_name(identity.hostname):
        form = "labels of letters, digits and '-' with dots between them, such as tower-7"
        text = f"{shown(identity.hostname)} is no host name: {form}"
        yield error("bad-host-name", identity, "hostname", text)


KIND = Declaration(
    Identity,
    singular="identity",
    plural="identities",
    short="identity",
    about="What the router is called, and what it says before sign-in (`/system identity` of RouterOS).",
    is_single=True,
    area="System",
    rules=(Rule("host-name", "identity", host_name_is_one, own("identity"), True),),
    state={"current_name": Text(MAX_HOST_NAME_CHARS, help="What the kernel calls the machine.")},
)
