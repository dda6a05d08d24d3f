# SPDX-License-Identifier: Apache-2.0
"""A few objects of the kinds beside interfaces, routes and queues, so that each list of the lab has something
to show: each does what it says, with a neighbour that is real (`lab.peers`)."""

from __future__ import annotations

from typing import Any

from lab import peers, plan
from lab.seed import Api, Objects

TUNNEL, BRIDGE, LOOPBACK = "wg0", "office", "lo1"


def tunnel_key(api: Api) -> str:
    """The router's public key, which it made for the tunnel."""
    state = api.call("GET", f"/interfaces/{TUNNEL}/state")
    return str(state["fields"]["public_key"])


def examples(branch_key: str | None) -> list[Objects]:
    """What this machine's kernel can do of it, in an order in which nothing names what comes later.

    `branch_key`: the branch's public key, None where the kernel has no WireGuard.
    """
    return [
        ("interface", _interfaces(with_tunnel=branch_key is not None)),
        ("wireguard-peer", [] if branch_key is None else [_branch(branch_key)]),
        *_firewall(),
        *_policies(),
        *_routing(),
        *_names(),
    ]


def _interfaces(*, with_tunnel: bool) -> list[dict[str, Any]]:
    made = {
        "bridge": {
            "id": BRIDGE,
            "role": "lan",
            "addresses": [f"{plan.BRIDGE_V4}/{plan.V4_LENGTH}"],
            "description": "the desks beside the rack",
            "bridge": {"ports": [{"interface": plan.DESK}]},
        },
        "dummy": {
            "id": LOOPBACK,
            "addresses": ["10.255.0.1/32"],
            "description": "the router's own address, whatever port is down",
            "loopback": {},
        },
    }
    found = [item for device, item in made.items() if peers.kernel_makes(device)]
    tunnel = {
        "id": TUNNEL,
        "addresses": [f"{peers.TUNNEL_ADDRESS}/{plan.V4_LENGTH}"],
        "description": "to the branch",
        "wireguard": {"listen_port": peers.TUNNEL_PORT},
    }
    return [*found, tunnel] if with_tunnel else found


def _branch(public_key: str) -> dict[str, Any]:
    return {
        "id": "branch",
        "interface": TUNNEL,
        "public_key": public_key,
        "allowed_ips": [f"{peers.BRANCH_ADDRESS}/32"],
        "comment": "the branch office",
    }


def _firewall() -> list[Objects]:
    """Rules that leave connections to the fast path: those of forwarded packets name the WAN, and none says
    something else of the next packet."""
    wan = plan.WAN.router_device
    return [
        (
            "set",
            [
                {"id": "blocked", "comment": "Networks that nobody is to reach"},
                {"id": "management", "comment": "Where administrators are"},
                {
                    "id": "scanners",
                    "source": "dynamic",
                    "timeout_s": 3600,
                    "comment": "Knocked at a closed port",
                },
            ],
        ),
        (
            "set-entry",
            [
                _entry("blocked-1", "blocked", "198.51.100.200", "leased to a spammer"),
                _entry("blocked-2", "blocked", "198.18.66.0/24", "reported by the abuse desk"),
                _entry("blocked-3", "blocked", "2001:db8:bad::/48"),
                _entry("office", "management", "10.98.0.0/24", "office"),
            ],
        ),
        (
            "service",
            [
                {"id": "ssh", "ports": ["22"]},
                {"id": "sip", "protocol": "tcp-udp", "ports": ["5060-5061"], "comment": "Telephony"},
                {"id": "web", "ports": ["80", "443"]},
            ],
        ),
        (
            "firewall-rule",
            [
                _rule(
                    "ssh",
                    "input",
                    "accept",
                    1,
                    service="ssh",
                    source_set="management",
                    comment="Administrators",
                ),
                _rule(
                    *("knocks", "input", "add-to-set", 2),
                    protocol="tcp",
                    ports=["23", "445"],
                    add_set="scanners",
                    comment="Who knocks at closed ports",
                ),
                _rule("scanners", "input", "drop", 3, source_set="scanners", log=True, log_prefix="scanner"),
                _rule("blocked", "forward", "drop", 1, out_interface=wan, destination_set="blocked"),
                _rule("blocked-back", "forward", "drop", 2, in_interface=wan, source_set="blocked"),
            ],
        ),
    ]


def _entry(entry_id: str, of: str, value: str, comment: str = "") -> dict[str, Any]:
    return {"id": entry_id, "set": of, "value": value, "comment": comment}


def _rule(rule_id: str, chain: str, action: str, position: int, **more: object) -> dict[str, Any]:
    return {"id": rule_id, "chain": chain, "action": action, "position": position, **more}


def _policies() -> list[Objects]:
    return [
        (
            "prefix-list",
            [
                {"id": "ours", "comment": "what we announce"},
                {"id": "theirs", "comment": "what the provider may announce"},
            ],
        ),
        (
            "prefix-list-entry",
            [
                {"id": "ours-1", "prefix_list": "ours", "prefix": plan.ROUTED_SUBNET, "position": 1},
                {"id": "theirs-1", "prefix_list": "theirs", "prefix": peers.ANNOUNCED[0], "position": 1},
            ],
        ),
        (
            "route-map",
            [
                {"id": "to-provider", "comment": "only our own networks"},
                {"id": "from-provider", "comment": "preferred to every other way"},
            ],
        ),
        (
            "route-map-entry",
            [
                {"id": "to-provider-1", "route_map": "to-provider", "match_prefix_list": "ours"},
                {
                    "id": "from-provider-1",
                    "route_map": "from-provider",
                    "match_prefix_list": "theirs",
                    "set_local_preference": 200,
                },
            ],
        ),
        ("bfd-profile", [{"id": "fast", "transmit_ms": 200, "receive_ms": 200}]),
    ]


def _names() -> list[Objects]:
    return [
        (
            "dns-record",
            [
                {"id": "router", "name": "router", "value": plan.LAN.router_v4},
                {"id": "portal", "name": "portal", "type": "CNAME", "value": "router"},
            ],
        ),
        (
            "dns-forward",
            [
                {
                    "id": "provider",
                    "domain": "example.com",
                    "servers": [{"address": plan.INTERNET_ADDRESSES[0]}],
                    "comment": "the provider's own names",
                }
            ],
        ),
        ("dns-block-list", [{"id": "ads", "domains": ["ads.example.net", "tracker.example.net"]}]),
    ]


def _routing() -> list[Objects]:
    return [
        (
            "bgp",
            [
                {
                    "id": "core",
                    "asn": peers.ROUTER_AS,
                    "router_id": plan.WAN.router_v4,
                    "networks": [plan.ROUTED_SUBNET],
                }
            ],
        ),
        (
            "bgp-neighbor",
            [
                {
                    "id": "provider",
                    "bgp": "core",
                    "address": plan.WAN.peer_v4,
                    "remote_as": peers.PROVIDER_AS,
                    "description": "the provider",
                    "import_route_map": "from-provider",
                    "export_route_map": "to-provider",
                    "maximum_prefixes": 1000,
                }
            ],
        ),
        ("ospf", [{"id": "inside", "router_id": plan.NET.router_v4}]),
        (
            "ospf-interface",
            [
                {
                    "id": "inside-net0",
                    "ospf": "inside",
                    "interface": plan.NET.router_device,
                    "point_to_point": True,
                    "hello_s": 1,
                    "dead_s": 4,
                }
            ],
        ),
    ]
