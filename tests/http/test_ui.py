# SPDX-License-Identifier: Apache-2.0
"""The built user interface is served with the right caching and nothing beside it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from weir.http import ui


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Any]:
    root = tmp_path / "webui"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text("<!doctype html>index")
    (root / "assets" / "app-1a2b.js").write_text("code")
    (root / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(b"code"))
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    app = Flask("weir", static_folder=None)
    ui.serve(app, root)
    yield app.test_client()


def test_hashed_assets_are_kept_for_a_year(site: Any) -> None:
    answer = site.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.data == b"code"
    assert answer.mimetype == "text/javascript"
    packed = site.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == b"code"
    assert site.get("/assets/gone.js").status_code == 404


@pytest.mark.parametrize("path", ["/", "/queues", "/queues/q17?tab=explain", "/index.html", "/assets"])
def test_routes_of_the_browser_get_the_index(site: Any, path: str) -> None:
    answer = site.get(path)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert b"index" in answer.data


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/link.txt", "//etc/passwd", "/..%5csecret.txt", "/%00"]
)
def test_nothing_beside_the_folder_is_served(site: Any, path: str) -> None:
    assert b"secret" not in site.get(path).data
    assert b"root:" not in site.get(path).data


def test_unknown_paths_of_the_api_are_no_pages(site: Any) -> None:
    assert site.get("/api/v1/nothing").status_code == 404
    assert site.get("/api").status_code == 404
    assert site.post("/queues").status_code == 404


def test_without_a_build_a_hint_is_shown() -> None:
    app = Flask("weir", static_folder=None)
    ui.serve(app, None)
    assert b"make webui" in app.test_client().get("/queues").data


@pytest.mark.parametrize(
    "wanted", ["bytes=0-1,2-3", "bytes=0-1", "bytes=5000-", "bytes=-0", "bytes=2-1", "bytes=,", "lines=1-2"]
)
@pytest.mark.parametrize("path", ["/", "/queues", "/assets/app-1a2b.js"])
def test_whatever_ranges_are_asked_for_the_whole_file_is_sent(site: Any, path: str, wanted: str) -> None:
    """Several ranges were answered with 500."""
    headers = {"Accept-Encoding": "identity"}
    answer = site.get(path, headers={**headers, "Range": wanted})
    assert (answer.status_code, answer.data) == (200, site.get(path, headers=headers).data)
