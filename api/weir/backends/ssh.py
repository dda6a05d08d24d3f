# SPDX-License-Identifier: Apache-2.0
"""sshd: the command line for those with a key (docs/adr/0236).

sshd reads its files again by SIGHUP and keeps its sessions; keys are read at each sign-in. It cannot be asked
what it has, but writes its process id into a file once it listens: the file's name follows from the
configuration, so it tells which one sshd has read.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weir.adapters import files, ssh_sessions
from weir.adapters.daemon import Daemon, Program
from weir.adapters.process import run
from weir.backends.backend import Comparison, Look
from weir.backends.daemons import DaemonBackend, DaemonDifference, DaemonState
from weir.backends.ssh_config import CONF, KEYS, Opened, Place, gone, opened_by, pid_file_of, texts
from weir.kinds.ssh_server import SSH_USER
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Invalid, Unavailable
from weir.model.ssh_keys import ssh_key
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line
from weir.parts.ssh import SshWanted
from weir.store.clock import wall_ms

UNIT = "weir-ssh.service"
HOST_KEYS = {"ed25519": (), "ecdsa": ("-b", "256")}
SECRET_BYTES = 32
SAID_MOST_BYTES = 256 << 10
"""What sshd prints of strangers is in memory: beyond this it is forgotten."""
_REFUSED = re.compile(
    r"^(?:Invalid user|User \S+ from \S+ not allowed|Failed \S+ for|Unable to negotiate|drop connection|"
    r"error: maximum authentication|(?:Connection (?:closed|reset)|Disconnected) (?:by|from) authenticating)"
)
_UNSEEN = re.compile(r"[^ -~]")


class SshBackend(DaemonBackend[SshWanted]):
    """With `is_unit` systemd runs sshd, as a unit of the image. `lasting` is a folder of root's own for the
    keys by which people know the router. `learn`, `learn_keys` and `opened` may be called by any thread."""

    learns = ("ssh-server",)

    def __init__(self, folder: Path, lasting: Path, *, is_unit: bool = False) -> None:
        self._folder, self._lasting, self._is_unit = folder, lasting / "ssh", is_unit
        self._said, self._known = folder / "said", SshWanted()
        self._refused: tuple[str, int] | None = None
        """The last refusal, and when it was seen."""
        self._lock = threading.Lock()
        self._keygen, sshd = (
            shutil.which(name, path="/usr/bin:/usr/sbin") or f"/usr/sbin/{name}"
            for name in ("ssh-keygen", "sshd")
        )
        self._place = Place(
            folder,
            folder / "config",
            [self._lasting / f"ssh_host_{kind}_key" for kind in HOST_KEYS],
            shutil.which("cat", path="/usr/bin:/bin") or "/bin/cat",
            sys.executable,
        )

        def command(config: Path) -> Sequence[str]:
            return (sshd, "-D", "-e", "-f", str(config / CONF))

        def check(config: Path) -> Sequence[str]:
            return (sshd, "-t", "-f", str(config / CONF))

        super().__init__(Daemon(Program("ssh", command, check), folder, UNIT if is_unit else ""))

    # -- what it has -----------------------------------------------------------------------------------------

    def files(self, wanted: SshWanted) -> Mapping[str, str]:
        self._known = wanted
        return texts(wanted, self._place, self._secret()) if wanted.server.enabled else {}

    def expected(self, wanted: SshWanted) -> object:
        return pid_file_of(self.files(wanted).get(CONF, ""))

    def loaded(self, timeout_s: float) -> object:
        """The file by which the running process says which configuration it has read."""
        process = self.daemon.identity()
        for path in self._folder.glob("listens.*"):
            with contextlib.suppress(OSError, ValueError):
                if process is not None and int(path.read_text(encoding="ascii")) == process[0]:
                    return str(path)
        raise Unavailable("it does not listen yet", code="daemon-hangs")

    # -- what it is given ------------------------------------------------------------------------------------

    def check(self, difference: DaemonDifference, deadline_s: float) -> None:
        try:
            pwd.getpwnam(SSH_USER)
        except KeyError as error:
            text = f"this machine has no user {SSH_USER}, as which sessions run"
            raise Unavailable(text, code="program-missing") from error
        self._make_host_keys()
        super().check(difference, deadline_s)

    def apply(self, difference: DaemonDifference) -> None:
        before, after = (found.get(KEYS, "") for found in (difference.held.files, difference.wanted))
        if difference.wanted:
            self._make_folders()
        super().apply(difference)
        ended = None if not difference.wanted else gone(before, after)
        if ended is None or ended:
            ssh_sessions.end(SSH_USER, ended)

    def start(self, deadline_s: float) -> None:
        for path in self._folder.glob("listens.*"):
            path.unlink(missing_ok=True)
        super().start(deadline_s)

    def reload(self) -> None:
        """Keys are read at each sign-in: where only they are others, nothing is to be said to sshd."""
        with contextlib.suppress(Unavailable):
            if self.loaded(0.0) == pid_file_of(self.daemon.read().get(CONF, "")):
                return
        self.daemon.reload()

    def explain(
        self,
        found: Comparison[DaemonState, SshWanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """Of kinds that are its own only: the banner is the identity's."""
        if item.kind.startswith("ssh"):
            yield from super().explain(found, item, told)

    def effects(self, look: Look[DaemonState, SshWanted, DaemonDifference]) -> Iterator[Effect]:
        yield from super().effects(look)
        held, difference = look.held, look.difference
        if held.process is None:
            return
        if not difference.wanted:
            yield from for_each(look.changed_of("ssh-server"), "resets", "open SSH sessions end")
            return
        ended = gone(held.files.get(KEYS, ""), difference.wanted.get(KEYS, ""))
        changed = [(kind, name) for kind, name in look.changed_of("ssh-key") if name in ended]
        yield from for_each(changed, "resets", "open sessions with this key end")

    def _make_folders(self) -> None:
        """The keys' file has tickets, so the folder is root's alone."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            if not self._is_unit:  # where Debian's sshd has its empty folder, which its unit makes
                Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        except OSError as error:
            raise ApplyFailed(f"{error.filename} cannot be made: {error.strerror}") from error

    def _make_host_keys(self) -> None:
        try:
            self._lasting.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ApplyFailed(f"{error.filename} cannot be made: {error.strerror}") from error
        for (kind, bits), path in zip(HOST_KEYS.items(), self._place.host_keys, strict=True):
            if not path.exists():
                draft = path.with_suffix(".new")
                draft.unlink(missing_ok=True)
                run((self._keygen, "-q", "-t", kind, *bits, "-N", "", "-C", "", "-f", str(draft)))
                Path(f"{draft}.pub").replace(f"{path}.pub")
                draft.replace(path)

    def _secret(self) -> bytes:
        """What tickets follow from: other ones after a start of the machine."""
        path = self._folder / "secret"
        with self._lock:
            try:
                found = path.read_bytes()
            except OSError:
                found = b""
            if len(found) != SECRET_BYTES:
                self._make_folders()
                found = secrets.token_bytes(SECRET_BYTES)
                files.replace(path, found)
        return found

    # -- who signs in ----------------------------------------------------------------------------------------

    def opened(self, ticket: str) -> Opened:
        """Whose ticket it is. Raises `Invalid` (`bad-ticket`) for one that opens nothing."""
        found = opened_by(ticket, self.daemon.read().get(KEYS, ""))
        if found is None:
            raise Invalid("this ticket opens nothing, or nothing any more", code="bad-ticket", path="ticket")
        return found

    # -- what it tells ---------------------------------------------------------------------------------------

    def pass_time(self) -> bool:
        """What it printed is looked at, and forgotten when it grew."""
        self._look_for_refusals()
        with contextlib.suppress(OSError):
            if self._said.stat().st_size > SAID_MOST_BYTES:
                os.truncate(self._said, 0)
        return False

    def _look_for_refusals(self) -> tuple[str, int] | None:
        with contextlib.suppress(OSError), self._said.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - SAID_MOST_BYTES, 0))
            lines = file.read().decode(errors="replace").splitlines()
            found = next((line for line in reversed(lines) if _REFUSED.match(line)), None)
            text = "" if found is None else _UNSEEN.sub("?", found.removesuffix(" [preauth]"))[:200]
            with self._lock:
                # one line equal to the last is the same event, or another one from the same port
                if text and (self._refused is None or self._refused[0] != text):
                    self._refused = (text, wall_ms())
        return self._refused

    def learn(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """What runs, and who is there; nothing while the server is off."""
        if not self.daemon.read():
            return {"ssh-server": {"running": False}}
        accounts, refused = self._accounts(), self._look_for_refusals()
        state = {
            "running": self.daemon.identity() is not None,
            "host_keys": [key for path in self._place.host_keys for key in _public(path)],
            "sessions": [
                {
                    "process": each.process,
                    "key": each.key,
                    "account": accounts.get(each.key),
                    "address": each.address,
                    "since": moment(int(each.since_s * 1000)),
                }
                for each in sorted(ssh_sessions.sessions(SSH_USER), key=lambda each: each.since_s)
            ],
            "last_refused": None if refused is None else refused[0],
            "last_refused_by": None if refused is None else moment(refused[1]),
        }
        return {"ssh-server": state}

    def learn_keys(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Of the keys that open something: what they are, and how often they are in use."""
        open_with = Counter(each.key for each in ssh_sessions.sessions(SSH_USER))
        return {
            item.id: {
                "type": key.type,
                "bits": key.bits,
                "fingerprint": key.fingerprint,
                "sessions": open_with[item.id],
            }
            for item in self._known.keys
            for key in (ssh_key(item.key),)
        }

    def _accounts(self) -> Mapping[str, str]:
        lines = self.daemon.read().get(KEYS, "").splitlines()
        return {key: account for account, key in (line.rsplit(" ", 2)[1:] for line in lines)}


def _public(path: Path) -> Iterator[dict[str, str]]:
    with contextlib.suppress(OSError, Invalid):
        found = ssh_key(Path(f"{path}.pub").read_text(encoding="ascii"))
        yield {"type": found.type, "fingerprint": found.fingerprint}
