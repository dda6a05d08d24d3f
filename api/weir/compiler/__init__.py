# SPDX-License-Identifier: Apache-2.0
"""From a document to what the kernel is to hold: pure, deterministic, incremental.

compiled = compile_document(document, SlotAllocation(capacity, recovered), now_local)
plan = update(compiled, document_after, changes, now_local)
compiled.accept(plan)        # when the kernel holds it; else forget the plan
"""

from weir.compiler.ahead import Missed, PlanAhead, Unfit
from weir.compiler.allocation import DEFAULT_CAPACITY, SlotAllocation
from weir.compiler.compiled import Compiled, Earlier, PrefixTable, Shaping
from weir.compiler.explain import describe, explain, next_edge
from weir.compiler.full import compile_document, difference, nothing_compiled, recompiled, way_back
from weir.compiler.incremental import update
from weir.compiler.plan import Plan, PrefixDelta, ShapingDelta
from weir.compiler.types import (
    MAIN_DOMAIN,
    NO_SLOT,
    PACKET_BYTES,
    ClassSpec,
    ClockSpec,
    PortSpec,
    PrefixEntry,
    PrefixKey,
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
    "Earlier",
    "Missed",
    "Plan",
    "PlanAhead",
    "PortSpec",
    "PrefixDelta",
    "PrefixEntry",
    "PrefixKey",
    "PrefixTable",
    "Shaping",
    "ShapingDelta",
    "SlotAllocation",
    "Unfit",
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
