# SPDX-License-Identifier: Apache-2.0
"""Inside the virtual machine, before anything was configured: the kernel's own defaults as a line of JSON.

    python -m tests.kernel.guest.qdiscs

Brings every network card up and makes one virtual device of each kind. Nothing is set: what a device's qdiscs
are is the kernel's own choice.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

VIRTUAL = {
    "vt0": "type veth peer name vt1",
    "vb0": "type bridge",
    "vd0": "type dummy",
    "vv0": "link vt1 type vlan id 7",
    "vx0": "type vxlan id 7 dstport 4789 dev vt1",
    "vr0": "type vrf table 7",
    "vw0": "type wireguard",
    "vo0": "type bond",
    "vg0": "type gre remote 192.0.2.1 local 192.0.2.2",
}
SEVERAL_QUEUES = {
    "vf0": "numtxqueues 4 numrxqueues 4 type ifb",
    "vq0": "numtxqueues 4 numrxqueues 4 type veth peer name vq1 numtxqueues 4 numrxqueues 4",
}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def main() -> None:
    default = Path("/proc/sys/net/core/default_qdisc").read_text().strip()
    sysfs = Path("/sys/class/net")
    cards = {
        path.name: (path / "device/driver").resolve().name
        for path in sysfs.iterdir()
        if (path / "device").exists()
    }
    # bonding_masters lies there too, and is a file.
    at_boot = sorted(
        path.name for path in sysfs.iterdir() if path.is_dir() and not (path / "device").exists()
    )
    for name, words in {**VIRTUAL, **SEVERAL_QUEUES}.items():
        ip("link", "add", name, *words.split())
    ip("link", "set", "vt1", "up")  # what lies below a VLAN has to be up before it
    names = [*cards, *VIRTUAL, *SEVERAL_QUEUES]
    for name in names:
        ip("link", "set", name, "up")
    devices = {
        name: {
            "driver": cards.get(name),
            "tx_queues": len(list((sysfs / name / "queues").glob("tx-*"))),
            "qdiscs": qdiscs(name),
        }
        for name in names
    }
    print(json.dumps({"default": default, "virtual_at_boot": at_boot, "devices": devices}))


def qdiscs(name: str) -> list[str]:
    """Kinds, the root's first."""
    shown = subprocess.run(
        ["tc", "-j", "qdisc", "show", "dev", name], check=True, capture_output=True, text=True
    )
    return [item["kind"] for item in sorted(json.loads(shown.stdout), key=lambda item: "root" not in item)]


if __name__ == "__main__":
    main()
