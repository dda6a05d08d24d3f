# SPDX-License-Identifier: Apache-2.0
"""What is said of a file as a whole: what it is instead of an export, and that it ends too early."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile

import pytest

from weir.formats import FORMATS, read
from weir.model.problem import Invalid


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("export.rsc", "/queue simple")
    return buffer.getvalue()


OTHER_KINDS = {
    "zip": (zipped(), "zip archive"),
    "gzip": (gzip.compress(b"/queue simple\n"), "gzip"),
    "bzip2": (bz2.compress(b"/queue simple\n"), "bzip2"),
    "xz": (lzma.compress(b"/queue simple\n"), "xz"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG picture"),
    "pdf": (b"%PDF-1.7\n", "PDF"),
    "html": (b"\n<!DOCTYPE html><html><body>sign in</body></html>", "web page"),
    "html-with-a-mark": (b"\xef\xbb\xbf<HTML>", "web page"),
    "html-in-utf-16": ("<html></html>".encode("utf-16"), "web page"),
    "backup": (b"\x88\xac\xa1\xb1\x00\x00", "binary backup"),
    "nothing": (b"", "is empty"),
    "blanks": (b"\xef\xbb\xbf \r\n\r\n", "is empty"),
    "zeros": (bytes(100), "is empty"),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", OTHER_KINDS)
def test_a_file_that_is_no_text_is_refused_as_what_it_is(format: str, case: str) -> None:
    data, what = OTHER_KINDS[case]
    with pytest.raises(Invalid, match=what) as refused:
        read(format, {"queues.rsc": data})
    assert refused.value.message.startswith("queues.rsc is ")


def test_one_of_several_files_is_named() -> None:
    with pytest.raises(Invalid, match=r"b\.rsc is compressed by gzip"):
        read("routeros", {"a.rsc": b"/queue simple\n", "b.rsc": gzip.compress(b"x")})


CUT = {
    "a string": ("routeros", b'/queue simple\nadd name=a\nadd name="b', "does not close"),
    "a continuation": ("routeros", b"/queue simple\nadd name=a \\\n", "backslash"),
    "a value": ("routeros", b"/queue simple\nadd name=a max-limit=10M/1", "no line end"),
    "another section": ("routeros", b'/ip address\nadd comment="a', "does not close"),
    "a script": ("routeros", b":if (true) do={\n :put 1\n", "does not close"),
    "a quoted cell": ("csv", b'name,target\na,10.0.0.1\nb,"10.0', "quote"),
    "a row": ("csv", b"name,target,comment\na,10.0.0.1,x\nb,10.0", "fewer cells"),
    "a circuit": (
        "libreqos",
        b"Circuit ID,IPv4,Download Max Mbps,Upload Max Mbps,Comment\n1,10.0.0.1,5,5,x\n2,10.0.0.2,5",
        "fewer cells",
    ),
}


@pytest.mark.parametrize("case", CUT)
def test_a_file_that_ends_in_the_middle_says_so_first(case: str) -> None:
    format, data, how = CUT[case]
    report = read(format, {"queues.rsc": data})
    found = report.findings[0]
    assert (found.severity, found.code, found.id) == ("warning", "file-cut", "queues.rsc")
    assert "ends in the middle" in found.message
    assert how in found.message


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("routeros", b"/queue simple\nadd name=a\n"),
        ("routeros", b"/queue simple\r\nadd name=a\r\n"),
        ("routeros", "/queue simple\nadd name=a\n".encode("utf-16")),
        ("routeros", b"/queue simple\nadd name=a\n# end"),
        ("csv", b"name,target\na,10.0.0.1"),
    ],
)
def test_a_whole_file_is_not_called_cut(format: str, data: bytes) -> None:
    assert read(format, {"queues.rsc": data}).findings == ()


@pytest.mark.parametrize("length", range(1, 60, 7))
def test_a_network_that_ends_in_the_middle_is_refused_as_that(length: int) -> None:
    whole = b'{"Tower": {"downloadBandwidthMbps": 1000, "type": "site"}}'
    with pytest.raises(Invalid, match="ends in the middle"):
        read("libreqos", {"network.json": whole[:length]})


@pytest.mark.parametrize("place", ["name", "type", "id", "extra"])
def test_half_of_a_surrogate_pair_becomes_text_that_can_be_answered(place: str) -> None:
    half = "x\\ud800y"
    name = half if place == "name" else "Tower"
    node = f'{{"{name}": {{"type": "{half if place == "type" else "site"}", "id": "{half}", "{half}": 1}}}}'
    report = read("libreqos", {"network.json": node.encode()})
    json.dumps([line.reason + line.source for line in report.lines], ensure_ascii=False).encode()
    for queue in report.queues:
        (queue.name + queue.comment + queue.id).encode()
