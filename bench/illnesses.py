# SPDX-License-Identifier: Apache-2.0
"""Each illness of docs/diagnosis.md on the lab's router: what an operator types, and what he reads.

    python -m bench.illnesses [E1 E2 E3 E4 E5]      all of them, as root; 5 to 10 minutes

The lab is made ill, `weir doctor` is typed until it says so, the remedy is applied as it says, and `weir
doctor` is typed until it says that it is over, under the same load where a remedy can do something about it.
Prints what was typed and what was read of the finding. Exits with 1 where a finding did not come, or did not
go.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from lab import ills, netns, plan, process
from lab.lifecycle import Access, Lab, Options

WITHIN_S = 150.0
"""A finding takes three looks of 5 s, its end six; some windows are 16 s apart."""
ASK_S = 1.0
SHOWN = 6
"""Lines of an answer."""
UNKNOWN = "What ails the system is not known"
SCANNER = plan.client_v4(0)
ROUTER = plan.LAN.router_v4


class Shell:
    """Types `weir ...` for the lab's administrator, and shows it."""

    def __init__(self, access: Access) -> None:
        self._environment = {**os.environ, "WEIR_URL": access.url, "WEIR_TOKEN": access.token}

    def type(self, *words: str) -> None:
        print("$ weir", *words, flush=True)
        said = self._run(*words).splitlines()
        print("\n".join(said[:SHOWN]), *(["..."] if len(said) > SHOWN else []), sep="\n", flush=True)

    def doctor(self, code: str) -> str | None:
        """What `weir doctor` has of a finding or of a trial for it, "" = nothing; None: it does not know."""
        rows: list[str] = []
        answer = self._run("doctor")
        if not answer.startswith("Weir ") or UNKNOWN in answer:
            return None
        for line in answer.splitlines():
            if line[:1] != " ":
                taken = f" {code} " in line
            if taken:
                rows.append(line)
        return "\n".join(rows)

    def shows(self, what: str, code: str, wanted: Callable[[str], bool]) -> None:
        """Types it until it says so. Raises LabError with what it says instead when that takes too long."""
        begun_s = time.monotonic()
        while (said := self.doctor(code)) is None or not wanted(said):
            if time.monotonic() - begun_s > WITHIN_S:
                raise netns.LabError(
                    f"`weir doctor` did not say within {WITHIN_S:.0f} s: {what}; it says: {said}"
                )
            time.sleep(ASK_S)
        print(f"$ weir doctor        # {what}, after {time.monotonic() - begun_s:.0f} s")
        print(said or f"(nothing of {code})", flush=True)

    def is_found(self, code: str) -> None:
        self.shows("sick", code, lambda said: f" {code} '" in said and not said.startswith("trial"))

    def is_over(self, code: str) -> None:
        self.shows("healed", code, lambda said: not _findings(said))

    def helps(self, code: str, subject: str, remedy: str) -> None:
        """Applies a remedy on trial and waits for its outcome; it goes back afterwards."""
        self.type("doctor", "apply", code, subject, remedy)
        self.shows("the remedy's outcome", code, lambda said: "It helped" in said)

    def _run(self, *words: str) -> str:
        command = [str(Path(sys.executable).parent / "weir"), *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip()


def _findings(said: str) -> list[str]:
    return [line for line in said.splitlines() if line[:1] != " " and not line.startswith("trial")]


def scan(shell: Shell) -> None:
    """One host fills the table of connections, where the policy lets it."""
    shell.type("firewall", "set", "--connections-per-source", "0")
    with ills.scanner(plan.CLIENT, SCANNER):
        shell.is_found("connections-full")
        shell.is_found("scan")
        shell.helps("scan", f"{SCANNER}/32", "bound-source")
        shell.is_over("scan")
    shell.type("revert")
    shell.type("firewall", "set", "--unset", "connections_per_source")


def root_lock(shell: Shell) -> None:
    """Four queues behind the one lock of a root that somebody made."""
    with ills.locked_port(plan.ROUTER):
        ills.long_root(plan.ROUTER)
        with ills.lock_senders(plan.ROUTER):
            shell.is_found("one-lock")
            shell.is_found("lock-wait")
            done(["tc", "qdisc", "del", "dev", ills.LOCKED, "root"])
            shell.is_over("lock-wait")
            shell.is_over("one-lock")


def late_softirq(shell: Shell) -> None:
    """A port's timers wait on a core that works at SYNs which walk a crowd."""
    with ills.paced_port(plan.ROUTER, plan.LAN.router_device), ills.syn_bursts(plan.CLIENT, ROUTER):
        with ills.listeners(plan.ROUTER, ROUTER):
            shell.is_found("softirq-late")
            print("# the program with the sockets is ended")
        shell.is_over("softirq-late")


def crowd(shell: Shell) -> None:
    """Thousands of sockets on one address, and SYNs to it."""
    with syns():
        with ills.listeners(plan.ROUTER, ROUTER):
            shell.is_found("crowded-listener")
            shell.is_found("long-softirq")
            print("# the program with the sockets is ended")
        shell.is_over("long-softirq")
        shell.is_over("crowded-listener")


def routes(shell: Shell) -> None:
    """A table of a million routes, and a second lookup for each packet."""
    shell.type("tuning", "set", "reverse-path-v4", "1")
    shell.is_found("second-lookup")
    shell.type("tuning", "reset", "reverse-path-v4")
    shell.is_over("second-lookup")
    with ills.many_routes(plan.ROUTER, plan.WAN.peer_v4):
        look_again()
        shell.is_found("slow-route-lookup")
    look_again()
    shell.shows("it was looked at", "route_lookups:", lambda said: said.startswith("figure"))
    shell.is_over("slow-route-lookup")


ILLNESSES: dict[str, Callable[[Shell], None]] = {
    "E1": scan,
    "E2": root_lock,
    "E3": late_softirq,
    "E4": crowd,
    "E5": routes,
}


@contextmanager
def syns() -> Iterator[None]:
    """SYNs from the client until the end of the block."""
    over = threading.Event()

    def send() -> None:
        while not over.is_set():
            ills.send_syns(plan.CLIENT, ROUTER, 100)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def done(command: list[str]) -> None:
    print("#", *command, flush=True)
    netns.run(["ip", "netns", "exec", plan.ROUTER, *command])


def look_again() -> None:
    """Routes are looked up every ten minutes, and when the agent starts; the lab starts it again."""
    pid = process.remembered("agent")
    if pid is not None:
        print("# the agent starts again", flush=True)
        os.kill(pid, signal.SIGTERM)
        process.wait_for("another agent", lambda: process.remembered("agent") not in (None, pid))


@contextmanager
def lab(port: int) -> Iterator[Shell]:
    """A lab of one's own without queues and traffic, kept running."""
    made = Lab(Options(port=port, traffic=False, queues=False))
    over = threading.Event()
    with ExitStack() as stack:
        stack.callback(made.stop)
        shell = Shell(made.start())
        keeper = threading.Thread(target=partial(made.keep_running, over.is_set))
        keeper.start()
        stack.callback(keeper.join)
        stack.callback(over.set)
        yield shell


def main() -> int:
    chosen = sys.argv[1:] or list(ILLNESSES)
    if unknown := set(chosen) - ILLNESSES.keys():
        sys.exit(f"there is no illness {', '.join(sorted(unknown))}: {', '.join(ILLNESSES)}")
    failed = []
    with lab(plan.DEFAULT_PORT) as shell:
        for name in chosen:
            print(f"\n== {name}: {(ILLNESSES[name].__doc__ or '').strip()}", flush=True)
            try:
                ILLNESSES[name](shell)
            except netns.LabError as error:
                print(f"{name} failed: {error}", flush=True)
                failed.append(name)
    print(f"\n{len(chosen) - len(failed)} of {len(chosen)} found and healed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
