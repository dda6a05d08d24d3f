# SPDX-License-Identifier: Apache-2.0
"""FRR's configuration through its vtysh, for FRR 8.4 to 10.5, in whichever namespace this process is.

Ours carry the route tag `OUR_TAG`, which FRR shows in its configuration and keeps out of the kernel;
routes without it are somebody else's and are never touched. Only the lines that differ are given to FRR,
after `vtysh -C` has looked at them; what it does not hold afterwards it has not taken, whatever vtysh's exit
code says.

All that writes holds one lock: FRR 10 answers some of two writers at once with success and forgets their
lines (FRR issues 18541, 19297, 20128). Every question names the daemons that are asked, so that one that
hangs concerns nobody else.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.adapters.process import run
from weir.adapters.vty import ask
from weir.model.problem import ApplyFailed, Problem, Unavailable

OUR_TAG = 87
_TIMEOUT_S = 30.0
_PER_LINE_S = 0.0008
"""So much longer for each line of a file: 50,000 routes took vtysh more than 30 s on a busy machine. Judging
and writing them ends within what the API waits for so many changes (`weir.service.commit`)."""
_ANSWER_S = 0.3
"""A daemon that is well says its version within this."""
_BUSY_S = 10.0
"""So much longer vtysh may take while all daemons answer: the machine is busy, and none of them hangs."""
_SEEN_S = 1.0
_DAEMONS = ("zebra", "staticd")


@dataclass(frozen=True, slots=True)
class Route:
    """One static route of ours: by gateway, by gateway and interface, by interface, a blackhole, or one that
    tells senders that there is no way (`reject`)."""

    destination: str
    gateway: str | None
    interface: str | None
    blackhole: bool
    distance: int
    vrf: str | None = None
    reject: bool = False

    @property
    def line(self) -> str:
        """As FRR itself prints it in `show running-config`; the VRF, a block there, is named at the end."""
        command = "ipv6" if ":" in self.destination else "ip"
        how = [hop for hop in (self.gateway, self.interface) if hop]
        how = ["reject"] if self.reject else ["blackhole"] if self.blackhole else how
        distance = [str(self.distance)] if self.distance != 1 else []
        vrf = ["vrf", self.vrf] if self.vrf else []
        return " ".join([command, "route", self.destination, *how, "tag", str(OUR_TAG), *distance, *vrf])


class Frr:
    """One FRR instance, by the folder of its vty sockets; `work_dir` takes what vtysh is given."""

    def __init__(self, run_dir: Path, work_dir: Path) -> None:
        self._vtysh = ["vtysh", "--vty_socket", str(run_dir)]
        self._run_dir = run_dir
        self._work_dir = work_dir
        self._writing = threading.Lock()

    def down_reason(self) -> str:
        """Why static routes cannot be set now; "" when they can."""
        missing = [name for name in self._daemons() if not _listens(self._run_dir / f"{name}.vty")]
        if missing:
            return f"FRR is not running: no {' and no '.join(missing)} in {self._run_dir}"
        return ""

    def identity(self) -> tuple[object, ...]:
        """What differs after a daemon was restarted: it makes a new socket."""
        return tuple(map(_identity, (self._run_dir / f"{name}.vty" for name in self._daemons())))

    def _daemons(self) -> tuple[str, ...]:
        """Since FRR 10 the static routes are mgmtd's, which hands them to staticd and starts before it.

        An older FRR has none; one that died leaves a file.
        """
        return (*_DAEMONS, "mgmtd") if self.has_mgmtd() else _DAEMONS

    def has_mgmtd(self) -> bool:
        """Whether it is FRR 9 or later."""
        return any((self._run_dir / f"mgmtd.{kind}").exists() for kind in ("vty", "pid"))

    def router_id(self, timeout_s: float) -> str:
        """What zebra would call this router, which daemons take that were told no other id. "" = nothing.
        Raises `Unavailable`."""
        return ask(self._run_dir / "zebra.vty", "show ip router-id", timeout_s).strip().rpartition(" ")[2]

    def read_lines(self) -> frozenset[str]:
        """Our static routes in FRR's running configuration, a line each; none when it is not running."""
        if not all(_listens(self._run_dir / f"{name}.vty") for name in self._daemons() if name != "zebra"):
            return frozenset()
        printed = ask(self._run_dir / f"{self._owner()}.vty", "show running-config", _TIMEOUT_S)
        return frozenset(line for line in _with_vrfs(printed.splitlines()) if is_ours(line))

    def _owner(self) -> str:
        """The daemon that has the static routes."""
        return self._daemons()[-1]

    def shown(self, lines: Sequence[str]) -> frozenset[str]:
        """Which of some of our static routes are seen among those that zebra chooses from; none of it is seen
        while zebra is silent."""
        try:
            return self._seen(lines, is_active=False)
        except Problem:
            return frozenset()

    def reached(self, lines: Sequence[str]) -> frozenset[str]:
        """Those of which zebra finds the next hop. Raises `Unavailable` while it is silent."""
        return self._seen(lines, is_active=True)

    def _seen(self, lines: Sequence[str], *, is_active: bool) -> frozenset[str]:
        asked: dict[str, list[str]] = {}
        for line in lines:
            words = line.split()
            vrf = ["vrf", words[-1]] if words[-2] == "vrf" else []
            command = " ".join(["show", words[0], "route", *vrf, words[2], "json"])
            asked.setdefault(command, []).append(line)
        found: set[str] = set()
        for command, wanted in asked.items():
            entries = self._entries(command)
            found.update(line for line in wanted if any(_is_of(line, entry, is_active) for entry in entries))
        return frozenset(found)

    def _entries(self, command: str) -> list[Mapping[str, Any]]:
        """zebra's routes to one destination."""
        try:
            return [entry for entries in self.show("zebra", command, _SEEN_S).values() for entry in entries]
        except ApplyFailed:  # there is none
            return []

    def check(self, lines: Sequence[str]) -> None:
        """Let vtysh judge a whole file of routes. Raises `ApplyFailed` naming the line."""
        with _file(self._work_dir, lines) as path:
            run([*self._vtysh, "-C", "-f", path], timeout_s=_patience_s(lines))

    def change(self, add: Sequence[str], remove: Sequence[str]) -> None:
        """Add, then remove; but what is to have another distance goes before it comes, as FRR's `no` takes a
        next hop away at any distance. Raises `ApplyFailed` or `Unavailable`; some lines may be in force then.
        """
        again = {without_distance(line) for line in add}
        gone = {line: without_distance(line) in again for line in remove}
        before, behind = ([f"no {line}" for line in gone if gone[line] is first] for first in (True, False))
        lines = [*before, *add, *behind]
        if lines:
            reason = self.down_reason()
            if reason:
                raise Unavailable(reason, code="frr-down")
            self._write(lines, _patience_s(lines), self._owner())

    # -- blocks ------------------------------------------------------------------------------------------

    def listens(self, daemon: str) -> bool:
        return _listens(self._run_dir / f"{daemon}.vty")

    def configuration(self, daemon: str, timeout_s: float) -> str:
        """What a daemon holds, as it prints it. Raises `Unavailable` when it is silent."""
        return ask(self._run_dir / f"{daemon}.vty", "show running-config", timeout_s)

    def show(self, daemon: str, command: str, timeout_s: float) -> Any:
        """The answer to a question in JSON. Raises `Unavailable` when the daemon is silent."""
        printed = ask(self._run_dir / f"{daemon}.vty", command, timeout_s)
        try:
            return json.loads(printed or "{}")
        except ValueError as error:
            raise Unavailable(f"{daemon} has no answer to {command!r}", code="frr-answer") from error

    def _answers(self, daemon: str) -> bool:
        try:
            ask(self._run_dir / f"{daemon}.vty", "show version", _ANSWER_S)
        except Problem:
            return False
        return True

    def give(self, lines: Sequence[str], daemons: Sequence[str], timeout_s: float) -> str:
        """Check lines and have them taken; returns what FRR said against them, "" = nothing. What takes
        longer than `timeout_s` is waited for while the daemons answer, up to 10 s.

        Raises `ApplyFailed` for what is no command at all, `Unavailable` naming a daemon that is silent. What
        FRR holds then is to be read.
        """
        silent: list[str] = []

        def more_s() -> float:
            silent[:] = [name for name in daemons if not self._answers(name)]
            return 0.0 if silent else _BUSY_S

        self.check(lines)
        try:
            self._write(lines, timeout_s, more_s=more_s)
        except ApplyFailed as refused:
            return refused.message
        except Unavailable as late:
            silent = silent or [name for name in daemons if not self._answers(name)]
            words = f"{' and '.join(silent)} does not answer" if silent else late.message
            raise Unavailable(words, code="daemon-hangs") from late
        return ""

    def take_name(self, name: str) -> None:
        """Daemons that run are told what the machine is called; later ones ask the kernel. Raises
        `ApplyFailed` or `Unavailable`."""
        for path in sorted(self._run_dir.glob("*.vty")):
            if _listens(path):
                ask(path, f"hostname {name}", _ANSWER_S, within=("configure terminal",))

    def execute(self, command: str, daemon: str, timeout_s: float) -> None:
        """A command that changes no configuration. Raises `ApplyFailed` or `Unavailable`."""
        ask(self._run_dir / f"{daemon}.vty", command, timeout_s)

    def _write(
        self,
        lines: Iterable[str],
        timeout_s: float,
        daemon: str = "",
        more_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """To one daemon, or to all that know the lines. Raises `ApplyFailed` or `Unavailable`."""
        until_s = time.monotonic() + timeout_s
        if not self._writing.acquire(timeout=timeout_s):
            raise Unavailable(
                "somebody else has been changing FRR's configuration all the time", code="frr-busy"
            )
        try:
            with _file(self._work_dir, lines) as path:
                one = ["-d", daemon] if daemon else []
                left_s = max(until_s - time.monotonic(), 0.1)
                run([*self._vtysh, *one, "-f", path], timeout_s=left_s, more_s=more_s)
        finally:
            self._writing.release()


def _patience_s(lines: Sequence[str]) -> float:
    return _TIMEOUT_S + _PER_LINE_S * len(lines)


def without_distance(line: str) -> str:
    """A route's line as one of any other distance has it, too."""
    before, tag, after = line.partition(" tag ")
    number, _, vrf = after.partition(" vrf ")
    return f"{before}{tag}{number.split()[0]} {vrf}"


def _is_of(line: str, entry: Mapping[str, Any], is_active: bool) -> bool:
    """Whether one of zebra's routes is what a line asks for."""
    way, _, rest = line.partition(" tag ")
    words, distance = way.split()[3:], rest.partition(" vrf ")[0].split()[1:] or ["1"]
    is_ours = (entry.get("protocol"), entry.get("tag")) == ("static", OUR_TAG)
    if not is_ours or [str(entry.get("distance"))] != distance:
        return False
    hops = [hop for hop in entry.get("nexthops", ()) if hop.get("active") or not is_active]
    if words in (["blackhole"], ["reject"]):
        return any(hop.get(words[0]) for hop in hops)
    return any(all(word in (hop.get("ip"), hop.get("interfaceName")) for word in words) for hop in hops)


def is_ours(line: str) -> bool:
    words = line.split()
    if len(words) < 4 or line[:1].isspace() or words[0] not in ("ip", "ipv6") or words[1] != "route":
        return False
    return any(pair == ("tag", str(OUR_TAG)) for pair in pairwise(words))


def _with_vrfs(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a configuration, those of a VRF's block as one gives them outside it."""
    vrf = ""
    for line in lines:
        if line.startswith("vrf "):
            vrf = line.split()[1]
        elif not line.startswith(" "):
            vrf = ""
            yield line.rstrip()
        elif vrf:
            yield f"{line.strip()} vrf {vrf}"


def _identity(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _listens(path: Path) -> bool:
    """A socket file alone says nothing: a daemon that was killed leaves it behind."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_TIMEOUT_S)
            probe.connect(str(path))
    except OSError:
        return False
    return True


@contextmanager
def _file(folder: Path, lines: Iterable[str]) -> Iterator[str]:
    """The name of a file of configuration, for as long as it is needed: FRR's tools want one, not a pipe."""
    path = folder / "routes.conf"
    try:
        files.replace(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise ApplyFailed(
            f"{path}: the routes for FRR cannot be written: {error.strerror}", code="frr-file"
        ) from error
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)
