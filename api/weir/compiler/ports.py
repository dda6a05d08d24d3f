# SPDX-License-Identifier: Apache-2.0
"""The ports of a document: interfaces under the datapath."""

from __future__ import annotations

from collections.abc import Mapping

from weir.compiler.types import NO_SLOT, PortSpec
from weir.model.document import Document


def ports_of(document: Document, interface_slots: Mapping[str, int]) -> dict[str, PortSpec]:
    """One port per enabled interface, whatever its role: nothing may pass unshaped in silence.

    A VRF is none: what is routed in it passes through the interfaces that are in it. Nor is a loopback:
    nothing comes in by it or leaves by it.
    """
    return {
        item.id: PortSpec(
            ifname=item.id,
            role=item.role,
            shaper=item.shaper,
            overhead_bytes=item.overhead_bytes,
            interface_slot=NO_SLOT if item.unknown == "drop" else interface_slots.get(item.id, NO_SLOT),
            domain=item.domain,
            fast_path=item.fast_path,
            known_only=item.unknown != "allow",
            reverse_path=item.reverse_path,
        )
        for item in sorted(document.interfaces(), key=lambda item: item.id)
        if not item.disabled and item.is_port
    }
