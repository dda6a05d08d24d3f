# SPDX-License-Identifier: Apache-2.0
"""Every test of this folder runs in a network namespace of its own, with the datapath built."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datapath.fast_router import Fast, fast_router, known_neighbours
from tests.datapath.loaded import Loaded
from tests.datapath.topology import Topology
from weir.adapters.bpffs import mount_bpffs, unmount_bpffs
from weir.adapters.datapath import Datapath

ROOT = Path(__file__).resolve().parents[2]
_CLONE_NEWNET = 0x40000000


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if os.geteuid() != 0:
        pytest.skip("loading BPF programs needs root")
    subprocess.run(["make", "-s", "-C", str(ROOT / "datapath")], check=True)


@pytest.fixture(scope="module", autouse=True)
def own_namespace(built: None) -> Iterator[None]:
    """Move this thread to a new network namespace: interface 1 is a loopback that nobody else sees. It
    moves back after each module: the next one of this process may belong to another area."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    assert libc.unshare(_CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    yield
    assert libc.setns(home, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    os.close(home)


@pytest.fixture(scope="module")
def standing_datapath(own_namespace: None) -> Iterator[Datapath]:
    with Datapath.open(None, capacity=4096, domains=4) as opened:
        yield opened


@pytest.fixture
def datapath(standing_datapath: Datapath) -> Iterator[Datapath]:
    """Loaded once a module, not pinned; nothing attached and nothing in the tables."""
    yield standing_datapath
    for ifname in standing_datapath.attached():
        standing_datapath.detach(ifname)
    standing_datapath.change_prefixes(remove=list(standing_datapath.read_prefixes()))
    for slot in standing_datapath.read_classes():
        standing_datapath.clear_class(slot)


@pytest.fixture
def loaded(datapath: Datapath) -> Iterator[Loaded]:
    """Attached to the loopback, with descriptors of the programs and views of the maps."""
    with Loaded(datapath) as opened:
        opened.forget_flows()
        yield opened


@pytest.fixture(scope="module")
def fast_topology(own_namespace: None) -> Iterator[Topology]:
    with known_neighbours() as topology:
        yield topology


@pytest.fixture
def fast(fast_topology: Topology, datapath: Datapath) -> Iterator[Fast]:
    with fast_router(datapath) as made:
        yield made


@pytest.fixture
def pin_dir(tmp_path: Path) -> Iterator[Path]:
    """A folder on a BPF file system of its own."""
    mount = tmp_path / "bpf"
    mount_bpffs(mount)
    yield mount / "weir"
    for leftover in mount.glob("*/*"):
        leftover.unlink()
    unmount_bpffs(mount)
    shutil.rmtree(mount, ignore_errors=True)
