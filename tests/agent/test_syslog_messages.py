# SPDX-License-Identifier: Apache-2.0
"""What becomes of the journal's entries on their way to a server of logs, and what waits meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weir.courier.rfc5424 import framed, message_of
from weir.courier.syslog import Waiting


def test_what_finds_no_room_is_counted_the_oldest_first() -> None:
    waiting = Waiting(100)
    for number in range(20):
        waiting.put(b"%010d" % number)
    assert (len(waiting), waiting.lost, waiting.first()) == (10, 10, b"%010d" % 10)


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"MESSAGE": "a\nb\x1b[0m"}, "<30>1 2027-01-15T08:00:00.000000Z r - - - - a b [0m"),
        (
            {"MESSAGE": [104, 105, 255]},
            "<30>1 2027-01-15T08:00:00.000000Z r - - - - hi\N{REPLACEMENT CHARACTER}",
        ),
        ({"MESSAGE": None, "PRIORITY": "9"}, "<30>1 2027-01-15T08:00:00.000000Z r - - - - "),
        (
            {"MESSAGE": "x", "PRIORITY": "3", "SYSLOG_FACILITY": "0", "_COMM": "a b", "_PID": "1"},
            "<3>1 2027-01-15T08:00:00.000000Z r a?b 1 - - x",
        ),
    ],
)
def test_an_entry_of_the_journal_becomes_a_message(entry: dict[str, Any], wanted: str) -> None:
    line = json.dumps({"__REALTIME_TIMESTAMP": "1800000000000000", **entry}).encode()
    assert (message_of(line, None, "r", 2048) or b"").decode() == wanted


def test_a_long_message_is_cut_between_characters() -> None:
    entry = {"__REALTIME_TIMESTAMP": "1800000000000000", "MESSAGE": "ü" * 5000}
    message = message_of(json.dumps(entry).encode(), None, "r", 2048)
    assert message is not None and 2046 <= len(message) <= 2048 and message.decode().endswith("ü")
    assert framed(b"abc") == b"3 abc"
    assert message_of(b"no entry", None, "r", 2048) is None


def test_what_is_under_way_waits_again_before_the_others() -> None:
    waiting = Waiting(100)
    for number in range(5):
        waiting.put(b"%010d" % number)
    waiting.take()
    waiting.take()
    assert (len(waiting), waiting.total, waiting.under_way_bytes) == (3, 5, 20)
    waiting.again()
    assert (waiting.first(), waiting.total, waiting.under_way_bytes) == (b"%010d" % 0, 5, 0)
    waiting.take()
    for number in range(5, 20):
        waiting.put(b"%010d" % number)
    assert (waiting.arrived(), waiting.lost, waiting.first()) == (1, 10, b"%010d" % 11)
    assert (waiting.arrived(), waiting.total) == (0, 9)
