# SPDX-License-Identifier: Apache-2.0
"""A question to a name server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Choice, Host, HostName
from weir.tools.tool import Tool

TYPES = ("A", "AAAA", "PTR", "MX", "NS", "TXT", "CNAME", "SOA")
WAIT_S, TRIES = 2.0, 2


@dataclass(frozen=True, slots=True)
class Lookup:
    """Ask a name server, and see how long it takes."""

    name: Annotated[str, HostName(help="A name, or an address for its name.", example="example.net")]
    type: Annotated[
        str | None,
        Choice(*TYPES, help="What is asked for; A for a name and PTR for an address without it."),
    ] = None
    server: Annotated[
        str | None, Host(help="Who is asked; the router's own name servers, in turn, without it.")
    ] = None


LOOKUP = Tool(
    "lookup",
    "Name lookup",
    Lookup,
    about="What does a name server answer, and how long does it take?",
    scope="support",
    subject="name",
    seconds=lambda _asked: 3 * TRIES * WAIT_S,
    columns={
        "answer": ("name", "type", "value", "ttl_s"),
        "summary": ("server", "status", "answers", "took_us"),
        "silent": ("server", "why"),
    },
    needs="A UDP socket.",
)
