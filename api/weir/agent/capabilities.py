# SPDX-License-Identifier: Apache-2.0
"""What the running kernel and its daemons can do, found by trying it once at start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from weir.adapters import tc
from weir.adapters.datapath_probe import probe
from weir.adapters.datapath_records import Capability
from weir.adapters.frr import Frr
from weir.model.problem import Problem

log = logging.getLogger(__name__)

QDISCS = {
    "fq": ("pacing of departure times (EDT)", "fq"),
    "fq_codel": ("short queues below HTB classes", "fq_codel"),
    "cake": ("CAKE leaves", "cake"),
    "codel": ("CoDel leaves", "codel"),
    "sfq": ("SFQ leaves", "sfq"),
    "red": ("RED leaves", "red limit 60000 min 10000 max 50000 avpkt 1000 burst 20"),
    "htb": ("the HTB shaper", "htb default 0"),
}


def qdisc_refusals() -> dict[str, str]:
    """Qdisc kind -> why it does not work here, "" when it does."""
    tried = tc.probe(arguments for _, arguments in QDISCS.values())
    return {kind: _short(tried[arguments]) for kind, (_, arguments) in QDISCS.items()}


class Capabilities:
    """What `status` answers. The datapath's features are tried in the background: on a slow machine that
    takes many seconds, nothing has to wait for it, and while a router starts it would be in the way."""

    def __init__(self, qdiscs: Mapping[str, str], frr: Frr, library: Path | None) -> None:
        self._qdiscs = qdiscs
        self._frr = frr
        self._library = library
        self._probed = [Capability("datapath", False, "is being tried")]
        self._stopped = threading.Event()

    def probe(self, on_no_pacing: Callable[[str], None], after_s: float = 0.0) -> None:
        """Try the datapath's features in a thread of its own. `on_no_pacing` hears why, if packets that
        were given departure times on fq were not held back."""
        words = (on_no_pacing, after_s)
        threading.Thread(target=self._probe, args=words, name="probe", daemon=True).start()

    def stop(self) -> None:
        """What has not been tried yet is not tried any more."""
        self._stopped.set()

    def to_json(self) -> list[dict[str, Any]]:
        found = [
            {"id": f"qdisc-{kind}", "available": not why, "reason": why or f"works: {QDISCS[kind][0]}"}
            for kind, why in self._qdiscs.items()
        ]
        found += [{"id": p.id, "available": p.available, "reason": p.reason} for p in self._probed]
        down = self._frr.down_reason()
        return [*found, {"id": "frr", "available": not down, "reason": down or "works: static routes"}]

    def _probe(self, on_no_pacing: Callable[[str], None], after_s: float) -> None:
        if self._stopped.wait(after_s):
            return
        try:
            self._probed = probe(self._library)
        except Problem as problem:
            log.warning("%s", problem.message)
            self._probed = [Capability("datapath", False, problem.message)]
            return
        pacing = next((item for item in self._probed if item.id == "edt-pacing"), None)
        if pacing is not None and not pacing.available and not self._qdiscs["fq"]:
            on_no_pacing(pacing.reason)


def _short(reason: str) -> str:
    """iproute2 prefixes its errors; the sentence is what counts."""
    return reason.removeprefix("tc: ").removeprefix("Error: ").rstrip(".")
