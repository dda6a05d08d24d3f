# SPDX-License-Identifier: Apache-2.0
"""FRR's configuration read, compared, and turned into the few lines that change one into another."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from weir.parts.routing.block import Block, Entry, Path

_CONTEXT = ("router ", "route-map ", "interface ", "vrf ", "bfd", "address-family ", "profile ")
_NOT_A_LINE = ("interface ", "vrf ", "address-family ")
"""Contexts that say nothing by themselves; `bfd` is one as well."""
_OURS = ("router bgp ", "route-map ", "ip prefix-list ", "ipv6 prefix-list ")
_END = {"address-family": "exit-address-family"}
_ONE_VALUE = re.compile(
    r"(neighbor \S+ (?:remote-as|description|update-source|ebgp-multihop|password|timers)"
    r"|neighbor \S+ (?:maximum-prefix|bfd profile)"
    r"|bgp router-id|ospf router-id|maximum-paths ibgp|maximum-paths|redistribute \S+"
    r"|match (?:ip|ipv6) address prefix-list|match (?:source-protocol|tag)"
    r"|set (?:local-preference|metric|weight|tag|community|as-path prepend|ip next-hop|ipv6 next-hop global)"
    r"|ip ospf (?:cost|priority|network|hello-interval|dead-interval|message-digest-key \d+ md5|bfd profile)"
    r"|(?:transmit|receive|echo)-interval|detect-multiplier|minimum-ttl)(?: |$)"
)
"""Lines of which FRR replaces the last words by new ones. Not `ip ospf area`: that has to go first."""
_POLICY = re.compile(r"(neighbor \S+ (?:route-map|prefix-list)) \S+ (in|out)$")
_NUMBERED = re.compile(r"((?:ip|ipv6) prefix-list \S+ seq|route-map \S+) ?(permit|deny)? (\d+) ?(.*)$")
_SECRET = re.compile(r"( (?:password|md5|authentication-key)) \S+")
_STEP = 10
MOST = {"route-map": 65_535, "ip": 2**32 - 2, "ipv6": 2**32 - 2}
"""The largest number of an entry, by the first word of its line."""


def masked(text: str) -> str:
    """Without the secrets that may be in lines, for people and logs."""
    return _SECRET.sub(r"\1 ***", text)


def is_ours(path: Path) -> bool:
    if path[0].startswith("interface "):
        return len(path) > 1 and path[1].startswith("ip ospf ")
    return path[0].startswith(_OURS) or path[0] == "bfd" or re.match(r"router ospf($| )", path[0]) is not None


def parsed(printed: str) -> tuple[Path, ...]:
    """The lines that are Weir's in what a daemon prints of its configuration, in order."""
    found: list[Path] = []
    context: list[tuple[int, str]] = []
    for line in printed.splitlines():
        text = line.strip()
        if not text or text in ("!", "end") or text.startswith("exit"):
            continue
        depth = len(line) - len(line.lstrip())
        while context and context[-1][0] >= depth:
            context.pop()
        path = (*(name for _, name in context), text)
        if text.startswith(_CONTEXT):
            context.append((depth, text))
        if is_ours(path) and not text.startswith(_NOT_A_LINE) and path != ("bfd",):
            found.append(path)
    return tuple(found)


def paths_of(block: Block, held: Iterable[Path], opened: Mapping[str, str]) -> Iterator[Path]:
    """The lines of a block; numbers are chosen to change as few of the held lines as possible. `opened` has
    the secrets by place; a line whose secret is not there is left out."""
    if block.is_numbered:
        yield from _numbered_paths(block, held)
        return
    if not block.header.startswith(_NOT_A_LINE) and block.header != "bfd":
        yield (block.header,)
    for line in block.lines:
        filled = line[-1]
        for place, _ in block.secrets:
            mark = "{" + place + "}"
            if mark in filled:
                filled = filled.replace(mark, opened[place]) if place in opened else ""
        if filled:
            yield (block.header, *line[:-1], filled)


def _numbered_paths(block: Block, held: Iterable[Path]) -> Iterator[Path]:
    is_map = block.header.startswith("route-map ")
    prefix = block.header if is_map else f"{block.header} seq"
    numbers = numbered(held_entries(prefix, held), block.entries, MOST[block.header.split()[0]])
    for number, entry in zip(numbers, block.entries, strict=True):
        if is_map:
            header = f"{prefix} {entry.head} {number}"
            yield (header,)
            yield from ((header, line) for line in entry.lines)
        else:
            yield (f"{prefix} {number} {entry.head}",)


def held_entries(prefix: str, held: Iterable[Path]) -> dict[int, Entry]:
    """The entries that FRR holds of one numbered list, by number."""
    found: dict[int, Entry] = {}
    for path in held:
        match = _NUMBERED.match(path[0])
        if match is None or match[1] != prefix:
            continue
        entry = found.setdefault(int(match[3]), Entry(match[2] or match[4]))
        if len(path) > 1:
            found[int(match[3])] = Entry(entry.head, (*entry.lines, path[1]))
    return dict(sorted(found.items()))


def numbered(held: Mapping[int, Entry], wanted: Sequence[Entry], most: int) -> list[int]:
    """A number for each wanted entry, rising. The most entries that can keep theirs do; those between two
    that keep theirs take the numbers of what was there, or new ones in the gap. Without room all are numbered
    again."""
    kept = _kept(held, wanted)
    found: list[int] = []
    at = low = 0
    for place, number in [*kept, (len(wanted), most + 1)]:
        count = place - at
        free = [n for n in held if low < n < number]
        if count == len(free):
            found += free
        elif number - low - 1 < count:
            return _from_the_start(len(wanted), most)
        else:
            step = (
                _STEP if number == most + 1 and low + _STEP * count <= most else (number - low) // (count + 1)
            )
            found += [low + step * n for n in range(1, count + 1)]
        if place < len(wanted):
            found.append(number)
        at, low = place + 1, number
    return found


def _from_the_start(count: int, most: int) -> list[int]:
    step = max(1, min(_STEP, most // max(count, 1)))
    return [step * n for n in range(1, count + 1)]


def _kept(held: Mapping[int, Entry], wanted: Sequence[Entry]) -> list[tuple[int, int]]:
    """(place in `wanted`, number) of a longest run of entries that are held alike and in the same order."""
    numbers: dict[Entry, list[int]] = {}
    for number, entry in held.items():
        numbers.setdefault(entry, []).append(number)
    pairs = [(place, numbers[e].pop(0)) for place, e in enumerate(wanted) if numbers.get(e)]
    best: list[int] = []  # the smallest end of a run of each length, as an index into pairs
    before: list[int] = []
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(best, number, key=lambda at: pairs[at][1])
        before.append(best[length - 1] if length else -1)
        best[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = best[-1] if best else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def commands(held: Iterable[Path], new: Collection[Path], wanted: Collection[Path]) -> list[str]:
    """What to give to vtysh so that of `held` only `wanted` is left, and `new` is there.

    Lists and profiles come before what names them, and go after it. A value is replaced by its new one, not
    taken away first: without its route-map a neighbour would lose all routes for a moment.
    """
    wanted = frozenset(wanted)
    gone = tuple(dict.fromkeys(path for path in held if path not in wanted))
    left = {list_of(path[0]) for path in wanted}
    unused = [p for p in gone if list_of(p[0]) and list_of(p[0]) not in left]
    profiles = [p for p in gone if p[0] == "bfd"]
    rest = [p for p in gone if p not in set(unused) and p[0] != "bfd"]
    lines = [f"no {p[0]}" for p in rest if len(p) == 1 and p[0].startswith("router ")]
    rest = [p for p in rest if not (p[0].startswith("router ") and (p[0],) in gone)]
    for sort in (
        ("ip prefix-list ", "ipv6 prefix-list "),
        ("bfd",),
        ("route-map ",),
        ("router ", "interface "),
    ):
        lines += _changed(
            [p for p in rest if p[0].startswith(sort)], [p for p in new if p[0].startswith(sort)]
        )
    return [*lines, *_changed(unused, []), *_changed(profiles, [])]


def list_of(header: str) -> str:
    """Of a numbered list's line the list, "" for others."""
    match = _NUMBERED.match(header)
    if match:
        return match[1].removesuffix(" seq")
    return " ".join(header.split()[:3]) if header.startswith(("ip prefix-list ", "ipv6 prefix-list ")) else ""


def _changed(gone: Sequence[Path], new: Sequence[Path]) -> list[str]:
    """Blocks of lines that take away and add, removals of a block first."""
    lines: list[str] = []
    slots = {(path[:-1], _slot(path[-1])) for path in new}
    whole = {path for path in gone if path[-1].startswith(("route-map ", "profile ")) and len(path) < 3}
    over = [p for p in gone if not any(p[:n] in whole for n in range(1, len(p)))]
    kept = [p for p in over if (p[:-1], _slot(p[-1])) not in slots]
    removals = _without_neighbours(kept, new)
    todo = [(p[:-1], line) for p, line in removals] + [(p[:-1], p[-1]) for p in _headed(new)]
    for context, group in groupby(todo, key=lambda item: item[0]):
        lines += [*_indented(context), *(" " * len(context) + line for _, line in group)]
        lines += [_END.get(name.split()[0], "exit") for name in reversed(context)]
    return lines


def _headed(new: Sequence[Path]) -> Iterator[Path]:
    """A block's first line stands above its lines anyway; alone it is a line of its own."""
    parents = {path[:n] for path in new for n in range(1, len(path))}
    return (path for path in new if path not in parents)


def _indented(context: Path) -> Iterator[str]:
    return (" " * depth + name for depth, name in enumerate(context))


def _without_neighbours(gone: Sequence[Path], new: Sequence[Path]) -> list[tuple[Path, str]]:
    """How each line is taken away: a neighbour that goes takes all of its lines along."""
    stay = {(path[0], path[-1].split()[1]) for path in new if path[-1].startswith("neighbor ")}
    ends = {
        (path[0], path[-1].split()[1])
        for path in gone
        if re.match(r"neighbor \S+ remote-as ", path[-1]) and (path[0], path[-1].split()[1]) not in stay
    }
    found: list[tuple[Path, str]] = []
    for path in (path for path in gone if not _goes_along(path, gone)):
        words = path[-1].split()
        if words[0] == "neighbor" and (path[0], words[1]) in ends:
            if words[2] == "remote-as":
                found.append((path, f"no neighbor {words[1]}"))
        elif words[0] == "no":
            found.append((path, path[-1][3:]))
        else:
            found.append((path, f"no {path[-1]}"))
    return found


def _goes_along(path: Path, gone: Collection[Path]) -> bool:
    """A BFD profile goes with `bfd`; taken away after it, bgpd would begin BFD again."""
    line, profile, _ = path[-1].partition(" bfd profile ")
    return bool(profile) and (*path[:-1], f"{line} bfd") in gone


def _slot(line: str) -> str:
    """Lines with the same slot replace one another."""
    policy = _POLICY.match(line)
    if policy:
        return f"{policy[1]} {policy[2]}"
    match = _ONE_VALUE.match(line)
    if match:
        return match[1]
    numbered_line = _NUMBERED.match(line)
    if numbered_line and not line.startswith("route-map "):
        return f"{numbered_line[1]} {numbered_line[3]}"
    return line
