# SPDX-License-Identifier: Apache-2.0
"""The command line by SSH: a real sshd, API and client. Who signs in is the account of his key."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab import confine, netns
from tests.agent.rig import Rig
from tests.polling import until
from weir.accounts.auth import AuthService
from weir.backends.ssh import UNIT
from weir.backends.ssh_config import CONF, KEYS
from weir.kinds.identity import Identity
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SSH_USER, SshServer
from weir.model.interface import Interface
from weir.model.problem import ApplyFailed
from weir.store.accounts import AccountStore, accounts_path

ROOT = Path(__file__).resolve().parents[2]
USER_ID = 4242
ROUTER = "10.64.0.1"
PASSWORD = "correct horse battery"
LAN = Interface("lan0", "lan", addresses=(f"{ROUTER}/24",))
ON = SshServer(enabled=True)


def placed(rig: Rig) -> None:
    """As the agent: its machine has the user that sessions run as, which this one need not have."""
    netns.enter(rig.router)
    confine.own_mounts()
    confine.bind(rig.folder / "passwd", Path("/etc/passwd"))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    made = Rig()
    try:
        line = f"{SSH_USER}:x:{USER_ID}:{USER_ID}::/:/bin/sh\n"
        (made.folder / "passwd").write_text(Path("/etc/passwd").read_text() + line)
        made.own_files["/etc/passwd"] = str(made.folder / "passwd")
        with accounts(made) as store:
            AuthService(store).claim(PASSWORD, "test")
            with store.write() as writer:
                writer.add_user("desk", writer.user("admin").password_hash, "read", False, 0)
        made.start_agent()
        serve(made)
        for name in ("admins", "desks", "strangers"):
            make_key(made, name)
        made.commit(LAN, ON, key(made, "admins", "admin"), key(made, "desks", "desk"))
        yield made
    finally:
        print(made.agent_log(), *(path.read_text() for path in made.folder.glob("*/ssh/said")))
        made.close()


@contextmanager
def accounts(rig: Rig) -> Iterator[AccountStore]:
    store = AccountStore.open(accounts_path(rig.folder / "weir.db"))
    try:
        yield store
    finally:
        store.close()


def serve(rig: Rig) -> None:
    """The API, in the router's namespace."""
    given = {
        "WEIR_DATABASE": str(rig.folder / "weir.db"),
        "WEIR_AGENT_SOCKET": str(rig.folder / "agent.sock"),
        "WEIR_ALLOW_ROOT": "1",
    }
    words = [f"{name}={value}" for name, value in given.items()]
    rig.spawn("api", ["env", *words, sys.executable, "-m", "weir.http.main"], netns.entering(rig.router))

    def answers() -> bool:
        asked = ["ip", "netns", "exec", rig.router, "bash", "-c", ": </dev/tcp/127.0.0.1/8080"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    until("the API answers", answers, 60.0)


def make_key(rig: Rig, name: str) -> None:
    path = str(rig.folder / name)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)


def key(rig: Rig, name: str, account: str, **fields: Any) -> SshKey:
    text = (rig.folder / f"{name}.pub").read_text().strip()
    return SshKey(id=name, account=account, key=text, **fields)


def client(rig: Rig, name: str, *command: str, options: Sequence[str] = ()) -> list[str]:
    known = f"UserKnownHostsFile={rig.folder / 'known'}"
    return [
        *("ip", "netns", "exec", rig.client_ns, "ssh", "-F", "none", "-i", str(rig.folder / name)),
        *("-o", "StrictHostKeyChecking=accept-new", "-o", known, "-o", "BatchMode=yes"),
        *("-o", "IdentitiesOnly=yes", *options, f"{SSH_USER}@{ROUTER}", *command),
    ]


def ask(rig: Rig, name: str, *command: str, **how: Any) -> subprocess.CompletedProcess[str]:
    argv = client(rig, name, *command, **how)
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )


@contextmanager
def session(rig: Rig, name: str) -> Iterator[subprocess.Popen[str]]:
    """One that is at the prompt."""
    argv = client(rig, name, options=("-tt",))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "Commands as" in process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def state(rig: Rig, kind: str = "ssh-server", name: str = "ssh-server") -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind})["objects"].get(name, {})
    return found


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/ssh/pid").read_text().split()[0])


def tokens(rig: Rig) -> list[str]:
    with accounts(rig) as store:
        return [token.name for token in store.tokens(None)]


def test_a_key_is_an_account_with_its_rights_and_no_more(rig: Rig) -> None:
    shown = ask(rig, "admins", "weir", "--json", "user", "list")
    assert shown.returncode == 0, shown.stderr
    assert "desk" in shown.stdout
    refused = ask(rig, "desks", "user", "list")
    assert (refused.returncode, "'admin'" in refused.stderr) == (4, True), refused.stderr
    assert ask(rig, "desks", "queue", "list").returncode == 0
    assert ask(rig, "strangers", "queue", "list").returncode == 255
    until("each token ended with its session", lambda: tokens(rig) == [])


def test_a_session_reaches_nothing_else_of_the_router(rig: Rig) -> None:
    secret = rig.folder / "readable"
    secret.write_text("id,name\n")
    secret.chmod(0o644)
    for command in (
        ("import", "csv", str(secret)),
        ("import", "csv", "/proc/self/environ"),
        ("export", "csv", "--output", "/tmp/written"),
    ):
        done = ask(rig, "admins", *command)
        assert done.returncode == 2 and "opens no files" in done.stderr, (command, done)
    for command in (("weir", "--url", "http://192.0.2.1", "queue", "list"), ("weir", "--token=x", "queue")):
        assert "are not taken" in ask(rig, "admins", *command).stderr
    for command in (("sh", "-c", "id"), ("id;", "id"), ("$(id)",)):
        done = ask(rig, "admins", *command)
        assert done.returncode == 2 and "uid=" not in done.stdout + done.stderr, done
    forwarded = ask(rig, "admins", options=("-W", "127.0.0.1:8080"))
    assert forwarded.returncode != 0 and "HTTP" not in forwarded.stdout
    copied = ask(rig, "admins", "sftp", options=("-s",))
    assert copied.returncode != 0 and "subsystem request failed" in copied.stderr
    ticket = ask(rig, "desks", "weir", "--help", options=("-o", "SetEnv=WEIR_SSH_TICKET=0"))
    assert ticket.returncode == 0, "what a client sends is not taken for the ticket"


def test_no_other_session_reads_the_memory_of_one(rig: Rig) -> None:
    with session(rig, "desks"):
        (found,) = state(rig)["sessions"]
        drop = partial(os.setresuid, USER_ID, USER_ID, USER_ID)
        for name in ("environ", "mem", "fd"):
            reading = ["cat" if name != "fd" else "ls", f"/proc/{found['process']}/{name}"]
            read = subprocess.run(reading, capture_output=True, check=False, preexec_fn=drop)
            assert read.returncode != 0 and b"Permission denied" in read.stderr, (name, read)


def test_state_says_who_is_there_and_who_was_refused(rig: Rig) -> None:
    with session(rig, "desks"):
        now = state(rig)
        (found,) = now["sessions"]
        assert (found["key"], found["account"], found["address"]) == ("desks", "desk", "10.64.0.2")
        assert state(rig, "ssh-key", "desks")["sessions"] == 1
        shown = ["ssh-keygen", "-l", "-f", str(rig.folder / "desks.pub")]
        listed = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        assert state(rig, "ssh-key", "desks")["fingerprint"] == listed.split()[1]
    known = (rig.folder / "known").read_text()
    assert now["running"] and {item["type"] for item in now["host_keys"]} == {
        "ssh-ed25519",
        "ecdsa-sha2-nistp256",
    }
    assert "ssh-ed25519" in known
    ask(rig, "strangers", "queue", "list")
    until("the refusal is told", lambda: f"{SSH_USER} 10.64.0.2" in (state(rig)["last_refused"] or ""))
    until("the session is gone", lambda: state(rig)["sessions"] == [])


def test_open_sessions_survive_changes_of_the_server(rig: Rig) -> None:
    before = pid_of(rig)
    with session(rig, "admins") as open_one:
        rig.commit(replace(ON, port=2222), Identity(login_banner="Authorised persons only."))
        assert pid_of(rig) == before
        done = ask(rig, "desks", "queue", "list", options=("-p", "2222"))
        assert done.returncode == 0 and "Authorised persons only." in done.stderr
        assert ask(rig, "desks", "queue", "list").returncode == 255, "the old port is closed"
        assert open_one.poll() is None and len(state(rig)["sessions"]) == 1
        rig.kill_agent()
        rig.start_agent()
        assert pid_of(rig) == before and len(state(rig)["sessions"]) == 1
    rig.commit(ON, Identity())
    assert (pid_of(rig), ask(rig, "desks", "queue", "list").returncode) == (before, 0)


def test_a_key_that_goes_ends_its_sessions_and_no_others(rig: Rig) -> None:
    with session(rig, "admins") as stays, session(rig, "desks") as goes:
        rig.commit(key(rig, "desks", "desk", disabled=True))
        goes.wait(10)
        assert stays.poll() is None
        assert [item["key"] for item in state(rig)["sessions"]] == ["admins"]
        until("its token ended, too", lambda: [name.split()[2] for name in tokens(rig)] == ["admins"])
    assert ask(rig, "desks", "queue", "list").returncode == 255
    rig.commit(key(rig, "desks", "desk"))
    assert ask(rig, "desks", "queue", "list").returncode == 0


def test_an_account_that_is_disabled_or_gone_is_told_so(rig: Rig) -> None:
    rig.commit(key(rig, "strangers", "nobody-yet"))
    done = ask(rig, "strangers", "queue", "list")
    assert (done.returncode, "there is no account 'nobody-yet'" in done.stderr) == (4, True), done
    with accounts(rig) as store, store.write() as writer:
        writer.set_role(writer.user("desk").id, "read", True)
    assert "is disabled" in ask(rig, "desks", "queue", "list").stderr
    with accounts(rig) as store, store.write() as writer:
        writer.set_role(writer.user("desk").id, "read", False)
    rig.commit(delete=[("ssh-key", "strangers")])


def test_sessions_come_from_the_sources_alone(rig: Rig) -> None:
    rig.commit(replace(ON, sources=("192.0.2.0/24", "2001:db8::/32")))
    assert ask(rig, "desks", "queue", "list").returncode == 255
    until("it says who", lambda: "not allowed" in (state(rig)["last_refused"] or ""))
    rig.commit(replace(ON, sources=("10.64.0.0/24",)))
    assert ask(rig, "desks", "queue", "list").returncode == 0
    rig.commit(ON)


def test_a_session_changes_its_own_way_with_a_way_back_only(rig: Rig) -> None:
    for command in (("ssh-server", "set", "--no-enabled"), ("ssh-key", "rm", "admins")):
        done = ask(rig, "admins", *command)
        assert done.returncode == 5 and "--confirm-within" in done.stderr, done
    assert pid_of(rig) and state(rig)["running"]


def test_a_file_that_sshd_refuses_leaves_the_old_one(rig: Rig) -> None:
    config = rig.folder / "daemons/ssh/config"
    before, files = pid_of(rig), config.readlink()
    host_key = rig.folder / "ssh/ssh_host_ed25519_key"
    kept = host_key.read_bytes()
    host_key.write_text("damaged\n")
    try:
        (rig.folder / "ssh/ssh_host_ecdsa_key").rename(rig.folder / "ecdsa")
        (rig.folder / "ssh/ssh_host_ecdsa_key").write_text("damaged\n")
        with pytest.raises(ApplyFailed, match="no hostkeys available"):
            rig.commit(replace(ON, port=2223))
    finally:
        host_key.write_bytes(kept)
        (rig.folder / "ecdsa").rename(rig.folder / "ssh/ssh_host_ecdsa_key")
    assert (pid_of(rig), config.readlink()) == (before, files)
    assert ask(rig, "desks", "queue", "list").returncode == 0


def test_a_port_in_use_fails_the_commit_and_the_old_one_answers(rig: Rig) -> None:
    with netns.inside(rig.router), socket.socket(socket.AF_INET6) as taken:
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        taken.bind(("::", 2224))
        taken.listen()
        with pytest.raises(ApplyFailed, match="Bind to port 2224"):
            rig.commit(replace(ON, port=2224))
    until("the old port answers", lambda: ask(rig, "desks", "queue", "list").returncode == 0)


def test_one_that_dies_is_started_again_and_that_is_told(rig: Rig) -> None:
    before = pid_of(rig)
    with session(rig, "desks") as open_one:
        os.kill(before, signal.SIGKILL)
        until("another one runs", lambda: pid_of(rig) != before and state(rig)["running"])
        until("it answers", lambda: ask(rig, "admins", "queue", "list").returncode == 0)
        assert open_one.poll() is None
    assert any(item["part"] == "ssh" for item in rig.status()["drift"])


def test_who_is_no_root_reads_neither_tickets_nor_host_keys(rig: Rig) -> None:
    drop = partial(os.setresuid, USER_ID, USER_ID, USER_ID)
    assert re.search("WEIR_SSH_TICKET=[0-9a-f]{64}", (rig.folder / "daemons/ssh/config" / KEYS).read_text())
    for path in ("daemons/ssh/config/" + KEYS, "daemons/ssh/config/" + CONF, "ssh/ssh_host_ed25519_key"):
        reading = ["cat", str(rig.folder / path)]
        assert subprocess.run(reading, capture_output=True, check=False, preexec_fn=drop).returncode != 0, (
            path
        )


def test_the_rights_of_its_unit_are_enough(rig: Rig) -> None:
    """Those of the image, where systemd starts it."""
    unit = (ROOT / "board/overlay/usr/lib/systemd/system" / UNIT).read_text()
    named = re.findall("^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)
    rights = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in named[0].split())])
    config = (rig.folder / "daemons/ssh/config" / CONF).read_text()
    config = re.sub("^PidFile .*$", f"PidFile {rig.folder}/other.pid", config, flags=re.MULTILINE)
    (rig.folder / "other_config").write_text(config.replace("Port 22\n", "Port 2300\n"))
    limited = ["setpriv", "--no-new-privs", f"--bounding-set={rights}", f"--inh-caps={rights}", "--"]
    sshd = [*limited, "/usr/sbin/sshd", "-D", "-e", "-f", str(rig.folder / "other_config")]
    rig.spawn("other", sshd, partial(placed, rig))
    until("it listens", (rig.folder / "other.pid").exists)
    done = ask(rig, "desks", "weir", "queue", "list", options=("-p", "2300", "-tt"))
    assert done.returncode == 0, (done, (rig.folder / "other.log").read_text())


def test_switched_off_it_is_gone_with_its_sessions(rig: Rig) -> None:
    before = pid_of(rig)
    with session(rig, "admins") as open_one:
        rig.commit(SshServer())
        open_one.wait(10)
    assert not Path(f"/proc/{before}").exists()
    assert state(rig) == {"running": False}
    rig.commit(ON)
    assert json.loads(ask(rig, "admins", "weir", "--json", "ssh-server", "state").stdout)
