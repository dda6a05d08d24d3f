# SPDX-License-Identifier: Apache-2.0
"""unbound: how it is started, and what is said over its control socket (unbound-control(8)).

The protocol is a line `UBCT1 COMMAND` (`UBCT` and the version), lines of data that end with one of ^D, and an
answer until it closes. It is spoken here without a program in between, in a millisecond.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from weir.adapters.local_socket import exchange
from weir.adapters.unprivileged import make_folder, without_root
from weir.model.problem import ApplyFailed, Unavailable

USER, PRODUCT = "unbound", "the name server unbound"
_MAX_ANSWER_BYTES = 16 << 20
_END = "\x04\n"
_NOT_ASKED_MS = 376
"""What unbound takes for the round trip to a server that it never asked (UNKNOWN_SERVER_NICENESS)."""


class Server(NamedTuple):
    """What unbound knows of one that it asked. `rto_ms` grows beyond `rtt_ms` with each question that gets no
    answer; `ping_ms` is the mean, 0 without any answer."""

    ping_ms: int
    rtt_ms: int
    rto_ms: int

    @property
    def reachable(self) -> bool | None:
        """Whether the last question was answered; None: none was asked."""
        if self.rto_ms > self.rtt_ms:
            return False
        return True if self.ping_ms or self.rtt_ms != _NOT_ASKED_MS else None


class Unbound:
    """One name server: its folder, its commands, its socket."""

    def __init__(self, folder: Path) -> None:
        """`folder` is empty after a start of the machine."""
        self.control = folder / "control"
        self.socket = self.control / "unbound.sock"
        self._program, self._checker = (
            shutil.which(name, path="/usr/sbin:/usr/bin") or f"/usr/sbin/{name}"
            for name in ("unbound", "unbound-checkconf")
        )

    def make_folder(self) -> None:
        """For the user that it runs as. Raises `Unavailable` where unbound is not installed."""
        make_folder(self.control, USER, PRODUCT)

    def command(self, config: Path) -> Sequence[str]:
        """In the foreground, without root's rights."""
        return (*without_root(USER, "net_bind_service"), self._program, "-d", "-p", "-c", str(config))

    def checker(self, config: Path) -> Sequence[str]:
        return (self._checker, str(config))

    def ask(self, command: str, timeout_s: float, lines: Iterable[str] = ()) -> str:
        """What it answers. Raises `ApplyFailed` (`daemon-refused`) with its words, `Unavailable`
        (`daemon-hangs`, `daemon-died`) when there is no answer in time."""
        data = "".join(f"{line}\n" for line in lines)
        request = f"UBCT1 {command}\n{data + _END if data else ''}"
        try:
            answer = exchange(
                self.socket, request.encode(), time.monotonic() + timeout_s, _MAX_ANSWER_BYTES
            ).decode("utf-8", "replace")
        except TimeoutError as error:
            text = f"dns did not answer {command} within {timeout_s:.1f} s"
            raise Unavailable(text, code="daemon-hangs") from error
        except OSError as error:
            text = f"dns cannot be asked: {error.strerror or error}"
            raise Unavailable(text, code="daemon-died") from error
        if answer.startswith("error"):
            words = " ".join(answer.split())
            raise ApplyFailed(f"dns refuses {command}: {words}", code="daemon-refused")
        return answer

    def numbers(self, timeout_s: float) -> Mapping[str, float]:
        """Its counters by name. Raises a `Problem`."""
        pairs = (line.split("=", 1) for line in self.ask("stats_noreset", timeout_s).splitlines())
        return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}

    def servers(self, timeout_s: float) -> Mapping[tuple[str, str], Server]:
        """What it knows of servers, by `ADDRESS@PORT` and the zone they are asked for. Raises a `Problem`."""
        found = {}
        for line in self.ask("dump_infra", timeout_s).splitlines():
            words = line.split()
            if len(words) > 4 and words[2] == "ttl":
                said = dict(zip(words[2::2], words[3::2], strict=False))
                server = Server(*(int(said.get(name, 0)) for name in ("ping", "rtt", "rto")))
                address, _, port = words[0].partition("@")
                found[f"{address}@{port or 53}", words[1]] = server
        return found
