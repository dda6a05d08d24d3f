# SPDX-License-Identifier: Apache-2.0
"""Who may speak to the agent, and what it says when it cannot start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import netns
from tests.agent.rig import Rig, client_queue, lan, wan
from tests.polling import until
from weir.model.problem import Unavailable
from weir.store import ConfigStore

API_UID = 64711
STRANGER_UID = 64712


@pytest.fixture
def bare() -> Iterator[Rig]:
    """A rig without a running agent."""
    made = Rig()
    try:
        yield made
    finally:
        print(made.agent_log())
        made.close()


def start(rig: Rig, *options: str, uid: int = 0) -> subprocess.CompletedProcess[str]:
    def prepare() -> None:
        netns.enter(rig.router)
        if uid:
            os.setuid(uid)

    command = [
        "--socket",
        str(rig.folder / "other" / "agent.sock"),
        "--database",
        str(rig.folder / "weir.db"),
    ]
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from weir.agent.main import main; sys.exit(main())",
            *command,
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=prepare,
    )


def connects(path: Path, uid: int) -> bool:
    """Whether a process of `uid` gets an answer."""
    code = (
        "import sys; from pathlib import Path; from weir.wire.client import AgentClient;"
        "print(AgentClient(Path(sys.argv[1])).call('status')['version'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: os.setuid(uid) if uid else None,
    )
    return done.returncode == 0


def test_only_root_and_the_apis_user_may_connect(bare: Rig) -> None:
    bare.start_agent("--api-uid", str(os.getuid() or 0))
    assert connects(bare.folder / "agent.sock", 0)


def test_the_kernel_tells_who_the_peer_is(bare: Rig) -> None:
    """The socket is opened to everybody here, and still a stranger gets no byte."""
    bare.give_files_to(API_UID)
    bare.start_agent("--api-uid", str(API_UID))
    path = bare.folder / "agent.sock"
    assert path.stat().st_uid == API_UID
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    assert _first_byte(path, 0)
    assert _first_byte(path, API_UID)
    assert not _first_byte(path, STRANGER_UID)
    until("the refusal is in the log", lambda: f"uid {STRANGER_UID}" in bare.agent_log())


def _first_byte(path: Path, uid: int) -> bool:
    """By a child of plain C-like Python, which needs no file that `uid` may not read."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(uid)
        answered = b"0"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.settimeout(10)
                link.connect(str(path))
                link.sendall(b'{"id":1,"method":"status","params":{}}\n')
                answered = b"1" if link.recv(1) else b"0"
        finally:
            os.write(writer, answered)
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read() == b"1"


def test_a_second_agent_is_refused(bare: Rig) -> None:
    bare.start_agent()
    done = start(bare, "--state-dir", str(bare.folder))
    assert done.returncode == 1
    assert "another agent is running" in done.stderr


def test_not_root_is_one_clear_sentence(bare: Rig) -> None:
    reader = os.fork()
    if reader == 0:  # the interpreter may be in a folder that others may not read: import first
        from weir.agent.main import main

        os.setuid(STRANGER_UID)
        sys.stderr = (bare.folder / "said").open("w") if os.access(bare.folder, os.W_OK) else sys.stderr
        os._exit(7 if main(["--socket", "/nonexistent/agent.sock"]) == 1 else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]) == 7


def test_a_missing_library_is_one_clear_sentence(bare: Rig) -> None:
    done = start(bare, "--library", "/nonexistent/libweir.so", "--pin-dir", str(bare.folder / "bpf"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "/nonexistent/libweir.so" in done.stderr


def test_without_a_database_it_waits_for_one(bare: Rig) -> None:
    bare.agent_process = bare.spawn(
        "agent",
        [
            *(sys.executable, "-m", "weir.agent.main", "--socket", str(bare.folder / "agent.sock")),
            *("--database", str(bare.folder / "later.db"), "--pin-dir", str(bare.folder / "bpf")),
            *("--frr-run-dir", str(bare.folder / "frr"), "--capacity", "1024"),
        ],
    )
    until("it listens", (bare.folder / "agent.sock").exists)
    assert bare.status()["state"] == "starting"
    until("it says what it waits for", lambda: "later.db" in bare.status()["store"]["reason"])
    with pytest.raises(Unavailable, match="no configuration yet"):
        bare.agent.call("apply", {"base": 0, "revision": 1, "changes": []})
    ConfigStore.open(bare.folder / "later.db", create=True).close()
    until("it has found the database", lambda: bare.status()["state"] == "ok")


def test_sigterm_ends_it_with_0_and_leaves_the_kernel(bare: Rig) -> None:
    bare.start_agent()
    bare.commit(lan(), wan(), client_queue())
    assert bare.stop_agent() == 0
    assert "10.64.0.1/24" in bare.addresses("lan0")
    assert 0 < bare.arriving() < 50
