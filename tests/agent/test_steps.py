# SPDX-License-Identifier: Apache-2.0
"""A part that is done in two steps is read back after each: the second changes what the first did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from weir.adapters import nft
from weir.adapters.datapath_records import Role
from weir.agent.kernel import Kernel
from weir.backends.firewall import FirewallBackend, FirewallDifference
from weir.backends.modes import Decision
from weir.backends.ports import PortsBackend, PortsDifference, PortsWanted
from weir.compiler import Delta, FirewallRule, Plan, PortSpec, ShapingDelta, SlotAllocation, nothing_compiled

RULES = (FirewallRule("forward", "drop", "strangers", ("wan0",)),)
PORT = PortSpec("wan0", "wan", "auto", 0, 0)


class Firewall(FirewallBackend):
    """In place of the kernel's table, one in memory."""

    held: nft.Table | None = None

    def read(self) -> nft.Table | None:
        return self.held

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

    def decisions(self, wanted: PortsWanted) -> dict[str, Decision]:
        return {name: Decision("edt", "", Role.FAST | Role.FLOW) for name in wanted.ports}


def kernel_of(**parts: object) -> Kernel:
    names = ("firewall", "network", "tuning", "tables", "htb", "ports", "routes")
    return Kernel(**cast(Mapping[str, Any], {name: parts.get(name) for name in names}))


def test_the_flow_table_names_a_port_that_came_with_the_rules() -> None:
    firewall = Firewall()
    plan = Plan(shaping=ShapingDelta(ports=Delta([(None, PORT)])), firewall=((), RULES))
    kernel = kernel_of(firewall=firewall, ports=Ports())
    kernel.execute(plan, nothing_compiled(SlotAllocation(16), datetime.now()))
    assert firewall.held is not None
    assert firewall.held.flow_devices == ("wan0",)
