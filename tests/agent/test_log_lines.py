# SPDX-License-Identifier: Apache-2.0
"""The router's log, from a real journal: the product's lines, in order, without gaps, and none of others."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.polling import until
from tests.readable import readable_folder, shell_script
from weir.agent.log_lines import LogLines
from weir.agent.secrets import Secrets
from weir.model.document import Document
from weir.model.problem import Invalid, Unavailable
from weir.wire.server import Peer

JOURNALD = "/lib/systemd/systemd-journald"
COREDUMP = "fc2e22bc6ee647b6b90729ab34a250b1"
"""What root says of a unit under this id journalctl counts to the unit: a test can say it, too."""
PEER = Peer(0, 0, 0, 0)
Ask = Callable[..., dict[str, Any]]


class Journal:
    """A journald of this test, whose /run is its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        script = (
            f"mount --bind {folder} /mnt && mount -t tmpfs none /run && "
            "mkdir -p /run/systemd/journal /run/log/journal && "
            "mount --bind /mnt/files /run/log/journal && mount --bind /mnt/sockets /run/systemd/journal && "
            f"exec {JOURNALD}"
        )
        for name in ("files", "sockets"):
            (folder / name).mkdir()
        shutil.chown(folder / "files", group="systemd-journal")
        (folder / "files").chmod(0o2755)
        self._process = subprocess.Popen(("unshare", "--mount", "sh", "-c", script))
        self._socket = folder / "sockets" / "socket"
        until("journald listens", self._socket.exists)

    def say(
        self, text: str | bytes, unit: str = "weir-agent.service", priority: int = 6, **more: str
    ) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        fields = {"COREDUMP_UNIT": unit, "MESSAGE_ID": COREDUMP, "PRIORITY": str(priority), **more}
        fields = {"SYSLOG_IDENTIFIER": "weir-agent", **fields}
        message = b"MESSAGE\n" + len(data).to_bytes(8, "little") + data + b"\n"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(str(self._socket))
            sender.send(message + "".join(f"{name}={value}\n" for name, value in fields.items()).encode())

    @property
    def reader(self) -> str:
        return shell_script(self._folder, f'exec journalctl --directory={self._folder}/files "$@"')

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def journal() -> Iterator[Journal]:
    with readable_folder("journal") as folder:
        made = Journal(folder)
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def ask(journal: Journal, tmp_path: Path) -> Ask:
    def asked(**given: Any) -> dict[str, Any]:
        wanted = {"source": "weir-agent", "severity": "debug", "text": "", "since_ms": None, "after": ""}
        log = LogLines(Secrets(tmp_path), lambda: (1, Document()), journal.reader)
        found = log.table()["log_lines"]({**wanted, "limit": 100, **given}, PEER)
        assert isinstance(found, dict)
        return found

    return asked


def said(found: dict[str, Any]) -> list[str]:
    return [line["text"] for line in found["lines"]]


def seen(ask: Ask, text: str, **given: Any) -> dict[str, Any]:
    """The answer once this was logged: journald takes a moment."""
    return dict(until(text, lambda: (found := ask(**given)) and text in said(found) and found))


def test_lines_of_the_product_are_told_and_none_of_others(journal: Journal, ask: Ask) -> None:
    journal.say("someone's password is tomato", "ssh.service")
    journal.say("the agent begins", priority=4)
    journal.say("a worker begins", "weir-api.service")
    found = seen(ask, "a worker begins", source="")
    assert "the agent begins" in said(found) and "someone's password is tomato" not in said(found)
    assert {"kernel", "weir-agent", "weir-api"} <= set(found["sources"]) and "ssh" not in found["sources"]
    (line,) = (line for line in found["lines"] if line["text"] == "the agent begins")
    assert (line["severity"], line["source"], line["process"]) == ("warning", "weir-agent", "weir-agent")
    assert "a worker begins" not in said(ask())
    assert said(ask(severity="warning")) == ["the agent begins"]
    with pytest.raises(Invalid, match="no source 'ssh'"):
        ask(source="ssh")


def test_what_came_after_a_line_comes_in_order_and_without_a_gap(journal: Journal, ask: Ask) -> None:
    journal.say("before")
    cursor = seen(ask, "before")["cursor"]
    assert ask(after=cursor)["lines"] == [] and ask(after=cursor)["cursor"] == cursor
    for number in range(7):
        journal.say(f"after {number}")
    seen(ask, "after 6")
    came: list[str] = []
    for more in (True, True, False):
        found = ask(after=cursor, limit=3)
        assert found["more"] is more
        came, cursor = came + said(found), found["cursor"]
    assert came == [f"after {number}" for number in range(7)]
    newest = ask(limit=2)
    assert said(newest) == ["after 5", "after 6"] and newest["more"]
    with pytest.raises(Invalid, match="no cursor"):
        ask(after="--directory=/etc")


def test_who_follows_the_log_misses_nothing_of_a_service_that_begins(
    journal: Journal, tmp_path: Path, ask: Ask
) -> None:
    journal.say("quiet so far")
    cursor = seen(ask, "quiet so far")["cursor"]
    log = LogLines(Secrets(tmp_path), lambda: (1, Document()), journal.reader).table()["log_lines"]
    wanted = {"source": "", "severity": "info", "text": "", "since_ms": None, "after": cursor, "limit": 100}
    log(wanted, PEER)
    journal.say("of others", "ssh.service")
    journal.say("bgpd begins", "frr.service")
    journal.say("and the agent goes on")
    found = until("both", lambda: "and the agent goes on" in said(now := log(wanted, PEER)) and now)
    assert [text for text in said(found) if "of others" in text or "begins" in text] == ["bgpd begins"]


def test_a_search_says_how_far_it_looked(journal: Journal, ask: Ask) -> None:
    journal.say("Link of LAN0 is up")
    journal.say("something else")
    seen(ask, "something else")
    found = ask(text="lan0")
    assert said(found) == ["Link of LAN0 is up"] and found["looked_at"] > 1 and found["from_us"]
    later = ask(text="lan0", after=found["cursor"])
    assert (later["lines"], later["looked_at"]) == ([], 0)
    assert ask(since_ms=4_000_000_000_000)["lines"] == []
    assert said(ask(since_ms=found["from_us"] // 1000, text="lan0")) == ["Link of LAN0 is up"]


def test_what_is_no_text_is_told_as_far_as_it_is_and_what_is_too_long_is_not(
    journal: Journal, ask: Ask
) -> None:
    journal.say(b"red \x1b[31m, half \xff\x1e, right \xe2\x80\xae")
    journal.say("x" * 5000)
    journal.say("the end")
    *_, odd, long, _ = seen(ask, "the end")["lines"]
    mark = "\N{REPLACEMENT CHARACTER}"
    assert odd["text"] == f"red \x1b[31m, half {mark}{mark}, right \N{RIGHT-TO-LEFT OVERRIDE}"
    assert long["text"] is None and long["severity"] == "info"


def test_a_router_without_a_journal_does_not_say_that_nothing_was_logged(tmp_path: Path) -> None:
    for reader, why in (
        ("true", "there is none"),
        ("/run/nothing-there", "No such file"),
        ("false", "ended with 1|nothing-there|without a word"),
    ):
        log = LogLines(Secrets(tmp_path), lambda: (1, Document()), reader)
        wanted = {"source": "", "severity": "info", "text": "", "since_ms": None, "after": "", "limit": 1}
        with pytest.raises(Unavailable, match=why):
            log.table()["log_lines"](wanted, PEER)
