# SPDX-License-Identifier: Apache-2.0
"""The router that an export describes, while it is read: objects as JSON, and the lines they are from."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

from weir.formats.identity import IdAllocator, slug
from weir.formats.report import LineDraft, file_finding, quoted
from weir.formats.routeros.menus.lease_queues import FIRST, Limited, Place
from weir.formats.routeros.menus.table import Menu, Row
from weir.kinds.firewall_rule import BUILT_IN
from weir.model.codec import to_stored_json
from weir.model.document import Document
from weir.model.limits import INTERFACE_ID
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding, Invalid

T = TypeVar("T")
Item = TypeVar("Item", bound=ConfigObject)
Json = dict[str, Any]
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
MAX_NAME_CHARS = 15
MAX_NESTED_LISTS = 16
CHAIN = "chain"
"""What chains are called is no object, and given out as ids are."""
_PORT = re.compile(r"(?:ether|sfp|qsfp|combo|eth|en)[A-Za-z0-9.-]{0,12}", re.ASCII)
"""What ports are called that nobody renamed: an export does not list them."""
_RADIO = re.compile(r"(?:wlan|wifi)[0-9]{1,3}", re.ASCII)


class Wanted:
    """An object that the file describes, and every line that has a part in it."""

    __slots__ = ("body", "id", "kind", "lines")

    def __init__(self, kind: Kind, object_id: str, body: Json) -> None:
        self.kind, self.id, self.body = kind, object_id, body
        self.lines: dict[LineDraft, None] = {}

    def of(self, line: LineDraft) -> Wanted:
        """The same, with one more line that is about it."""
        if line not in self.lines:
            self.lines[line] = None
            line.object_id = self.id
        return self

    def also_of(self, line: LineDraft) -> Wanted:
        """The same, with a line that is about something else first, if it is about anything yet."""
        before = line.object_id
        self.of(line)
        line.object_id = before or self.id
        return self

    def describe(self, row: Row, what: str) -> None:
        """Keep the comment of one of `what`, which have none here, as the interface's description."""
        words = row.get("comment")
        if words and not self.body.get("description"):
            self.body["description"] = words
        elif words and words not in self.body["description"]:
            row.changed("comment", f"Its comment is not kept: {what} have none.")


@dataclass(slots=True)
class InterfaceList:
    """As the file defines it, on `line`. `members` are the ids of interfaces, with the lines that name them;
    `include` and `exclude` name other lists. What is in it: `Router.members`. `zone` is the one that Weir
    wrote it for."""

    line: LineDraft | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    members: dict[str, list[LineDraft]] = field(default_factory=dict)
    zone: str | None = None


class Pool(NamedTuple):
    ranges: list[str]
    line: LineDraft


class Translation(NamedTuple):
    """A NAT rule of the file, and its interfaces; None for the members of the list WAN."""

    row: Row
    body: Json
    interfaces: list[str | None] | None


class Router:
    """`lists` are the interface lists by name; `unmade` says of an interface's name what it is that Weir does
    not have. `filled` are the sets of addresses that have entries, `others` those of the interfaces that are
    not in a list, with its name. `zoned` are the ids of the interfaces whose zone the file names. `lost` are
    the commands of a menu that were left out: the verb, and the properties that are known. `partial` are the
    interface lists that may hold more than is known, `unclear` those of which nothing is certain; None in
    them stands for all lists. `lists_lost` are entries of address lists
    that were left out, by `/ip` or `/ipv6` and the list's name."""

    def __init__(self, existing: Document) -> None:
        self.existing = existing
        self.wanted: dict[tuple[Kind, str], Wanted] = {}
        self.findings: list[Finding] = []
        self.lists: dict[str, InterfaceList] = {}
        self.lost: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
        self.partial: set[str | None] = set()
        self.unclear: set[str | None] = set()
        self.lists_lost: Counter[tuple[str, str | None]] = Counter()
        self.unmade: dict[str, str] = {}
        self.filled: set[str] = set()
        self.others: dict[str, str] = {}
        self.zoned: set[str] = set()
        self.translations: list[Translation] = []
        self.pools: dict[str, Pool] = {}
        self.limited: list[Limited] = []
        """Leases that have queues of their own."""
        self.places_of_queues: dict[str, Place] = {}
        """Where, by DHCP server."""
        self.rows: dict[str, list[Row]] = {}
        self.order: dict[tuple[Kind, str], list[Wanted]] = {}
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._taken: set[tuple[str, str]] = {(CHAIN, name) for name in BUILT_IN}
        self._named: dict[tuple[str, Hashable], str] = {(CHAIN, name): name for name in BUILT_IN}
        self._allocators: dict[str, IdAllocator] = {}
        self._found: dict[Hashable, object] = {}
        self._resolved: dict[tuple[str, bool], list[str]] = {}
        self._interfaces: dict[str, Wanted] = {}

    def add(self, menu: Menu, verb: str, given: Mapping[str, str], line: LineDraft) -> None:
        """A command, which is looked at when all files were read. What it calls an interface is known at
        once: queues may name it."""
        name = given.get("name") if menu.makes_interface else None
        if name:
            self.name_interface(name, line, given.get("find default-name", ""))
        rows = self.rows.setdefault(menu.path, [])
        rows.append(Row(menu, self, verb, given, line, len(rows)))

    def take(self, menus: Iterable[Menu]) -> None:
        """Look at every command: menu by menu, as what is named must be known before."""
        for menu in menus:
            for row in self.rows.get(menu.path, ()):
                self.attempt(row.line, lambda row=row: (row.read(), row.menu.take(self, row)))  # type: ignore[misc]
                if row.line.fate == "left-out":
                    self.lost.setdefault(menu.path, []).append((row.verb, row.given))
            if menu.lose is not None:
                for verb, given in self.lost.get(menu.path, ()):
                    menu.lose(self, verb, given)
            if menu.after is not None:
                menu.after(self)

    @staticmethod
    def attempt(line: LineDraft, work: Callable[[], object]) -> None:
        """Do something for a line; if it cannot be done that is what is said of the line."""
        try:
            work()
        except (ValueError, Invalid) as error:
            line.note("left-out", "bad-value", error.message if isinstance(error, Invalid) else str(error))

    def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """What is found out of all rows, for each of them."""
        if key not in self._found:
            self._found[key] = work()
        return cast(T, self._found[key])

    # -- objects ---------------------------------------------------------------------------------------

    def want(self, kind: Kind, object_id: str, line: LineDraft | None, body: Json) -> Wanted:
        """An object of its own; the same once more is the same one."""
        found = self.wanted.setdefault((kind, object_id), Wanted(kind, object_id, body))
        if found.body is not body:
            found.body.update(body)
        return found if line is None else found.of(line)

    def want_in_force(self, kind: Kind, object_id: str, line: LineDraft, body: Json) -> Wanted:
        """The same, of commands that may say one thing twice: it is in force if one of the two is."""
        before = self.wanted.get((kind, object_id))
        if before is not None and not (before.body.get("disabled") and body.get("disabled")):
            body = {**body, "disabled": False}
        return self.want(kind, object_id, line, body)

    def only_here(self, of: type[Item]) -> list[Item]:
        """What is in force on this router, and has nothing of the file in its place."""
        found = (item for item in self.existing.every(of) if not getattr(item, "disabled", False))
        return [item for item in found if (item.kind, item.id) not in self.wanted]

    def want_single(self, kind: Kind, line: LineDraft | None, body: Json) -> Wanted:
        """The one object of a kind; what the file does not say of it stays as it is."""
        found = self.wanted.get((kind, kind))
        if found is None:
            present = self.existing.get(kind, kind)
            found = Wanted(kind, kind, {} if present is None else to_stored_json(present))
            self.wanted[kind, kind] = found
        found.body.update(body)
        return found if line is None else found.of(line)

    def want_next(self, kind: Kind, line: LineDraft, body: Json, within: str = "") -> Wanted:
        """One more of an ordered kind. It is known again by what it says, so its id is made of that."""
        object_id = self._free(kind, self.name_of_content(kind, body))
        found = self.want(kind, object_id, line, body)
        self.order.setdefault((kind, within), []).append(found)
        return found

    def order_of(self, kind: Kind) -> list[Wanted]:
        """The rules of a kind, chain by chain."""
        return [item for (of, _), items in self.order.items() if of == kind for item in items]

    def id_of(self, kind: str, name: Hashable, base: str) -> str:
        """The id of what the file calls `name`: `base`, or with a number where that is another name's."""
        if (kind, name) not in self._named:
            self._named[kind, name] = self._free(kind, base)
        return self._named[kind, name]

    def chain(self, name: str, menu: str = "") -> str:
        """What the chain is called here: INPUT is one of the user's own, and not the built-in input. A `menu`
        has chains of its own."""
        return self.id_of(CHAIN, (menu, name) if menu else name, slug(f"{menu} {name}".strip(), CHAIN))

    def _free(self, kind: str, base: str) -> str:
        if kind not in self._allocators:
            self._allocators[kind] = IdAllocator(lambda object_id: (kind, object_id) in self._taken)
        found = self._allocators[kind].free(base)
        self._taken.add((kind, found))
        return found

    @staticmethod
    def name_of_content(kind: Kind, body: Json) -> str:
        """An id by all that an object says but for its comment and whether it is disabled."""
        said = {name: value for name, value in body.items() if name not in ("comment", "disabled")}
        digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=4).hexdigest()
        words = (
            str(body[name])
            for name in ("chain", "type", "action", "set", "name", "interface")
            if name in body
        )
        return f"{slug(' '.join(words)[:40], kind)}-{digest}"

    def place_of_queues(self, server: str) -> Place:
        return self.places_of_queues.get(server, Place(None, FIRST))

    # -- interfaces ------------------------------------------------------------------------------------

    def name_interface(self, name: str, line: LineDraft, own: str = "") -> str:
        """The kernel's name for an interface that is called `name`; `own` is the one of its device."""
        if name in self._ids:
            return self._ids[name]
        base = own or name
        found = base if INTERFACE_ID.fullmatch(base) else self._derived(base)
        number = 2
        while found in self._names:
            found, number = f"{(own or self._derived(base))[:12]}-{number}", number + 1
        self._names[found] = name
        self._ids[name] = found
        if found != name and not own:
            text = f"{quoted(name)} is no name that the kernel takes: it is called {found}, and described so."
            line.note("warning", "renamed", text)
        return found

    def kernel_names(self, text: str) -> str:
        """Names with commas between them, as the kernel has those of the file's interfaces."""
        if not self._ids:
            return text
        return ",".join(self._ids.get(name.strip(), name) for name in text.split(","))

    @staticmethod
    def _derived(name: str) -> str:
        found = _NOT_OF_A_NAME.sub("-", name)[:MAX_NAME_CHARS].strip("-._")
        return found if INTERFACE_ID.fullmatch(found) else "if"

    def interface_id(self, name: str) -> str:
        """Raises `ValueError` for one that Weir does not have."""
        if name in self.unmade:
            raise ValueError(f"{quoted(name)} is {self.unmade[name]}")
        if name.startswith(("*", "<")):
            raise ValueError(f"{quoted(name)} is no configured interface")
        if name not in self._ids:
            if _RADIO.fullmatch(name):
                raise ValueError(f"{quoted(name)} is a radio, which Weir does not have")
            is_port = _PORT.fullmatch(name) and INTERFACE_ID.fullmatch(name)
            if not is_port and self.existing.interface(name) is None:
                raise ValueError(f"the file does not say what the interface {quoted(name)} is")
            self._ids[name] = self._names[name] = name
        return self._ids[name]

    def interface(self, name: str, line: LineDraft) -> Wanted:
        """The interface of a name, as the file describes it so far. Raises `ValueError`."""
        return self.interface_of_id(self.interface_id(name), line)

    def interface_of_id(self, object_id: str, line: LineDraft | None = None) -> Wanted:
        found = self.wanted.get(("interface", object_id))
        if found is None:
            present = self.existing.interface(object_id)
            body = {"role": "none"} if present is None else to_stored_json(present)
            found = self.wanted["interface", object_id] = Wanted("interface", object_id, body)
            self._interfaces[object_id] = found
            shown = self._names.get(object_id, object_id)
            if shown != object_id:
                body.setdefault("description", shown)
        return found if line is None else found.of(line)

    def interfaces(self) -> list[Wanted]:
        return list(self._interfaces.values())

    def routed_interfaces(self) -> list[Wanted]:
        """Those that packets come by: not the members of bridges and bonds."""
        below = self.members_of_links()
        return [item for item in self.interfaces() if item.id not in below and "vrf_table" not in item.body]

    def members_of_links(self) -> dict[str, str]:
        """The bridge or bond that an interface belongs to."""
        rows = (
            (row["interface"], item.id)
            for item in self.interfaces()
            for row in (item.body.get("bridge") or {}).get("ports", ())
            or (item.body.get("bond") or {}).get("members", ())
        )
        return dict(rows)

    def members(self, name: str, seen: tuple[str, ...] = (), *, is_whole: bool = False) -> list[str]:
        """The ids of the interfaces of a list: what it includes without what it excludes, and its own members
        (RouterOS manual, Interface Lists). To be asked when all members were read. Raises `ValueError` where
        the file does not say what is in it, and with `is_whole` where there may be more: “not in the list”
        and what a list excludes need that. `seen` are the lists that lead to this one."""
        if (name, is_whole) in self._resolved:
            return self._resolved[name, is_whole]
        if name not in self.lists:
            raise ValueError(f"there is no interface list {quoted(name)} in the file")
        if name in seen or len(seen) > MAX_NESTED_LISTS:
            raise ValueError(f"the interface list {quoted(name)} leads back to itself, or through too many")
        if {name, None} & (self.unclear | self.partial if is_whole else self.unclear):
            raise ValueError(f"a command about the interface list {quoted(name)} could not be read")
        known, seen = self.lists[name], (*seen, name)
        included = (self.members(other, seen, is_whole=is_whole) for other in known.include)
        found = {item: None for members in included for item in members}
        for other in known.exclude:
            for item in self.members(other, seen, is_whole=True):
                found.pop(item, None)
        found.update(dict.fromkeys(known.members))
        self._resolved[name, is_whole] = [self.interface_of_id(item).id for item in found]
        return self._resolved[name, is_whole]

    def say(self, code: str, message: str) -> None:
        """Of the file as a whole."""
        self.findings.append(file_finding(code, message, "routeros"))
