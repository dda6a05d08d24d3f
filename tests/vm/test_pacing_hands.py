# SPDX-License-Identifier: Apache-2.0
"""Somebody takes away what packets wait in: for how long traffic is unlimited where times are kept."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import pytest

from tests.agent.meter import RATE_BPS, told_since, unlimited_after
from tests.agent.rig import Rig, client_queue, lan, wan
from tests.polling import until

pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MOST_S = 2.0
PORTS = ("lan0", "wan0")


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Rig:
    bare_rig.commit(lan(), wan(), client_queue(RATE_BPS))
    until("both ports pace", lambda: all(paces(bare_rig, port) for port in PORTS))
    return bare_rig


def qdiscs(rig: Rig, port: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(rig.run("tc", "-j", "qdisc", "show", "dev", port))
    return [item for item in found if item["kind"] not in ("clsact", "ingress")]


def paces(rig: Rig, port: str) -> bool:
    """Below mq, or where a port has one queue at its root, is nothing but fq."""
    kinds = [item["kind"] for item in qdiscs(rig, port)]
    return "fq" in kinds and set(kinds) <= {"mq", "fq"}


def foreign_root(rig: Rig) -> None:
    for port in PORTS:
        rig.run("tc", "qdisc", "replace", "dev", port, "root", "handle", "7:", "pfifo", "limit", "77")


def removed_root(rig: Rig) -> None:
    for port in PORTS:
        rig.run("tc", "qdisc", "del", "dev", port, "root")


def replaced_leaves(rig: Rig) -> None:
    """A pfifo sends at once what fq keeps until its time."""
    for port in PORTS:
        for item in qdiscs(rig, port):
            if item["kind"] == "fq":
                at = ["parent", item["parent"]] if "parent" in item else ["root"]
                rig.run("tc", "qdisc", "replace", "dev", port, *at, "pfifo", "limit", "77")


@pytest.mark.parametrize("hand", [foreign_root, removed_root, replaced_leaves])
def test_limits_hold_again_within_two_seconds(rig: Rig, hand: Callable[[Rig], None]) -> None:
    begun_s = time.time()
    assert unlimited_after(rig, hand) <= MOST_S
    until("both ports pace again", lambda: all(paces(rig, port) for port in PORTS))
    until("explain agrees", lambda: rig.explain("client")["agrees"])
    assert told_since(rig, begun_s)
