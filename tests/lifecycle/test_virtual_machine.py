# SPDX-License-Identifier: Apache-2.0
"""`make lab LAB=vm`: the same lab on another kernel, reached at the same address."""

from __future__ import annotations

import json
import subprocess

import pytest

from lab import plan, process, seed
from lab.measure import poll
from tests.lifecycle.test_lifecycle import clean_machine, lab, nothing_is_left, state_of
from tests.router import free_port

__all__ = ["clean_machine"]


def qemu_of(pid: int) -> int:
    """The child of the program that runs the virtual machine."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True)
    return int(listed.stdout.split()[0])


def paces(api: seed.Api) -> bool:
    """Whether the router in the guest says that it runs 6.12 and paces on every port of the lab."""
    system = api.call("GET", "/system")
    modes = {shaper["interface"]: shaper["mode"] for shaper in system["shapers"]}
    paced = [modes.get(link.router_device) == "edt" for link in plan.LINKS]
    return str(system["kernel"]).startswith("6.12.") and all(paced)


@pytest.mark.on_ours
def test_the_lab_in_the_virtual_machine_answers_at_the_same_address_and_ends_with_down() -> None:
    port = free_port()
    started = lab("up", "--vm", "--port", str(port))
    assert started.returncode == 0, started.stderr
    pid = process.remembered("vm")
    assert pid is not None
    guest = qemu_of(pid)
    access = json.loads(plan.LAB_JSON.read_text())
    assert access["url"] == f"http://127.0.0.1:{port}"
    api = seed.Api(access["url"], access["token"])
    assert poll(lambda: paces(api), 120)
    assert api.call("GET", "/queues?limit=1")["total"] == len(seed.queues())
    assert poll(lambda: state_of(api, "wireguard-peers", "session") == ["up"], 120)
    assert lab("down").returncode == 0
    assert nothing_is_left()
    assert process.started_ticks(guest) == -1
