# SPDX-License-Identifier: Apache-2.0
"""Bonds that the router makes, with a kernel that has them, and a bond at the far end.

Cables lk0 to lk2 lead to one namespace, whose ends e0 to e2 are the far bond. What the router does is what
its parts make of a document; that an agent does the same on its own is tested with bridges.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from lab import netns
from tests.datapath.topology import run
from tests.polling import until
from tests.vm.test_links import Router
from weir.adapters import bonds, link_messages
from weir.agent.links import learnt_of_bonds
from weir.backends.backend import Comparison, Look
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.links import Bond, BondMember, Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.parts.bonds import BONDS
from weir.parts.effect import Effect, Sessions, by_object
from weir.parts.network import NETWORK

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

NEAR, FAR = "10.70.0.1", "10.70.0.2"
NEAR_TAGGED, FAR_TAGGED = "10.7.0.1", "10.7.0.2"
FAR_END = "far-bond"
PORTS = {"lk0": "e0", "lk1": "e1", "lk2": "e2"}
SYNCED = {"state": "active", "link": "up", "lacp": "in sync"}
EVERY_S, PINGS = 0.02, 250
MOST_LOST = 50
"""What a pulled cable may cost: 1 s of them."""


def bond(*members: str, **more: Any) -> Interface:
    made = Bond(tuple(map(BondMember, members)), **{"lacp_rate": "fast", **more})
    return Interface("bond0", "lan", addresses=(f"{NEAR}/24",), bond=made)


BOTH = bond("lk0", "lk1")
TAGGED = Interface(
    "tagged", "lan", addresses=(f"{NEAR_TAGGED}/24", "2001:db8:7::1/64"), vlan=Vlan("bond0", 7)
)


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    netns.create(FAR_END)
    for near, far in PORTS.items():
        run("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", FAR_END)
        netns.ip(FAR_END, [f"link set {far} up"])
    made = Router(tmp_path_factory.mktemp("router"))
    try:
        made.bring(BOTH, TAGGED)  # before anything loads bonding on demand, which makes a bond0
        make_far_bond("802.3ad", "lacp_rate", "fast")
        yield made
        made.bring()
        assert "bond0" not in indexes()
    finally:
        made.links.close()
        netns.remove(FAR_END)


def make_far_bond(mode: str, *words: str) -> None:
    """The far end, made again in this mode, with VLANs 7 and 8 on it."""
    lines = [f"link add far0 type bond mode {mode} miimon 100 {' '.join(words)}"]
    for end in PORTS.values():
        lines += [f"link set {end} down", f"link set {end} master far0"]
    lines += ["link set far0 up", f"address add {FAR}/24 dev far0"]
    for vlan in (7, 8):
        lines += [f"link add link far0 name far{vlan} type vlan id {vlan}", f"link set far{vlan} up"]
    lines += [f"address add {FAR_TAGGED}/24 dev far7"]
    old = ["link del far0"] if "far0" in far_links() else []
    netns.ip(FAR_END, [*old, *lines])


def at_far_end(*command: str) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=netns.entering(FAR_END)
    )
    return done.stdout


def far_links() -> dict[str, str]:
    """The interfaces of the far end with their hardware addresses."""
    return {link["ifname"]: link["address"] for link in json.loads(at_far_end("ip", "-j", "link"))}


def pull(*ends: str, back: bool = False) -> None:
    netns.ip(FAR_END, [f"link set {end} {'up' if back else 'down'}" for end in ends])


def state(router: Router, *objects: ConfigObject) -> dict[str, Any]:
    return learnt_of_bonds(BONDS.wanted(Document(objects or (BOTH,))))["bond0"]


def agreed(router: Router, *members: str) -> dict[str, Any] | None:
    """The state, once LACP came up on all these; the far end agrees when it answers."""
    found = state(router, bond(*PORTS))
    synced = {row["interface"] for row in found["members"] if SYNCED.items() <= row.items()}
    return found if synced == set(members) and found["active_count"] == len(members) else None


def ping(to: str = NEAR, packets: int = PINGS) -> subprocess.Popen[str]:
    words = ["ping", "-q", "-i", str(EVERY_S), "-c", str(packets), "-W", "2", to]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=netns.entering(FAR_END))


def lost(pinging: subprocess.Popen[str]) -> int:
    """How many packets got no answer."""
    output, _ = pinging.communicate(timeout=120)
    words = next(line for line in output.splitlines() if "transmitted" in line).split()
    return int(words[0]) - int(words[3])


def answers(to: str = NEAR) -> bool:
    return lost(ping(to, 2)) == 0


THIRD = ((run, "lk2"), (at_far_end, "e2"))


def indexes() -> dict[str, int]:
    return {link["ifname"]: link["ifindex"] for link in json.loads(run("ip", "-j", "link"))}


def members(of: str = "bond0") -> set[str]:
    return {link["ifname"] for link in json.loads(run("ip", "-j", "link", "show", "master", of))}


def carrier_changes(*names: str) -> dict[str, str]:
    """How often each link came and went since it was made."""
    return {name: Path(f"/sys/class/net/{name}/carrier_changes").read_text() for name in names}


def came_too_early() -> int:
    """Packets that the other end already sent over the third cable, and this one did not take yet."""
    near, far = (json.loads(at("ip", "-j", "-s", "-s", "link", "show", name))[0] for at, name in THIRD)
    return sum(int(link["stats64"]["rx"].get("nohandler", 0)) for link in (near, far))


def has_carrier() -> bool:
    (link,) = json.loads(run("ip", "-j", "link", "show", "bond0"))
    return "NO-CARRIER" not in link["flags"]


def effects(router: Router, old: list[ConfigObject], new: list[ConfigObject]) -> dict[str, Effect]:
    """What the change costs, by interface, as it is said before."""
    changed = [("interface", item.id) for item in new if item not in old]
    found: list[Effect] = []
    for part, backend in ((NETWORK, router.network), (BONDS, router.bonds)):
        wanted, before = part.wanted(Document(new)), part.wanted(Document(old))
        delta = part.delta(cast(Any, before), cast(Any, wanted))
        look: Any = Look(cast(Any, backend), wanted, delta, changed, lambda _: Sessions(0, True))
        found += backend.effects(look)
    return {effect.id: effect for effect in by_object(found).values()}


def deviations(router: Router, *objects: ConfigObject) -> list[str]:
    """The fields of which the kernel has something else."""
    found: Any = Comparison(cast(Any, router.bonds), BONDS.wanted(Document(objects)))
    lines = list(router.bonds.explain(found, objects[0], ()))
    assert lines
    return [line.field for line in lines if not line.agrees]


def test_lacp_comes_up_and_its_state_names_the_partner(router: Router) -> None:
    found = until("LACP comes up", lambda: agreed(router, "lk0", "lk1"), 30.0)
    assert len({row["aggregator"] for row in found["members"][:2]}) == 1
    assert found["partner"] == far_links()["far0"] and found["active_member"] is None
    assert found["members"][2] == {"interface": "lk2", "state": "no member"}
    until("it answers", answers, 30.0)
    assert deviations(router, BOTH) == []
    (made,) = (link for link in link_messages.links() if link.name == "bond0")
    assert made.data[bonds.COUPLED_CONTROL] == b"\0"


def test_a_pulled_cable_costs_less_than_a_second(router: Router) -> None:
    """Whichever of the two the packets take."""
    for near, far in (("lk0", "e0"), ("lk1", "e1")):
        pinging = ping()
        (other,) = {"lk0", "lk1"} - {near}
        pull(far)
        until("the other one carries alone", lambda other=other: agreed(router, other), 30.0)
        missing = lost(pinging)
        print(f"{near} pulled: {missing} packets lost, {missing * EVERY_S:.2f} s")
        assert missing <= MOST_LOST
        pull(far, back=True)
        until("both carry", lambda: agreed(router, "lk0", "lk1"), 30.0)
        until("it answers", answers, 30.0)


def arrived(device: str) -> int:
    (link,) = json.loads(at_far_end("ip", "-j", "-s", "link", "show", device))
    return int(link["stats64"]["rx"]["packets"])


def test_a_vlan_upon_it_has_exact_tags(router: Router) -> None:
    """Its packets come with the tag 7 at the other end, and none in VLAN 8."""
    before = arrived("far7"), arrived("far8")
    assert lost(ping(NEAR_TAGGED, 20)) == 0
    assert arrived("far7") - before[0] >= 20 and arrived("far8") == before[1]
    netns.ip(FAR_END, ["address add 10.7.0.3/32 dev far8", "route add 10.7.0.1/32 dev far8 src 10.7.0.3"])
    assert not answers(NEAR_TAGGED), "the same address is not there in VLAN 8"
    netns.ip(FAR_END, ["address del 10.7.0.3/32 dev far8"])
    until("it is in VLAN 7", lambda: answers(NEAR_TAGGED), 30.0)


def test_one_member_is_changed_and_neither_the_others_nor_the_bond_go_down(router: Router) -> None:
    until("both carry", lambda: agreed(router, "lk0", "lk1"), 30.0)  # also where this test runs alone
    until("it answers", lambda: answers() and answers(NEAR_TAGGED), 30.0)
    before, three = (carrier_changes("bond0", "lk0", "lk1"), indexes()), bond(*PORTS)
    said = effects(router, [BOTH, TAGGED], [three, TAGGED])["bond0"]
    assert (said.severity, said.lasts_ms) == ("resets", 1000) and "lk2 joins bond0" in said.text
    pinging, tagged, early = ping(), ping(NEAR_TAGGED), came_too_early()
    router.bring(three, TAGGED)
    until("the third carries, too", lambda: agreed(router, *PORTS), 30.0)
    missing = lost(pinging), lost(tagged)
    print(f"lk2 joined: {missing} packets lost, {max(missing) * EVERY_S:.2f} s")
    assert sum(missing) <= came_too_early() - early, "the other cables lost none"
    assert max(missing) <= MOST_LOST
    said = effects(router, [three, TAGGED], [BOTH, TAGGED])["bond0"]
    assert (said.severity, said.lasts_ms) == ("resets", 1000) and "lk2 leaves bond0" in said.text
    pinging = ping()
    assert router.bring(BOTH, TAGGED) == ["remove lk2"]
    assert agreed(router, "lk0", "lk1")
    assert lost(pinging) <= MOST_LOST
    assert (carrier_changes("bond0", "lk0", "lk1"), indexes()) == before


def test_with_too_few_links_it_is_down(router: Router) -> None:
    router.bring(bond("lk0", "lk1", min_links=2), TAGGED)
    assert has_carrier()
    pull("e1")
    until("one is too few", lambda: not has_carrier(), 10.0)
    pull("e1", back=True)
    until("it is up again", has_carrier, 30.0)
    until("it answers", answers, 30.0)
    router.bring(BOTH, TAGGED)


def test_what_somebody_else_did_is_put_right(router: Router) -> None:
    run("ip", "link", "set", "lk1", "nomaster")
    run("ip", "link", "set", "lk2", "down")
    run("ip", "link", "set", "lk2", "master", "bond0")
    run("ip", "link", "set", "bond0", "type", "bond", "xmit_hash_policy", "layer2")
    assert deviations(router, BOTH) == ["bond.hash_policy", "lk1", "bond.members"]
    assert router.bring(BOTH, TAGGED) == ["change bond0 hash_policy 2", "add lk1 of bond0", "remove lk2"]
    assert members() == {"lk0", "lk1"}
    run("ip", "link", "set", "lk1", "down")
    assert router.bring(BOTH, TAGGED) == ["change lk1 up"]
    until("both carry", lambda: agreed(router, "lk0", "lk1"), 30.0)


def test_another_mode_makes_it_again_with_what_is_on_it(router: Router) -> None:
    make_far_bond("active-backup")
    before = indexes()
    wanted = bond("lk0", "lk1", mode="active-backup", primary="lk1")
    said = effects(router, [BOTH, TAGGED], [wanted, TAGGED])["bond0"]
    assert said.severity == "resets" and "bond0 is made again" in said.text
    assert "tagged is made again" in said.text
    router.bring(wanted, TAGGED)
    assert all(indexes()[name] != before[name] for name in ("bond0", "tagged"))
    assert "2001:db8:7::1/64" in run("ip", "address", "show", "tagged")
    until("the primary carries", lambda: state(router, wanted)["active_member"] == "lk1")
    pull("e0", "e2")  # the far end knows no primary
    until("it answers", answers, 30.0)
    until("so it does in its VLAN", lambda: answers(NEAR_TAGGED), 30.0)
    pull("e0", back=True)
    pull("e1")
    until("the other one carries", lambda: state(router, wanted)["active_member"] == "lk0", 10.0)
    until("it answers", answers, 30.0)
    pull("e1", back=True)
    until("the primary is back", lambda: state(router, wanted)["active_member"] == "lk1", 10.0)
    assert state(router, wanted)["active_count"] == 1 and deviations(router, wanted) == []


def test_it_may_be_a_port_of_a_bridge(router: Router) -> None:
    """And a port of the bridge may become its member in one commit, and come back."""
    below = Interface("bond0", bond=Bond((BondMember("lk0"),), mode="balance-xor"))
    more = Interface("bond0", bond=Bond((BondMember("lk0"), BondMember("lk1")), mode="balance-xor"))
    for lower, ports in ((below, ("bond0", "lk1")), (more, ("bond0",)), (below, ("bond0", "lk1"))):
        switch = Bridge(tuple(map(BridgePort, ports)))
        router.bring(lower, Interface("br0", "lan", addresses=(f"{NEAR}/24",), bridge=switch))
        assert members("br0") == set(ports) and members() == {"lk0", "lk1"} - set(ports)


def test_what_leaves_has_all_that_is_configured_of_it(router: Router) -> None:
    alone = Interface("lk1", "lan", addresses=(f"{NEAR}/24", "2001:db8:70::1/64"))
    router.bring(Interface("bond0", bond=Bond((BondMember("lk0"), BondMember("lk1")))))
    router.bring(alone)
    assert not {"bond0", "br0"} & indexes().keys()
    held = run("ip", "address", "show", "lk1")
    assert f"{NEAR}/24" in held and "2001:db8:70::1/64" in held and ",UP" in held
    router.bring(BOTH, Interface("lk1"))
    assert members() == {"lk0", "lk1"}
    router.bring(bond("lk0"), Interface("lk1", "lan", addresses=("2001:db8:70::1/64",)))
    assert members() == {"lk0"} and "2001:db8:70::1/64" in run("ip", "address", "show", "lk1")


def test_a_bond_that_others_made_stays_as_it_is(router: Router) -> None:
    run("ip", "link", "add", "bond9", "type", "bond", "mode", "active-backup")
    try:
        other = Interface("bond9", bond=Bond((BondMember("lk2"),)))
        with pytest.raises(Exception, match="bond9 is a bond that Weir did not make, and set up differently"):
            router.bring(other)
    finally:
        run("ip", "link", "del", "bond9")
