# SPDX-License-Identifier: Apache-2.0
"""Statements of a RouterOS script: section headings, commands with their properties, and everything else.

`/queue simple` alone on a line opens a section; `/queue simple add name=a` and `/queue/simple/add` name the
section themselves and leave the open one as it is. `/system reboot` looks like a heading and is a command: a
path opens a section only where it can, see `_opens_section`. Commands below `/queue` and of the menus that
the reader takes are taken apart. The others may hold passwords, so nothing but their section is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from weir.formats.routeros.lexer import Script, end_of_line, end_of_statement
from weir.formats.routeros.secrets import may_be_secret

VERBS = frozenset(
    {"add", "set", "remove", "print", "export", "import", "find", "get", "move", "edit", "enable", "disable"}
    | {"unset", "comment", "monitor", "reset", "reset-counters", "reset-counters-all"}
)
QUEUE = "queue"
ROOT_MENUS = frozenset(
    {
        "caps-man",
        "certificate",
        "console",
        "container",
        "disk",
        "file",
        "interface",
        "ip",
        "ipv6",
        "log",
        "mpls",
    }
    | {"port", "ppp", "queue", "radius", "routing", "snmp", "special-login", "system", "tool", "user"}
)
"""What a command may begin with when it has neither a slash nor a section."""
ACTIONS = frozenset(
    {"apply", "backup", "cancel", "check-for-updates", "clear", "debug", "delay", "download", "error", "exec"}
    | {"execute", "fetch", "flood-ping", "info", "install", "load", "make-supout", "ping", "power-cycle"}
    | {"put", "quit", "reboot", "redo", "refresh", "renew", "release", "reset-configuration", "run", "save"}
    | {"send", "shutdown", "sign", "start", "stop", "sup-output", "traceroute", "undo", "unlock", "wake"}
    | {"warning", "wol"}
)
"""Words that act and never name a menu (RouterOS v7 manual, command lists of the menus); the list is not
complete, which is why `_opens_section` also looks at what follows."""

MAX_PATH_WORDS = 8

_WORD = re.compile(r"[ \t]*(?:/[ \t]*)?([A-Za-z][A-Za-z0-9-]*)(?=[ \t\n;/\[]|\Z)")
_BLANK = re.compile(r"[ \t\n;]*")
_BLANK_IN_LINE = re.compile(r"[ \t]*")
_NEXT_COMMAND = re.compile(r"[ \t]*/?(?:[ \t\n;]+|(?<=\n)#[^\n]*)*([A-Za-z-]+)")
_PROPERTY = re.compile(
    r"[ \t]*(?:!([A-Za-z][A-Za-z0-9.-]*)|(\.?[A-Za-z][A-Za-z0-9.-]*)="
    r'(?:"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|(?![\[({])([^ \t\n;"\\]*(?:\\.[^ \t\n;"\\]*)*)))(?=[ \t\n;]|\Z)'
)
_PLAIN = re.compile(r"[^ \t\"]*")
_FIND = re.compile(r"[ \t]*\[[ \t]*find(?:[ \t]+([a-z-]+)=(\"?)([^\"\]\n]{0,100}?)\2)?[ \t]*\]")
_NUMBER = re.compile(r"[ \t]+([0-9]{1,4})(?=[ \t\n;]|\Z)")
_FLAG = re.compile(r"[ \t]+([a-z][a-z-]{0,40}|h323)(?=[ \t\n;]|\Z)")
_QUEUE_IN_SCRIPT = re.compile(r"queue(?:\\_|[ \t\n/])*(?:simple|tree)\b")
_RATE_LIMIT = re.compile(r"\brate-limit=")
_FIRST_WORD = re.compile(r":[a-z]{1,16}\b")


@dataclass(slots=True)
class Command:
    """`properties` are raw (escaped) values by name; `unset` are the names that were given as `!name`.

    `flaw` is a code when the command cannot be read as `verb property=value ...`: `expression`
    (needs a running RouterOS), `quotes` (a string that does not close), `too-long` (a line beyond
    `MAX_LINE_BYTES`) or `words` (something else).
    """

    path: tuple[str, ...]
    verb: str
    start: int
    end: int
    properties: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    flaw: str | None = None
    script: bool = False
    queue_in_script: bool = False
    rate_limit: bool = False

    @property
    def section(self) -> str:
        """The path; of a command that is not understood only its first word, as any other may be a secret."""
        if not self.path:
            return "(no section)"
        return "/" + " ".join(self.path[:4] if self.verb or self.path[0] == QUEUE else self.path[:1])


def read_commands(script: Script, taken: Collection[tuple[str, ...]] = ()) -> Iterator[Command]:
    """Every command of the script in order; headings, comments and blank lines give nothing. Of the menus in
    `taken` the properties are read as well."""
    text = script.text
    context: tuple[str, ...] = ()
    at = 0
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string
        if at >= len(text):
            return
        if text[at] == "#":
            at = end_of_line(script, at)
            continue
        words, verb, after = _head(text, at)
        absolute = text[at] == "/"
        if words and not absolute and not context and words[0] not in ROOT_MENUS:
            words, verb, after = (), "", at
        path = words if absolute or not words else (*context, *words)
        if (
            words
            and not verb
            and (absolute or context in ((), (QUEUE,)))
            and _opens_section(text, path, after)
        ):
            context, at = path, after
            continue
        if not words:
            path = context
        command = _command(script, path, verb, at, after)
        if path in taken and verb in ("add", "set") and command.flaw is None:
            _take_apart(script, command, after)
        at = command.end
        yield command


def _head(text: str, at: int) -> tuple[tuple[str, ...], str, int]:
    """The words of the path, the verb or "", and where the arguments begin."""
    words: list[str] = []
    while len(words) < MAX_PATH_WORDS and (match := _WORD.match(text, at)) is not None:
        word = match.group(1).lower()
        at = match.end()
        if word in VERBS:
            return tuple(words), word, at
        words.append(word)
    return tuple(words), "", at


def _opens_section(text: str, path: tuple[str, ...], after: int) -> bool:
    """Whether words that stand alone are a heading, and not a command such as `/log info x`.

    What begins with a verb belongs to a section, so a heading is followed by such a command, or by nothing
    where the section is one that this reader knows.
    """
    if not _at_end(text, after) or ACTIONS.intersection(path):
        return False
    if path[0] == QUEUE:
        return True
    following = _NEXT_COMMAND.match(text, after)
    return following is not None and following.group(1).lower() in VERBS


def _at_end(text: str, at: int) -> bool:
    at = _BLANK_IN_LINE.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string
    if text.startswith("/", at):
        at += 1
    return at >= len(text) or text[at] in "\n;"


def _command(script: Script, path: tuple[str, ...], verb: str, start: int, after: int) -> Command:
    command = Command(path, verb, start, after)
    if script.is_too_long(start):
        command.end, command.flaw = max(end_of_line(script, start), start + 1), "too-long"
        return command
    if path[:1] == (QUEUE,) and verb:
        _read_properties(script, command, after)
        return command
    command.end = end_of_statement(script, start)
    if command.end == start:
        command.end += 1
    command.script = script.text[start] in ":{}"
    command.queue_in_script = _QUEUE_IN_SCRIPT.search(script.text, start, command.end) is not None
    command.rate_limit = _RATE_LIMIT.search(script.text, start, command.end) is not None
    return command


def _take_apart(script: Script, command: Command, at: int) -> None:
    """Fill in the properties of a command of another menu. `[find default-name=ether1]` before them is the
    property `find default-name`, a number there `number`, and a word alone is a property without a value.
    `remote.address=... .as=...` is how RouterOS 7 writes `remote.as` behind another property of `remote`."""
    text, before = script.text, ""
    if (found := _FIND.match(text, at)) is not None:
        at = found.end()
        command.properties[f"find {found[1] or ''}".strip()] = found[3] or ""
    elif (number := _NUMBER.match(text, at)) is not None:
        at = number.end()
        command.properties["number"] = number[1]
    while at < command.end:
        start = at
        match = _PROPERTY.match(text, at)
        if match is not None:
            at = match.end()
            unset, name, string, bare = match.groups()
            if unset is None:
                before = name = f"{before.rpartition('.')[0] or before}{name}" if name[0] == "." else name
                command.repeated += [name] if name in command.properties else []
                command.properties[name] = string if string is not None else bare
        elif (word := _FLAG.match(text, at)) is not None:
            at = word.end()
            command.properties[word[1]] = ""
        if at == start:
            break
    if text[at : command.end].strip(" \t"):
        command.flaw = "expression" if re.search(r"[\[({$]", text[at : command.end]) else "words"
        command.properties.clear()


def _read_properties(script: Script, command: Command, at: int) -> None:
    """Fill in the properties up to the end of the statement, which may be `;`."""
    text, properties = script.text, command.properties
    while (match := _PROPERTY.match(text, at)) is not None:
        unset, name, string, bare = match.groups()
        at = match.end()
        if unset is not None:
            command.unset.append(unset)
            continue
        if name in properties:
            command.repeated.append(name)
        properties[name] = string if string is not None else bare
    at = _BLANK_IN_LINE.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string
    if at >= len(text) or text[at] in "\n;":
        command.end = at
        return
    if text[at] == "#":
        command.end = end_of_line(script, at)
        return
    command.end = end_of_line(script, at)
    rest = text[at : min(command.end, at + 4096)]
    if rest[0] in "[({$" or re.match(r"[A-Za-z0-9.-]+=[\[({]", rest):
        command.flaw = "expression"
    else:
        command.flaw = "quotes" if rest.count('"') % 2 else "words"


def _shown_value(name: str, raw: str) -> str:
    if may_be_secret(name):
        return "(not shown)"
    return raw if _PLAIN.fullmatch(raw) else f'"{raw}"'


def shown_source(script: Script, command: Command, limit: int = 2000, *, whole: bool = False) -> str:
    """The command as written where it is about queues, else only what cannot hold a secret. With `whole` it
    is one whose properties are known, and those that may be secret are left out."""
    if whole:
        shown = (f"{name}={_shown_value(name, raw)}" for name, raw in command.properties.items())
        text = " ".join((command.section, command.verb, *shown))[:limit]
        return text.encode("latin-1").decode("utf-8", "replace")
    if command.path[:1] == (QUEUE,) and command.verb:
        raw = script.text[command.start : min(command.end, command.start + limit)]
        return raw.encode("latin-1").decode("utf-8", "replace")
    word = _FIRST_WORD.match(script.text, command.start)
    return f"{command.section} {word.group()} …" if word else command.section
