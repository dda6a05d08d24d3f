# SPDX-License-Identifier: Apache-2.0
"""Fields and values in diffs: by their declared names, with their units."""

from __future__ import annotations

import pytest

from weir.cli import output
from weir.http import forms
from weir.kinds import DECLARED
from weir.kinds.words import label_of, value_text


@pytest.mark.parametrize(
    "kind, path, said",
    [
        ("queue", "max_limit_bps.upload", "Max limit, upload"),
        ("queue", "burst_time_ms", "Burst time"),
        ("interface", "vrf_table", "VRF table"),
        ("static-route", "vrf", "VRF"),
        ("firewall-rule", "not_declared_per_s", "Not declared per second"),
        ("firewall", "allowed_wan_tcp_ports", "Open TCP ports"),
    ],
)
def test_a_field_is_called_by_its_label_or_its_name_without_unit(kind: str, path: str, said: str) -> None:
    assert label_of(kind, path) == said


@pytest.mark.parametrize(
    "path, value, said",
    [
        ("wait_p50_us", 20.5, "20.5 µs"),
        ("wait_most_us", 4025.9, "4.03 ms"),
        ("max_limit_bps.upload", 5_000_000, "5M"),
        ("max_limit_bps.upload", 0, "unlimited"),
        ("limit_at_bps.upload", 0, "none"),
        ("total.burst_time_ms", 90_000, "1m30s"),
        ("overhead_bytes", 14, "14 bytes"),
        ("max_limit_bps", {"upload": 1_500_000, "download": 0}, "upload 1500k, download unlimited"),
        ("addresses", ["10.0.0.1/24", "10.0.1.1/24"], "10.0.0.1/24, 10.0.1.1/24"),
        ("addresses", [], "none"),
        ("gateway", None, "none"),
        ("disabled", True, "yes"),
        ("distance", 7, "7"),
        ("rate_per_s", 100, "100"),
        ("lasts_s", 100, "1m40s"),
    ],
)
def test_a_value_has_the_unit_that_its_name_says(path: str, value: object, said: str) -> None:
    assert value_text(path, value) == said


def test_a_diff_on_the_command_line_has_names_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    field = {"field": "max_limit_bps.upload", "old": 3_000_000, "new": 5_000_000}
    change = {"kind": "queue", "id": "q1", "name": "anna", "action": "change", "fields": [field]}
    output.diff({"changes": [change], "total": 1})
    assert "Max limit, upload: 3M -> 5M" in capsys.readouterr().out


@pytest.mark.parametrize("kind", DECLARED)
def test_what_a_declaration_names_is_among_its_fields(kind: str) -> None:
    declared = DECLARED[kind]
    names = {"id", *(member.name for member in declared.members)}
    assert names.isdisjoint(declared.state)
    if declared.one_of is not None:
        names.add(declared.one_of.discriminator)
    conditions = {member.field.when.field for member in declared.members if member.field.when}
    assert {declared.named_by, *conditions} <= names
    assert set(declared.columns) <= names | declared.state.keys()


@pytest.mark.parametrize("kind", DECLARED)
def test_every_field_of_a_form_has_its_help(kind: str) -> None:
    assert [field["name"] for field in forms.described()[kind]["fields"] if not field.get("help")] == []
