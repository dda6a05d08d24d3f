# SPDX-License-Identifier: Apache-2.0
"""Zones: what the hosts behind some interfaces may reach of the router, and of other zones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, Many, Ref, Text, Whole, Word
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_COMMENT_CHARS
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, notice, own
from weir.model.unique import one_for_each
from weir.model.zones import BUILT_IN, RESERVED

REACHES = ("management", "dns", "dhcp", "ntp", "ping", "routing", "tunnels", "any")
CHALLENGE_PORT = "80"
"""At which an authority looks for what proves a name; else it leads to HTTPS."""
MANAGEMENT_PORTS = (CHALLENGE_PORT, "443", "8080")
"""The web server, and the API where nothing is in front of it. SSH has the port that is configured."""
_COUNT = 2**63 - 1
_STATE = {
    "packets": Whole(0, _COUNT, help="That its rules decided since they were made or the router started."),
    "bytes": Whole(0, _COUNT, help="Of these packets."),
}


@dataclass(frozen=True, slots=True)
class Zone(ConfigObject):
    """A zone beside `lan`, `wan` and `open`, which always exist."""

    kind: ClassVar[Kind] = "zone"
    id: str
    reaches: Annotated[
        tuple[str, ...],
        Many(
            Word(*REACHES),
            len(REACHES),
            label="Reaches of the router",
            help="What its hosts reach of the router itself. management: login page, API, and "
            "the SSH server from where it may be reached. routing: "
            "OSPF, BGP and BFD. tunnels: the ports of WireGuard, and VXLAN and GRE from their remotes. "
            "any: all of it.",
            example="dns",
        ),
    ] = ()
    comment: Comment = ""


def built_in_ids(_view: View, zone: Zone) -> Iterator[Finding]:
    if zone.id in RESERVED:
        text = f"{zone.id} is built in: choose another name"
        yield error("built-in-zone", zone, "id", text)


def _zone(help_text: str) -> Ref:
    return Ref("zone", also=BUILT_IN, help=help_text, example="lan")


LOG_PER_S = 10
"""Lines of one policy; a scan must not fill the log."""


@dataclass(frozen=True, slots=True)
class ZonePolicy(ConfigObject):
    """What becomes of connections from one zone to another."""

    kind: ClassVar[Kind] = "zone-policy"
    id: str
    from_zone: Annotated[str, _zone("Where connections come from.")]
    to_zone: Annotated[str, _zone("Where they lead; the same zone: between its interfaces.")]
    action: Annotated[
        str, Choice("accept", "drop", help="What becomes of new connections. Answers always pass.")
    ] = "accept"
    log: Annotated[bool, Flag(help=f"Log new connections, at most {LOG_PER_S} lines a second.")] = False
    comment: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="For people.")] = ""
    disabled: Annotated[bool, Flag(help="As if there were no such policy.")] = False


def policy_sense(_view: View, policy: ZonePolicy) -> Iterator[Finding]:
    if policy.from_zone == "wan" and policy.action == "accept" and not policy.disabled:
        text = f"anyone outside can open connections to the hosts in zone {policy.to_zone}"
        yield notice("open-to-wan", policy, "from_zone", text)


ZONE = Declaration(
    Zone,
    singular="zone",
    plural="zones",
    short="zone",
    about="Groups of interfaces with the same rights, beside the built-in lan, wan and open.",
    area="Firewall",
    columns=("reaches", "packets", "comment"),
    purpose="The hosts of a zone reach what it names of the router, and what zone policies let pass. "
    "The zones lan, wan and open are built in.",
    state=_STATE,
    rules=(Rule("built-in-zones", "zone", built_in_ids, own("zone"), True),),
)
POLICY = Declaration(
    ZonePolicy,
    singular="zone policy",
    plural="zone policies",
    short="zone-policy",
    about="Which zone may open connections to which other.",
    argument="policy_id",
    page="zone-policies",
    area="Firewall",
    columns=("from_zone", "to_zone", "action", "packets", "comment"),
    purpose="Without a policy, the zones lan and open reach each other and the WAN; any other pair of zones "
    "is kept apart. Firewall rules come before policies.",
    state=_STATE,
    rules=(
        Rule("policy-sense", "zone-policy", policy_sense, own("zone-policy"), False),
        one_for_each(
            ZonePolicy,
            "one policy for each pair",
            key=lambda policy: None if policy.disabled else (policy.from_zone, policy.to_zone),
            code="two-policies",
            field="to_zone",
            says=lambda policy, first: (
                f"policy {first.id} is about {policy.from_zone} to {policy.to_zone} already"
            ),
        ),
    ),
)
