# SPDX-License-Identifier: Apache-2.0
"""chronyd: the clock's sources, and who may ask for the time (chrony.conf(5), chronyc(1)).

Sources are a file of their own, which `chronyc reload sources` reads again: those that stay keep what was
measured. chronyd skips a line that it does not know, so it is asked which sources it has. Anything else
needs another start.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weir.adapters.daemon import Daemon, Program
from weir.adapters.process import run
from weir.backends.daemons import ANSWER_S, DaemonBackend, DaemonDifference
from weir.kinds.ntp import Ntp
from weir.model.problem import ApplyFailed, Problem

CONF, SOURCES = "chrony.conf", "weir.sources"
UNIT = "chrony.service"
LEARN_S = 1.0
"""For so long somebody who asks for the state waits."""
_STATUS = {
    "*": "followed",
    "+": "combined",
    "-": "not combined",
    "x": "wrong",
    "~": "unsteady",
    "?": "unusable",
}
"""By the second column of `chronyc sources`."""


class NtpBackend(DaemonBackend[Ntp | None]):
    """With `sets_clock` systemd runs chronyd and the machine's clock is its own; else it only measures."""

    learns = ("ntp",)

    def __init__(self, folder: Path, *, sets_clock: bool) -> None:
        self._folder = folder
        self._socket = folder / "control" / "chronyd.sock"
        self._drift = Path("/var/lib/chrony/drift") if sets_clock else folder / "control" / "drift"
        chronyd = shutil.which("chronyd", path="/usr/sbin:/usr/bin") or "/usr/sbin/chronyd"

        def command(config: Path) -> Sequence[str]:
            return (chronyd, "-d", "-x", "-f", str(config / CONF))

        def check(config: Path) -> Sequence[str]:
            texts = [(config / name).read_text(encoding="utf-8") for name in (CONF, SOURCES)]
            return (chronyd, "-p", *(line for text in texts for line in text.splitlines()))

        super().__init__(Daemon(Program("ntp", command, check), folder, UNIT if sets_clock else ""))

    def files(self, wanted: Ntp | None) -> Mapping[str, str]:
        if wanted is None or not wanted.enabled or not (wanted.servers or wanted.serve_to):
            return {}
        conf = [
            f"sourcedir {self.daemon.config}",
            f"driftfile {self._drift}",
            f"bindcmdaddress {self._socket}",
            f"pidfile {self._socket.with_suffix('.pid')}",
            "cmdport 0",
            "makestep 1.0 3",
            "rtcsync",
            *(f"allow {network}" for network in wanted.serve_to),
        ]
        sources = [f"{item.type} {item.address}{' iburst' * item.iburst}" for item in wanted.servers]
        return {CONF: "\n".join(conf) + "\n", SOURCES: "".join(f"{line}\n" for line in sources)}

    def expected(self, wanted: Ntp | None) -> object:
        return (
            None
            if wanted is None
            else (frozenset(item.address for item in wanted.servers), frozenset(wanted.serve_to))
        )

    def loaded(self, timeout_s: float) -> object:
        sources = self._ask("sources", "-a", timeout_s=timeout_s)
        lines = self.daemon.read().get(CONF, "").splitlines()
        networks = [line.partition(" ")[2] for line in lines if line.startswith("allow ")]
        allowed = {network for network in networks if self._allows(network, timeout_s)}
        return frozenset(row[2] for row in sources), frozenset(allowed)

    def can_reload(self, difference: DaemonDifference) -> bool:
        """Read again, sources are compared with what the files said before, not with what chronyd has: one
        that `chronyc delete` took away comes back by a start only."""
        held, wanted = difference.held.files, difference.wanted
        return held.get(CONF) == wanted.get(CONF) and held != wanted

    def reload(self) -> None:
        self._ask("reload", "sources", timeout_s=ANSWER_S)

    def _allows(self, network: str, timeout_s: float) -> bool:
        try:
            return bool(self._ask("accheck", network.partition("/")[0], timeout_s=timeout_s))
        except ApplyFailed:
            return False  # "209 Access denied"

    def _ask(self, *command: str, timeout_s: float) -> list[list[str]]:
        """The rows of chronyc's answer. Raises a `Problem` when there is none."""
        said = run(("chronyc", "-c", "-N", "-h", str(self._socket), *command), timeout_s=timeout_s)
        return [row for row in csv.reader(said.splitlines()) if row]

    def learn(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """What chronyd says of the clock and of each source; nothing while it does not run."""
        try:
            ((_, reference, stratum, _, offset_s, *_, leap),) = self._ask("tracking", timeout_s=LEARN_S)
            sources = self._ask("sources", "-a", timeout_s=LEARN_S)
        except Problem:
            return {}
        is_synchronised = leap != "Not synchronised"
        state = {
            "synchronised": is_synchronised,
            "stratum": int(stratum),
            "reference": reference if is_synchronised else None,
            "offset_ns": round(float(offset_s) * 1e9) if is_synchronised else None,
            "sources": [_source(row) for row in _worth_telling(sources)],
        }
        return {"ntp": state}


def _worth_telling(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Each source that answered, and of each name one that did not: chronyd keeps eight places for a pool."""
    silent = set()
    for row in rows:
        if int(row[5], 8) > 0:
            yield row
        elif row[2] not in silent:
            silent.add(row[2])
            yield row


def _source(row: Sequence[str]) -> dict[str, Any]:
    """A row of `chronyc -c sources`; nothing was measured of one that never answered."""
    _, status, name, stratum, _, reach, _, offset_s, *_ = row
    answered = int(reach, 8) > 0
    return {
        "name": name,
        "status": _STATUS.get(status),
        "reachable": answered,
        "stratum": int(stratum) if answered else None,
        "offset_ns": round(float(offset_s) * 1e9) if answered else None,
    }
