# SPDX-License-Identifier: Apache-2.0
"""A name server that this router asks, and what makes no sense of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated

from weir.fields import Flag, Host, HostName, Port, Text, Whole
from weir.model.address import is_dns_name
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import View, error

DNS_PORT, TLS_PORT = 53, 853
MAX_UPSTREAMS = 8


@dataclass(frozen=True, slots=True)
class DnsUpstream:
    """Who is asked for names."""

    address: Annotated[str, Host(help="Its address.", example="192.0.2.53")]
    tls_name: Annotated[
        str | None,
        HostName(
            label="TLS name",
            help="The name in its certificate. With it questions go encrypted (DNS over TLS), and to nobody "
            "else.",
            example="dns.example.net",
        ),
    ] = None
    port: Annotated[
        int | None, Port(help=f"Empty: {DNS_PORT}, or {TLS_PORT} with TLS.", importance="folded")
    ] = None

    @property
    def used_port(self) -> int:
        return self.port or (TLS_PORT if self.tls_name else DNS_PORT)


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """A server as the router knows it from its last questions."""

    address: Annotated[str, Text(64)]
    reachable: Annotated[
        bool | None, Flag(help="Whether it answered the last question; empty: it was not asked lately.")
    ] = None
    rtt_ms: Annotated[int | None, Whole(0, 2**31, label="Round trip")] = None


def upstreams_make_sense(view: View, item: ConfigObject, servers: Sequence[DnsUpstream]) -> Iterator[Finding]:
    """None of them is this router, or no host; and either all of them are asked by TLS or none."""
    for number, server in enumerate(servers):
        address, field = ip_address(server.address), f"servers[{number}].address"
        own = view.own_addresses().get(server.address)
        if own or address.is_loopback:
            where = f" on {own[0]}" if own else ""
            text = f"{server.address} is this router itself{where}, so its questions would go round in a loop"
            yield error("dns-loop", item, field, text)
        elif address.is_unspecified or address.is_multicast:
            yield error("no-server", item, field, f"{server.address} is no address of a server")
        if server.tls_name is not None and not is_dns_name(server.tls_name):
            text = f"{server.tls_name} is an address, and a certificate is checked by its name"
            yield error("no-name", item, f"servers[{number}].tls_name", text)
    if len({server.tls_name is None for server in servers}) > 1:
        text = (
            "some servers have a TLS name and some have none, so questions would go unencrypted by chance: "
        )
        text += "give all of them one, or none"
        yield error("mixed-tls", item, "servers", text)
