# SPDX-License-Identifier: Apache-2.0
"""Bonds through REST and commands, what is refused of them, and what is done to come to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.kinds.toys import toy
from weir.adapters.bonds import HeldBond, HeldLink, HeldMember
from weir.agent.early import content_of
from weir.backends.backend import Look
from weir.backends.bonds import BondsBackend, BondsDifference, BondsState
from weir.backends.network import LinkState, NetworkBackend, NetworkDifference, NetworkState
from weir.kinds.static_route import StaticRoute
from weir.model.codec import from_json
from weir.model.document import Change, Document
from weir.model.interface import Interface, Loopback, Vlan
from weir.model.links import Bond, BondMember, Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.problem import Invalid
from weir.model.rules import validate, validate_all
from weir.parts.bonds import BONDS, unconfigured_members
from weir.parts.effect import Sessions, by_object
from weir.parts.network import NETWORK


def bond(*members: str, name: str = "bond0", **more: Any) -> Interface:
    outer = {key: more.pop(key) for key in ("addresses", "mtu", "role") if key in more}
    return Interface(name, bond=Bond(tuple(map(BondMember, members)), **more), **outer)


UPLINK = bond("eth1", "eth2")


def found(*objects: ConfigObject) -> dict[str, str]:
    return {item.code: item.message for item in validate_all(Document(objects))}


def test_it_is_made_changed_and_shown(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        router.weir("interface", "add", "bond0", "--type", "bond", "--member", "eth1", "--member", "eth2")
        made = router.weir_json("interface", "show", "bond0")
        assert made["type"] == "bond" and made["bond"] == {
            "members": [{"interface": "eth1"}, {"interface": "eth2"}],
            "mode": "802.3ad",
            "hash_policy": "layer2+3",
            "lacp_rate": "slow",
            "min_links": 1,
            "primary": None,
            "miimon_ms": 100,
        }
        change = ("--bond-mode", "active-backup", "--bond-primary", "eth2")
        router.weir("interface", "set", "bond0", *change)
        made = router.weir_json("interface", "show", "bond0")["bond"]
        assert (made["mode"], made["primary"], len(made["members"])) == ("active-backup", "eth2", 2)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"mode": "balance-rr"}, "bad-choice bond.mode"),
        ({"hash_policy": "vlan+srcmac"}, "bad-choice bond.hash_policy"),
        ({"lacp_rate": 1}, "bad-choice bond.lacp_rate"),
        ({"min_links": 0}, "bad-number bond.min_links"),
        ({"miimon_ms": 0}, "bad-number bond.miimon_ms"),
        ({"primary": "eth\u202e1"}, "bad-value bond.primary"),
        ({"members": [{"interface": "eth1"}, {"interface": "eth1"}]}, "repeated bond.members[1].interface"),
        ({"members": ["eth1"]}, "bad-object bond.members[0]"),
        ({"members": [{"interface": f"e{n}"} for n in range(100_000)]}, "too-many bond.members"),
        ({"slaves": "eth1"}, "unknown-field bond.slaves"),
    ],
)
def test_what_cannot_be_is_refused_by_name(body: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        from_json("interface", {"bond": body}, "bond0")
    code, field = said.split()
    (finding,) = refused.value.findings
    assert finding.field == field and (code == "bad-value" or finding.code == code)


def test_a_port_belongs_to_one_bond_or_bridge() -> None:
    said = found(UPLINK, bond("eth2", "eth3", name="bond1"))
    assert said["member-taken"] == "eth2 cannot belong to bond1: it belongs to bond0"
    said = found(UPLINK, Interface("br0", bridge=Bridge((BridgePort("eth2"),))))
    assert said["member-taken"] == "eth2 cannot belong to br0: it belongs to bond0"


@pytest.mark.parametrize(
    ("member", "has"),
    [
        (Interface("eth1", addresses=("10.0.0.1/24",)), "have addresses of its own: give them to bond0"),
        (Interface("eth1", addressing="dhcp"), "ask for an address by DHCP: choose that at bond0"),
        (Interface("eth1", "wan"), "have the role wan: give it to bond0"),
        (Interface("eth1", vrf="red"), "be in VRF red: choose that at bond0"),
    ],
)
def test_a_member_has_nothing_of_its_own(member: Interface, has: str) -> None:
    said = found(UPLINK, member, Interface("red", vrf_table=7))
    assert said["member-with-its-own"] == f"eth1 belongs to bond0, so it cannot {has}"
    assert not found(UPLINK, Interface("eth1"), Interface("eth2", description="to the roof"))


def test_nothing_is_routed_by_a_member_and_no_vlan_is_on_it() -> None:
    route = StaticRoute("r", "198.51.100.0/24", interface="eth1")
    document = Document([Interface("eth1"), route])
    change = Change("interface", "bond0", None, UPLINK)
    document.apply([change])
    said = {item.code: item for item in validate(document, [change])}["member-with-its-own"]
    assert said.kind == "static-route" and said.message.endswith("which belongs to bond0: name bond0 there")
    said_of_vlan = found(UPLINK, Interface("eth1"), Interface("eth1.7", vlan=Vlan("eth1", 7)))
    assert said_of_vlan == {
        "parent-in-bond": "VLAN eth1.7 is on eth1, which belongs to bond0: put it on bond0"
    }


@pytest.mark.parametrize(
    "member",
    [
        Interface("eth1", vlan=Vlan("eth9", 7)),
        Interface("eth1", bridge=Bridge()),
        Interface("eth1", loopback=Loopback()),
        Interface("eth1", vrf_table=7),
        bond("eth3", name="eth1"),
    ],
)
def test_only_ports_are_members(member: Interface) -> None:
    assert "not-of-this-type" in found(UPLINK, Interface("eth9"), member)


def test_it_may_be_a_port_carry_vlans_and_be_in_a_vrf() -> None:
    assert not found(
        UPLINK,
        Interface("br0", "lan", ("192.168.88.1/24",), bridge=Bridge((BridgePort("bond0"),))),
        Interface("bond0.7", vlan=Vlan("bond0", 7)),
    )
    in_vrf = replace(UPLINK, vrf="red", addressing="dhcp")
    assert not found(in_vrf, Interface("red", vrf_table=7))


def test_members_have_the_mtu_of_their_bond() -> None:
    assert found(UPLINK, Interface("eth1", mtu=9000)) == {
        "mtu-unlike-bond": "eth1 has the MTU 9000 and its bond bond0 1500: leave that of eth1 out, it "
        "has the bond's then"
    }
    large = bond("eth1", "eth2", mtu=9000)
    assert not found(large, Interface("eth1", mtu=9000), Interface("eth2"))
    wanted = NETWORK.wanted(Document([large, Interface("eth2")]))
    assert (wanted["eth2"].mtu, wanted["eth2"].bond, wanted["bond0"].mtu) == (9000, "bond0", 9000)
    above = Interface("bond0.7", vlan=Vlan("bond0", 7), mtu=9000)
    assert "mtu-above-parent" in found(UPLINK, above) and not found(large, above)


def test_settings_that_contradict_each_other() -> None:
    said = found(bond("eth1", mode="active-backup", primary="eth3"))
    assert said == {"primary-no-member": "the primary eth3 is no member of bond0"}
    assert "too-few-members" in found(bond("eth1", "eth2", min_links=3))
    assert "bond-without-members" in found(bond())


def test_a_bond_that_is_a_port_is_not_deleted_before_the_bridge_lets_it_go() -> None:
    document = Document([UPLINK, Interface("br0", bridge=Bridge((BridgePort("bond0"),)))])
    change = Change("interface", "bond0", UPLINK, None)
    document.apply([change])
    said = {item.code: item.message for item in validate(document, [change])}
    assert "still belongs to br0" in said["still-referenced"]


def test_at_the_start_of_the_machine_its_members_stay_down() -> None:
    objects = [UPLINK, Interface("eth1"), Interface("eth2"), Interface("eth3", addresses=("10.0.0.1/24",))]
    lines = content_of([], NETWORK.wanted(Document(objects))).decode().splitlines()
    assert lines[2:] == ["eth3", "link set dev eth3 up", "address add 10.0.0.1/24 dev eth3"]


# What is done, from what the kernel holds.

SETTINGS = {"miimon": 100, "hash_policy": 2, "min_links": 1}
CARRIES = HeldMember("active", "up", 0, "in sync", 1)


def held(settings: dict[str, int] = SETTINGS, primary: str = "", **masters: str) -> BondsState:
    links = {name: HeldLink(True, master, CARRIES if master else None) for name, master in masters.items()}
    return BondsState({"bond0": HeldBond(settings, primary, "", "")}, links)


def compared(state: BondsState, *wanted: ConfigObject) -> BondsDifference:
    return BondsBackend().diff(state, BONDS.wanted(Document(wanted)))


def texts(difference: BondsDifference | NetworkDifference) -> list[str]:
    return [f"{step.action} {step.text}" for step in difference.steps()]


def test_only_what_differs_is_done_and_who_comes_is_there_before_others_go() -> None:
    assert not compared(held(eth1="bond0", eth2="bond0"), UPLINK)
    other = compared(held({**SETTINGS, "miimon": 0}, eth1="bond0", eth2="", eth9="bond0"), UPLINK)
    assert texts(other) == ["change bond0 miimon 100", "add eth2 of bond0", "remove eth9"]
    assert other.down == ["eth2"], "the kernel takes it while it is down only"
    missing = compared(held(eth1="bond0"), UPLINK)
    assert not missing and missing.waiting == ["eth2"]


def test_a_disabled_member_is_down_again_after_it_joined() -> None:
    found_steps = texts(compared(held(eth1="bond0", eth2=""), UPLINK, Interface("eth2", disabled=True)))
    assert found_steps == ["add eth2 of bond0", "change eth2 down"]


def test_a_member_of_somebody_elses_is_not_taken() -> None:
    taken = compared(held(eth1="bond0", eth2="theirs"), UPLINK)
    assert taken.blocked == {"eth2": "eth2 belongs to theirs, so it cannot be a member of bond0"}
    bridge = Interface("br0", bridge=Bridge((BridgePort("eth3"),)))
    assert texts(compared(held(eth1="bond0", eth2="br0"), UPLINK, bridge)) == ["add eth2 of bond0"]


def test_the_primary_is_said_when_it_is_there() -> None:
    wanted = bond("eth1", "eth2", mode="active-backup", primary="eth2")
    state = held({"miimon": 100}, eth1="bond0", eth2="")
    assert texts(compared(state, wanted)) == ["add eth2 of bond0", "change bond0 primary eth2"]
    assert not compared(held({"miimon": 100}, eth1="bond0"), wanted)
    assert not compared(held({"miimon": 100}, "eth2", eth1="bond0", eth2="bond0"), wanted)
    assert texts(
        compared(
            held({"miimon": 100}, "eth2", eth1="bond0", eth2="bond0"), replace(wanted, bond=_freed(wanted))
        )
    ) == ["change bond0 primary none"]


def _freed(item: Interface) -> Bond:
    assert item.bond is not None
    return replace(item.bond, primary=None)


def test_a_port_that_has_to_be_there_is_named() -> None:
    document = Document([UPLINK, Interface("eth2")])
    delta = BONDS.delta({}, BONDS.wanted(document))
    assert delta is not None and list(unconfigured_members(delta)) == ["eth1"]


# What the part `network` does: the device, and who leaves.

LACP, XOR = (("bond_mode", 4), ("bond_ad_lacp_rate", 0)), (("bond_mode", 2),)


def network(
    *wanted: Interface, bonded: tuple[str, ...] = (), mode: tuple[Any, ...] = LACP
) -> NetworkDifference:
    none: frozenset[str] = frozenset()
    links = {
        name: LinkState(True, 1500, none, none, master="bond0" if name in bonded else "")
        for name in ("eth1", "eth2")
    }
    links["bond0"] = LinkState(True, 1500, none, none, "bond", None, True, made_with=mode)
    links["bond0.7"] = LinkState(True, 1500, none, none, "vlan", Vlan("bond0", 7), True)
    backend = NetworkBackend(cast(Any, None), Path("/nowhere"))
    return backend.diff(NetworkState(links, {}, {}), NETWORK.wanted(Document(wanted)))


def test_another_mode_makes_it_again_with_what_is_on_it() -> None:
    wanted = (
        UPLINK,
        Interface("eth1"),
        Interface("bond0.7", addresses=("10.7.0.1/24",), vlan=Vlan("bond0", 7)),
    )
    same = network(*wanted, bonded=("eth1",))
    assert texts(same) == ["add bond0.7 10.7.0.1/24"]
    again = network(*wanted, bonded=("eth1",), mode=XOR)
    assert texts(again) == [
        "remove bond0.7",
        "add bond0.7: VLAN 7 (802.1Q) of bond0",
        "remove bond0",
        "add bond0: bond",
        "change bond0 up",
        "change bond0.7 up",
        "add bond0.7 10.7.0.1/24",
    ]
    assert again.devices.specs["bond0"].made_with == LACP


def test_made_again_it_is_back_in_its_vrf() -> None:
    inside, red = replace(UPLINK, vrf="red"), Interface("red", vrf_table=7)
    again = network(inside, red, Interface("bond0.7", vlan=Vlan("bond0", 7)), bonded=("eth1",), mode=XOR)
    assert again.vrfs.masters == [("bond0", "red")]
    assert again.devices.remove == ["bond0"] and again.devices.make == [("bond0", "bond")]


def test_what_leaves_gets_back_what_the_kernel_took() -> None:
    alone = Interface("eth2", "lan", ("2001:db8::1/64",))
    left = network(
        bond("eth1"),
        Interface("eth1"),
        alone,
        Interface("bond0.7", vlan=Vlan("bond0", 7)),
        bonded=("eth1", "eth2"),
    )
    assert texts(left) == ["change eth2 out of its bond", "change eth2 up", "add eth2 2001:db8::1/64"]
    gone = network(alone, bonded=("eth1", "eth2"))
    assert texts(gone) == ["remove bond0.7", "remove bond0", "change eth2 up", "add eth2 2001:db8::1/64"]


def test_a_port_that_joins_is_left_as_it_is_until_it_does() -> None:
    """It would come up twice, which a network card needs seconds for."""
    steps = texts(network(UPLINK, Interface("eth1"), Interface("bond0.7", vlan=Vlan("bond0", 7))))
    assert steps == []


# What it costs.


def effects(old: Interface, new: Interface) -> dict[str, str]:
    before, after = (BONDS.wanted(Document([item])) for item in (old, new))
    look: Any = Look(
        cast(Any, BondsBackend()), after, BONDS.delta(before, after), [], lambda _: Sessions(0, True)
    )
    found_effects = by_object(BondsBackend().effects(look))
    return {effect.severity: effect.text for effect in found_effects.values()}


def test_what_a_change_costs_is_said() -> None:
    assert effects(UPLINK, bond("eth1", "eth2", hash_policy="layer3+4")) == {}
    assert effects(UPLINK, bond("eth1", "eth2", "eth3"))["resets"] == (
        "eth3 joins bond0: the other end may send to it before LACP lets it take packets, and those packets "
        "are lost"
    )
    static = [bond(*ports, mode="balance-xor") for ports in (("eth1",), ("eth1", "eth2"))]
    assert effects(*static) == {}, "nobody at the other end has to agree"
    left = effects(UPLINK, bond("eth1"))
    assert left == {"resets": "eth2 leaves bond0, and the other members carry on"}
    assert "no member any more" in effects(UPLINK, bond())["drops-sessions"]
    assert "fewer than 3 links" in effects(UPLINK, bond("eth1", "eth2", min_links=3))["drops-sessions"]
    backup = bond("eth1", "eth2", mode="active-backup")
    chosen = effects(backup, bond("eth1", "eth2", mode="active-backup", primary="eth2"))
    assert chosen == {"resets": "eth2 becomes the active member of bond0, if its link is up"}


def test_a_member_has_the_bonds_address() -> None:
    said = found(UPLINK, Interface("eth1", mac="02:00:5e:10:00:01"))
    assert said["member-with-its-own"] == (
        "eth1 belongs to bond0, so it cannot have a MAC address of its own: give it to bond0"
    )
