# SPDX-License-Identifier: Apache-2.0
"""Which names and time zones a router can have."""

from __future__ import annotations

import pytest

from weir.kinds.identity import Identity, is_host_name
from weir.model.document import Document
from weir.model.rules import validate_all
from weir.parts.naming import NAMING
from weir.parts.registry import PARTS


@pytest.mark.parametrize("name", ["a", "tower-7", "Core.example.net", "7up", "7", "a" * 63, "1.2.3.x"])
def test_a_name_of_labels_is_one(name: str) -> None:
    assert is_host_name(name)
    assert not validate_all(Document([Identity(hostname=name)]))


@pytest.mark.parametrize(
    "name",
    [
        "-a",
        "a-",
        "a..b",
        ".a",
        "a.",
        "a_b",
        "a b",
        "10.0.0.1",
        "é",
        "<script>",
        "a" * 64,
        "a.b" * 22,
        "a\u0661",
    ],
)
def test_anything_else_is_refused_at_the_field(name: str) -> None:
    (found,) = validate_all(Document([Identity(hostname=name)]))
    assert (found.severity, found.code, found.field) == ("error", "bad-host-name", "hostname")


@pytest.mark.parametrize("name", ["Europe/Berlin", "UTC", "America/Argentina/Ushuaia"])
def test_a_time_zone_of_the_tz_database_is_one(name: str) -> None:
    assert not validate_all(Document([Identity(time_zone=name)]))


@pytest.mark.parametrize(
    "name", ["Moon", "../Europe/Berlin", "/etc/passwd", "zone.tab", "Europe", "", "a" * 99]
)
def test_any_other_time_zone_is_refused_at_the_field(name: str) -> None:
    (found,) = validate_all(Document([Identity(time_zone=name)]))
    assert (found.severity, found.code, found.field) == ("error", "unknown-time-zone", "time_zone")


def test_a_notice_alone_is_no_work_for_the_kernel() -> None:
    before, after = Document([Identity()]), Document([Identity(login_banner="x", contact="y", location="z")])
    for part in PARTS:
        assert not part.delta(part.wanted(before), part.wanted(after)), part.name


def test_steps_say_the_name() -> None:
    named = NAMING.delta(None, "core")
    assert [step.text for step in NAMING.made(named)] == ["core"] and not list(NAMING.removed(named))
    assert [step.action for step in NAMING.removed(NAMING.delta("core", None))] == ["remove"]
