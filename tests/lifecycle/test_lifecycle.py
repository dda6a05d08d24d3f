# SPDX-License-Identifier: Apache-2.0
"""How a lab begins and ends: one sentence when it cannot begin, nothing left however it ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import examples, netns, peers, plan, process, seed, sweep
from lab.measure import poll
from tests.router import free_port
from weir.kinds import DECLARED

LAB = [sys.executable, "-m", "lab"]


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LAB, *arguments], cwd=plan.ROOT, capture_output=True, text=True, check=False)


def nothing_is_left() -> bool:
    """No namespace, no run folder, no description, and the right to make a lab is free."""
    if sweep.leftovers() or plan.LAB_JSON.exists():
        return False
    lock = sweep.take_lock()
    if lock is None:
        return False
    lock.close()
    return True


def host_state() -> tuple[str, ...]:
    """What the lab must not touch: the host's interfaces, routes, rules, mounts and forwarding switches."""
    commands = (
        ["ip", "-o", "link"],
        ["ip", "-o", "addr"],
        ["ip", "route", "show", "table", "all"],
        ["ip", "rule"],
        ["nft", "list", "ruleset"],
        ["findmnt", "--noheadings", "--output", "TARGET,FSTYPE"],
    )
    shown = [
        subprocess.run(command, capture_output=True, text=True, check=False).stdout for command in commands
    ]
    return (*shown, Path("/proc/sys/net/ipv4/ip_forward").read_text())


@pytest.fixture(autouse=True)
def clean_machine() -> Iterator[None]:
    lock = sweep.take_lock()
    assert lock is not None, "another lab is running; make lab-down removes it"
    lock.close()
    lab("down")  # what a machine that lost its power during a lab still holds
    assert nothing_is_left()
    yield
    lab("down")


def test_up_describes_the_lab_and_down_leaves_the_machine_as_it_was() -> None:
    before = host_state()
    port = free_port()
    started = lab("up", "--port", str(port))
    assert started.returncode == 0, started.stderr
    description = json.loads(plan.LAB_JSON.read_text())
    assert description["url"] == f"http://127.0.0.1:{port}"
    assert description["url"] in started.stdout
    assert description["namespaces"] == {
        "client": "weir-lab-client",
        "router": "weir-lab-router",
        "internet": "weir-lab-internet",
    }
    for key in ("client_addresses", "internet_addresses"):
        assert any(":" in address for address in description[key])
        assert any("." in address for address in description[key])
    assert plan.LAB_JSON.stat().st_mode & 0o077 == 0
    api = seed.Api(description["url"], description["token"])
    assert api.call("GET", "/queues?limit=1")["total"] == len(seed.queues())
    assert poll(lambda: traffic_flows(api), 20)
    assert lab("down").returncode == 0
    assert nothing_is_left()
    assert host_state() == before


def traffic_flows(api: seed.Api) -> bool:
    items = api.call("GET", "/stats/queues?top=10")["items"]
    return any(item["rate_bps"]["download"] > 100_000 for item in items)


def test_the_lab_shows_what_weir_is_about() -> None:
    """Traffic on the fast path where the kernel can, and no 0 in a column that can have no value."""
    assert lab("up", "--port", str(free_port())).returncode == 0
    description = json.loads(plan.LAB_JSON.read_text())
    api = seed.Api(description["url"], description["token"])
    assert poll(lambda: any(row["fast_share"] for row in busy_rows(api)), 30), busy_rows(api)
    shapers = api.call("GET", "/system")["shapers"]
    for row in busy_rows(api):
        assert (row["delay_us"] is None) == bool(row["delay_reason"])
        assert row["delay_us"] is None or any(item["mode"] == "edt" for item in shapers)
        if not row["fast_share"] and not all(item["fast_path"] for item in shapers):
            assert row["fast_share_reason"]
    assert not any("until its peer polls" in (item["fast_path_reason"] or "") for item in shapers)
    assert "masquerade" in netns.run(
        ["ip", "netns", "exec", plan.ROUTER, "nft", "list", "table", "inet", "weir"]
    )


def test_the_lab_has_something_of_many_kinds_and_neighbours_that_answer() -> None:
    assert lab("up", "--port", str(free_port()), "--no-traffic").returncode == 0
    description = json.loads(plan.LAB_JSON.read_text())
    api = seed.Api(description["url"], description["token"])
    has_tunnel = peers.kernel_makes("wireguard")
    for kind, objects in examples.examples("x" if has_tunnel else None):
        assert api.call("GET", f"/{DECLARED[kind].path}?limit=1")["total"] >= len(objects), kind
    assert poll(lambda: state_of(api, "bgp-neighbors", "session") == ["Established"], 30)
    assert poll(lambda: state_of(api, "bgp-neighbors", "prefixes_received") == [1], 30)
    assert poll(lambda: state_of(api, "ospf-interfaces", "adjacencies") == [1], 30)
    ask = ("dig", f"@{plan.LAN.router_v4}", "+short", "portal.home.arpa", "www1.example.com")
    said = netns.run(["ip", "netns", "exec", plan.CLIENT, *ask])
    assert said.split() == [plan.LAN.router_v4, plan.INTERNET_NAMES["www1.example.com"]]
    if has_tunnel:
        assert poll(lambda: state_of(api, "wireguard-peers", "session") == ["up"], 30)


def state_of(api: seed.Api, path: str, field: str) -> list[Any]:
    return [state["fields"].get(field) for state in api.call("GET", f"/{path}?with=state")["states"]]


def busy_rows(api: seed.Api) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = api.call("GET", "/stats/queues?top=40")["items"]
    return rows


def test_the_api_process_has_no_privilege() -> None:
    assert lab("up", "--port", str(free_port()), "--no-traffic", "--no-queues").returncode == 0
    pid = process.remembered("api")
    assert pid is not None
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
    )
    assert status["Uid"].split() == [str(plan.API_UID)] * 4
    assert status["Groups"].split() == []
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"


def test_ctrl_c_ends_a_lab_in_the_foreground() -> None:
    running = subprocess.Popen(
        [*LAB, "run", "--port", str(free_port()), "--no-traffic"],
        cwd=plan.ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert any(line.startswith("Weir is running at ") for line in running.stdout)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 0
    running.stdout.close()
    assert nothing_is_left()


def test_kill_9_of_the_lab_leaves_nothing() -> None:
    assert lab("up", "--port", str(free_port()), "--no-traffic", "--no-queues").returncode == 0
    pid = process.remembered("lab")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert poll(nothing_is_left, 30)


def test_a_second_lab_is_refused_and_the_first_goes_on() -> None:
    port = free_port()
    assert lab("up", "--port", str(port), "--no-traffic", "--no-queues").returncode == 0
    second = lab("up", "--port", str(free_port()))
    assert second.returncode == 1
    assert second.stderr.strip() == (
        f"lab: a lab is already running at http://127.0.0.1:{port}; `make lab-down` removes it"
    )
    description = json.loads(plan.LAB_JSON.read_text())
    assert seed.Api(description["url"], description["token"]).knows_the_agent()


def test_a_taken_port_is_named_and_nothing_is_left() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = lab("up", "--port", str(port))
    assert refused.returncode == 1
    assert refused.stderr.strip() == f"lab: port {port} is taken; choose another one with PORT="
    assert poll(nothing_is_left, 10)


def test_without_root_one_sentence_says_so() -> None:
    for how in ("run", "up"):
        command = [sys.executable, "-m", "lab.confine", str(plan.API_UID), _exposed(), *LAB, how]
        refused = subprocess.run(command, cwd=plan.ROOT, capture_output=True, text=True, check=False)
        assert refused.returncode == 1
        assert refused.stderr.strip().startswith("lab: the lab needs root")
        assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("port", ["0", "65536", "99999", "80x", "-1", "\N{SUPERSCRIPT TWO}"])
def test_a_port_that_cannot_be_is_named(port: str) -> None:
    refused = lab("up", f"--port={port}")
    assert refused.returncode == 1
    assert refused.stderr.strip() == f"lab: PORT={port} is not a port: a number from 1 to 65535"


def test_a_kind_of_lab_that_is_none_is_named() -> None:
    refused = subprocess.run(
        ["make", "lab", "LAB=foo"], cwd=plan.ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "LAB=foo: choose namespaces or vm" in refused.stderr


def _exposed() -> str:
    return f"{plan.ROOT},{Path(sys.base_prefix).resolve()}"


def test_down_without_a_lab_says_so() -> None:
    answer = lab("down")
    assert (answer.returncode, answer.stdout.strip()) == (0, "there is no lab")
