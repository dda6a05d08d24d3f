# SPDX-License-Identifier: Apache-2.0
"""Who is let in by an SSH key, who may change keys, and that nobody cuts off his own way unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.service.people import GOOD, HERE
from tests.service.router import Router, person
from weir.accounts.principal import Principal
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SshServer
from weir.model.problem import Conflict, Forbidden, Unauthenticated
from weir.model.scope import Scope
from weir.service.types import Edit

TICKET = "a" * 64
KEY = SshKey(
    id="laptop",
    account="desk",
    key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7zSm",
)
ON = SshServer(enabled=True)
ADMIN = person(scope="admin")


def has_account(router: Router, name: str = "desk", scope: Scope = "read") -> None:
    router.service.auth.claim(GOOD, HERE)
    router.service.users.create(person(scope="admin"), name, scope, "a rather long word 7")
    router.agent.tickets[TICKET] = {"key": KEY.id, "account": name}


def commit(router: Router, by: Principal, *edits: Edit, confirm_within_s: int | None = None) -> None:
    router.service.config.commit(by, edits, confirm_within_s=confirm_within_s)


def edit(item: SshKey | SshServer) -> Edit:
    return Edit(item.kind, item.id, item)


def test_the_token_has_the_rights_of_the_account_and_the_trail_says_which_key(router: Router) -> None:
    has_account(router, scope="support")
    token, secret = router.service.ssh.sign_in(TICKET, HERE)
    principal = router.service.auth.authenticate_token(secret, "127.0.0.1")
    assert (principal.username, principal.scope, token.owner) == ("desk", "support", "desk")
    assert token.expires_at_ms is not None
    entry = router.service.audit.list(ADMIN)[0]
    assert (entry.actor, entry.via, entry.source, entry.action) == ("desk", "ssh", HERE, "sign-in")
    assert (entry.outcome, entry.detail) == ("ok", "SSH key laptop")


def test_a_ticket_of_nobody_opens_nothing(router: Router) -> None:
    has_account(router)
    with pytest.raises(Unauthenticated) as refused:
        router.service.ssh.sign_in("b" * 64, HERE)
    assert refused.value.code == "bad-ticket"


def test_an_account_that_may_not_come_in_is_refused_and_that_is_in_the_trail(router: Router) -> None:
    has_account(router)
    admin = person(scope="admin")
    for change, why in (
        (lambda: router.service.users.update(admin, "desk", disabled=True), "is disabled"),
        (lambda: router.service.users.update(admin, "desk", disabled=False), ""),
        (lambda: router.service.users.reset_password(admin, "desk"), "one-time password"),
        (lambda: router.service.users.delete(admin, "desk"), "there is no account"),
    ):
        change()
        if not why:
            router.service.ssh.sign_in(TICKET, HERE)
            continue
        with pytest.raises(Unauthenticated, match=why):
            router.service.ssh.sign_in(TICKET, HERE)
        entry = router.service.audit.list(ADMIN)[0]
        assert (entry.action, entry.outcome) == ("sign-in", "refused") and why in entry.detail


@pytest.mark.parametrize("scope", ["write", "support"])
def test_only_administrators_change_keys_and_server(router: Router, scope: Scope) -> None:
    for item in (KEY, ON):
        with pytest.raises(Forbidden):
            commit(router, person(scope=scope), edit(item))
    commit(router, ADMIN, edit(KEY), edit(ON))
    with pytest.raises(Forbidden):
        commit(router, person(scope=scope), Edit("ssh-key", "laptop", None))
    with pytest.raises(Forbidden):
        commit(router, person(scope=scope), edit(replace(KEY, account="admin")))


def test_who_is_here_by_ssh_takes_away_his_own_way_only_with_a_way_back(router: Router) -> None:
    has_account(router, scope="admin")
    commit(router, ADMIN, edit(KEY), edit(ON))
    _, secret = router.service.ssh.sign_in(TICKET, HERE)
    me = router.service.auth.authenticate_token(secret, "127.0.0.1")
    cuts = [
        Edit("ssh-key", "laptop", None),
        edit(replace(KEY, disabled=True)),
        edit(replace(KEY, account="other")),
        edit(SshServer()),
        Edit("ssh-server", "ssh-server", None),
        edit(replace(ON, sources=("198.51.100.0/24", "2001:db8::/32"))),
    ]
    for cut in cuts:
        with pytest.raises(Conflict) as refused:
            commit(router, me, cut)
        assert refused.value.code == "cuts-off-you" and "--confirm-within" in refused.value.message
    for harmless in (
        replace(ON, port=2222),
        replace(ON, sources=("192.0.2.0/24",)),
        replace(KEY, comment="x"),
    ):
        commit(router, me, edit(harmless))
    commit(router, me, edit(SshServer()), confirm_within_s=60)
    router.service.config.revert(me)
    commit(router, ADMIN, edit(SshServer()))
