# SPDX-License-Identifier: Apache-2.0
"""DHCP relays: one process for all of them, which reads its file again and keeps those that stay as they are
(docs/adr/0248)."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters.daemon import Daemon, Program
from weir.adapters.dhcp_relay import UNIT_USER, USER, RelayProcess
from weir.backends.backend import Comparison, Look, Topic
from weir.backends.daemons import ANSWER_S, DaemonBackend, DaemonDifference, DaemonState
from weir.kinds.dhcp_relay import DhcpRelay
from weir.model.objects import ConfigObject
from weir.model.problem import Problem
from weir.parts.dhcp_relay import Wanted
from weir.parts.effect import Effect
from weir.parts.explained import Line

CONF = "relays.json"
UNIT = "weir-dhcp-relay.service"
_WHY = {
    "untrusted": "carried option 82 or a relay's address",
    "hops": "had been passed on by too many relays",
    "stranger": "were answers of nobody who is asked",
    "unsent": "could not be sent",
    "malformed": "were no DHCP messages",
}
"""By what the process calls it (`weir.relay.messages`)."""


class DhcpRelayBackend(DaemonBackend[Wanted]):
    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons", "links"))
    learns = ("dhcp-relay",)

    def __init__(self, folder: Path, *, is_unit: bool = False) -> None:
        """With `is_unit` systemd runs it, as a unit of the image."""
        self._process = RelayProcess(folder, UNIT_USER if is_unit else USER)
        self._wanted: Wanted = {}
        """What was asked for last: state is told about it."""
        self._links: Mapping[str, int] = {}

        def command(config: Path) -> Sequence[str]:
            return self._process.command(config / CONF)

        program = Program("dhcp-relay", command, lambda _config: ())
        super().__init__(Daemon(program, folder, UNIT if is_unit else ""))

    # -- what it has -----------------------------------------------------------------------------------------

    def read(self) -> DaemonState:
        self._links = {name: index for index, name in socket.if_nameindex()}
        return super().read()

    def files(self, wanted: Wanted) -> Mapping[str, str]:
        """None while no interface of a relay is there. One that is made again has another text."""
        self._wanted = wanted
        relays = {}
        for spec in wanted.values():
            if spec.ifname in self._links:
                body = {**asdict(spec), "index": self._links[spec.ifname]}
                del body["id"]
                relays[spec.id] = body
        if not relays:
            return {}
        tag = hashlib.sha256(json.dumps(relays).encode()).hexdigest()
        return {CONF: json.dumps({"tag": tag, "relays": relays}, indent=1)}

    def expected(self, wanted: Wanted) -> object:
        text = self.files(wanted).get(CONF)
        return None if text is None else (json.loads(text)["tag"], ())

    def loaded(self, timeout_s: float) -> object:
        """The digest of the file that it has, and what it could not do of it."""
        said = self._process.ask(timeout_s)
        return said["tag"], tuple(sorted(said["failed"].values()))

    def check(self, difference: DaemonDifference, deadline_s: float) -> None:
        """It has no checker: its file is made of fields that were looked at."""

    def apply(self, difference: DaemonDifference) -> None:
        if difference.wanted:
            self._process.make_folder()
        super().apply(difference)

    # -- what it costs ---------------------------------------------------------------------------------------

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """Hosts keep their addresses, and other relays their sockets. A host that renews asks its server
        itself."""
        yield from super().effects(look)
        for spec in look.delta.removed:
            text = f"no client on {spec.ifname} reaches a DHCP server any more; leases hold until they end"
            yield Effect("dhcp-relay", spec.id, "resets", text)
        for old, new in look.delta.set:
            if old is not None and old.address != new.address:
                text = f"servers take clients on {new.ifname} to be in the network of {new.address} now"
                yield Effect("dhcp-relay", new.id, "resets", text)

    # -- what it says ----------------------------------------------------------------------------------------

    def explain(
        self,
        found: Comparison[DaemonState, Wanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        yield from super().explain(found, item, told)
        if not isinstance(item, DhcpRelay) or not found.difference.wanted or not told:
            return
        try:
            said = self._process.ask(ANSWER_S)
        except Problem:
            return  # said above
        wanted, mine = f"it listens on {item.interface}", said["relays"].get(item.id)
        if mine is None:
            yield Line("interface", wanted, said["failed"].get(item.id, "it does not listen there"), False)
            return
        yield Line("interface", wanted, wanted, True)
        for reason, count in sorted(mine["dropped"].items()):
            yield Line("dropped", "", f"{count} messages {_WHY.get(reason, reason)}", True)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        asked = [spec for spec in self._wanted.values() if ids is None or spec.id in ids]
        if not asked:
            return {}
        if self.daemon.identity() is None:
            return {spec.id: {"serving": False} for spec in asked}
        try:
            relays = self._process.ask(ANSWER_S)["relays"]
        except Problem:
            return {}
        return {spec.id: _learnt(relays.get(spec.id), spec.servers) for spec in asked}


def _learnt(said: Mapping[str, Any] | None, servers: Sequence[str]) -> dict[str, Any]:
    if said is None:
        return {"serving": False}
    dropped, answered = said["dropped"], said["answered"]
    return {
        "serving": True,
        "requests": said["requests"],
        "answers": said["answers"],
        "untrusted": dropped.get("untrusted", 0),
        "dropped": sum(dropped.values()),
        "silent": [server for server in servers if server not in answered] if said["requests"] else [],
    }
