# SPDX-License-Identifier: Apache-2.0
"""A session of SSH: the command line of the account whose key it was, and nothing else of the router.

    python -m weir.cli.ssh KEY CONNECTION

sshd starts it for every session, whatever was asked for, as a user without rights. `KEY` names the key for
those who list sessions; CONNECTION is `SSH_CONNECTION`; what was asked for is in `SSH_ORIGINAL_COMMAND`
(sshd(8)). It shows the API the ticket of the key, which gives it a token until it ends. All sessions are one
user's, so this one lets no other read its memory, and it opens no file but those of its own code.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from weir.cli.client import ApiError, Client, Json, Unreachable
from weir.cli.group import NOT_ALLOWED, UNREACHABLE
from weir.cli.login import DEFAULT_URL
from weir.cli.main import main as weir

TICKET = "WEIR_SSH_TICKET"
_PR_SET_DUMPABLE = 4
_CODE = tuple(
    os.path.realpath(path) + "/"
    for path in {sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)}
    if path != "/"
)
_MAY_READ = ("/dev/null", "/dev/tty", "/etc/localtime", "/usr/share/zoneinfo/", "/etc/ssl/", "/etc/hosts")
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.spawn")
_ELSEWHERE = ("--url", "--token")
_LEAVE = ("exit", "quit", "logout")


def main() -> NoReturn:
    """Until the person or the connection goes. The exit code is that of the last command."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _leave)
    source = (sys.argv[2:3] or [""])[0].split(" ")[0] or "unknown"
    asked = os.environ.pop("SSH_ORIGINAL_COMMAND", "")
    token = _sign_in(os.environ.pop(TICKET, ""), source)
    os.environ["WEIR_TOKEN"], os.environ["WEIR_URL"] = token["secret"], DEFAULT_URL
    sys.addaudithook(_only_own_files)
    code = 0
    try:
        code = _run(_words(asked)) if asked else _prompt(token)
    finally:
        _sign_out(token)
    sys.exit(code)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


def _sign_in(ticket: str, source: str) -> Json:
    client = Client(DEFAULT_URL, None)
    try:
        return client.write("POST", "/auth/ssh", {"ticket": ticket, "source": source})
    except ApiError as error:
        _fail(str(error), NOT_ALLOWED)
    except Unreachable as error:
        _fail(str(error), UNREACHABLE)
    finally:
        client.close()


def _sign_out(token: Json) -> None:
    client = Client(DEFAULT_URL, token["secret"])
    with contextlib.suppress(ApiError, Unreachable):
        client.write("DELETE", f"/tokens/{token['id']}")
    client.close()


def _fail(text: str, code: int) -> NoReturn:
    click.echo(f"{click.style('error', fg='red')}: {text}", err=True)
    sys.exit(code)


def _words(line: str) -> Sequence[str]:
    """As a shell would take it apart; None of it is given to a shell."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        _refuse(f"this cannot be taken apart: {error}")
        return ()
    return words[1:] if words[:1] == ["weir"] else words


def _prompt(token: Json) -> int:
    if not sys.stdin.isatty():
        return _run(("--help",))
    click.echo(f"{token['username']} ({token['scope']}). Commands as `queue list`; `--help`; `exit`.")
    with contextlib.suppress(ImportError):  # Python may be without it: then lines are not edited
        importlib.import_module("readline")
    code = 0
    while True:
        try:
            words = _words(input("weir> "))
        except EOFError:
            click.echo()
            return code
        except KeyboardInterrupt:
            click.echo()
            continue
        if words and words[0] in _LEAVE:
            return code
        code = _run(("--help",) if list(words) == ["help"] else words) if words else code


def _run(words: Sequence[str]) -> int:
    """One command. Where it is sent, and as whom, is not for the person to say."""
    if not words:
        return 2
    if any(word.partition("=")[0] in _ELSEWHERE for word in words):
        return _refuse("a session is at this router and of its account: --url and --token are not taken")
    try:
        weir.main(args=list(words), prog_name="weir")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except KeyboardInterrupt:
        return 130
    return 0


def _refuse(text: str) -> int:
    click.echo(f"{click.style('error', fg='red')}: {text}", err=True)
    return 2


def _only_own_files(event: str, args: tuple[Any, ...]) -> None:
    """Files that a person names are on his machine: here are other people's. Nor is a program started."""
    if event == "open":
        path, _, flags = args
        if isinstance(path, int):
            return
        if not _may_open(os.path.realpath(os.fsdecode(path)), flags):
            raise PermissionError(
                1, "a session opens no files of the router; `-` is what you send", str(path)
            )
    elif event.startswith(_STARTS):
        raise PermissionError(1, "a session starts no programs")


def _may_open(path: str, flags: int) -> bool:
    if path in ("/dev/tty", "/dev/null"):
        return True
    is_read = not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    return is_read and path.startswith((*_CODE, *_MAY_READ))


if __name__ == "__main__":
    main()
