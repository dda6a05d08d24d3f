# SPDX-License-Identifier: Apache-2.0
"""The verbs of every declared kind: list, show, add, set and rm; show and set where there is one object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from weir.cli import output
from weir.cli.client import segment
from weir.cli.group import Command, Group, Session
from weir.cli.kind_options import choice_of, given_body, options_of, type_of
from weir.fields import Whole
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.kinds.words import value_text

Json = dict[str, Any]
PLACES = ("before", "after")
SEARCH_HELP = "Part of id, name or comment; an address finds what has a field that covers it."
MARKS = {True: "ok", False: "!!", None: "??"}
AGREEMENT = {
    True: "The system agrees.",
    False: "The system does NOT agree.",
    None: "Whether the system agrees is not known: not all of it was read.",
}


def candidate_option() -> click.Option:
    return click.Option(["--candidate"], is_flag=True, help="Stage it in your candidate.")


def write(
    session: Session, path: str, method: str, body: Json | None, candidate: bool, etag: str | None
) -> None:
    """Send a change, and say what became of it."""
    params = {"candidate": "1"} if candidate else {}
    answer = session.client.write(method, path, body, etag=etag, params=params)
    if session.json:
        output.show_json(answer)
    elif "candidate" in answer:
        output.staged(answer)
    else:
        click.echo(f"Done: {answer['id']}." if "id" in answer else "Done.")
        output.findings(answer.get("warnings", ()))


def present(session: Session, path: str, candidate: bool) -> Json:
    """The object as it runs, or as the candidate has it."""
    return session.client.get(path, candidate="1" if candidate else None)


def group_of(declaration: Declaration, verbs: Verbs | None = None) -> click.Group:
    """`weir route ...`: the verbs of one kind."""
    group = Group(declaration.short, help=declaration.about)
    verbs = verbs or Verbs(declaration)
    what = f"the {declaration.singular}" if declaration.is_single else declaration.one
    chosen = [] if declaration.is_single else [click.Argument(["object_id"], metavar="ID")]
    if declaration.state:
        said = f"What the router learnt about {what}."
        group.add_command(Command("state", callback=verbs.state, params=[*chosen], help=said))
    said = f"What became of {what} in the system, and whether it agrees."
    group.add_command(Command("explain", callback=verbs.explain, params=[*chosen], help=said))
    group.add_command(Command("show", callback=verbs.show, params=[*chosen], help=f"Show {what}."))
    change = [*chosen, *verbs.options(), _unset(declaration), candidate_option()]
    group.add_command(Command("set", callback=verbs.set, params=change, help=f"Change fields of {what}."))
    if not declaration.is_single:
        params: list[click.Parameter] = [click.Option(["--search", "words"], help=SEARCH_HELP)]
        said = f"List {declaration.plural}."
        group.add_command(Command("list", callback=verbs.list, params=params, help=said))
        params = [*_new(declaration), *verbs.options(required=False), candidate_option()]
        group.add_command(Command("add", callback=verbs.add, params=params, help=f"Add {what}."))
        params = [*chosen, candidate_option()]
        if declaration.order is not None:
            where = [click.Option([f"--{word}"], metavar="ID", help=f"Comes {word} it.") for word in PLACES]
            params = [*chosen, *where, candidate_option()]
            said = f"Move {what} in the order; to the end without an option."
            group.add_command(Command("move", callback=verbs.move, params=params, help=said))
            params = [*chosen, candidate_option()]
        group.add_command(Command("rm", callback=verbs.rm, params=params, help=f"Delete {what}."))
    return group


def _new(declaration: Declaration) -> list[click.Parameter]:
    """What a new object is named and needs."""
    required = [
        click.Argument([item.name], type=type_of(item.field)) for item in declaration.members if item.required
    ]
    if declaration.ids.assigned:
        return [*required, click.Option(["--id", "new_id"], help="Its id; assigned when omitted.")]
    return [click.Argument(["new_id"], metavar="ID"), *required]


class Verbs:
    """What the commands of one kind do."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.path = f"/{declaration.path}"

    def options(self, required: bool = True) -> list[click.Parameter]:
        """One for every field, or for those that may be left out."""
        one_of = self.declaration.one_of
        cases = [] if one_of is None else [choice_of(one_of)]
        return cases + options_of(item for item in self.declaration.members if required or not item.required)

    def list(self, words: str | None = None) -> None:
        session = session_now()
        names, learnt = ("id", *self.declaration.columns), self.declaration.state
        asked: Json = {"with": "state"} if learnt.keys() & set(names) else {}
        found = list(session.client.pages(self.path, q=words, **asked))
        if session.json:
            output.show_json({"items": found})
            return
        fields = {**learnt, **{item.name: item.field for item in self.declaration.members}}
        output.table(
            [_heading(name) for name in names],
            [[self._listed(item, name) for name in names] for item in found],
            right=[at for at, name in enumerate(names) if isinstance(fields.get(name), Whole)],
        )

    def _listed(self, item: Json, name: str) -> str:
        if name not in self.declaration.state:
            return _cell(item[name])
        value = item["state"][name]
        return "-" if value is None else value_text(name, value)

    def show(self, object_id: str = "") -> None:
        session = session_now()
        found = session.client.get(self._at(object_id))
        if session.json:
            output.show_json(found)
            return
        one_of = self.declaration.one_of
        cases = () if one_of is None else (one_of.discriminator,)
        names = ("id", *cases, *(item.name for item in self.declaration.members))
        output.table(("FIELD", "VALUE"), [(name.replace("_", " "), _cell(found[name])) for name in names])
        output.findings(found["warnings"])

    def state(self, object_id: str = "") -> None:
        session = session_now()
        found = session.client.get(f"{self._at(object_id)}/state")
        if session.json:
            output.show_json(found)
            return
        rows = [row for name, value in found["fields"].items() for row in _learnt(name, value)]
        output.table(("STATE", "VALUE"), rows)
        if found["stale_reason"] is not None:
            since = f"This is from {found['at']}" if found["at"] else "Nothing is known"
            click.echo(f"{since}: {output.clean(found['stale_reason'])}", err=True)

    def explain(self, object_id: str = "") -> None:
        session = session_now()
        found = session.client.get(f"{self._at(object_id)}/explain")
        if session.json:
            output.show_json(found)
            return
        if not found["lines"]:
            click.echo("Nothing in the system is made of it now.")
            return
        columns = ("field", "asked", "compiled", "system")
        output.table(
            ("", *map(_heading, columns)),
            [(MARKS[line["agrees"]], *(_cell(line[name]) for name in columns)) for line in found["lines"]],
        )
        click.echo(AGREEMENT[found["agrees"]])
        for item in found["drift"]:
            was = "Repaired" if item["repaired"] else "Still different"
            click.echo(f"{was} in {item['part']}: {output.clean(item['what'])}")

    def add(self, candidate: bool, new_id: str | None, **given: Any) -> None:
        body = self.body_of(given)
        write(session_now(), self.path, "POST", {"id": new_id, **body} if new_id else body, candidate, None)

    def set(self, candidate: bool, unset: tuple[str, ...], object_id: str = "", **given: Any) -> None:
        body = patch_body(unset, self.body_of(given))
        if not body:
            raise click.UsageError("Nothing to change: give at least one option, see --help.")
        session, path = session_now(), self._at(object_id)
        write(session, path, "PATCH", body, candidate, present(session, path, candidate)["etag"])

    def body_of(self, given: Json) -> Json:
        """The fields that options describe; those of a group are together in it."""
        return given_body(given)

    def rm(self, object_id: str, candidate: bool) -> None:
        session, path = session_now(), self._at(object_id)
        write(session, path, "DELETE", None, candidate, present(session, path, candidate)["etag"])

    def move(self, object_id: str, before: str | None, after: str | None, candidate: bool) -> None:
        if before and after:
            raise click.UsageError("Give --before or --after, not both.")
        body = {"before": before, "after": after}
        write(session_now(), f"{self._at(object_id)}/move", "POST", body, candidate, None)

    def _at(self, object_id: str) -> str:
        return self.path if self.declaration.is_single else f"{self.path}/{segment(object_id)}"


def session_now() -> Session:
    found = click.get_current_context().find_object(Session)
    assert found is not None
    return found


def _unset(declaration: Declaration) -> click.Option:
    names = [member.name for member in declaration.members if not member.required]
    return click.Option(
        ["--unset"], multiple=True, type=click.Choice(names), help="Back to the default; may be repeated."
    )


def patch_body(unset: Iterable[str], given: Json) -> Json:
    """The merge patch of fields that are set, and of those that take their default again."""
    twice = sorted(given.keys() & set(unset))
    if twice:
        raise click.UsageError(f"{twice[0]} is both set and unset.")
    return {**given, **dict.fromkeys(unset)}


def _heading(name: str) -> str:
    return name.replace("_", " ").upper()


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ("; " if value and isinstance(value[0], dict) else ",").join(map(_cell, value)) or "-"
    if isinstance(value, dict) and value.keys() == {"set"}:
        return "set" if value["set"] else "has to be entered again"
    if isinstance(value, dict):
        return " ".join(f"{name}={_cell(item)}" for name, item in value.items()) or "-"
    return str(value)


def _learnt(name: str, value: Any) -> list[tuple[str, str]]:
    """The lines of a part of a state, one for each of several; what nobody knows is a dash."""
    several = value if isinstance(value, list) and value else [value]
    texts = ["-" if item is None else value_text(name, item) for item in several]
    return [(name.replace("_", " ") if at == 0 else "", text) for at, text in enumerate(texts)]


def register(main: click.Group) -> None:
    """All declared kinds but those that have a group of their own already."""
    for declaration in DECLARED.values():
        if declaration.short not in main.commands:
            main.add_command(group_of(declaration))
