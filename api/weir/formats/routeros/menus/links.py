# SPDX-License-Identifier: Apache-2.0
"""/interface: ports, bridges, bonds, VLANs."""

from __future__ import annotations

from weir.formats.report import quoted
from weir.formats.routeros.menus import arp
from weir.formats.routeros.menus.convert import (
    COMMON,
    choice,
    flag,
    interface,
    interface_names,
    mac,
    milliseconds,
    seconds,
    text,
    whole,
)
from weir.formats.routeros.menus.router import Router, Wanted
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.frames import parse_vlans
from weir.model.zones import NO_ZONE

_LINK = {
    **COMMON,
    "name": Property("name", text),
    "mtu": Property("mtu", whole),
    "arp": Property("arp", arp.mode),
}
_QUIET = {
    "l2mtu": ANY,
    "arp-timeout": ANY,
    "loop-protect": ("default", "off"),
    "loop-protect-send-interval": ANY,
    "loop-protect-disable-time": ANY,
}


def described(row: Row, name: str, own: str = "") -> Wanted:
    """The interface of a command, called and described as RouterOS does."""
    wanted = row.router.interface_of_id(row.router.name_interface(name, row.line, own), row.line)
    label = name if name != wanted.id else ""
    words = "\n".join(item for item in (label, row.get("comment", "")) if item)
    if words:
        wanted.body["description"] = words
    mtu = row.get("mtu")
    if mtu is not None:
        wanted.body["mtu"] = mtu
    wanted.body.update(row.some("disabled", "mac", "arp"))
    return wanted


def _mtu(value: str, row: Row) -> int | None:
    return None if value == "auto" else whole(value, row)


def _ethernet(_router: Router, row: Row) -> None:
    own = row.given.get("find default-name") or row.given.get("find name") or row.given.get("default-name")
    if own is None:
        raise ValueError("It does not say which port it means.")
    name = row.get("name") or own
    if row.get("mac") is not None and row.given.get("orig-mac-address", "").lower() == row.get("mac"):
        del row.values["mac"]  # that of its hardware
    wanted = described(row, name, own)
    if row.get("mac") is not None:
        row.changed("mac", f"{wanted.id} has this MAC address, too: keep the old router off its network.")
    if name != own:
        row.changed("label", f"{wanted.id} keeps the name of its port; {quoted(name)} describes it.")


ETHERNET = Menu(
    "/interface ethernet",
    "the port by its default name; its name and comment describe it",
    _ethernet,
    {**_LINK, "mtu": Property("mtu", _mtu), "mac-address": Property("mac", mac)},
    {
        **_QUIET,
        "find default-name": ANY,
        "find name": ANY,
        "default-name": ANY,
        "advertise": ANY,
        "auto-negotiation": ("yes",),
        "orig-mac-address": ANY,
        "rx-flow-control": ANY,
        "tx-flow-control": ANY,
        "bandwidth": ("unlimited/unlimited",),
        "sfp-shutdown-temperature": ANY,
    },
    ("set",),
    makes_interface=True,
)


# -- bridges -----------------------------------------------------------------------------------------------


def _stp(value: str, row: Row) -> str:
    if value in ("rstp", "mstp"):
        row.changed("stp", f"Weir has STP in place of {value.upper()}: a port waits 30 s before it forwards.")
    return choice({"none": "none", "stp": "stp", "rstp": "stp", "mstp": "stp"})(value, row)


def _bridge(_router: Router, row: Row) -> None:
    wanted = described(row, row.need("name", "name"))
    group = wanted.body.setdefault("bridge", {})
    group.update(row.some("vlan_filtering", "pvid", "igmp_snooping", "dhcp_snooping"))
    group.update(row.some("ageing_s", "priority", "forward_delay_s", "max_age_s"))
    group["stp"] = row.get("stp") or _stp("rstp", row)


BRIDGE = Menu(
    "/interface bridge",
    "an interface of the type bridge; one without ports that is called lo… is a loopback",
    _bridge,
    {
        **_LINK,
        "mtu": Property("mtu", _mtu),
        "admin-mac": Property("mac", mac),
        "protocol-mode": Property("stp", _stp),
        "vlan-filtering": Property("vlan_filtering", flag),
        "pvid": Property("pvid", whole),
        "igmp-snooping": Property("igmp_snooping", flag),
        "dhcp-snooping": Property("dhcp_snooping", flag),
        "ageing-time": Property("ageing_s", seconds),
        "priority": Property("priority", whole),
        "forward-delay": Property("forward_delay_s", seconds),
        "max-message-age": Property("max_age_s", seconds),
    },
    {
        **_QUIET,
        "auto-mac": ANY,
        "fast-forward": ANY,
        "ingress-filtering": ("yes",),
        "frame-types": ("admit-all",),
        "port-cost-mode": ANY,
        "transmit-hold-count": ANY,
        "ether-type": ("0x8100",),
        "mvrp": ("no",),
    },
    makes_interface=True,
)


def _bridge_of(router: Router, row: Row) -> tuple[Wanted, dict[str, object]]:
    wanted = router.interface(row.need("bridge", "bridge"), row.line)
    group = wanted.body.get("bridge")
    if group is None:
        raise ValueError(f"{quoted(wanted.id)} is no bridge of the file.")
    return wanted, group


def _bridge_port(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled members.")
        return
    name = row.need("interface", "interface")
    if name in router.lists:
        raise ValueError(f"{quoted(name)} is an interface list; a bridge of Weir names its members.")
    wanted, group = _bridge_of(router, row)
    port = {"interface": router.interface_id(name), **row.some("pvid", "bpdu_guard", "learning", "priority")}
    port.update(row.some("cost", "trusted"))
    if row.get("frames") == "tagged":
        port["pvid"] = 0
    elif row.get("frames") == "untagged":
        row.changed("frame-types", "It takes frames with the tag of one of its VLANs, too.")
    if row.get("horizon"):
        port["isolated"] = True
        row.changed("horizon", "Ports with a horizon are isolated: they reach the router and other ports.")
    ports = group.setdefault("ports", [])
    assert isinstance(ports, list)
    ports[:] = [item for item in ports if item["interface"] != port["interface"]] + [port]
    row.line.object_id = wanted.id


PORT = Menu(
    "/interface bridge port",
    "a port of the bridge",
    _bridge_port,
    {
        "bridge": Property("bridge", text),
        "interface": Property("interface", text),
        "pvid": Property("pvid", whole),
        "bpdu-guard": Property("bpdu_guard", flag),
        "priority": Property("priority", lambda value, row: whole(value, row) >> 2),
        "path-cost": Property("cost", whole),
        "frame-types": Property(
            "frames",
            choice(
                {
                    "admit-all": "",
                    "admit-only-vlan-tagged": "tagged",
                    "admit-only-untagged-and-priority-tagged": "untagged",
                }
            ),
        ),
        "horizon": Property("horizon", lambda value, row: 0 if value == "none" else whole(value, row)),
        "trusted": Property("trusted", flag),
        "learn": Property("learning", lambda value, _row: value != "no"),
        "disabled": Property("disabled", flag),
    },
    {
        "comment": ANY,
        "hw": ANY,
        "internal-path-cost": ANY,
        "ingress-filtering": ("yes",),
        "edge": ("auto", "no", "no-discover"),
        "point-to-point": ANY,
        "auto-isolate": ("no",),
        "restricted-role": ("no",),
        "restricted-tcn": ("no",),
        "multicast-router": ("temporary-query",),
        "unknown-multicast-flood": ("yes",),
        "unknown-unicast-flood": ("yes",),
        "broadcast-flood": ("yes",),
    },
)


def _vlan_ids(value: str, _row: Row) -> list[str]:
    return [parse_vlans(item) for item in value.split(",") if item]


def _bridge_vlan(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled VLANs of a bridge.")
        return
    wanted, group = _bridge_of(router, row)
    ids = row.need("ids", "vlan-ids")
    ports = {item["interface"]: item for item in group.get("ports", ())}  # type: ignore[attr-defined]
    for field, names in (("tagged", row.get("tagged", ())), ("untagged", row.get("untagged", ()))):
        for name in names:
            own = router.interface_id(name)
            place = group if own == wanted.id else ports.get(own)
            if place is None:
                row.warn("no-port", f"{own} is no port of {wanted.id}, so it is in none of these VLANs.")
            elif field == "untagged" and own == wanted.id:
                if ids != [str(group.get("pvid", 1))]:
                    row.warn("untagged-router", f"Without a tag, {wanted.id} is in its own VLAN only.")
            else:
                already = str(place.get("pvid", 1)) if field == "untagged" else ""
                new = [item for item in ids if item != already]
                place[field] = list(dict.fromkeys([*place.get(field, ()), *new]))  # type: ignore[misc]
                if not place[field]:
                    del place[field]


BRIDGE_VLAN = Menu(
    "/interface bridge vlan",
    "the VLANs of the bridge's ports and of the router",
    _bridge_vlan,
    {
        "bridge": Property("bridge", text),
        "vlan-ids": Property("ids", _vlan_ids),
        "tagged": Property("tagged", interface_names),
        "untagged": Property("untagged", interface_names),
        "disabled": Property("disabled", flag),
    },
    {"comment": ANY},
)


# -- VLANs, bonds, VRFs -------------------------------------------------------------------------------------


def _vlan(_router: Router, row: Row) -> None:
    parent, tag = row.need("parent", "interface"), row.need("id", "vlan-id")
    wanted = described(row, row.need("name", "name"))
    wanted.body["vlan"] = {"parent": parent, "id": tag, **row.some("protocol")}


VLAN = Menu(
    "/interface vlan",
    "an interface of the type vlan",
    _vlan,
    {
        **_LINK,
        "interface": Property("parent", interface),
        "vlan-id": Property("id", whole),
        "use-service-tag": Property("protocol", choice({"yes": "802.1ad", "no": "802.1Q"})),
    },
    {**_QUIET, "mvrp": ("no",)},
    makes_interface=True,
)


def _bond(router: Router, row: Row) -> None:
    if "mode" not in row.values:
        raise ValueError("Its mode is balance-rr, which brings packets out of order and which Weir lacks.")
    members = [{"interface": router.interface_id(name)} for name in row.need("members", "slaves")]
    wanted = described(row, row.need("name", "name"))
    fields = row.some("mode", "lacp_rate", "miimon_ms", "min_links", "primary")
    wanted.body["bond"] = {"hash_policy": "layer2", **fields, **row.some("hash_policy"), "members": members}
    if fields["mode"] != "active-backup":
        wanted.body["bond"].pop("primary", None)


BOND = Menu(
    "/interface bonding",
    "an interface of the type bond",
    _bond,
    {
        **_LINK,
        "forced-mac-address": Property("mac", mac),
        "slaves": Property("members", interface_names),
        "mode": Property(
            "mode", choice({name: name for name in ("802.3ad", "active-backup", "balance-xor")})
        ),
        "transmit-hash-policy": Property(
            "hash_policy",
            choice({"layer-2": "layer2", "layer-2-and-3": "layer2+3", "layer-3-and-4": "layer3+4"}),
        ),
        "lacp-rate": Property("lacp_rate", choice({"30secs": "slow", "1sec": "fast"})),
        "mii-interval": Property("miimon_ms", milliseconds),
        "min-links": Property("min_links", lambda value, row: max(1, whole(value, row))),
        "primary": Property("primary", lambda value, row: None if value == "none" else interface(value, row)),
    },
    {**_QUIET, "link-monitoring": ("mii",), "up-delay": ("0ms",), "down-delay": ("0ms",)},
    makes_interface=True,
)


def _vrf(router: Router, row: Row) -> None:
    wanted = described(row, row.need("name", "name"))
    wanted.body.update(vrf_table=0, role="none")
    for name in row.get("interfaces", ()):
        router.interface(name, row.line).body["vrf"] = wanted.id
    row.line.object_id = wanted.id


VRF = Menu(
    "/ip vrf",
    "an interface of the type vrf, with the interfaces that are in it",
    _vrf,
    {**COMMON, "name": Property("name", text), "interfaces": Property("interfaces", interface_names)},
)


def finish_links(router: Router) -> None:
    """What no command says by itself: which bridges are loopbacks."""
    parents = {item.body["vlan"]["parent"] for item in router.interfaces() if item.body.get("vlan")}
    for item in router.interfaces():
        bridge = item.body.get("bridge")
        is_bare = bridge is not None and not bridge.get("ports") and item.id not in parents
        if is_bare and item.id.lower().startswith("lo"):
            del item.body["bridge"]
            item.body.update(loopback={}, role="none", mac=None, arp="on", known_hosts=[])
            text = "A bridge without ports that is called so is a loopback."
            next(iter(item.lines)).note("changed", "loopback", text)


def finish_members(router: Router) -> None:
    """What belongs to a bridge or bond has no zone of its own and speaks no ARP; a bond's has its address."""
    below = router.members_of_links()
    for item in router.interfaces():
        if item.id not in below:
            continue
        master = router.wanted["interface", below[item.id]]
        item.body.update(arp="on", known_hosts=[], **({"mac": None} if master.body.get("bond") else {}))
        if item.body.get("role") not in (NO_ZONE, None):
            item.body["role"] = NO_ZONE
            for line in item.lines:
                line.note(
                    "warning", "member-zone", f"{item.id} belongs to a bridge or bond, which has the zone."
                )
