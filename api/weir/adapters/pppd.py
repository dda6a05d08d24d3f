# SPDX-License-Identifier: Apache-2.0
"""pppd for PPPoE sessions: a folder and a process for each, and what it says in words for people.

A session has its options in a file that root alone can read, as the password is in it: not on a command line,
which everybody sees. One process is one try: it ends when the session does (pppd(8), without `persist`), so
how often it is tried again is not pppd's to say.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.adapters import files
from weir.adapters.daemon import Daemon, Program
from weir.model.problem import ApplyFailed

STOP_S = 2.0
"""So long pppd has to tell the provider that a session ends; one that is not told refuses the next for a
while."""
UNIT = "weir-pppoe@{}.service"
SAID_BYTES = 16_384
"""Of what pppd says: half of it at its start, where it names addresses, and half at its end."""


class Sessions:
    """The folders of all sessions below `root`, which is on a file system that is empty after a boot."""

    def __init__(self, root: Path, *, is_unit: bool = False) -> None:
        self._root = root
        self._is_unit = is_unit

    def folder(self, name: str) -> Path:
        return self._root / name

    def names(self) -> list[str]:
        """Of those that are wanted, and of those that were."""
        try:
            return sorted(path.name for path in self._root.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []

    def options(self) -> Mapping[str, str]:
        """The options of the sessions that are wanted, by name."""
        found = ((name, _read(self.folder(name) / "options")) for name in self.names())
        return {name: text for name, text in found if text}

    def write(self, name: str, options: str) -> None:
        """Raises `ApplyFailed`."""
        folder = self.folder(name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(folder / "options", options.encode())
        except OSError as error:
            raise ApplyFailed(f"{folder} cannot be written: {error.strerror}", code="session") from error

    def remove(self, name: str) -> None:
        """Its options; what runs is ended by the dialler."""
        (self.folder(name) / "options").unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """All of it, of a session whose process has ended."""
        shutil.rmtree(self.folder(name), ignore_errors=True)

    def daemon(self, name: str) -> Daemon:
        folder = self.folder(name)
        program = Program(
            "pppd", lambda _: ("pppd", "file", str(folder / "options")), lambda _: ("/bin/true",)
        )
        return Daemon(program, folder, UNIT.format(name) if self._is_unit else "", STOP_S)

    def said(self, name: str) -> str:
        """What the present or last process printed, of much its beginning and end."""
        try:
            said = (self.folder(name) / "said").read_bytes()
        except OSError:
            return ""
        if len(said) > SAID_BYTES:
            said = said[: SAID_BYTES // 2] + b"\n" + said[-SAID_BYTES // 2 :]
        return said.decode(errors="replace")

    # -- with which options a process was started, and since when its session is up -----------------------

    def begun_with(self, name: str) -> str:
        return _read(self.folder(name) / "begun")

    def note_begun(self, name: str, options: str) -> None:
        files.replace(self.folder(name) / "begun", options.encode())
        (self.folder(name) / "up").unlink(missing_ok=True)

    def note_ended(self, name: str, *others: str) -> None:
        """`others`: further files about the process that are to be forgotten."""
        for file in ("pid", "up", *others):
            (self.folder(name) / file).unlink(missing_ok=True)

    def up_since_ms(self, name: str) -> int | None:
        """Milliseconds since boot; None: it is not known to be up."""
        text = _read(self.folder(name) / "up")
        return int(text) if text.isdecimal() else None

    def note_up(self, name: str, since_ms: int) -> None:
        files.replace(self.folder(name) / "up", str(since_ms).encode())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def options_text(lines: Sequence[tuple[str, ...]]) -> str:
    """A file of options (pppd(8), OPTIONS FILES): a word in quotes is taken as it is."""
    return "".join(f"{' '.join((name, *map(_quoted, values)))}\n" for name, *values in lines)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parent_of(options: str) -> str:
    """The interface that options name."""
    return next((line[len("nic-") :] for line in options.splitlines() if line.startswith("nic-")), "")


@dataclass(frozen=True, slots=True)
class Said:
    """What pppd said of a session; "" and None: nothing."""

    address: str = ""
    gateway: str = ""
    dns: tuple[str, ...] = ()
    concentrator: str = ""
    number: int | None = None
    ipv6_peer: str = ""
    """The provider's link-local address, where IPv6 was agreed on."""


_ADDRESS = r"(\d+\.\d+\.\d+\.\d+)"
_OWN = re.compile(rf"^local  IP address {_ADDRESS}$", re.MULTILINE)
_PEER = re.compile(rf"^remote IP address {_ADDRESS}$", re.MULTILINE)
_DNS = re.compile(rf"^(?:primary|secondary) +DNS address {_ADDRESS}$", re.MULTILINE)
_NUMBER = re.compile(r"^PPP session is (\d+)", re.MULTILINE)
_IPV6_PEER = re.compile(r"^remote LL address (fe80:[0-9a-f:]+)$", re.MULTILINE)
_MAC = re.compile(r"^Connected to ([0-9A-Fa-f:]{17}) via interface ", re.MULTILINE)


def read_said(text: str) -> Said:
    """pppd 2.4.9 and 2.5 say these in the same words (ipcp.c, ipv6cp.c, plugins/pppoe/plugin.c)."""
    patterns = (_OWN, _PEER, _NUMBER, _MAC, _IPV6_PEER)
    own, peer, number, mac, ipv6_peer = (pattern.search(text) for pattern in patterns)
    return Said(
        own[1] if own else "",
        peer[1] if peer else "",
        tuple(dict.fromkeys(_DNS.findall(text))),
        mac[1].lower() if mac else "",
        int(number[1]) if number else None,
        ipv6_peer[1] if ipv6_peer else "",
    )


REFUSED = "the provider refused the user name or the password"
SILENT = "no access concentrator answers on {parent}"
_FAILURES = (
    ("No such device", "{parent} is not there"),
    ("unrecognized option 'nic-", "{parent} is not there"),
    ("Network is down", "{parent} is down"),
    ("authentication failed", REFUSED),
    ("Failed to authenticate ourselves", REFUSED),
    ("Timeout waiting for PADO", SILENT),
    ("Timeout waiting for PADS", "the access concentrator answers, and opens no session"),
    ("PADS: Service-Name-Error", "the access concentrator does not have this service"),
    ("PADS: System-Error", "the access concentrator reports an error of its own"),
    ("PADS: Generic-Error", "the access concentrator reports an error of its own"),
    ("LCP: timeout sending", "the access concentrator opened a session and then said nothing"),
    ("echo-requests", "the provider stopped answering (keep-alive)"),
    ("IPCP: timeout sending", "the provider gave no IPv4 address"),
    ("Could not determine remote IP address", "the provider gave no IPv4 address"),
    ("terminated by peer", "the provider ended the session"),
    ("Modem hangup", "the provider ended the session"),
    ("rename interface", "another interface has its name"),
    ("/dev/ppp", "this kernel has no PPPoE"),
    ("kernel lacks", "this kernel has no PPPoE"),
    ("kernel does not support", "this kernel has no PPPoE"),
)


def failure(text: str, parent: str) -> str:
    """Why a try failed or a session ended, by what pppd said until its end; its last words where nobody here
    knows them."""
    for words, meaning in _FAILURES:
        if words in text:
            return meaning.format(parent=parent)
    lines = [line for line in _told(text) if not line.startswith(_USUAL)]
    return f"pppd said: {lines[-1]}" if lines else "pppd ended and did not say why"


_USUAL = (
    *(
        "Plugin ",
        "PPP session",
        "Connected to",
        "Renamed ",
        "Using ",
        "Connect: ",
        "Remote message",
        "peer from",
    ),
    *(
        "PAP authentication succeeded",
        "CHAP authentication succeeded",
        "local  IP",
        "remote IP",
        "local  LL",
        "remote LL",
        "primary ",
        "secondary ",
    ),
    *("Connection terminated", "Connect time", "Sent ", "Exit."),
)
"""How lines begin that are no reason for an end."""


def _told(text: str) -> Iterator[str]:
    """Its lines, the last 200 characters of each at most."""
    return (line.strip()[-200:] for line in text.splitlines() if line.strip())
