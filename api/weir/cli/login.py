# SPDX-License-Identifier: Apache-2.0
"""Where the router is and how to prove who we are: the environment, or a file that only the user reads."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:8080"


class LoginError(Exception):
    """The login file cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Login:
    """`token_id` is known for tokens that `weir login` made, so that `weir logout` can revoke them."""

    url: str
    token: str | None
    token_id: str | None = None


def path() -> Path:
    """`$XDG_CONFIG_HOME/weir/login.json`."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "weir" / "login.json"


def read() -> Login | None:
    """The saved login. Raises LoginError when others can read the file or it is damaged."""
    file = path()
    try:
        mode = file.stat().st_mode
        if mode & 0o077:
            raise LoginError(f"{file} can be read by others; run: chmod 600 {file}")
        found = json.loads(file.read_text(encoding="utf-8"))
        return Login(str(found["url"]), str(found["token"]), found.get("token_id"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LoginError(f"{file} is not a login file: {error}") from error


def write(login: Login) -> Path:
    """Save with mode 0600 from the first byte on."""
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump({"url": login.url, "token": login.token, "token_id": login.token_id}, out)
    draft.replace(file)
    return file


def forget() -> None:
    path().unlink(missing_ok=True)


def resolve(url: str | None, token: str | None) -> Login:
    """Options and environment before the file, whose token goes to its own URL only."""
    saved = read() if token is None else None
    if saved is not None and url in (None, saved.url):
        return saved
    return Login(url or DEFAULT_URL, token)
