# SPDX-License-Identifier: Apache-2.0
"""OSPF's blocks: one for the instance, and one for each interface that takes part."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.secrets import place_of
from weir.model.document import Document
from weir.parts.routing.block import Block, Path

HEADER = "router ospf"
_DAEMONS = frozenset(("ospfd",))
_REDISTRIBUTED = ("bgp", "connected", "kernel", "static")
_DEFAULT_TIMERS = (10, 40)
"""FRR prints no others."""

GRACEFUL = ("capability opaque", "graceful-restart")
"""Neighbours keep the adjacency while ospfd is started again: they are asked for it by an opaque LSA."""


def ospf(document: Document) -> Iterator[Block]:
    enabled = {item.id: item for item in document.every(Ospf) if not item.disabled}
    for item in enabled.values():
        yield Block(
            HEADER,
            tuple(_own(item)),
            daemons=_DAEMONS,
            owner=("ospf", item.id),
            refreshed=(("ospf router-id", "clear ip ospf process"),),
        )
    for interface in sorted(document.every(OspfInterface), key=lambda item: item.id):
        if not interface.disabled and interface.ospf in enabled:
            yield _interface(interface)


def _own(item: Ospf) -> Iterator[Path]:
    yield from ((line,) for line in GRACEFUL)
    if item.router_id is not None:
        yield (f"ospf router-id {item.router_id}",)
    policy = f" route-map {item.redistribute_route_map}" if item.redistribute_route_map else ""
    for protocol in _REDISTRIBUTED:
        if getattr(item, f"redistribute_{protocol}"):
            yield (f"redistribute {protocol}{policy}",)
    if item.default_originate:
        yield ("default-information originate",)


def header_of(device: str) -> str:
    return f"interface {device}"


def _interface(item: OspfInterface) -> Block:
    place = place_of(item.kind, item.id, "password")
    secrets = () if item.password is None else ((place, item.password),)
    return Block(
        header_of(item.interface),
        tuple((f"ip ospf {line}",) for line in _lines(item, place)),
        daemons=_DAEMONS,
        owner=("ospf-interface", item.id),
        secrets=secrets,
    )


def _lines(item: OspfInterface, place: str) -> Iterator[str]:
    """The area comes last: with it ospfd starts on the interface, and waits for as long as is set by then."""
    if item.password is not None:
        yield "authentication message-digest"
        yield f"message-digest-key {item.key_id} md5 {{{place}}}"
    if item.cost is not None:
        yield f"cost {item.cost}"
    if item.priority != 1:
        yield f"priority {item.priority}"
    hello_s, dead_s = item.timers
    if hello_s != _DEFAULT_TIMERS[0]:
        yield f"hello-interval {hello_s}"
    if dead_s != _DEFAULT_TIMERS[1]:
        yield f"dead-interval {dead_s}"
    if item.passive:
        yield "passive"
    elif item.point_to_point:
        yield "network point-to-point"
    if item.bfd is not None and not item.passive:
        yield "bfd"
        yield f"bfd profile {item.bfd}"
    yield f"area {item.area}"
