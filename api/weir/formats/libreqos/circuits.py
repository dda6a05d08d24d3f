# SPDX-License-Identifier: Apache-2.0
"""ShapedDevices.csv: circuits, each of which may stand in several rows and hold many addresses."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from weir.formats.contradictions import settle_rates
from weir.formats.draft import Draft, clean_comment, clean_name, distinct_targets, note_repeated, read_prefix
from weir.formats.index import Index
from weir.formats.libreqos.network import Network
from weir.formats.libreqos.rates import pair_bps
from weir.formats.libreqos.rows import RATES, columns_of, header_name, named_cells
from weir.formats.records import how_cut_off, open_table, parse_cells
from weir.formats.report import LineDraft, add_line, file_finding, note_encoding, quoted
from weir.model.document import Document
from weir.model.objects import ZERO, Pair, QueueType
from weir.model.prefix import looks_like_prefix
from weir.model.problem import Finding, Invalid

_NEEDED = frozenset({"circuitid", "downloadmaxmbps", "uploadmaxmbps"})
_NO_PARENT = frozenset({"", "none"})

SQM_TYPES = {
    "cake": QueueType("cake", "cake"),
    "fq_codel": QueueType("fq-codel", "fq-codel"),
    "none": QueueType("only-hardware-queue", "none"),
}
_DEFAULT_TYPE = "default-small"


FEW = 16
"""So many addresses of a circuit's first row are part of its draft."""


class Circuits:
    """All tables of an import. `queue_types` holds those that a row asks for and the router lacks.

    A circuit is a number: that of its draft, and of the cells in its first row that every other row should
    repeat. `_more` are the addresses that its draft does not hold, in their order.
    """

    def __init__(self, network: Network, existing: Document) -> None:
        self.lines: list[LineDraft] = []
        self.findings: list[Finding] = []
        self.queue_types: dict[str, QueueType] = {}
        self._network = network
        self._existing = existing
        self._drafts = drafts = list[Draft]()
        self._by_id = Index(lambda number, circuit_id: drafts[number].key == circuit_id)
        self._owners = Index(self._has)
        self._more: dict[int, dict[str, None]] = {}
        self._plain: dict[tuple[str, ...], int] = {}
        self._plain_of = array("L")
        self._nodes = {draft.name: draft for draft in reversed(network.drafts)}

    def read_table(self, file_name: str, data: bytes) -> int:
        """Returns the number of comment and blank lines. Raises `Invalid` without a usable header."""
        table = open_table(data, _names_a_circuit, _is_comment)
        if table is None:
            raise Invalid(
                f"{file_name}: the first row must name the columns, with Circuit ID, Download Max Mbps and "
                "Upload Max Mbps among them.",
                code="no-header",
            )
        records = table.records()
        record = header = next(records)
        line = LineDraft(header.number, header.end, header.source, file_name)
        columns = columns_of(header.cells or [], line)
        note_encoding(table.lines.encoding, line)
        self.lines.append(line)
        covered = header.end - header.number + 1
        for record in records:
            covered += record.end - record.number + 1
            line = LineDraft(record.number, record.end, record.source, file_name)
            add_line(self.lines, line)
            try:
                self._row(named_cells(record, columns, table.delimiter, line), line)
            except ValueError as error:
                line.note("left-out", "bad-row", str(error))
        how = how_cut_off(record, len(columns), data)
        if how is not None:
            what = f"{file_name} ends in the middle of a row: {how}."
            self.findings.append(file_finding("file-cut", what, file_name))
        return len(table.lines) - covered

    def finish(self) -> list[Draft]:
        """Settle what only the whole tables show; the circuits that can be queues."""
        needed: dict[str, list[int]] = {}
        drafts: list[Draft] = []
        del self._owners, self._by_id, self._plain, self._plain_of
        for number, draft in enumerate(self._drafts):
            targets = [*draft.values["target"], *self._more.pop(number, ())]
            if not targets:
                for line in draft.lines:
                    line.note("left-out", "no-address", "The circuit has no usable address.")
                continue
            draft.values["target"] = distinct_targets(targets, draft.line)
            self._add_guarantee(draft, needed)
            settle_rates(draft)
            draft.fold()
            drafts.append(draft)
        self._drafts.clear()
        for name, (upload, download) in needed.items():
            node = self._nodes[name]
            limit = node.values.get("max_limit_bps", ZERO)
            if 0 < limit.upload < upload or 0 < limit.download < download:
                node.line.note(
                    "warning",
                    "minimums-above-node",
                    "The minimum rates of the circuits below it add up to more than its bandwidth.",
                )
            node.fold()
        self._nodes.clear()
        return drafts

    def _add_guarantee(self, draft: Draft, needed: dict[str, list[int]]) -> None:
        minimum = draft.values.get("limit_at_bps", ZERO)
        parent = draft.parent_name
        if parent is not None and parent in self._nodes:
            limit = self._nodes[parent].values.get("max_limit_bps", ZERO)
            if 0 < limit.upload < minimum.upload or 0 < limit.download < minimum.download:
                draft.line.note(
                    "warning", "minimum-above-parent", f"Its minimum rate is above that of {quoted(parent)}."
                )
        seen: set[str] = set()
        while parent is not None and parent in self._nodes and parent not in seen:
            seen.add(parent)
            total = needed.setdefault(parent, [0, 0])
            total[0] += minimum.upload
            total[1] += minimum.download
            parent = self._nodes[parent].parent_name

    def _row(self, cells: Mapping[str, str], line: LineDraft) -> None:
        """Raises `ValueError` with the sentence for the report."""
        circuit_id = cells.get("circuitid", "").strip()
        plain = tuple(cells.get(name, "").strip() for name in (*RATES, "parentnode", "parentnodeid", "sqm"))
        number = self._by_id.get(circuit_id) if circuit_id else None
        if number is None:
            draft = self._new_draft(circuit_id, cells, line)
            number = len(self._drafts)
            self._drafts.append(draft)
            self._plain_of.append(self._plain.setdefault(plain, len(self._plain)))
            if circuit_id:
                self._by_id.add(circuit_id, number)
            self._add_addresses(number, cells, line)
            few = len(self._more.get(number, ())) <= FEW
            draft.values["target"] = tuple(self._more.pop(number, ())) if few else ()
            draft.fold()
            return
        draft = self._drafts[number]
        draft.add_line(line)
        if self._plain.get(plain) != self._plain_of[number]:
            line.note(
                "warning",
                "rows-differ",
                f"Rates, parent and sqm of this circuit count as on line {draft.line.number}.",
            )
        self._add_addresses(number, cells, line)

    def _new_draft(self, circuit_id: str, cells: Mapping[str, str], line: LineDraft) -> Draft:
        name = cells.get("circuitname", "").strip() or circuit_id
        if not name:
            raise ValueError("The row has neither a Circuit ID nor a Circuit Name.")
        draft = Draft(line, clean_name(name, line))
        draft.values["limit_at_bps"] = _rates(cells, "min")
        draft.values["max_limit_bps"] = _rates(cells, "max")
        if not circuit_id:
            line.note("warning", "no-circuit-id", "Without a Circuit ID the row is a circuit of its own.")
        else:
            draft.key = circuit_id
        self._check_limit(draft)
        draft.parent_name = self._parent(cells, line)
        self._sqm(cells.get("sqm", ""), draft)
        comment = cells.get("comment", "").strip()
        if comment:
            draft.values["comment"] = clean_comment(comment, line)
        return draft

    def _check_limit(self, draft: Draft) -> None:
        highest = draft.values.get("max_limit_bps", ZERO)
        if not highest.upload or not highest.download:
            draft.line.note("warning", "no-limit", "A maximum of 0 means that there is no limit.")

    def _parent(self, cells: Mapping[str, str], line: LineDraft) -> str | None:
        """The name of the queue above: by node id where the file has ids, else by the node's name."""
        name = cells.get("parentnode", "").strip()
        name = self._network.name_by_id.get(cells.get("parentnodeid", "").strip(), name)
        if name.lower() in _NO_PARENT:
            return None
        if name in self._network.above:
            return self._network.above[name]
        return clean_name(name, line)

    def _sqm(self, text: str, draft: Draft) -> None:
        wanted = text.strip().lower()
        if not wanted:
            return
        download, slash, upload = (part.strip() for part in wanted.partition("/"))
        names = [
            self._sqm_type(upload if slash else download, draft.line),
            self._sqm_type(download, draft.line),
        ]
        draft.values["queue_type"] = Pair(names[0], names[1])

    def _sqm_type(self, word: str, line: LineDraft) -> str:
        if not word:
            return _DEFAULT_TYPE
        item = SQM_TYPES.get(word)
        if item is None:
            line.note(
                "warning",
                "sqm",
                f"sqm={quoted(word)} is not cake, fq_codel or none: {_DEFAULT_TYPE} is used.",
            )
            return _DEFAULT_TYPE
        if self._existing.queue_type(item.id) is None and item.type != "none":
            self.queue_types[item.id] = item
        return item.id

    def _add_addresses(self, number: int, cells: Mapping[str, str], line: LineDraft) -> None:
        """Those of one row that no other circuit has."""
        texts = f"{cells.get('ipv4', '')},{cells.get('ipv6', '')}".split(",")
        found = False
        for text in filter(None, (part.strip() for part in texts)):
            found = True
            try:
                if not looks_like_prefix(text):
                    raise Invalid(f"{quoted(text)} is not an address")
                target = read_prefix(text, line)
            except Invalid as problem:
                line.note("warning", "bad-address", f"{problem.message}: left off.")
                continue
            self._take(target, number, line)
        if not found:
            line.note("warning", "no-address", "The row has no address.")

    def _take(self, target: str, number: int, line: LineDraft) -> None:
        owner = self._owners.add(target, number)
        if owner is None:
            self._more.setdefault(number, {})[target] = None
        elif owner == number:
            note_repeated(self._drafts[number].line)
        else:
            first = self._drafts[owner].line
            line.note(
                "warning",
                "address-taken",
                f"{target} is another circuit's, which begins on line {first.number} of {first.file}: "
                "left off.",
            )

    def _has(self, number: int, target: str) -> bool:
        return target in self._more.get(number, ()) or target in self._drafts[number].target


def _rates(cells: Mapping[str, str], which: str) -> Pair[int]:
    """Raises `ValueError` that names the columns."""
    download, upload = cells.get(f"download{which}mbps", ""), cells.get(f"upload{which}mbps", "")
    if which == "min":
        download, upload = download.strip() or "0", upload.strip() or "0"
    try:
        return pair_bps(download, upload)
    except ValueError as error:
        raise ValueError(
            f"Download/Upload {which.title()} Mbps are {quoted(download)} and {quoted(upload)}: {error}."
        ) from error


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _names_a_circuit(row: str, delimiter: str) -> bool:
    return _NEEDED.issubset(map(header_name, parse_cells(row, delimiter) or ()))
