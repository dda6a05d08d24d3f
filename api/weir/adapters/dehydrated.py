# SPDX-License-Identifier: Apache-2.0
"""dehydrated: one certificate from an authority by ACME (RFC 8555), proved by HTTP (section 8.3).

It runs without rights, in a folder that is there only meanwhile. It gets a request that is signed already and
the account's key, never the key of the certificate.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weir.adapters import files
from weir.adapters.process import ENVIRONMENT
from weir.adapters.unprivileged import user_id, without_root
from weir.model.problem import ApplyFailed, Unavailable

PROGRAM = "dehydrated"
USER, GROUP = "nobody", "65534"
"""The group has another name on an image than on Debian."""
ORDER_S = 180.0
"""For all of an order: an authority may take a while to look."""
_ANSWER_S = 30
_SAID_CHARS = 400


@dataclass(frozen=True, slots=True)
class Authority:
    """Who is asked: the address of its directory, and whom it may write to."""

    directory: str
    email: str
    ca_bundle: Path


def order(authority: Authority, request: str, kept: Path, folder: Path, challenges: Path) -> str:
    """The chain in PEM that the authority signs for a request. `kept` is where the account's key stays, for
    root alone; `folder` and `challenges` are made for this order and removed.

    Raises `ApplyFailed` with the authority's words, `Unavailable` where the program is missing or the time is
    over.
    """
    with _own_folder(folder), _own_folder(challenges):
        account = folder / "account.key"
        if kept.exists():
            _give(account, kept.read_text(encoding="ascii"))
        else:
            _run(("openssl", "genrsa", "-out", str(account), "2048"))
        _give(folder / "request.csr", request)
        _give(folder / "config", config_of(authority, folder, challenges))
        command = (shutil.which(PROGRAM) or PROGRAM, "--config", str(folder / "config"), "--accept-terms")
        key = ("--privkey", str(account))
        _run((*command, *key, "--register"))
        if not kept.exists():
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(kept, account.read_bytes(), durable=True)
        return _run((*command, *key, "--signcsr", str(folder / "request.csr")))


def config_of(authority: Authority, folder: Path, challenges: Path) -> str:
    """The file is read by a shell."""
    curl = f"--cacert {authority.ca_bundle} --proto =https --connect-timeout 10 --max-time {_ANSWER_S}"
    settings = {
        "CA": authority.directory,
        "BASEDIR": str(folder),
        "WELLKNOWN": str(challenges),
        "CHALLENGETYPE": "http-01",
        "CONTACT_EMAIL": authority.email,
        "CURL_OPTS": curl,
        "LOCKFILE": "",
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())


@contextmanager
def _own_folder(path: Path) -> Iterator[None]:
    """The web server's user reads what lies in it, and nobody lists it."""
    uid = user_id(USER, PROGRAM)
    shutil.rmtree(path, ignore_errors=True)
    try:
        path.mkdir(mode=0o711, parents=True)
        path.chmod(0o711)
        os.chown(path, uid, -1)
    except OSError as error:
        raise Unavailable(f"{path} cannot be made: {error.strerror}", code="acme-folder") from error
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _give(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")
    path.chmod(0o600)
    os.chown(path, user_id(USER, PROGRAM), -1)


def _run(command: tuple[str, ...]) -> str:
    try:
        process = subprocess.Popen(
            (*without_root(USER, group=GROUP, outlives=False), *command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**ENVIRONMENT, "TMPDIR": "/tmp"},
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be run: {error.strerror}", code="program-missing") from error
    with process:
        try:
            printed, said = process.communicate(timeout=ORDER_S)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            text = f"the authority was not done within {ORDER_S:g} s"
            raise Unavailable(text, code="acme-timeout") from error
    if process.returncode != 0:
        raise ApplyFailed(_why(said + printed), code="acme-refused")
    return printed


def _why(said: str) -> str:
    """What it complained of, in one line: what comes behind the word ERROR, without the headers."""
    text = " ".join((said.rpartition("ERROR:")[2] or said).split())
    return "".join(c for c in text if c.isprintable())[-_SAID_CHARS:] or "it said nothing"
