# SPDX-License-Identifier: Apache-2.0
"""From where a request comes is what a socket of the router saw, and a change that cuts it off is told."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.middleware.proxy_fix import ProxyFix

from tests.http.world import Client, World
from weir.accounts.principal import Caller
from weir.cli.client import Client as CommandLine
from weir.http.caller import caller_of
from weir.http.serving import REACHED

LAN = {"role": "office", "addresses": ["192.168.88.1/24"]}
OFFICE = {"reaches": ["management"]}
INNER = ("10.0.0.1", 8080)
OWN_END = ("192.168.88.1", 443)
DESK = {"REMOTE_ADDR": "192.168.88.20", REACHED: OWN_END}


def proxied(peer: str, trusted: int, **said: str) -> Caller:
    """As the application sees a request behind so many proxies that are believed."""
    seen: list[Caller] = []
    headers = {f"HTTP_{name}": value for name, value in said.items()}
    environ: dict[str, Any] = {"REMOTE_ADDR": peer, REACHED: INNER, **headers}

    def application(environ: dict[str, Any], _start: Any) -> list[bytes]:
        seen.append(caller_of(environ, trusted))
        return []

    ProxyFix(application, x_for=trusted)(environ, lambda *_: None) if trusted else application(environ, None)
    return seen[0]


FROM = {"X_FORWARDED_FOR": "192.168.88.20", "X_WEIR_REACHED": "192.168.88.1 443"}
THERE = Caller("192.168.88.20", "192.168.88.1", 443)


@pytest.mark.parametrize(
    ("peer", "trusted", "said", "expected"),
    [
        ("127.0.0.1", 1, FROM, THERE),
        ("::1", 1, FROM, THERE),
        ("127.0.0.1", 1, {**FROM, "X_FORWARDED_FOR": "203.0.113.66, 192.168.88.20"}, THERE),
        ("127.0.0.1", 2, {**FROM, "X_FORWARDED_FOR": "203.0.113.66, 192.168.88.20"}, THERE),
        ("192.168.88.20", 0, {}, Caller("192.168.88.20", "10.0.0.1", 8080)),
        ("::ffff:192.168.88.20", 0, {}, Caller("192.168.88.20", "10.0.0.1", 8080)),
        ("192.168.88.20", 1, FROM, Caller("192.168.88.20", "10.0.0.1", 8080)),
        (
            "192.168.88.20",
            1,
            {**FROM, "X_WEIR_SSH": "1.1.1.1 1 2.2.2.2 22"},
            Caller("192.168.88.20", "10.0.0.1", 8080),
        ),
        (
            "127.0.0.1",
            1,
            {"X_WEIR_SSH": "192.168.88.20 50000 192.168.88.1 22"},
            Caller("192.168.88.20", "192.168.88.1", 22, is_repeated=True),
        ),
        (
            "127.0.0.1",
            1,
            {**FROM, "X_FORWARDED_FOR": "2001:db8::7", "X_WEIR_REACHED": "2001:db8::1 443"},
            Caller("2001:db8::7", "2001:db8::1", 443),
        ),
    ],
)
def test_the_caller_is_the_last_one_outside_the_router(
    peer: str, trusted: int, said: dict[str, str], expected: Caller
) -> None:
    assert proxied(peer, trusted, **said) == expected


@pytest.mark.parametrize(
    ("peer", "trusted", "said", "why"),
    [
        ("", 0, {}, "a socket of the router"),
        ("127.0.0.1", 0, {}, "the router itself"),
        ("127.0.0.1", 0, FROM, "not believed"),
        ("127.0.0.1", 1, {**FROM, "X_FORWARDED_FOR": "127.0.0.1"}, "the router itself"),
        ("127.0.0.1", 1, {**FROM, "X_FORWARDED_FOR": "unix:"}, "not believed"),
        ("127.0.0.1", 1, {"X_FORWARDED_FOR": "192.168.88.20"}, "which of the router's addresses"),
        ("127.0.0.1", 1, {**FROM, "X_WEIR_REACHED": "192.168.88.1"}, "which of the router's addresses"),
        ("127.0.0.1", 1, {**FROM, "X_WEIR_REACHED": "192.168.88.1 99999"}, "which of the router's addresses"),
        ("127.0.0.1", 1, {**FROM, "X_WEIR_REACHED": "0.0.0.0 443"}, "which of the router's addresses"),
        ("127.0.0.1", 1, {**FROM, "X_WEIR_REACHED": "2001:db8::1 443"}, "two families"),
        ("127.0.0.1", 1, {**FROM, "X_FORWARDED_FOR": "fe80::7"}, "link-local"),
        ("fe80::7%lan0", 0, {}, "link-local"),
        ("127.0.0.1", 1, {"X_WEIR_SSH": "127.0.0.1 1 127.0.0.1 22"}, "the router itself"),
        ("127.0.0.1", 1, {"X_WEIR_SSH": "nonsense"}, "the router itself"),
    ],
)
def test_what_is_not_known_says_why(peer: str, trusted: int, said: dict[str, str], why: str) -> None:
    assert why in proxied(peer, trusted, **said).unknown


def office(api: Client) -> None:
    for path, body in (("/zones/office", OFFICE), ("/interfaces/lan0", LAN)):
        answer = api("PUT", path, body)
        assert answer.status_code == 201, answer.json


def test_a_write_that_cuts_off_the_caller_is_refused_by_rest(api: Client) -> None:
    office(api)
    etag = api("GET", "/zones/office").json["etag"]
    shut = {"reaches": ["dns"]}
    answer = api("PATCH", "/zones/office", shut, etag=etag, environ_overrides=DESK)
    assert (answer.status_code, answer.json["code"]) == (409, "cuts-off-you"), answer.json
    assert "everything else from zone office" in answer.json["detail"] and "timer" in answer.json["detail"]
    assert answer.json["path"] == "zone/office"
    far = {"REMOTE_ADDR": "127.0.0.1", REACHED: INNER}
    assert api("PATCH", "/zones/office", shut, etag=etag, environ_overrides=far).status_code == 200


def test_a_candidate_tells_it_before_and_is_committed_with_a_timer(api: Client) -> None:
    office(api)
    etag = api("GET", "/zones/office").json["etag"]
    staged = api("PATCH", "/zones/office?candidate=1", {"reaches": ["dns"]}, etag=etag)
    assert staged.status_code == 202
    told = api("GET", "/candidate/diff", environ_overrides=DESK).json["your_way"]
    assert told["fate"] == "cuts-off-you" and told["address"] == "192.168.88.20"
    assert (told["kind"], told["id"]) == ("zone", "office")
    assert api("POST", "/candidate/validate", environ_overrides=DESK).json["your_way"] == told
    unseen = api("GET", "/candidate/diff").json["your_way"]
    assert unseen["fate"] == "not-known" and "is not known" in unseen["text"]
    body = {"message": "", "confirm_within_s": None}
    assert api("POST", "/candidate/commit", body, environ_overrides=DESK).status_code == 409
    timed = {**body, "confirm_within_s": 60}
    done = api("POST", "/candidate/commit", timed, environ_overrides=DESK)
    assert done.status_code == 200 and done.json["pending"]["token"]
    assert api("POST", "/config/revert", environ_overrides=DESK).status_code == 200


def test_queues_do_not_ask_whose_way_it_is(api: Client) -> None:
    api("POST", "/queues?candidate=1", {"name": "acme", "target": ["10.0.0.1/32"]})
    told = api("GET", "/candidate/diff").json["your_way"]
    assert told["fate"] == "stays" and told["address"] is None


def test_the_command_line_says_how_it_came_to_the_router_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.168.88.20 50000 192.168.88.1 22")

    def sent(url: str) -> str | None:
        found = CommandLine(url, None)
        try:
            return found._http.headers.get("X-Weir-SSH")
        finally:
            found.close()

    assert sent("http://127.0.0.1:8080") == "192.168.88.20 50000 192.168.88.1 22"
    assert sent("https://router.example.net") is None, "to another router it says nothing of this machine's"
    monkeypatch.setenv("SSH_CONNECTION", "a\nb")
    assert sent("http://127.0.0.1:8080") is None
