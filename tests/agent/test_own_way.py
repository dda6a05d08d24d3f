# SPDX-License-Identifier: Apache-2.0
"""What a caller is told of his own way is what becomes of his packets: real agent, API, rules and client."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until
from weir.accounts.auth import AuthService
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.management import Management
from weir.kinds.nat_rule import NatRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.zone import Zone
from weir.model.codec import to_json
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.store.accounts import AccountStore, accounts_path

ROUTER, CLIENT = "10.64.0.1", "10.64.0.2"
PORT = 8080
SILENCE_S = 2.0
LAN = Interface("lan0", "office", addresses=(f"{ROUTER}/24",))
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
OFFICE = Zone("office", reaches=("management",))


class Router:
    """`ask` is the caller's: from the client's namespace, or from the router itself."""

    def __init__(self, rig: Rig, token: str) -> None:
        self.rig = rig
        self._headers = {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, body: Any = None, *, here: bool = False) -> httpx.Response:
        namespace, host = (self.rig.router, "127.0.0.1") if here else (self.rig.client_ns, ROUTER)
        with netns.inside(namespace):
            url = f"http://{host}:{PORT}/api/v1{path}"
            return httpx.request(method, url, json=body, headers=self._headers, timeout=60.0)

    def reaches(self) -> bool:
        """Whether a new connection of the client's is taken and answered."""
        with netns.inside(self.rig.client_ns), suppress(OSError):
            socket.create_connection((ROUTER, PORT), timeout=SILENCE_S).close()
            return True
        return False

    def stage(self, *items: ConfigObject) -> dict[str, Any]:
        """As the client's candidate; what it is told of its way."""
        self.ask("DELETE", "/candidate")
        changes = [{"kind": each.kind, "id": each.id, "new": to_json(each)} for each in items]
        staged = self.ask("PUT", "/candidate/changes", {"changes": changes})
        assert staged.status_code == 200, staged.text
        told: dict[str, Any] = self.ask("GET", "/candidate/diff").json()["your_way"]
        return told

    def commit(self, window_s: int | None, *, here: bool = False) -> httpx.Response:
        body = {"message": "", "confirm_within_s": window_s}
        return self.ask("POST", "/candidate/commit", body, here=here)


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    rig = Rig()
    try:
        store = AccountStore.open(accounts_path(rig.folder / "weir.db"))
        auth = AuthService(store)
        auth.bootstrap()
        token = auth.issue_local_token("test", "admin")
        store.close()
        rig.start_agent()
        given = {
            "WEIR_DATABASE": str(rig.folder / "weir.db"),
            "WEIR_AGENT_SOCKET": str(rig.folder / "agent.sock"),
            "WEIR_LISTEN": f"0.0.0.0:{PORT}",
            "WEIR_ALLOW_ROOT": "1",
        }
        words = [f"{name}={value}" for name, value in given.items()]
        rig.spawn("api", ["env", *words, sys.executable, "-m", "weir.http.main"], netns.entering(rig.router))
        asked = ["ip", "netns", "exec", rig.router, "bash", "-c", f": </dev/tcp/127.0.0.1/{PORT}"]
        until(
            "the API answers",
            lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0,
            60.0,
        )
        rig.commit(LAN, WAN, OFFICE)
        yield Router(rig, token)
    finally:
        print(rig.agent_log())
        rig.close()


def shut(name: str = "shut", **said: Any) -> FirewallRule:
    return FirewallRule(name, **{"chain": "input", "action": "drop", **said})


CASES: dict[str, tuple[str, tuple[ConfigObject, ...]]] = {
    "zone": ("cuts-off-you", (replace(OFFICE, reaches=("dns",)),)),
    "no zone": ("cuts-off-you", (replace(LAN, role="none"),)),
    "outside": ("cuts-off-you", (replace(LAN, role="wan"),)),
    "disabled": ("cuts-off-you", (replace(LAN, disabled=True),)),
    "address": ("cuts-off-you", (replace(LAN, addresses=("10.64.0.3/24",)),)),
    "drop": ("cuts-off-you", (shut(source=(f"{CLIENT}/32",)),)),
    "reject": (
        "cuts-off-you",
        (shut(action="reject", in_interface="lan0", protocol="tcp", ports=(str(PORT),)),),
    ),
    "answers": ("cuts-off-you", (shut(chain="output", destination=("10.64.0.0/24",)),)),
    "set": ("cuts-off-you", (Set("bad"), SetEntry("b1", "bad", f"{CLIENT}/32"), shut(source_set="bad"))),
    "sources": ("cuts-off-you", (Management(sources=("10.65.0.0/16", "2001:db8::/32")),)),
    "sources before a rule": (
        "cuts-off-you",
        (Management(sources=("10.65.0.0/16",)), shut(action="accept", source=(f"{CLIENT}/32",))),
    ),
    "jump": (
        "cuts-off-you",
        (shut(action="jump", jump_to="own"), shut("inner", chain="own", source=("10.64.0.0/25",))),
    ),
    "one of the sources": ("stays", (Management(sources=("10.64.0.0/30", "2001:db8::/32")),)),
    "the loopback": ("stays", (shut(protocol="tcp", ports=(str(PORT),), source=("127.0.0.0/8", "::1/128")),)),
    "another host": ("stays", (shut(source=("10.64.0.9/32",)),)),
    "another port": ("stays", (shut(protocol="tcp", ports=("22", "443")),)),
    "an exception": (
        "stays",
        (
            shut("first", action="accept", source=(f"{CLIENT}/32",), position=1),
            shut(in_interface="lan0", position=2),
        ),
    ),
    "another zone": ("stays", (replace(LAN, role="lan"),)),
    "through it": ("stays", (shut(chain="forward"),)),
    "one more address": ("stays", (replace(LAN, addresses=(f"{ROUTER}/24", "10.65.0.1/24")),)),
    "a forward": (
        "stays",
        (
            NatRule(
                "camera",
                type="destination",
                interface="lan0",
                protocol="tcp",
                ports=(str(PORT),),
                to_address="10.64.0.50",
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_of_the_callers_way_is_what_becomes_of_it(router: Router, name: str) -> None:
    fate, items = CASES[name]
    told = router.stage(*items)
    assert (told["fate"], told["address"]) == (fate, CLIENT), told
    if fate == "cuts-off-you":
        refused = router.commit(None)
        assert (refused.status_code, refused.json()["code"]) == (409, "cuts-off-you")
        assert router.reaches()
    done = router.commit(600, here=True)  # from the router: the answer to one who is cut off would not come
    assert done.status_code == 200, done.text
    try:
        assert router.reaches() is (fate == "stays"), told
    finally:
        assert router.ask("POST", "/config/revert", here=True).status_code == 200
    until("the client reaches it again", router.reaches, 30.0)
