# SPDX-License-Identifier: Apache-2.0
"""Lists of interfaces and addresses: what is in them, what they are called, and what is said where some is lost."""

from __future__ import annotations

from tests.formats.routeros import import_of, of_kind


def test_a_disabled_range_of_addresses_has_no_prefix_in_force() -> None:
    text = "/ip firewall address-list\nadd list=admins address=10.0.0.1-10.0.0.9 disabled=yes\n"
    entries = of_kind(import_of(text), "set-entry")
    assert len(entries) == 4
    assert all(entry["disabled"] for entry in entries)
    entries = of_kind(import_of(text + "add list=admins address=10.0.0.1\n"), "set-entry")
    assert [entry["value"] for entry in entries if not entry.get("disabled")] == ["10.0.0.1/32"]
