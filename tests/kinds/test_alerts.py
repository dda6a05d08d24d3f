# SPDX-License-Identifier: Apache-2.0
"""Alert targets and rules through REST and commands, and what makes no sense of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.diagnosis.texts import AILMENTS
from weir.kinds.alert_rule import CODES, SEVERITIES
from weir.model.problem import Conflict

MAIL = {
    "type": "mail",
    "server": "mail.example.net",
    "sender": "router@example.net",
    "recipients": ["noc@example.net"],
}
PASSWORD = "ju8-password"


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as found:
        yield found


def codes(answer: Any) -> set[tuple[str, str]]:
    items = answer.json.get("findings") or answer.json["warnings"]
    return {(item["code"], item["field"]) for item in items}


def put(router: Toy, **body: Any) -> Any:
    return router.api("PUT", "/alert-targets/noc", body)


def test_the_codes_are_those_of_the_diagnostics() -> None:
    assert set(CODES) == AILMENTS.keys()
    assert {ailment.severity for ailment in AILMENTS.values()} == set(SEVERITIES)


def test_a_target_by_commands_and_its_password_is_never_told(router: Toy) -> None:
    router.weir(
        *("alert-target", "add", "noc", "mail", "--server", "mail.example.net"),
        *("--from", "router@example.net", "--to", "noc@example.net", "--to", "Boss@Example.NET"),
        *("--username", "weir", "--password", "-"),
        stdin=f"{PASSWORD}\n",
    )
    shown = router.weir_json("alert-target", "show", "noc")
    assert shown["recipients"] == ["noc@example.net", "Boss@example.net"]
    assert (shown["security"], shown["password"]) == ("starttls", {"set": True})
    for path in ("/alert-targets/noc", "/alert-targets", "/revisions", "/search?q=noc"):
        assert PASSWORD not in router.api("GET", path).text
    agent = router.world.agent
    assert agent.secrets.texts(agent.kernel["alert-target", "noc"]) == {"password": PASSWORD}


def test_what_a_target_lacks_is_named(router: Toy) -> None:
    assert codes(put(router, type="mail")) == {
        ("target-incomplete", "server"),
        ("target-incomplete", "sender"),
        ("target-incomplete", "recipients"),
    }
    assert codes(put(router, type="webhook")) == {("target-incomplete", "url")}
    assert codes(put(router, **MAIL, username="weir")) == {("target-incomplete", "password")}
    assert codes(put(router, **MAIL, password=PASSWORD)) == {("target-incomplete", "username")}
    assert codes(put(router, **MAIL, username="weir", password="pässword")) == {("bad-secret", "password")}


@pytest.mark.parametrize("header", ["Host", "content-length", "X Y", "X:Y"])
def test_a_header_that_the_request_needs_itself_is_refused(router: Toy, header: str) -> None:
    body = {"type": "webhook", "url": "https://chat.example.net/", "token": "t", "header": header}
    assert codes(put(router, **body)) == {("bad-header", "header")}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/",
        "https://",
        "https://user:secret@host/",
        "https://host/#part",
        "https://host:99999/",
        "https://host/\nX: y",
        "https://host/a b",
        "chat.example.net/hook",
    ],
)
def test_a_url_that_is_none_is_refused(router: Toy, url: str) -> None:
    assert codes(put(router, type="webhook", url=url)) == {("bad-url", "url")}


@pytest.mark.parametrize(
    "mailbox",
    [
        "noc",
        "@example.net",
        "a@b@",
        "a b@example.net",
        "a@\r\nb.net",
        "a@1.2.3.4",
        "a@::1",
        "a@2001:db8::1",
        "a@[192.0.2.1]",
        "a@",
    ],
)
def test_a_mail_address_that_is_none_is_refused(router: Toy, mailbox: str) -> None:
    refused = put(router, **{**MAIL, "recipients": [mailbox]})
    assert codes(refused) == {("bad-mailbox", "recipients[0]")}
    assert codes(put(router, **{**MAIL, "sender": mailbox})) == {("bad-mailbox", "sender")}


def test_secrets_that_go_unencrypted_are_warned_of(router: Toy) -> None:
    made = put(router, **MAIL, security="none", username="weir", password=PASSWORD)
    assert codes(made) == {("password-in-the-clear", "security")}
    hook = {"type": "webhook", "url": "http://192.0.2.1/", "token": "t"}
    assert codes(router.api("PUT", "/alert-targets/chat", hook)) == {("token-in-the-clear", "url")}
    for name, scheme in (("large", "HTTP"), ("mixed", "Http")):
        made = router.api("PUT", f"/alert-targets/{name}", {**hook, "url": f"{scheme}://192.0.2.1/Path"})
        assert codes(made) == {("token-in-the-clear", "url")}
        assert made.json["url"] == "http://192.0.2.1/Path"


def test_a_rule_names_targets_that_there_are(router: Toy) -> None:
    refused = router.api("PUT", "/alert-rules/all", {"targets": ["noc", "gone"]})
    assert codes(refused) == {("unknown-alert-target", "targets")}
    put(router, **MAIL)
    made = router.api("PUT", "/alert-rules/all", {"targets": ["noc"]})
    assert made.status_code == 201 and made.json["warnings"] == []
    removed = router.api(
        "DELETE", "/alert-targets/noc", etag=router.api("GET", "/alert-targets/noc").json["etag"]
    )
    assert ("still-referenced", None) in codes(removed)
    off = router.api("PATCH", "/alert-targets/noc", {"disabled": True}, etag="r1")
    assert off.status_code == 200, off.json
    warned = router.api("GET", "/alert-rules/all").json["warnings"]
    assert [item["code"] for item in warned] == ["alert-target-disabled"]
    empty = router.api("PUT", "/alert-rules/nobody", {})
    assert codes(empty) == {("tells-nobody", "targets")}


def test_a_test_says_what_the_server_answered(router: Toy) -> None:
    put(router, **MAIL)
    assert router.weir("alert-target", "test", "noc") == "Delivered in 12 ms: 250 Ok\n"
    assert router.world.agent.alerts.asked == [{"id": "noc", "by": "admin"}]
    router.world.agent.alerts.answer = {"delivered": False, "answer": "it answered 550 no", "took_ms": 9}
    said = router.weir("alert-target", "test", "noc", code=1)
    assert said == "Not delivered in 9 ms: it answered 550 no\n"
    entries = router.api("GET", "/system/audit").json["items"]
    found = [(item["outcome"], item["detail"]) for item in entries if item["action"] == "alert.test"]
    assert found == [("failed", "it answered 550 no"), ("ok", "250 Ok")]


def test_a_test_is_for_those_who_may_write_and_of_what_is_there(router: Toy) -> None:
    put(router, **MAIL)
    reader = router.world.client("read")
    assert reader("POST", "/alert-targets/noc/test").status_code == 403
    assert router.api("POST", "/alert-targets/gone/test").status_code == 404
    router.world.agent.alerts.answer = Conflict("another test is under way", code="test-busy")
    busy = router.api("POST", "/alert-targets/noc/test")
    assert (busy.status_code, busy.json["code"]) == (409, "test-busy")


def test_the_state_has_what_is_known_and_null_for_the_rest(router: Toy) -> None:
    put(router, **MAIL)
    router.world.agent.learnt["alert-target"] = {"noc": {"waiting": 2, "last_error": "it refused"}}
    assert router.api("GET", "/alert-targets/noc/state").json["fields"] == {
        "last_delivery": None,
        "last_error": "it refused",
        "last_error_at": None,
        "waiting": 2,
        "lost": None,
    }
