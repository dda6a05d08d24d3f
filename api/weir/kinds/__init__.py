# SPDX-License-Identifier: Apache-2.0
"""The kinds of objects that can be configured, each declared once in a module of its own.

A new kind is a module here and its line in `DECLARED`.
"""

from weir.kinds import firewall, static_route, tuning
from weir.kinds.declaration import Declaration

DECLARED: dict[str, Declaration] = {
    declaration.kind: declaration for declaration in (static_route.KIND, firewall.KIND, tuning.KIND)
}
"""By kind, in the order in which they are shown."""

KINDS = ("queue", "queue-type", "interface", *DECLARED)
