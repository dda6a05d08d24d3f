# SPDX-License-Identifier: Apache-2.0
"""A reader takes at most three times the memory of its file, besides what each of its lines costs."""

from __future__ import annotations

import gc
import json
import tracemalloc

import pytest

from bench.imports import libreqos_table, routeros_export
from weir.formats import csv, read
from weir.formats.libreqos.network import MAX_ENTRIES
from weir.model.document import Document
from weir.model.problem import Invalid

MEBIBYTE = 2**20
SIZE = 6 * MEBIBYTE
PER_LINE_BYTES = 200
FIXED_BYTES = 4 * MEBIBYTE
QUEUES = 12_000
REPORT_BYTES = 600
"""A queue with its line in the report."""
WORK_BYTES = 400
NODE_BYTES = 600
"""The floors for files that describe a queue, or a node of network.json, in few bytes."""
SPARE_BYTES = MEBIBYTE
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


SITES = {
    f"site {site}": {
        "downloadBandwidthMbps": 1000,
        "uploadBandwidthMbps": 500,
        "type": "site",
        "children": {
            f"ap {site}-{ap}": {"downloadBandwidthMbps": 200, "uploadBandwidthMbps": 100} for ap in range(20)
        },
    }
    for site in range(400)
}


def exports() -> dict[str, tuple[str, dict[str, bytes]]]:
    """Files as providers have them, in each format."""
    routeros = routeros_export(QUEUES)
    table = csv.write(Document(read("routeros", {"export.rsc": routeros}).queues)).encode()
    devices = libreqos_table(QUEUES)
    network = json.dumps(SITES, indent=2).encode()
    return {
        "routeros": ("routeros", {"export.rsc": routeros}),
        "csv": ("csv", {"queues.csv": table}),
        "libreqos": ("libreqos", {"ShapedDevices.csv": devices, "network.json": network}),
        "network": ("libreqos", {"network.json": network}),
        "libreqos-twice": ("libreqos", {"a.csv": devices, "b.csv": devices}),
        "no-row-fits": ("csv", {"queues.csv": table.replace(b"/32", b"/99")}),
    }


EXPORTS = exports()


@pytest.mark.parametrize("case", EXPORTS)
def test_reading_takes_three_times_the_file_and_the_report_a_bounded_size(case: str) -> None:
    """docs/adr/0123: the file and what reading needs beside the report; and the report itself."""
    format, files = EXPORTS[case]
    size = sum(map(len, files.values()))
    read(format, {name: data[:2000] for name, data in files.items() if not name.endswith("json")} or files)
    gc.collect()
    tracemalloc.start()
    try:
        report = read(format, files)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    entries = max(len(report.lines), len(report.queues))
    assert entries > QUEUES / 4
    assert kept <= REPORT_BYTES * entries
    floor_bytes = NODE_BYTES if case == "network" else WORK_BYTES
    assert size + peak - kept <= max(3 * size, floor_bytes * entries) + SPARE_BYTES


def test_a_network_of_many_entries_is_refused_before_it_is_read() -> None:
    data = b'{"a":{' + b'"b":1,' * (MAX_ENTRIES + 1) + b'"c":1}}'
    tracemalloc.start()
    try:
        with pytest.raises(Invalid, match="more than a router can hold"):
            read("libreqos", {"network.json": data})
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak <= 2 * len(data)


def test_a_line_that_no_command_has_is_left_out_and_the_rest_is_read() -> None:
    long = b'add name=long comment="' + b"\\FF" * MEBIBYTE + b'"\n'
    data = b"/queue simple\nadd name=a target=10.0.0.1\n" + long + b"add name=b target=10.0.0.2\n"
    report = read("routeros", {"export.rsc": data})
    assert [queue.name for queue in report.queues] == ["a", "b"]
    assert [(line.number, line.code) for line in report.lines] == [(2, "ok"), (3, "too-long"), (4, "ok")]
    assert str(MEBIBYTE) in report.lines[1].reason
