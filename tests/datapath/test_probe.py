# SPDX-License-Identifier: Apache-2.0
"""The probe tells what this kernel can do, with a reason, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.adapters.datapath_probe import probe
from weir.model.problem import Unavailable


def test_every_capability_has_a_verdict_and_a_reason(own_namespace: None) -> None:
    before = Path("/proc/self/net/dev").read_text()
    found = {capability.id: capability for capability in probe()}
    assert list(found) == [
        "tcx",
        "edt-pacing",
        "xdp-flow-lookup",
        "xdp-kept-routes",
        "clsact",
        "xdp-native",
        "xdp-generic",
        "vlan",
    ]
    assert all(capability.reason for capability in found.values())
    assert found["tcx"].available or found["clsact"].available
    assert [line.split(":")[0] for line in before.splitlines()] == [
        line.split(":")[0] for line in Path("/proc/self/net/dev").read_text().splitlines()
    ]


def test_a_missing_library_is_a_reason_and_not_an_accident() -> None:
    found = {capability.id: capability for capability in probe(Path("/nonexistent/libweir.so"))}
    assert not found["tcx"].available
    assert "cannot be loaded" in found["tcx"].reason


def test_a_child_that_cannot_run_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(Unavailable, match="exit status 1"):
        probe()
