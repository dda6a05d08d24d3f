# SPDX-License-Identifier: Apache-2.0
"""What a change of a bridge costs. Its other ports notice nothing, but where it is said here.

Who is behind which port nobody knows beforehand, so no sessions are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.backends.backend import Look
from weir.backends.network_effects import another_mac
from weir.model.frames import ranges_of, ranges_text
from weir.parts.bridges import BridgeSpec, Vlans
from weir.parts.delta import Delta
from weir.parts.effect import Effect


class BridgesEffects:
    """By what is configured before and after: the device may not be there yet."""

    def __init__(self, look: Look[Any, Mapping[str, BridgeSpec], Any]) -> None:
        self._delta: Delta[BridgeSpec] = look.delta or Delta()

    def all(self) -> Iterator[Effect]:
        for old, new in self._delta.set:
            if old is not None:
                yield from _of_bridge(old, new)
                yield from _of_ports(old, new)


def _of_bridge(old: BridgeSpec, new: BridgeSpec) -> Iterator[Effect]:
    name = new.ifname
    if new.mac is not None and new.mac != old.mac:
        yield Effect("interface", name, "resets", another_mac(name))
    if new.settings["stp_state"] and not old.settings["stp_state"]:
        text = f"spanning tree begins on {name}: a port that closes a circle stops forwarding"
        yield Effect("interface", name, "resets", text)
    if new.vlans is not None and old.vlans is None:
        text = f"{name} begins to filter VLANs: frames pass in the VLANs of both ports only"
        yield _drops(name, text)
    elif old.vlans is not None and new.vlans is not None:
        yield from _lost(name, "the router", old.vlans, new.vlans)


def _of_ports(old: BridgeSpec, new: BridgeSpec) -> Iterator[Effect]:
    name, before = new.ifname, {port.ifname: port for port in old.ports}
    after = {port.ifname: port for port in new.ports}
    gone = sorted(before.keys() - after.keys())
    if gone:
        yield _drops(name, f"{', '.join(gone)} {'leaves' if len(gone) == 1 else 'leave'} {name}")
    for port, spec in after.items():
        was = before.get(port)
        if was is None:
            continue
        if was.vlans is not None and spec.vlans is not None:
            yield from _lost(name, port, was.vlans, spec.vlans)
        if spec.settings["isolated"] and not was.settings["isolated"]:
            yield _drops(name, f"{port} does not reach other isolated ports of {name} any more")


def _lost(name: str, who: str, old: Vlans, new: Vlans) -> Iterator[Effect]:
    """VLANs that end, and those whose frames have a tag now and had none, or the other way round."""
    ended = old.tagged | old.untagged
    changed = (ended - new.tagged - new.untagged) | (old.tagged & new.untagged) | (old.untagged & new.tagged)
    if old.pvid != new.pvid and old.pvid:
        changed |= {old.pvid}
    if changed:
        yield _drops(name, f"{who} loses, or has in another way, the VLANs {ranges_text(ranges_of(changed))}")


def _drops(name: str, text: str) -> Effect:
    return Effect("interface", name, "drops-sessions", text)
