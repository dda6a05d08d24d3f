# SPDX-License-Identifier: Apache-2.0
"""Security keys over HTTP: what a browser is asked and answers, and where the host of a request counts."""

from __future__ import annotations

import base64
from typing import Any

from flask.testing import FlaskClient

from tests.http.world import World
from tests.service.soft_key import HOST, ORIGIN, SoftKey, soft, text_of
from weir.accounts.webauthn import KeyAnswer, NewKey

PASSWORD = "quite another passphrase"
Json = dict[str, Any]


def bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def as_json(said: NewKey | KeyAnswer) -> Json:
    fields = {name: getattr(said, name) for name in said.__slots__}
    return {name: text_of(value) if isinstance(value, bytes) else value for name, value in fields.items()}


class Browser:
    """With the router open at an origin, and a session of an account."""

    def __init__(self, world: World, origin: str, password: str = PASSWORD, name: str = "admin") -> None:
        self.name = name
        self.http: FlaskClient = world.app.test_client()
        self.origin = origin
        self.password = password
        self.headers: dict[str, str] = {}

    def __call__(self, method: str, path: str, body: Json | None = None) -> Any:
        return self.http.open(
            f"/api/v1{path}", method=method, json=body, headers=self.headers, base_url=self.origin
        )

    def sign_in(self, **more: Any) -> Any:
        body = {"username": self.name, "password": self.password, **more}
        answer = self("POST", "/auth/sign-in", body)
        if answer.status_code == 200:
            self.headers = {"X-CSRF-Token": answer.json["csrf_token"]}
        return answer

    def asked(self) -> Any:
        return self("POST", "/auth/sign-in/key", {"username": self.name, "password": self.password})


def browser(world: World, password: str | None = None, name: str = "admin") -> Browser:
    """The one-time password, of `admin` the first one, is changed on the way."""
    password = password or world.password
    assert password is not None
    found = Browser(world, ORIGIN, password, name)
    assert found.sign_in().status_code == 200
    body = {"old_password": password, "new_password": PASSWORD}
    assert found("POST", "/auth/password", body).status_code == 204
    found.password = PASSWORD
    return found


def named(world: World) -> None:
    done = world.client()("PATCH", "/identity", {"hostname": HOST}, etag="built-in")
    assert done.status_code == 200, done.text


def add(who: Browser, key: SoftKey, name: str = "blue") -> Any:
    offer = who("POST", "/auth/security-keys/offer", {"password": who.password})
    assert offer.status_code == 200, offer.text
    assert (offer.json["rp_id"], offer.json["algorithms"]) == (key.rp_id, [-7, -8, -257])
    body = {"name": name, **as_json(key.new(bytes_of(offer.json["challenge"])))}
    return who("POST", "/auth/security-keys", body)


def test_a_key_is_added_and_signed_in_with(world: World) -> None:
    named(world)
    admin, key = browser(world), soft()
    assert admin("GET", "/auth/security-keys").json == {"items": [], "origin": ORIGIN, "not_offered": None}
    made = add(admin, key)
    assert (made.status_code, len(made.json["recovery_codes"])) == (201, 8), made.text
    assert made.headers["Cache-Control"] == "no-store"
    assert admin("GET", "/auth/second-factor").json | {"since": ""} == {
        "since": "",
        "app": False,
        "recovery_codes_left": 8,
    }
    fresh = Browser(world, ORIGIN)
    refused = fresh.sign_in()
    assert (refused.status_code, refused.json["code"]) == (401, "key-needed")
    asked = fresh.asked().json
    assert (asked["rp_id"], asked["credentials"]) == (HOST, [text_of(key.credential_id)])
    answer = as_json(key.answer(bytes_of(asked["challenge"])))
    assert fresh.sign_in(key=answer).json["user"]["security_keys"] == 1
    again = Browser(world, ORIGIN).sign_in(key=answer)
    assert (again.status_code, again.json["code"]) == (401, "wrong-key")
    (item,) = fresh("GET", "/auth/security-keys").json["items"]
    assert item["last_used_at"] is not None and item["origin"] == ORIGIN
    offer = fresh("POST", "/auth/security-keys/offer", {"password": PASSWORD}).json
    assert offer["excluded"] == [text_of(key.credential_id)]
    renamed = fresh("PATCH", f"/auth/security-keys/{item['id']}", {"name": "green"})
    assert renamed.json["name"] == "green"
    removed = fresh("POST", f"/auth/security-keys/{item['id']}/remove", {"password": PASSWORD})
    assert removed.status_code == 204
    assert Browser(world, ORIGIN).sign_in().status_code == 200


def test_the_host_that_a_request_names_adds_no_name_of_the_router(world: World) -> None:
    named(world)
    admin = browser(world)
    for origin in ("https://evil.example", "https://192.168.88.1", f"http://{HOST}", f"https://x.{HOST}"):
        admin.origin = origin
        admin.http = world.app.test_client()
        admin.sign_in()
        told = admin("GET", "/auth/security-keys").json
        assert told["origin"] is None and f"https://{HOST}" in told["not_offered"]
        refused = admin("POST", "/auth/security-keys/offer", {"password": PASSWORD})
        assert (refused.status_code, refused.json["code"]) == (409, "keys-not-offered")


def test_who_stands_in_between_gets_in_with_nothing_that_the_browser_signs_there(world: World) -> None:
    """He may pass on the true name or his own; the browser signs the address that it shows."""
    named(world)
    key = soft()
    assert add(browser(world), key).status_code == 201
    own_name = Browser(world, "https://evil.example").asked()
    assert (own_name.status_code, own_name.json["code"]) == (409, "no-key-here")
    between = Browser(world, ORIGIN)
    for lying in (key.at("https://evil.example"), key.at("https://evil.example", "evil.example")):
        asked = bytes_of(between.asked().json["challenge"])
        refused = between.sign_in(key=as_json(lying.answer(asked)))
        assert (refused.status_code, refused.json["code"]) == (401, "wrong-key")


def test_a_renamed_router_takes_its_keys_where_they_were_added(world: World) -> None:
    named(world)
    key = soft()
    admin = browser(world)
    assert add(admin, key).status_code == 201
    etag = world.client()("GET", "/identity").json["etag"]
    assert world.client()("PATCH", "/identity", {"hostname": "new.example.net"}, etag=etag).status_code == 200
    fresh = Browser(world, ORIGIN)
    answer = key.answer(bytes_of(fresh.asked().json["challenge"]))
    assert fresh.sign_in(key=as_json(answer)).status_code == 200
    assert fresh("GET", "/auth/security-keys").json["origin"] is None


def test_an_administrator_removes_a_key_of_somebody_else(world: World) -> None:
    named(world)
    assert add(browser(world), soft()).status_code == 201
    admin = world.client()
    (item,) = admin("GET", "/users/admin/security-keys").json["items"]
    refused = admin("DELETE", f"/users/admin/security-keys/{item['id']}")
    assert (refused.status_code, refused.json["code"]) == (403, "own-security-key")
    assert admin("GET", "/users/nobody/security-keys").status_code == 404
    assert world.client("write")("GET", "/users/admin/security-keys").status_code == 403


def test_what_is_no_base64url_is_refused_at_its_field(world: World) -> None:
    named(world)
    admin = browser(world)
    body = as_json(soft().new(b"x" * 32))
    for field in ("credential_id", "public_key", "client_data", "authenticator_data"):
        for bad in ("", "a", "a+b/", "aaaaa", "\u00e9\u00e9", "YWJj="):
            refused = admin("POST", "/auth/security-keys", {"name": "x", **body, field: bad})
            assert (refused.status_code, refused.json["path"]) == (422, field), (field, bad)
