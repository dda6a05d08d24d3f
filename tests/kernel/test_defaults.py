# SPDX-License-Identifier: Apache-2.0
"""What the product's kernel is by itself: qdiscs before anybody set one, and all that the datapath needs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kernel.product import ask, needs_kernel

pytestmark = needs_kernel


@pytest.fixture(scope="module")
def found() -> Any:
    models = ("igb", "vmxnet3", "e1000e", "virtio-net-pci")
    return ask("qdiscs", options=tuple(word for model in models for word in ("--nic", model)))


def by_driver(found: Any, driver: str) -> Any:
    (device,) = (item for item in found["devices"].values() if item["driver"] == driver)
    return device


def test_fq_is_the_default_before_any_program_runs(found: Any) -> None:
    assert found["default"] == "fq"


def test_a_card_with_several_queues_gets_mq_with_fq_leaves(found: Any) -> None:
    for driver in ("igb", "vmxnet3"):
        device = by_driver(found, driver)
        assert device["qdiscs"][0] == "mq", device
        leaves = device["qdiscs"][1:]
        assert len(leaves) >= 2 and "fq" in leaves, device
        assert set(leaves) <= {"fq", "pfifo_fast"}, device


def test_a_card_with_one_queue_gets_fq(found: Any) -> None:
    for driver in ("e1000e", "virtio_net"):
        assert by_driver(found, driver)["qdiscs"] == ["fq"]


def test_virtual_devices_have_no_queue_however_many_queues_they_have(found: Any) -> None:
    virtual = {name: item["qdiscs"] for name, item in found["devices"].items() if item["driver"] is None}
    pacing = virtual.pop("vf0")
    assert pacing[0] == "mq" and set(pacing[1:]) == {"fq"}
    assert {name: kinds for name, kinds in virtual.items() if kinds != ["noqueue"]} == {}


def test_no_device_is_there_that_nobody_asked_for() -> None:
    """The image's command line (board/image/grub.cfg) says so to drivers that are built in."""
    words = "bonding.max_bonds=0 dummy.numdummies=0 ifb.numifbs=0 fb_tunnels=none"
    assert set(ask("qdiscs", options=("--append", words))["virtual_at_boot"]) == {"lo"}


def test_the_kernel_has_all_that_the_datapath_asks_for() -> None:
    refused = {name: reason for name, reason in ask("capabilities").items() if reason}
    assert refused == {}
