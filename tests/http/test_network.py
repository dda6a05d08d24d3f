# SPDX-License-Identifier: Apache-2.0
"""Interfaces, routes, firewall, queue types and the system, by REST."""

from __future__ import annotations

from tests.http.world import Client, World


def test_interfaces_of_kernel_and_configuration_are_one_list(api: Client, world: World) -> None:
    world.parts.stats.tick()
    made = api("PUT", "/interfaces/wan0", {"role": "wan", "addresses": ["192.0.2.1/24"]})
    assert made.status_code == 201, made.json
    api("PUT", "/interfaces/gone0", {"role": "lan"})
    items = {item["id"]: item for item in api("GET", "/interfaces").json["items"]}
    assert items["lan0"]["configured"] is False
    assert items["lan0"]["etag"] is None
    assert items["lan0"]["overhead_bytes"] == 18, "what it would start with: Ethernet"
    assert items["wan0"]["state"]["up"] is True
    assert items["gone0"]["state"] is None
    assert api("GET", "/interfaces/nope0").status_code == 404
    patched = api("PATCH", "/interfaces/wan0", {"mtu": 1400}, etag=made.json["etag"])
    assert patched.json["mtu"] == 1400
    assert api("DELETE", "/interfaces/wan0", etag=patched.json["etag"]).status_code == 204
    assert api("GET", "/interfaces/wan0").json["configured"] is False


def test_the_fast_path_is_chosen_and_tells_why(api: Client, world: World) -> None:
    world.agent.interfaces[0] |= {
        "shaper": {"mode": "edt", "reason": "asked for", "hook": "tcx"}
        | {"fast_path": "off", "fast_path_reason": "turned off"},
        "unshaped_packets": {"no-class": 3},
        "passed_up_packets": {"waits": 5},
    }
    world.parts.stats.tick()
    made = api("PUT", "/interfaces/lan0", {"role": "lan", "fast_path": "off"})
    assert made.json["fast_path"] == "off"
    state = api("GET", "/interfaces/lan0").json["state"]
    assert (state["hook"], state["fast_path"], state["fast_path_reason"]) == ("tcx", "off", "turned off")
    assert api("PUT", "/interfaces/wan0", {"fast_path": "sometimes"}).status_code == 422
    figures = {item["id"]: item for item in api("GET", "/stats/interfaces").json["items"]}
    assert figures["lan0"]["unshaped_packets"] == {"no-class": 3}
    assert figures["lan0"]["passed_up_packets"] == {"waits": 5}


def test_unknown_traffic_is_told_and_refused_where_the_interface_says_so(api: Client, world: World) -> None:
    made = api("PUT", "/interfaces/lan0", {"role": "lan", "unknown": "drop", "reverse_path": "strict"})
    assert (made.json["unknown"], made.json["reverse_path"]) == ("drop", "strict")
    assert api("PATCH", "/interfaces/lan0", {"reverse_path": "x"}, etag=made.json["etag"]).status_code == 422
    on_wan = api("PUT", "/interfaces/wan0", {"role": "wan", "unknown": "drop"})
    assert on_wan.status_code == 422
    world.agent.interfaces[0] |= {
        "checked_packets": {"wrong-way": 7, "unknown-rx": 3, "unknown-tx": 2},
        "checked_bytes": {"wrong-way": 700, "unknown-rx": 300, "unknown-tx": 200},
    }
    world.parts.stats.tick()
    figures = {item["id"]: item for item in api("GET", "/stats/interfaces").json["items"]}
    unknown = figures["lan0"]["unknown"]
    assert [unknown[f"{way}_{what}"] for way in ("rx", "tx") for what in ("packets", "bytes")] == [
        3,
        300,
        2,
        200,
    ]
    assert {"rx_bps", "rx_packets_ps", "tx_bps", "tx_packets_ps"} <= set(unknown)
    assert figures["lan0"]["refused_packets"] == {"wrong-way": 7}


def test_routes_live_and_die(api: Client) -> None:
    made = api("POST", "/static-routes", {"destination": "0.0.0.0/0", "gateway": "192.0.2.254"})
    assert made.status_code == 201, made.json
    assert made.json["id"] == "r1"
    both = api(
        "POST", "/static-routes", {"destination": "10.0.0.0/8", "gateway": "1.1.1.1", "blackhole": True}
    )
    assert both.status_code == 422
    assert api("GET", "/static-routes").json["total"] == 1
    assert api("DELETE", "/static-routes/r1", etag=made.json["etag"]).status_code == 204


def test_a_queue_type_says_where_its_kind_is_kept(api: Client) -> None:
    made = api("PUT", "/queue-types/home", {"type": "cake", "options": {"cake-nat": "yes"}}).json
    (said,) = made["enforcement"]
    assert (said["field"], said["enforced"]) == ("type", False)
    assert "on no interface" in said["note"]
    api("PUT", "/interfaces/lan0", {"role": "lan", "shaper": "htb"})
    assert api("GET", "/queue-types/home").json["enforcement"][0]["enforced"] is True
    assert api("GET", "/queue-types/default-small").json["enforcement"] == []
    again = {**made, "comment": "sent back as it came"}
    assert api("PUT", "/queue-types/home", again, etag=made["etag"]).status_code == 200


def test_the_firewall_is_there_before_it_is_stored(api: Client) -> None:
    found = api("GET", "/firewall").json
    assert found["drop_new_from_wan"] is True
    assert api("PATCH", "/firewall", {"masquerade": False}).status_code == 428
    stored = api("PATCH", "/firewall", {"allowed_wan_tcp_ports": [443]}, etag=found["etag"])
    assert stored.status_code == 200, stored.json
    assert api("PATCH", "/firewall", {"masquerade": False}, etag=found["etag"]).status_code == 412
    assert api("GET", "/firewall").json["allowed_wan_tcp_ports"] == [443]


def test_how_many_connections_a_source_may_have_is_a_number_within_bounds(api: Client) -> None:
    found = api("GET", "/firewall").json
    assert found["connections_per_source"] == 4096
    for wrong in (-1, 1_000_001, "many", None):
        answer = api("PATCH", "/firewall", {"connections_per_source": wrong}, etag=found["etag"])
        assert answer.status_code == (200 if wrong is None else 422), answer.json
        found = api("GET", "/firewall").json
    stored = api("PATCH", "/firewall", {"connections_per_source": 0}, etag=found["etag"])
    assert stored.json["connections_per_source"] == 0


def test_built_in_queue_types_are_listed_and_can_be_overridden(api: Client) -> None:
    api(
        "POST",
        "/queues",
        {"name": "a", "queue_type": {"upload": "pcq-upload-default", "download": "default"}},
    )
    items = {item["id"]: item for item in api("GET", "/queue-types").json["items"]}
    assert items["pcq-upload-default"]["used_by"] == 1
    etag = items["default-small"]["etag"]
    assert api("DELETE", "/queue-types/default-small", etag=etag).status_code == 409
    body = {"type": "pfifo", "options": {"pfifo-limit": "20"}}
    assert api("PUT", "/queue-types/default-small", body, etag=etag).status_code == 200
    made = api("POST", "/queue-types", {"id": "cake up", "type": "cake"})
    assert made.status_code == 201, made.json
    assert api("GET", "/queue-types/cake%20up").json["type"] == "cake"


def test_the_system_tells_how_it_is(api: Client, world: World) -> None:
    world.parts.stats.tick()
    found = api("GET", "/system").json
    assert found["agent"]["connected"] is True
    assert found["hostname"] == "router"
    assert found["capabilities"][0] == {"id": "fq", "available": False, "reason": "the kernel has no fq"}
    assert found["health"] == "warning"
    assert found["drift"][0]["what"] == "somebody ran tc"
    world.agent.__exit__(None, None, None)
    world.parts.stats.tick()
    down = api("GET", "/system").json
    assert (down["health"], down["agent"]["connected"], down["agent"]["state"]) == ("failed", False, "down")


def test_a_vlan_is_configured_and_says_what_it_waits_for(api: Client, world: World) -> None:
    world.agent.interfaces[0] |= {"vlan": None}
    world.parts.stats.tick()
    api("PUT", "/interfaces/lan0", {})
    vlan = {"parent": "lan0", "id": 100, "protocol": "802.1Q"}
    made = api("PUT", "/interfaces/acme", {"role": "lan", "vlan": {"parent": "lan0", "id": 100}})
    assert made.status_code == 201, made.json
    assert (made.json["vlan"], made.json["state"], made.json["warnings"]) == (vlan, None, [])
    moved = api("PATCH", "/interfaces/acme", {"vlan": {"id": 101}}, etag=made.json["etag"])
    assert moved.json["vlan"] == {**vlan, "id": 101}
    refused = api("PUT", "/interfaces/other", {"vlan": {"parent": "lan0", "id": 101}})
    assert (refused.status_code, refused.json["code"]) == (422, "duplicate-vlan")
    assert api("PUT", "/interfaces/other", {"vlan": {"parent": "lan0", "id": 4095}}).status_code == 422
    api("PUT", "/interfaces/gone0", {})
    waiting = api("PUT", "/interfaces/other", {"vlan": {"parent": "gone0", "id": 1}})
    (said,) = waiting.json["warnings"]
    assert (said["code"], said["field"]) == ("vlan-waits", "vlan.parent")
    assert "waits for gone0" in said["message"]
    assert (
        api("DELETE", "/interfaces/lan0", etag=api("GET", "/interfaces/lan0").json["etag"]).status_code == 422
    )
    whole = {item["id"]: item for item in api("GET", "/interfaces").json["items"]}
    assert whole["acme"]["vlan"]["id"] == 101


def test_a_vrf_is_configured_with_what_is_in_it(api: Client, world: World) -> None:
    world.agent.interfaces[0] |= {"vrf": "blue"}
    world.parts.stats.tick()
    made = api("PUT", "/interfaces/blue", {"vrf_table": 0})
    assert made.status_code == 201, made.json
    assert (made.json["vrf_table"], made.json["vrf"], made.json["state"]) == (0, None, None)
    inside = api("PUT", "/interfaces/lan0", {"vrf": "blue", "addresses": ["10.0.0.1/24"]})
    assert (inside.json["vrf"], inside.json["state"]["vrf"]) == ("blue", "blue")
    route = api("POST", "/static-routes", {"destination": "0.0.0.0/0", "gateway": "10.0.0.9", "vrf": "blue"})
    assert (route.json["vrf"], route.json["warnings"]) == ("blue", [])
    taken = api("PUT", "/interfaces/green", {"vrf_table": 254})
    assert (taken.status_code, taken.json["code"]) == (422, "table-taken")
    etag = made.json["etag"]
    assert api("DELETE", "/interfaces/blue", etag=etag).json["code"] == "still-referenced"
    out = api("PATCH", "/interfaces/lan0", {"vrf": None}, etag=inside.json["etag"])
    assert out.json["vrf"] is None


def test_what_is_wrong_with_a_lease_is_told_at_its_interface(api: Client, world: World) -> None:
    lease = {"address": "192.168.88.17/24", "server": "192.168.88.1", "gateway": None, "dns": []}
    lan, port = world.agent.interfaces[:2]
    lan |= {"addresses": ["10.0.0.1/8", "192.168.88.1/25"]}
    port |= {"lease": {**lease, "expires_at": 1_767_225_600_000}, "addresses": ["192.168.88.17/24"]}
    world.parts.stats.tick()
    api("PUT", "/interfaces/wan0", {"role": "wan", "addressing": "dhcp"})
    (said,) = api("GET", "/interfaces/wan0").json["warnings"]
    assert (said["code"], said["field"]) == ("lease-overlaps", "addressing")
    assert "192.168.88.17/24, whose network overlaps 192.168.88.1/25 of lan0" in said["message"]
    listed = {item["id"]: item["warnings"] for item in api("GET", "/interfaces").json["items"]}
    assert (listed["wan0"], listed["lan0"]) == ([said], [])
    port |= {"vrf": "blue"}
    world.parts.stats.tick()
    assert api("GET", "/interfaces/wan0").json["warnings"] == []
    port |= {"lease": None, "declined": {"address": "192.168.88.17", "holder": "02:00:00:00:00:77"}}
    world.parts.stats.tick()
    (said,) = api("GET", "/interfaces/wan0").json["warnings"]
    assert said["code"] == "leased-address-taken"
    assert "gave 192.168.88.17, which the station 02:00:00:00:00:77 has already" in said["message"]


def test_a_lease_is_shown_and_dhcp_is_chosen(api: Client, world: World) -> None:
    lease = {
        "address": "198.51.100.7/24",
        "server": "198.51.100.1",
        "gateway": "198.51.100.1",
        "dns": ["9.9.9.9"],
    }
    world.agent.interfaces[1] |= {"lease": {**lease, "expires_at": 1_767_225_600_000}}
    world.parts.stats.tick()
    made = api("PUT", "/interfaces/wan0", {"role": "wan", "addressing": "dhcp"})
    assert made.status_code == 201, made.json
    assert (made.json["addressing"], made.json["addresses"]) == ("dhcp", [])
    assert made.json["state"]["lease"] == {**lease, "expires_at": "2026-01-01T00:00:00.000Z"}
    assert api("GET", "/interfaces/lan0").json["state"]["lease"] is None
    assert api("PUT", "/interfaces/lan0", {"addressing": "slaac"}).status_code == 422
    route = {"destination": "10.0.0.0/8", "gateway": "198.51.100.3"}
    assert api("POST", "/static-routes", route).json["warnings"] == []
