# SPDX-License-Identifier: Apache-2.0
"""A WAN takes its IPv6 addresses and gateway from what the provider's router announces, with the firewall
closed; other interfaces take nothing."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Network
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_effects import committed
from tests.polling import until
from weir.backends.autoconf import AutoconfBackend, AutoconfDifference
from weir.kinds.firewall import Firewall

PREFIX = IPv6Network("2001:db8:100::/64")
FAR = """
interface {device} {{
  AdvSendAdvert on; MaxRtrAdvInterval 1800; MinRtrAdvInterval 1000; AdvDefaultLifetime 1800;
  prefix {prefix} {{ AdvPreferredLifetime 600; AdvValidLifetime 1200; }};
}};
"""


def announce(rig: Rig, namespace: str, device: str, prefix: IPv6Network) -> None:
    """A router there that speaks when asked only, as the next announcement is far away."""
    conf = rig.folder / f"{device}.conf"
    conf.write_text(FAR.format(device=device, prefix=prefix))
    rig.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", namespace=namespace)
    far = ("radvd", "-n", "-m", "stderr", "-C", str(conf), "-p", str(rig.folder / f"{device}.pid"))
    rig.spawn(f"far-{device}", far, netns.entering(namespace))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        netns.ip(
            made.internet, ["addr add 2001:db8:100::1/64 dev i0 nodad", "addr add 2001:db8:9::9/128 dev lo"]
        )
        announce(made, made.internet, "i0", PREFIX)
        announce(made, made.client_ns, "c0", IPv6Network("2001:db8:bad::/64"))
        made.commit(lan(), wan(), Firewall(drop_new_from_wan=True))
        yield made


def learnt(rig: Rig) -> Any:
    return rig.agent.call("state", {"kind": "interface"})["objects"].get("wan0", {})


def routes(rig: Rig) -> str:
    return rig.run("ip", "-6", "route", "show", "default")


def test_nothing_is_taken_before_it_is_asked_for_and_all_of_it_then(rig: Rig) -> None:
    assert not routes(rig) and "learnt_addresses" not in learnt(rig)
    rig.commit(wan(ipv6_addressing="auto"))
    until("there is an address", lambda: learnt(rig).get("learnt_addresses"), 15.0)
    until("there is a gateway", lambda: learnt(rig)["learnt_gateway"], 15.0)
    state = learnt(rig)
    (row,) = state["learnt_addresses"]
    assert row["address"].startswith("2001:db8:100:") and 590 < row["preferred_s"] <= 600 < row["valid_s"]
    assert state["learnt_gateway"].startswith("fe80::") and 1700 < state["gateway_lifetime_s"] <= 1800
    assert "dev wan0 proto ra" in routes(rig) and "lan0" not in routes(rig)
    assert row["address"] in rig.addresses("wan0"), "and the agent leaves it there"
    lines = {line["field"]: line for line in rig.explain("wan0", "interface")["lines"]}
    assert all(lines[what]["agrees"] for what in ("accept_ra", "ipv6_addressing")), lines


def test_hosts_inside_are_forwarded_by_the_learnt_gateway(rig: Rig) -> None:
    way = ("addr add 2001:db8:64::2/64 dev c0 nodad", "route add default via 2001:db8:64::1")
    netns.ip(rig.client_ns, [*way])
    links = rig.json("ip", "-j", "-6", "address", "show", "dev", "wan0", "scope", "link")
    (here,) = [item["local"] for link in links for item in link.get("addr_info", ()) if item]
    netns.ip(rig.internet, [f"route add 2001:db8:64::/64 via {here} dev i0"])
    until("it answers", lambda: _pings(rig), 15.0)


def _pings(rig: Rig) -> bool:
    try:
        rig.run("ping", "-6", "-c", "1", "-W", "1", "2001:db8:9::9", namespace=rig.client_ns)
    except AssertionError:
        return False
    return True


def test_it_is_taken_again_after_the_agent_was_killed_and_the_setting_typed_over(rig: Rig) -> None:
    rig.run("sysctl", "-qw", "net.ipv6.conf.wan0.accept_ra=1")
    rig.kill_agent()
    rig.start_agent()
    until("it is put right", lambda: rig.run("cat", "/proc/sys/net/ipv6/conf/wan0/accept_ra").strip() == "2")


def test_what_was_learnt_goes_when_it_is_not_wanted_any_more(rig: Rig) -> None:
    rig.commit(wan(ipv6_addressing="auto"))
    until("there is a gateway", lambda: routes(rig), 15.0)
    said = committed(rig, wan())["interface", "wan0"]
    assert said["effect"] == "drops-sessions" and "learnt" in said["text"]
    assert not routes(rig) and rig.addresses("wan0") == {"203.0.113.2/24"}
    assert rig.run("cat", "/proc/sys/net/ipv6/conf/wan0/accept_ra").strip() == "0"


def test_an_interface_that_goes_meanwhile_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir.backends.autoconf.write_sysctl", lambda _name, _value: None)
    backend = AutoconfBackend(tmp_path / "autoconf.json")
    backend.apply(AutoconfDifference((), ("gone0",), frozenset(), True))
