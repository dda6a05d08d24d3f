# SPDX-License-Identifier: Apache-2.0
"""What is said of a finding to people who are not at the router: as a mail, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from weir.model.moment import moment

Json = dict[str, Any]
Event = Literal["begins", "continues", "ends", "test"]


@dataclass(frozen=True, slots=True)
class Message:
    """`summary` is one line; `text` all of it; `facts` what programs read."""

    id: str
    at_ms: int
    summary: str
    text: str
    facts: Json


def about(event: Event, finding: Json, router: str, message_id: str, at_ms: int) -> Message:
    """`finding` as `weir.diagnosis.shown` has it."""
    facts = {name: finding[name] for name in ("code", "severity", "subject", "title", "sentence")}
    facts |= {
        "since": moment(finding["since_ms"]),
        "remedies": [item["text"] for item in finding["remedies"]],
    }
    word = {"begins": finding["severity"], "continues": f"still {finding['severity']}"}.get(event, "over")
    summary = _line(f"{router}: {word}: {finding['title']} ({finding['subject']})")
    lines = [finding["sentence"], f"Since {facts['since']} ({finding['code']})."]
    if event == "ends":
        lines[1:] = [f"It began at {facts['since']} and is not seen any more ({finding['code']})."]
    elif facts["remedies"]:
        lines += ["", "What can be done:", *(f"- {text}" for text in facts["remedies"])]
    return _message(event, summary, lines, facts, router, message_id, at_ms)


def test(by: str, router: str, message_id: str, at_ms: int) -> Message:
    """One that says only that it came."""
    lines = [f"{by} asked the router to send this. Messages about findings come the same way."]
    return _message("test", _line(f"{router}: test"), lines, {}, router, message_id, at_ms)


def _message(
    event: Event, summary: str, lines: Sequence[str], facts: Json, router: str, message_id: str, at_ms: int
) -> Message:
    head = {"id": message_id, "event": event, "router": router, "at": moment(at_ms), "text": summary}
    return Message(message_id, at_ms, summary, "\n".join((*lines, "", f"-- {router}")) + "\n", head | facts)


def _line(text: str) -> str:
    """An interface's name may have any characters in it, and a mail's subject has one line."""
    return "".join(char if char.isprintable() else "?" for char in text)
