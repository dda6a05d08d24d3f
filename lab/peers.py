# SPDX-License-Identifier: Apache-2.0
"""Who the router talks to in the lab's internet: BIRD as BGP provider and OSPF neighbour, the branch at
the other end of a WireGuard tunnel, and a desk at a port of the bridge."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab import netns, plan, process

BIRD = Path("/usr/sbin/bird")
_BIRD_RUN = plan.RUN / "bird"
ROUTER_AS, PROVIDER_AS = 64512, 64513
ANNOUNCED = ("198.51.100.0/24", "198.18.0.0/15")
"""By BGP; the router's policy accepts the first one only."""
BY_OSPF = "198.51.102.0/24"

TUNNEL_PORT = 51_820
TUNNEL_NETWORK, BRANCH_NETWORK = "10.99.0.0/24", "10.77.0.0/24"
TUNNEL_ADDRESS, BRANCH_ADDRESS = "10.99.0.1", "10.99.0.2"
_BRANCH_DEVICE = "branch0"
_BIRD_CONFIGURATION = f"""router id {plan.WAN.peer_v4};
protocol device {{}}
ipv4 table by_ospf;
protocol static announced {{ ipv4; {" ".join(f"route {prefix} blackhole;" for prefix in ANNOUNCED)} }}
protocol static own {{ ipv4 {{ table by_ospf; }}; route {BY_OSPF} blackhole; }}
protocol bgp customer {{
 local {plan.WAN.peer_v4} as {PROVIDER_AS}; neighbor {plan.WAN.router_v4} as {ROUTER_AS};
 passive yes; error wait time 1, 1;
 ipv4 {{ import all; export where source = RTS_STATIC; }};
}}
protocol ospf v2 inside {{
 ipv4 {{ table by_ospf; import all; export where source = RTS_STATIC; }};
 area 0 {{ interface "{plan.NET.peer_device}" {{ type ptp; hello 1; dead 4; }}; }};
}}
"""


def wait_for_bird(child: process.Child) -> None:
    process.wait_for("BIRD", (_BIRD_RUN / "bird.ctl").exists, [child])


def start_bird() -> process.Child:
    """It waits for the router, and takes no route into the kernel."""
    _BIRD_RUN.mkdir(exist_ok=True)
    configuration, socket = _BIRD_RUN / "bird.conf", _BIRD_RUN / "bird.ctl"
    configuration.write_text(_BIRD_CONFIGURATION)
    socket.unlink(missing_ok=True)  # one that was killed leaves it
    command = [str(BIRD), "-f", "-c", str(configuration), "-s", str(socket), "-P", str(_BIRD_RUN / "pid")]
    return process.start("bird", command, prepare=netns.entering(plan.INTERNET))


def kernel_makes(device: str) -> bool:
    """Whether this kernel has a type of device (`bridge`, `dummy`, `wireguard`), seen by making one."""
    ip = ["ip", "-n", plan.INTERNET, "link"]
    made = subprocess.run([*ip, "add", "weir-probe", "type", device], capture_output=True, check=False)
    if made.returncode == 0:
        netns.run([*ip, "del", "weir-probe"])
    return made.returncode == 0


def plug_in_desk() -> None:
    """A cable to a port that is to be the bridge's, from a desk with an address in the bridge's network."""
    made = f"link add {plan.DESK} type veth peer name {plan.PLUG} netns {plan.CLIENT}"
    netns.ip(plan.ROUTER, [made, f"link set {plan.DESK} up"])
    address = f"addr add {plan.PLUG_V4}/{plan.V4_LENGTH} dev {plan.PLUG}"
    netns.ip(plan.CLIENT, [f"link set {plan.PLUG} up", address])


def connect_branch(private_key: str, router_key: str) -> None:
    """Make the branch's end of the tunnel; it begins to speak at once."""
    # lab/vm/run imports this module by the machine's own Python, which has no such package.
    from weir.adapters.wireguard import Tunnels

    tunnels = Tunnels()
    netns.ip(
        plan.INTERNET,
        [
            f"link add {_BRANCH_DEVICE} type wireguard",
            f"addr add {BRANCH_ADDRESS}/24 dev {_BRANCH_DEVICE}",
            f"link set {_BRANCH_DEVICE} up",
        ],
    )
    with netns.inside(plan.INTERNET):
        tunnels.set(_BRANCH_DEVICE, private_key, TUNNEL_PORT)
        tunnels.set_peer(
            _BRANCH_DEVICE,
            router_key,
            allowed_ips=(TUNNEL_NETWORK,),
            endpoint=(plan.WAN.router_v4, TUNNEL_PORT),
            keepalive_s=25,
        )
        tunnels.close()
