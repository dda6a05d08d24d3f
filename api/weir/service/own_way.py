# SPDX-License-Identifier: Apache-2.0
"""Nobody takes away the way by which he is at the router without a way back: a session of SSH."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SshServer
from weir.model.document import Change
from weir.model.problem import Conflict
from weir.service.request import Request
from weir.service.types import Principal

_NAME = re.compile(r"SSH key (\S+) from (\S+)")


def name_of(key: str, source: str) -> str:
    """What the token of a session is called, by which its way is known again."""
    return f"SSH key {key} from {source}"


def require_way_back(by: Principal, request: Request, changes: Sequence[Change]) -> None:
    """Raises `Conflict` (`own-way`) where changes take away the key or the server by which the caller is
    here, and nothing takes them back unless he confirms them."""
    found = _NAME.fullmatch(by.credential_name)
    if found is None or request.confirm_within_s is not None:
        return
    for change in changes:
        why = _why_cut(change, found[1], found[2])
        if why:
            text = (
                f"{why}, and you are here by it: commit it with --confirm-within, so that it is taken back "
            )
            raise Conflict(
                text + "unless you confirm it in time", code="own-way", path=f"{change.kind}/{change.id}"
            )


def _why_cut(change: Change, key: str, source: str) -> str:
    old, new = change.old, change.new
    if change.kind == SshKey.kind and change.id == key:
        if new is None:
            return f"SSH key {key} would be gone"
        if isinstance(new, SshKey) and isinstance(old, SshKey):
            is_other = (new.key, new.account, new.disabled) != (old.key, old.account, old.disabled)
            return f"SSH key {key} would open something else or nothing" if is_other else ""
    if change.kind == SshServer.kind:
        if not isinstance(new, SshServer) or not new.enabled:
            return "the SSH server would be off"
        if new.sources and not _is_within(source, new.sources):
            return f"{source} would not be among the sources of the SSH server"
    return ""


def _is_within(source: str, networks: Sequence[str]) -> bool:
    try:
        address = ip_address(source.partition("%")[0])
    except ValueError:
        return False
    return any(address in ip_network(text) for text in networks)
