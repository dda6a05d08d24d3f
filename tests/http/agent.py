# SPDX-License-Identifier: Apache-2.0
"""The agent of a `World`: it holds what it is given, and answers what a test lays down."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any, ClassVar

from tests.service.fake_agent import FakeAgent
from tests.stats.maps import Maps
from weir.agent.captured import seat_of
from weir.agent.log_lines import LogLines
from weir.agent.log_tail import LogTail
from weir.agent.tools import Tools
from weir.agent.torch import Seat
from weir.diagnosis.findings import Findings
from weir.diagnosis.shown import findings_json
from weir.model.document import Document
from weir.model.problem import Problem, Unavailable
from weir.tools import CAPTURE, IPERF, TOOLS
from weir.wire.server import AgentServer, Answer, Handler, Peer

ASKING = [name for name, tool in TOOLS.items() if tool.asks_agent]
NO_DATAPATH = Seat("", b"{}", (), lambda _addresses: {})
"""Of a run of those that finds nothing to look into, and ends."""
NO_WAY = {"interface": None, "queue": None, "queue_id": None, "limit_bps": None}
SEATS: dict[str, Callable[[Any], Seat]] = {name: lambda _: NO_DATAPATH for name in ASKING} | {
    CAPTURE.name: lambda asked: seat_of(asked, "", frozenset({"lan0"}), {}, ()),
    IPERF.name: lambda _: Seat(
        "", b"{}", (), lambda asked: {name: {**NO_WAY, "unknown": "nobody knows the way"} for name in asked}
    ),
}


class Customers:
    """One host behind lan0, in the queue `acme` where there is one; what else the agent says of lines."""

    def __init__(self) -> None:
        self.cores: list[dict[str, Any]] | None = None
        """What each core did lately (`weir.diagnosis.processors.Spent`)."""
        self.unlimited: set[str] = set()
        self.may_be_in_vrf = False
        self.checked: dict[str, Any] | None = None
        """The uplink that lines leave by (`UplinkMonitor.ways`)."""

    def line(self, params: dict[str, Any], kernel: Container[tuple[str, str]]) -> dict[str, Any]:
        address = params.get("address", "10.64.0.2")
        is_limited = ("queue", "acme") in kernel and address not in self.unlimited
        queue_id = params.get("queue_id") or ("acme" if is_limited else None)
        way = {"gateway": None, "shared": [], "station": None}
        station = {"address": address, "state": "reachable", "confirmed_s": 2.0}
        return {
            "queue_id": queue_id,
            "address": address,
            "may_be_in_vrf": self.may_be_in_vrf,
            "towards": params.get("towards", None if self.checked else "1.1.1.1"),
            "checked": self.checked,
            "uplinks": 1 if self.checked else 0,
            "access": {
                **way, "interface": "lan0", "links": [{"name": "lan0", "duplex": "full"}], "station": station
            },
            "uplink": {**way, "interface": "wan0", "links": [{"name": "wan0", "duplex": None}]},
            "cores": self.cores,
        }  # fmt: skip


class Agent(FakeAgent):
    """The fake agent with what the sampler asks; every queue it holds gets a slot."""

    drops: ClassVar[dict[str, Any]] = {"counted": [], "unseen": {}}
    rule_counters: ClassVar[dict[str, tuple[int, int]]] = {}
    """Packets and bytes of the firewall's counters."""
    mode = "police"
    """How wan0 shapes."""
    tree_drops: tuple[tuple[str, int, int, int], ...] | None = ()
    """As `weir.agent.drops`; None: qdiscs cannot be asked."""
    look: dict[str, Any] | None = None
    """The last look in figures (`weir.diagnosis.figures.Looked`)."""

    def __init__(self, socket: Path, database: Path, slots: int = 4096) -> None:
        super().__init__(socket, database)
        self.maps = Maps(slots)
        self.started_at = int(time.time() * 1000)
        self.interfaces = [port_of("lan0", 1), port_of("wan0", 2)]
        self._slot_lock = threading.Lock()
        self.tuning = [
            {
                "id": "softirq-budget", "scope": "sysctl", "key": "net.core.netdev_budget_usecs",
                "value": "2000", "override": None, "reason": "a poll round ends", "evidence": "E3",
                "measured": "figure",
                "places": [
                    {
                        "place": "", "override": None, "wanted": "2000", "held": "2000",
                        "state": "applied", "why": None,
                    }
                ],
            }
        ]  # fmt: skip
        self.findings = findings_json(Findings(), None) | {"period_s": 5.0, "cpu_ms_per_sample": None}
        self.hosts: list[dict[str, Any]] = []
        self.leases: list[dict[str, Any]] = []
        self.alerts, self.lists = Alerts(), Lists()
        self.lease_changes: list[dict[str, Any]] = []
        self.tools = Tools(SEATS)
        self.updates = Updates(database.parent / "uploads")
        self.appliance = Machine()
        self.data: dict[str, Any] | None = None
        self.customers = Customers()
        self._server = AgentServer(
            socket,
            {
                "status": self._status,
                "prepare": self._prepare,
                "apply": self._apply,
                "settle": self._settle,
                "preview": self._preview,
                "explain": self._explain,
                "details": self._details,
                "adopt": self._adopt,
                "running": self._running,
                "counters_fd": self._counters_fd,
                "slots": self._slots,
                "interfaces": self._interfaces,
                "system": self._system,
                "tuning": lambda _params, _peer: self.tuning,
                "findings": lambda _params, _peer: self.findings,
                "try_remedy": self._try_remedy,
                **self._dropped(),
                **self._stations(),
                **self.secrets.table(),
                **self.tools.table(),
                **self.states.table(),
                **self.updates.table(),
                **self.appliance.table(),
                **(self.alerts.table() | self.lists.table()),
            },
            allowed_uids={os.getuid()},
            on_close=self._closed,
        )

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.maps.close()

    def _status(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        return {
            "version": "test",
            "store": self.store,
            "revision": self.revision,
            "state": self.state,
            "kernel": "6.12-test",
            "capabilities": [{"id": "fq", "available": False, "reason": "the kernel has no fq"}],
            "shapers": {"wan0": {"mode": self.mode, "reason": "no fq"}},
            "drift": [{"at_ms": 1, "part": "tc", "text": "somebody ran tc", "repaired": True}],
            "confirm": None,
            "started_at": self.started_at,
            "data": self.data,
        }

    journal_reader = "echo"
    """It repeats what it was asked for: there is a journal, and no entry in it."""

    def _dropped(self) -> dict[str, Handler]:
        return {
            "drops": lambda _params, _peer: self.drops,
            "tree_drops": self._tree,
            "rule_counters": lambda _params, _peer: {"counters": self.rule_counters},
        }

    def _tree(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        if self.tree_drops is None:
            raise Unavailable("the qdiscs cannot be asked")
        return {"dropped": self.tree_drops}

    def _log(self, of: type[LogTail] | type[LogLines], name: str) -> Handler:
        """The reader may be another one when it is asked."""

        def handler(params: dict[str, Any], peer: Peer) -> Any:
            return of(self.secrets, self._running_document, self.journal_reader).table()[name](params, peer)

        return handler

    def _running_document(self) -> tuple[int, Document]:
        return self.revision, Document(self.kernel.values())

    def _counters_fd(self, _params: dict[str, Any], _peer: Peer) -> Answer:
        names = ["details", "class", "delays", "round_trips"]
        return Answer({"layout": self.maps.layout(), "fds": names}, tuple(self.maps.fds))

    def _try_remedy(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        names = ("code", "subject", "remedy", "revision")
        trial = {"at_ms": 1000, "outcome": "measuring", "sentence": "It is measured again."}
        return {**{name: params[name] for name in names}, **trial}

    def _stations(self) -> dict[str, Handler]:
        return {
            "customer_line": lambda params, _peer: self.customers.line(params, self.kernel),
            "figures": lambda _params, _peer: {"look": self.look},
            "hosts": lambda _params, _peer: {"total": len(self.hosts), "hosts": self.hosts},
            "log_tail": self._log(LogTail, "log_tail"),
            "log_lines": self._log(LogLines, "log_lines"),
            "ssh_ticket": self._ssh_ticket,
            **self.job_runs(),
            "leases": self._leases,
            "lease_changes": self._lease_changes,
        }

    def _leases(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        found = [item for item in self.leases if params["words"] in str(item)]
        start = params["start"]
        return {"total": len(found), "leases": found[start : start + params["limit"]]}

    def _lease_changes(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        after = params["after"]
        told = [] if after is None else self.lease_changes[after:]
        return {"number": len(self.lease_changes), "changes": told}

    def _slots(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.deal_slots()
        with self._slot_lock:
            if params.get("since") == self.maps.generation:
                return {"generation": self.maps.generation, "full": False, "slots": {}, "removed": []}
            return {"generation": self.maps.generation, "full": True, "slots": dict(self.maps.slots)}

    def deal_slots(self) -> None:
        """Every queue that the agent holds has a slot, and no other."""
        with self._slot_lock:
            held = {object_id for kind, object_id in list(self.kernel) if kind == "queue"}
            for queue_id in [name for name in self.maps.slots if name not in held]:
                self.maps.free(queue_id)
            used = set(self.maps.slots.values())
            free = (slot for slot in range(1, self.maps.lines // 2) if slot not in used)
            for queue_id in sorted(held - self.maps.slots.keys()):
                self.maps.place(queue_id, next(free))

    def _system(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        now = int(time.monotonic() * 100)
        return {
            "cpus": [{"user": now // 4, "idle": now - now // 4}] * 2,
            "memory": {"total_bytes": 1 << 30, "available_bytes": 1 << 29},
            "load": [0.5, 0.4, 0.3],
            "uptime_s": 100.0,
            "kernel": "6.12-test",
            "hostname": "router",
            "login_banner": "Authorised persons only.",
        }

    def _interfaces(self, _params: dict[str, Any], _peer: Peer) -> list[dict[str, Any]]:
        counted_ns = time.monotonic_ns()
        return [port | {"counted_ns": counted_ns} for port in self.interfaces]


class Alerts:
    """Tests of alert targets: what each answers, and who asked for one."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] | Problem = {"delivered": True, "answer": "250 Ok", "took_ms": 12}
        self.asked: list[dict[str, Any]] = []

    def table(self) -> dict[str, Handler]:
        return {"alert_test": self._test}

    def _test(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.asked.append(params)
        if isinstance(self.answer, Problem):
            raise self.answer
        return self.answer


class Lists:
    """Lists of sets that are fetched: what each try gives, and of which sets."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] | Problem = {
            "fetched": True, "answer": "it was taken", "entries": 3, "took_ms": 12,
        }  # fmt: skip
        self.asked: list[str] = []

    def table(self) -> dict[str, Handler]:
        return {"set_refresh": self._refresh}

    def _refresh(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.asked.append(params["id"])
        if isinstance(self.answer, Problem):
            raise self.answer
        return self.answer


class Machine:
    """Factory reset and power as the agent answers them; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def table(self) -> dict[str, Handler]:
        return {
            "factory_reset": lambda params, _peer: self._ask(f"reset {params['mode']}", "restarting"),
            "power_off": lambda _params, _peer: self._ask("off", "powering_off"),
        }

    def _ask(self, what: str, answer: str) -> dict[str, Any]:
        self.asked.append(what)
        return {answer: True}


class Updates:
    """An image's slots as the agent tells them; takes any upload that begins with a version."""

    def __init__(self, inbox: Path) -> None:
        self._inbox = inbox
        self.next: str | None = "A"
        self.bad: set[str] = set()
        self.restarts = 0
        self.refusal: Problem | None = None
        self.job: dict[str, Any] = {
            "state": "idle", "percent": 0, "what": "", "version": None,
            "code": None, "message": None, "started_at_ms": None, "ended_at_ms": None,
        }  # fmt: skip
        self.taken = b""

    def table(self) -> dict[str, Handler]:
        return {
            "updates": lambda _params, _peer: self._status(),
            "update_install": self._install,
            "update_choose": self._choose,
            "restart": self._restart,
        }

    def _status(self) -> dict[str, Any]:
        slots = [
            {
                "name": name,
                "booted": name == "A",
                "good": name not in self.bad,
                "version": "1.0.0",
                "installed_at": None,
            }
            for name in ("A", "B")
        ]
        return {
            "available": True, "reason": None, "booted": "A", "next": self.next,
            "slots": slots, "job": self.job,
        }  # fmt: skip

    def _install(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.taken = (self._inbox / f"{params['upload']}.raucb").read_bytes()
        self.job |= {
            "state": "installing",
            "version": self.taken[:5].decode("ascii", "replace"),
            "started_at_ms": 1000,
        }
        return self._status()

    def _choose(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.next = params["slot"]
        return self._status()

    def _restart(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.restarts += 1
        return {"restarting": True}


def port_of(name: str, index: int) -> dict[str, Any]:
    counters = {f"{way}_{what}": 0 for way in ("rx", "tx") for what in ("bytes", "packets", "dropped")}
    return {
        "name": name,
        "index": index,
        "kind": "veth",
        "mac": "02:00:00:00:00:01",
        "mtu": 1500,
        "up": True,
        "speed_bps": 10**10,
        "addresses": ["192.0.2.1/24"],
        "qdisc": "mq",
        "shaper": None,
        **counters,
    }
