# SPDX-License-Identifier: Apache-2.0
"""What the starts of test_later_start.py do when the agent is there, and what each of them found.

The first one configures ports and a VLAN; the second takes an address away. Each says `later start: {...}.`
on the console and then waits for its power to be cut.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.agent.rig import apply
from tests.polling import until
from weir.adapters.netlink import Links
from weir.model.document import Change
from weir.model.interface import Interface, Vlan
from weir.model.objects import ConfigObject
from weir.store import ConfigStore
from weir.wire.client import AgentClient

EARLY = Path("/var/lib/weir-agent/early")
DATABASE = Path("/var/lib/weir/weir.db")
SOCKET = Path("/run/weir/agent.sock")
DATA_STATE = Path("/run/weir-data/state")
STARTS = Path("/data/starts")
STAYS, GOES = "192.168.88.1/24", "10.88.7.1/24"
LAN = Interface("eth0", role="lan", addresses=(STAYS, GOES))
CONFIGURED = (
    LAN,
    Interface("eth1", role="wan", addresses=("198.51.100.2/30",)),
    Interface("voice", vlan=Vlan("eth0", 7), addresses=("10.88.8.1/24",)),
)


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def look() -> dict[str, Any]:
    """Addresses of the ports, which of them are marked as the agent's, and whether the firewall is there."""
    shown = json.loads(said("ip", "-j", "-d", "link"))
    links = Links()
    names = {link.index: name for name, link in links.links().items()}
    addresses = [item for item in links.addresses() if names[item.ifindex] in ("eth0", "eth1", "voice")]
    links.close()
    return {
        "addresses": sorted(f"{names[item.ifindex]} {item.text}" for item in addresses),
        "marked": sorted(f"{names[item.ifindex]} {item.text}" for item in addresses if item.ours),
        "up": sorted(link["ifname"] for link in shown if "UP" in link["flags"] and link["ifname"] != "lo"),
        "tags": [link["linkinfo"]["info_data"]["id"] for link in shown if link["ifname"] == "voice"],
        "firewall": "drop" in said("nft", "list", "chain", "inet", "weir", "input"),
        "forwards": Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "1",
    }


class Configuration:
    """The store and the agent, as the API changes them."""

    def __init__(self) -> None:
        self.store = ConfigStore.open(DATABASE, create=True)
        self.agent = AgentClient(SOCKET, timeout_s=60.0)

    def commit(self, *wanted: ConfigObject) -> None:
        with self.agent.connection() as connection:
            with self.store.write() as transaction:
                held = [transaction.stored(item.kind, item.id) for item in wanted]
                changes = [
                    Change(item.kind, item.id, None if old is None else old.object, item)
                    for item, old in zip(wanted, held, strict=True)
                ]
                base = transaction.head
                revision = transaction.append(kind="commit", author="test", message="", changes=changes)
                apply(connection, base, revision, changes)
            connection.call("settle", {"revision": revision})

    def is_running(self) -> bool:
        return self.agent.call("status")["state"] == "ok"


def journal(*words: str) -> str:
    return said("journalctl", "-q", "-o", "cat", *words)


def main() -> None:
    number = int(STARTS.read_text()) + 1 if STARTS.exists() else 1
    with STARTS.open("w") as file:
        file.write(str(number))
        file.flush()
        os.fsync(file.fileno())
    configuration = Configuration()
    until("the agent runs what is configured", configuration.is_running)
    found: dict[str, Any] = {
        "start": number,
        "early": json.loads(Path("/run/before-agent").read_text()),
        "later": look(),
        "early_unit": said("systemctl", "show", "--value", "-p", "Result", "weir-early.service").strip(),
        "data": DATA_STATE.read_text().splitlines()[0],
        "journals": len(list(Path("/var/log").glob("journal/*"))),
        "boots": len(journal("--list-boots").splitlines()),
        "agent_before": "listening on" in journal("-b", "-1", "-u", "weir-agent.service"),
    }
    if number == 1:
        configuration.commit(*CONFIGURED)
        until("the next start has a file", lambda: EARLY.exists() and GOES in EARLY.read_text())
    else:
        configuration.commit(Interface("eth0", role="lan", addresses=(STAYS,)))
        found["changed"] = look()
        until("the file follows", lambda: GOES not in EARLY.read_text())
    said("journalctl", "--sync")
    print(f"\nlater start: {json.dumps(found)}.", flush=True)
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1:] == ["look"]:
        print(json.dumps(look()))
    else:
        main()
