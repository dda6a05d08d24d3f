# SPDX-License-Identifier: Apache-2.0
"""sshd's files (sshd_config(5), sshd(8) "AUTHORIZED_KEYS FILE FORMAT"), as pure texts.

A key's line has a ticket, which a session shows the API to be that account (docs/adr/0236). It follows from
a secret of this start of the machine, so the same keys give the same file.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.adapters.ssh_sessions import MODULE
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SSH_USER
from weir.model.ssh_keys import MIN_RSA_BITS
from weir.parts.ssh import SshWanted

CONF, KEYS, BANNER = "sshd_config", "keys", "banner"
TICKET = "WEIR_SSH_TICKET"
_FIXED = f"""\
AddressFamily any
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PermitRootLogin no
RequiredRSASize {MIN_RSA_BITS}
AuthorizedKeysFile none
AuthorizedKeysCommandUser root
PermitUserEnvironment {TICKET}
DisableForwarding yes
PermitUserRC no
PrintMotd no
PrintLastLog no
UseDNS no
LoginGraceTime 30
MaxAuthTries 4
MaxSessions 4
MaxStartups 10:30:60
ClientAliveInterval 30
ClientAliveCountMax 4
UnusedConnectionTimeout 60
"""
"""Users are told apart by their keys alone, and get a command line: no password, no tunnel, no file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where sshd finds its things: `config` are its files, `python` runs sessions."""

    folder: Path
    config: Path
    host_keys: Sequence[Path]
    cat: str
    python: str


@dataclass(frozen=True, slots=True)
class Opened:
    """What a ticket opens."""

    key: str
    account: str


def texts(wanted: SshWanted, place: Place, secret: bytes) -> Mapping[str, str]:
    """The files by name; none where the server is off."""
    if not wanted.server.enabled:
        return {}
    found = {KEYS: "".join(f"{line}\n" for line in _keys(wanted.keys, place, secret))}
    if wanted.banner:
        found[BANNER] = wanted.banner.rstrip("\n") + "\n"
    return {CONF: _conf(wanted, place), **found}


def pid_file_of(conf: str) -> str:
    """The file that sshd writes when it listens as this configuration says."""
    return next((line.split()[1] for line in conf.splitlines() if line.startswith("PidFile ")), "")


def _conf(wanted: SshWanted, place: Place) -> str:
    server = wanted.server
    users = [f"{SSH_USER}@{source}" for source in server.sources] or [SSH_USER]
    lines = [
        f"Port {server.port}",
        *(f"HostKey {path}" for path in place.host_keys),
        f"AuthorizedKeysCommand {place.cat} {place.config / KEYS}",
        *(f"AllowUsers {user}" for user in users),
        f"ChannelTimeout session:*={server.idle_timeout_s}",
        *((f"Banner {place.config / BANNER}",) if wanted.banner else ()),
    ]
    text = _FIXED + "".join(f"{line}\n" for line in lines)
    digest = hashlib.sha256((text + wanted.banner).encode()).hexdigest()[:16]
    return f"{text}PidFile {place.folder}/listens.{digest}\n"


def _keys(keys: Sequence[SshKey], place: Place, secret: bytes) -> Iterator[str]:
    for key in keys:
        ticket = hmac.digest(secret, f"{key.id} {key.account} {key.key}".encode(), "sha256").hex()
        command = f'exec {place.python} -I -X utf8 -m {MODULE} {key.id} \\"$SSH_CONNECTION\\"'
        options = f'restrict,pty,environment="{TICKET}={ticket}",command="{command}"'
        yield f"{options} {key.key} {key.account} {key.id}"


def opened_by(ticket: str, keys: str) -> Opened | None:
    """The key of a ticket in the file that is in force; None: it is none, or not any more."""
    found = None
    for line in keys.splitlines():
        own = line.partition(f"{TICKET}=")[2].partition('"')[0]
        if own and hmac.compare_digest(own.encode(), ticket.encode("utf-8", "replace")):
            account, key = line.rsplit(" ", 2)[1:]
            found = Opened(key, account)
    return found


def gone(before: str, after: str) -> frozenset[str]:
    """The ids of keys that open something else now, or nothing."""
    return frozenset(line.rsplit(" ", 1)[1] for line in set(before.splitlines()) - set(after.splitlines()))
