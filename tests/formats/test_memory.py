# SPDX-License-Identifier: Apache-2.0
"""A reader takes at most three times the memory of its file, besides what each of its lines costs."""

from __future__ import annotations

import tracemalloc

import pytest

from weir.formats import read
from weir.model.problem import Invalid

MEBIBYTE = 2**20
SIZE = 6 * MEBIBYTE
PER_LINE_BYTES = 200
FIXED_BYTES = 4 * MEBIBYTE
HEADER = "Circuit ID,Circuit Name,IPv4,Download Max Mbps,Upload Max Mbps,Comment\n"


def filled(start: bytes, piece: bytes, end: bytes = b"\n") -> bytes:
    return start + piece * (SIZE // len(piece)) + end


FILES = {
    "escapes-in-a-comment": ("routeros", filled(b'/queue simple\nadd name=a comment="', b"\\FF", b'"\n')),
    "escapes-on-many-lines": (
        "routeros",
        filled(b'/queue simple\nadd name=a comment="', b"\\FF" * 300 + b"\\\n", b'"\n'),
    ),
    "escapes-elsewhere": ("routeros", filled(b'/ip address\nadd comment="', b"\\FF", b'"\n')),
    "escapes-in-a-script": ("routeros", filled(b':if (true) do={ x "', b'\\"', b"\n}\n")),
    "properties": ("routeros", filled(b"/queue simple\nadd ", b"a=1 ")),
    "one-word": ("routeros", filled(b"/queue simple\nadd name=", b"x")),
    "blank-lines": ("routeros", filled(b"/queue simple\n", b" " * 59 + b"\n")),
    "emoji-cell": ("csv", filled(b'name,comment\na,"', "\N{BEER MUG}x".encode(), b'"\n')),
    "emoji-rows": ("csv", filled(b"name,comment\n", "\N{BEER MUG}".encode() + b"," + b"x" * 250_000 + b"\n")),
    "cells": ("libreqos", filled(HEADER.encode(), b"a,")),
    "circuit-comment": ("libreqos", filled(HEADER.encode() + b"1,a,10.0.0.1,1,1,", b"c")),
}


@pytest.mark.parametrize("case", FILES)
def test_a_reader_takes_at_most_three_times_its_file(case: str) -> None:
    format, data = FILES[case]
    lines = data.count(b"\n")
    tracemalloc.start()
    try:
        read(format, {"input": data})
    except Invalid as problem:
        pytest.fail(f"refused, so nothing was measured: {problem.message}")
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # The file itself was there before.
    assert peak <= 2 * len(data) + lines * PER_LINE_BYTES + FIXED_BYTES


def test_a_line_that_no_command_has_is_left_out_and_the_rest_is_read() -> None:
    long = b'add name=long comment="' + b"\\FF" * MEBIBYTE + b'"\n'
    data = b"/queue simple\nadd name=a target=10.0.0.1\n" + long + b"add name=b target=10.0.0.2\n"
    report = read("routeros", {"export.rsc": data})
    assert [queue.name for queue in report.queues] == ["a", "b"]
    assert [(line.number, line.code) for line in report.lines] == [(2, "ok"), (3, "too-long"), (4, "ok")]
    assert str(MEBIBYTE) in report.lines[1].reason
