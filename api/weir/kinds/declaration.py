# SPDX-License-Identifier: Apache-2.0
"""What a kind declares about itself, and what follows from that for every kind alike.

The fields are those of a frozen dataclass; each names its field type beside the Python type:

    distance: Annotated[int, Whole(1, 255, help="Of several routes the smallest wins.")] = 1

A field without a default is required. One that may be `None` has that as its default, so that `null` in JSON
means the same as leaving it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any, Literal, get_args

from weir.fields import OBJECT_IDS, Field, Group, IdForm, Many, OneOf, Position, Ref, Secret
from weir.fields.members import Member, Reading, Writing, members_of
from weir.model.objects import ConfigObject
from weir.model.reader import Json, Reader
from weir.model.rule import Rule

Area = Literal["Shaping", "Network", "Routing", "Firewall", "VPN", "Services", "System"]
AREAS: tuple[Area, ...] = get_args(Area)
"""In the order of the navigation."""


@dataclass(frozen=True, slots=True)
class Known:
    """The names in a `Table` that have a meaning, by what the field `by` of the same object is: a form asks
    for them as for fields. The table takes any others, too."""

    by: str
    fields: Mapping[str, Mapping[str, Field]]


class Declaration:
    """One kind: its fields, its names, and its rules.

    `singular` and `plural` are what people call it in sentences ("static route"), `short` the same where the
    context is clear: in messages and as a command ("route"). `about` is one line for the API's documentation.
    A kind with `is_single` has one object, whose id is the kind; unless it is stored its defaults hold.
    `adds` names what the API's answers say of an object beside its fields; it may come back and is not read.
    `columns` are the fields, also of its state, that a list shows behind the id; `path` is where the API has
    them, `page` where the browser does, and `argument` what an object's id is called there. `one_of` says
    what an object of the kind is made as. `named_by` is the field that people know an object by. `area` is
    where the navigation has the kind, and `purpose` says above an empty list what its objects are for.
    `known` are the names in a `Table` that have a meaning. `state` are the fields that the router learns
    about an object, and nobody writes. `earlier` makes of what an earlier release stored what this one would
    have; fields of `always` are stored with their default, too.
    """

    def __init__(
        self,
        of: type[ConfigObject],
        *,
        singular: str,
        plural: str,
        short: str,
        about: str,
        ids: IdForm = OBJECT_IDS,
        rules: tuple[Rule, ...] = (),
        is_single: bool = False,
        adds: tuple[str, ...] = (),
        columns: tuple[str, ...] = (),
        page: str = "",
        named_by: str = "id",
        area: Area = "Services",
        purpose: str = "",
        state: Mapping[str, Field] | None = None,
        argument: str = "",
        one_of: OneOf | None = None,
        earlier: Callable[[Reader], None] | None = None,
        always: tuple[str, ...] = (),
        known: Mapping[str, Known] | None = None,
    ) -> None:
        self.of = of
        self.kind = of.kind
        self.singular = singular
        self.plural = plural
        self.short = short
        self.about = about
        self.ids = ids
        self.rules = rules
        self.is_single = is_single
        self.adds = adds
        self.columns = columns
        self.named_by, self.area = named_by, area
        self.purpose = purpose
        self.state: Mapping[str, Field] = state or {}
        self.page = page or (short if is_single else f"{short}s").replace(" ", "-")
        self.path = self.kind if is_single else plural.lower().replace(" ", "-")
        self.argument = argument or f"{short}_id"
        self.one_of = one_of
        self._earlier = earlier
        self._always = frozenset(always)
        self.known: Mapping[str, Known] = known or {}
        self._take_members(of)

    def _take_members(self, of: type[ConfigObject]) -> None:
        one_of = self.one_of
        self.members = members_of(of, without="id")
        found = (
            (item.name, item.field.item if isinstance(item.field, Many) else item.field)
            for item in self.members
        )
        self.references = {
            name: field for name, field in found if isinstance(field, Ref) and not field.own_rules
        }
        """By the field that names one object, or several."""
        places = [item.field for item in self.members if isinstance(item.field, Position)]
        self.order = next((field for field in places if not field.own_rules), None)
        """Where objects have their places; the field is `position`."""
        if places and "position" not in {item.name for item in self.members}:
            raise TypeError(f"{of.__name__}: the field of type Position is to be called position")
        if any(item.name == "name" and item.nullable for item in self.members):
            raise TypeError(f"{of.__name__}.name is what people call the object, so it is never None")
        if twice := self.state.keys() & {item.name for item in self.members}:
            raise TypeError(f"{of.__name__}: {', '.join(sorted(twice))} is both configured and learnt")
        self.secrets = dict(_secrets_among(self.members))
        """By path: `password`, or `wireguard.private_key` of one in a group."""
        cases = () if one_of is None else (one_of.discriminator,)
        self._names = frozenset({"id", *cases, *(member.name for member in self.members)})
        self._learnt = frozenset({"state", *self.state} - self._names if self.state else ())
        self._reading = Reading(self.members)
        self._values = attrgetter("id", *(member.name for member in self.members))
        self._writing = Writing(self.members, "id")
        self.defaults: Mapping[str, object] = {
            **({} if one_of is None else {one_of.discriminator: one_of.cases[0].name}),
            **{
                member.name: member.field.to_json(member.default)
                for member in self.members
                if not member.required
            },
        }
        """As JSON."""
        self._stored = tuple(
            (item.name, _NONE if item.required or item.name in self._always else item.default, item.field)
            for item in self.members
        )
        self._texts = tuple((name, default, field.to_stored_text) for name, default, field in self._stored)

    def read(self, reader: Reader) -> ConfigObject:
        """The object that a JSON object describes; what is wrong with it is noted at the reader."""
        if self._earlier is not None and reader.is_stored:
            self._earlier(reader)
        if self._learnt:
            for name in self._learnt & reader.data.keys():
                reader.error(
                    name, "read-only", f"is what the router learns about a {self.singular}: leave it out"
                )
            reader.refuse_unknown(self._names | self._learnt)
        else:
            reader.refuse_unknown(self._names)
        if self.is_single and reader.id != self.kind:
            text = f"must be {self.kind!r}: there is one such object, not {reader.id!r}"
            reader.error("id", "bad-id", text)
        if self.one_of is not None and not reader.is_stored:
            self.one_of.check(reader)
        return self.of(reader.id, **self._reading.given(reader))  # type: ignore[call-arg]

    def completed(self, body: Any) -> Any:
        """A body of people with the group of the case that it names, where every field of that may be left
        out: `{"type": "loopback"}` says all there is to say."""
        if self.one_of is None or not isinstance(body, dict):
            return body
        said = body.get(self.one_of.discriminator)
        for member in self.members:
            case = self.one_of.members.get(member.name)
            if case is not None and case.name == said and body.get(member.name) is None:
                may = isinstance(member.field, Group) and member.field.may_be_empty
                return {**body, member.name: {}} if may else body
        return body

    def to_json(self, item: ConfigObject) -> Json:
        """All fields, defaults included, and which case of `one_of` it is."""
        found = self._writing.json(item)
        if self.one_of is None:
            return found
        return {"id": item.id, self.one_of.discriminator: self.one_of.of(item).name, **found}

    def to_stored_json(self, item: ConfigObject) -> Json:
        """As `to_json` without the fields that hold their default or follow from others."""
        object_id, *values = self._values(item)
        found = {"id": object_id}
        for (name, default, field), value in zip(self._stored, values, strict=True):
            if value is not default and value != default:
                found[name] = field.to_stored(value)
        return found

    def to_stored_text(self, item: ConfigObject) -> str:
        """`to_stored_json` as compact JSON."""
        object_id, *values = self._values(item)
        fields = [
            f',"{name}":{text(value)}'
            for (name, default, text), value in zip(self._texts, values, strict=True)
            if value is not default and value != default
        ]
        return f'{{"id":{encode_basestring(object_id)}{"".join(fields)}}}'

    @property
    def one(self) -> str:
        """With its article: that of a word, or of letters that are read one by one."""
        is_an = self.singular[0] in "aeiou" or self.singular.startswith(("OSPF", "SSH"))
        return f"{'an' if is_an else 'a'} {self.singular}"

    def called(self, item: ConfigObject) -> str:
        """An object in a message: "route 0.0.0.0/0"."""
        return f"{self.short} {item.name}"


_NONE = object()
"""The default of a field that has none."""


def _secrets_among(members: Iterable[Member], within: str = "") -> Iterator[tuple[str, Secret]]:
    """Each with its path; those in groups, too."""
    for member in members:
        if isinstance(member.field, Secret):
            yield within + member.name, member.field
        elif isinstance(member.field, Group):
            yield from _secrets_among(member.field.members, f"{within}{member.name}.")
