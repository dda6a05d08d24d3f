# SPDX-License-Identifier: Apache-2.0
"""Any bytes give a report or `Invalid`, in bounded time, and every line of them is accounted for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.report_json import assert_every_line_is_accounted_for, assert_objects_are_valid
from weir.formats import FORMATS, ImportReport, read
from weir.formats.libreqos.network import MAX_ENTRIES
from weir.formats.report import MAX_LINES_OF_REPORT
from weir.formats.text import MAX_FILES, MAX_IMPORT_BYTES, MAX_LINES
from weir.model.document import Document
from weir.model.problem import Invalid
from weir.model.rules import validate_all

# Fragments that lead deep into each reader when they are put together at random.
ROUTEROS = [
    "/queue simple\n", "/queue type\n", "/queue/simple add ", "/ip address\n", "add ", "set ", "name=",
    "target=", "parent=", "max-limit=", "limit-at=", "burst-limit=", "time=", "queue=", "kind=pcq ",
    "a", "b", "10M", "/", "10.0.0.1",
    "2001:db8::/32", "8h-18h", ",mon", '"', "\\", "\\\n    ", "\\C3", "\\_", "$x", " ", "\n", ";", "{", "}",
    "[", "]", "(", ")", "#", "!time", "place-before=a", "dst=", "total-max-limit=1M ", "packet-marks=x",
    "<>", "\r\n", "\x00", "é",
]  # fmt: skip
LIBREQOS = [
    "Circuit ID,Circuit Name,IPv4,IPv6,Download Max Mbps,Upload Max Mbps,Parent Node,Comment,sqm\n",
    '{"A": {"downloadBandwidthMbps": 1, "children": {"B": {}}}}', "1,", "a,", "10.0.0.1,", "10,", "0.5",
    "\n", '"', "#", ",", "cake/", "none", "{", "}", "[", ":", '"children"', '"virtual": true', "\r", "A",
    "1e5", "-1",
]  # fmt: skip
CSV = [
    "name,target,max_limit_upload_bps,time,parent,id\n", "id,name,comment,disabled,position\n", "a,", "b,",
    "10.0.0.1,", "10M,", "08:00-18:00 mon,", "\n", '"', "'", "=", ";", "\t", "yes", "1", ",,,", "\r\n",
]  # fmt: skip
FRAGMENTS = {"routeros": ROUTEROS, "libreqos": LIBREQOS, "csv": CSV}


def report_of(format: str, data: bytes, name: str = "input") -> ImportReport | None:
    try:
        report = read(format, {name: data})
    except Invalid as problem:
        assert problem.message and problem.code
        return None
    assert_objects_are_valid(report)
    if len(report.queues) <= 100:
        document = Document((*report.queue_types, *report.others, *report.queues))
        assert validate_all(document, errors_only=True) == []
    if format != "libreqos":
        assert_every_line_is_accounted_for(report, {name: data})
    return report


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.binary(max_size=400))
def test_any_bytes_give_a_report_or_invalid(format: str, data: bytes) -> None:
    report_of(format, data)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_any_mixture_of_the_formats_own_words_gives_a_report_or_invalid(
    format: str, data: st.DataObject
) -> None:
    words = data.draw(st.lists(st.sampled_from(FRAGMENTS[format]), max_size=60))
    report_of(format, "".join(words).encode())
    header = {"routeros": "/queue simple\n", "libreqos": LIBREQOS[0], "csv": CSV[0]}[format]
    assert report_of(format, (header + "".join(words)).encode()) is not None


@given(data=st.binary(max_size=200), name=st.sampled_from(["network.json", "ShapedDevices.csv"]))
def test_a_network_of_any_bytes_gives_a_report_or_invalid(data: bytes, name: str) -> None:
    report_of("libreqos", data, name)
    report_of("libreqos", b'{"A":' + data + b"}", "network.json")


MEBIBYTE = 2**20
MOST = MEBIBYTE - 100
"""Of one word: a longer command is left out before anything looks into it."""
HOSTILE = {
    "quotes": b'/queue simple\nadd name="a\n' * 20_000,
    "open-block": b":if (true) do={\n" * 20_000 + b"/queue simple\nadd name=a\n" * 1000,
    "script-quotes": b'/system script add source="\n' * 20_001,
    "backslashes": b"/queue simple\nadd name=" + b"\\\n" * 200_000,
    "even-backslashes": b"/queue simple\nadd name=" + b"\\" * MOST + b"\n",
    "one-long-name": b"/queue simple\nadd name=" + b"x" * MOST + b" target=10.0.0.1\n",
    "many-properties": b"/queue simple\nadd " + b"a=1 " * 200_000,
    "many-targets": b"/queue simple\nadd name=a target=" + b"10.0.0.1," * 100_000 + b"\n",
    "equal-names": b"/queue simple\n" + b"add name=a target=10.0.0.1/32\n" * 20_000,
    "chain": b"/queue simple\n" + b"".join(b"add name=n%d parent=n%d\n" % (n, n + 1) for n in range(20_000)),
    "circles": b"/queue simple\n" + b"".join(b"add name=n%d parent=n%d\n" % (n, n ^ 1) for n in range(9000)),
    "place-before": b"/queue simple\nadd name=a\n" + b"add name=a place-before=a\n" * 20_000,
    "words": b"/queue simple\n" + b"a " * 200_000,
    "slashes": b"/" * 200_000,
    "digits": b"/queue simple\nadd max-limit=" + b"9" * (MOST // 2) + b"M/1M time=" + b"1d" * 100_000 + b"\n",
    "unknown-properties": b"/queue simple\nadd " + b"".join(b"p%d=1 " % n for n in range(100_000)) + b"\n",
    "properties-on-lines": b"/queue simple\nadd " + b"".join(b"p%d=1 \\\n" % n for n in range(80_000)),
    "headings": b"/ip pool\n# x\n\n" * 50_000,
    "emoji-names": b"/queue simple\n" + b'add name="\xf0\x9f\x93\xa1"\n' * 6000,
}  # fmt: skip
HOSTILE_TABLES = {
    "quote-on-every-line": b'"a\n' * 50_000,
    "one-open-quote": b'x,"a\n' + b"x,y,z\n" * 50_000,
    "wide": b"a," * 300_000 + b"\n",
    "long-cell": b"a," + b"x" * (2 * MEBIBYTE) + b"\n",
    "newlines-in-cells": (b'"' + b"\n" * 5000 + b'",a\n') * 50,
}
HOSTILE_JSON = {
    "deep": b'{"a":' * 100_000,
    "deep-closed": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "brackets": b'{"a":' + b"[" * 100_000,
    "digits": b'{"a":{"downloadBandwidthMbps":' + b"9" * 100_000 + b"}}",
    "quotes": b'{"' + b'\\"' * 300_000,
    "many": b'{"a":1' + b"".join(b',"n%d":{}' % n for n in range(20_000)) + b"}",
}


def assert_quick(format: str, data: bytes, name: str = "input") -> ImportReport | None:
    """Quadratic work on a megabyte takes minutes; the bound is generous to slow machines."""
    started = time.process_time()
    report = report_of(format, data, name)
    assert time.process_time() - started < 5
    return report


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_scripts_take_linear_time(case: str) -> None:
    report = assert_quick("routeros", HOSTILE[case])
    assert report is None or all(line.code != "too-long" for line in report.lines), "nothing was read"


@pytest.mark.parametrize("case", HOSTILE_TABLES)
def test_hostile_tables_take_linear_time(case: str) -> None:
    assert_quick("csv", CSV[0].encode() + HOSTILE_TABLES[case])
    assert_quick("libreqos", LIBREQOS[0].encode() + HOSTILE_TABLES[case])


@pytest.mark.parametrize("case", HOSTILE_JSON)
def test_hostile_networks_take_linear_time(case: str) -> None:
    assert_quick("libreqos", HOSTILE_JSON[case], "network.json")


def test_an_import_has_bounds() -> None:
    with pytest.raises(Invalid, match="no file"):
        read("routeros", {})
    with pytest.raises(Invalid, match="at most"):
        read("routeros", {str(number): b"" for number in range(MAX_FILES + 1)})
    with pytest.raises(Invalid, match="MiB"):
        read("routeros", {"a": bytes(MAX_IMPORT_BYTES // 2 + 1), "b": bytes(MAX_IMPORT_BYTES // 2)})
    with pytest.raises(Invalid, match="no import format"):
        read("word", {"a": b""})
    with pytest.raises(Invalid, match="2000000 lines"):
        read("csv", {"a.csv": b"\n" * (MAX_LINES + 1)})
    with pytest.raises(Invalid, match="commands or rows"):
        read("routeros", {"a": b"/queue simple\n" + b"add\n" * (MAX_LINES_OF_REPORT + 1)})
    with pytest.raises(Invalid, match="nodes"):
        read("libreqos", {"network.json": b'{"a":[' + b"{}," * MAX_ENTRIES + b"{}]}"})
    with pytest.raises(Invalid, match="name the columns"):
        read("csv", {"a.csv": b"1,2,3\n"})
    with pytest.raises(Invalid, match="Circuit ID"):
        read("libreqos", {"a.csv": b"name,target\n"})
