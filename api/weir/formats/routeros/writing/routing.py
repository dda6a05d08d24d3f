# SPDX-License-Identifier: Apache-2.0
"""OSPF and BGP, as RouterOS 7 has them. Policies are not written, so who has one is written disabled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from weir.formats.routeros.writing.links import must_be_written
from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    section,
    time_text,
)
from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Document

_ORIGINS = ("connected", "static", "bgp", "ospf")
_FAMILIES = {"ipv4": "ip", "ipv6": "ipv6"}
_POLICIES = ("import_route_map", "export_route_map", "import_prefix_list", "export_prefix_list")


def routing(document: Document) -> Iterator[str]:
    profiles = sorted(document.every(BfdProfile), key=lambda item: item.id)
    yield from section("/routing bfd configuration", map(_bfd, profiles[:1]))
    for profile in profiles[1:]:
        yield f"{not_written(f'bfd-profile {profile.id}', 'RouterOS chooses by interface')}\n"
    yield from _ospf(document)
    neighbors = sorted(document.every(BgpNeighbor), key=lambda item: item.id)
    yield from section(
        "/routing bgp connection", (line for item in neighbors for line in _session(document, item))
    )


def networks(document: Document) -> Iterator[str]:
    """Address lists of what BGP announces, where no set has just that."""
    lists = sorted((announced(document, bgp), bgp.networks) for bgp in document.every(Bgp) if bgp.networks)
    known = {item.id for item in document.every(Set)}
    rows = [(name, value) for name, values in lists if name not in known for value in values]
    for root, is_6 in (("/ip", False), ("/ipv6", True)):
        lines = (
            command([("list", name), ("address", value)]) for name, value in rows if (":" in value) == is_6
        )
        yield from section(f"{root} firewall address-list", lines)


def announced(document: Document, bgp: Bgp) -> str:
    """The address list of its networks: a set that has just these, or one of its own."""
    held: dict[str, set[str]] = defaultdict(set)
    for entry in document.every(SetEntry):
        held[entry.set].add(entry.value if not entry.disabled else "")
    same = (name for name, values in sorted(held.items()) if values == set(bgp.networks))
    return next(same, f"bgp {bgp.id} networks")


def _bfd(profile: BfdProfile) -> str:
    said = [("min-tx", time_text(profile.transmit_ms)), ("min-rx", time_text(profile.receive_ms))]
    return command(
        [*said, ("multiplier", str(profile.multiplier)), *common(disabled=False, comment=profile.comment)]
    )


def _redistributed(item: Ospf | Bgp) -> list[str]:
    return [origin for origin in _ORIGINS if getattr(item, f"redistribute_{origin}", False)]


# -- OSPF ----------------------------------------------------------------------------------------------------


def _ospf(document: Document) -> Iterator[str]:
    instances = sorted(document.every(Ospf), key=lambda item: item.id)
    parts = sorted(document.every(OspfInterface), key=lambda item: item.id)
    yield from section("/routing ospf instance", (line for item in instances for line in _instance(item)))
    areas = sorted({(item.ospf, item.area) for item in parts})
    yield from section("/routing ospf area", (_area(*place) for place in areas))
    lines = (line for item in parts for line in _part(document, item))
    yield from section("/routing ospf interface-template", lines)


def _instance(item: Ospf) -> Iterator[str]:
    said = [("name", item.id)]
    said += [("router-id", item.router_id)] if item.router_id else []
    origins = _redistributed(item)
    if origins and item.redistribute_route_map is None:
        said.append(("redistribute", ",".join(origins)))
    elif origins:
        yield not_written(
            f"what ospf {item.id} announces", f"its policy {item.redistribute_route_map} decides it"
        )
    said += [("originate-default", "if-installed")] if item.default_originate else []
    yield command([*said, *common(disabled=item.disabled, comment=item.comment)])


def _area_name(ospf: str, number: int) -> str:
    return f"{ospf}-{number}"


def _area(ospf: str, number: int) -> str:
    dotted = ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
    return command([("name", _area_name(ospf, number)), ("instance", ospf), ("area-id", dotted)])


def _part(document: Document, item: OspfInterface) -> Iterator[str]:
    try:
        must_be_written(document, item.interface)
    except UnsaidError as problem:
        yield not_written(f"ospf-interface {item.id}", str(problem))
        return
    said = [("area", _area_name(item.ospf, item.area)), ("interfaces", item.interface)]
    said += [("cost", str(item.cost))] if item.cost is not None else []
    said.append(("priority", str(item.priority)))
    said += [("passive", "yes")] if item.passive else []
    said += [("type", "ptp")] if item.point_to_point else []
    said += [("use-bfd", "yes")] if item.bfd is not None else []
    said += [("hello-interval", time_text(item.hello_s * 1000))] if item.hello_s is not None else []
    said += [("dead-interval", time_text(item.dead_s * 1000))] if item.dead_s is not None else []
    if item.password is not None:
        said += [("auth", "md5"), ("auth-id", str(item.key_id))]
        yield not_written(f"the password of ospf-interface {item.id}", "it is a secret")
    yield command([*said, *common(disabled=item.disabled, comment=item.comment)])


# -- BGP -----------------------------------------------------------------------------------------------------


def _session(document: Document, item: BgpNeighbor) -> Iterator[str]:
    bgp = document.get("bgp", item.bgp)
    if not isinstance(bgp, Bgp) or bgp.vrf is not None:
        yield not_written(f"bgp-neighbor {item.id}", "it is of a VRF, and VRFs are not written")
        return
    secret = item.password is not None
    policies = [name for name in _POLICIES if getattr(item, name) is not None]
    said = [*_of_instance(bgp), *_of_neighbor(item, bgp), *_of_session(item)]
    is_off = item.disabled or bgp.disabled or bool(policies) or secret
    if policies:
        why = "policies are not written, and without them RouterOS would take and announce everything"
        yield not_written(f"the policies of bgp-neighbor {item.id}, so it is disabled", why)
    if secret:
        yield not_written(f"the password of bgp-neighbor {item.id}, so it is disabled", "it is a secret")
    if item.update_source is not None:
        said += _source(document, item)
    if bgp.networks:
        said.append(("output.network", announced(document, bgp)))
    comment = item.description if item.description != item.id else ""
    yield command([*said, *common(disabled=is_off, comment=comment)])


def _of_instance(bgp: Bgp) -> list[Property]:
    said = [("as", str(bgp.asn))]
    said += [("router-id", bgp.router_id)] if bgp.router_id else []
    origins = _redistributed(bgp)
    return [*said, ("output.redistribute", ",".join(origins))] if origins else said


def _of_neighbor(item: BgpNeighbor, bgp: Bgp) -> list[Property]:
    is_internal = item.remote_as == bgp.asn
    role = "ebgp" if not is_internal else "ibgp-rr" if item.route_reflector_client else "ibgp"
    length = 128 if ":" in item.address else 32
    return [
        ("name", item.id),
        ("remote.address", f"{item.address}/{length}"),
        ("remote.as", str(item.remote_as)),
        ("local.role", role),
        ("address-families", ",".join(_FAMILIES[family] for family in item.families)),
    ]


def _source(document: Document, item: BgpNeighbor) -> list[Property]:
    """RouterOS names an address, and Weir the interface that has it."""
    interface = document.interface(item.update_source or "")
    own = [text.partition("/")[0] for text in interface.addresses] if interface is not None else []
    return [("local.address", text) for text in own if (":" in text) == (":" in item.address)][:1]


def _of_session(item: BgpNeighbor) -> list[Property]:
    said: list[Property] = []
    if item.multihop is not None:
        said += [("multihop", "yes"), ("local.ttl", str(item.multihop))]
    said += [("hold-time", time_text(item.hold_s * 1000))] if item.hold_s is not None else []
    if item.keepalive_s is not None:
        said.append(("keepalive-time", time_text(item.keepalive_s * 1000)))
    said += [("connect", "no")] if item.passive else []
    said += [("nexthop-choice", "force-self")] if item.next_hop_self else []
    said += [("output.default-originate", "always")] if item.default_originate else []
    said += [("use-bfd", "yes")] if item.bfd is not None else []
    return said
