# SPDX-License-Identifier: Apache-2.0
"""`weir-health`: after a start, find out whether this system does its work, and tell the boot loader.

The boot loader counts each start and leaves a slot after three that nobody called good. This program calls it
good when agent, kernel, routing and API have been well for a while. When they do not become well in time it
restarts the machine, but only where another slot is left to go to: a router that limps is worth more than one
that restarts for ever.
"""

from __future__ import annotations

import argparse
import http.client
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from weir.adapters.machine import restart
from weir.adapters.rauc import DEFAULT_CONFIG, Rauc
from weir.agent import logs
from weir.model.problem import Problem
from weir.wire.client import AgentClient

log = logging.getLogger(__name__)

Found = TypeVar("Found")
WELL_STATES = ("ok", "applying", "held")
"""`held`: another slot would not have another database."""
POLL_S = 1.0
ASK_AGAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`steady_s`: how long all must be well; `give_up_s`: when the system counts as broken; `ask_s`: for how
    long RAUC is asked again when it fails."""

    steady_s: float = 20.0
    give_up_s: float = 300.0
    ask_s: float = 1800.0


class Health:
    """What is looked at; each check is "" or a sentence that says what is not well."""

    def __init__(self, agent: AgentClient, api: tuple[str, int]) -> None:
        self._agent = agent
        self._api = api

    def complaint(self) -> str:
        """The first thing that is not well, "" when all is."""
        try:
            status = self._agent.call("status")
        except Problem as problem:
            return f"agent: {problem.message}"
        state = str(status.get("state"))
        if state not in WELL_STATES:
            store = status.get("store") or {}
            return f"agent: it is {state!r}: {store.get('reason') or 'see its log'}"
        for item in status.get("capabilities", ()):
            if item.get("id") == "frr" and not item.get("available"):
                return f"routing: {item.get('reason')}"
        data = status.get("data") or {}
        if data.get("state") == "failed":
            return f"data: {data.get('message')}"
        return self._api_complaint()

    def _api_complaint(self) -> str:
        connection = http.client.HTTPConnection(*self._api, timeout=5.0)
        try:
            connection.request("GET", "/api/v1/system/live")
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            return f"API: it does not answer: {error}"
        finally:
            connection.close()
        return "" if answer.status == 200 else f"API: it answers {answer.status}"


def watch(
    complaint: Callable[[], str],
    limits: Limits,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Wait until nothing was wrong for `steady_s`; "" then, or the last complaint after `give_up_s`."""
    begun = clock()
    well_since: float | None = None
    said = ""
    while True:
        wrong = complaint()
        now = clock()
        if wrong:
            well_since = None
            if wrong != said:
                log.info("not well yet: %s", wrong)
            said = wrong
            if now - begun >= limits.give_up_s:
                return wrong
        else:
            well_since = now if well_since is None else well_since
            if now - well_since >= limits.steady_s:
                return ""
        pause(POLL_S)


def insisted(
    ask: Callable[[], Found],
    limits: Limits,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Found:
    """The answer, once there is one: on a busy machine RAUC may be late, and a slot that nobody calls good is
    left after three starts. Raises the last `Problem` after `ask_s`."""
    begun, said = clock(), ""
    while True:
        try:
            return ask()
        except Problem as problem:
            if clock() - begun >= limits.ask_s:
                raise
            if problem.message != said:
                log.warning("%s; asking again every %g s", problem.message, ASK_AGAIN_S)
            said = problem.message
        pause(ASK_AGAIN_S)


def conclude(wrong: str, rauc: Rauc, restart_machine: Callable[[], None], limits: Limits) -> bool:
    """Tell the boot loader, or leave for the other slot. True when this system is good."""
    if not wrong:
        insisted(lambda: rauc.mark("good", "booted"), limits)
        log.info("this system is well; the boot loader keeps it")
        return True
    log.error("this system did not become well: %s", wrong)
    others = [slot for slot in insisted(rauc.status, limits).slots if not slot.booted and slot.good]
    if others:
        log.error("restarting; after three attempts slot %s is next", others[0].name)
        restart_machine()
    else:
        log.error("there is no other good slot: it stays as it is")
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """0 when the system was called good, 1 when not."""
    options = _parser().parse_args(argv)
    logs.configure("info")
    host, _, port = options.api.rpartition(":")
    rauc = Rauc(options.rauc_config)
    agent = AgentClient(options.socket, connections=1)
    try:
        rauc.require()
        limits = Limits(options.steady_s, options.give_up_s)
        wrong = watch(Health(agent, (host, int(port))).complaint, limits)
        return 0 if conclude(wrong, rauc, restart, limits) else 1
    except Problem as problem:
        print(f"weir-health: {problem.message}", file=sys.stderr)
        return 1
    finally:
        agent.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weir-health", description="Call this system good once it does its work."
    )
    add = parser.add_argument
    add("--socket", type=Path, default=Path("/run/weir/agent.sock"), help="the agent's socket")
    add("--api", default="127.0.0.1:8080", help="ADDRESS:PORT where the API listens")
    add("--rauc-config", type=Path, default=DEFAULT_CONFIG)
    add("--steady-s", type=float, default=Limits().steady_s, help="how long all must be well")
    add("--give-up-s", type=float, default=Limits().give_up_s, help="when the system counts as broken")
    return parser


if __name__ == "__main__":
    sys.exit(main())
