# SPDX-License-Identifier: Apache-2.0
"""ShapedDevices.csv with network.json, and any further files of the two kinds, as one import.

DOWNLOAD comes first in every column and in `sqm`. Rows with the same Circuit ID are one queue. Format:
LibreQoS' documentation, `ShapedDevices.csv` and `network.json`; the legacy header lacks the node ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from weir.formats.assemble import assemble
from weir.formats.libreqos.circuits import Circuits
from weir.formats.libreqos.network import Network, read_network
from weir.formats.report import ImportReport
from weir.formats.text import to_utf8
from weir.model.document import Document


def read(files: Mapping[str, bytes], existing: Document) -> ImportReport:
    """Raises `Invalid` when network.json is no JSON object or ShapedDevices.csv has no usable header."""
    network = Network()
    tables = {name: data for name, data in files.items() if not _is_json(name, data)}
    for name in files.keys() - tables.keys():
        read_network(name, files[name], network)
    circuits = Circuits(network, existing)
    silent_lines = network.silent_lines
    for name, data in tables.items():
        silent_lines += circuits.read_table(name, data)
    drafts, lines = network.drafts, network.lines
    drafts += circuits.finish()
    lines += circuits.lines
    circuits.lines.clear()
    return assemble(
        "libreqos", drafts, circuits.queue_types, lines, existing, silent_lines, circuits.findings
    )


def _is_json(name: str, data: bytes) -> bool:
    return name.lower().endswith(".json") or to_utf8(data[:64]).lstrip()[:1] == b"{"
