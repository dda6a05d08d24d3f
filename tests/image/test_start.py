# SPDX-License-Identifier: Apache-2.0
"""`make image-start` measures the start that GRUB makes."""

from __future__ import annotations

from pathlib import Path

from lab import image_start

GRUB = Path(__file__).resolve().parents[2] / "board/image/grub.cfg"


def test_the_kernel_is_started_with_the_words_of_grub() -> None:
    menu = GRUB.read_text(encoding="utf-8").replace("\\\n", " ")
    line = next(line for line in menu.splitlines() if line.split()[:1] == ["linux"])
    own = next(text for text in menu.splitlines() if text.startswith("set parameters="))
    line = line.replace("$parameters", own.partition("=")[2].strip('"'))
    by_grub = [word for word in line.split()[2:] if "$" not in word and not word.startswith("root=")]
    ours = [word for word in image_start.WORDS.split() if not word.startswith(("root=", "rauc.slot="))]
    assert ours == [word for word in by_grub if not word.startswith("rauc.slot=")]


def test_an_agent_behind_the_configuration_is_no_agent_that_is_well() -> None:
    agent = {"connected": True, "state": "ok", "revision": 2}
    assert image_start.runs_what_is_configured({"agent": agent, "revision": 2})
    for wrong in ({"connected": False}, {"state": "applying"}, {"revision": 1}):
        assert not image_start.runs_what_is_configured({"agent": agent | wrong, "revision": 2})
