# SPDX-License-Identifier: Apache-2.0
"""The SSH server: where people come to the command line, and from where they may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Flag, Moment, Rows, Text, Whole
from weir.kinds.admitted import networks
from weir.kinds.declaration import Declaration
from weir.kinds.ssh_key import SshKey
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning

SSH_USER = "cli"
"""Whom people name before the `@`: one user without rights. Who somebody is their key says."""
MAX_PORT = 65_535
TAKEN: Mapping[int, str] = {
    53: "the name service",
    80: "the web server",
    179: "BGP",
    443: "the web server",
    8080: "the API",
}


@dataclass(frozen=True, slots=True)
class SshServer(ConfigObject):
    """The command line by SSH. It takes keys only, never passwords."""

    kind: ClassVar[Kind] = "ssh-server"
    id: str = "ssh-server"
    enabled: Annotated[bool, Flag(help="When on, those with an SSH key reach the command line.")] = False
    port: Annotated[int, Whole(1, MAX_PORT, help="The TCP port on which it answers.")] = 22
    sources: Annotated[
        tuple[str, ...],
        networks("Networks from which sessions may come. Empty: from wherever the firewall lets in."),
    ] = ()
    idle_timeout_s: Annotated[
        int,
        Whole(
            60,
            86_400,
            label="Idle timeout",
            importance="folded",
            help="A session in which nothing is typed or printed for so long ends.",
        ),
    ] = 1800


@dataclass(frozen=True, slots=True)
class HostKey:
    """One of the keys by which people know that it is this router."""

    type: Annotated[str, Text(40)]
    fingerprint: Annotated[str, Text(60)]


@dataclass(frozen=True, slots=True)
class SshSession:
    """One who is at the command line now."""

    process: Annotated[int, Whole(1, 2**31, help="Its process id.")]
    key: Annotated[str, Text(63, help="The SSH key that opened it.")]
    account: Annotated[str | None, Text(63, help="The account that it acts as.")] = None
    address: Annotated[str | None, Text(64, help="Where it comes from.")] = None
    since: Annotated[str | None, Moment()] = None


def ssh_sense(view: View, server: SshServer) -> Iterator[Finding]:
    if server.port in TAKEN:
        text = f"port {server.port} is that of {TAKEN[server.port]}: choose another one"
        yield error("ssh-port-taken", server, "port", text)
    if server.enabled and all(item.disabled for item in view.document.every(SshKey)):
        text = "no SSH key is configured, so nobody can sign in"
        yield warning("ssh-without-keys", server, None, text)


def ssh_from_outside(view: View, server: SshServer) -> Iterator[Finding]:
    policy = view.document.get("firewall", "firewall")  # whose rules look at this server in turn
    is_open = server.port in getattr(policy, "allowed_wan_tcp_ports", ())
    everywhere = not server.sources or any(text.endswith("/0") for text in server.sources)
    if server.enabled and is_open and everywhere:
        text = "every address outside may try keys: name the networks that you come from"
        yield warning("ssh-from-everywhere", server, "sources", text)


KIND = Declaration(
    SshServer,
    singular="SSH server",
    plural="SSH servers",
    short="ssh-server",
    about="The command line by SSH, for those with a key (`/ip ssh` of RouterOS).",
    is_single=True,
    area="System",
    state={
        "running": Flag(help="Whether it answers."),
        "host_keys": Rows(
            HostKey, 8, by="type", help="What a client shows at its first sign-in: compare them."
        ),
        "sessions": Rows(SshSession, 512, by="process", help="Who is at the command line now."),
        "last_refused": Text(200, help="The last sign-in that was refused, as the server said it."),
        "last_refused_by": Moment(help="It was refused at this time, or up to a minute before."),
    },
    rules=(
        Rule("ssh-sense", "ssh-server", ssh_sense, all_after("ssh-server", "ssh-key"), True),
        Rule(
            "ssh-from-outside",
            "ssh-server",
            ssh_from_outside,
            all_after("ssh-server", "firewall"),
            False,
        ),
    ),
)
