# SPDX-License-Identifier: Apache-2.0
"""Start the lab, keep it running, end it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab import examples, frr, peers, plan, ports, process, router, seed, sweep, topology
from lab.netns import LabError
from weir import x25519

RESTART_AFTER_S = 0.5
HOLD = plan.RUN / "hold"
"""A file here with the name of a service keeps the lab from starting that service again (for tests)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a lab is started. `listen` is where the API listens, `url` how the user reaches it."""

    port: int = plan.DEFAULT_PORT
    address: str = "127.0.0.1"
    url: str | None = None
    traffic: bool = True
    queues: bool = True
    capacity: int = 0
    """Slots of the kernel's tables; 0: by the memory."""


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    username: str
    password: str
    token: str


class Lab:
    """One lab, from the first namespace to the last. `stop` may be called at any time."""

    def __init__(self, options: Options, tell: Callable[[str], None] = lambda _: None) -> None:
        """`tell` gets a few words on each thing that is done next."""
        self.options = options
        self._tell = tell
        self._sweeper: subprocess.Popen[bytes] | None = None
        self._services: dict[str, tuple[process.Child, Callable[[], process.Child]]] = {}

    def start(self) -> Access:
        """Make everything; raises LabError in one sentence, after removing what was made."""
        self._must_be_possible()
        self._take_over()
        try:
            plan.RUN.mkdir(mode=0o755)
            process.remember("lab", os.getpid())
            access = self._make()
            _write_description(access)
            return access
        except BaseException:
            self.stop()
            raise

    def _must_be_possible(self) -> None:
        require_root()
        router.must_have_programs()
        if not Path("/proc/self/ns/net").exists():
            raise LabError("this kernel has no network namespaces (CONFIG_NET_NS), which the lab is made of")

    def _take_over(self) -> None:
        """Become the only lab of this machine, removing what a killed one left."""
        lock = sweep.take_lock()
        if lock is None:
            raise LabError(f"a lab is already running{_where()}; `make lab-down` removes it")
        if sweep.leftovers():
            sweep.sweep()
        if not ports.port_is_free(self.options.address, self.options.port):
            raise LabError(f"port {self.options.port} is taken; choose another one with PORT=")
        self._sweeper = subprocess.Popen(
            [sys.executable, "-m", "lab.sweep", "--when-stdin-closes"],
            stdin=subprocess.PIPE,
            cwd=plan.ROOT,
            pass_fds=[lock.fileno()],
            start_new_session=True,
        )
        lock.close()

    def _make(self) -> Access:
        options = self.options
        self._tell("making three network namespaces")
        topology.build()
        router.prepare_folders()
        self._tell("starting FRR")
        for daemon in frr.daemons():
            router.wait_for_frr(daemon, self._serve(f"frr-{daemon}", partial(router.start_frr, daemon)))
        self._tell("making the database and its first accounts")
        password, token = router.create_accounts()
        self._serve("time", router.start_time_server)
        self._serve("names", router.start_name_server)
        self._tell("starting the agent and the API")
        listen = f"{options.address}:{options.port}"
        agent = self._serve("agent", partial(router.start_agent, options.capacity))
        api_process = self._serve("api", lambda: router.start_api(listen))
        router.wait_for_agent(agent)
        router.wait_for_api(api_process, listen)
        api = seed.Api(f"http://{listen}", token)
        self._configure(api)
        # It asks the agent once a second, and the agent may not have been there the last time.
        process.wait_for("the API to know of the agent", api.knows_the_agent, [agent, api_process])
        if options.traffic:
            for side in ("internet", "client"):
                self._serve(f"traffic-{side}", partial(_start_traffic, side))
        return Access(options.url or api.url, "admin", password, token)

    def _configure(self, api: seed.Api) -> None:
        """With queues there is something of every other kind, too, and a neighbour for what speaks."""
        if not self.options.queues:
            self._tell("configuring the router")
            seed.configure(api, with_queues=False)
            return
        self._tell("configuring the router, and starting its neighbours")
        peers.wait_for_bird(self._serve("bird", peers.start_bird))
        if peers.kernel_makes("bridge"):
            peers.plug_in_desk()
        branch = x25519.new_private() if peers.kernel_makes("wireguard") else None
        public = x25519.public_of(branch) if branch else None
        seed.configure(api, examples=examples.examples(public))
        if branch:
            peers.connect_branch(branch, examples.tunnel_key(api))

    def _serve(self, name: str, start: Callable[[], process.Child]) -> process.Child:
        child = start()
        self._services[name] = (child, start)
        return child

    def keep_running(self, until: Callable[[], bool]) -> None:
        """Start services again that ended, as the appliance's init does, until told to end."""
        ended_at_s: dict[str, float] = {}
        while not until():
            for name, (child, start) in self._services.items():
                if child.popen.poll() is None or (HOLD / name).exists():
                    continue
                now_s = time.monotonic()
                if now_s - ended_at_s.setdefault(name, now_s) >= RESTART_AFTER_S:
                    del ended_at_s[name]
                    self._services[name] = (start(), start)
            time.sleep(0.1)

    def stop(self) -> None:
        """Let the sweeper remove everything, and wait for it."""
        if self._sweeper is not None and self._sweeper.stdin is not None:
            _pid_file_of_lab().unlink(missing_ok=True)
            self._sweeper.stdin.close()
            self._sweeper.wait()
            self._sweeper = None


def require_root() -> None:
    if os.geteuid() != 0:
        raise LabError("the lab needs root, because it makes network namespaces; run it as root")


def take_down(within_s: float = 30.0) -> bool:
    """Remove the lab, also one that somebody else started; returns whether there was one."""
    if os.geteuid() != 0:
        raise LabError("removing the lab needs root")
    pid = process.remembered("lab")
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
    found = pid is not None or sweep.leftovers()
    lock = sweep.wait_for_lock(within_s)
    try:
        sweep.sweep()
    finally:
        lock.close()
    return found


def _start_traffic(side: str) -> process.Child:
    return process.start(f"traffic-{side}", [sys.executable, "-m", "lab.traffic", side])


def _pid_file_of_lab() -> Path:
    return plan.RUN / "pid" / "lab.json"


def _where() -> str:
    try:
        return f" at {json.loads(plan.LAB_JSON.read_text())['url']}"
    except (OSError, ValueError, KeyError):
        return ""


def _write_description(access: Access) -> None:
    """build/lab.json, readable by root only: it holds a token. Appears complete or not at all."""
    description = {
        "url": access.url,
        "token": access.token,
        "namespaces": {"client": plan.CLIENT, "router": plan.ROUTER, "internet": plan.INTERNET},
        "client_addresses": list(plan.CLIENT_ADDRESSES),
        "internet_addresses": list(plan.INTERNET_ADDRESSES),
        "interfaces": {"lan": plan.LAN.router_device, "wan": plan.WAN.router_device},
    }
    plan.BUILD.mkdir(exist_ok=True)
    draft = plan.BUILD / f"lab.json.{secrets.token_hex(4)}"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
        json.dump(description, output, indent=1)
        output.write("\n")
    draft.rename(plan.LAB_JSON)
