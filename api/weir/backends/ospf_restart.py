# SPDX-License-Identifier: Apache-2.0
"""An ospfd that died comes back with the adjacencies that it had: what has to be done before the next one
says its first hello, in which it knows nobody."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from time import sleep

from weir.adapters import ospf_grace
from weir.adapters.frr import Frr
from weir.adapters.netlink import Links
from weir.adapters.ospf_grace import Link
from weir.model.problem import Problem
from weir.parts.routing.block import Path
from weir.parts.routing.ospf import GRACEFUL, HEADER, header_of

log = logging.getLogger(__name__)

ASK_S = 1.0
CALCULATED_S = 1.2
"""From a Grace-LSA until the next ospfd starts. BIRD calculates its routes for one within a second, and
finds no way to a neighbour on a point-to-point link that has said hello and is not full again."""


def is_unfit(frr: Frr, path: Path) -> bool:
    """Whether a line does harm here. FRR 9 and later restart ospfd gracefully by a file that outlives it: one
    that begins later, as another router, takes no route for long."""
    return path[0] == HEADER and path[-1] in GRACEFUL and frr.has_mgmtd()


def revive(frr: Frr, links: Links, lines: Collection[Path]) -> None:
    """`lines` are ospfd's. That it does not succeed is no reason not to start ospfd, which then finds its
    neighbours as if it were new."""
    if frr.has_mgmtd():
        return  # it was not configured to
    try:
        router_id = _configured_id(lines) or frr.router_id(ASK_S)
        asked = list(links_of(lines, _addresses(links)))
        for link in asked:
            ospf_grace.announce(router_id, link)
        ospf_grace.prepare(time.time())
        if asked:
            sleep(CALCULATED_S)
    except (OSError, Problem) as problem:
        log.warning("ospfd's neighbours could not be asked to wait for it: %s", problem)


def links_of(lines: Collection[Path], addresses: Collection[tuple[str, str]]) -> Iterator[Link]:
    """Those with neighbours; `addresses` are devices and their IPv4 addresses."""
    of_device: dict[str, list[str]] = {}
    for path in lines:
        if path[0].startswith(header_of("")) and path[-1].startswith("ip ospf "):
            of_device.setdefault(path[0].removeprefix(header_of("")), []).append(path[-1])
    for device, address in addresses:
        own = {words[2]: words[3:] for words in map(str.split, of_device.get(device, ()))}
        if "area" not in own or "passive" in own:
            continue
        key = None
        if signed := own.get("message-digest-key"):
            key = int(signed[0]), signed[-1]
        yield Link(device, address, int(own["area"][0]), key)


def _configured_id(lines: Collection[Path]) -> str:
    start = "ospf router-id "
    return next((p[-1].removeprefix(start) for p in lines if p[0] == HEADER and p[-1].startswith(start)), "")


def _addresses(links: Links) -> list[tuple[str, str]]:
    names = {link.index: name for name, link in links.links().items()}
    return [
        (names[item.ifindex], item.text.partition("/")[0])
        for item in links.addresses()
        if item.family == 4 and item.ifindex in names
    ]
