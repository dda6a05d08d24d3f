# SPDX-License-Identifier: Apache-2.0
"""Files of the agent's: replaced as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.adapters import files, frr
from weir.adapters.frr import Frr
from weir.model.problem import ApplyFailed, Unavailable


@pytest.mark.parametrize("durable", [False, True])
def test_only_the_owner_reads_what_was_replaced(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "leases"
    path.write_bytes(b"old")
    path.chmod(0o644)
    files.draft_of(path).symlink_to(tmp_path / "elsewhere")  # an interrupted replacement's, or worse
    files.replace(path, b"new", durable=durable)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["leases"]


def test_what_cannot_be_replaced_stays(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    path.write_bytes(b"old")
    files.draft_of(path).mkdir()
    with pytest.raises(OSError, match=r"leases\.new"):
        files.replace(path, b"new")
    assert path.read_bytes() == b"old"


def test_routes_that_cannot_be_written_for_frr_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ApplyFailed, match=r"gone/routes\.conf: the routes for FRR cannot") as caught:
        Frr(tmp_path, tmp_path / "gone").check(["ip route 10.0.0.0/8 blackhole"])
    assert caught.value.code == "frr-file"


def test_vtysh_has_longer_for_a_file_of_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"ip route 10.{n}.0.0/16 blackhole" for n in range(60)]
    monkeypatch.setattr(frr, "_TIMEOUT_S", 0.001)
    with pytest.raises(Unavailable):
        Frr(tmp_path, tmp_path).check(lines)
    monkeypatch.setattr(frr, "_PER_LINE_S", 1.0)
    Frr(tmp_path, tmp_path).check(lines)
