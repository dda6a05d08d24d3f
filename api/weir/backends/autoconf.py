# SPDX-License-Identifier: Apache-2.0
"""IPv6 addresses and a default route by announcements: Linux takes them (`accept_ra` 2), with their times.

A router takes none by itself (`accept_ra` 1 is for hosts), so who announces on a LAN changes nothing here.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters import files
from weir.adapters.learnt_routers import forget, learnt_addresses, learnt_gateways, solicit
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.autoconf import Wanted
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

TAKES, TAKES_NOTHING = "2", "0"


@dataclass(frozen=True, slots=True)
class AutoconfState:
    """`accept_ra` by interface; `ours` are those that were told to take announcements by Weir."""

    settings: Mapping[str, str]
    ours: frozenset[str]


@dataclass(frozen=True, slots=True)
class AutoconfDifference:
    """Interfaces that begin and that cease to take announcements; `ours` are Weir's afterwards."""

    begin: tuple[str, ...]
    cease: tuple[str, ...]
    ours: frozenset[str]
    remembered: bool

    def __bool__(self) -> bool:
        return bool(self.begin or self.cease) or not self.remembered

    def steps(self) -> Sequence[Step]:
        return [
            *(step("autoconf", "add", "setting", f"{name} takes announcements") for name in self.begin),
            *(step("autoconf", "remove", "setting", f"{name} takes announcements") for name in self.cease),
        ]


class AutoconfBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, memory: Path) -> None:
        """`memory`: the names of interfaces that Weir told, on a file system that is empty after a boot."""
        self._memory = memory

    def read(self) -> AutoconfState:
        names = (name for _, name in socket.if_nameindex())
        found = {name: value for name in names if (value := read_sysctl(_setting(name))) is not None}
        return AutoconfState(found, self._remembered())

    def diff(self, held: AutoconfState, wanted: Wanted) -> AutoconfDifference:
        begin = tuple(name for name in wanted if held.settings.get(name, TAKES) != TAKES)
        left = sorted(held.ours - wanted.keys())
        cease = tuple(name for name in left if held.settings.get(name) == TAKES)
        ours = frozenset(wanted)
        return AutoconfDifference(begin, cease, ours, ours == held.ours)

    def apply(self, difference: AutoconfDifference) -> None:
        """Routers are asked at once: Linux asks when an interface comes up only, and this one may be."""
        self._remember(difference.ours)
        for name in difference.begin:
            write_sysctl(_setting(name), TAKES)
            solicit(name)
        for name in difference.cease:
            write_sysctl(_setting(name), TAKES_NOTHING)
            with suppress(OSError):  # with the interface all goes that was learnt there
                forget(socket.if_nametoindex(name))

    def verify(self, difference: AutoconfDifference) -> None:
        held = self.read().settings
        wrong = [f"{name} takes no announcements" for name in difference.begin if held.get(name) != TAKES]
        wrong += [f"{name} takes announcements" for name in difference.cease if held.get(name) == TAKES]
        refuse("autoconf", wrong)

    def effects(self, look: Look[AutoconfState, Wanted, AutoconfDifference]) -> Iterator[Effect]:
        for name in look.difference.cease:
            text = f"{name} loses the IPv6 addresses and the gateway that it has learnt"
            yield Effect("interface", name, "drops-sessions", text)

    def explain(
        self,
        found: Comparison[AutoconfState, Wanted, AutoconfDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        if item.id not in found.wanted:
            return
        value = found.held.settings.get(item.id)
        yield Line("accept_ra", TAKES, value or "there is no such interface", value == TAKES)
        learnt = self.learn([item.id]).get(item.id, {})
        texts = [row["address"] for row in learnt.get("learnt_addresses", ())]
        gateway = learnt.get("learnt_gateway")
        words = f"{', '.join(texts) or 'no address'}, {f'gateway {gateway}' if gateway else 'no gateway'}"
        yield Line("ipv6_addressing", "addresses and a gateway are learnt", words, bool(texts and gateway))

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """What Linux has learnt on the interfaces that take announcements. Raises `Unavailable`."""
        asked = {name for name in self._remembered() if ids is None or name in ids}
        indexes = {index: name for index, name in socket.if_nameindex() if name in asked}
        if not indexes:
            return {}
        found: dict[str, dict[str, Any]] = {
            name: {"learnt_addresses": [], "learnt_gateway": None, "gateway_lifetime_s": None}
            for name in indexes.values()
        }
        for one in learnt_addresses():
            if one.ifindex in indexes:
                row = {"address": one.text, "preferred_s": one.preferred_s, "valid_s": one.valid_s}
                found[indexes[one.ifindex]]["learnt_addresses"].append(row)
        for gateway in learnt_gateways():
            if gateway.ifindex in indexes:
                state = found[indexes[gateway.ifindex]]
                state.update(learnt_gateway=gateway.address, gateway_lifetime_s=gateway.lifetime_s)
        return found

    def _remembered(self) -> frozenset[str]:
        try:
            return frozenset(map(str, json.loads(self._memory.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            return frozenset()

    def _remember(self, names: frozenset[str]) -> None:
        try:
            files.replace(self._memory, json.dumps(sorted(names)).encode())
        except OSError as error:
            text = f"{self._memory} cannot be written: {error.strerror}"
            raise ApplyFailed(text, code="memory") from error


def _setting(name: str) -> str:
    return f"net/ipv6/conf/{name.replace('/', '_')}/accept_ra"
