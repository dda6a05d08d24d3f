# SPDX-License-Identifier: Apache-2.0
"""Who asks, and from where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weir.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a connection to the router came from, and to which of its addresses and TCP ports, as a socket of
    the router saw it; with `is_repeated` as a program repeats what sshd saw. `unknown`: why that is not
    known; then the rest says nothing."""

    address: str = ""
    reached: str = ""
    port: int = 0
    unknown: str = ""
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, proven by a credential: a session of the browser, an API token, or local access."""

    user_id: int
    username: str
    scope: Scope
    via: Literal["session", "token", "local"]
    credential_id: str
    source: str
    authenticated_at_ms: int
    must_change_password: bool = False
    credential_name: str = ""
    """What its token is called."""
    caller: Caller | None = None
    """Where the request comes from, as the router's own socket saw it; None: nobody looked."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """`secret` and `device` go into the browser's cookies and nowhere else."""

    principal: Principal
    secret: str
    csrf_token: str
    must_change_password: bool
    expires_at_ms: int
    device: str
