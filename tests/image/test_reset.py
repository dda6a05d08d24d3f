# SPDX-License-Identifier: Apache-2.0
"""A factory reset that the power cuts, command by command: the start after that ends it.

The real functions of the image's script, on a folder; tests/vm runs the whole script on a partition.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "board/overlay/usr/libexec/weir/data"
INTERRUPTED = 9


def functions() -> str:
    text = SCRIPT.read_text(encoding="utf-8")
    found = re.findall(
        r"^(?:report|reset|put_aside|write_request)\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL
    )
    assert len(found) == 4
    return "\n".join(found).replace("/dev/kmsg", "/dev/null")


def run(folder: Path, commands: str) -> int:
    script = f"data={folder}/data; run={folder}; request=$data/factory-reset\n{functions()}\n{commands}\n"
    return subprocess.run(["bash", "-uo", "pipefail", "-c", script], check=False).returncode


def fill(data: Path) -> None:
    for name in (
        "lib/weir/weir.db",
        "lib/weir-tls/weir.pem",
        "log/weir.log",
        "rauc/status",
        "zone/localtime",
    ):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(name)


def left(data: Path) -> list[str]:
    return sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())


KEPT = ["kept/weir-tls/weir.pem", "kept/weir/weir.db", "log/weir.log", "rauc/status"]


@pytest.mark.parametrize(("mode", "wanted"), [("keep", KEPT), ("wipe", ["rauc/status"])])
def test_whatever_was_done_when_the_power_went_the_next_start_ends_it(
    tmp_path: Path, mode: str, wanted: list[str]
) -> None:
    interrupted = 0
    for after in range(20):
        folder = tmp_path / str(after)
        fill(folder / "data")
        assert run(folder, f"write_request {mode}") == 0
        trap = f"set -T; n=0; trap '[ $((n += 1)) -gt {after + 1} ] && exit {INTERRUPTED}' DEBUG"
        interrupted += run(folder, f"{trap}; reset") == INTERRUPTED
        assert run(folder, "reset; true") == 0
        assert left(folder / "data") == wanted, after
    assert 5 < interrupted < 20, "it was cut at each command, and went through at the end"


def test_without_a_request_nothing_is_touched(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    before = left(tmp_path / "data")
    run(tmp_path, "reset")
    (tmp_path / "data/factory-reset").write_text("something else\n")
    run(tmp_path, "reset")
    assert left(tmp_path / "data") == ["factory-reset", *before]


def test_of_two_resets_that_keep_the_last_configuration_is_kept(tmp_path: Path) -> None:
    for name in ("first", "second"):
        fill(tmp_path / "data")
        (tmp_path / "data/lib/weir/weir.db").write_text(name)
        run(tmp_path, "write_request keep; reset")
    assert (tmp_path / "data/kept/weir/weir.db").read_text() == "second"


@pytest.mark.parametrize(("mode", "refusing"), [("keep", "mv"), ("wipe", "find")])
def test_a_reset_that_the_disk_refuses_is_no_reset_and_is_tried_again(
    tmp_path: Path, mode: str, refusing: str
) -> None:
    fill(tmp_path / "data")
    before = left(tmp_path / "data")
    refused = f'{refusing}() {{ return 1; }}; reset; [ "$state" = not-reset ]'
    assert run(tmp_path, f"write_request {mode}") == 0
    assert run(tmp_path, refused) == 0
    assert left(tmp_path / "data") == sorted(["factory-reset", *before])
    assert run(tmp_path, 'reset; [ "$state" = reset ]') == 0
