# SPDX-License-Identifier: Apache-2.0
"""vsftpd for anybody who asks, with one file; and the standard library's client in a namespace."""

from __future__ import annotations

import ftplib
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until

NAME, CONTENT = "hello.txt", "what a server has\n"
WAIT_S = 3.0
_CONFIGURATION = """listen=YES
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root={root}
nopriv_user=nobody
secure_chroot_dir={empty}
seccomp_sandbox=NO
xferlog_enable=NO
"""


@contextmanager
def serving(rig: Rig, namespace: str, address: str) -> Iterator[None]:
    """It listens on port 21 of the namespace."""
    folder = rig.folder / "ftp"
    for name in ("root", "empty"):
        (folder / name).mkdir(parents=True)
    (folder / "root" / NAME).write_text(CONTENT)
    configuration = folder / "vsftpd.conf"
    configuration.write_text(_CONFIGURATION.format(root=folder / "root", empty=folder / "empty"))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o644 if path.is_file() else 0o755)
    process = rig.spawn("vsftpd", ["vsftpd", str(configuration)], netns.entering(namespace))
    try:
        until("vsftpd listens", lambda: _listens(namespace, address))
        yield
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _listens(namespace: str, address: str) -> bool:
    with netns.inside(namespace), suppress(OSError), socket.create_connection((address, 21), 1):
        return True
    return False


@contextmanager
def session(namespace: str, address: str, port: int = 21, *, is_passive: bool) -> Iterator[ftplib.FTP]:
    with netns.inside(namespace), ftplib.FTP(timeout=WAIT_S) as ftp:
        ftp.connect(address, port)
        ftp.login()
        ftp.set_pasv(is_passive)
        yield ftp


def read(ftp: ftplib.FTP) -> str:
    """The file, by a data connection. Raises `ftplib.Error` or `OSError` where there is none."""
    lines: list[str] = []
    ftp.retrlines(f"RETR {NAME}", lines.append)
    return "".join(f"{line}\n" for line in lines)


def tftp_root(folder: Path) -> Path:
    """A folder with the file that anybody may read."""
    folder.mkdir(mode=0o755)
    (folder / NAME).write_text(CONTENT)
    return folder
