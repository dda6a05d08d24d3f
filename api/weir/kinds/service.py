# SPDX-License-Identifier: Apache-2.0
"""Services: a protocol and its ports under a name that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, Many, Ports
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_PORTS
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Service(ConfigObject):
    """What rules call by a name instead of repeating its ports."""

    kind: ClassVar[Kind] = "service"
    id: str
    ports: Annotated[
        tuple[str, ...],
        Many(Ports(), MAX_PORTS, help="Destination ports and ranges of ports.", example="5060-5061"),
    ] = ()
    protocol: Annotated[
        str, Choice("tcp", "udp", "tcp-udp", "sctp", help="tcp-udp: the same ports of both.")
    ] = "tcp"
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="Rules that name it match nothing.")] = False


KIND = Declaration(
    Service,
    singular="service",
    plural="services",
    short="service",
    about="Protocols and ports by name, for firewall rules.",
    columns=("protocol", "ports", "comment"),
    area="Firewall",
    purpose="A service is a protocol with its ports under a name, such as https or sip; rules name it.",
)
