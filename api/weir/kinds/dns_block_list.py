# SPDX-License-Identifier: Apache-2.0
"""Block lists: domains that do not exist for the hosts inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Comment, Flag, HostName, Many
from weir.kinds.declaration import Declaration
from weir.model.address import is_dns_name
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own

MAX_BLOCKED, MAX_ALLOWED = 2_000, 500
"""In one list, so that a request holds it; there may be many lists."""


@dataclass(frozen=True, slots=True)
class DnsBlockList(ConfigObject):
    """Some domains, each with all names below it."""

    kind: ClassVar[Kind] = "dns-block-list"
    id: str
    domains: Annotated[
        tuple[str, ...],
        Many(
            HostName(),
            MAX_BLOCKED,
            option="domain",
            help="They and all names below them do not exist. A local record or a split domain of the same "
            "name wins.",
            example="ads.example.com",
        ),
    ] = ()
    allowed: Annotated[
        tuple[str, ...],
        Many(
            HostName(),
            MAX_ALLOWED,
            option="allow",
            importance="folded",
            help="Domains below them that are answered all the same, whichever list blocks them.",
            example="good.ads.example.com",
        ),
    ] = ()
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and blocks nothing.")] = False


def blocks_names(_view: View, item: DnsBlockList) -> Iterator[Finding]:
    for field, names in (("domains", item.domains), ("allowed", item.allowed)):
        wrong = next((name for name in names if not is_dns_name(name)), None)
        if wrong is not None:
            text = f"{wrong} is an address: a block list has domains, and the firewall blocks addresses"
            yield error("no-name", item, field, text)


KIND = Declaration(
    DnsBlockList,
    singular="DNS block list",
    plural="DNS block lists",
    short="dns-block-list",
    about="Domains that do not exist for the hosts inside (`/ip dns adlist` of RouterOS).",
    argument="list_id",
    columns=("domains", "comment"),
    area="Services",
    purpose="Hosts that ask this router do not find the domains of a block list, nor any name below them.",
    rules=(Rule("blocks-names", "dns-block-list", blocks_names, own("dns-block-list"), True),),
)
