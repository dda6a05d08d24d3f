# SPDX-License-Identifier: Apache-2.0
"""Daemons that run as a user of their own, with the few rights that they need and none of root's."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from weir.model.problem import Unavailable

_APPARMOR = Path("/sys/kernel/security/apparmor")
"""setpriv(1) looks here, too: a kernel that has AppArmor on shows nothing until securityfs is mounted."""


def without_root(user: str, *capabilities: str, group: str = "", outlives: bool = True) -> tuple[str, ...]:
    """What stands before a command; `capabilities` are named as setpriv(1) names them. The group is the
    user's unless it is named; what does not outlive the thread that starts it is killed with it."""
    rights = ",".join(("-all", *(f"+{name}" for name in capabilities)))
    return (
        *("setpriv", f"--reuid={user}", f"--regid={group or user}", "--clear-groups", "--no-new-privs"),
        *(() if outlives else ("--pdeathsig=KILL",)),
        *(
            f"--inh-caps={rights}",
            f"--ambient-caps={rights}",
            f"--bounding-set={rights}",
            *_unconfined(),
            "--",
        ),
    )


def _unconfined() -> tuple[str, ...]:
    """Options of setpriv(1). Debian's profiles allow daemons Debian's folders only; where AppArmor is off,
    setpriv refuses the word."""
    return ("--apparmor-profile", "unconfined") if _APPARMOR.exists() else ()


def user_id(user: str, product: str) -> int:
    """Raises `Unavailable` where the product is not installed: its package makes its user."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError as error:
        text = f"{product} is not installed: there is no user {user}"
        raise Unavailable(text, code="program-missing") from error


def make_folder(path: Path, user: str, product: str) -> None:
    """One that is the user's alone; those above it that are made let everybody through, whatever the umask.
    Raises `Unavailable` where it cannot be made."""
    uid = user_id(user, product)
    made = [above for above in path.parents if not above.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for above in made:
            above.chmod(0o755)
        path.chmod(0o750)
        os.chown(path, uid, pwd.getpwuid(uid).pw_gid)
    except OSError as error:
        raise Unavailable(
            f"{error.filename} cannot be made: {error.strerror}", code="daemon-files"
        ) from error
