# SPDX-License-Identifier: Apache-2.0
"""A router of one's own: three namespaces, FRR, a store, and a real agent that may be killed.

Everything is named after this process; `sweep` removes what a killed test run left behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from lab import frr, netns
from lab.process import PATIENCE, started_ticks
from tests.agent import traffic, warm
from tests.datapath import bpf_run
from tests.polling import WAIT_S, until
from weir.agent.options import ROUTES_SHARE
from weir.model.codec import to_stored_json
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind, Pair, Queue
from weir.store import ConfigStore, Pending
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.wire.client import AgentClient, AgentConnection

PREFIX = "weir-agent-test-"
RUN = Path("/run") if os.path.ismount("/run") else Path("/dev/shm")
"""In memory, as a router's: a container's /run may be on a disk, whose writes hold daemons up for seconds."""
PROBE_AFTER_S = 60
"""Trying the kernel's features takes as much of a processor as the agent's start. Some tests say 0."""
START_S = WAIT_S * PATIENCE
"""An agent starts in 46 to 80 s in an idle virtual machine; beside other work it has taken more than 90 s."""
_numbers = count()


class Rig:
    """client (c0) -- lan0 router wan0 -- (i0) internet; each veth pair with two queues."""

    def __init__(self) -> None:
        self.name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
        self.folder = RUN / self.name
        self.router, self.client_ns, self.internet = (f"{self.name}-{end}" for end in "rci")
        self.agent_process: subprocess.Popen[bytes] | warm.Forked | None = None
        self.has_own_run_folder = False
        """The agent and what it starts see the rig's folder of FRR where FRR looks for its own."""
        self.own_files: dict[str, str] = {}
        """Files of the rig by the place where the agent and what it starts see them."""
        self._frr: dict[str, subprocess.Popen[bytes]] = {}
        self.folder.mkdir(mode=0o755)
        (self.folder / "frr").mkdir()
        for namespace in (self.router, self.client_ns, self.internet):
            netns.create(namespace)
            netns.ip(namespace, ["link set lo up"])
        self.cable("lan0", self.client_ns, "c0")
        self.cable("wan0", self.internet, "i0")
        netns.ip(self.client_ns, ["addr add 10.64.0.2/24 dev c0", "route add default via 10.64.0.1"])
        netns.ip(self.internet, ["addr add 203.0.113.1/24 dev i0"])
        self.store = ConfigStore.open(self.folder / "weir.db", create=True)
        self.agent = AgentClient(self.folder / "agent.sock", timeout_s=30.0)

    def cable(self, router_device: str, namespace: str, device: str) -> None:
        queues = "numtxqueues 2 numrxqueues 2"
        netns.ip(
            self.router,
            [f"link add {router_device} {queues} type veth peer name {device} {queues} netns {namespace}"],
        )
        netns.ip(namespace, [f"link set {device} up"])

    # -- processes -----------------------------------------------------------------------------------

    def start_frr(self) -> None:
        """zebra and staticd (and mgmtd where there is one) with sockets of their own."""
        for daemon in frr.daemons():
            self.start_frr_daemon(daemon)

    def start_frr_daemon(self, daemon: str) -> None:
        run_dir = self.folder / "frr"
        place = partial(frr.place, self.router, run_dir)
        self._frr[daemon] = self.spawn(daemon, frr.command(daemon, run_dir), place)
        until(f"{daemon} listens", frr.vty_socket(daemon, run_dir).exists)

    def kill_frr_daemon(self, daemon: str) -> None:
        _end(self._frr.pop(daemon), signal.SIGKILL)

    def stop_frr(self) -> None:
        for process in self._frr.values():
            _end(process, signal.SIGKILL)
        self._frr.clear()
        for path in (self.folder / "frr").iterdir():
            path.unlink()

    def start_agent(self, *options: str) -> None:
        """Start the agent and wait until it runs the store's head."""
        self.spawn_agent(*options)
        until("the agent answers", self._answers, START_S)

    def spawn_agent(self, *options: str) -> None:
        """Start the agent and wait until it listens, whatever it says of the store."""
        (self.folder / "agent.sock").unlink(missing_ok=True)
        said = [
            *("--socket", str(self.folder / "agent.sock"), "--database", str(self.folder / "weir.db")),
            *("--pin-dir", str(self.folder / "bpf"), "--frr-run-dir", str(self.folder / "frr")),
            *("--capacity", "8192", "--probe-after-s", str(PROBE_AFTER_S)),
            *("--routes-share", str(ROUTES_SHARE * PATIENCE), *options),
        ]
        shown = {str(self.folder / "frr"): str(frr.RUN_FOLDER)} if self.has_own_run_folder else {}
        shown |= {file: place for place, file in self.own_files.items()}
        with (self.folder / "agent.log").open("ab") as output:
            self.agent_process = warm.start(said, self.router, shown, output.fileno())
        self._note(self.agent_process.pid)
        until("the agent listens", self._is_listening, START_S)

    def _is_listening(self) -> bool:
        """The socket's file is there a moment before."""
        self._require_agent()
        with socket.socket(socket.AF_UNIX) as handle:
            return handle.connect_ex(str(self.folder / "agent.sock")) == 0

    def give_files_to(self, uid: int) -> None:
        """The database becomes the API's user's, as it is on a router."""
        for path in (self.folder, *self.folder.glob("weir.db*")):
            os.chown(path, uid, uid)

    def kill_agent(self) -> None:
        """As a crash: no handler runs."""
        assert self.agent_process is not None
        _end(self.agent_process, signal.SIGKILL)
        self.agent_process = None

    def stop_agent(self) -> int:
        assert self.agent_process is not None
        code = _end(self.agent_process, signal.SIGTERM)
        self.agent_process = None
        return code

    def _require_agent(self) -> None:
        assert self.agent_process is not None
        if self.agent_process.poll() is not None:
            raise AssertionError(f"the agent ended: {self.agent_log()[-2000:]}")

    def _answers(self) -> bool:
        self._require_agent()
        if not (self.folder / "agent.sock").exists():
            return False
        try:
            status = self.status()
        except Exception:  # noqa: BLE001 - the old socket of a killed agent
            return False
        return bool(status["state"] not in ("starting",) and status["store"]["ok"])

    def agent_log(self) -> str:
        log = self.folder / "agent.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def start_dhcp_server(self, *options: str) -> subprocess.Popen[bytes]:
        """dnsmasq on i0, for leases of two minutes from 203.0.113.50 to .59."""
        run = [
            *("dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--port=0", "--user=root", "--no-ping"),
            *("--interface=i0", "--bind-interfaces", "--dhcp-authoritative"),
            "--dhcp-range=203.0.113.50,203.0.113.59,255.255.255.0,2m",
            f"--dhcp-leasefile={self.folder / 'dhcp.leases'}",
            *("--dhcp-option=option:router,203.0.113.1", "--dhcp-option=option:dns-server,192.0.2.53"),
        ]
        return self.spawn("dhcp", [*run, *options], netns.entering(self.internet))

    def spawn(
        self, name: str, command: Sequence[str], prepare: Callable[[], None] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONFAULTHANDLER": "1"},
                preexec_fn=prepare or netns.entering(self.router),
            )
        self._note(process.pid)
        return process

    def _note(self, pid: int) -> None:
        """For `remove`, with what tells it from a later process of the same number."""
        with (self.folder / "pids").open("a") as pids:
            pids.write(f"{pid} {started_ticks(pid)}\n")

    # -- what the API does ---------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return self.agent.call("status")

    def changes(self, items: Iterable[ConfigObject], delete: Iterable[tuple[Kind, str]] = ()) -> list[Change]:
        made = [Change(item.kind, item.id, self._stored(item.kind, item.id), item) for item in items]
        return made + [Change(kind, name, self._stored(kind, name), None) for kind, name in delete]

    def _stored(self, kind: Kind, name: str) -> ConfigObject | None:
        with self.store.write() as transaction:
            found = transaction.stored(kind, name)
        return None if found is None else found.object

    def commit(
        self,
        *items: ConfigObject,
        delete: Iterable[tuple[Kind, str]] = (),
        confirm_within_s: int | None = None,
    ) -> dict[str, Any]:
        """Store and agent, in the order of the commit protocol; the agent's answer."""
        changes = self.changes(items, delete)
        with self.agent.connection() as connection:
            with self.store.write() as transaction:
                base = transaction.head
                revision = transaction.append(kind="commit", author="test", message="", changes=changes)
                if confirm_within_s is not None:
                    transaction.set_pending(pending_of(base, revision, confirm_within_s))
                answer = apply(connection, base, revision, changes)
            connection.call("settle", {"revision": revision})
        return answer

    def clear(self) -> None:
        """Delete all that is configured."""
        self.commit(delete=[(item.kind, item.id) for item in self.store.objects()])

    # -- traffic -------------------------------------------------------------------------------------

    def arriving(self, packets: int = 200) -> int:
        return traffic.arriving(self.client_ns, self.internet, packets)

    def rate_bps(self, direction: str, offered_bps: int, **how: Any) -> float:
        """IP bits per second that arrive of so many offered by the rig's client (or to it)."""
        return traffic.rate_bps(self.client_ns, self.internet, direction, offered_bps, **how)

    def fit_for_xdp(self) -> None:
        """As on a wire: peers compute checksums and poll; and the internet knows the way back."""
        self._set_peers("tx", "off", "gro", "on")
        netns.ip(self.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])

    @contextmanager
    def fitted_for_xdp(self) -> Iterator[None]:
        """For a rig that others use afterwards."""
        self.fit_for_xdp()
        try:
            yield
        finally:
            self._set_peers("tx", "on", "gro", "off")
            netns.ip(self.internet, ["route delete 10.64.0.0/16"])

    def _set_peers(self, *features: str) -> None:
        for namespace, device in ((self.client_ns, "c0"), (self.internet, "i0")):
            self.run("ethtool", "-K", device, *features, namespace=namespace)

    def fast_share(self, queue_id: str, direction: str) -> float:
        """The part of a queue's bytes that XDP forwarded since its class was made; 0 without traffic."""
        counted = self.counters(queue_id, direction)
        return counted["fast_bytes"] / counted["bytes"] if counted["bytes"] else 0.0

    def counters(self, queue_id: str, direction: str) -> dict[str, int]:
        """One direction's counters since its class was made (`bytes`: both paths), and its clock in ticks."""
        line = self.agent.call("slots")["slots"][queue_id] * 2 + (direction == "download")
        with self.agent.connection() as connection:
            answer, descriptors = connection.call_for_fds("counters_fd")
        given = dict(zip(answer["fds"], descriptors, strict=True))
        lines = bpf_run.map_lookup(given["class"], 0, answer["layout"]["class"]["bytes"])
        rows = {
            "class": lines[line * 64 : line * 64 + 64],
            "details": bpf_run.map_lookup(given["details"], line, 64),
        }
        for descriptor in descriptors:
            os.close(descriptor)
        found = {
            name: int.from_bytes(rows[array][place : place + size], "little")
            for array in ("class", "details")
            for name, (place, size) in answer["layout"][array]["fields"].items()
            if name.endswith(("packets", "bytes", "_us", "clock_tk"))
        }
        return {**found, "bytes": found["bytes"] + found["fast_bytes"]}

    # -- the kernel ----------------------------------------------------------------------------------

    def run(self, *command: str, namespace: str | None = None) -> str:
        """Run a command in the router's (or another) namespace."""
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=netns.entering(namespace or self.router),
        )
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr or done.stdout}")
        return done.stdout

    def json(self, *command: str) -> Any:
        return json.loads(self.run(*command) or "[]")

    def addresses(self, device: str) -> set[str]:
        (link,) = self.json("ip", "-j", "address", "show", "dev", device)
        return {
            f"{item['local']}/{item['prefixlen']}"
            for item in link.get("addr_info", ())
            if item.get("scope") == "global"
        }

    def explain(self, object_id: str, kind: Kind = "queue") -> dict[str, Any]:
        return self.agent.call("explain", {"kind": kind, "id": object_id})

    def close(self) -> None:
        self.agent.close()
        self.store.close()
        remove(self.name)


@contextmanager
def running(
    *options: str, frr: bool = False, xdp: bool = False, own_run_folder: bool = False
) -> Iterator[Rig]:
    """A rig with a running agent (with these options), with FRR or with what XDP needs; its log is printed,
    all is removed."""
    made = Rig()
    made.has_own_run_folder = own_run_folder
    try:
        if frr:
            made.start_frr()
        if xdp:
            made.fit_for_xdp()
        made.start_agent(*options)
        yield made
    finally:
        print(made.agent_log())
        made.close()


def apply(connection: AgentConnection, base: int, revision: int, changes: Sequence[Change]) -> dict[str, Any]:
    lines = [
        json.dumps(
            {"kind": c.kind, "id": c.id, "new": None if c.new is None else to_stored_json(c.new)}
        ).encode()
        for c in changes
    ]
    return connection.call(
        "apply", {"base": base, "revision": revision}, lines=("changes", lines), timeout_s=60.0
    )


def pending_of(base: int, revision: int, window_s: int) -> Pending:
    return Pending(
        revision=revision,
        base_revision=base,
        window_s=window_s,
        deadline_wall_ms=wall_ms() + window_s * 1000,
        boot_id=boot_id(),
        deadline_boottime_ms=boottime_ms() + window_s * 1000,
        token_hash=b"",
        author="test",
        created_at_ms=wall_ms(),
    )


def lan(**more: Any) -> Interface:
    return Interface("lan0", role="lan", **{"addresses": ("10.64.0.1/24", "2001:db8:64::1/64"), **more})


def wan(**more: Any) -> Interface:
    return Interface("wan0", role="wan", **{"addresses": ("203.0.113.2/24",), **more})


def queue(number: int, *, upload_bps: int = 5_000_000, download_bps: int = 20_000_000, **more: Any) -> Queue:
    """A queue of one customer, `10.64.<n>.<n>`."""
    target = (f"10.64.{1 + number // 250}.{number % 250}/32",)
    return Queue(
        f"q{number}",
        f"customer {number}",
        **{"target": target, "max_limit_bps": Pair(upload_bps, download_bps), **more},
    )


def client_queue(rate_bps: int = 100_000) -> Queue:
    """The rig's client with a limit that 200 packets at once exceed by far."""
    return Queue("client", "client", target=("10.64.0.2/32",), max_limit_bps=Pair(rate_bps, rate_bps))


def _end(process: subprocess.Popen[bytes] | warm.Forked, number: int) -> int:
    process.send_signal(number)
    try:
        return process.wait(timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # its log then says where every thread is
        process.wait()
        raise


def sweep() -> None:
    """Remove the rigs of test processes that are gone; one sweeps at a time, as all workers begin with it."""
    lock = os.open("/dev/shm", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _sweep()
    finally:
        os.close(lock)


def _sweep() -> None:
    leftovers = {path.name for path in RUN.glob(f"{PREFIX}*")}
    leftovers |= {path.name[:-2] for path in netns.NETNS_FOLDER.glob(f"{PREFIX}*-[rics]")}
    for name in leftovers:
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            remove(name)


def remove(name: str) -> None:
    """End the processes of a rig, by the pids it wrote down, and remove all it made."""
    folder = RUN / name
    pids = folder / "pids"
    started = pids.read_text().splitlines() if pids.exists() else []
    started += [path.read_text() for path in folder.glob("daemons/*/pid")]  # by the agent
    for pid, ticks in (map(int, line.split()) for line in started):
        if started_ticks(pid) == ticks:
            os.kill(pid, signal.SIGKILL)
            until(f"process {pid} has let go of its files", partial(_is_over, pid))
    for end in "rics":  # s: where a test has a second customer
        netns.remove(f"{name}-{end}")
    if os.path.ismount(folder / "bpf"):
        # Lazily: the kernel may still be letting go of a killed agent's mapped pins.
        netns.run(["umount", "--lazy", str(folder / "bpf")])
    shutil.rmtree(folder, ignore_errors=True)


def _file_of(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _is_over(pid: int) -> bool:
    """Gone, or a zombie: what it had open is closed."""
    return _file_of(pid, "stat").rpartition(b")")[2].split()[:1] in ([], [b"Z"], [b"X"])
