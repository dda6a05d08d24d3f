# SPDX-License-Identifier: Apache-2.0
"""A certificate and its key are given as files, and the key is in nothing that is answered afterwards."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.pki import Pair, Pki
from tests.cli.test_commands import Weir
from tests.http.world import Live, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def weir(world: World, tmp_path: Path) -> Iterator[Weir]:
    with Live(world) as live:
        yield Weir(live, world.token(), tmp_path / "config")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pki(tmp_path_factory.mktemp("pki")).leaf()


def test_files_become_a_certificate_that_the_web_interface_shows(weir: Weir, pair: Pair) -> None:
    given = ("--type", "upload", "--chain", str(pair.file), "--key", str(pair.key_file))
    weir("certificate", "add", "web", *given)
    weir("management", "set", "--certificate", "web")
    found = weir.json("certificate", "show", "web")
    assert (found["chain"], found["key"]) == (pair.certificate, {"set": True})
    assert weir.json("management", "show")["certificate"] == "web"
    refused = weir("certificate", "rm", "web", code=1)
    assert "management" in refused.output


def test_a_key_may_be_piped_in_whole(weir: Weir, pair: Pair) -> None:
    given = ("--type", "upload", "--chain", str(pair.file), "--key", "-")
    weir("certificate", "add", "web", *given, stdin=pair.key)
    assert weir.json("certificate", "show", "web")["key"] == {"set": True}


def test_a_file_that_is_none_or_the_wrong_one_is_named_and_not_repeated(weir: Weir, pair: Pair) -> None:
    swapped = ("--type", "upload", "--chain", str(pair.key_file), "--key", str(pair.key_file))
    refused = weir("certificate", "add", "web", *swapped, code=1)
    assert "put it into key" in refused.output
    assert pair.key.splitlines()[1] not in refused.output
    refused = weir("certificate", "add", "web", "--chain", "/nowhere.pem", code=2)
    assert "/nowhere.pem" in refused.output


def test_the_key_is_in_no_answer(weir: Weir, world: World, pair: Pair) -> None:
    weir("certificate", "add", "web", "--names", "a.example", "--candidate")
    given = ("--type", "upload", "--chain", str(pair.file), "--key", str(pair.key_file))
    weir("certificate", "add", "other", *given)
    weir("certificate", "set", "other", "--key", str(pair.key_file), "--candidate")
    api = world.client("admin")
    body = pair.key.splitlines()[1:-1]
    told = [
        api("GET", path).text
        for path in ("/certificates", "/certificates/other", "/candidate/diff", "/config/revisions", "/audit")
    ]
    answers = ("\n".join(told), api("GET", "/backup").text)
    assert '"set":true' in answers[0].replace(" ", "") and '"changed"' in answers[0]
    archive = zipfile.ZipFile(io.BytesIO(api("GET", "/diagnosis/support-file").data))
    texts = [*answers, *(archive.read(name).decode(errors="replace") for name in archive.namelist())]
    stored = b"".join(file.read_bytes() for file in world.database.parent.glob("weir.db*"))
    whole = base64.b64decode("".join(body))
    for line in body:
        assert not any(line in text for text in texts)
        assert line.encode() not in stored
    assert whole not in stored
