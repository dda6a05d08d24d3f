# SPDX-License-Identifier: Apache-2.0
"""Each field type gets what it cannot be, on each way in: findings that name the field, never a 5xx."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest

from tests.http.world import Client
from tests.kinds.toys import Toy, toy
from weir import fields
from weir.fields import (
    Address,
    AddressRange,
    Choice,
    DnsName,
    EachWay,
    End,
    Endpoint,
    Flag,
    Group,
    Host,
    HostName,
    HostPart,
    Hours,
    Label,
    Mac,
    Mailbox,
    Many,
    Pem,
    Port,
    Ports,
    Position,
    Prefix,
    PublicKey,
    Quantity,
    Ref,
    Rows,
    Secret,
    SetMember,
    SshPublicKey,
    Table,
    Target,
    Text,
    Url,
    Vlans,
    Whole,
    Word,
    ZoneName,
)
from weir.formats.csv import HEADER
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind, Pair
from weir.model.schedule import TimeWindow


@dataclass(frozen=True, slots=True)
class Drawer:
    host: Annotated[str, Host()]
    depth: Annotated[int, Whole(1, 9)] = 1
    flag: Annotated[bool, Flag()] = False


NO_TURNS = Pair(0, 0)


@dataclass(frozen=True, slots=True)
class Lock:
    host: Annotated[str, Host()]
    turns: Annotated[int, Whole(1, 9)] = 1


@dataclass(frozen=True, slots=True)
class Chest(ConfigObject):
    """It holds a field of each type."""

    kind: ClassVar[Kind] = "chest"
    id: str
    flag: Annotated[bool, Flag()] = False
    whole: Annotated[int, Whole(1, 99)] = 1
    choice: Annotated[str, Choice("oak", "iron")] = "oak"
    text: Annotated[str, Text(50)] = ""
    lines: Annotated[str, Text(50, lines=True)] = ""
    host: Annotated[str | None, Host()] = None
    server: Annotated[str | None, HostName()] = None
    zone: Annotated[str | None, DnsName()] = None
    endpoint: Annotated[str | None, Endpoint()] = None
    key: Annotated[str | None, PublicKey()] = None
    ssh: Annotated[str | None, SshPublicKey()] = None
    chain: Annotated[str | None, Pem()] = None
    owner: Annotated[str | None, Mailbox()] = None
    web: Annotated[str | None, Url()] = None
    prefix: Annotated[str | None, Prefix()] = None
    port: Annotated[int, Port()] = 80
    inside: Annotated[str | None, Ref("chest")] = None
    others: Annotated[tuple[str, ...], Many(Ref("chest"), 5)] = ()
    hosts: Annotated[tuple[str, ...], Many(Host(), 5)] = ()
    host_part: Annotated[str, HostPart()] = "::1000"
    ports: Annotated[tuple[int, ...], Many(Port(), 5)] = ()
    table: Annotated[tuple[tuple[str, str], ...], Table(Text(10), 3)] = ()
    drawers: Annotated[tuple[Drawer, ...], Rows(Drawer, 3, by="host")] = ()
    address: Annotated[str | None, Address()] = None
    pool: Annotated[tuple[str, ...], Many(AddressRange(), 5)] = ()
    mac: Annotated[str | None, Mac()] = None
    spans: Annotated[tuple[str, ...], Many(Ports(), 5)] = ()
    tags: Annotated[str | None, Vlans()] = None
    member: Annotated[str | None, SetMember()] = None
    mark: Annotated[str | None, Label()] = None
    word: Annotated[tuple[str, ...], Many(Word("new", "old"), 5)] = ()
    each_way: Annotated[Pair[int], EachWay("Turns", Whole(0, 9))] = NO_TURNS
    end: Annotated[str | None, End()] = None
    open_at: Annotated[TimeWindow | None, Hours(of="toys")] = None
    target: Annotated[tuple[str, ...], Many(Target(), 5)] = ()
    lock: Annotated[Lock | None, Group(Lock)] = None
    secret: Annotated[str | None, Secret(1, 20)] = None
    size: Annotated[str, Quantity(20, pattern="[0-9]+[KM]?")] = "1K"
    clock: Annotated[str | None, ZoneName()] = None
    position: Annotated[int, Position()] = 0


CHEST = Declaration(Chest, singular="chest", plural="chests", short="chest", about="Chests.")
LEARNT_ONLY = {"Moment"}
"""Nobody writes it: it is a field of states."""
FIELDS = tuple(member.name for member in CHEST.members)
MANY = 5_000
"""More than an answer has findings (1,000); each field gets so many, on each way."""
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x" * 100_000,
    "\ud800",
    "a\u202eb",
    "nul\0",
    "\u2028",
    "../../etc",
    "10.0.0.1/33",
    "10.0.0.1/8",
    "fe80::1%eth0",
    "[fe80::1]:",
    "vpn.example.net:0518209",
    "a@b@c..d",
    "@",
    "http://[::1",
    "https://u:p@host/#x",
    "https://\u0130/",
    "nobody",
    [],
    ["\ud800"],
    [[]],
    ["10.0.0.1"] * MANY,
    list(range(MANY)),
    {},
    {"a": 1},
    {"\ud800": "x"},
    {str(n): "x" for n in range(MANY)},
    {"set": True},
    {"sealed": "lost"},
)


def types_of(field: Any) -> Iterator[str]:
    yield type(field).__name__
    if isinstance(field, Many):
        yield from types_of(field.item)
    if isinstance(field, Table):
        yield from types_of(field.text)


def test_every_type_of_field_is_in_the_chest() -> None:
    """A new type fails here until a field of it is given what it cannot be."""
    declared = {name for name in fields.__all__ if inspect.isclass(getattr(fields, name))}
    concrete = {
        name
        for name in declared
        if issubclass(getattr(fields, name), fields.Field) and not inspect.isabstract(getattr(fields, name))
    }
    covered = {name for member in CHEST.members for name in types_of(member.field)}
    assert concrete - LEARNT_ONLY - covered == set()
    assert len(concrete) > 20, "the types were not found"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(tmp_path_factory.mktemp("hall"), CHEST) as found:
        assert found.api("PUT", "/chests/c1", {}).status_code == 201
        yield found


def send(hall: Toy, method: str, path: str, body: Any, etag: str | None = None) -> Any:
    return hall.api(method, path, data=json.dumps(body), content_type="application/json", etag=etag)


def judged(answer: Any, field: str) -> bool:
    """Whether it was accepted; a refusal names the field, in so many bytes that people can read them."""
    assert answer.status_code < 500, answer.text[:500]
    if answer.status_code < 300:
        return True
    if answer.status_code == 413:
        assert "at most" in answer.json["detail"]
        return False
    assert answer.status_code == 422, (answer.status_code, answer.text[:500])
    found = answer.json["findings"]
    assert found and all(field in (item["field"] or "") for item in found), found[:3]
    assert all(item["message"] and item["code"] for item in found)
    assert len(answer.data) < 400_000
    return False


@pytest.mark.parametrize("field", FIELDS)
def test_rest_names_what_is_wrong(hall: Toy, field: str) -> None:
    for value in HOSTILE:
        etag = hall.api("GET", "/chests/c1").json["etag"]
        if judged(send(hall, "PUT", "/chests/c1", {field: value}, etag), field):
            shown = hall.api("GET", "/chests/c1")
            assert shown.status_code == 200 and json.loads(shown.data.decode())
            etag = shown.json["etag"]
        judged(send(hall, "PATCH", "/chests/c1", {field: value}, etag), field)


@pytest.mark.parametrize("field", FIELDS)
def test_many_at_once_and_staged_ones_are_judged_alike(hall: Toy, field: str) -> None:
    for value in HOSTILE:
        alone = judged(send(hall, "PUT", "/chests/c2?candidate=1", {field: value}), field)
        change = {"kind": "chest", "id": "c2", "new": {field: value}}
        assert judged(send(hall, "PUT", "/candidate/changes", {"changes": [change]}), field) is alone
        bulk = {"upsert": [{"id": "c2", field: value}]}
        assert judged(send(hall, "POST", "/chests/bulk?candidate=1", bulk), f"upsert[0].{field}") is alone
        hall.api("DELETE", "/candidate")


@pytest.mark.parametrize("field", ["hosts", "table", "lock"])
@pytest.mark.parametrize(
    "value",
    [["10.0.0.1"] * 100_000, list(range(100_000)), {str(n): "x" for n in range(100_000)}],
    ids=["texts", "numbers", "members"],
)
def test_a_hundred_thousand_are_refused_in_a_short_answer(hall: Toy, field: str, value: Any) -> None:
    etag = hall.api("GET", "/chests/c1").json["etag"]
    assert not judged(send(hall, "PATCH", "/chests/c1", {field: value}, etag), field)
    bulk = {"upsert": [{"id": "c2", field: value}]}
    assert not judged(send(hall, "POST", "/chests/bulk?candidate=1", bulk), f"upsert[0].{field}")


@pytest.mark.parametrize("field", FIELDS)
def test_a_backup_with_it_is_refused_as_a_whole(hall: Toy, field: str) -> None:
    before = hall.api("GET", "/chests/c1").json
    for value in HOSTILE:
        line = (
            json.dumps({"kind": "chest", "id": "c1", "object": {"id": "c1", field: value}}).encode() + b"\n"
        )
        head = {"format": "weir-backup", "version": 1, "objects": 1}
        head["sha256"] = hashlib.sha256(line).hexdigest()
        data = json.dumps(head).encode() + b"\n" + line
        answer = hall.api("POST", "/backup/check", data=data, content_type="application/octet-stream")
        assert answer.status_code in (200, 422), answer.text[:500]
        if answer.status_code == 422:
            assert answer.json["code"] == "backup-refused" and field in answer.json["detail"]
    assert hall.api("GET", "/chests/c1").json == before


@pytest.mark.parametrize(
    "value", ["", "x" * 1000, "\u202e", "-1", "nobody", "10.0.0.1/33", "99999999999999999999"]
)
def test_the_command_line_says_what_is_wrong(hall: Toy, value: str) -> None:
    for member in CHEST.members:
        if member.name not in ("flag", "table", "position"):
            option = f"--{member.name}={value}"
            try:
                hall.weir("chest", "set", "c1", option)
            except AssertionError as refused:
                _, code, said, error = refused.args[0]
                assert code in (1, 2), (option, said)
                assert member.name in said.replace("-", "_") or repr(value) in said, (option, said)
                assert isinstance(error, SystemExit), error


@pytest.mark.parametrize(
    "given", [("set", "c1", "--text", "a\udced"), ("show", "\udcff"), ("rm", "\ud800")], ids=str
)
def test_bytes_that_are_no_text_are_named_by_the_command_line(hall: Toy, given: tuple[str, ...]) -> None:
    assert hall.weir("chest", *given, code=2) == f"error: {given[-1]!r} is not text in UTF-8\n"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("NTP.Example.org.", "ntp.example.org"),
        ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("192.0.2", None),
        ("192.0.2.1/32", None),
        ("-a.example.org", None),
        ("a..b", None),
        ("a b", None),
        ("a\nallow", None),
        ("\u212a.example.org", None),  # the sign for Kelvin, which becomes a k in lower case
        ("x" * 64, None),
        (".".join(["x" * 63] * 4), None),
    ],
)
def test_a_host_by_name_or_address_is_kept_in_one_way(hall: Toy, given: str, kept: str | None) -> None:
    etag = hall.api("GET", "/chests/c1").json["etag"]
    answer = send(hall, "PATCH", "/chests/c1", {"server": given}, etag)
    assert judged(answer, "server") is (kept is not None)
    assert kept is None or answer.json["server"] == kept


@pytest.mark.parametrize(
    "name", ["etagg", "state", "path", "used_by", "enforcement", "\ud800", "a\nb", "x" * 9999]
)
def test_a_field_that_there_is_not_is_refused(hall: Toy, name: str) -> None:
    for method, path, body in (
        ("PUT", "/chests/c9", {name: 1}),
        ("POST", "/chests/bulk", {"upsert": [{"id": "c9", name: 1}]}),
        ("PUT", "/candidate/changes", {"changes": [{"kind": "chest", "id": "c9", "new": {name: 1}}]}),
    ):
        refused = send(hall, method, path, body)
        assert refused.status_code == 422, refused.text
        assert refused.json["findings"][0]["code"] == "unknown-field"


def test_references_may_be_a_circle_and_not_to_nothing(hall: Toy) -> None:
    both = [{"id": "x", "inside": "y"}, {"id": "y", "inside": "x"}]
    assert send(hall, "POST", "/chests/bulk", {"upsert": both}).status_code == 200
    assert send(hall, "POST", "/chests/bulk", {"upsert": [{"id": "z", "inside": "z"}]}).status_code == 200
    refused = send(hall, "PUT", "/chests/w", {"inside": "nothing"})
    assert refused.json["findings"][0]["code"] == "unknown-chest"
    assert send(hall, "POST", "/chests/bulk", {"delete": ["x"]}).json["code"] == "still-referenced"
    assert send(hall, "POST", "/chests/bulk", {"delete": ["x", "y", "z"]}).status_code == 200


CELLS = (
    "nul\0",
    "a\u202eb",
    "\u2028",
    "\ufeff",
    "x" * 100_000,
    "-1",
    "99999999999999999999",
    "1e999",
    "nan",
    "10.0.0.1/33",
    " ".join(["10.0.0.1"] * 5000),
    "=cmd()",
    '"',
    "nobody",
)


def reported(api: Client, kind: str, data: bytes) -> None:
    """It is read, and each thing that is not taken has a reason; or refused as a whole, in words."""
    answer = api("POST", f"/import/{kind}", data=data, content_type="text/plain")
    assert answer.status_code in (201, 413, 422), (data[:200], answer.status_code, answer.text[:500])
    assert answer.data.decode(), "readable as a whole"
    if answer.status_code != 201:
        assert answer.json["code"] and answer.json["detail"]
        return
    for line in answer.json["lines"]:
        if line["fate"] != "imported":
            assert line["line"] > 0 and line["code"] and line["reason"], line


@pytest.mark.parametrize("column", HEADER)
def test_a_table_with_it_says_which_line_and_why(hall: Toy, column: str) -> None:
    for cell in (*CELLS, "lone\udc80"):
        quoted = '"' + cell.replace('"', '""') + '"'
        head, row = (f"name,{column}", f"a,{quoted}") if column != "name" else ("name", quoted)
        reported(hall.api, "csv", f"{head}\n{row}\n".encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    "option", ["name", "target", "max-limit", "parent", "queue", "time", "comment", "dst"]
)
def test_an_export_with_it_says_which_line_and_why(hall: Toy, option: str) -> None:
    for cell in (*CELLS, "lone\udc80", "\\", "[", "$x", ";"):
        line = f'/queue simple\nadd name=a target=10.0.0.0/24 {option}="{cell}"\n'
        reported(hall.api, "routeros", line.encode("utf-8", "surrogateescape"))
