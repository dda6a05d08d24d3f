# SPDX-License-Identifier: Apache-2.0
"""Split domains: names of these are asked of servers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Comment, Flag, HostName, Rows
from weir.kinds.declaration import Declaration
from weir.kinds.dns_upstream import MAX_UPSTREAMS, DnsUpstream, UpstreamState, upstreams_make_sense
from weir.model.address import is_dns_name
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error
from weir.model.unique import one_for_each


@dataclass(frozen=True, slots=True)
class DnsForward(ConfigObject):
    """One domain, with all names below it."""

    kind: ClassVar[Kind] = "dns-forward"
    id: str
    domain: Annotated[
        str,
        HostName(
            help="The domain, such as the one of the head office, or 168.192.in-addr.arpa for names of "
            "addresses. The longest one that fits a name is used.",
            example="corp.example.net",
        ),
    ]
    servers: Annotated[
        tuple[DnsUpstream, ...],
        Rows(DnsUpstream, MAX_UPSTREAMS, by="address", option="server", help="Who is asked for its names."),
    ] = ()
    dnssec: Annotated[
        bool,
        Flag(
            label="DNSSEC",
            importance="folded",
            help="Check its signatures where the name service does. Most domains of offices have none.",
        ),
    ] = False
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and its names are asked of everybody's servers.")] = (
        False
    )

    @property
    def name(self) -> str:
        return self.domain


def leads_somewhere(view: View, item: DnsForward) -> Iterator[Finding]:
    if not is_dns_name(item.domain):
        yield error("no-name", item, "domain", f"{item.domain} is an address, and no name of a domain")
    if item.disabled:
        return
    if not item.servers:
        yield error("no-server", item, "servers", f"no server is named that knows {item.domain}")
    yield from upstreams_make_sense(view, item, item.servers)


KIND = Declaration(
    DnsForward,
    singular="DNS forward",
    plural="DNS forwards",
    short="dns-forward",
    about="Domains whose names are asked of servers of their own (`forward-to` of RouterOS).",
    ids=replace(OBJECT_IDS, assigned="s"),
    argument="forward_id",
    columns=("domain", "servers", "comment"),
    named_by="domain",
    area="Services",
    purpose="Names of a split domain are asked of its own servers, such as those of the head office behind a "
    "tunnel. They may have private addresses.",
    state={
        "upstreams": Rows(
            UpstreamState,
            MAX_UPSTREAMS,
            by="address",
            label="Asked",
            help="Its servers, one row each.",
        )
    },
    rules=(
        Rule("leads-somewhere", "dns-forward", leads_somewhere, all_after("dns-forward", "interface"), True),
        one_for_each(
            DnsForward,
            "one split domain for each domain",
            key=lambda item: None if item.disabled else item.domain,
            code="domain-twice",
            field="domain",
            says=lambda item, first: f"split domain {first.id} is for {item.domain} already",
        ),
    ),
)
