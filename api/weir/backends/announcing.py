# SPDX-License-Identifier: Apache-2.0
"""radvd: what hosts are told of the router and of their prefixes (radvd.conf(5), docs/adr/0189).

A prefix that is announced no more, or an interface that announces nothing more, is announced as ended for as
long as hosts may still have it (RFC 7084 L-13, RFC 9096), also after a restart: what was announced is
remembered in a file. radvd cannot be asked; what it says when it reads its file is looked for, and noted
beside its process.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters import files
from weir.adapters.daemon import Daemon, Program
from weir.backends.announced import Announced, config_text, prefixes_in
from weir.backends.backend import Comparison, Look, Topic
from weir.backends.daemons import DaemonBackend, DaemonDifference, DaemonState
from weir.model.objects import ConfigObject
from weir.parts.announcing import Wanted
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.store import clock
from weir.store.clock import Now

CONF = "radvd.conf"
UNIT = "radvd.service"
_STARTED, _TAKEN = "started", "resuming normal operation"
"""What radvd prints when it has begun, and when it has read its file again. It ends over a file that it does
not understand, and by SIGHUP until it has said what it does then, which is after the first of these."""


class AnnouncingBackend(DaemonBackend[Wanted]):
    """With `is_unit` systemd runs radvd, as a unit of the image. `memory` outlasts a start of the machine."""

    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons", "leases"))

    def __init__(
        self, folder: Path, memory: Path, *, is_unit: bool = False, now: Callable[[], Now] = clock.now
    ) -> None:
        self._said = folder / "said"
        self._note = folder / "taken"
        self._waits: tuple[str, int] | None = None
        """The word that is to follow in what it prints, and behind how many bytes; None: for none."""
        self._announced = Announced(memory, now)
        radvd = shutil.which("radvd", path="/usr/sbin:/usr/bin") or "/usr/sbin/radvd"

        def command(config: Path) -> Sequence[str]:
            pid = folder / "radvd.pid"
            return (radvd, "--nodaemon", "--logmethod=stderr", f"--pidfile={pid}", "-C", str(config / CONF))

        def check(config: Path) -> Sequence[str]:
            return (radvd, "--logmethod=stderr", "--configtest", "-C", str(config / CONF))

        super().__init__(Daemon(Program("announcing", command, check), folder, UNIT if is_unit else ""))

    # -- what it has -----------------------------------------------------------------------------------------

    def files(self, wanted: Wanted, *, also_over: bool = False) -> Mapping[str, str]:
        return (
            {CONF: config_text(wanted, self._announced.ended(wanted, also_over=also_over))} if wanted else {}
        )

    def expected(self, wanted: Wanted) -> object:
        return _digest(self.files(wanted))

    def loaded(self, timeout_s: float) -> object:
        """The digest of the file that this process said it has read; None until it says so."""
        process = self.daemon.identity()
        if process is not None and self._waits is not None:
            word, begun = self._waits
            if word not in self._text_since(begun) or not self.daemon.can_reload():
                return None
            noted = {"process": process, "digest": _digest(self.daemon.read())}
            files.replace(self._note, json.dumps(noted).encode())
            self._waits = None
        return self._noted(process)

    def _noted(self, process: tuple[int, int] | None) -> object:
        try:
            noted = json.loads(self._note.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return noted["digest"] if process and noted["process"] == list(process) else None

    # -- what it is given ------------------------------------------------------------------------------------

    def diff(self, held: DaemonState, wanted: Wanted) -> DaemonDifference:
        """Time alone is no difference: what no host has any more stays until it is forgotten, or leaves with
        another change."""
        given = (self.files(wanted, also_over=also_over) for also_over in (True, False))
        stays, found = (DaemonDifference(self.name, held, each, _digest(each)) for each in given)
        return found if stays else stays

    def pass_time(self) -> bool:
        return self._announced.forget_over()

    def check(self, difference: DaemonDifference, deadline_s: float) -> None:
        """What passes is remembered before a host hears of it: the agent may die meanwhile."""
        super().check(difference, deadline_s)
        self._announced.note(prefixes_in(difference.wanted[CONF]))

    def apply(self, difference: DaemonDifference) -> None:
        super().apply(difference)
        self._announced.remember(prefixes_in(difference.wanted.get(CONF, "")))

    def start(self, deadline_s: float) -> None:
        super().start(deadline_s)
        self._waits = (_STARTED, 0)

    def reload(self) -> None:
        begun = self._said.stat().st_size if self._said.exists() else 0
        super().reload()
        self._waits = (_TAKEN, begun)

    def _text_since(self, begun: int) -> str:
        try:
            return self._said.read_bytes()[begun:].decode(errors="replace")
        except OSError:
            return ""

    # -- what it costs, and what it says ---------------------------------------------------------------------

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """Hosts give up a prefix or a gateway that is announced no more."""
        held = prefixes_in(look.held.files.get(CONF, ""))
        for name, prefixes in held.items():
            spec = look.wanted.get(name)
            if spec is None:
                text = f"hosts behind {name} lose their IPv6 gateway, as it is announced no more"
                yield Effect("interface", name, "drops-sessions", text)
                continue
            kept = {one.prefix for one in spec.prefixes}
            for one in prefixes:
                if one.valid_s and one.prefix not in kept:
                    text = f"hosts behind {name} are told to give up {one.prefix}"
                    yield Effect("interface", name, "resets", text)

    def explain(
        self,
        found: Comparison[DaemonState, Wanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """Of interfaces that announce only."""
        if item.id in found.wanted and item.kind == "interface":
            yield from super().explain(found, item, told)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """What each interface announces by what radvd has read; nothing while it has not."""
        given = self.daemon.read()
        if not given or self._noted(self.daemon.identity()) != _digest(given):
            return {}
        return {
            name: {"announced": [asdict(one) for one in prefixes]}
            for name, prefixes in prefixes_in(given[CONF]).items()
            if ids is None or name in ids
        }


def _digest(content: Mapping[str, str]) -> str | None:
    return hashlib.sha256(content[CONF].encode()).hexdigest() if content else None
