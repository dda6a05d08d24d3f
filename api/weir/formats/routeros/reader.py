# SPDX-License-Identifier: Apache-2.0
"""RouterOS exports (`/export`, v3 to v7; compact, terse or verbose) as an import.

Commands are read, never run: what only a running RouterOS could evaluate (`find`, variables, scripts) is
listed in the report. The order of the queues is the order of the file, but for `place-before`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from weir.formats.assemble import assemble
from weir.formats.contradictions import settle_rates
from weir.formats.draft import Draft
from weir.formats.report import ImportReport, LineDraft, add_line, file_finding, note_encoding, quoted
from weir.formats.routeros.commands import QUEUE, Command, read_commands, shown_source
from weir.formats.routeros.lexer import Script, is_plain, join_lines, names_a_variable, unescape
from weir.formats.routeros.menus import BY_PATH, read_rows
from weir.formats.routeros.menus.fates import why_not_taken
from weir.formats.routeros.menus.lacks import say_what_rules_lack
from weir.formats.routeros.menus.lease_queues import LAST, queues
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.settle import settled
from weir.formats.routeros.menus.table import Menu
from weir.formats.routeros.queue_types import read_queue_type
from weir.formats.routeros.simple import read_queue
from weir.formats.text import MAX_LINE_BYTES, has_last_line_end, to_utf8
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.model.document import Document
from weir.model.objects import ConfigObject, QueueType
from weir.model.problem import Finding

_SIMPLE, _TYPE, _TREE = (QUEUE, "simple"), (QUEUE, "type"), (QUEUE, "tree")

_FLAWS = {
    "expression": "Only a running RouterOS can evaluate it.",
    "quotes": "A string in it does not close on this line.",
    "words": "It holds something that is not a property=value.",
    "too-long": f"It has more than {MAX_LINE_BYTES} bytes, which no command has.",
}
_UNKNOWN_MENU = "Weir does not know this menu."
_QUEUE_TREE = (
    "Queue trees select packets by mark in one direction; Weir has no counterpart. "
    "Describe the same limit as a queue with a target."
)
_NAMING = frozenset(("target", "target-addresses", "dst", "interface"))
"""Properties of queues that may name interfaces."""
_READ_ONLY = frozenset({"print", "export", "find", "get", "monitor"})


def read(files: Mapping[str, bytes], existing: Document) -> ImportReport:
    """Several files are read one after the other, as if they were one."""
    work = _Import(existing)
    silent_lines = 0
    for name, data in files.items():
        silent_lines += work.read_file(name, data)
    others: list[ConfigObject] = []
    if work.router.rows:
        read_rows(work.router)
        others = settled(work.router)
        work.add_queues_of_leases(others)
        say_what_rules_lack(work.router)
    return assemble(
        "routeros",
        work.ordered(),
        work.queue_types,
        work.lines,
        existing,
        silent_lines,
        (*work.findings, *work.router.findings),
        others,
    )


class _Import:
    """What has been read so far. `queue_types` is keyed by the name in the file."""

    def __init__(self, existing: Document) -> None:
        self._existing = existing
        self.router = Router(existing)
        self.lines: list[LineDraft] = []
        self.findings: list[Finding] = []
        self._run: tuple[str, str] | None = None
        self.queue_types: dict[str, QueueType] = {}
        self._drafts: list[Draft] = []
        self._names: set[str] = set()
        self._before: dict[str, list[Draft]] = {}
        self._type_ids: set[str] = set()
        self._unnamed = 0

    def read_file(self, name: str, data: bytes) -> int:
        """Returns the number of physical lines without a command."""
        script = join_lines(to_utf8(data))
        carrying = covered_to = 0
        command: Command | None = None
        self._run = None
        for command in read_commands(script, BY_PATH):
            number, end = script.span(command.start, command.end)
            carrying += max(0, end - max(covered_to, number - 1))
            covered_to = max(covered_to, end)
            menu = BY_PATH.get(command.path) if command.verb else None
            is_whole = menu is not None and not menu.is_opaque and command.flaw is None
            line = LineDraft(number, end, shown_source(script, command, whole=is_whole), name)
            if command.path[:1] == (QUEUE,) and command.verb:
                self._run = None
                add_line(self.lines, line)
                self._queue_command(script, command, line)
            elif menu is not None:
                self._run = None
                add_line(self.lines, line)
                self._menu_command(menu, command, line)
            else:
                self._other_command(command, line)
        if command is not None and covered_to == script.physical_lines:
            self._look_at_end(name, script, command, complete=has_last_line_end(data))
        return script.physical_lines - carrying

    def _other_command(self, command: Command, line: LineDraft) -> None:
        """A run of commands of one section that are left out for one reason is one line of the report."""
        code, reason = _other(command)
        last = self.lines[-1] if self.lines else None
        if last is not None and self._run == (code, line.source) and line.number <= last.end + 1:
            last.take_in(line)
            return
        self._run = (code, line.source)
        line.note("left-out", code, reason)
        add_line(self.lines, line)

    def _look_at_end(self, name: str, script: Script, command: Command, *, complete: bool) -> None:
        """Say so when the file ends within `command`, its last one: the rest of the router may be missing."""
        if script.continues:
            how = "its last line ends with a backslash, and nothing follows"
        elif command.flaw == "quotes" or not script.blocks_close:
            how = "a string or block in it does not close"
        elif not complete and command.path[:1] == (QUEUE,) and command.verb:
            how = "its last line has no line end, which an export always has"
        else:
            return
        self.findings.append(
            file_finding("file-cut", f"{name} ends in the middle of a command: {how}.", name)
        )
        self.lines[-1].note(
            "warning", "file-cut", "The file ends here: check the last values, or send it whole."
        )

    def ordered(self) -> list[Draft]:
        """Drafts in list order: `place-before` puts a queue right before the one it names."""
        if not self._before:
            return self._drafts
        ordered: list[Draft] = []
        stack = [(draft, False) for draft in reversed(self._drafts)]
        while stack:
            draft, ready = stack.pop()
            before = self._before.pop(draft.name, None) if not ready else None
            if before:
                stack.append((draft, True))
                stack.extend((item, False) for item in reversed(before))
            else:
                ordered.append(draft)
        self._drafts.clear()
        return ordered

    def _queue_command(self, script: Script, command: Command, line: LineDraft) -> None:
        if command.path == _TREE:
            line.note("left-out", "queue-tree", _QUEUE_TREE)
        elif command.path not in (_SIMPLE, _TYPE):
            line.note("left-out", "section", f"Weir has no counterpart to {command.section}.")
        elif _can_be_read(command, ("add",), line):
            self._add(command, line)

    def _menu_command(self, menu: Menu, command: Command, line: LineDraft) -> None:
        try:
            if _can_be_read(command, menu.verbs, line):
                self.router.add(menu, command.verb, _decoded(command, line), line)
                return
        except ValueError as error:
            line.note("left-out", "bad-value", str(error))
        if menu.lose is not None and command.verb not in _READ_ONLY:
            self.router.lost.setdefault(menu.path, []).append((command.verb, _known_of(command)))

    def _add(self, command: Command, line: LineDraft) -> None:
        try:
            properties = _decoded(command, line)
            for key in _NAMING.intersection(properties):
                self._use_kernel_names(properties, key, line)
            if command.path == _TYPE:
                self._add_type(properties, line)
            else:
                self._add_queue(properties, line)
        except ValueError as error:
            line.note("left-out", "bad-value", str(error))

    def _use_kernel_names(self, properties: dict[str, str], key: str, line: LineDraft) -> None:
        written = properties[key]
        properties[key] = self.router.kernel_names(written)
        if properties[key] != written:
            line.note("changed", "interface-name", f"{key}={quoted(written)} is {properties[key]} here.")

    def _add_type(self, properties: Mapping[str, str], line: LineDraft) -> None:
        name = properties.get("name", "")
        if not name:
            raise ValueError("A queue type needs a name.")
        self.queue_types[name] = read_queue_type(name, properties, line, self._type_ids, self._existing)

    def _add_queue(self, properties: Mapping[str, str], line: LineDraft) -> None:
        name = properties.get("name", "")
        if not name.strip():
            self._unnamed += 1
            name = f"queue{self._unnamed}"
            line.note("changed", "unnamed", f"It has no name: it became {name}.")
        draft = read_queue(name, properties, line)
        if draft.values.get("dst") and not draft.values.get("target"):
            line.note(
                "warning",
                "direction-ambiguous",
                "With a destination but no target it is not certain which traffic is upload: set a target.",
            )
        place = properties.get("place-before")
        if place is not None and place in self._names:
            self._before.setdefault(place, []).append(draft)
        else:
            if place is not None:
                line.note(
                    "warning",
                    "place-before",
                    f"No queue {quoted(place)} so far: it stands at the end of the list.",
                )
            self._drafts.append(draft)
        self._names.add(draft.name)
        settle_rates(draft)
        draft.fold()

    def add_queues_of_leases(self, others: Collection[ConfigObject]) -> None:
        """Those that RouterOS makes of static leases, first in the list unless the file says where."""
        if not self.router.limited:
            return
        off = {item.id: item.disabled for item in others if isinstance(item, DhcpReservation)}
        taken = {target for draft in self._drafts for target in draft.target}
        taken.update(target for drafts in self._before.values() for one in drafts for target in one.target)
        first: list[Draft] = []
        made = queues(self.router.limited, self.router.place_of_queues, off.get, taken, self._existing)
        for draft, place in made:
            if place in self._names:
                self._before.setdefault(place, []).append(draft)
            else:
                (self._drafts if place == LAST else first).append(draft)
            settle_rates(draft)
            draft.fold()
        self._drafts[:0] = first


def _can_be_read(command: Command, verbs: Collection[str], line: LineDraft) -> bool:
    """Whether the file alone says what a command does; why not is said on its line."""
    if command.verb in _READ_ONLY:
        line.note("left-out", "no-change", f"{command.verb} changes nothing.")
    elif command.verb not in verbs:
        line.note("left-out", "not-evaluated", _change_reason(command))
    elif command.flaw is not None:
        line.note("left-out", command.flaw, _FLAWS[command.flaw])
    elif "copy-from" in command.properties:
        line.note("left-out", "expression", "copy-from needs what the router has at present.")
    else:
        return True
    return False


def _decoded(command: Command, line: LineDraft) -> dict[str, str]:
    """Property values as text. Raises `ValueError` where a value needs a running RouterOS."""
    properties: dict[str, str] = {}
    for key, raw in command.properties.items():
        if is_plain(raw):
            properties[key.lower()] = raw
            continue
        if names_a_variable(raw):
            raise ValueError(f"{key} holds a script variable, which only a running RouterOS can evaluate.")
        properties[key.lower()], encoding = unescape(raw)
        note_encoding(encoding, line, key)
    for key in dict.fromkeys(command.repeated):
        line.note("warning", "repeated-property", f"{key} is given twice: the last value counts.")
    return properties


def _known_of(command: Command) -> dict[str, str]:
    """The values of a command that can be known although it is left out as a whole."""
    known = {key.lower(): raw for key, raw in command.properties.items() if not names_a_variable(raw)}
    return {key: unescape(raw)[0] for key, raw in known.items()}


def _other(command: Command) -> tuple[str, str]:
    """Code and reason of a command outside of the queue sections."""
    if command.queue_in_script:
        return (
            "queue-in-script",
            "A script in it works on queues. Scripts are not run: queues that it makes are not imported.",
        )
    if command.rate_limit:
        return (
            "dynamic-queue",
            "Its rate-limit makes dynamic queues for logins or leases; those are in no export.",
        )
    if command.script:
        return "script", "Scripts are not run: whatever it would add is not imported."
    if command.path[:1] == (QUEUE,):
        return "words", _FLAWS["words"]
    if command.flaw == "too-long":
        return "too-long", _FLAWS["too-long"]
    if not command.path:
        return "no-section", "It is not in any section, so it is not known what it is."
    return "other-section", why_not_taken(command.path) or _UNKNOWN_MENU


def _change_reason(command: Command) -> str:
    if command.verb in ("remove", "disable", "enable", "move"):
        return f"{command.verb} works on what the router has now. An import adds and updates only."
    return "It changes something that the router has already, which the file does not show."
