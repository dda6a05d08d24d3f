# SPDX-License-Identifier: Apache-2.0
"""Who may call what: the matrix of every operation, sessions, CSRF, throttling, headers."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from flask import Flask

from tests.http.world import Client, World, registered
from weir.accounts import totp
from weir.http.app import resources
from weir.http.endpoint import ADMIN, PUBLIC, SIGNED_IN, SUPPORT, WRITE
from weir.http.security import guard, permits
from weir.model.problem import Forbidden
from weir.model.scope import SCOPES

NEW_PASSWORD = "quite another passphrase"


def routes() -> list[tuple[str, str, str]]:
    """(method, path, scope) of every operation, with path parameters filled in."""
    app, operations = registered()
    found = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint == "static":
            continue
        path = re.sub(r"<(int|string)[^:>]*:[^>]+>", "1", rule.rule)
        path = re.sub(r"<any[^>]+>", "csv", path)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            found.append((method, path, operations[rule.endpoint].scope))
    return found


ROUTES = routes()


def test_every_operation_declares_a_known_scope() -> None:
    assert len(ROUTES) > 60
    assert {scope for _, _, scope in ROUTES} <= {PUBLIC, SIGNED_IN, *SCOPES}


def test_only_these_are_public() -> None:
    public = {path for _, path, scope in ROUTES if scope == PUBLIC}
    assert public == {
        "/api/v1/auth/sign-in",
        "/api/v1/auth/sign-in/key",
        "/api/v1/auth/ssh",
        "/api/v1/setup",
        "/api/v1/setup/plan",
        "/api/v1/system/live",
        "/api/v1/system/name",
        "/api/v1/openapi.json",
        "/api/v1/docs",
        "/api/v1/docs/style.css",
    }


def test_the_name_is_told_to_private_addresses_only(world: World) -> None:
    def told(address: str) -> Any:
        return world.client(None)("GET", "/system/name", environ_overrides={"REMOTE_ADDR": address}).json

    world.parts.stats.tick()
    notice = "<script>alert(1)</script>"
    assert told("192.168.88.20") == told("fe80::1%lan0") == {"hostname": "router", "login_banner": ""}
    world.client("admin")("PATCH", "/identity", {"login_banner": notice}, etag="built-in")
    outside = {"hostname": None, "login_banner": notice}
    assert told("9.9.9.9") == told("8.8.8.8") == told("2001:4860:4860::8888") == outside


def test_unsafe_operations_need_write_unless_listed() -> None:
    allowed = {f"/api/v1/{path}" for path in ("candidate/validate", "auth/sign-in", "setup", "setup/plan")}
    allowed.add("/api/v1/auth/sign-in/key")  # with the password
    allowed.add("/api/v1/auth/ssh")  # from the router itself only, and with a ticket
    for method, path, scope in ROUTES:
        if method != "GET" and path not in allowed:
            assert scope in (SUPPORT, WRITE, ADMIN, SIGNED_IN), (method, path)


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_the_matrix_of_scopes(shared: World, shared_api: Client, method: str, path: str, scope: str) -> None:
    if path.endswith("/stats/stream"):
        return
    nobody = shared.client(None)(method, path)
    if scope == PUBLIC:
        assert nobody.status_code != 401 or "/sign-in" in path
        return
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    for held in SCOPES:
        if not permits(scope, held):
            answer = shared.client(held)(method, path)
            assert (answer.status_code, answer.json["code"]) == (403, "forbidden"), (held, path)


@pytest.mark.parametrize("scope", ["", "root", "ADMIN", "none"])
def test_an_unknown_scope_permits_nothing(scope: str) -> None:
    assert not permits(scope, "admin")
    assert not permits("read", scope)
    assert not permits("signed-in", scope)


def test_an_operation_without_a_scope_is_refused() -> None:
    app = Flask("weir")
    app.add_url_rule("/api/v1/backdoor", "backdoor", lambda: "in")
    with app.test_request_context("/api/v1/backdoor"), pytest.raises(Forbidden, match="no scope"):
        guard({})


def test_every_view_of_every_area_is_declared() -> None:
    app, operations = registered()
    views = {rule.endpoint for rule in app.url_map.iter_rules()} - {"static"}
    assert views == operations.keys()
    assert len({resource.name for resource in resources()}) == len(resources())


def sign_in(world: World, password: str | None = None) -> tuple[Any, Any]:
    client = world.app.test_client()
    answer = client.post(
        "/api/v1/auth/sign-in", json={"username": "admin", "password": password or world.password}
    )
    return client, answer


def full_session(world: World) -> tuple[Any, dict[str, str]]:
    client, answer = sign_in(world)
    csrf = {"X-CSRF-Token": answer.json["csrf_token"]}
    body = {"old_password": world.password, "new_password": NEW_PASSWORD}
    assert client.post("/api/v1/auth/password", json=body, headers=csrf).status_code == 204
    return client, csrf


def test_signing_in_sets_a_strict_cookie(world: World) -> None:
    _, answer = sign_in(world)
    assert answer.status_code == 200
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("weir_session=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert answer.json["must_change_password"] is True
    secure = world.app.test_client().post(
        "/api/v1/auth/sign-in",
        json={"username": "admin", "password": world.password},
        base_url="https://router",
    )
    assert "Secure" in secure.headers["Set-Cookie"]


def test_the_first_password_must_be_changed(world: World) -> None:
    client, answer = sign_in(world)
    assert client.get("/api/v1/auth/me").json["must_change_password"] is True
    refused = client.get("/api/v1/queues")
    assert (refused.status_code, refused.json["code"]) == (403, "password-change-required")
    csrf = {"X-CSRF-Token": answer.json["csrf_token"]}
    weak = client.post(
        "/api/v1/auth/password", json={"old_password": world.password, "new_password": "1"}, headers=csrf
    )
    assert weak.status_code == 422
    client, _ = full_session(world)
    assert client.get("/api/v1/queues").status_code == 200


def test_an_unsafe_method_needs_the_csrf_token(world: World) -> None:
    client, csrf = full_session(world)
    for headers in ({}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": "\u00e9"}):
        answer = client.post("/api/v1/queues", json={"name": "x"}, headers=headers)
        assert (answer.status_code, answer.json["code"]) == (403, "csrf")
    assert client.post("/api/v1/queues", json={"name": "x"}, headers=csrf).status_code == 201
    assert client.get("/api/v1/auth/me").json["csrf_token"] == csrf["X-CSRF-Token"]


def test_a_request_from_another_site_is_refused(world: World) -> None:
    client = world.app.test_client()
    answer = client.post(
        "/api/v1/auth/sign-in",
        json={"username": "admin", "password": world.password},
        headers={"Sec-Fetch-Site": "cross-site"},
    )
    assert (answer.status_code, answer.json["code"]) == (403, "cross-site")


def test_signing_out_ends_the_session(world: World) -> None:
    client, csrf = full_session(world)
    secret = client.get_cookie("weir_session").value
    assert client.post("/api/v1/auth/sign-out", headers=csrf).status_code == 204
    client.set_cookie("weir_session", secret)
    assert client.get("/api/v1/queues").status_code == 401


def test_a_browser_that_has_signed_in_before_is_let_in_while_others_guess(world: World) -> None:
    browser, answer = sign_in(world)
    cookies = answer.headers.getlist("Set-Cookie")
    (device,) = [text for text in cookies if text.startswith("weir_device=")]
    assert "HttpOnly" in device and "SameSite=Strict" in device and "Path=/api/v1/auth/sign-in" in device
    while sign_in(world, "wrong password")[1].status_code == 401:
        pass
    assert sign_in(world)[1].status_code == 429
    body = {"username": "admin", "password": world.password}
    assert browser.post("/api/v1/auth/sign-in", json=body).status_code == 200


def test_guessing_is_throttled(world: World) -> None:
    answers = [sign_in(world, f"guess {number}")[1] for number in range(12)]
    assert answers[0].status_code == 401
    last = answers[-1]
    assert (last.status_code, last.json["code"]) == (429, "throttled")
    assert int(last.headers["Retry-After"]) > 0


def test_the_wrong_name_and_the_wrong_password_look_alike(world: World) -> None:
    client = world.app.test_client()
    bodies = [{"username": name, "password": "wrong"} for name in ("admin", "nobody")]
    answers = [client.post("/api/v1/auth/sign-in", json=body) for body in bodies]
    assert answers[0].json == answers[1].json


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Bearer " + "x" * 600, "Bearer weir_no", "x"])
def test_a_bad_credential_is_401_even_with_a_good_cookie(world: World, header: str) -> None:
    client, _ = full_session(world)
    assert client.get("/api/v1/queues", headers={"Authorization": header}).status_code == 401


def test_a_revoked_token_stops_at_once(world: World) -> None:
    admin = world.client()
    made = admin("POST", "/tokens", {"name": "ci", "scope": "read"}).json
    reader = Client(world.app.test_client(), made["secret"])
    assert reader("GET", "/queues").status_code == 200
    assert admin("DELETE", f"/tokens/{made['id']}").status_code == 204
    assert reader("GET", "/queues").status_code == 401
    assert made["secret"] not in admin("GET", "/tokens").text


def test_a_second_factor_is_asked_for(world: World) -> None:
    client, csrf = full_session(world)
    none = {"since": None, "app": False, "recovery_codes_left": 0}
    assert client.get("/api/v1/auth/second-factor").json == none
    offer = client.post("/api/v1/auth/second-factor/offer", headers=csrf).json
    assert offer["qr_svg"].startswith("<") and offer["secret"] in offer["uri"]
    code = totp.code_at(offer["secret"], time.time_ns() // 30_000_000_000)
    body = {"secret": offer["secret"], "code": code, "password": NEW_PASSWORD}
    made = client.put("/api/v1/auth/second-factor", json=body, headers=csrf)
    assert (made.status_code, len(made.json["recovery_codes"])) == (200, 8)
    assert made.headers["Cache-Control"] == "no-store"
    assert client.get("/api/v1/auth/second-factor").json["recovery_codes_left"] == 8
    _, refused = sign_in(world, NEW_PASSWORD)
    assert (refused.status_code, refused.json["code"]) == (401, "code-needed")
    again = world.app.test_client()
    body = {"username": "admin", "password": NEW_PASSWORD, "code": made.json["recovery_codes"][0]}
    assert again.post("/api/v1/auth/sign-in", json=body).json["user"]["second_factor_since"] is not None
    removed = client.post("/api/v1/auth/second-factor/remove", json={"password": NEW_PASSWORD}, headers=csrf)
    assert removed.status_code == 204
    assert sign_in(world, NEW_PASSWORD)[1].status_code == 200


def test_a_token_sets_no_second_factor(world: World) -> None:
    refused = world.client()("POST", "/auth/second-factor/offer")
    assert (refused.status_code, refused.json["code"]) == (403, "session-needed")


def test_accounts_are_managed_and_audited(world: World) -> None:
    admin = world.client()
    made = admin("POST", "/users", {"username": "ops", "scope": "write"})
    assert made.status_code == 201
    assert made.json["one_time_password"]
    assert admin("PATCH", "/users/ops", {"scope": "read"}).json["scope"] == "read"
    assert admin("POST", "/users/ops/password-reset").json["one_time_password"]
    assert admin("DELETE", "/users/ops").status_code == 204
    assert admin("GET", "/users/ops").status_code == 404
    assert admin("DELETE", "/users/admin").status_code == 409
    entries = admin("GET", "/system/audit").json["items"]
    assert {"user.create", "user.update", "password.reset", "user.delete"} <= {
        item["action"] for item in entries
    }
    assert made.json["one_time_password"] not in admin("GET", "/system/audit").text


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/system/live", "/api/v1/queues", "/api/v1/docs", "/nothing/here"]
)
def test_every_answer_carries_the_security_headers(shared: World, shared_api: Client, path: str) -> None:
    answer = shared.app.test_client().get(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
