# SPDX-License-Identifier: Apache-2.0
"""Somebody takes away what limits are enforced by: for how long traffic is unlimited, and what is said of it.

The bound is 2 s on a loaded machine; the guard looks every 0.2 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from lab import netns
from tests.agent import hooks
from tests.agent.hooks import pins
from tests.agent.meter import RATE_BPS, told_since, unlimited_after
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.polling import until

PORTS, PORT_BYTES = 1024, 64
MOST_S = 2.0


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), client_queue(RATE_BPS))
        yield made


def detach_tcx(rig: Rig) -> None:
    for pin in pins(rig).glob("link-*"):
        hooks.detach(pin)


def remove_link_pins(rig: Rig) -> None:
    for pin in pins(rig).glob("link-*"):
        pin.unlink()


def remove_all_pins(rig: Rig) -> None:
    for pin in pins(rig).glob("[wl]*"):  # beside them are the kernel's own, which nobody can remove
        pin.unlink()


def remove_pin_folder(rig: Rig) -> None:
    remove_all_pins(rig)
    netns.run(["umount", "--lazy", str(pins(rig))])
    with suppress(OSError):  # busy, where the guard has already mounted it again
        pins(rig).rmdir()


def empty_port_table(rig: Rig) -> None:
    hooks.overwrite(pins(rig) / "weir_ports", 0, bytes(PORTS * PORT_BYTES))


def put_other_programs_in_the_links(rig: Rig) -> None:
    for pin in pins(rig).glob("link-*"):
        hooks.replace_program(pin)


def put_a_program_first(rig: Rig) -> None:
    """It stays, after ours."""
    for device in ("lan0", "wan0"):
        for hook in (hooks.INGRESS, hooks.EGRESS):
            hooks.attach_first(rig, device, hook)


def foreign_root(rig: Rig) -> None:
    rig.run("tc", "qdisc", "replace", "dev", "wan0", "root", "handle", "7:", "pfifo", "limit", "77")


def zero_cost(rig: Rig) -> None:
    """The class's line says unlimited; its rate, which only people read, stays."""
    line = rig.agent.call("slots")["slots"]["client"] * 2
    hooks.overwrite(pins(rig) / "weir_lines", line * 64 + 8, bytes(8))


def empty_class_table(rig: Rig) -> None:
    for slot in rig.agent.call("slots")["slots"].values():
        for line in (slot * 2, slot * 2 + 1):
            hooks.overwrite(pins(rig) / "weir_lines", line * 64, bytes(64))


HANDS: dict[str, Callable[[Rig], None]] = {
    "detached-links": detach_tcx,
    "removed-link-pins": remove_link_pins,
    "removed-pins": remove_all_pins,
    "removed-pin-folder": remove_pin_folder,
    "emptied-port-table": empty_port_table,
    "other-programs": put_other_programs_in_the_links,
    "a-program-first": put_a_program_first,
    "zero-cost": zero_cost,
    "emptied-class-table": empty_class_table,
}


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_limits_hold_again_within_two_seconds(rig: Rig, hand: Callable[[Rig], None]) -> None:
    begun_s = time.time()
    assert unlimited_after(rig, hand) <= MOST_S
    assert (pins(rig) / "weir_meta").exists()
    assert list(pins(rig).glob("link-*"))
    until("explain agrees", lambda: rig.explain("client")["agrees"])
    assert told_since(rig, begun_s)


NOBODY_MENDS = ("--guard-interval-s", "3600", "--scan-interval-s", "3600")


@pytest.fixture(scope="module")
def unguarded() -> Iterator[Rig]:
    with running(*NOBODY_MENDS) as made:
        made.commit(lan(), wan(), client_queue(RATE_BPS))
        yield made


LIES: dict[str, tuple[Callable[[Rig], None], str]] = {
    "detached-links": (detach_tcx, "programs: not in place"),
    "other-programs": (put_other_programs_in_the_links, "programs: not in place"),
    "a-program-first": (put_a_program_first, "programs: not in place"),
    "emptied-port-table": (empty_port_table, "is not attached"),
    "foreign-root-qdisc": (foreign_root, "a root qdisc that is not Weir's"),
    "zero-cost": (zero_cost, "unlimited, not what was compiled"),
}


@pytest.mark.parametrize(("hand", "words"), LIES.values(), ids=LIES)
def test_explain_does_not_agree_with_what_decides_otherwise(
    unguarded: Rig, hand: Callable[[Rig], None], words: str
) -> None:
    until("explain agrees", lambda: unguarded.explain("client")["agrees"])

    def disagreement() -> dict[str, Any] | None:
        """Done again where an event of the start just made the reconciler mend it."""
        hand(unguarded)
        found = unguarded.explain("client")
        return None if found["agrees"] else found

    try:
        explained = until("explain disagrees", disagreement)
        assert any(words in line["kernel"] for line in explained["lines"] if not line["agrees"])
    finally:
        unguarded.kill_agent()  # the next one takes over and mends what it finds
        unguarded.run("tc", "qdisc", "del", "dev", "wan0", "root") if hand is foreign_root else None
        unguarded.start_agent(*NOBODY_MENDS)


def test_a_foreign_root_qdisc_is_told_at_once_and_left_alone(rig: Rig) -> None:
    begun_s = time.monotonic()
    foreign_root(rig)
    until("it is told", lambda: any("pfifo 7:" in item["text"] for item in rig.status()["drift"]))
    told_s = time.monotonic() - begun_s
    print(f"told after {told_s:.2f} s")
    assert told_s < MOST_S
    assert rig.status()["state"] == "drift"
    assert "pfifo 7:" in rig.run("tc", "qdisc", "show", "dev", "wan0")
    rig.run("tc", "qdisc", "del", "dev", "wan0", "root")
    until("the state is well", lambda: rig.status()["state"] == "ok")
