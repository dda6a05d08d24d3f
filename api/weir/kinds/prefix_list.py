# SPDX-License-Identifier: Apache-2.0
"""Lists of prefixes, which filter routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class PrefixList(ConfigObject):
    """Its entries are objects of their own; what none of them matches is denied."""

    kind: ClassVar[Kind] = "prefix-list"
    id: str
    family: Annotated[str, Choice("ipv4", "ipv6", help="The family of its prefixes.")] = "ipv4"
    comment: Comment = ""


KIND = Declaration(
    PrefixList,
    singular="prefix list",
    plural="prefix lists",
    short="prefix-list",
    argument="prefix_list_id",
    about="Named lists of prefixes that route maps and BGP neighbors filter by.",
    columns=("family", "comment"),
    area="Routing",
    purpose="A prefix list says which networks may be accepted or announced. Its entries are objects of "
    "their own; what none of them matches is denied.",
)
