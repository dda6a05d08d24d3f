# SPDX-License-Identifier: Apache-2.0
"""BFD profiles: how soon a neighbor that went away is noticed (RFC 5880)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Comment, Flag, Whole
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class BfdProfile(ConfigObject):
    """Used by the neighbors that name it. A neighbor is down after `multiplier` intervals of silence."""

    kind: ClassVar[Kind] = "bfd-profile"
    id: str
    transmit_ms: Annotated[
        int, Whole(10, 60_000, label="Transmit interval", help="Milliseconds between packets that are sent.")
    ] = 300
    receive_ms: Annotated[
        int,
        Whole(10, 60_000, label="Receive interval", help="Milliseconds between packets that are accepted."),
    ] = 300
    multiplier: Annotated[
        int, Whole(2, 255, help="Missed packets after which the neighbor is considered down.")
    ] = 3
    passive: Annotated[
        bool, Flag(help="Wait for the neighbor to begin the session.", importance="folded")
    ] = False
    comment: Comment = ""


KIND = Declaration(
    BfdProfile,
    singular="BFD profile",
    plural="BFD profiles",
    short="bfd-profile",
    argument="profile_id",
    about="BFD profiles: how soon a neighbor that went away is noticed.",
    columns=("transmit_ms", "receive_ms", "multiplier", "comment"),
    area="Routing",
    purpose="BFD notices within a second that a neighbor went away. Name a profile at a BGP neighbor or an "
    "OSPF interface.",
)
