# SPDX-License-Identifier: Apache-2.0
"""The routers with which BGP exchanges routes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, OBJECT_IDS, Choice, Flag, Host, Ref, Secret, Text, When, Whole
from weir.kinds.bgp import MAX_ASN, Bgp
from weir.kinds.declaration import Declaration
from weir.kinds.prefix_list import PrefixList
from weir.kinds.routing_fields import one_word
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import LINK_LOCAL, Rule, View, all_after, error, own
from weir.model.unique import one_for_each

LISTS = ("import_prefix_list", "export_prefix_list")


@dataclass(frozen=True, slots=True)
class BgpNeighbor(ConfigObject):
    """One in another AS needs a policy for each direction (RFC 8212)."""

    kind: ClassVar[Kind] = "bgp-neighbor"
    id: str
    bgp: Annotated[
        str, Ref("bgp", label="BGP", help="The BGP instance, and with it the VRF, of the neighbor.")
    ]
    address: Annotated[str, Host(help="The neighbor's address.", example="192.0.2.2")]
    remote_as: Annotated[int, Whole(1, MAX_ASN, label="Remote AS", help="Its AS number.", example="65001")]
    description: Annotated[str, Text(80, help="A name for people; FRR shows it, too.")] = ""
    family: Annotated[
        str | None,
        Choice(
            "ipv4",
            "ipv6",
            "both",
            label="Routes",
            help="Which routes are exchanged. Empty: those of the address's family.",
        ),
    ] = None
    import_route_map: Annotated[
        str | None,
        Ref(
            "route-map",
            label="Import policy",
            help="Decides which of the neighbor's routes are accepted, and may change them.",
        ),
    ] = None
    export_route_map: Annotated[
        str | None,
        Ref(
            "route-map",
            label="Export policy",
            help="Decides which routes are announced, and may change them.",
        ),
    ] = None
    import_prefix_list: Annotated[
        str | None, Ref("prefix-list", label="Import prefixes", help="Only these networks are accepted.")
    ] = None
    export_prefix_list: Annotated[
        str | None, Ref("prefix-list", label="Export prefixes", help="Only these networks are announced.")
    ] = None
    maximum_prefixes: Annotated[
        int | None,
        Whole(
            1,
            2**32 - 1,
            label="Maximum prefixes",
            help="The session ends when the neighbor announces more than this.",
            example="1000",
        ),
    ] = None
    password: Annotated[
        str | None,
        Secret(1, 80, check=one_word, help="Signs all packets of the session (TCP MD5, RFC 2385)."),
    ] = None
    bfd: Annotated[
        str | None,
        Ref("bfd-profile", label="BFD profile", help="Notice by BFD that the neighbor went away."),
    ] = None
    update_source: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            help="The session uses an address of this interface.",
            importance="folded",
        ),
    ] = None
    multihop: Annotated[
        int | None,
        Whole(
            2,
            254,
            help="Hops to a neighbor in another AS that is not directly connected.",
            importance="folded",
        ),
    ] = None
    hold_s: Annotated[
        int | None,
        Whole(
            3,
            65_535,
            label="Hold time",
            help="Seconds of silence after which the neighbor is considered down. Default 180.",
            importance="folded",
        ),
    ] = None
    keepalive_s: Annotated[
        int | None,
        Whole(
            1,
            21_845,
            label="Keepalive",
            help="Seconds between keepalive messages. Default: a third of the hold time.",
            importance="folded",
            when=When("hold_s"),
        ),
    ] = None
    passive: Annotated[bool, Flag(help="Wait for the neighbor to open the session.", importance="folded")] = (
        False
    )
    next_hop_self: Annotated[
        bool,
        Flag(label="Next hop self", help="Announce this router as the next hop.", importance="folded"),
    ] = False
    default_originate: Annotated[
        bool,
        Flag(
            label="Announce a default route",
            help="Announce a default route to the neighbor.",
            importance="folded",
        ),
    ] = False
    send_community: Annotated[
        bool,
        Flag(
            label="Send communities",
            help="Announce routes with their communities (standard, extended and large).",
            importance="folded",
        ),
    ] = True
    route_reflector_client: Annotated[
        bool,
        Flag(
            label="Route reflector client",
            help="Pass on to it what other neighbors in the own AS announce.",
            importance="folded",
        ),
    ] = False
    disabled: Annotated[bool, Flag(help="The session ends; the configuration is kept.")] = False

    @property
    def name(self) -> str:
        return self.description or self.address

    @property
    def families(self) -> tuple[str, ...]:
        if self.family == "both":
            return ("ipv4", "ipv6")
        return (self.family or ("ipv6" if ":" in self.address else "ipv4"),)


def has_policies(view: View, neighbor: BgpNeighbor) -> Iterator[Finding]:
    bgp = view.document.get("bgp", neighbor.bgp)
    if neighbor.disabled or not isinstance(bgp, Bgp) or bgp.asn == neighbor.remote_as:
        return
    for way in ("import", "export"):
        if getattr(neighbor, f"{way}_route_map") is None and not _covered(view, neighbor, way):
            text = (
                f"neighbor {neighbor.name} is in another AS and has no {way} policy for all of its routes: "
                f"set {way}_route_map or {way}_prefix_list (RFC 8212)"
            )
            yield error("no-policy", neighbor, f"{way}_route_map", text)


def _covered(view: View, neighbor: BgpNeighbor, way: str) -> bool:
    """A prefix list is a policy for one family."""
    found = view.document.get("prefix-list", getattr(neighbor, f"{way}_prefix_list") or "")
    return isinstance(found, PrefixList) and neighbor.families == (found.family,)


def lists_fit(view: View, neighbor: BgpNeighbor) -> Iterator[Finding]:
    for field in LISTS:
        found = view.document.get("prefix-list", getattr(neighbor, field) or "")
        if isinstance(found, PrefixList) and found.family not in neighbor.families and not neighbor.disabled:
            text = (
                f"the prefix list {found.id} is for {found.family}, and neighbor {neighbor.name} "
                f"exchanges no {found.family} routes"
            )
            yield error("family-mismatch", neighbor, field, text)


def session_is_possible(view: View, neighbor: BgpNeighbor) -> Iterator[Finding]:
    if LINK_LOCAL.covers(parse_prefix(neighbor.address)):
        yield error(
            "bad-neighbor",
            neighbor,
            "address",
            "a link-local address is ambiguous without its interface: use another address",
        )
    elif neighbor.address in view.own_addresses() and not neighbor.disabled:
        owner = view.own_addresses()[neighbor.address][0]
        yield error(
            "neighbor-is-own",
            neighbor,
            "address",
            f"{neighbor.address} is this router's own address on {owner}",
        )


def timers(_view: View, neighbor: BgpNeighbor) -> Iterator[Finding]:
    if neighbor.keepalive_s is not None and neighbor.hold_s is None:
        yield error("bad-timers", neighbor, "hold_s", "keepalive_s needs hold_s, too")
    elif (
        neighbor.keepalive_s is not None
        and neighbor.hold_s is not None
        and neighbor.keepalive_s * 3 > neighbor.hold_s
    ):
        text = (
            f"the hold time must be at least three times the keepalive of {neighbor.keepalive_s} s (RFC 4271)"
        )
        yield error("bad-timers", neighbor, "hold_s", text)


def fits_its_as(view: View, neighbor: BgpNeighbor) -> Iterator[Finding]:
    bgp = view.document.get("bgp", neighbor.bgp)
    if not isinstance(bgp, Bgp):
        return
    if neighbor.route_reflector_client and bgp.asn != neighbor.remote_as:
        text = "only a neighbor in the own AS can be a route reflector client"
        yield error("not-internal", neighbor, "route_reflector_client", text)
    if neighbor.multihop is not None and bgp.asn == neighbor.remote_as:
        yield error(
            "not-external",
            neighbor,
            "multihop",
            "multihop is for neighbors in another AS; one in the own AS may be any number of hops away",
        )


_KIND = "bgp-neighbor"

KIND = Declaration(
    BgpNeighbor,
    singular="BGP neighbor",
    plural="BGP neighbors",
    short="bgp-neighbor",
    argument="neighbor_id",
    about="The routers with which BGP exchanges routes.",
    columns=(
        "bgp",
        "address",
        "remote_as",
        "session",
        "prefixes_received",
        "description",
        "import_route_map",
        "export_route_map",
    ),
    named_by="description",
    area="Routing",
    purpose="A neighbor in another AS needs a policy for what is accepted from it, and one for what "
    "is announced to it.",
    ids=replace(OBJECT_IDS, assigned="n"),
    state={
        "session": Text(
            40,
            label="Session",
            help="Established: routes are exchanged. Otherwise, the state of the connection.",
        ),
        "up_s": Whole(0, MAX_EXACT, label="Up for", help="Seconds since the session was established."),
        "prefixes_received": Whole(0, MAX_EXACT, help="Accepted by the import policy."),
        "prefixes_sent": Whole(0, MAX_EXACT, help="Announced after the export policy."),
        "last_error": Text(200, help="Why the last session ended."),
    },
    rules=(
        Rule("has-policies", _KIND, has_policies, all_after(_KIND, "bgp", "prefix-list"), True),
        Rule("lists-fit", _KIND, lists_fit, all_after(_KIND, "prefix-list"), True),
        Rule("session-is-possible", _KIND, session_is_possible, all_after(_KIND, "interface"), True),
        Rule("timers", _KIND, timers, own(_KIND), True),
        Rule("fits-its-as", _KIND, fits_its_as, all_after(_KIND, "bgp"), True),
        one_for_each(
            BgpNeighbor,
            "once",
            key=lambda item: None if item.disabled else (item.bgp, item.address),
            code="neighbor-twice",
            field="address",
            says=lambda item, first: f"{item.address} is already a neighbor of {item.bgp}: {first.id}",
        ),
    ),
)
