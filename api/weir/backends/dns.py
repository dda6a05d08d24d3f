# SPDX-License-Identifier: Apache-2.0
"""unbound: whom the router asks for names, and whom it answers (docs/adr/0182).

A running unbound reads its file again and keeps what it remembers (`reload_keep_cache`). It starts again only
to answer on other addresses. Names of leases come and go without either (docs/adr/0183).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.adapters.daemon import Daemon, Program
from weir.adapters.unbound import Unbound
from weir.backends.backend import Comparison, Look
from weir.backends.daemons import SETTLED_S, STARTED_S, DaemonBackend, DaemonDifference, DaemonState
from weir.backends.unbound_config import LEASES, cache_of, config_text, identity_of, listening_of
from weir.kinds.dns_upstream import DnsUpstream
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Problem
from weir.parts.dns import Wanted, forwards_of, is_below, service_of, wildcards
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line

CONF = "unbound.conf"
UNIT = "unbound.service"
LEARN_S = 1.0
"""For so long somebody who asks for the state waits."""
_OF_ALL = ("dns", "dns-record", "dns-forward", "dns-block-list", "interface", "dhcp-server")


class DnsBackend(DaemonBackend[Wanted]):
    """With `is_unit` systemd runs unbound, as a unit of the image."""

    learns = ("dns",)

    def __init__(self, folder: Path, ca_bundle: Path, *, is_unit: bool = False) -> None:
        self.unbound = Unbound(folder)
        self._ca_bundle = ca_bundle
        self._wanted: Wanted = {}
        """What was asked for last: state is told about it."""
        self._rendered: tuple[Wanted, str] | None = None
        self.lease_names = 0
        """How many names come from leases now."""

        def command(config: Path) -> Sequence[str]:
            return self.unbound.command(config / CONF)

        def check(config: Path) -> Sequence[str]:
            return self.unbound.checker(config / CONF)

        super().__init__(Daemon(Program("dns", command, check), folder, UNIT if is_unit else ""))

    # -- what it has -----------------------------------------------------------------------------------------

    def files(self, wanted: Wanted) -> Mapping[str, str]:
        self._wanted = wanted
        if service_of(wanted) is None:
            return {}
        if self._rendered is None or self._rendered[0] is not wanted:
            self._rendered = (wanted, config_text(wanted, self.unbound.socket, self._ca_bundle))
        return {CONF: self._rendered[1]}

    def expected(self, wanted: Wanted) -> object:
        return identity_of(self.files(wanted).get(CONF, ""))

    def loaded(self, timeout_s: float) -> object:
        return self.unbound.ask("get_option identity", timeout_s).strip()

    # -- what it is given ------------------------------------------------------------------------------------

    def apply(self, difference: DaemonDifference) -> None:
        if difference.wanted:
            self.unbound.make_folder()
            self._leave_out(wildcards(self._wanted))
        super().apply(difference)

    def _leave_out(self, above: Sequence[str]) -> None:
        """Names of leases below a wildcard, which unbound would refuse: the wildcard answers for them."""
        path = self.unbound.socket.parent / LEASES
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        except OSError:
            return
        kept = [line for line in lines if not is_below(line.partition("'")[2].partition(". ")[0], above)]
        if kept != lines:
            files.replace(path, "".join(kept).encode(), mode=0o644)

    def can_reload(self, difference: DaemonDifference) -> bool:
        return _listening(difference.held.files) == _listening(difference.wanted)

    def reload(self) -> None:
        said = self.unbound.ask("reload_keep_cache", SETTLED_S).strip()
        if said != "ok":
            raise ApplyFailed(f"dns refuses its files: {said}", code="daemon-refused")

    # -- what it costs ---------------------------------------------------------------------------------------

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """It reads its file again within milliseconds and remembers what it knew; what costs more is told."""
        held, difference = look.held, look.difference
        changed = look.changed_of(*_OF_ALL)
        if not held.process or not difference:
            return
        if not difference.wanted:
            text = "hosts that ask this router find no names any more"
            yield from for_each(changed, "resets", text)
        elif not self.can_reload(difference):
            text = "the name service starts again on other addresses, and remembers nothing"
            yield from for_each(changed, "resets", text, int(STARTED_S * 1000))
        elif cache_of(held.files.get(CONF, "")) != cache_of(difference.wanted[CONF]):
            text = "the name service forgets the answers that it remembers"
            yield from for_each(changed, "resets", text, int(SETTLED_S * 1000))

    # -- what it says ----------------------------------------------------------------------------------------

    def explain(
        self,
        found: Comparison[DaemonState, Wanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """Of kinds that are its own only: what an interface or DHCP server is told elsewhere."""
        if item.kind.startswith("dns"):
            yield from super().explain(found, item, told)

    def learn(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Of the service; that it does not answer, where it is to and does not."""
        service = service_of(self._wanted)
        if service is None:
            return {}
        try:
            numbers = self.unbound.numbers(LEARN_S)
        except Problem:
            return {"dns": {"answering": False}}
        return {
            "dns": {
                "answering": True,
                "uptime_s": _whole(numbers, "time.up"),
                "queries": _whole(numbers, "total.num.queries"),
                "cache_hits": _whole(numbers, "total.num.cachehits"),
                "lease_names": self.lease_names,
                "upstreams": self._asked(".", service.servers),
            }
        }

    def learn_forwards(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Of split domains, who of their servers answers."""
        return {
            spec.id: {"upstreams": self._asked(f"{spec.domain}.", spec.servers)}
            for spec in forwards_of(self._wanted)
            if ids is None or spec.id in ids
        }

    def _asked(self, zone: str, servers: Iterable[DnsUpstream]) -> list[dict[str, Any]]:
        try:
            known = self.unbound.servers(LEARN_S)
        except Problem:
            known = {}
        found = []
        for server in servers:
            state = known.get((f"{server.address}@{server.used_port}", zone))
            reachable = None if state is None else state.reachable
            rtt_ms = state.ping_ms if state is not None and reachable else None
            found.append({"address": server.address, "reachable": reachable, "rtt_ms": rtt_ms})
        return found


def _listening(files: Mapping[str, str]) -> list[str]:
    return listening_of(files.get(CONF, ""))


def _whole(numbers: Mapping[str, float], name: str) -> int | None:
    return int(numbers[name]) if name in numbers else None
