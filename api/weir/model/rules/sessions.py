# SPDX-License-Identifier: Apache-2.0
"""PPPoE sessions: an interface with frames to be on, and no more bytes than fit into these."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.interface import Interface
from weir.model.limits import USUAL_MTU_BYTES
from weir.model.pppoe import HEADER_BYTES, Pppoe, mtu_below
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning
from weir.model.rules.devices import frameless
from weir.model.rules.members import masters


def session_form(view: View, interface: Interface) -> Iterator[Finding]:
    session = interface.pppoe
    if session is None:
        return
    for field, is_set, why in (
        ("addresses", interface.addresses, "gets its address from the provider: give it none"),
        ("vrf", interface.vrf, "cannot be in a VRF yet"),
    ):
        if is_set:
            text = f"{interface.id} is a PPPoE session, which {why}"
            yield error("not-of-this-type", interface, field, text)
    below = view.document.interface(session.parent)
    if below is None:
        text = (
            f"{session.parent}, which is to carry the PPPoE session {interface.id}, is not configured; "
            "it needs no address and no zone, only to be there"
        )
        yield error("unknown-parent", interface, "pppoe.parent", text)
    else:
        yield from _of_parent(view, interface, below)
    if not interface.disabled:
        yield from _login(interface, session)


def _of_parent(view: View, interface: Interface, below: Interface) -> Iterator[Finding]:
    kind = "VRF" if below.vrf_table is not None else frameless(below)
    if kind:
        text = f"PPPoE session {interface.id} cannot be on {below.id}, a {kind}, which has no frames"
        yield error("not-of-this-type", interface, "pppoe.parent", f"{text}: choose a port")
        return
    for master in masters(view).get(below.id, ()):
        text = f"{below.id} belongs to {master}: put the PPPoE session {interface.id} on {master}"
        yield error("parent-is-member", interface, "pppoe.parent", text)
    yield from _mtu(interface, below)
    if below.disabled and not interface.disabled:
        text = f"PPPoE session {interface.id} is not dialled while {below.id} is disabled"
        yield warning("interface-disabled", interface, "pppoe.parent", text)


def _mtu(interface: Interface, below: Interface) -> Iterator[Finding]:
    """Without one of its own it has what fits."""
    asked, parent = interface.mtu or 0, below.mtu or USUAL_MTU_BYTES
    if asked > USUAL_MTU_BYTES:
        text = f"a PPPoE session has an MTU of {USUAL_MTU_BYTES} at most (RFC 4638), not {asked}"
        yield error("mtu-above-pppoe", interface, "mtu", text)
    elif asked > mtu_below(parent):
        text = (
            f"{interface.id} cannot have an MTU of {asked}: PPPoE adds {HEADER_BYTES} bytes, and that of "
            f"{below.id} is {parent}. Give {below.id} {asked + HEADER_BYTES} if it and the line take that"
        )
        yield error("mtu-above-parent", interface, "mtu", text)


def _login(interface: Interface, session: Pppoe) -> Iterator[Finding]:
    if not session.username:
        text = f"{interface.id} has no user name, which nearly every provider asks for"
        yield warning("no-login", interface, "pppoe.username", text)
    elif session.password is None:
        text = f"{interface.id} has no password, which nearly every provider asks for"
        yield warning("no-login", interface, "pppoe.password", text)


RULES = (Rule("session-form", "interface", session_form, all_after("interface", "interface"), True),)
