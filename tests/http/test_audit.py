# SPDX-License-Identifier: Apache-2.0
"""The audit trail has an entry for whatever somebody did, and for what they took away."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.http.deeds import STEPS
from tests.http.world import Client, World, registered

SILENT = {
    "backup.check_backup": "looks at a file",
    "candidate.validate_candidate": "looks at the candidate",
    "diagnosis.apply_remedy": "config.remedy; needs a finding (tests/http/test_diagnosis.py)",
    "import.import_file": "reads a file into a report of one's own; what becomes of it is told",
    "import.discard_report": "forgets that report",
    "setup.finish_setup": "before there is anybody (tests/http/test_setup.py)",
    "setup.plan_setup": "changes nothing",
    "system.accept_store": "config.accept; needs an agent that refuses the store (tests/http/test_store.py)",
    "system.restore_store": "a commit as any other; needs a damaged store (tests/http/test_store.py)",
    "wireguard-peers.make_wireguard_client": "a commit as any other (tests/kinds/test_wireguard.py)",
    "speed-test.upload_speed": "part of a run that has an entry",
    "auth.sign_in": "tests/service/test_users.py",
    "auth.sign_in_by_ssh": "tests/service/test_ssh.py",
    "auth.sign_out": "tests/service/test_users.py",
    "auth.change_password": "tests/service/test_users.py",
    "auth.end_session": "tests/service/test_users.py",
    "auth.offer_second_factor": "changes nothing",
    "auth.begin_second_factor": "tests/service/test_second_factor.py",
    "auth.remove_second_factor": "tests/service/test_second_factor.py",
    "users.remove_second_factor_of": "tests/service/test_second_factor.py",
    "security-keys.request_key": "tests/service/test_security_keys.py",
    "security-keys.offer_security_key": "changes nothing",
    "security-keys.add_security_key": "tests/service/test_security_keys.py",
    "security-keys.rename_security_key": "tests/service/test_security_keys.py",
    "security-keys.remove_security_key": "tests/service/test_security_keys.py",
    "security-keys.remove_security_key_of": "tests/service/test_security_keys.py",
}
"""Unsafe operations without an entry, or whose entry is looked at elsewhere."""


def newest(world: World) -> tuple[int, str]:
    entry = world.client()("GET", "/system/audit?limit=1").json["items"][0]
    return int(entry["id"]), str(entry["action"])


def test_whatever_somebody_does_is_in_the_audit_trail(world: World, api: Client) -> None:
    """Backup, export, and opening or discarding a candidate left no entry; a restored backup was a commit."""
    for endpoint, (action, step) in STEPS.items():
        before, _ = newest(world)
        answer = step(api)
        assert answer.status_code < 300, (endpoint, answer.text)
        number, found = newest(world)
        assert (number > before, found) == (True, action), endpoint


def test_no_operation_that_does_something_is_missing_above() -> None:
    app, operations = registered()
    methods = {rule.endpoint: rule.methods or set() for rule in app.url_map.iter_rules()}
    unsafe = {name for name in operations if methods[name] - {"GET", "HEAD", "OPTIONS"}}
    assert unsafe == (unsafe & STEPS.keys()) | SILENT.keys()


@pytest.mark.parametrize("path", ["/backup", "/export/csv"])
def test_who_may_not_take_the_configuration_leaves_no_entry_of_having_it(world: World, path: str) -> None:
    world.client()("POST", "/queues", {"name": "q"})
    before = newest(world)
    assert world.client(None)("GET", path).status_code == 401
    assert newest(world) == before


def test_what_somebody_may_not_do_is_in_the_audit_trail_once_a_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what would change something, and only of who is signed in."""
    reader, operator = world.client("read"), world.client("write")
    now = [1000.0]
    monkeypatch.setattr("weir.accounts.audit.time", SimpleNamespace(monotonic=lambda: now[0]))

    def refused() -> list[tuple[str, str]]:
        items = world.client()("GET", "/system/audit?limit=100").json["items"]
        return [(item["subject"], item["outcome"]) for item in items if item["action"] == "access.refuse"]

    for _ in range(3):
        assert reader("POST", "/queues", {"name": "q"}).status_code == 403
        assert reader("GET", "/users").status_code == 403
        assert world.client(None)("POST", "/queues", {"name": "q"}).status_code == 401
    change = {"sources": ["192.0.2.0/24"]}
    answer = operator("PATCH", "/management", change, headers={"If-Match": "*"})
    assert answer.json["code"] == "admin-only"
    expected = [("PATCH /api/v1/management", "admin-only"), ("POST /api/v1/queues", "forbidden")]
    assert refused() == expected
    now[0] += 61
    reader("POST", "/queues", {"name": "q"})
    assert refused() == [expected[1], *expected]
    for number in range(300):
        reader("DELETE", f"/queues/q{number}")
    assert refused()[0] == ("DELETE /api/v1/queues/q98", "forbidden"), "at most a hundred a minute"
