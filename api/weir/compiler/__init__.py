# SPDX-License-Identifier: Apache-2.0
"""From a document to what the kernel is to hold: pure, deterministic, incremental.

compiled = compile_document(document, SlotAllocation(capacity, recovered), now_local)
plan = update(compiled, document_after, changes, now_local)
compiled.accept(plan)        # when the kernel holds it; else forget the plan
"""

from weir.compiler.allocation import DEFAULT_CAPACITY, SlotAllocation
from weir.compiler.compiled import Compiled, Earlier, PrefixTable, Shaping
from weir.compiler.explain import describe, explain, next_edge
from weir.compiler.full import compile_document, difference, nothing_compiled, recompiled, way_back
from weir.compiler.incremental import update
from weir.compiler.plan import Delta, Plan, PrefixDelta, RulesDelta, ShapingDelta
from weir.compiler.types import (
    MAIN_DOMAIN,
    NO_SLOT,
    PACKET_BYTES,
    ClassSpec,
    ClockSpec,
    Counts,
    FirewallRule,
    NetworkSpec,
    PortSpec,
    PrefixEntry,
    PrefixKey,
    RouteSpec,
    Step,
    Waiting,
    class_key,
    total_id,
)

__all__ = [
    "DEFAULT_CAPACITY",
    "MAIN_DOMAIN",
    "NO_SLOT",
    "PACKET_BYTES",
    "ClassSpec",
    "ClockSpec",
    "Compiled",
    "Counts",
    "Delta",
    "Earlier",
    "FirewallRule",
    "NetworkSpec",
    "Plan",
    "PortSpec",
    "PrefixDelta",
    "PrefixEntry",
    "PrefixKey",
    "PrefixTable",
    "RouteSpec",
    "RulesDelta",
    "Shaping",
    "ShapingDelta",
    "SlotAllocation",
    "Step",
    "Waiting",
    "class_key",
    "compile_document",
    "describe",
    "difference",
    "explain",
    "next_edge",
    "nothing_compiled",
    "recompiled",
    "total_id",
    "update",
    "way_back",
]
