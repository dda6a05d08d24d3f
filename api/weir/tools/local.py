# SPDX-License-Identifier: Apache-2.0
"""What is beside the router: who has an address, and which socket of the case is a port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Host, Ref, Whole
from weir.model.address import split_address
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Arping:
    """Ask everybody on a link who has an address."""

    interface: Annotated[str, Ref("interface", INTERFACE_NAMES, unconfigured=True, help="On which link.")]
    address: Annotated[str, Host(help="An IPv4 address.", example="192.0.2.10")]
    count: Annotated[int, Whole(1, 30, help="How many times, once a second.")] = 3


@dataclass(frozen=True, slots=True)
class Blink:
    """Let the lamp of a port blink."""

    interface: Annotated[str, Ref("interface", INTERFACE_NAMES, unconfigured=True, help="Which port.")]
    seconds: Annotated[int, Whole(1, 60, help="For how long.")] = 10


def _is_ipv4(asked: Arping) -> Finding | None:
    if parse_prefix(split_address(asked.address)[0]).family == 6:
        text = "address must be an IPv4 address: ARP does not know others"
        return Finding("error", "family-mismatch", text, "arping", "", "address")
    return None


ARPING = Tool(
    "arping",
    "Who has an address",
    Arping,
    about="Which stations on a link say that an IPv4 address is theirs? More than one is a conflict.",
    scope="support",
    subject="address",
    seconds=lambda asked: asked.count + 1.0,
    columns={
        "reply": ("number", "mac", "round_trip_us"),
        "lost": ("number",),
        "summary": ("sent", "received", "stations"),
    },
    needs="A packet socket for ARP, opened before the tool gives up all rights.",
    check=_is_ipv4,
)
BLINK = Tool(
    "blink",
    "Blink a port",
    Blink,
    about="Lets the lamp of a port blink, so that it is found on the case. Its driver must be able to.",
    scope="support",
    subject="interface",
    seconds=lambda asked: asked.seconds + 2.0,
    columns={"blinking": ("interface", "seconds")},
    needs="The right to administrate interfaces (CAP_NET_ADMIN), and no other.",
)
