# SPDX-License-Identifier: Apache-2.0
"""The command line against a live server on loopback: every group, its errors and exit codes."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.http.world import Live, World, set_second_factor
from tests.polling import until
from weir import __version__
from weir.accounts.principal import Principal
from weir.cli import speed
from weir.cli.main import main

EXPORT = """# 2024-05-02 10:00:00 by RouterOS 7.14.3
/queue simple
add max-limit=1G/1G name="ALL TRAFFIC" target="198.51.100.0/24,203.0.113.0\\
    /24"
add max-limit=7M/7M name="ACME HQ" parent="ALL TRAFFIC" target=203.0.113.10/32
set [ find name=x ] comment=y
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


class Weir:
    """`weir(...)` runs a command as the scope's token."""

    def __init__(self, live: Live, token: str, home: Path) -> None:
        self.env = {"WEIR_URL": live.url, "WEIR_TOKEN": token, "XDG_CONFIG_HOME": str(home)}

    def __call__(self, *arguments: str, code: int = 0, stdin: str | None = None, **env: str | None) -> Result:
        result = CliRunner().invoke(main, list(arguments), input=stdin, env={**self.env, **env})
        assert result.exit_code == code, (arguments, result.exit_code, result.output, result.exception)
        return result

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json").stdout)


@pytest.fixture
def weir(world: World, tmp_path: Path) -> Iterator[Weir]:
    with Live(world) as live:
        yield Weir(live, world.token(), tmp_path / "config")


def test_a_queue_lives_from_add_to_rm(weir: Weir) -> None:
    weir("queue", "add", "acme", "--max-limit", "10M/50M", "--target", "10.64.1.7,2001:db8:64:7::/64")
    found = weir.json("queue", "show", "acme")
    assert found["max_limit_bps"] == {"upload": 10_000_000, "download": 50_000_000}
    assert found["target"] == ["10.64.1.7/32", "2001:db8:64:7::/64"]

    weir("queue", "set", "acme", "--max-limit", "1.5g", "--burst-time", "8s/16s", "--rename", "ACME")
    changed = weir.json("queue", "show", found["id"])
    assert changed["name"] == "ACME"
    assert changed["max_limit_bps"] == {"upload": 1_500_000_000, "download": 1_500_000_000}
    assert changed["burst_time_ms"] == {"upload": 8000, "download": 16000}

    limits = ("--time", "08:00-18:00 mon,tue", "--total-max-limit-bps", "2g", "--disabled")
    weir("queue", "set", "ACME", *limits)
    limited = weir.json("queue", "show", "ACME")
    assert limited["time"] == {"start": "08:00", "end": "18:00", "days": ["mon", "tue"]}
    assert (limited["total"]["max_limit_bps"], limited["disabled"]) == (2_000_000_000, True)
    weir("queue", "set", "ACME", "--enabled", "--unset", "time", "--unset", "total")
    again = weir.json("queue", "show", "ACME")
    assert (again["time"], again["total"]["max_limit_bps"], again["disabled"]) == (None, 0, False)

    assert "ACME" in weir("queue", "list", "-q", "10.64.1.7").stdout
    weir("queue", "rm", "ACME")
    assert weir.json("queue", "list")["items"] == []


def test_children_are_moved_and_named_by_their_parent(weir: Weir) -> None:
    weir("queue", "add", "tower")
    for name in ("a", "b", "c"):
        weir("queue", "add", name, "--parent", "tower", "--target", f"10.0.0.{ord(name)}")
    weir("queue", "move", "c", "--before", "a")
    names = [item["name"] for item in weir.json("queue", "list", "--parent", "tower")["items"]]
    assert names == ["c", "a", "b"]
    assert weir.json("queue", "show", "a")["path"][0]["name"] == "tower"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("queue", "show", "nobody"), 1, "no queue 'nobody'"),
        (("queue", "add", "x", "--max-limit", "10 apples"), 2, "is not a rate"),
        (("queue", "add", "x", "--target", "10.0.0.999"), 1, "target"),
        (("queue", "add", "x", "--priority", "nine"), 2, "whole number"),
        (("queue", "frobnicate"), 2, "No such command"),
        (("import", "routeros", "/nonexistent.rsc"), 2, "nonexistent.rsc"),
        (("commit",), 1, "candidate"),
        (("restore", "99"), 1, "no revision 99"),
        (("confirm",), 2, "No commit waits"),
    ],
)
def test_errors_name_the_thing_and_have_their_code(
    weir: Weir, arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in weir(*arguments, code=code).output


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("told", [True, False])
def test_output_that_cannot_be_written_is_not_called_input(weir: Weir, unbuffered: str, told: bool) -> None:
    """Whether Python holds the text back or not, and where the error cannot be written either."""
    command = [sys.executable, "-m", "weir.cli.main", "queue", "list", "--json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command,
            env={**os.environ, **weir.env, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE if told else full,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n" if told else None)


def test_the_version_is_told(weir: Weir) -> None:
    assert weir("--version").output == f"weir {__version__}\n"


def test_a_router_that_does_not_answer_is_exit_code_3(weir: Weir) -> None:
    result = weir("queue", "list", code=3, WEIR_URL="http://127.0.0.1:9")
    assert "does not answer" in result.output


def test_a_wrong_token_is_exit_code_4_and_says_what_to_do(weir: Weir) -> None:
    result = weir("queue", "list", code=4, WEIR_TOKEN="weir_wrong")
    assert "weir login" in result.output


def test_a_token_of_scope_read_may_not_write(weir: Weir, world: World) -> None:
    weir("queue", "add", "x", code=4, WEIR_TOKEN=world.token("read"))


def test_an_import_is_reported_then_committed(weir: Weir, tmp_path: Path) -> None:
    file = tmp_path / "export.rsc"
    file.write_text(EXPORT, encoding="utf-8")
    dry = weir("import", "routeros", str(file), "--dry-run")
    assert "left out" in dry.stdout
    assert "set [ find" in dry.stdout
    assert weir.json("queue", "list")["items"] == []

    weir("import", "routeros", str(file), stdin="n\n", code=1)
    assert "--yes" in weir("import", "routeros", str(file), code=1).output
    assert "--yes" in weir("import", "routeros", str(file), "--json", code=2).output
    assert weir.json("queue", "list")["items"] == []

    done = weir("import", "routeros", str(file), "--yes", "-m", "moving in")
    assert "Revision 1" in done.stdout
    assert {item["name"] for item in weir.json("queue", "list")["items"]} == {"ALL TRAFFIC", "ACME HQ"}
    assert weir.json("revisions")["items"][0]["message"] == "moving in"
    assert "ACME HQ" in weir("export", "routeros").stdout
    assert "ACME HQ" in weir("export", "csv").stdout


def test_a_candidate_is_compared_committed_and_rolled_back(weir: Weir) -> None:
    weir("queue", "add", "a", "--target", "10.0.0.1", "--candidate")
    assert "+ queue" in weir("diff").stdout
    out = weir("commit", "-m", "why", "--confirm-within", "300").stdout
    assert "weir confirm 1 --confirm-token" in out
    weir("queue", "add", "b", "--target", "10.0.0.2", code=5)
    weir("revert")
    assert weir.json("queue", "list")["items"] == []
    weir("restore", "1")
    head = weir.json("revisions")["items"][0]["revision"]
    assert f"Revision {head} runs already" in weir("restore", "1").stdout
    assert [item["name"] for item in weir.json("queue", "list")["items"]] == ["a"]
    assert "~ queue" not in weir("diff", "0", "1").stdout


def test_a_commit_is_kept_with_its_token(weir: Weir) -> None:
    weir("queue", "add", "a", "--target", "10.0.0.1", "--candidate")
    pending = weir.json("commit", "--confirm-within", "300")["pending"]
    weir("confirm", code=4)
    weir("confirm", str(pending["revision"]), "--confirm-token", pending["token"])
    assert weir.json("revisions")["items"][0]["state"] == "running"


def test_interfaces_routes_and_firewall(weir: Weir) -> None:
    weir("interface", "set", "wan0", "--role", "wan", "--address", "192.0.2.1/24")
    weir("interface", "set", "wan0", "--description", "uplink")
    assert "uplink" in weir("interface", "list").stdout
    weir("interface", "set", "acme", "--vlan-parent", "wan0", "--vlan-id", "100")
    weir("interface", "set", "acme", "--vlan-protocol", "802.1ad")
    weir("interface", "set", "wan0", "--reverse-path", "loose", "--unknown", "allow")
    assert json.loads(weir("interface", "show", "wan0").stdout)["reverse_path"] == "loose"
    weir("interface", "set", "wan0", "--dhcp")
    assert json.loads(weir("interface", "show", "wan0").stdout)["addressing"] == "dhcp"
    weir("interface", "set", "wan0", "--no-dhcp")
    assert json.loads(weir("interface", "show", "wan0").stdout)["addressing"] == "static"
    vlan = json.loads(weir("interface", "show", "acme").stdout)["vlan"]
    assert vlan == {"parent": "wan0", "id": 100, "protocol": "802.1ad"}
    weir("interface", "set", "blue", "--vrf-table", "auto")
    weir("interface", "set", "acme", "--vrf", "blue")
    weir("route", "add", "10.9.0.0/16", "--interface", "acme", "--vrf", "blue")
    assert [line.split()[2] for line in weir("interface", "list").stdout.splitlines() if "acme" in line] == [
        "blue"
    ]
    (there,) = weir.json("route", "list")["items"]
    assert there["vrf"] == "blue"
    weir("route", "rm", there["id"])
    weir("interface", "set", "acme", "--no-vrf")
    assert json.loads(weir("interface", "show", "acme").stdout)["vrf"] is None
    for table in ("70000", "0", "x"):
        refused = weir("interface", "set", "blue", "--vrf-table", table, code=2).stderr
        assert f"'{table}' is neither a number from 1 to 65535 nor 'auto'" in refused
    both = weir("interface", "set", "acme", "--vrf", "blue", "--no-vrf", code=2)
    assert "Give --vrf or --no-vrf, not both." in both.stderr
    weir("route", "add", "0.0.0.0/0", "--via", "192.0.2.254")
    route = weir.json("route", "list")["items"][0]
    weir("route", "rm", route["id"])
    weir("firewall", "set", "--no-masquerade", "--allow-tcp", "22", "--connections-per-source", "500")
    assert weir.json("firewall", "show")["allowed_wan_tcp_ports"] == [22]
    assert weir.json("firewall", "show")["connections_per_source"] == 500
    weir("queue-type", "list")


def test_every_declared_kind_has_its_verbs(weir: Weir) -> None:
    weir("interface", "set", "wan0", "--role", "wan", "--address", "192.0.2.1/24")
    weir("route", "add", "10.0.0.0/8", "--via", "192.0.2.9", "--id", "inside", "--comment", "branch")
    weir("route", "set", "inside", "--distance", "7", "--interface", "wan0", "--disabled")
    shown = weir("route", "show", "inside").stdout
    assert re.search(r"^distance +7$", shown, re.M) and re.search(r"^disabled +yes$", shown, re.M)
    weir("route", "set", "inside", "--unset", "interface", "--unset", "comment", "--no-disabled")
    stored = weir.json("route", "show", "inside")
    assert (stored["interface"], stored["comment"], stored["gateway"]) == (None, "", "192.0.2.9")
    assert (stored["distance"], stored["disabled"]) == (7, False)
    heads, row = (re.split("  +", line.strip()) for line in weir("route", "list").stdout.splitlines())
    configured = ["ID", "VRF", "DESTINATION", "GATEWAY", "INTERFACE", "BLACKHOLE", "DISTANCE"]
    assert heads == [*configured, "IN USE", "COMMENT"]
    assert row == ["inside", "-", "10.0.0.0/8", "192.0.2.9", "-", "no", "7", "-", "-"]
    assert "--distance" in weir("route", "set", "inside", "--distance", "256", code=2).stderr
    assert "Nothing to change" in weir("route", "set", "inside", code=2).stderr
    twice = weir("route", "set", "inside", "--distance", "2", "--unset", "distance", code=2)
    assert "both set and unset" in twice.stderr
    weir("route", "set", "inside", "--distance", "9", "--candidate")
    assert weir.json("route", "show", "inside")["distance"] == 7
    weir("firewall", "set", "--allow-tcp", "22", "--allow-tcp", "443", "--no-allow-ping-from-wan")
    assert "22,443" in weir("firewall", "show").stdout
    weir("firewall", "set", "--unset", "allowed_wan_tcp_ports")
    assert weir.json("firewall", "show")["allowed_wan_tcp_ports"] == []


def test_doctor_and_stats(weir: Weir, world: World) -> None:
    weir("queue", "add", "a", "--target", "10.0.0.1")
    world.parts.stats.tick()
    world.parts.stats.tick()
    assert "revision 1" in weir("doctor").stdout
    weir("stats", "top")
    assert weir.json("stats", "top")["stale_since"] is None
    assert weir.json("explain", "a")["agrees"] is True


def test_stats_top_says_why_a_column_is_empty(weir: Weir, world: World) -> None:
    weir("queue", "add", "a", "--target", "10.0.0.1")
    world.parts.stats.tick()
    queue_id = weir.json("queue", "show", "a")["id"]
    world.agent.maps.count(queue_id, 1, bytes=125_000, packets=100)
    world.parts.stats.tick()
    shown = weir("stats", "top")
    assert shown.stdout.splitlines()[0].split()[-2:] == ["DELAY", "FAST"]
    assert shown.stdout.splitlines()[1].split()[-2:] == ["-", "-"]
    assert "DELAY -: nothing waits, what is over a limit is dropped: wan0: no fq." in shown.stderr
    assert "FAST -: no port has a fast path: wan0." in shown.stderr


def test_login_keeps_a_token_that_only_the_user_reads(weir: Weir, world: World) -> None:
    env = {"WEIR_TOKEN": None}
    new = "a long new passphrase"
    weir("login", "-u", "admin", stdin=f"{world.password}\n{new}\n{new}\n", **env)
    file = Path(weir.env["XDG_CONFIG_HOME"]) / "weir" / "login.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    weir("queue", "list", **env)
    file.chmod(0o644)
    assert "can be read by others" in weir("queue", "list", code=3, **env).output
    file.chmod(0o600)
    weir("logout", **env)
    assert not file.exists()
    weir("queue", "list", code=4, **env)


def changed(world: World, name: str, one_time: str, new: str) -> Principal:
    """Signed in with a password of one's own in place of the one-time one."""
    auth = world.parts.service.auth
    auth.change_password(auth.sign_in(name, one_time, "192.0.2.1").principal, one_time, new)
    return auth.sign_in(name, new, "192.0.2.1").principal


def test_login_asks_for_the_code_of_a_second_factor(weir: Weir, world: World) -> None:
    auth, new = world.parts.service.auth, "a long new passphrase"
    assert world.password is not None
    codes = set_second_factor(world, changed(world, "admin", world.password, new), new)
    env = {"WEIR_TOKEN": None}
    said = weir("login", "-u", "admin", stdin=f"{new}\n000000\n", code=4, **env)
    assert "the code is wrong" in said.output
    weir("login", "-u", "admin", stdin=f"{new}\n{codes[0]}\n", **env)
    weir("queue", "list", **env)
    weir("user", "add", "ops", **env)
    who = auth.sign_in("admin", new, "192.0.2.1", code=codes[1]).principal
    one_time = world.parts.service.users.reset_password(who, "ops")
    set_second_factor(world, changed(world, "ops", one_time, new), new)
    weir("user", "remove-second-factor", "ops", **env)
    assert auth.sign_in("ops", new, "192.0.2.1").principal.username == "ops"
    said = weir("user", "remove-second-factor", "admin", code=4, **env)
    assert "with your password" in said.output


def test_users_and_tokens(weir: Weir) -> None:
    made = weir.json("user", "add", "ops", "--scope", "write")
    assert made["one_time_password"]
    weir("user", "set", "ops", "--disabled")
    weir("user", "reset-password", "ops")
    assert "ops" in weir("user", "list").stdout
    weir("user", "rm", "ops")
    token = weir.json("token", "create", "ci", "--scope", "read", "--expires-days", "1")
    assert token["secret"].startswith("weir_")
    weir("token", "revoke", token["id"])
    assert "ci" not in weir("token", "list").stdout


def test_a_search_names_what_is_found_of_every_kind(weir: Weir) -> None:
    weir("set", "add", "blocked")
    for number in range(1, 13):
        weir("set-entry", "add", "blocked", f"192.0.2.{number}", "--comment", "acme", "--candidate")
    weir("commit", "-m", "blocked")
    weir("queue", "add", "acme", "--target", "192.0.2.0/24")
    said = weir("search", "acme")
    assert re.search(r"^queue +q1 +acme +192\.0\.2\.0/24", said.stdout, re.MULTILINE)
    assert said.stdout.count("192.0.2.") == 11
    assert "10 of 12 shown; all: weir set-entry list --search 'acme'" in said.stderr
    found = {group["kind"]: group["total"] for group in weir.json("search", "192.0.2.7")["groups"]}
    assert found == {"queue": 1, "set-entry": 1}
    assert "Nothing matches" in weir("search", "nothing-like-this").stderr
    assert weir("set-entry", "list", "--search", "192.0.2.7").stdout.count("192.0.2.") == 1


def test_every_tool_is_a_command(weir: Weir, tmp_path: Path) -> None:
    told = weir("ping", "127.0.0.1", "--count", "2", "--interval-ms", "100")
    assert "reply: number 1, from 127.0.0.1, round trip" in told.output
    assert "summary: sent 2, received 2" in told.output
    events = [
        json.loads(line) for line in weir("mtr", "127.0.0.1", "--rounds", "1", "--json").output.splitlines()
    ]
    assert [item["event"] for item in events] == ["target", "hop", "end"]
    failed = weir("arping", "nowhere", "192.0.2.1", code=1)
    assert "there is no interface nowhere" in failed.output
    file = tmp_path / "lo.pcapng"
    weir("capture", "lo", "--seconds", "1", "--file", str(file))
    assert file.read_bytes()[:4] == b"\n\r\r\n"
    refused = weir("capture", "nowhere", "--file", str(file), code=1)
    assert "there is no interface nowhere" in refused.output
    assert file.read_bytes()[:4] == b"\n\r\r\n", "the file of before is still there"
    refused = weir("ping", "127.0.0.1", "--count", "10000", code=2)
    assert "not in the range 1<=x<=100" in refused.output


def test_the_speed_test_tells_rates_and_round_trips_and_the_way(
    weir: Weir, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "IDLE_S", 0.3)
    told = weir("speed", "--seconds", "3")
    assert "Between 127.0.0.1 and the router, by the router's interface lan0." in told.output
    for name in ("idle", "download", "upload"):
        assert re.search(rf"^{name} .* ms +[0-9]+$", told.output, re.MULTILINE), told.output
    assert re.search(r"^upload +[0-9.]+ [MGk]bit/s", told.output, re.MULTILINE), told.output
    assert "scale of DSLReports" in told.output
    until("it has ended with the command", lambda: world.parts.service.speed.running() == [])


def test_a_speed_test_that_cannot_begin_says_why(weir: Weir) -> None:
    assert "not in the range 3<=x<=10" in weir("speed", "--seconds", "60", code=2).output


@pytest.mark.parametrize(
    ("marks", "rate"),
    [
        ([(0.0, 0), (0.5, 9_000_000), (1.0, 9_000_000), (2.0, 10_000_000), (3.0, 11_000_000)], 8_000_000),
        ([(0.0, 0), (0.5, 9_000_000), (0.9, 18_000_000)], None),
        ([], None),
    ],
)
def test_a_rate_is_of_the_time_behind_the_first_second(
    marks: list[tuple[float, int]], rate: int | None
) -> None:
    assert speed.rate_bps(marks) == rate


def test_what_load_adds_is_graded_on_a_named_scale() -> None:
    def result(idle: float | None, down: float | None, up: float | None) -> dict[str, Any]:
        trips = [{"median_ms": value, "p95_ms": value, "count": 9} for value in (idle, down, up)]
        return {"idle": trips[0], "download": {"round_trips": trips[1]}, "upload": {"round_trips": trips[2]}}

    assert speed.added_ms(result(2.0, 12.0, 42.0)) == 25.0
    assert speed.added_ms(result(5.0, 4.0, 4.0)) == 0.0
    assert speed.added_ms(result(2.0, None, 4.0)) is None
    grades = [speed.grade_of(added) for added in (4.9, 5.0, 59.9, 60.0, 399.0, 400.0)]
    assert grades == ["A+", "A", "B", "C", "D", "F"]
