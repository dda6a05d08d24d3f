# SPDX-License-Identifier: Apache-2.0
"""Which sessions notice that firewall rules, or the sets that they look at, are other ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Any

from weir.kinds.sets import SetEntry
from weir.model.document import Change
from weir.model.prefix import parse_prefix
from weir.parts.admission import sources_of
from weir.parts.delta import Replaced
from weir.parts.effect import Effect, Sessions, for_each
from weir.parts.firewall import Rules
from weir.parts.rule import BEFORE_TRACKING, PacketRule, led_to
from weir.parts.sets import keys_of, text_of

EVERYBODY = ("0.0.0.0/0", "::/0")
_REFUSES = ("drop", "reject", "notrack")
"""A connection that is tracked no more is none to rules and NAT."""
_LETS_PASS = ("accept", "return", "jump", "notrack")
_ENDS = "sessions that its packets belong to end"
_EXPOSED = "a rule behind it may refuse its sessions"
_TRACKED = "its sessions are tracked again, and rules and NAT may end them"
_WHEN = {_ENDS: ", in its hours", _EXPOSED: ", outside its hours", _TRACKED: ""}
"""Of a rule with a schedule."""
_COUNTED = 1000
"""Sessions of so many prefixes are counted; of more it is not known how many there are."""
_COUNTED_RULES = 20
"""Sessions of so many rules are counted, each on its own: 10 ms for each of them where 20,000 are tracked."""
_TOLD = 1000
"""So many entries are told of; more are not shown either."""

Count = Callable[[Iterable[str]], Sessions]
Group = tuple[PacketRule, ...]
"""All that one configured rule became."""


def judged_otherwise(delta: Replaced[Rules], look: Any) -> Iterator[Effect]:
    """A rule that refuses more than connections that begin ends those that exist, and so does one that no
    longer accepts what a rule behind it refuses. How many is what is known of its prefixes.

    A rule that nobody changed is another one by its service or its sets, and it is said of these.
    """
    before, after = _that_differ(delta)
    exposed = _refused_behind(delta.after)
    changed = {object_id for kind, object_id in look.changed if kind == "firewall-rule"}
    moved = _moved(before, after) & changed
    others = [key for key in look.changed if key[0] in ("service", "set")]
    counted = 0
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ()), after.get(name, ())
        if old == new and name not in moved:
            continue
        may_lose = exposed(new or old)
        text, ends = (_ENDS, EVERYBODY) if name in moved and may_lose else _cost(old, new, may_lose)
        if text:
            objects = [("firewall-rule", name)] if name in changed else others
            counted += 1
            text += _WHEN[text] if any(rule.time is not None for rule in new) else ""
            sessions = look.sessions(ends) if counted <= _COUNTED_RULES else None
            yield from for_each(objects, "drops-sessions", text, sessions=sessions)


def kept_out(delta: Replaced[Rules], look: Any) -> Iterator[Effect]:
    """The web interface and the API are open to fewer than before. How many of those are there is not known:
    not all zones have their connections tracked."""
    old, new = (list(map(parse_prefix, sources_of(rules))) for rules in (delta.before, delta.after))
    lost = new if not old else [prefix for prefix in old if not any(each.covers(prefix) for each in new)]
    if new and lost:
        text = "sessions with the web interface and the API from outside of its sources end"
        yield from for_each(look.changed_of("management"), "drops-sessions", text)


def _cost(old: Group, new: Group, exposed: bool) -> tuple[str, Sequence[str]]:
    """What another form of a rule does to sessions, and to those of which prefixes; "" = nothing."""
    if _ends_sessions(new):
        ends = _newly_matched(old, new) if _ends_sessions(old) else _prefixes(new)
        return (_ENDS, ends) if ends else ("", ())
    if exposed and _lets_pass(old):
        return _EXPOSED, _prefixes(old)
    if any(rule.verdict == "notrack" for rule in old):
        return _TRACKED, _prefixes(old)
    return "", ()


def entries_judged(
    changes: Iterable[Change], before: Rules, after: Rules, count: Count | None
) -> Iterator[Effect]:
    """An entry that a refusing rule looks at from now on, or an accepting one no longer. Without `count` the
    number of sessions is not known."""
    refusing = {name for group in _by_rule(after).values() if _ends_sessions(group) for name in _sets(group)}
    exposed = _refused_behind(after)
    accepting = {
        name
        for group in _by_rule(before).values()
        if _lets_pass(group) and exposed(group)
        for name in _sets(group)
    }
    found: dict[str, dict[str, list[str]]] = {_ENDS: {}, _EXPOSED: {}}
    for change in changes if refusing or accepting else ():
        if change.kind == "set-entry":
            old, new = _named(change.old), _named(change.new)
            for text, ours, theirs, sets in ((_ENDS, new, old, refusing), (_EXPOSED, old, new, accepting)):
                prefixes = [value for key, value in ours.items() if key not in theirs and key[0] in sets]
                if prefixes:
                    found[text][change.id] = prefixes
            if any(len(by_entry) > max(_TOLD, _COUNTED) for by_entry in found.values()):
                break  # there are more than are told or counted
    for text, by_entry in found.items():
        if by_entry:
            objects = [("set-entry", name) for name in islice(by_entry, _TOLD)]
            ends = [prefix for prefixes in by_entry.values() for prefix in prefixes]
            yield from for_each(objects, "drops-sessions", text, sessions=_counted(ends, count))


def _counted(prefixes: Sequence[str], count: Count | None) -> Sessions | None:
    if count is None or len(prefixes) > _COUNTED:
        return None
    return count(EVERYBODY if "" in prefixes else prefixes)


def _named(entry: object) -> dict[tuple[str, bytes], str]:
    """The kernel's set and key of an entry, and the prefix of its packets, "" = they may be of any."""
    if not isinstance(entry, SetEntry) or entry.disabled:
        return {}
    return {
        (head.name, key): text_of(head, key) if head.length or head.key.startswith("ipv") else ""
        for head, key in keys_of(entry.set, entry.value)
    }


def _that_differ(delta: Replaced[Rules]) -> tuple[dict[str, Group], dict[str, Group]]:
    """What became of the configured rules before and after; where none of them has moved, of those alone that
    are others, as looking at thousands takes milliseconds."""
    some = [{rule.comment for rule in rules} for rules in (delta.entries_before, delta.entries_after)]
    names = some[0] | some[1]
    before, after = (
        _by_rule(rule for rule in rules if rule.comment in names) for rules in (delta.before, delta.after)
    )
    both = before.keys() & after.keys()
    if _by_chain(before, both) == _by_chain(after, both):
        return before, after
    return _by_rule(delta.before), _by_rule(delta.after)


def _by_rule(rules: Iterable[PacketRule]) -> dict[str, Group]:
    """What became of each configured rule, in their order."""
    found: dict[str, list[PacketRule]] = {}
    for rule in rules:
        if rule.is_configured:
            found.setdefault(rule.comment, []).append(rule)
    return {name: tuple(group) for name, group in found.items()}


def _moved(before: Mapping[str, Group], after: Mapping[str, Group]) -> set[str]:
    """The rules before which others of their chain come than did. One walk, however many have moved."""
    both = before.keys() & after.keys()
    were, are = _by_chain(before, both), _by_chain(after, both)
    found: set[str] = set()
    for chain, names in are.items():
        places = {name: place for place, name in enumerate(were.get(chain, ()))}
        olds = list(places)
        differ: set[str] = set()
        """What comes before this place in one of both orders only."""
        for place, name in enumerate(names):
            if (differ or places[name] != place) if name in places else place > 0:
                found.add(name)
            differ ^= {name}.symmetric_difference(olds[place : place + 1])
    return found


def _by_chain(groups: Mapping[str, Group], names: Set[str]) -> dict[str, list[str]]:
    """These names in their order."""
    found: dict[str, list[str]] = {}
    for name, group in groups.items():
        if name in names:
            found.setdefault(group[0].chain, []).append(name)
    return found


def _newly_matched(old: Group, new: Group) -> Sequence[str]:
    """The prefixes that a rule refuses now and did not; all of it where more is different than prefixes."""
    if {replace(rule, sources=(), destinations=()) for rule in old} != {
        replace(rule, sources=(), destinations=()) for rule in new
    }:
        return _prefixes(new)
    ends: set[str] = set()
    for field in ("sources", "destinations"):
        values = [{text for rule in group for text in getattr(rule, field)} for group in (old, new)]
        if values[0] and not values[1]:
            return EVERYBODY
        if values[0]:
            ends |= values[1] - values[0]
    return sorted(ends)


def _prefixes(group: Group) -> Sequence[str]:
    return sorted({text for rule in group for text in (*rule.sources, *rule.destinations)}) or EVERYBODY


def _sets(group: Group) -> Iterator[str]:
    return (lookup.set for rule in group for lookup in rule.lookups)


def _ends_sessions(group: Group) -> bool:
    """Whether it refuses packets of connections that exist."""
    return any(map(_refuses, group)) and not any(rule.ct_states == ("new",) for rule in group)


def _lets_pass(group: Group) -> bool:
    return any(rule.counter and rule.verdict in _LETS_PASS for rule in group)


def _refused_behind(rules: Sequence[PacketRule]) -> Callable[[Group], bool]:
    """Whether a rule that packets meet where they meet this one refuses some: what raw lets pass meets the
    others as it would without."""
    early = led_to(rules, BEFORE_TRACKING)
    late = led_to(rules, *(rule.chain for rule in rules if rule.chain not in early))
    refusing = {rule.chain for rule in rules if _refuses(rule)}
    in_raw, elsewhere = not refusing.isdisjoint(early), not refusing.isdisjoint(late)

    def exposed(group: Group) -> bool:
        chain = group[0].chain
        return (
            (in_raw and chain in early) or (elsewhere and chain not in early) or (elsewhere and chain in late)
        )

    return exposed


def _refuses(rule: PacketRule) -> bool:
    return rule.verdict in _REFUSES and rule.ct_states != ("new",)
