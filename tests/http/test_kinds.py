# SPDX-License-Identifier: Apache-2.0
"""What holds for the resources of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client
from weir.http.editing import answers_add
from weir.http.schemas.unions import schema_name
from weir.kinds import DECLARED

SCHEMAS = json.loads((Path(__file__).parents[2] / "docs/api/openapi.json").read_text())["components"][
    "schemas"
]
ALL_ADDED = set().union(*map(answers_add, DECLARED))
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7zSm"
NEW: dict[str, tuple[str, dict[str, Any]]] = {
    "queue": ("/queues/q9", {"name": "x"}),
    "queue-type": ("/queue-types/t9", {"type": "pfifo"}),
    "interface": ("/interfaces/eth9", {}),
    "wireguard-peer": ("/wireguard-peers/w9", {"interface": "wg9"}),
    "static-route": ("/static-routes/r9", {"destination": "10.0.0.0/8", "blackhole": True}),
    "uplink": ("/uplinks/u9", {"interface": "eth9", "gateway": "192.0.2.78"}),
    "uplink-check": ("/uplink-checks/k9", {"uplink": "u9", "target": "198.51.100.9"}),
    "set": ("/sets/s9", {}),
    "set-entry": ("/set-entries/e9", {"set": "s9", "value": "192.0.2.0/24"}),
    "service": ("/services/v9", {"ports": ["443"]}),
    "firewall-rule": ("/firewall-rules/f9", {"chain": "forward", "action": "drop"}),
    "zone": ("/zones/z9", {"reaches": ["dns"]}),
    "zone-policy": ("/zone-policies/zp9", {"from_zone": "lan", "to_zone": "wan"}),
    "nat-rule": ("/nat-rules/n9", {"type": "none"}),
    "bounded-source": ("/bounded-sources/b9", {"source": "198.51.100.7/32"}),
    "job": ("/jobs/j9", {"time": "04:30"}),
    "ssh-server": ("/ssh-server", {"port": 2222}),
    "ssh-key": ("/ssh-keys/k9", {"account": "admin", "key": SSH_KEY}),
    "prefix-list": ("/prefix-lists/p9", {}),
    "prefix-list-entry": ("/prefix-list-entries/p10", {"prefix_list": "p9", "prefix": "192.0.2.0/24"}),
    "route-map": ("/route-maps/m9", {}),
    "route-map-entry": ("/route-map-entries/m10", {"route_map": "m9"}),
    "bfd-profile": ("/bfd-profiles/b9", {}),
    "bgp": ("/bgp-instances/g9", {"asn": 65000}),
    "bgp-neighbor": ("/bgp-neighbors/n9", {"bgp": "g9", "address": "192.0.2.77", "remote_as": 65000}),
    "ospf": ("/ospf-instances/o9", {}),
    "ospf-interface": ("/ospf-interfaces/i9", {"ospf": "o9", "interface": "eth9"}),
    "dhcp-server": ("/dhcp-servers/d9", {"interface": "lan9"}),
    "dhcp-reservation": (
        "/dhcp-reservations/h9",
        {"server": "d9", "mac": "02:00:5e:10:00:01", "address": "10.9.0.7"},
    ),
    "dhcp-relay": ("/dhcp-relays/y9", {"interface": "lan9", "servers": ["192.0.2.67"]}),
    "dhcpv6-server": ("/dhcpv6-servers/x9", {"interface": "lan9"}),
    "dhcpv6-reservation": (
        "/dhcpv6-reservations/e9",
        {"server": "x9", "mac": "02:00:5e:10:00:01", "address": "::7"},
    ),
    "dns": ("/dns", {}),
    "dns-record": ("/dns-records/n9", {"name": "nas", "value": "192.0.2.9"}),
    "dns-forward": (
        "/dns-forwards/s9",
        {"domain": "corp.example", "servers": [{"address": "192.0.2.53"}]},
    ),
    "dns-block-list": ("/dns-block-lists/l9", {"domains": ["ads.example"]}),
    "alert-target": ("/alert-targets/t9", {"type": "webhook", "url": "https://chat.example.net/hook"}),
    "alert-rule": ("/alert-rules/r9", {"targets": ["t9"]}),
    "syslog-target": ("/syslog-targets/y9", {"address": "192.0.2.5"}),
    "certificate": ("/certificates/c9", {"names": ["router.example.net"]}),
    "management": ("/management", {}),
    "firewall": ("/firewall", {}),
    "ntp": ("/ntp", {}),
    "identity": ("/identity", {}),
    "tuning": ("/tuning", {}),
}
TUNNEL = ("/interfaces/wg9", {"type": "wireguard"})
NETWORK = ("/interfaces/lan9", {"role": "lan", "addresses": ["10.9.0.1/24", "2001:db8:9::1/64"]})
NEEDS = {
    "set-entry": ["set"],
    "prefix-list-entry": ["prefix-list"],
    "route-map-entry": ["route-map"],
    "bgp-neighbor": ["bgp"],
    "ospf-interface": ["ospf", "interface"],
    "uplink": ["interface"],
    "uplink-check": ["interface", "uplink"],
    "wireguard-peer": ["tunnel"],
    "dhcp-server": ["network"],
    "dhcp-relay": ["network"],
    "dhcp-reservation": ["network", "dhcp-server"],
    "dhcpv6-server": ["network"],
    "dhcpv6-reservation": ["network", "dhcpv6-server"],
    "alert-rule": ["alert-target"],
}
"""What an object of the kind refers to."""
SINGLE = {kind for kind, declared in DECLARED.items() if declared.is_single}


def fields(kind: str, form: str = "") -> set[str]:
    """The properties of a kind's schema, or of all of its cases."""
    schema = SCHEMAS[schema_name(kind) + form]
    cases = [SCHEMAS[item["$ref"].rpartition("/")[2]] for item in schema.get("oneOf", ())]
    return {name for item in cases or [schema] for name in item["properties"]}


@pytest.mark.parametrize("kind", DECLARED)
def test_what_an_answer_adds_is_what_the_documentation_says(kind: str) -> None:
    assert fields(kind) - fields(kind, "Input") - {"id"} == answers_add(kind)


@pytest.mark.parametrize("kind", DECLARED)
def test_a_field_of_another_kinds_answer_is_not_dropped_in_silence(api: Client, kind: str) -> None:
    path, body = NEW[kind]
    etag = "built-in" if kind in SINGLE else None
    for name in sorted(ALL_ADDED - answers_add(kind) - fields(kind, "Input")):
        refused = api("PUT", path, {**body, name: "established"}, etag=etag)
        state = DECLARED[kind].state
        learnt = bool(state) and name in ("state", *state)
        code = "read-only" if learnt else "unknown-field"
        assert refused.status_code == 422 and refused.json["findings"][0]["code"] == code, name
        assert refused.json["findings"][0]["field"] == name
        change = {"kind": kind, "id": path.rpartition("/")[2], "new": {**body, name: "established"}}
        staged = api("PUT", "/candidate/changes", {"changes": [change]})
        assert (staged.status_code, staged.json["code"]) == (422, code), name


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "interface"])
def test_an_answer_may_be_sent_back(api: Client, kind: str) -> None:
    path, body = NEW[kind]
    for needed in NEEDS.get(kind, ()):
        api("PUT", *(NEW | {"tunnel": TUNNEL, "network": NETWORK})[needed])
    made = api("PUT", path, body, etag="built-in" if kind in SINGLE else None)
    assert made.status_code in (200, 201), made.json
    shown = api("GET", path)
    assert api("PUT", path, shown.json, etag=shown.json["etag"]).status_code == 200
