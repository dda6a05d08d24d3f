# SPDX-License-Identifier: Apache-2.0
"""The key that the first start makes, and the real nginx with the configuration of the image."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.image.front import Front, make_key

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")
needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is missing")


def openssl(*words: str | Path) -> str:
    command = ["openssl", *(str(word) for word in words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs_openssl
def test_the_first_start_makes_a_key_of_the_routers_own_that_stays(tmp_path: Path) -> None:
    made = make_key(tmp_path / "one")
    assert (tmp_path / "one/kept/weir.pem").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "one/used/weir.pem").stat().st_mode & 0o777 == 0o600
    assert make_key(tmp_path / "one") == made
    assert make_key(tmp_path / "two") != made


@needs_openssl
@pytest.mark.parametrize("content", ["", "-----BEGIN PRIVATE KEY-----\nMC4CAQ"])
def test_a_file_that_a_power_failure_cut_is_recreated(tmp_path: Path, content: str) -> None:
    make_key(tmp_path)
    (tmp_path / "kept/weir.pem").write_text(content)
    openssl("x509", "-noout", "-in", tmp_path / "used/weir.pem")
    assert make_key(tmp_path) == (tmp_path / "kept/weir.pem").read_text() != content


@needs_openssl
def test_a_certificate_near_its_end_is_renewed_with_the_same_key(tmp_path: Path) -> None:
    make_key(tmp_path)
    kept = tmp_path / "kept/weir.pem"
    short = ["-x509", "-new", "-key", kept, "-days", "5", "-subj", "/CN=old", "-out", tmp_path / "old"]
    openssl("req", *short)
    key = openssl("pkey", "-in", kept)
    kept.write_text(key + (tmp_path / "old").read_text())
    renewed = make_key(tmp_path)
    assert renewed.startswith(key)
    openssl("x509", "-noout", "-checkend", str(800 * 86400), "-in", tmp_path / "used/weir.pem")


@needs_openssl
def test_without_room_to_keep_it_there_is_a_key_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/weir.pem.new").symlink_to("/nowhere/file")  # what cannot be written, root or not
    assert "BEGIN CERTIFICATE" in make_key(tmp_path)
    assert not (tmp_path / "kept/weir.pem").exists()


@needs_openssl
def test_one_that_was_chosen_goes_first_and_nothing_else_changes(tmp_path: Path) -> None:
    own = make_key(tmp_path)
    chosen = tmp_path / "chosen/weir.pem"
    chosen.parent.mkdir()
    made = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=chosen")
    openssl("req", *made, "-keyout", tmp_path / "key", "-out", tmp_path / "certificate")
    chosen.write_text((tmp_path / "key").read_text() + (tmp_path / "certificate").read_text())
    assert make_key(tmp_path) == chosen.read_text(), "also shortly before its end"
    assert (tmp_path / "kept/weir.pem").read_text() == own
    for broken in (own[: own.index("-----END PRIVATE")], chosen.read_text()[:-60], ""):
        chosen.write_text(broken)
        assert make_key(tmp_path) == own, "a page with the router's own is better than none"
    chosen.write_text((tmp_path / "key").read_text() + own[own.index("-----BEGIN CERTIFICATE") :])
    assert make_key(tmp_path) == own, "a key of another certificate"
    chosen.unlink()
    assert make_key(tmp_path) == own


class Echo(BaseHTTPRequestHandler):
    """Answers what it was sent."""

    def do_GET(self) -> None:
        body = json.dumps({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """The test's output is not for requests."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Front, ThreadingHTTPServer]]:
    api = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with Front(tmp_path, api.server_port) as found:
        yield found, api
    api.shutdown()
    api.server_close()


@needs_openssl
@needs_nginx
def test_plain_http_leads_to_tls_and_tls_leads_to_the_api(served: tuple[Front, ThreadingHTTPServer]) -> None:
    front, _ = served
    status, headers, _ = front.get("/queues?x=1", secure=False, Host="192.168.88.1")
    assert (status, headers["location"]) == (308, "https://192.168.88.1/queues?x=1")
    status, _, body = front.get("/api/v1/system/live")
    assert status == 200
    assert json.loads(body)["path"] == "/api/v1/system/live"


@needs_openssl
@needs_nginx
def test_a_client_cannot_say_where_it_comes_from(served: tuple[Front, ThreadingHTTPServer]) -> None:
    front, _ = served
    sent = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"}
    sent["X-Weir-Reached"] = "192.0.2.2 443"
    heard = json.loads(front.get("/api/v1/auth/me", Host="weir", **sent)[2])
    assert heard["x-forwarded-for"] == "127.0.0.1"
    assert heard["x-forwarded-proto"] == "https"
    assert heard["x-forwarded-host"] == "weir"
    assert heard["x-weir-reached"] == f"127.0.0.1 {front.secure}"


@needs_openssl
@needs_nginx
def test_while_the_api_starts_a_browser_is_told_so(served: tuple[Front, ThreadingHTTPServer]) -> None:
    front, api = served
    api.shutdown()
    api.server_close()
    status, headers, body = front.get("/")
    assert status == 503
    assert headers["retry-after"] == "2"
    assert "Weir is starting" in body
    assert front.get("/api/v1/system")[0] == 502
