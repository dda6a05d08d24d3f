# SPDX-License-Identifier: Apache-2.0
"""What the agent's states mean to the operator."""

from __future__ import annotations

_STATES = {
    "ok": ("ok", "The agent answers and the kernel agrees with the configuration."),
    "applying": ("ok", "The agent is applying a change."),
    "starting": ("warning", "The agent is starting."),
    "drift": ("warning", "Somebody changed the kernel; the agent is repairing it."),
    "held": (
        "failed",
        "The database cannot be read, or does not have what the router ran last. The last good "
        "configuration goes on running.",
    ),
    "failed": ("failed", "The agent could not bring the kernel to the configuration; see its log."),
}


def meaning(state: str) -> tuple[str, str]:
    """How bad it is (`ok`, `warning`, `failed`), and a sentence."""
    return _STATES.get(state, ("warning", f"The agent says {state!r}."))
