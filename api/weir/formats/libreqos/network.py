# SPDX-License-Identifier: Apache-2.0
"""`network.json`: the tree of sites and access points as queues without a target, which only limit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from weir.formats.contradictions import settle_rates
from weir.formats.draft import Draft, clean_comment, clean_name
from weir.formats.libreqos.rates import mbps_to_bps
from weir.formats.report import LineDraft, add_line, quoted
from weir.formats.text import decode, to_utf8
from weir.model.objects import ZERO, Pair
from weir.model.pair import shared_pair
from weir.model.problem import Invalid

# `downloadBandwidth` is the name of older files; the last two lines are data of the map and the integrations.
_DOWNLOAD = ("downloadBandwidthMbps", "downloadBandwidth")
_UPLOAD = ("uploadBandwidthMbps", "uploadBandwidth")
_KNOWN = frozenset({*_DOWNLOAD, *_UPLOAD, "type", "children", "virtual", "id", "name"})

MAX_NODES = 131_072
"""Sites and access points; customers are rows of ShapedDevices.csv."""
MAX_ENTRIES = 4 * MAX_NODES
MAX_NETWORK_BYTES = 32 * 2**20
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:\s*\{)?')


@dataclass(slots=True)
class _Object:
    """A JSON object in the file's order, repeated names included; `number` is the line of its name."""

    pairs: list[tuple[str, object]]
    number: int = 1

    def get(self, *names: str) -> object:
        return next((value for name, value in reversed(self.pairs) if name in names), None)


@dataclass(slots=True)
class Network:
    """`above` leads from a node's name to the queue its circuits stand under; a virtual node has none."""

    drafts: list[Draft] = field(default_factory=list)
    lines: list[LineDraft] = field(default_factory=list)
    above: dict[str, str | None] = field(default_factory=dict)
    name_by_id: dict[str, str] = field(default_factory=dict)
    silent_lines: int = 0


def read_network(file_name: str, data: bytes, network: Network) -> None:
    """Add the nodes of one file to `network`, parents first. Raises `Invalid` when it is no JSON object."""
    _check_entries(file_name, data)
    text, _ = decode(to_utf8(data))
    root = _parse(text, file_name)
    _number_lines(root, text)
    carrying: set[int] = set()
    stack = [(name, body, None) for name, body in reversed(root.pairs)]
    todo: list[tuple[str, object, str | None]] = list(stack)
    while todo:
        name, body, parent = todo.pop()
        number = body.number if isinstance(body, _Object) else 1
        carrying.add(number)
        line = LineDraft(number, number, quoted(name, 120), file_name)
        add_line(network.lines, line)
        if not isinstance(body, _Object):
            line.note("left-out", "bad-node", "A node must be an object with bandwidths and children.")
            continue
        below = _add_node(name, body, parent, line, network)
        children = body.get("children")
        if isinstance(children, _Object):
            todo.extend((child, inner, below) for child, inner in reversed(children.pairs))
            children.pairs.clear()
        elif children is not None:
            line.note("warning", "bad-children", "Its children are not an object and are left off.")
    network.silent_lines += max(0, text.count("\n") + (not text.endswith("\n")) - len(carrying))


def _check_entries(file_name: str, data: bytes) -> None:
    """Each object and entry takes memory, however short its text is. Raises `Invalid`."""
    if len(data) > MAX_NETWORK_BYTES or data.count(b"{") > MAX_NODES or data.count(b",") > MAX_ENTRIES:
        raise Invalid(
            f"{file_name} has more than {MAX_NODES} nodes, {MAX_ENTRIES} entries or "
            f"{MAX_NETWORK_BYTES // 2**20} MiB, more than a router can hold.",
            code="import-too-large",
        )


def _object(pairs: list[tuple[str, object]]) -> _Object:
    """Half of a surrogate pair (`\\ud800`) is JSON and no text: nothing could be answered that holds it."""
    return _Object(
        [(_text(name), _text(value) if isinstance(value, str) else value) for name, value in pairs]
    )


def _text(value: str) -> str:
    return value if value.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)


def _parse(text: str, file_name: str) -> _Object:
    try:
        root = json.loads(text, object_pairs_hook=_object, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise Invalid(
            f"{file_name} cannot be read as JSON: it is nested too deeply.", code="bad-json"
        ) from error
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise Invalid(f"{file_name} ends in the middle: send the whole file.", code="file-cut") from error
        raise Invalid(f"{file_name} cannot be read as JSON: {error}.", code="bad-json") from error
    if not isinstance(root, _Object):
        raise Invalid(
            f"{file_name} must hold one JSON object with the nodes of the network.", code="bad-json"
        )
    return root


def _number_lines(root: _Object, text: str) -> None:
    """Give every object that has a name the line of that name: both come in the order of the text."""
    numbers = _lines_of_names(text)
    stack: list[object] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, _Object):
            if value is not root:
                value.number = next(numbers, 1)
            stack.extend(item for _, item in reversed(value.pairs) if isinstance(item, (_Object, list)))
        elif isinstance(value, list):
            # Objects in a list have no name of their own; those inside them have.
            for item in value:
                if isinstance(item, _Object):
                    stack.extend(inner for _, inner in item.pairs if isinstance(inner, (_Object, list)))


def _lines_of_names(text: str) -> Iterator[int]:
    number = 1
    at = 0
    for match in _STRING.finditer(text):
        if match.group(1) is not None:
            number += text.count("\n", at, match.start())
            at = match.start()
            yield number


def _add_node(name: str, body: _Object, parent: str | None, line: LineDraft, network: Network) -> str | None:
    """Returns the name of the queue that the node's children and circuits stand under."""
    node_id = body.get("id")
    if isinstance(node_id, str):
        network.name_by_id.setdefault(node_id, name)
    if not name.strip():
        line.note("left-out", "unnamed", "The node has no name: its children move up.")
        return parent
    if body.get("virtual") is True:
        network.above.setdefault(name, parent)
        line.note("changed", "virtual", "A virtual node has no queue: its children and circuits move up.")
        return parent
    draft = Draft(line, clean_name(name, line), parent)
    if name in network.above:
        line.note(
            "warning", "duplicate-node", "The network has a node of this name already; circuits use that one."
        )
    network.above.setdefault(name, draft.name)
    draft.values["max_limit_bps"] = _bandwidth(body, line)
    kind = body.get("type")
    if isinstance(kind, str):
        draft.values["comment"] = clean_comment(kind, line)
    extra = sorted({key for key, _ in body.pairs} - _KNOWN)
    if extra:
        line.note("changed", "not-kept", f"Not kept: {quoted(', '.join(extra))}.")
    settle_rates(draft)
    draft.fold()
    network.drafts.append(draft)
    return draft.name


def _bandwidth(body: _Object, line: LineDraft) -> Pair[int]:
    rates = []
    for names, way in ((_UPLOAD, "upload"), (_DOWNLOAD, "download")):
        value = body.get(*names)
        try:
            rates.append(mbps_to_bps(value if isinstance(value, str) else ""))
        except ValueError as error:
            shown = f"is {quoted(value)}" if isinstance(value, str) else "is missing"
            line.note("warning", "bad-bandwidth", f"Its {way} bandwidth {shown}: {error}. It has no limit.")
            rates.append(0)
    pair = shared_pair(rates[0], rates[1])
    return pair if pair != ZERO else ZERO
