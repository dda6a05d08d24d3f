# SPDX-License-Identifier: Apache-2.0
"""DHCPv6 servers by what is configured: findings, what becomes of them, and a delegated prefix."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weir.agent.delegations import Delegations
from weir.agent.dhcp6_client import Delegation
from weir.agent.lease_client import since_boot_s
from weir.backends.dhcp6 import Dhcp6Backend
from weir.backends.kea6_config import config6_text
from weir.backends.kea_config import subnet_id, tag_of, without_subnets_on
from weir.kinds.dhcp6_pools import DelegatedPool, PrefixPool
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dns import Dns
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.model.announcing import Announcement
from weir.model.codec import from_json
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.problem import Invalid
from weir.model.rules import validate_all
from weir.parts.announcing import ANNOUNCING
from weir.parts.dhcp6 import DHCP6, Server6Spec
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK

LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24", "2001:db8:64::1/64"), ra=Announcement())
WAN = Interface("wan0", "wan", dhcpv6=Dhcpv6())
TAKER = replace(LAN, addresses=("10.64.0.1/24",), delegated=Delegated("wan0", 3))
SERVER = Dhcpv6Server("lan", "lan0", dns_servers=("2001:db8::53",))


def codes(*items: Any, kind: str = "dhcpv6-server") -> list[str]:
    found = validate_all(Document((*items,)))
    return [item.code for item in found if item.kind == kind and item.severity != "notice"]


@pytest.mark.parametrize(
    ("interface", "code"),
    [
        (LAN, None),
        (TAKER, None),
        (replace(LAN, role="wan", ra=None), "dhcp-on-wan"),
        (replace(LAN, addresses=("10.64.0.1/24",)), "no-address"),
        (replace(LAN, addresses=("fe80::5/64",)), "no-address"),
        (replace(LAN, addresses=("2001:db8::1/128",)), "no-address"),
        (replace(LAN, ra=None), "not-announced"),
        (replace(LAN, vrf="blue"), "dhcp-in-vrf"),
    ],
)
def test_where_a_server_may_be(interface: Interface, code: str | None) -> None:
    vrf = Interface("blue", vrf_table=100)
    assert codes(WAN, vrf, interface, SERVER) == ([] if code is None else [code])


def test_the_announcement_agrees_with_the_server() -> None:
    told = replace(LAN, ra=Announcement(managed=True))
    assert codes(told, replace(SERVER, mode="stateless")) == ["announced-otherwise"]
    for mode, flags in (("stateful", (True, True)), ("stateless", (False, True))):
        spec = ANNOUNCING.wanted(Document((LAN, replace(SERVER, mode=mode))))["lan0"]
        assert (spec.managed, spec.other) == flags
    spec = ANNOUNCING.wanted(Document((LAN, replace(SERVER, disabled=True))))["lan0"]
    assert (spec.managed, spec.other) == (False, False)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"first": "::1", "last": "::1"}, "no-addresses"),
        ({"first": "::2", "last": "::1"}, "bad-range"),
        ({"first": "::1000", "last": "::1:1000"}, "too-many-addresses"),
        ({"first": "::1000", "last": "::1:0fff"}, None),
        ({"first": "0:0:0:1::", "last": "0:0:0:1::5"}, "range-outside"),
        ({"dns_servers": ("192.0.2.53",)}, "not-ipv6"),
        ({"domain": "192.0.2.53"}, "no-name"),
        ({"preferred_s": 5401}, "lifetimes"),
    ],
)
def test_what_a_server_may_say(said: dict[str, Any], code: str | None) -> None:
    assert codes(LAN, replace(SERVER, **said)) == ([] if code is None else [code])


def test_an_address_is_an_end_of_one_of_ipv6_and_is_written_so() -> None:
    body = {"id": "lan", "interface": "lan0", "first": "0:0::1:1000", "last": "::1:1fff"}
    server = from_json("dhcpv6-server", body)
    assert isinstance(server, Dhcpv6Server) and (server.first, server.last) == ("::1:1000", "::1:1fff")
    with pytest.raises(Invalid, match=r"must be the end of an IPv6 address"):
        from_json("dhcpv6-server", {**body, "first": "10.0.0.5"})


def test_there_is_one_server_for_each_interface() -> None:
    assert codes(LAN, SERVER, Dhcpv6Server("two", "lan0", dns_servers=("2001:db8::53",))) == ["two-servers"]


def test_clients_do_not_get_the_routers_own_address_and_ask_it_for_names_where_it_answers() -> None:
    dns = Dns(enabled=True, domain="home.example")
    server = Dhcpv6Server("lan", "lan0", first="::", last="::5")
    more = replace(LAN, addresses=("2001:db8:64::1/64", "2001:db8:64::4/64", "2001:db8:65::2/64"))
    (spec,) = DHCP6.wanted(Document((more, server, dns))).values()
    assert spec.pools() == [
        "2001:db8:64::-2001:db8:64::",
        "2001:db8:64::2-2001:db8:64::3",
        "2001:db8:64::5-2001:db8:64::5",
    ]
    assert spec.dns_servers[0] == "2001:db8:64::1" and spec.domain == "home.example"
    (spec,) = DHCP6.wanted(Document((more, server))).values()
    assert spec.dns_servers == () and spec.domain is None


def test_clients_are_let_in_before_rules_of_people_and_only_where_there_are_any() -> None:
    def rules(*items: Any) -> list[str]:
        made = FIREWALL.wanted(Document((LAN, SERVER, *items)))
        return [rule.made_by for rule in made if rule.chain == "input"]

    assert rules() == []
    found = rules(WAN, Firewall(drop_new_from_wan=True))
    assert found[0] == "dhcpv6-server/lan" and found.count("dhcpv6-server/lan") == 1


# -- reservations ----------------------------------------------------------------------------------------


DESK = Dhcpv6Reservation("desk", "lan", "::10", duid="00:03:00:01:02:00:5e:10:00:01")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({}, None),
        ({"duid": "0x000300010200"}, None),
        ({"mac": "02:00:5e:10:00:01"}, "not-one-host"),
        ({"duid": None}, "not-one-host"),
        ({"duid": "printer"}, "bad-identifier"),
        ({"address": "::1"}, "own-address"),
        ({"address": "2001:db8:64::10"}, "address-outside"),
    ],
)
def test_what_a_reservation_may_say(said: dict[str, Any], code: str | None) -> None:
    found = codes(LAN, SERVER, replace(DESK, **said), kind="dhcpv6-reservation")
    assert found == ([] if code is None else [code])


def test_a_host_and_an_address_are_reserved_once_and_by_a_server_that_gives_addresses() -> None:
    def of(*items: Any) -> list[str]:
        return codes(LAN, *items, kind="dhcpv6-reservation")

    assert of(SERVER, DESK, replace(DESK, id="two", address="::11")) == ["host-twice"]
    assert of(SERVER, DESK, replace(DESK, id="two", duid="0x000001")) == ["address-twice"]
    assert of(replace(SERVER, mode="stateless"), DESK) == ["stateless"]
    (spec,) = DHCP6.wanted(Document((LAN, SERVER, DESK))).values()
    text = config6_text([spec], {"lan0": 7}, Path("/s"), Path("/data/l.csv"))
    (subnet,) = json.loads(text)["Dhcp6"]["subnet6"]
    assert subnet["reservations"] == [{"duid": DESK.duid, "ip-addresses": ["2001:db8:64::10"]}]


def test_who_is_blocked_is_told_to_kea_for_the_interface_of_its_server() -> None:
    other = replace(LAN, id="lan1", addresses=("2001:db8:65::1/64",))
    both = [replace(DESK, id=name, server=name, address=None, block=True) for name in ("lan", "two")]
    servers = [SERVER, replace(SERVER, id="two", interface="lan1", mode="stateless")]
    specs = [*DHCP6.wanted(Document((LAN, other, *servers, *both))).values()]
    told = json.loads(config6_text(specs, {"lan0": 7, "lan1": 8}, Path("/s"), Path("/data/l.csv")))["Dhcp6"]
    assert told["early-global-reservations-lookup"] is True
    assert told["reservations"] == [
        {"duid": DESK.duid, "client-classes": ["blocked by lan", "blocked by two"]}
    ]
    assert told["client-classes"][-1] == {
        "name": "DROP",
        "test": "(member('blocked by lan') and pkt.iface == 'lan0') or "
        "(member('blocked by two') and pkt.iface == 'lan1')",
    }


# -- prefixes for routers behind ---------------------------------------------------------------------------


def pooled(*pools: PrefixPool, **more: Any) -> Dhcpv6Server:
    return replace(SERVER, prefix_pools=pools, **more)


@pytest.mark.parametrize(
    ("pools", "code"),
    [
        ((PrefixPool("2001:db8:1000::/40"),), None),
        ((PrefixPool("2001:db8:1000::/56", 56),), None),
        ((PrefixPool("2001:db8:1000::/40"), PrefixPool("2001:db8:1100::/40", 60)), None),
        ((PrefixPool("2001:db8:1000::/60", 56),), "pool-too-small"),
        ((PrefixPool("10.0.0.0/8"),), "not-ipv6"),
        ((PrefixPool("2001:db8::/40"),), "prefix-taken"),
        ((PrefixPool("2001:db8:64::/64", 64),), "prefix-taken"),
        ((PrefixPool("2001:db8:2000::/40"),), "prefix-taken"),
        ((PrefixPool("2001:db8:1000::/40"), PrefixPool("2001:db8:1010::/44")), "pools-overlap"),
    ],
)
def test_what_a_pool_of_prefixes_may_be(pools: tuple[PrefixPool, ...], code: str | None) -> None:
    routes = [
        StaticRoute("in", "2001:db8:2000:8::/64", gateway="2001:db8:64::9"),
        StaticRoute("all", "::/0", gateway="2001:db8:64::9"),
        StaticRoute("own", "2001:db8::/32", blackhole=True),
    ]
    assert codes(LAN, pooled(*pools), *routes) == ([] if code is None else [code])


def test_pools_of_two_servers_do_not_meet() -> None:
    other = replace(LAN, id="lan1", addresses=("2001:db8:65::1/64",))
    servers = [pooled(PrefixPool("2001:db8:1000::/40"), id=name) for name in "ab"]
    assert codes(LAN, other, servers[0], replace(servers[1], interface="lan1")) == ["pools-overlap"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"prefix": "2001:db8:1000:4200::/56"}, None),
        ({"prefix": "2001:db8:3000::/48", "address": "::10"}, None),
        ({}, "nothing-reserved"),
        ({"block": True}, None),
        ({"prefix": "2001:db8:1000:4200::/60"}, "not-of-the-pool"),
        ({"prefix": "2001:db8:3000::/47"}, "bad-prefix-length"),
        ({"prefix": "2001:db8:64::/56"}, "prefix-taken"),
    ],
)
def test_what_prefix_a_reservation_may_have(said: dict[str, str], code: str | None) -> None:
    router = replace(DESK, **{"address": None, **said})
    found = codes(LAN, pooled(PrefixPool("2001:db8:1000::/40")), router, kind="dhcpv6-reservation")
    assert found == ([] if code is None else [code])


def test_kea_delegates_of_pools_and_reservations_and_without_addresses_as_well() -> None:
    router = replace(DESK, address=None, prefix="2001:db8:1000:4200::/56", hostname="branch")
    server = pooled(PrefixPool("2001:db8:1000::/40", 56), mode="stateless")
    (spec,) = DHCP6.wanted(Document((LAN, server, router))).values()
    text = config6_text([spec], {"lan0": 7}, Path("/s"), Path("/data/l.csv"))
    (network,) = json.loads(text)["Dhcp6"]["shared-networks"]
    addresses, pool = network["subnet6"]
    assert pool["pd-pools"] == [{"prefix": "2001:db8:1000::", "prefix-len": 40, "delegated-len": 56}]
    assert pool["reservations"] == [
        {"duid": DESK.duid, "prefixes": ["2001:db8:1000:4200::/56"], "hostname": "branch"}
    ]
    assert addresses["pools"] == addresses["reservations"] == [] and addresses["id"] != pool["id"]
    assert spec.gave("2001:db8:10ff::/56") and not spec.gave("2001:db8:1100::/56")
    assert not spec.gave("2001:db8:10ff::/60"), "of a pool whose prefixes were shorter"


def test_a_reserved_prefix_is_where_its_pool_is_and_an_address_where_its_network_is() -> None:
    both = replace(DESK, prefix="2001:db8:1000:4200::/56")
    beside = Dhcpv6Reservation("far", "lan", prefix="2001:db8:3000::/48", duid="00:03:00:01:02:03")
    (spec,) = DHCP6.wanted(Document((LAN, pooled(PrefixPool("2001:db8:1000::/40")), both, beside))).values()
    text = config6_text([spec], {"lan0": 7}, Path("/s"), Path("/data/l.csv"))
    ((addresses, pool),) = (one["subnet6"] for one in json.loads(text)["Dhcp6"]["shared-networks"])
    assert addresses["reservations"] == [
        {"duid": DESK.duid, "ip-addresses": ["2001:db8:64::10"]},
        {"duid": beside.duid, "prefixes": ["2001:db8:3000::/48"]},
    ]
    assert pool["reservations"] == [{"duid": DESK.duid, "prefixes": ["2001:db8:1000:4200::/56"]}]
    assert json.loads(without_subnets_on(text, ["lan0"]))["Dhcp6"]["shared-networks"] == []


def parts(*pools: DelegatedPool, bits: int = 56, **more: Any) -> tuple[Interface, Interface, Dhcpv6Server]:
    """A WAN that asks for a prefix of so many bits, a network with its subnet 3, and a server there."""
    server = replace(SERVER, delegated_pools=pools, **more)
    return replace(WAN, dhcpv6=Dhcpv6(bits)), TAKER, server


@pytest.mark.parametrize(
    ("pool", "bits", "code"),
    [
        (DelegatedPool("wan0"), 56, None),
        (DelegatedPool("wan0", 62, 4, 7), 56, None),
        (DelegatedPool("wan0", 64, 4, 4), 56, None),
        (DelegatedPool("wan1"), 56, "unknown-uplink"),
        (DelegatedPool("lan0"), 56, "uplink-without-prefix"),
        (DelegatedPool("wan0", 62, 256), 56, "subnet-does-not-fit"),
        (DelegatedPool("wan0", 62, 16, 256), 56, "subnet-does-not-fit"),
        (DelegatedPool("wan0", 56), 56, "pool-too-small"),
        (DelegatedPool("wan0", 60, 17, 47), 56, None),
        (DelegatedPool("wan0", 60, 17, 46), 56, "pool-too-small"),
        (DelegatedPool("wan0", 60, 40, 20), 56, "pool-too-small"),
        (DelegatedPool("wan0", 60), 60, "pool-too-small"),
        (DelegatedPool("wan0", 62, 0, 15), 56, "subnet-taken"),
        (DelegatedPool("wan0", 62), 62, "subnet-taken"),
    ],
)
def test_what_a_pool_of_a_delegated_prefix_may_be(pool: DelegatedPool, bits: int, code: str | None) -> None:
    found = codes(*parts(pool, bits=bits))
    assert code in found if code else not found, found


def test_who_has_a_subnet_of_a_pool_is_named_and_pools_do_not_meet() -> None:
    found = validate_all(Document(parts(DelegatedPool("wan0", 62, 0, 15))))
    (said,) = [item.message for item in found if item.code == "subnet-taken"]
    assert "subnet 3 of wan0's prefix is that of lan0" in said and "DHCPv6 server lan delegates" in said
    wan, lan, server = parts(DelegatedPool("wan0", 60, 16, 47))
    two = replace(server, id="two", interface="lan1", delegated_pools=(DelegatedPool("wan0", 60, 32, 63),))
    lan1 = replace(LAN, id="lan1")
    assert codes(wan, lan, lan1, server, two) == ["pools-overlap"]
    assert codes(wan, lan, lan1, server, replace(two, delegated_pools=(DelegatedPool("wan0"),))) == []


def test_networks_for_which_pools_leave_no_room_are_told() -> None:
    wan, lan, server = parts(DelegatedPool("wan0", 64), bits=62)
    lan = replace(lan, delegated=Delegated("wan0"))
    more = [replace(lan, id=f"lan{number}", addresses=()) for number in (1, 2)]
    assert "too-few-subnets" not in codes(wan, lan, more[0], server, kind="interface")
    assert "too-few-subnets" in codes(wan, lan, *more, server, kind="interface")
    assert "too-few-subnets" not in codes(wan, lan, *more, kind="interface")


# -- a delegated prefix ------------------------------------------------------------------------------------


def held(prefix: str, lasts_s: float = 86_400.0) -> Delegation:
    now = since_boot_s()
    return Delegation(prefix, "00", now + lasts_s, now + lasts_s, now + lasts_s / 2, now + lasts_s, now)


def served(delegations: Delegations, server: Dhcpv6Server = SERVER) -> Server6Spec:
    document = Document((WAN, TAKER, server))
    (spec,) = delegations.served(DHCP6.wanted(document), NETWORK.wanted(document)).values()
    return spec


def test_a_delegated_prefix_is_served_while_it_is_there_and_for_no_longer() -> None:
    delegations = Delegations(None)
    assert served(delegations).network is None
    delegations.note("wan0", held("2001:db8:f000::/56"), "")
    spec = served(delegations, replace(SERVER, preferred_s=7000, valid_s=9000))
    assert spec.network == "2001:db8:f000:3::/64" and (spec.preferred_s, spec.valid_s) == (2700, 5400)
    assert spec.pools() == ["2001:db8:f000:3::1000-2001:db8:f000:3::1fff"]
    delegations.note("wan0", held("2001:db8:e000::/56", 800.0), "")
    spec = served(delegations)
    assert spec.network == "2001:db8:e000:3::/64" and 0 < spec.preferred_s <= spec.valid_s <= 800
    delegations.note("wan0", held("2001:db8:e000::/56", 0.5), "")
    assert served(delegations).network is None, "it is over in a moment"
    assert "ends in a moment" in served(delegations).failure


def test_of_a_deprecated_prefix_nothing_is_given_and_what_was_given_stays_known(tmp_path: Path) -> None:
    delegations, backend = Delegations(None), Dhcp6Backend(tmp_path, tmp_path)
    delegations.note("wan0", held("2001:db8:f000::/56"), "")
    assert backend.served({"lan": served(delegations)})
    delegations.note("wan0", replace(held("2001:db8:f000::/56"), preferred_until=since_boot_s()), "")
    spec = served(delegations)
    assert not backend.served({"lan": spec}) and "deprecated" in spec.failure
    assert spec.network == "2001:db8:f000:3::/64" and spec.origin == ("wan0", "2001:db8:f000::/56")


def test_routers_behind_are_given_parts_beside_the_networks_of_this_router() -> None:
    delegations = Delegations(None)
    asks = DelegatedPool("wan0", 60)

    def pools(pool: DelegatedPool = asks, number: int | None = 3) -> tuple[list[str], str | None]:
        taker = replace(TAKER, delegated=Delegated("wan0", number))
        document = Document((WAN, taker, replace(SERVER, delegated_pools=(pool,))))
        (spec,) = delegations.served(DHCP6.wanted(document), NETWORK.wanted(document)).values()
        origins = {one.origin for one in spec.prefix_pools}
        assert origins <= {("wan0", delegations.held()["wan0"].prefix)} if origins else spec.pool_failures
        assert bool(origins) == spec.delegates
        return [one.prefix for one in spec.prefix_pools], spec.network

    assert pools() == ([], None), "there is none yet"
    delegations.note("wan0", held("2001:db8:f000::/56"), "")
    assert pools() == (["2001:db8:f000:80::/57"], "2001:db8:f000:3::/64")
    assert pools(DelegatedPool("wan0", 60, 17, 95))[0] == ["2001:db8:f000:20::/59", "2001:db8:f000:40::/59"]
    everything = DelegatedPool("wan0", 62, 0)
    assert pools(everything, 5)[0] == [
        *("2001:db8:f000::/62", "2001:db8:f000:8::/61", "2001:db8:f000:10::/60", "2001:db8:f000:20::/59"),
        *("2001:db8:f000:40::/58", "2001:db8:f000:80::/57"),
    ], "without that of the network"
    assert pools(DelegatedPool("wan0", 60, 0, 127), None)[1] == "2001:db8:f000:80::/64", (
        "it takes none of them"
    )
    delegations.note("wan0", held("2001:db8:e000::/60"), "")
    assert pools(number=9) == ([], "2001:db8:e000:9::/64"), "the provider gave less"
    assert pools(DelegatedPool("wan0", 62), 9) == (["2001:db8:e000:c::/62"], "2001:db8:e000:9::/64")
    delegations.note("wan0", held("2001:db8:e000::/60", 0.5), "")
    assert pools(DelegatedPool("wan0", 62), 9)[0] == []


def test_of_a_deprecated_prefix_no_part_is_given_and_routes_stay(tmp_path: Path) -> None:
    delegations = Delegations(None)
    delegations.note("wan0", replace(held("2001:db8:f000::/56"), preferred_until=since_boot_s()), "")
    document = Document((WAN, LAN, replace(SERVER, delegated_pools=(DelegatedPool("wan0"),))))
    (spec,) = delegations.served(DHCP6.wanted(document), NETWORK.wanted(document)).values()
    assert spec.gave("2001:db8:f000:90::/60") and spec.origin_of("2001:db8:f000:90::/60") == (
        *("wan0", "2001:db8:f000::/56"),
    )
    content = json.loads(config6_text([spec], {"lan0": 7}, Path("/s"), Path("/data/l.csv")))["Dhcp6"]
    assert len(content["subnet6"]) == 1 and content["shared-networks"] == []


def test_keas_file_has_a_subnet_for_each_network_with_a_number_of_its_own() -> None:
    spec = DHCP6.wanted(Document((LAN, SERVER)))["lan"]
    other = replace(spec, id="b", ifname="lan1", network="2001:db8:65::/64")
    text = config6_text([spec, other], {"lan0": 7}, Path("/s"), Path("/data/l.csv"))
    content = json.loads(text)["Dhcp6"]
    (subnet,) = content["subnet6"]
    assert subnet["interface"] == "lan0" and subnet["id"] == subnet_id("2001:db8:64::/64")
    assert subnet_id("2001:db8:64::/64") != subnet_id("2001:db8:65::/64")
    assert content["interfaces-config"]["interfaces"] == ["lan0"]
    again = config6_text([spec, other], {"lan0": 8}, Path("/s"), Path("/data/l.csv"))
    assert tag_of(again) != tag_of(text), "an interface that was made again"
