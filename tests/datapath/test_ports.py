# SPDX-License-Identifier: Apache-2.0
"""Attaching, pinning, upgrading: what stays when the process goes, and what goes when it should."""

from __future__ import annotations

import json
import mmap
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.measure import poll
from tests.datapath.bpf_run import map_lookup, map_update, tcx_program_ids
from tests.datapath.loaded import DOWNLOAD, Loaded
from tests.datapath.test_guarded_lookups import held
from tests.datapath.topology import run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord, Role
from weir.adapters.subqueue_records import SubqueuesRecord
from weir.model.problem import Invalid, NotFound, Problem, Unsupported

RECORD = ClassRecord(
    77, 0, LineRecord.of(10**6, 10**4, 10**9, priority=3), LineRecord.of(10**7, 10**5, 10**8)
)
META_ABI, META_PROGRAM = 0, 28 + 2 * 36 + 4


def poke_meta(datapath: Datapath, layout: str, offset: int, value: int) -> None:
    fd = datapath.map_fd("weir_meta")
    with mmap.mmap(fd, 4096) as meta:
        struct.pack_into(layout, meta, offset, value)
    os.close(fd)


def attached_program_ids(ifname: str) -> list[int]:
    filters = "".join(run("tc", "filter", "show", "dev", ifname, hook) for hook in ("ingress", "egress"))
    return tcx_program_ids(ifname) + [int(found) for found in re.findall(r" id (\d+) ", filters)]


@pytest.fixture
def port(own_namespace: None) -> Iterator[str]:
    run("ip", "link", "add", "dp0", "type", "veth", "peer", "name", "dp1")
    yield "dp0"
    run("sh", "-c", "ip link del dp0 2>/dev/null || true")


def test_state_outlives_the_process(pin_dir: Path, port: str) -> None:
    with Datapath.open(pin_dir, capacity=256) as datapath:
        assert datapath.reused == "new"
        datapath.attach(port, mode="police", overhead_bytes=18, slot_for_interface_target=5)
        datapath.write_classes([(9, RECORD)])
        datapath.change_prefixes([(0, 4, 10 << 24, 8, 9), (0, 6, 0, 0, 9)])
        Loaded(datapath).set_clock_tk(9, DOWNLOAD, 4711)
    with Datapath.open(pin_dir, capacity=9999) as datapath:
        assert datapath.reused == "reused"
        found = datapath.attached()[port]
        assert (found.mode, found.overhead_bytes, found.target_slot, found.alive) == ("police", 18, 5, True)
        assert found.roles == Role.CLASSIFY | Role.SHAPE
        assert datapath.read_classes() == {9: RECORD.quantised}
        assert datapath.lookup(0, 4, 10 << 24) == datapath.lookup(0, 6, 1) == 9
        assert Loaded(datapath).clock_tk(9, DOWNLOAD) == 4711
        assert datapath.usage().classes == (1, 256)
        datapath.destroy()
    assert not pin_dir.exists()
    assert attached_program_ids(port) == []


def test_two_writers_are_one_too_many(pin_dir: Path) -> None:
    with Datapath.open(pin_dir, capacity=256), pytest.raises(Problem, match="in use by another process"):
        Datapath.open(pin_dir)


def xdp_program_id(ifname: str) -> int:
    shown = json.loads(run("ip", "-j", "-d", "link", "show", "dev", ifname))
    return int(shown[0]["xdp"]["prog"]["id"])


def test_an_upgrade_replaces_the_programs_and_keeps_clocks(pin_dir: Path, port: str) -> None:
    with Datapath.open(pin_dir, capacity=256) as datapath:
        datapath.attach(port, Role.CLASSIFY | Role.SHAPE | Role.FAST)
        fast_before = xdp_program_id(port)
        datapath.write_classes([(9, RECORD)])
        Loaded(datapath).set_clock_tk(9, DOWNLOAD, 4711)
        before = attached_program_ids(port)
        poke_meta(datapath, "<Q", META_PROGRAM, 1)  # as if another build had loaded them
    with Datapath.open(pin_dir) as datapath:
        assert datapath.reused == "upgraded"
        after = attached_program_ids(port)
        assert len(after) == len(before) == 2
        assert set(after).isdisjoint(before)
        assert xdp_program_id(port) != fast_before
        assert datapath.attached()[port].alive
        assert Loaded(datapath).clock_tk(9, DOWNLOAD) == 4711
        datapath.destroy()


def test_maps_of_another_abi_are_refused_and_left_alone(pin_dir: Path) -> None:
    with Datapath.open(pin_dir, capacity=256) as datapath:
        poke_meta(datapath, "<I", META_ABI, 999)
    with pytest.raises(Unsupported, match="ABI 999"):
        Datapath.open(pin_dir)
    assert (pin_dir / "weir_lines").exists()


def test_a_folder_that_is_no_bpffs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="not on a BPF file system"):
        Datapath.open(tmp_path)


@pytest.mark.parametrize("tcx", [True, False])
def test_ports_attach_and_detach(pin_dir: Path, port: str, tcx: bool) -> None:
    with Datapath.open(pin_dir, capacity=256, tcx=tcx) as datapath:
        datapath.attach(port)
        assert datapath.attached()[port].hook == ("tcx" if tcx else "clsact")
        assert len(attached_program_ids(port)) == 2
        datapath.attach(port, Role.SHAPE, "htb")
        assert len(attached_program_ids(port)) == 1
        datapath.attach(port, mode="none")
        assert len(attached_program_ids(port)) == 2
        datapath.detach(port)
        assert poll(lambda: attached_program_ids(port) == [], 5), "the kernel ends a link a moment later"
        assert datapath.attached() == {}
        datapath.destroy()


def test_unknown_interfaces_are_named(datapath: Datapath) -> None:
    with pytest.raises(NotFound, match="no interface nosuch0"):
        datapath.attach("nosuch0")
    with pytest.raises(NotFound, match="nosuch0 is not attached"):
        datapath.detach("nosuch0")
    with pytest.raises(Invalid, match="above the capacity"):
        datapath.attach("lo", slot_for_interface_target=1 << 20)
    assert datapath.attached() == {}


def test_an_interface_that_went_away_is_shown_and_comes_back(pin_dir: Path, port: str) -> None:
    with Datapath.open(pin_dir, capacity=256) as datapath:
        datapath.attach(port, mode="police")
        run("ip", "link", "del", port)
        assert not datapath.attached()[port].alive
        run("ip", "link", "add", "dp0", "type", "veth", "peer", "name", "dp1")
        datapath.attach(port, mode="police")
        ports = datapath.attached()
        assert list(ports) == [port]
        assert ports[port].alive
        run("ip", "link", "del", port)
        datapath.detach(port)
        assert datapath.attached() == {}
        datapath.destroy()


def test_descriptors_for_other_processes_are_read_only(pin_dir: Path) -> None:
    with Datapath.open(pin_dir, capacity=256) as datapath:
        datapath.write_classes([(9, RECORD)])
        fd = datapath.map_fd_readonly("weir_details")
        assert struct.unpack_from("<Q", map_lookup(fd, 19, 64), 8)[0] == RECORD.download.rate_bps
        with pytest.raises(PermissionError):
            map_update(fd, 19, bytes(64))
        with pytest.raises(OSError, match=r"Invalid argument|Permission denied"):
            mmap.mmap(fd, 256 * 2 * 64)
        os.close(fd)
        datapath.destroy()


def test_classes_keep_their_clock_unless_the_slot_changes_hands(loaded: Loaded) -> None:
    datapath = loaded.datapath
    datapath.write_classes([(9, RECORD), (10, ClassRecord(1))])
    loaded.set_clock_tk(9, DOWNLOAD, 4711)
    moved = ClassRecord(77, 10, RECORD.upload, LineRecord.of(5 * 10**6, 10**5, 10**8))
    datapath.write_classes([(9, moved)])
    assert loaded.clock_tk(9, DOWNLOAD) == 4711
    assert datapath.read_classes()[9] == moved.quantised
    datapath.write_classes([(9, ClassRecord(78))])
    assert loaded.clock_tk(9, DOWNLOAD) == 0


@pytest.mark.parametrize(
    ("slot", "record", "says"),
    [
        (0, ClassRecord(1), "slot 0"),
        (4096, ClassRecord(1), "slot 4096"),
        (5, ClassRecord(0), "no key"),
        (5, ClassRecord(1, 5), "parent 5"),
        (5, ClassRecord(1, 0, total_slot=5000), "5000 for its total"),
        (5, ClassRecord(1, 0, LineRecord(99)), "99 bit/s is below"),
    ],
)
def test_bad_classes_are_refused_whole(datapath: Datapath, slot: int, record: ClassRecord, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        datapath.write_classes([(6, ClassRecord(2)), (slot, record)])
    assert datapath.read_classes() == {}


def test_10_000_classes_are_stored_in_milliseconds(own_namespace: None) -> None:
    with Datapath.open(None, capacity=16384) as datapath:
        datapath.write_classes((slot, ClassRecord(slot, 1 if slot > 1 else 0)) for slot in range(1, 10_001))
        found = datapath.read_classes()
        assert len(found) == 10_000
        assert found[10_000].parent_slot == 1


def test_hosts_before_nat_go_on_being_looked_for(port: str) -> None:
    """The port learns of it when a class divides its upload by host; the guard leaves that as it is."""
    line = LineRecord.of(10**6, 10**4, 10**9)
    with Datapath.open(None, capacity=256) as datapath:
        datapath.attach(port)
        before = held(datapath, "weir_ports", 1024 * 64)
        datapath.write_classes(
            [(9, ClassRecord(9, 0, replace(line, subqueues=SubqueuesRecord("source")), line))]
        )
        told = held(datapath, "weir_ports", 1024 * 64)
        assert told != before
        assert [datapath.guard() for _ in range(3)] == [("", "")] * 3
        assert held(datapath, "weir_ports", 1024 * 64) == told
