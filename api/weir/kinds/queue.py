# SPDX-License-Identifier: Apache-2.0
"""Simple queues. The class is in `weir.model.objects`: documents and the compiler know it.

Their rules (`weir.model.rules`) and their order (`weir.model.tree`) look at a hierarchy of 100,000 by its
indexes, so they are not those that follow from a declaration.
"""

from __future__ import annotations

from dataclasses import replace

from weir.fields import OBJECT_IDS
from weir.kinds.declaration import Declaration
from weir.model.objects import Queue

KIND = Declaration(
    Queue,
    singular="queue",
    plural="queues",
    short="queue",
    about="Simple queues: who, how fast up and down, under which parent.",
    ids=replace(OBJECT_IDS, assigned="q"),
    area="Shaping",
    purpose="A queue limits what its targets send and receive, under the limits of its parent.",
    named_by="name",
    columns=("name", "target", "max_limit_bps", "parent", "comment"),
    adds=("path", "child_count", "enforcement"),
)
