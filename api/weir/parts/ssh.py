# SPDX-License-Identifier: Apache-2.0
"""The SSH server as it is configured: how it answers, who has a key, and what the firewall lets in for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.identity import Identity
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SshServer
from weir.model.document import Document
from weir.parts.delta import Replaced, Step
from weir.parts.part import ReplacedPart
from weir.parts.rule import PacketRule, from_sources

_OFF = SshServer()


@dataclass(frozen=True, slots=True)
class SshWanted:
    """`keys` are those that open something, by id; `banner` is what it says before anybody signs in."""

    server: SshServer = _OFF
    keys: tuple[SshKey, ...] = ()
    banner: str = ""


class SshPart(ReplacedPart[SshWanted]):
    name = "ssh"
    made_of = frozenset(("ssh-server", "ssh-key", "identity"))
    after = ("firewall",)  # by which sessions come in

    @property
    def nothing(self) -> SshWanted:
        return SshWanted()

    def wanted(self, document: Document) -> SshWanted:
        server = document.single(SshServer)
        if not server.enabled:
            return SshWanted()
        keys = sorted((key for key in document.every(SshKey) if not key.disabled), key=_id)
        return SshWanted(server, tuple(keys), document.single(Identity).login_banner)

    def entries(self, wanted: SshWanted) -> Mapping[str, object]:
        if not wanted.server.enabled:
            return {}
        server = {"SSH server": (wanted.server, wanted.banner)}
        return {**server, **{f"key {key.id} of {key.account}": key for key in wanted.keys}}

    def made(self, delta: Replaced[SshWanted]) -> Iterator[Step]:
        before = delta.entries_before
        for name, entry in delta.entries_after.items():
            if before.get(name) != entry:
                yield Step(self.name, "change" if name in before else "add", "SSH", name)

    def removed(self, delta: Replaced[SshWanted]) -> Iterator[Step]:
        for name in delta.entries_before:
            if name not in delta.entries_after:
                yield Step(self.name, "remove", "SSH", name)


def ssh_in(server: SshServer) -> Iterator[PacketRule]:
    """What comes to the SSH server from where it may, by any interface as yet."""
    if server.enabled:
        rule = PacketRule("input", "accept", "SSH", protocol="tcp", ports=(str(server.port),))
        yield from from_sources(rule, server.sources)


def _id(key: SshKey) -> str:
    return key.id


SSH = SshPart()
