# SPDX-License-Identifier: Apache-2.0
"""A daemon that Weir starts, feeds with files and asks: one process, one folder.

It runs in a session of its own, or in a unit of systemd's that the agent starts and that has its own rights
(an image), and outlives the agent, which finds it again by its process id and start time.
Its files change all at once: they lie in a folder of their own, to which a symbolic link leads. What it
prints is kept, as it is the best there is to tell a person when it refuses or dies.

Every step has a deadline: a program that hangs costs its caller the seconds that were given, and is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.adapters import files
from weir.adapters.process import ENVIRONMENT, run
from weir.model.problem import ApplyFailed, Problem, Unavailable

POLL_S = 0.01
UNIT_S = 2.0
"""For so long it is waited for systemd to start a unit, unless more is given."""
STOP_S = 0.5
"""For so long a daemon may end by itself before it is killed, unless it is given more time."""
STABLE_S = 10.0
"""One that ends sooner after its start is started again after a pause, which doubles each time."""
FIRST_PAUSE_S, LAST_PAUSE_S = 0.5, 30.0
SAID_BYTES = 2000
"""Of what it printed last; its file never grows beyond `SAID_MOST_BYTES`."""
SAID_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """How to run one. `config` is the folder with its files, also of files that are only being checked.

    `command` stays in the foreground. `check` ends with 0 for files that it would take. `reload` is the
    signal by which it reads its files again and keeps what it does.
    """

    name: str
    command: Callable[[Path], Sequence[str]]
    check: Callable[[Path], Sequence[str]]
    reload: signal.Signals = signal.SIGHUP
    user: str | None = None


class Daemon:
    """Not thread-safe but for `identity`: one backend's."""

    def __init__(self, program: Program, folder: Path, unit: str = "", stop_s: float = STOP_S) -> None:
        """`folder` is this daemon's alone, on a file system that is empty after a start of the machine.

        With `unit` systemd runs it: that unit's command is to be the program's, and it is to print to `said`
        in the folder. It has `stop_s` to end by itself before it is killed.
        """
        self.program = program
        self.config = folder / "config"
        self._folder = folder
        self._unit = unit
        self._stop_s = stop_s
        self._child: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0
        self._is_late = False
        """systemd was asked to start the unit with these files, and nobody waited until it had."""
        self._pause_s = 0.0
        """How long it is left alone since its last start; 0 = it has not ended by itself."""

    # -- files -------------------------------------------------------------------------------------------

    def read(self) -> Mapping[str, str]:
        """The files that it was given, by name; none: it has nothing to do."""
        try:
            return {path.name: path.read_text(encoding="utf-8") for path in self.config.iterdir()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self.config} cannot be read: {error}", code="daemon-files") from error

    def check(self, content: Mapping[str, str], deadline_s: float) -> None:
        """Have the daemon's own checker look at files before anything else sees them. Raises `ApplyFailed`
        (`daemon-refused`) with its words, `Unavailable` when it is missing or takes longer."""
        draft = self._draft(content)
        try:
            self._run_checker(self.program.check(draft), deadline_s)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _run_checker(self, argv: Sequence[str], deadline_s: float) -> None:
        name = self.program.name
        try:
            checker = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=ENVIRONMENT,
                user=self.program.user,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"{argv[0]} cannot be run: {error.strerror}", code="program-missing") from error
        try:
            output, _ = checker.communicate(timeout=max(deadline_s - time.monotonic(), POLL_S))
        except subprocess.TimeoutExpired as error:
            os.killpg(checker.pid, signal.SIGKILL)
            checker.communicate()
            raise Unavailable(
                f"{name} did not finish checking its files in time", code="daemon-hangs"
            ) from error
        if checker.returncode != 0:
            said = _words(output) or f"its checker ended with {checker.returncode} and said nothing"
            raise ApplyFailed(f"{name} refuses its files: {said}", code="daemon-refused")

    def write(self, content: Mapping[str, str]) -> None:
        """Give it these files in place of all that it had, at once. Raises `ApplyFailed`."""
        self._pause_s, self._is_late = 0.0, False
        draft, link = self._draft(content), self._folder / "config.new"
        before = self.config.readlink() if self.config.is_symlink() else None
        try:
            link.unlink(missing_ok=True)
            link.symlink_to(draft.name)
            link.replace(self.config)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise ApplyFailed(f"{self.config} cannot be written: {error.strerror}") from error
        if before is not None:
            shutil.rmtree(self._folder / before, ignore_errors=True)

    def remove(self) -> None:
        """Take its files away. Raises `ApplyFailed`."""
        try:
            before = self.config.readlink() if self.config.is_symlink() else None
            self.config.unlink(missing_ok=True)
        except OSError as error:
            raise ApplyFailed(f"{self.config} cannot be removed: {error.strerror}") from error
        if before is not None:
            shutil.rmtree(self._folder / before, ignore_errors=True)

    def _draft(self, content: Mapping[str, str]) -> Path:
        draft = self._folder / f"files.{time.monotonic_ns()}"
        made = [path for path in draft.parents if not path.exists()]
        try:
            draft.mkdir(parents=True)
            for name, text in content.items():
                (draft / name).write_text(text, encoding="utf-8")
                (draft / name).chmod(0o644)
            for path in (draft, *made):  # it has a user of its own, and the agent's umask is 077
                path.chmod(0o755)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise ApplyFailed(f"{draft} cannot be written: {error.strerror}") from error
        return draft

    # -- the process -------------------------------------------------------------------------------------

    def identity(self) -> tuple[int, int] | None:
        """(process id, start time in ticks since boot) while it lives; another one is another process."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None  # it has ended, and the system may forget it
        try:
            pid, started = map(int, (self._folder / "pid").read_text(encoding="ascii").split())
        except (OSError, ValueError):
            return None
        return (pid, started) if _started(pid) == started else None

    def has_died(self) -> bool:
        """It has ended since it was started, and nobody stopped it."""
        return self.identity() is None and (self._folder / "pid").exists()

    def start(self, most_s: float = UNIT_S) -> None:
        """Raises `Unavailable` when the program is not there, when it ended soon after its last starts, or
        when systemd takes longer."""
        if not self._is_late:
            self._pace()
        self.start_at_once(most_s)

    def _pace(self) -> None:
        now_s = time.monotonic()
        if self._started_s and now_s - self._started_s < self._pause_s:
            text = f"{self.program.name} ended again and is started in a while: {self.said()}"
            raise Unavailable(text, code="daemon-died")
        is_soon = self._started_s and now_s - self._started_s < max(STABLE_S, 2 * self._pause_s)
        self._pause_s = min(max(2 * self._pause_s, FIRST_PAUSE_S), LAST_PAUSE_S) if is_soon else 0.0
        self._started_s = now_s

    def start_at_once(self, most_s: float = UNIT_S) -> None:
        """For one who makes pauses of his own. Raises `Unavailable` when the program is not there, or when
        systemd takes longer; another start then waits for that one."""
        if not self._is_late:
            (self._folder / "said").unlink(missing_ok=True)
        pid = self._start_unit(most_s) if self._unit else self._start_child()
        files.replace(self._folder / "pid", f"{pid} {_started(pid) or 0}".encode())

    def _start_unit(self, most_s: float) -> int:
        """systemd goes on with a start that nobody waits for any more, and another restart would end what has
        just been started, again and again."""
        verb, self._is_late = "start" if self._is_late else "restart", False
        try:
            run(("systemctl", verb, self._unit), timeout_s=most_s)
            shown = run(("systemctl", "show", "--property=MainPID", "--value", self._unit), timeout_s=UNIT_S)
        except Unavailable as problem:
            self._is_late = problem.code == "program-timeout"
            raise
        return int(shown)

    def _start_child(self) -> int:
        argv = self.program.command(self.config)
        said = self._folder / "said"
        try:
            with said.open("ab") as output:
                self._child = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=ENVIRONMENT,
                    user=self.program.user,
                    start_new_session=True,
                )
        except OSError as error:
            raise Unavailable(f"{argv[0]} cannot be run: {error.strerror}", code="program-missing") from error
        return self._child.pid

    def reload(self) -> None:
        """Raises `Unavailable` when it is not running."""
        if not self._signal(self.program.reload):
            raise Unavailable(f"{self.program.name} is not running", code="daemon-died")

    def can_reload(self) -> bool:
        """Whether it catches the signal of `reload`, which ends a program that does not yet."""
        found = self.identity()
        return found is not None and _catches(found[0], self.program.reload)

    def stop(self) -> None:
        """End it, by force if it does not in time. Raises a `Problem` when systemd is about to start it and
        does not give that up."""
        if self._is_late:
            run(("systemctl", "stop", "--no-block", self._unit), timeout_s=UNIT_S)
            self._is_late = False
        if self._signal(signal.SIGTERM):
            self._started_s = self._pause_s = 0.0  # it did not end by itself
            deadline_s = time.monotonic() + self._stop_s
            while self.identity() is not None and time.monotonic() < deadline_s:
                time.sleep(POLL_S)
            self._signal(signal.SIGKILL)
            while self.identity() is not None:
                time.sleep(POLL_S)
            if self._child is not None:  # until then its number is taken, and the next one finds it in use
                self._child.wait()
                self._child = None
            (self._folder / "pid").unlink(missing_ok=True)

    def _signal(self, number: signal.Signals) -> bool:
        """To that very process, not to one that has its number by now. False: it does not run."""
        found = self.identity()
        if found is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(found[0])
            try:
                if _started(found[0]) == found[1]:
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)
        return True

    def said(self) -> str:
        """What it printed last since it was started, in one line, or that it printed nothing."""
        return self._said() or "it said nothing"

    def _said(self) -> str:
        path = self._folder / "said"
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - SAID_BYTES, 0))
                said = file.read()
            if size > SAID_BYTES:  # half a line may be of a secret what nobody knows for one
                said = said.partition(b"\n")[2] or b"a line that is too long to be told"
            text = _words(said)
            if size > SAID_MOST_BYTES:
                os.truncate(path, 0)
            return text
        except OSError:
            return ""

    def wait(self, is_settled: Callable[[float], bool], deadline_s: float) -> None:
        """Until it answers that it has what it was given. `is_settled` may take until the time that it is
        told, and may raise a `Problem` while there is no answer. Raises `ApplyFailed` (`daemon-died`,
        `daemon-hangs`) with what it said."""
        name, problem, begun_s = self.program.name, "", time.monotonic()
        while time.monotonic() < deadline_s:
            if self.identity() is None:
                raise ApplyFailed(f"{name} ended: {self.said()}", code="daemon-died")
            try:
                if is_settled(deadline_s):
                    return
                problem = ""
            except Problem as error:
                problem = error.message
            time.sleep(POLL_S)
        words = "; ".join(filter(None, (problem, self._said()))) or "it said nothing"
        raise ApplyFailed(
            f"{name} has not taken its files within {time.monotonic() - begun_s:.1f} s: {words}. "
            "If the router is busy, try again later",
            code="daemon-hangs",
        )


def _started(pid: int) -> int | None:
    """The start time of a process that lives, in ticks since boot."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
    except OSError:
        return None
    words = fields.split()
    return None if words[0] in "ZX" else int(words[19])


def _catches(pid: int, number: signal.Signals) -> bool:
    """proc_pid_status(5), `SigCgt`."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    masks = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
    return any(mask >> number - 1 & 1 for mask in masks)


def _words(output: bytes) -> str:
    return " ".join(output.decode(errors="replace").split())[:SAID_BYTES]
