# SPDX-License-Identifier: Apache-2.0
"""The machine as a whole, through systemd."""

from __future__ import annotations

from weir.adapters.process import run


def restart() -> None:
    """Stop everything in order and start again. Raises `ApplyFailed`, `Unavailable`."""
    run(["systemctl", "reboot"])


def power_off() -> None:
    """Stop everything in order and switch off. Raises `ApplyFailed`, `Unavailable`."""
    run(["systemctl", "poweroff"])
