# SPDX-License-Identifier: Apache-2.0
"""Rules that compare addresses keep to one domain."""

from __future__ import annotations

from dataclasses import replace

from weir.kinds.static_route import StaticRoute
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import Queue
from weir.model.rules import validate, validate_all


def test_networks_of_two_domains_do_not_overlap_and_both_have_gateways() -> None:
    document = Document(
        [
            Interface("lan0", "lan", ("10.0.0.1/29",)),
            Interface("lan1", "lan", ("10.0.0.1/29", "10.1.0.1/29"), domain=2),
            StaticRoute("r", "10.9.0.0/16", gateway="10.1.0.2"),
        ]
    )
    assert not {"overlapping-networks", "gateway-unreachable"} & {f.code for f in validate_all(document)}


def test_a_target_in_a_domain_without_interface_matches_nothing_and_says_so() -> None:
    queue = Queue("q", "q", ("10.0.0.0/24", "10.0.0.0/24@2", "10.0.1.0/24@2"))
    lan = Interface("lan1", "lan", domain=2)
    said = [f for f in validate_all(Document([queue, lan])) if f.code == "unknown-domain"]
    assert said == []
    without = Document([queue, replace(lan, disabled=True)])
    said = [f for f in validate_all(without) if f.code == "unknown-domain"]
    assert [finding.id for finding in said] == ["q"]
    assert "10.0.0.0/24@2" in said[0].message
    changed = validate(without, [Change("interface", "lan1", lan, replace(lan, disabled=True))])
    assert said[0] in changed


def test_a_child_in_another_domain_is_outside_its_parent() -> None:
    parent = Queue("p", "p", ("10.0.0.0/24",))
    child = Queue("c", "c", ("10.0.0.5/32@2",), parent="p")
    lan = Interface("lan1", "lan", domain=2)
    found = [f for f in validate_all(Document([parent, child, lan])) if f.code == "child-outside-parent"]
    assert [finding.id for finding in found] == ["c"]


def test_the_same_target_in_two_domains_shadows_nobody() -> None:
    queues = [Queue("a", "a", ("10.0.0.0/24",)), Queue("b", "b", ("10.0.0.0/24@2",))]
    found = validate_all(Document([*queues, Interface("lan1", "lan", domain=2)]))
    assert not [finding for finding in found if finding.code == "shadowed"]
