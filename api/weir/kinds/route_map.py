# SPDX-License-Identifier: Apache-2.0
"""Route maps: which routes a neighbour or a protocol takes over, and how they are changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weir.fields import Comment
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class RouteMap(ConfigObject):
    """Its entries are objects of their own; a route that none of them matches is denied."""

    kind: ClassVar[Kind] = "route-map"
    id: str
    comment: Comment = ""


KIND = Declaration(
    RouteMap,
    singular="route map",
    plural="route maps",
    short="route-map",
    argument="route_map_id",
    about="Named policies for routes: what is accepted, and how it is changed.",
    columns=("comment",),
    area="Routing",
    purpose="A route map is the policy for routes that are accepted or announced. Its entries are "
    "objects of their own; a route that none of them matches is denied.",
)
