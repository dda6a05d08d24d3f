# SPDX-License-Identifier: Apache-2.0
"""What the routing protocols' kinds have in common: fields, and what is said about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from weir.fields import INTERFACE_NAMES, Flag, Host, Ref, When
from weir.model.objects import Kind
from weir.model.problem import Finding, Invalid
from weir.model.rule import Rule, View, error, own
from weir.model.vrf import is_vrf

RouterId = Annotated[
    str | None,
    Host(
        label="Router ID",
        help="An IPv4 address that identifies this router to the others. Without one, FRR uses the "
        "highest of the router's addresses.",
        example="192.0.2.1",
    ),
]
AnnounceStatic = Annotated[
    bool, Flag(label="Announce static routes", help="Announce the static routes of this configuration.")
]
AnnounceKernel = Annotated[
    bool,
    Flag(
        label="Announce kernel routes",
        help="Announce routes that other programs added to the kernel.",
        importance="folded",
    ),
]


def vrf_reference(help: str) -> Ref:
    """A field that names a VRF."""
    return Ref(
        "interface",
        INTERFACE_NAMES,
        role="VRF",
        fits=is_vrf,
        unfit="those have a vrf_table",
        offered=When("vrf_table"),
        label="VRF",
        help=help,
    )


def one_word(text: str) -> None:
    """Of a password that FRR takes as one word of a line. Raises `Invalid`."""
    if not text.isascii() or any(letter.isspace() for letter in text):
        raise Invalid("must be ASCII without spaces", code="bad-secret")


def router_id_is_ipv4(kind: Kind) -> Rule:
    """A rule for a kind with a `router_id`."""

    def check(_view: View, item: Any) -> Iterator[Finding]:
        if item.router_id is not None and (":" in item.router_id or item.router_id == "0.0.0.0"):
            yield error(
                "bad-router-id", item, "router_id", f"a router id is an IPv4 address, not {item.router_id}"
            )

    return Rule("router-id", kind, check, own(kind), True)
