# SPDX-License-Identifier: Apache-2.0
"""The API as a process: it starts, serves and ends; and says in one sentence why it does not start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.http.world import World, probes
from tests.polling import until
from weir.http import main
from weir.http.settings import Settings

START_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    env = {
        **os.environ,
        "WEIR_DATABASE": str(tmp_path / "weir.db"),
        "WEIR_AGENT_SOCKET": str(tmp_path / "agent.sock"),
        "WEIR_LISTEN": f"127.0.0.1:{port}",
        "WEIR_ALLOW_ROOT": "1",
    }
    command = [sys.executable, "-m", "weir.http.main"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as started:
        try:
            yield started, f"http://127.0.0.1:{port}"
        finally:
            started.kill()


def wait_until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/api/v1/system/live", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            continue
    raise AssertionError("the API did not start")


def test_it_serves_without_an_agent_and_ends_on_a_signal(
    process: tuple[subprocess.Popen[bytes], str],
) -> None:
    started, url = process
    wait_until_it_answers(url)
    assert httpx.get(f"{url}/api/v1/queues").status_code == 401
    assert "Weir" in httpx.get(url).text
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=30) == 0


def test_it_streams_a_run_to_its_end_and_ends_one_whose_reader_has_gone(
    tmp_path: Path, process: tuple[subprocess.Popen[bytes], str]
) -> None:
    """By the front's loop, which has no thread for a stream; files and events alike."""
    _, url = process
    with World(tmp_path) as world:
        wait_until_it_answers(url)
        headers = {"Authorization": f"Bearer {world.token()}"}
        with httpx.Client(base_url=f"{url}/api/v1/tools", headers=headers, timeout=30) as client:
            told = client.post("/ping", json={"target": "127.0.0.1", "count": 3, "interval_ms": 100}).text
            assert told.count("event: reply\n") == 3
            assert told.endswith('event: end\ndata: {"reason":"done","message":null}\n\n')
            file = client.post("/capture", json={"interface": "lo", "seconds": 1}).content
            assert file.startswith(b"\n\r\r\n")
            blocks = lengths(file)
            assert sum(blocks) == len(file), "nothing but blocks: no heartbeat in a file"
            with client.stream("POST", "/capture", json={"interface": "lo", "seconds": 30}) as cut:
                os.kill(*probes(), signal.SIGKILL)
                with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                    cut.read()
            with client.stream("POST", "/ping", json={"target": "192.0.2.1", "count": 100}):
                assert world.agent.tools.table()["tools"]({}, None)  # type: ignore[arg-type]
            until("the run has ended", lambda: not world.agent.tools.table()["tools"]({}, None))  # type: ignore[arg-type]


def test_a_capture_that_is_cut_short_is_not_saved_as_if_it_were_whole(
    tmp_path: Path, process: tuple[subprocess.Popen[bytes], str]
) -> None:
    """By the command and the front: what came stays, and the exit status says that it is not all."""
    _, url = process
    file = tmp_path / "lo.pcapng"
    with World(tmp_path) as world:
        wait_until_it_answers(url)
        env = {**os.environ, "WEIR_URL": url, "WEIR_TOKEN": world.token()}
        weir = str(Path(sys.executable).with_name("weir"))
        asked = [weir, "capture", "lo", "--seconds", "30", "--file", str(file)]
        command = subprocess.Popen(asked, env=env, stderr=subprocess.PIPE, text=True)
        assert command.stderr is not None
        assert "What the network stack sees" in command.stderr.readline(), "it has begun"
        os.kill(*probes(), signal.SIGKILL)
        _, said = command.communicate(timeout=30)
    assert (command.returncode, file.read_bytes()[:4]) == (1, b"\n\r\r\n"), said
    assert "The capture was cut short; what is written is what came until then." in said


def lengths(file: bytes) -> list[int]:
    """Of the blocks of a pcapng file, as far as they go."""
    found = []
    while sum(found) + 8 <= len(file):
        found.append(int.from_bytes(file[sum(found) + 4 : sum(found) + 8], sys.byteorder))
    return found


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    text = str(ended.value)
    assert text.startswith("weir-api: ")
    assert "\n" not in text
    return text


def options(folder: Path, listen: str = "127.0.0.1:0") -> list[str]:
    return [
        "--database",
        str(folder / "weir.db"),
        "--agent-socket",
        str(folder / "a.sock"),
        "--listen",
        listen,
    ]


def test_a_port_in_use_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        text = refusal(capsys, *options(tmp_path, listen), "--allow-root")
    assert listen in text


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1", "127.0.0.1:99999", ":80", "1.2.3.4.5:80"])
def test_an_address_that_cannot_be_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], listen: str
) -> None:
    assert listen in refusal(capsys, *options(tmp_path, listen), "--allow-root")


def test_a_missing_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "does not exist" in refusal(capsys, *options(tmp_path / "nowhere"), "--allow-root")


def test_a_file_that_is_no_database_is_said_and_kept_and_the_api_serves(tmp_path: Path) -> None:
    database = tmp_path / "weir.db"
    database.write_bytes(b"this is no database, it is somebody's file" * 100)
    before = database.read_bytes()
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "weir.http.main",
        *options(tmp_path, f"127.0.0.1:{port}"),
        "--allow-root",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as started:
        wait_until_it_answers(f"http://127.0.0.1:{port}")
        started.send_signal(signal.SIGTERM)
        said = started.communicate(timeout=30)[1].decode()
    assert started.returncode == 0
    assert "changes are refused" in said and str(database) in said
    assert database.read_bytes() == before


def test_root_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("WEIR_ALLOW_ROOT", raising=False)
    assert "root" in refusal(capsys, *options(tmp_path))


def test_a_bad_variable_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_TRUSTED_PROXIES", "many")
    assert "WEIR_" in refusal(capsys, *options(tmp_path))


def test_statistics_lie_beside_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_DATABASE", "/data/weir.db")
    monkeypatch.delenv("WEIR_STATISTICS_DATABASE", raising=False)
    assert Settings.from_environment().statistics_database == Path("/data/weir-statistics.db")
    moved = main.read_settings(["--database", "/elsewhere/own.db"])
    assert moved.statistics_database == Path("/elsewhere/own-statistics.db")
    named = main.read_settings(["--database", "/elsewhere/own.db", "--statistics-database", "/s.db"])
    assert named.statistics_database == Path("/s.db")
    assert main.read_settings([]).statistics_database == Path("/data/weir-statistics.db")
