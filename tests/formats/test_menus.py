# SPDX-License-Identifier: Apache-2.0
"""Menus of RouterOS beside queues: nothing becomes wider, nothing secret is shown, and all can be committed.

What whole exports become is in fixtures/routeros (`home`, `tower`, `branch`).
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.formats import read
from weir.formats.routeros.menus import MENUS
from weir.formats.routeros.menus.fates import FATES
from weir.model.document import Document
from weir.model.interface import Interface, members_of
from weir.model.objects import ConfigObject
from weir.model.tunnels import Gre, Vxlan

ROOT = Path(__file__).resolve().parents[2]


# -- rules: never wider -------------------------------------------------------------------------------------


def test_a_rule_about_who_sent_what_the_router_itself_sends_is_not_in_force() -> None:
    text = "/ip firewall filter\nadd chain=output action=drop src-mac-address=AA:BB:CC:00:00:01\n"
    report = import_of(text)
    rule = only(report, "firewall-rule")
    assert rule["disabled"] is True and not rule.get("source_mac")
    (line,) = report.lines
    assert line.code == "match-not-taken" and "src-mac-address" in line.reason


@pytest.mark.parametrize(
    "match",
    [
        "src-port=http",
        "layer7-protocol=x",
        "dscp=64",
        "tcp-flags=syn,!odd",
        "connection-mark=a",
        "src-address-list=!office",
        "protocol=!ggp",
        "in-interface=!pppoe-out1",
        "in-interface=pppoe-out1",
        "time=22h-6h,mon",
        "icmp-options=3:4",
        "limit=10/1m,5:packet",
        "src-mac-address=!AA:BB:CC",
        "what-comes-next=1",
    ],
)
@pytest.mark.parametrize("action", ["accept", "drop"])
def test_a_rule_with_a_match_that_weir_lacks_is_not_in_force(match: str, action: str) -> None:
    text = f"/ip firewall filter\nadd chain=forward action={action} dst-address=10.0.0.1 {match}\n"
    report = import_of(text)
    assert only(report, "firewall-rule")["disabled"] is True
    (line,) = report.lines
    assert (line.fate, line.code) == ("warning", "match-not-taken")
    assert match.partition("=")[0] in line.reason


@pytest.mark.parametrize(
    "text",
    [
        "add chain=dstnat action=dst-nat protocol=tcp dst-port=80 to-addresses=10.0.0.5 src-port=1024-65535",
        "add chain=dstnat action=dst-nat protocol=tcp dst-port=80 to-addresses=10.0.0.5 in-interface=!pppoe1",
        "add chain=srcnat action=masquerade out-interface=pppoe-out1",
        "add chain=srcnat action=masquerade routing-mark=isp2",
    ],
)
def test_a_nat_rule_with_a_match_that_weir_lacks_is_not_in_force(text: str) -> None:
    report = import_of(f"/ip firewall nat\n{text}\n")
    assert only(report, "nat-rule")["disabled"] is True
    assert report.lines[0].code == "match-not-taken"


def test_all_but_a_prefix_or_port_is_matched_exactly() -> None:
    report = import_of(
        "/ip firewall filter\n"
        "add chain=forward action=drop src-address=!128.0.0.0/2 protocol=tcp dst-port=!25\n"
    )
    rule = only(report, "firewall-rule")
    assert (rule["source"], rule["ports"]) == (["128.0.0.0/2"], ["25"])
    assert rule["negated"] == ["source", "ports"]
    assert "disabled" not in rule


def test_a_list_of_incoming_interfaces_is_a_set_and_not_the_list_the_others() -> None:
    report = import_of(
        LISTS + "/ip firewall filter\nadd chain=input action=accept in-interface-list=GUESTS\n"
        "add chain=input action=drop in-interface-list=!GUESTS\n"
    )
    first, second = of_kind(report, "firewall-rule")
    assert (first["source_set"], second["source_set"]) == ("guests-interfaces", "guests-interfaces")
    assert ("negated" in first, second["negated"]) == (False, ["source_set"])
    entries = {(item["set"], item["value"]) for item in of_kind(report, "set-entry")}
    assert entries == {("guests-interfaces", "ether3"), ("guests-interfaces", "ether4")}


def test_where_there_are_other_interfaces_the_others_than_a_list_are_those_of_the_file() -> None:
    here = Document([Interface("eth7", "lan")])
    text = LISTS + "/ip firewall filter\nadd chain=input action={} {}=!{}\n"
    report = import_of(text.format("accept", "in-interface-list", "GUESTS"), here)
    assert only(report, "firewall-rule")["source_set"] == "not-guests-interfaces"
    entries = {item["value"] for item in of_kind(report, "set-entry") if "not-" in str(item["set"])}
    assert entries == {"ether1", "ether2"}
    for action, is_kept_out in (("accept", True), ("drop", False)):
        report = import_of(text.format(action, "in-interface", "ether3"), here)
        assert only(report, "firewall-rule").get("disabled", False) is is_kept_out
        assert ("eth7" in report.lines[-1].reason) is is_kept_out
    report = import_of(
        text.format("accept", "in-interface", "ether3"), Document([Interface("ether3", "lan")])
    )
    assert "disabled" not in only(report, "firewall-rule")


def test_a_list_of_outgoing_interfaces_is_one_rule_for_each() -> None:
    report = import_of(
        LISTS + "/ip firewall filter\n"
        "add chain=forward action=drop in-interface-list=GUESTS out-interface-list=GUESTS "
        "src-address=10.0.0.0/8\n"
    )
    rules = of_kind(report, "firewall-rule")
    found = [(rule["in_interface"], rule["out_interface"]) for rule in rules]
    assert found == [(a, b) for a in ("ether3", "ether4") for b in ("ether3", "ether4")]
    assert report.lines[-1].code == "several-rules"


def test_rules_keep_their_order_and_come_between_those_that_are_there() -> None:
    rules = [f"add chain=forward action=accept dst-address=10.0.0.{n}\n" for n in range(1, 6)]
    head = "/ip firewall filter\n"
    before = Document(import_of(head + rules[0] + rules[2] + rules[4]).others)
    report = import_of(head + "".join(rules), before)
    found = sorted(of_kind(report, "firewall-rule"), key=lambda rule: int(str(rule["position"])))
    assert [rule["destination"] for rule in found] == [[f"10.0.0.{n}/32"] for n in range(1, 6)]
    kept = {item.id: item for item in before if item.kind == "firewall-rule"}
    assert sum(kept.get(item.id) == item for item in report.others) == 3


# -- names, secrets, references -----------------------------------------------------------------------------


def test_a_name_that_the_kernel_does_not_take_is_derived_and_both_are_named() -> None:
    report = import_of(
        '/interface vlan\nadd interface=ether1 name="VLAN 7 of the north" vlan-id=7\n'
        'add interface=ether1 name="VLAN 7 of the south" vlan-id=8\n'
        '/ip address\nadd address=10.0.7.1/24 interface="VLAN 7 of the north"\n'
    )
    north, south = (item for item in of_kind(report, "interface") if "vlan" in item)
    assert north["description"] == "VLAN 7 of the north"
    assert north["addresses"] == ["10.0.7.1/24"]
    assert north["id"] != south["id"]
    line = report.lines[0]
    assert (line.fate, line.code) == ("warning", "renamed")
    assert "VLAN 7 of the north" in line.reason
    assert str(north["id"]) in line.reason


def test_a_queue_names_an_interface_as_the_file_does() -> None:
    report = import_of(
        '/interface ethernet\nset [ find default-name=ether1 ] name="to the north"\n'
        '/queue simple\nadd name=north target="to the north" max-limit=10M/10M\n'
    )
    (queue,) = report.queues
    assert queue.target == ("ether1",)
    assert [(line.fate, line.code) for line in report.lines] == [
        ("changed", "label"),
        ("changed", "interface-name"),
    ]


def test_an_interface_that_masquerades_is_outside_and_its_drop_rule_is_kept() -> None:
    report = import_of(
        "/ip firewall filter\nadd action=drop chain=forward connection-nat-state=!dstnat "
        "connection-state=new in-interface=ether1\n"
        "/ip firewall nat\nadd action=masquerade chain=srcnat out-interface=ether1\n"
    )
    assert only(report, "interface")["role"] == "wan"
    assert [line.code for line in report.lines] == ["ok", "zone"]
    assert only(report, "firewall")["masquerade"] is False


def test_a_netmap_to_one_host_is_a_port_forward() -> None:
    report = import_of(
        "/ip firewall nat\nadd action=netmap chain=dstnat dst-port=443 in-interface=ether1 protocol=tcp "
        "to-addresses=192.168.9.6 to-ports=3389\n"
    )
    rule = only(report, "nat-rule")
    assert (rule["type"], rule["to_address"], rule["to_port"]) == ("destination", "192.168.9.6/32", 3389)


def test_no_secret_is_in_a_report() -> None:
    key = "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gMTI="
    report = import_of(
        f'/interface wireguard\nadd listen-port=13231 name=wg1 private-key="{key}"\n'
        "/interface pppoe-client\nadd interface=ether1 name=pppoe-out1 user=me password=hunter2\n"
        "/ip dhcp-server\nadd interface=ether2 name=a lease-script=hunter2\n"
        f'/interface wireguard peers\nadd interface=wg1 public-key="{key.replace("a", "b")}" '
        f'preshared-key="{key}"'
        f' private-key="{key}" password=hunter2\n'
        "/ppp secret\nadd name=a password=hunter2\n"
    )
    told = repr([*report.lines, *report.findings, *report.others])
    assert "hunter2" not in told
    assert key not in told
    assert only(report, "wireguard-peer")["preshared_key"] == {"sealed": "lost"}


def test_what_names_something_that_weir_lacks_is_left_out_and_says_so() -> None:
    report = import_of(
        "/interface eoip\nadd name=eoip1 remote-address=192.0.2.1 tunnel-id=1\n/ip address\n"
        "add address=10.0.0.1/30 interface=eoip1\nadd address=10.0.1.1/30 interface=nobody\n"
    )
    assert [line.fate for line in report.lines] == ["left-out"] * 3
    assert "an EoIP tunnel" in report.lines[1].reason
    assert list(report.others) == []


def test_tunnels_keep_their_ends_and_say_what_they_lose() -> None:
    report = import_of(
        "/interface gre\n"
        "add name=gre1 remote-address=198.51.100.7 local-address=0.0.0.0 keepalive=10s,10 mtu=1476\n"
        "add name=gre2 remote-address=198.51.100.8 ipsec-secret=hunter2 clamp-tcp-mss=no\n"
        "add name=gre3\n"
        "/interface gre6\nadd name=gre4 local-address=2001:db8::2 remote-address=2001:db8::7 mtu=1500\n"
        "/interface vxlan\n"
        "add name=vx1 vni=10 port=8472 mtu=1500\nadd name=vx2 vni=11\nadd name=vx3 vni=12 group=239.0.0.1\n"
        "/interface vxlan vteps\nadd interface=vx1 remote-ip=198.51.100.7\n"
        "add interface=vx1 remote-ip=198.51.100.8 port=4789\nadd interface=vx3 remote-ip=198.51.100.9\n"
        "/ipv6 address\nadd address=2001:db8::2/64 interface=ether1\n"
        "/interface bridge\nadd name=br1\n/interface bridge port\nadd bridge=br1 interface=vx1\n"
    )
    found = {item.id: item for item in report.others if isinstance(item, Interface)}
    assert (found["gre1"].gre, found["gre1"].mtu, found["gre1"].disabled) == (
        Gre("198.51.100.7"),
        1476,
        False,
    )
    assert (found["gre2"].disabled, found["gre2"].mss_clamp) == (True, "off")
    assert (found["gre4"].gre, found["gre4"].mtu) == (Gre("2001:db8::7", "2001:db8::2"), None)
    assert found["vx1"].vxlan == Vxlan(10, ("198.51.100.7",), port=8472) and found["vx1"].mtu is None
    assert found["vx2"].vxlan == Vxlan(11)
    assert members_of(found["br1"]) == ("vx1",) and not {"gre3", "vx3"} & found.keys()
    fates = [(line.fate, line.code) for line in report.lines]
    assert fates[:3] == [("changed", "keepalive"), ("warning", "ipsec"), ("left-out", "bad-value")]
    assert "multicast group" in report.lines[6].reason and "hunter2" not in repr(report.lines)


def test_an_unknown_property_is_named() -> None:
    report = import_of("/interface vlan\nadd interface=ether1 name=v vlan-id=7 new-property=5\n")
    assert report.lines[0].code == "not-taken"
    assert "new-property=“5”" in report.lines[0].reason


def test_an_object_that_breaks_a_rule_is_disabled_or_left_out() -> None:
    report = import_of(
        "/ip pool\nadd name=p ranges=10.9.0.1-10.9.0.9\n"
        "/ip dhcp-server\nadd address-pool=p interface=ether2 name=s\n"
        "/ip address\nadd address=10.0.0.1/24 interface=ether2\n"
    )
    assert only(report, "dhcp-server")["disabled"] is True
    assert {line.code for line in report.lines} == {"range-outside", "ok"}


RELAYED = (
    "/ip address\nadd address=10.255.0.1/24 interface=ether2\n"
    "/ip pool\nadd name=north ranges=10.70.0.10-10.70.0.99\nadd name=any ranges=10.71.0.10-10.71.0.99\n"
    "/ip dhcp-server\n"
    "add address-pool=north interface=ether2 lease-time=1h name=north relay=10.70.0.1\n"
)


def test_a_dhcp_server_for_a_relay_gets_the_network_that_the_relay_is_in() -> None:
    report = import_of(
        RELAYED
        + "/ip dhcp-server lease\nadd address=10.70.0.7 mac-address=02:00:5E:10:00:07\n"
        + "/ip dhcp-server network\nadd address=10.70.0.0/24 dns-server=192.0.2.53 gateway=10.70.0.254\n"
    )
    server = only(report, "dhcp-server")
    assert (server["interface"], server["ranges"]) == ("ether2", ["10.70.0.10-10.70.0.99"])
    assert server["relayed"] == {"network": "10.70.0.0/24", "relays": ["10.70.0.1"], "sources": []}
    assert (server["gateway"], server["dns_servers"]) == ("10.70.0.254", ["192.0.2.53"])
    assert not server.get("disabled") and only(report, "dhcp-reservation")["server"] == "north"
    codes = {line.source.partition(" add")[0]: line.code for line in report.lines if line.fate == "warning"}
    assert codes == {"/ip dhcp-server": "relay-sources"}


def test_a_dhcp_server_for_a_relay_needs_its_network_and_its_relay() -> None:
    report = import_of(RELAYED)
    assert of_kind(report, "dhcp-server") == []
    assert ("left-out", "no-network") in [(line.fate, line.code) for line in report.lines]
    report = import_of(RELAYED.replace("pool=north", "pool=any").replace("10.70.0.1\n", "255.255.255.255\n"))
    assert only(report, "dhcp-server")["disabled"] is True
    assert ("warning", "relay") in [(line.fate, line.code) for line in report.lines]


def test_a_dhcp_relay_keeps_its_servers_and_what_it_says_of_its_clients() -> None:
    report = import_of(
        "/ip address\nadd address=10.0.0.1/24 interface=ether2\n"
        "/ip dhcp-relay\n"
        "add add-relay-info=yes dhcp-server=192.0.2.67,192.0.2.68 disabled=no interface=ether2 "
        "local-address=10.0.0.1 name=far relay-info-remote-id=tower\n"
        "add dhcp-server=192.0.2.67 disabled=yes interface=ether2 local-address=10.9.9.9 name=old\n"
        "add disabled=yes interface=ether2 name=none\n"
        "add delay-threshold=2s dhcp-server=192.0.2.67 disabled=yes interface=ether2 name=late\n"
    )
    far, late, old = sorted(of_kind(report, "dhcp-relay"), key=lambda body: str(body["id"]))
    assert far["servers"] == ["192.0.2.67", "192.0.2.68"] and far["interface"] == "ether2"
    assert (far.get("option_82", True), far["remote_id"], old["option_82"]) == (True, "tower", False)
    assert not far.get("disabled") and old["disabled"] is late["disabled"] is True
    codes = [line.code for line in report.lines[1:]]
    assert codes == ["circuit-id", "local-address", "bad-value", "not-taken"]
    assert "delay-threshold" in report.lines[4].reason


@pytest.mark.parametrize("name", ["home", "tower", "branch"])
def test_the_same_file_again_changes_nothing(name: str) -> None:
    text = (Path(__file__).parent / "fixtures/routeros" / name / "export.rsc").read_text()
    items: tuple[ConfigObject, ...] = import_of(text).others
    assert import_of(text, Document(items)).others == items


# -- documentation, speed, anything -------------------------------------------------------------------------


def test_the_guide_has_every_menu_and_what_becomes_of_it() -> None:
    guide = (ROOT / "docs/guide/from-routeros.md").read_text(encoding="utf-8")
    for menu in MENUS:
        if menu.becomes:
            assert f"| `{menu.path}` | {menu.becomes} |\n" in guide
        else:
            assert f"`{menu.path.removeprefix('/interface ')}`" in guide
    for path, why in FATES.items():
        assert f"| `{path}` | {why} |\n" in guide
    rows = [line for line in guide.splitlines() if line.startswith("| `/")]
    known = {menu.path for menu in MENUS} | set(FATES)
    stale = [row for row in rows if row.split("`")[1] not in known and not row.startswith("| `/queue")]
    assert stale == []


def large_export(commands: int) -> str:
    count = commands // 4
    return (
        "/ip firewall address-list\n"
        + "".join(f"add address=10.{n // 256}.{n % 256}.0/24 list=nets\n" for n in range(count))
        + "/ip firewall filter\n"
        + "".join(
            f"add chain=forward dst-address=10.{n // 256}.{n % 256}.9 protocol=tcp dst-port={n + 1}\n"
            for n in range(count)
        )
        + "/ip firewall nat\n"
        + "".join(
            f"add chain=dstnat action=dst-nat in-interface=ether1 protocol=tcp dst-port={20_000 + n} "
            f"to-addresses=10.0.{n // 256}.{n % 256}\n"
            for n in range(count)
        )
        + "/ip route\n"
        + "".join(f"add dst-address=172.16.{n // 256}.{n % 256} gateway=192.0.2.1\n" for n in range(count))
    )


def test_a_report_on_2000_commands_takes_less_than_two_seconds() -> None:
    data = large_export(2000).encode()
    read("routeros", {"export.rsc": data[:2000]})
    started = time.process_time()
    report = read("routeros", {"export.rsc": data})
    took_s = time.process_time() - started
    assert report.summary["imported"] == 2000
    assert took_s < 2


WORDS = [
    *(f"{menu.path}\n" for menu in MENUS),
    *("add ", "set ", "[ find default-name=ether1 ] ", "\n", "\n", "\n"),
    *(f"{name}=" for name in sorted({key for menu in MENUS for key in menu.fields})),
    *(
        "ether1 ",
        "ether2 ",
        "bridge ",
        "a ",
        "LAN ",
        "WAN ",
        "10.0.0.1/24 ",
        "10.0.0.1-10.0.0.9 ",
        "2001:db8::1 ",
    ),
    *(
        "yes ",
        "no ",
        "10 ",
        "tcp ",
        "80 ",
        "!",
        "accept ",
        "drop ",
        "masquerade ",
        "dst-nat ",
        "input ",
        "srcnat ",
    ),
    *("dstnat ", "1d ", '"', "802.3ad ", ",", "0x80 ", "$x ", "AA:BB:CC:DD:EE:01 ", "jump ", "blackhole "),
]


@given(words=st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_mixture_of_words_of_the_menus_gives_a_report_that_can_be_committed(words: list[str]) -> None:
    import_of("/interface bridge\nadd name=bridge\n" + "".join(words))


@st.composite
def commands(draw: st.DrawFn) -> str:
    menu = draw(st.sampled_from(MENUS))
    names = draw(st.lists(st.sampled_from(sorted(menu.fields) or ["name"]), max_size=8, unique=True))
    values = st.sampled_from([word.strip() for word in WORDS if word.endswith(" ") and "[" not in word])
    shown = " ".join(f"{name}={draw(values)}" for name in names)
    return f"{menu.path}\n{draw(st.sampled_from(menu.verbs))} {shown}\n"


@given(text=st.lists(commands(), min_size=1, max_size=12))
def test_any_commands_of_the_menus_give_a_report_that_can_be_committed(text: list[str]) -> None:
    import_of("".join(text))


@pytest.mark.parametrize(
    "link", ["bonding\nadd mode=802.3ad name=link1 slaves=ether1", "bridge\nadd name=link1"]
)
@pytest.mark.parametrize(
    "what", ["dhcp-client\nadd interface=ether1", "address\nadd address=10.0.0.1/24 interface=ether1"]
)
def test_what_a_member_cannot_have_takes_its_link_away_from_nobody(link: str, what: str) -> None:
    port = "/interface bridge port\nadd bridge=link1 interface=ether1\n" if "bridge" in link else ""
    report = import_of(
        f"/interface {link}\n{port}/interface vlan\nadd interface=link1 name=v10 vlan-id=10\n/ip {what}\n"
    )
    assert {"link1", "v10"} <= {item["id"] for item in of_kind(report, "interface")}
    (line,) = (line for line in report.lines if line.fate == "left-out")
    assert line.source.startswith("/ip ") and "link1" in line.reason
    assert line.code == "member-with-its-own"
