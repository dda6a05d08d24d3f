# SPDX-License-Identifier: Apache-2.0
"""A part that is done in two steps is read back after each: the second changes what the first did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import pytest

from weir.adapters import nft
from weir.adapters.datapath_records import Role
from weir.agent.executor import Executor
from weir.agent.stages import SHAPING_STAGES
from weir.backends.firewall import FirewallBackend, FirewallDifference, FirewallHeld
from weir.backends.modes import Decision
from weir.backends.ports import PortsBackend, PortsDifference, PortsWanted
from weir.compiler import Plan, PortSpec, ShapingDelta, SlotAllocation, nothing_compiled
from weir.model.document import Document
from weir.model.interface import Interface
from weir.parts.delta import Delta, Step
from weir.parts.firewall import FIREWALL
from weir.parts.registry import PARTS
from weir.parts.rule import PacketRule

RULES = (PacketRule("forward", "drop", "strangers", ("wan0",)),)
PORT = PortSpec("wan0", "wan", "auto", 0, 0)


class Firewall(FirewallBackend):
    """In place of the kernel's table, one in memory."""

    held: nft.Table | None = None

    def read(self) -> FirewallHeld:
        return FirewallHeld(self.held, "")

    def apply(self, difference: FirewallDifference) -> None:
        self.held = difference.wanted


class Ports(PortsBackend):
    """Every port wants the flow table, as on a kernel that has one; nothing is attached."""

    def __init__(self) -> None:
        pass

    def read(self) -> Any:
        return None

    def diff(self, held: Any, wanted: PortsWanted) -> PortsDifference:
        return PortsDifference()

    def decisions(self, held: object, wanted: PortsWanted) -> dict[str, Decision]:
        return {name: Decision("edt", "", Role.FAST | Role.FLOW) for name in wanted.ports}


STAGES = (*(part.name for part in PARTS), *SHAPING_STAGES)


def executor_of(**backends: object) -> Executor:
    return Executor(**cast(Mapping[str, Any], {**dict.fromkeys(STAGES), **backends}))


def test_the_flow_table_names_a_port_that_came_with_the_rules() -> None:
    firewall = Firewall()
    plan = Plan(ShapingDelta(ports=Delta([(None, PORT)])), {FIREWALL: FIREWALL.delta((), RULES)})
    kernel = executor_of(firewall=firewall, ports=Ports())
    kernel.execute(plan, nothing_compiled(SlotAllocation(16), datetime.now()))
    assert firewall.held is not None
    assert firewall.held.flow_devices == ("wan0",)


class Doing:
    """What a part has to do: something."""

    def steps(self) -> list[Step]:
        return []


class Noting:
    """A part of the kernel that says when it is brought in line."""

    def __init__(self, part: str, order: list[str]) -> None:
        self._part, self._order = part, order

    def read(self) -> None:
        return None

    def diff(self, _held: object, _wanted: object) -> Doing:
        return Doing()

    def apply(self, _difference: object) -> None:
        self._order.append(self._part)

    def verify(self, _difference: object) -> None:
        pass

    def effects(self, _look: object) -> tuple[()]:
        return ()

    def decisions(self, _held: object, _wanted: object) -> dict[str, Decision]:
        return {}

    def flow_devices(self, _decisions: object) -> tuple[str, ...]:
        return ()


def test_nothing_is_forwarded_before_rules_and_limits_are_in_place() -> None:
    order: list[str] = []
    kernel = executor_of(**{name: Noting(name, order) for name in STAGES})
    kernel.sync(nothing_compiled(SlotAllocation(16), datetime.now()))
    assert order.index("forwarding") > max(
        map(order.index, ("firewall", "network", "tables", "htb", "ports"))
    )
    order.clear()
    document = Document([Interface("wan0", "wan")])
    deltas = {part: part.delta(part.nothing, part.wanted(document)) for part in PARTS}
    plan = Plan(ShapingDelta(ports=Delta([(None, PORT)])), {part: d for part, d in deltas.items() if d})
    kernel.execute(plan, nothing_compiled(SlotAllocation(16), datetime.now()))
    assert [name for name in order if name not in ("autoconf", "dhcp", "dns", "announcing", "ntp")][
        -1
    ] == "forwarding"


def test_a_part_without_a_backend_of_its_name_is_refused() -> None:
    with pytest.raises(TypeError, match="mirrors"):
        executor_of(mirrors=Noting("mirrors", []))
    with pytest.raises(TypeError, match="routes"):
        Executor(**cast(Mapping[str, Any], {name: None for name in STAGES if name != "routes"}))
