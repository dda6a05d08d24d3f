# SPDX-License-Identifier: Apache-2.0
"""Every operation that does something, done once, and what the audit trail calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.http.doing import (
    SSH_KEY,
    commit,
    confirm,
    delete,
    install,
    patch,
    peer,
    post,
    put,
    raise_limit,
    report,
    resolve,
    restore,
    revert,
    revoke,
    route,
    run_speed,
    stage,
    stop_tool,
    unstage,
    unstage_several,
)
from tests.http.world import Client
from weir.tools import TOOLS

Step = tuple[str, Callable[[Client], Any]]


def collection(
    area: str, one: str, first: dict[str, Any], then: dict[str, Any], note: str = "comment"
) -> dict[str, Step]:
    """The operations of a kind whose ids are given, from making an object to removing it; `note`
    is a field of it."""
    path = f"/{area}/{first['id']}"
    rest = {name: value for name, value in first.items() if name != "id"}
    steps = {
        f"create_{one}": post(f"/{area}", first),
        f"put_{one}": put(path, rest | {note: "put"}),
        f"patch_{one}": patch(path, {note: "patched"}),
        f"bulk_{area.replace('-', '_')}": post(f"/{area}/bulk", {"upsert": [then]}),
        f"delete_{one}": delete(path),
    }
    return {f"{area}.{name}": ("config.commit", step) for name, step in steps.items()}


STEPS: dict[str, Step] = {
    "queues.create_queue": ("config.commit", post("/queues", {"name": "q1"})),
    "queues.put_queue": ("config.commit", put("/queues/q1", {"name": "q1", "comment": "a"})),
    "queues.patch_queue": ("config.commit", patch("/queues/q1", {"comment": "b"})),
    "queues.bulk_queues": (
        "config.commit",
        post("/queues/bulk", {"upsert": [{"name": "bulk"}]}),
    ),
    "queues.move_queue": ("config.commit", post("/queues/q1/move", {"before": None})),
    "raises.raise_limit": ("config.raise", raise_limit),
    "raises.end_raise": ("config.raise-end", lambda api: api("DELETE", "/queues/q1/raise")),
    "queue-types.create_queue_type": ("config.commit", post("/queue-types", {"id": "t1", "type": "pfifo"})),
    "queue-types.put_queue_type": ("config.commit", put("/queue-types/t1", {"type": "bfifo"})),
    "queue-types.patch_queue_type": ("config.commit", patch("/queue-types/t1", {"type": "pfifo"})),
    "queue-types.bulk_queue_types": (
        "config.commit",
        post("/queue-types/bulk", {"upsert": [{"id": "t2", "type": "pfifo"}]}),
    ),
    "queue-types.delete_queue_type": ("config.commit", delete("/queue-types/t1")),
    "interfaces.put_interface": (
        "config.commit",
        lambda api: api("PUT", "/interfaces/wan0", {"role": "wan"}),
    ),
    "interfaces.patch_interface": ("config.commit", patch("/interfaces/wan0", {"description": "x"})),
    "interfaces.bulk_interfaces": (
        "config.commit",
        post("/interfaces/bulk", {"upsert": [{"id": "opt0", "role": "lan"}]}),
    ),
    "interfaces.delete_interface": ("config.commit", delete("/interfaces/wan0")),
    "static-routes.create_static_route": (
        "config.commit",
        post("/static-routes", {"destination": "10.0.0.0/8", "blackhole": True}),
    ),
    "static-routes.bulk_static_routes": (
        "config.commit",
        post("/static-routes/bulk", {"upsert": [{"destination": "10.7.0.0/16", "blackhole": True}]}),
    ),
    "static-routes.put_static_route": (
        "config.commit",
        lambda api: put(route(api), {"destination": "10.9.0.0/16", "blackhole": True})(api),
    ),
    "static-routes.patch_static_route": (
        "config.commit",
        lambda api: patch(
            f"/static-routes/{api('GET', '/static-routes').json['items'][0]['id']}", {"distance": 9}
        )(api),
    ),
    "static-routes.delete_static_route": (
        "config.commit",
        lambda api: delete(f"/static-routes/{api('GET', '/static-routes').json['items'][0]['id']}")(api),
    ),
    **collection("services", "service", {"id": "v1", "ports": ["80"]}, {"id": "v2"}),
    **collection("sets", "set", {"id": "s1"}, {"id": "s2"}),
    "sets.refresh_set": ("set.refresh", post("/sets/s2/refresh")),
    **collection(
        "set-entries",
        "set_entry",
        {"id": "e1", "set": "s2", "value": "10.1.0.0/16"},
        {"id": "e2", "set": "s2", "value": "10.2.0.0/16"},
    ),
    **collection(
        "firewall-rules",
        "firewall_rule",
        {"id": "f1", "chain": "forward", "action": "drop", "source_set": "s2"},
        {"id": "f2", "chain": "forward", "action": "accept"},
    ),
    "firewall-rules.move_firewall_rule": ("config.commit", post("/firewall-rules/f2/move", {"before": None})),
    **collection("zones", "zone", {"id": "z1", "reaches": ["dns"]}, {"id": "z2"}),
    **collection(
        "zone-policies",
        "zone_policy",
        {"id": "zp1", "from_zone": "z2", "to_zone": "wan"},
        {"id": "zp2", "from_zone": "lan", "to_zone": "z2", "action": "drop"},
    ),
    **collection("nat-rules", "nat_rule", {"id": "n1", "type": "masquerade"}, {"id": "n2", "type": "none"}),
    "nat-rules.move_nat_rule": ("config.commit", post("/nat-rules/n2/move", {"before": None})),
    **collection("prefix-lists", "prefix_list", {"id": "p1"}, {"id": "p2"}),
    **collection(
        "prefix-list-entries",
        "prefix_list_entry",
        {"id": "e1", "prefix_list": "p2", "prefix": "10.1.0.0/16"},
        {"id": "e2", "prefix_list": "p2", "prefix": "10.2.0.0/16"},
    ),
    **collection("route-maps", "route_map", {"id": "m1"}, {"id": "m2"}),
    **collection(
        "route-map-entries",
        "route_map_entry",
        {"id": "e1", "route_map": "m2"},
        {"id": "e2", "route_map": "m2", "action": "deny"},
    ),
    **{
        f"{area}-entries.move_{area.replace('-', '_')}_entry": (
            "config.commit",
            post(f"/{area}-entries/e2/move", {"before": None}),
        )
        for area in ("prefix-list", "route-map")
    },
    **collection(
        "bgp-instances", "bgp", {"id": "b1", "asn": 65000}, {"id": "b2", "asn": 65000, "disabled": True}
    ),
    **collection(
        "bgp-neighbors",
        "bgp_neighbor",
        {"id": "n1", "bgp": "b2", "address": "192.0.2.77", "remote_as": 65000},
        {"id": "n2", "bgp": "b2", "address": "192.0.2.78", "remote_as": 65000},
        note="description",
    ),
    **collection(
        "wireguard-peers",
        "wireguard_peer",
        {"id": "p1", "interface": "wg0"},
        {"id": "p2", "interface": "wg0"},
    ),
    "wireguard-peers.create_wireguard_peer": ("config.commit", peer),
    **collection(
        "uplinks",
        "uplink",
        {"id": "u1", "interface": "lan0", "disabled": True},
        {"id": "u2", "interface": "lan0", "disabled": True},
    ),
    **collection(
        "uplink-checks",
        "uplink_check",
        {"id": "k1", "uplink": "u2", "target": "198.51.100.1", "disabled": True},
        {"id": "k2", "uplink": "u2", "target": "198.51.100.2", "disabled": True},
    ),
    **collection("bfd-profiles", "bfd_profile", {"id": "f1"}, {"id": "f2"}),
    **collection("ospf-instances", "ospf", {"id": "o1"}, {"id": "o2", "disabled": True}),
    **collection(
        "ospf-interfaces",
        "ospf_interface",
        {"id": "i1", "ospf": "o2", "interface": "lan0", "disabled": True},
        {"id": "i2", "ospf": "o2", "interface": "lan0", "disabled": True},
    ),
    "firewall.put_firewall": ("config.commit", put("/firewall", {"allow_ping_from_wan": False})),
    "firewall.patch_firewall": ("config.commit", patch("/firewall", {"allow_ping_from_wan": True})),
    **collection(
        "bounded-sources",
        "bounded_source",
        {"id": "b1", "source": "198.51.100.7/32"},
        {"id": "b2", "source": "198.51.100.8/32"},
    ),
    **collection("jobs", "job", {"id": "j1", "time": "04:30"}, {"id": "j2", "every_h": 168}),
    "ssh-server.put_ssh_server": ("config.commit", put("/ssh-server", {"port": 2222})),
    "ssh-server.patch_ssh_server": ("config.commit", patch("/ssh-server", {"port": 22})),
    **collection(
        "ssh-keys",
        "ssh_key",
        {"id": "k1", "account": "admin", "key": f"{SSH_KEY}zSm"},
        {"id": "k2", "account": "admin", "key": f"{SSH_KEY}zSn"},
    ),
    **collection(
        "dhcp-servers",
        "dhcp_server",
        {"id": "d1", "interface": "lan0", "disabled": True},
        {"id": "d2", "interface": "lan0", "disabled": True},
    ),
    **collection(
        "dhcp-reservations",
        "dhcp_reservation",
        {"id": "r1", "server": "d2", "address": "10.64.0.21", "mac": "02:00:00:00:00:21"},
        {"id": "r2", "server": "d2", "address": "10.64.0.22", "mac": "02:00:00:00:00:22"},
    ),
    **collection(
        "dhcp-relays",
        "dhcp_relay",
        {"id": "y1", "interface": "lan0", "disabled": True},
        {"id": "y2", "interface": "lan0", "disabled": True},
    ),
    **collection(
        "dhcpv6-servers",
        "dhcpv6_server",
        {"id": "x1", "interface": "lan0", "disabled": True},
        {"id": "x2", "interface": "lan0", "disabled": True},
    ),
    **collection(
        "dhcpv6-reservations",
        "dhcpv6_reservation",
        {"id": "e1", "server": "x2", "address": "::21", "mac": "02:00:00:00:00:21"},
        {"id": "e2", "server": "x2", "address": "::22", "mac": "02:00:00:00:00:22"},
    ),
    "dns.put_dns": ("config.commit", put("/dns", {"cache_mib": 8})),
    "dns.patch_dns": ("config.commit", patch("/dns", {"cache_mib": 16})),
    **collection(
        "dns-records",
        "dns_record",
        {"id": "n1", "name": "nas", "value": "192.0.2.1"},
        {"id": "n2", "name": "nas", "value": "192.0.2.2"},
    ),
    **collection(
        "dns-forwards",
        "dns_forward",
        {"id": "s1", "domain": "a.example", "servers": [{"address": "192.0.2.53"}]},
        {"id": "s2", "domain": "b.example", "servers": [{"address": "192.0.2.53"}]},
    ),
    **collection(
        "alert-targets",
        "alert_target",
        {"id": "t1", "type": "webhook", "url": "https://chat.example.net/hook"},
        {"id": "t2", "type": "webhook", "url": "https://chat.example.net/hook"},
    ),
    "alert-targets.test_alert_target": ("alert.test", post("/alert-targets/t2/test")),
    **collection("alert-rules", "alert_rule", {"id": "a1"}, {"id": "a2", "targets": ["t2"]}),
    **collection(
        "syslog-targets",
        "syslog_target",
        {"id": "y1", "address": "192.0.2.5"},
        {"id": "y2", "address": "192.0.2.5"},
    ),
    **collection(
        "certificates",
        "certificate",
        {"id": "c1", "names": ["a.example"]},
        {"id": "c2", "names": ["b.example"]},
    ),
    **collection("dns-block-lists", "dns_block_list", {"id": "l1"}, {"id": "l2"}),
    "ntp.put_ntp": ("config.commit", put("/ntp", {"enabled": False})),
    "ntp.patch_ntp": ("config.commit", patch("/ntp", {"enabled": True})),
    "identity.put_identity": ("config.commit", put("/identity", {"hostname": "tower-7"})),
    "identity.patch_identity": ("config.commit", patch("/identity", {"contact": "NOC"})),
    "management.put_management": ("config.commit", put("/management", {"certificate": "c2"})),
    "management.patch_management": ("config.commit", patch("/management", {"certificate": None})),
    "tuning.put_tuning": ("config.commit", put("/tuning", {"overrides": {"a": "b"}})),
    "tuning.patch_tuning": ("config.commit", patch("/tuning", {"overrides": {"a": None}})),
    "candidate.create_candidate": ("candidate.open", post("/candidate")),
    "candidate.stage_changes": ("candidate.stage", stage),
    "candidate.unstage_change": ("candidate.unstage", unstage),
    "candidate.unstage_changes": ("candidate.unstage", unstage_several),
    "candidate.discard_candidate": ("candidate.discard", lambda api: api("DELETE", "/candidate")),
    "candidate.resolve_candidate": ("candidate.resolve", resolve),
    "candidate.commit_candidate": ("config.commit", commit),
    "config.confirm_commit": ("config.confirm", confirm),
    "config.revert_commit": ("config.rollback", revert),
    "revisions.restore_revision": ("config.restore", post("/revisions/1/restore", {})),
    "backup.download_backup": ("config.backup", lambda api: api("GET", "/backup")),
    "diagnosis.download_support_file": (
        "system.support-file",
        lambda api: api("GET", "/diagnosis/support-file"),
    ),
    "backup.choose_backup_passphrase": (
        "config.backup-passphrase",
        lambda api: api("PUT", "/backup/passphrase", {"passphrase": "a dozen letters"}),
    ),
    "backup.restore_backup": ("config.restore", restore),
    "export.export_csv": ("config.export", lambda api: api("GET", "/export/csv")),
    "export.export_routeros": ("config.export", lambda api: api("GET", "/export/routeros")),
    "import.commit_report": (
        "config.import",
        lambda api: api("POST", f"/import/reports/{report(api)}/commit", {}),
    ),
    "queues.delete_queue": ("config.commit", delete("/queues/q1")),
    "setup.reset_to_factory": ("system.factory-reset", post("/system/factory-reset", {"mode": "keep"})),
    "setup.power_off": ("system.power-off", post("/system/power-off")),
    "updates.install_update": ("system.update", install),
    "updates.choose_slot": ("system.slot", post("/system/update/slot", {"slot": "B"})),
    "updates.restart_router": ("system.restart", post("/system/restart")),
    **{
        f"tools.{TOOLS[name].operation}": ("tool.run", post(f"/tools/{name}", body))
        for name, body in (
            ("ping", {"target": "127.0.0.1", "count": 1}),
            ("mtr", {"target": "127.0.0.1", "rounds": 1}),
            ("lookup", {"name": "a.example", "server": "127.0.0.1"}),
            ("arping", {"interface": "lo", "address": "192.0.2.1", "count": 1}),
            ("torch", {"interface": "lo", "seconds": 1}),
            ("drop-reasons", {"seconds": 1}),
            ("lock-waits", {"seconds": 1}),
            ("softirqs", {"seconds": 1}),
            ("meter", {"count": 1}),
            ("capture", {"interface": "lo", "seconds": 1}),
            ("blink", {"interface": "lo", "seconds": 1}),
            ("iperf", {"target": "127.0.0.1", "seconds": 2, "port": 1}),
        )
    },
    "tools.stop_tool": ("tool.stop", stop_tool),
    "diagnosis.prove_path": (
        "path.prove",
        post(
            "/diagnosis/path/prove", {"source": "10.64.0.7", "destination": "192.0.2.1", "from_router": True}
        ),
    ),
    "speed-test.run_speed": ("tool.run", run_speed),
    "users.create_user": ("user.create", post("/users", {"username": "ops", "scope": "read"})),
    "users.update_user": ("user.update", lambda api: api("PATCH", "/users/ops", {"scope": "write"})),
    "users.reset_password": ("password.reset", post("/users/ops/password-reset")),
    "users.delete_user": ("user.delete", lambda api: api("DELETE", "/users/ops")),
    "users.create_token": ("token.create", post("/tokens", {"name": "ci", "scope": "read"})),
    "users.revoke_token": ("token.revoke", revoke),
}
"""In this order: the action that each operation leaves in the trail, and how to do it."""
