# SPDX-License-Identifier: Apache-2.0
"""Tuning on a made-up machine (files of /proc and /sys, ethtool's recorded words), and on a real router."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent.rig import Rig, lan
from tests.polling import until
from weir.adapters.netlink import Link
from weir.adapters.tunables import Tunables, mask_of
from weir.backends.backend import Comparison
from weir.backends.tuning import Setting, TuningBackend, load
from weir.kinds.tuning import Tuning
from weir.model.problem import ApplyFailed, Problem, Unavailable

ROOT = Path(__file__).resolve().parents[2]
RING = """Ring parameters for eth0:
Pre-set maximums:
RX:\t\t4096
RX Mini:\tn/a
TX:\t\t4096
Current hardware settings:
RX:\t\t{rx}
RX Mini:\tn/a
TX:\t\t256
"""
PAUSE = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\t{pause}\nTX:\t\toff\n"
FEATURES = (
    "Features for eth0:\nrx-checksumming: on\nlarge-receive-offload: off [fixed]\nrx-gro-hw: {merging}\n"
)
COALESCE = "Coalesce parameters for eth0:\nAdaptive RX: {adaptive}  TX: n/a\nrx-usecs: 3\n"


def link(name: str, kind: str = "physical", tx_queues: int = 4) -> Link:
    return Link(
        name=name, index=1, kind=kind, mac="", mtu=1500, up=True, carrier=True, ethernet=True,
        tx_queues=tx_queues, qdisc="mq", master=0, lower=0, counters={},
    )  # fmt: skip


class Links:
    def __init__(self, *links: Link) -> None:
        self._links = {item.name: item for item in links}

    def links(self) -> dict[str, Link]:
        return self._links


class Machine(Tunables):
    """Four processors and a card of two queues; ethtool keeps what it is told."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, self.ethtool)
        self.root = root
        self.card_values = {"rx": "256", "pause": "on", "adaptive": "off", "merging": "on"}
        self.refuse = False
        self.calls: list[list[str]] = []
        self.file("proc/meminfo", "MemTotal:        4194304 kB\n")
        self.file("proc/cmdline", "quiet preempt=full preempt=voluntary\n")
        self.file("sys/devices/system/cpu/online", "0-3\n")
        self.file("proc/sys/net/core/netdev_budget_usecs", "8000\n")
        self.file("proc/interrupts", "  1: 5 IO-APIC i8042\n 40: 0 PCI-MSI eth0\n 41: 9 x eth0-TxRx-0\n"
                  " 42: 9 x eth0-TxRx-1\n 43: 9 x eth01-TxRx-0\n")  # fmt: skip
        for number in (40, 41, 42, 43):
            self.file(f"proc/irq/{number}/smp_affinity_list", "0-3\n")
        for queue in (0, 1):
            self.file(f"sys/class/net/eth0/queues/tx-{queue}/xps_cpus", "0\n")
            self.file(f"sys/class/net/eth0/queues/rx-{queue}/rps_cpus", "0\n")
        self.file("sys/class/net/eth0/threaded", "0\n")

    def file(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def refused(self, *_: str) -> None:
        raise ApplyFailed("netlink error: Operation not supported")

    def systemctl(self, argv: Sequence[str]) -> str:
        assert list(argv[1:3]) == ["set-property", "--runtime"]
        if self.refuse:
            self.refused()
        unit, (key, value) = argv[3], argv[4].split("=")
        assert key == "CPUWeight"
        self.file(f"sys/fs/cgroup/system.slice/{unit}/cpu.weight", f"{value}\n")
        return ""

    def ethtool(self, argv: Sequence[str]) -> str:
        if argv[0] == "systemctl":
            return self.systemctl(argv)
        self.calls.append(list(argv[1:]))
        if argv[1].isupper() or argv[1][1].isupper():
            if self.refuse:
                self.refused()
            key = {"-G": "rx", "-A": "pause", "-C": "adaptive", "-K": "merging"}[argv[1]]
            self.card_values[key] = argv[4]
            return ""
        return {"-g": RING, "-a": PAUSE, "-k": FEATURES, "-c": COALESCE}[argv[1]].format(**self.card_values)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def setting(key: str, value: str, scope: str = "sysctl", **match: str) -> Setting:
    return Setting("it", scope, key, value, "because", "E1", "no", match)  # type: ignore[arg-type]


def backend(machine: Machine, *settings: Setting, links: Links | None = None) -> TuningBackend:
    return TuningBackend(settings, links or Links(link("eth0"), link("veth0", "veth")), machine)  # type: ignore[arg-type]


def apply(tuning: TuningBackend, **overrides: str) -> list[str]:
    difference = tuning.diff(tuning.read(), overrides)
    tuning.apply(difference)
    tuning.verify(difference)
    return [step.text for step in difference.steps()]


def state(tuning: TuningBackend, **overrides: str) -> list[tuple[str, str]]:
    (shown,) = tuning.to_json(overrides)
    return [(place["place"], place["state"]) for place in shown["places"]]


def test_an_override_of_one_interface_comes_before_that_of_all(machine: Machine) -> None:
    machine.file("sys/class/net/eth1/threaded", "0\n")
    ports = Links(link("eth0"), link("eth1"))
    tuning = backend(machine, setting("threaded", "0", "interface", kind="physical"), links=ports)
    assert apply(tuning, **{"it.eth1": "1"}) == ["eth1: threaded = 1 (was 0)"]
    assert apply(tuning, **{"it": "1", "it.eth1": "0"}) == [
        "eth0: threaded = 1 (was 0)",
        "eth1: threaded = 0 (was 1)",
    ]
    (shown,) = tuning.to_json({"it": "1", "it.eth1": "0"})
    assert [(place["place"], place["override"]) for place in shown["places"]] == [
        ("eth0", None),
        ("eth1", "0"),
    ]
    assert apply(tuning) == ["eth0: threaded = 0 (was 1)"]


def test_a_sysctl_is_set_once_and_an_override_wins(machine: Machine) -> None:
    tuning = backend(machine, setting("net.core.netdev_budget_usecs", "2000"))
    assert apply(tuning) == ["net.core.netdev_budget_usecs = 2000 (was 8000)"]
    assert apply(tuning) == []
    assert apply(tuning, it="4000") == ["net.core.netdev_budget_usecs = 4000 (was 2000)"]
    assert apply(tuning, it="") == []
    assert state(tuning, it="") == [("", "left")]
    assert apply(tuning) == ["net.core.netdev_budget_usecs = 2000 (was 4000)"]


def test_a_setting_that_was_changed_is_named_with_what_it_should_be(machine: Machine) -> None:
    tuning = backend(machine, setting("net.core.netdev_budget_usecs", "2000"))
    apply(tuning)

    def told(**overrides: str) -> list[tuple[str, str, bool | None]]:
        found = tuning.explain(Comparison(tuning, overrides), Tuning(), [])
        return [(line.compiled, line.system, line.agrees) for line in found]

    assert told() == [("2000", "2000", True)]
    assert told(it="") == []
    machine.file("proc/sys/net/core/netdev_budget_usecs", "9\n")
    assert told() == [("2000", "9", False)]
    (machine.root / "proc/sys/net/core/netdev_budget_usecs").unlink()
    assert told() == []
    assert told(it="5") == [("5", "this machine has no such setting", False)]


def test_what_the_machine_does_not_have_is_told_and_left_out(machine: Machine) -> None:
    tuning = backend(machine, setting("net.no.such", "1"))
    assert apply(tuning, it="2") == []
    assert state(tuning) == [("", "absent")]


def test_a_refusal_of_ours_is_told_and_not_tried_again_one_of_the_operators_is_an_error(
    machine: Machine,
) -> None:
    machine.refuse = True
    tuning = backend(machine, setting("pause", "off", "interface", kind="physical"))
    assert len(apply(tuning)) == 1
    assert apply(tuning) == []
    assert state(tuning) == [("eth0", "refused")]
    with pytest.raises(Problem, match="not supported"):
        apply(backend(machine, setting("pause", "on", "interface", kind="physical")), it="off")


def test_what_a_driver_refused_once_is_refused_to_the_operator_too(machine: Machine) -> None:
    machine.refuse = True
    tuning = backend(machine, setting("pause", "off", "interface", kind="physical"))
    apply(tuning)
    with pytest.raises(ApplyFailed, match="not supported"):
        apply(tuning, it="off")


@pytest.mark.parametrize("value", ["1", ""])
def test_what_pacing_rests_on_is_not_overridden(machine: Machine, value: str) -> None:
    tuning = backend(machine, setting("fq.flow_limit", "10000", "interface", kind="physical"))
    assert apply(tuning) == apply(tuning, it="10000") == []
    with pytest.raises(ApplyFailed, match="pacing rests on it"):
        apply(tuning, it=value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("net.core.netdev_budget_usecs", "memory/0"),
        ("net.core.netdev_budget_usecs", "min(maximum,9)"),
        ("ring.rx", "min(maximum,many)"),
        ("ring.rx", "one-queue-per-cpu"),
        ("pause", "all-but-the-interrupted-cpu"),
    ],
)
def test_words_that_mean_nothing_there_are_given_to_the_kernel_which_refuses_them(
    machine: Machine, key: str, value: str
) -> None:
    machine.refuse = True
    machine.set_sysctl = machine.refused  # type: ignore[method-assign]
    scope = "sysctl" if key.startswith("net.") else "interface"
    with pytest.raises(ApplyFailed, match="not supported"):
        apply(backend(machine, setting(key, "300", scope)), it=value)


def test_a_value_that_the_kernel_does_not_keep_is_an_error_only_when_it_was_asked_for(
    machine: Machine,
) -> None:
    machine.set_sysctl = lambda key, value: None  # type: ignore[method-assign]
    tuning = backend(machine, setting("net.core.netdev_budget_usecs", "2000"))
    apply(tuning)
    assert state(tuning) == [("", "refused")]
    with pytest.raises(ApplyFailed, match="is 8000 and not 5"):
        apply(tuning, it="5")


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("ring.rx", "min(maximum,2048)", "2048"),
        ("ring.rx", "min(maximum,9000)", "4096"),
        ("coalesce.adaptive-rx", "on", "on"),
        ("pause", "off", "off"),
        ("offload.gro-hw", "off", "off"),
        ("threaded", "1", "1"),
        ("xps", "one-queue-per-cpu", "5 a"),
        ("irq", "one-queue-per-cpu", "0 1"),
        ("rps", "all-but-the-interrupted-cpu", "0 0"),
    ],
)
def test_a_card_is_set_to_what_the_words_mean_on_this_machine(
    machine: Machine, key: str, value: str, wanted: str
) -> None:
    tuning = backend(machine, setting(key, value, "interface", kind="physical"))
    apply(tuning)
    assert machine.card(key, "eth0") == wanted
    assert state(tuning) == [("eth0", "applied")]


def test_receive_steering_spares_the_interrupted_processor(machine: Machine) -> None:
    for number in (41, 42):
        machine.file(f"proc/irq/{number}/smp_affinity_list", "1\n")
    apply(backend(machine, setting("rps", "all-but-the-interrupted-cpu", "interface", kind="physical")))
    assert machine.card("rps", "eth0") == "d d"


def test_a_fixed_feature_that_is_as_wanted_needs_nothing(machine: Machine) -> None:
    assert apply(backend(machine, setting("offload.lro", "off", "interface", kind="physical"))) == []


@pytest.mark.parametrize(
    ("match", "places"),
    [({"kind": "physical"}, ["eth0", "eth9"]), ({"kind": "physical", "queues": "single"}, ["eth9"]),
     ({"kind": "virtual"}, ["veth0"]), ({}, ["eth0", "eth9", "veth0"])],
)  # fmt: skip
def test_interfaces_are_chosen_by_kind_and_queues(
    machine: Machine, match: dict[str, str], places: list[str]
) -> None:
    links = Links(link("eth0"), link("eth9", tx_queues=1), link("veth0", "veth"), link("lo", "loopback"))
    tuning = backend(machine, setting("threaded", "0", "interface", **match), links=links)
    assert [place for place, _ in state(tuning)] == places


def test_interfaces_are_chosen_by_driver(machine: Machine) -> None:
    machine.file("sys/bus/pci/drivers/igb/bind", "")
    (machine.root / "sys/class/net/eth0/device").mkdir()
    (machine.root / "sys/class/net/eth0/device/driver").symlink_to(machine.root / "sys/bus/pci/drivers/igb")
    links = Links(link("eth0"), link("eth9"), link("veth0", "veth"))
    for driver, places in (("igb", ["eth0"]), ("igc", [])):
        tuning = backend(machine, setting("threaded", "0", "interface", driver=driver), links=links)
        assert [place for place, _ in state(tuning)] == places


def test_a_match_that_nobody_understands_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tuning.toml"
    words = (
        'scope = "interface"\nkey = "threaded"\nvalue = "0"\nreason = ""\nevidence = ""\nmeasured = "no"\n'
    )
    file.write_text(f'[[setting]]\nid = "it"\n{words}match = {{ vendor = "intel" }}\n')
    with pytest.raises(Unavailable, match="it cannot match by"):
        load(file)


def test_where_the_start_is_not_the_router_s_own_it_is_compared_and_never_set(machine: Machine) -> None:
    machine.file("sys/fs/cgroup/system.slice/frr.service/cpu.weight", "100\n")
    machine.file("sys/fs/cgroup/system.slice/weir-api.service/memory.high", f"{512 << 20}\n")
    machine.file("proc/meminfo", f"MemTotal: {(1 << 20) + 4} kB\n")
    for item, expected in (
        (setting("preempt", "voluntary", "cmdline"), "applied"),
        (setting("preempt", "none", "cmdline"), "differs"),
        (setting("CPUWeight", "1000", "service", unit="frr.service"), "differs"),
        (setting("MemoryHigh", "512M", "service", unit="weir-api.service"), "applied"),
        (setting("MemoryHigh", "50%", "service", unit="weir-api.service"), "applied"),
        (setting("MemoryHigh", "49%", "service", unit="weir-api.service"), "differs"),
    ):
        tuning = backend(machine, item)
        assert apply(tuning) == apply(tuning, it="other") == []
        assert [found for _, found in state(tuning)] == [expected]
        (shown,) = tuning.to_json({"it": "other"})
        assert "not the router's own to set" in shown["places"][0]["why"]


def test_an_override_of_a_service_is_set_by_systemd(machine: Machine) -> None:
    file = "sys/fs/cgroup/system.slice/frr.service/cpu.weight"
    machine.file(file, "1000\n")
    item = setting("CPUWeight", "1000", "service", unit="frr.service")
    tuning = TuningBackend([item], Links(), machine, sets_units=True)  # type: ignore[arg-type]
    assert apply(tuning) == []
    assert apply(tuning, it="200") == ["frr.service: CPUWeight = 200 (was 1000)"]
    assert state(tuning, it="200") == [("frr.service", "applied")]
    assert apply(tuning) == ["frr.service: CPUWeight = 1000 (was 200)"]
    machine.refuse = True
    with pytest.raises(ApplyFailed):
        apply(tuning, it="200")


def test_masks_of_many_processors_are_written_as_the_kernel_does() -> None:
    assert mask_of([]) == "0"
    assert mask_of([0, 31]) == "80000001"
    assert mask_of([33]) == "2,00000000"
    assert mask_of(range(64)) == "ffffffff,ffffffff"


def test_a_value_in_proportion_to_memory(machine: Machine) -> None:
    machine.file("proc/sys/net/netfilter/nf_conntrack_max", "65536\n")
    apply(backend(machine, setting("net.netfilter.nf_conntrack_max", "memory/16384")))
    assert machine.sysctl("net.netfilter.nf_conntrack_max") == "262144"


def test_a_file_that_cannot_be_read_is_named_and_none_is_no_error(tmp_path: Path) -> None:
    assert load(tmp_path / "absent.toml") == ()
    broken = tmp_path / "tuning.toml"
    broken.write_text("[[setting]]\nid = 1\nwrong = 2\n")
    with pytest.raises(Unavailable, match=r"tuning\.toml"):
        load(broken)
    assert len(load(ROOT / "board/tuning.toml")) > 20


KEY = "net.ipv4.fib_multipath_hash_policy"


@pytest.fixture(scope="module")
def tuned(rig: Rig) -> Rig:
    rig.stop_agent()
    rig.start_agent("--tuning", str(ROOT / "board/tuning.toml"))
    rig.commit(lan())
    return rig


def held(rig: Rig) -> str:
    return rig.run("sysctl", "-n", KEY).strip()


def test_a_router_is_tuned_in_its_own_namespace_only(tuned: Rig) -> None:
    outside = Path("/proc/sys/net/ipv4/fib_multipath_hash_policy").read_text().strip()
    until("the product's value", lambda: held(tuned) == "1")
    tuned.commit(Tuning(overrides=(("multipath-hash", "2"),)))
    assert held(tuned) == "2"
    assert Path("/proc/sys/net/ipv4/fib_multipath_hash_policy").read_text().strip() == outside
    tuned.run("sysctl", "-w", f"{KEY}=0")
    tuned.agent.call("resync")
    assert held(tuned) == "2"
    drift = [item for item in tuned.status()["drift"] if item["part"] == "tuning"]
    assert drift[0]["text"] == f"change setting {KEY} = 2 (was 0)" and drift[0]["repaired"]
    found = tuned.explain("tuning", "tuning")["lines"]
    assert [(line["system"], line["agrees"]) for line in found if line["field"] == KEY] == [("2", True)]
    shown = {item["id"]: item for item in tuned.agent.call("tuning")["value"]}
    assert shown["multipath-hash"]["places"][0] == {
        "place": "", "override": None, "wanted": "2", "held": "2", "state": "applied", "why": None
    }  # fmt: skip
    assert shown["default-qdisc"]["places"][0]["state"] == "absent"


def test_a_value_that_the_kernel_refuses_stops_the_commit(tuned: Rig) -> None:
    before = held(tuned)
    with pytest.raises(Problem):
        tuned.commit(Tuning(overrides=(("multipath-hash", "lots"),)))
    assert held(tuned) == before


def test_somebody_elses_change_is_repaired(tuned: Rig) -> None:
    wanted = held(tuned)
    tuned.run("sysctl", "-w", f"{KEY}=0")
    tuned.agent.call("resync")
    assert held(tuned) == wanted
    assert any(KEY in item["text"] for item in tuned.status()["drift"])
