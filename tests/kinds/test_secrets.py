# SPDX-License-Identifier: Apache-2.0
"""A secret goes in and does not come out: tests look for its plain text in every output and file."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from tests.kinds.toys import Toy, toy
from weir.agent.secrets import Secrets
from weir.fields import OBJECT_IDS, Group, Rows, Secret, Text
from weir.fields.secret import LOST
from weir.http.forms import fields_of
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Conflict, Invalid, Unavailable
from weir.sealing import Key, seal

PLAIN = "correct-horse-battery"
OTHER = "staple-of-another-horse"
PASSPHRASE = "a passphrase ünder which"


@dataclass(frozen=True, slots=True)
class Lock:
    """What keeps a door shut."""

    pin: Annotated[str, Secret(4, 64)]
    key: Annotated[str | None, Secret(44, 44, made="x25519")] = None
    maker: Annotated[str, Text(50)] = ""


@dataclass(frozen=True, slots=True)
class Door:
    """A group with a secret and a group that has one."""

    word: Annotated[str | None, Secret(4, 64)] = None
    lock: Annotated[Lock | None, Group(Lock)] = None
    colour: Annotated[str, Text(50)] = "grey"


@dataclass(frozen=True, slots=True)
class Safe(ConfigObject):
    """Something with a lock."""

    kind: ClassVar[Kind] = "safe"
    id: str
    code: Annotated[str, Secret(8, 64, help="Opens it.")]
    spare: Annotated[str | None, Secret(1, 10)] = None
    door: Annotated[Door | None, Group(Door)] = None
    comment: Annotated[str, Text(50)] = ""


SAFE = Declaration(
    Safe,
    singular="safe",
    plural="safes",
    short="safe",
    about="Safes.",
    ids=replace(OBJECT_IDS, assigned="s"),
    columns=("code",),
)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path, SAFE) as found:
        yield found


def texts(bank: Toy, object_id: str = "s1") -> dict[str, str]:
    """What the agent reads in an object that it was given."""
    return bank.world.agent.secrets.texts(bank.world.agent.kernel["safe", object_id])


def test_only_the_agent_reads_it(bank: Toy) -> None:
    made = bank.api("POST", "/safes", {"code": PLAIN})
    assert made.status_code == 201
    assert (made.json["code"], made.json["spare"]) == ({"set": True}, None)
    assert texts(bank) == {"code": PLAIN}
    bank.api("PATCH", "/safes/s1", {"spare": "7"}, etag=made.json["etag"])
    assert texts(bank) == {"code": PLAIN, "spare": "7"}


def test_writes_without_it_keep_it(bank: Toy) -> None:
    api = bank.api
    shown = api("POST", "/safes", {"code": PLAIN, "spare": "7"}).json
    shown = api("PATCH", "/safes/s1", {"comment": "a"}, etag=shown["etag"]).json
    assert texts(bank) == {"code": PLAIN, "spare": "7"}
    shown = api("PUT", "/safes/s1", shown, etag=shown["etag"]).json
    assert texts(bank) == {"code": PLAIN, "spare": "7"}
    api("PATCH", "/safes/s1?candidate=1", {"code": OTHER}, etag=shown["etag"])
    new = {"code": {"set": True}, "comment": "b"}
    changes = {"changes": [{"kind": "safe", "id": "s1", "new": new}]}
    assert api("PUT", "/candidate/changes", changes).status_code == 200
    assert api("POST", "/candidate/commit", {}).status_code == 200
    assert texts(bank) == {"code": OTHER}
    bulk = {"upsert": [{"id": "s1", "code": {"set": True}, "comment": "c"}]}
    assert api("POST", "/safes/bulk", bulk).status_code == 200
    assert texts(bank) == {"code": OTHER}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("short", "bad-secret"),
        ("x" * 65, "bad-secret"),
        (None, "missing"),
        (87654321, "bad-secret"),
        (["a" * 10], "bad-secret"),
        ({"set": True}, "secret-not-set"),
        ({"set": "yes"}, "bad-secret"),
        ({"sealed": LOST}, "bad-secret"),
        ({"sealed": "0123456789abcdef." + "A" * 80}, "bad-secret"),
        ("nul\0 in the text", "bad-text"),
        ("half \ud800 a pair", "bad-text"),
    ],
)
def test_what_cannot_be_one_is_refused_and_not_repeated(bank: Toy, value: Any, code: str) -> None:
    body = json.dumps({"code": value})
    for method, path in (("POST", "/safes"), ("PUT", "/safes/s9")):
        refused = bank.api(method, path, data=body, content_type="application/json")
        assert (refused.status_code, refused.json["findings"][0]["code"]) == (422, code)
        assert refused.json["findings"][0]["field"] == "code"
        assert value is None or str(value) not in refused.text
    assert bank.world.database.exists() and bank.api("GET", "/safes").json["total"] == 0


def test_it_is_in_no_answer_file_or_log(bank: Toy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    api = bank.api
    said = [api("POST", "/safes", {"code": PLAIN}), api("POST", "/safes?candidate=1", {"code": PLAIN})]
    said += [api("PATCH", "/safes/s1", {"code": OTHER, "spare": "7"}, etag="r1")]
    said += [api("POST", "/safes", {"code": PLAIN, "unknown": PLAIN[::-1]})]
    for path in (
        "/safes",
        "/safes/s1",
        "/candidate",
        "/candidate/diff",
        "/revisions/0/diff/2",
        "/revisions/1/diff/2",
        "/system/audit",
        "/openapi.json",
        "/backup",
        "/export/csv",
    ):
        said.append(api("GET", path))
        assert said[-1].status_code == 200, path
    everything = b"\n".join(item.data for item in said) + caplog.text.encode()
    everything += bank.weir("safe", "list").encode() + bank.weir("safe", "show", "s1").encode()
    for path in bank.folder.rglob("*"):
        if path.is_file():
            everything += path.read_bytes()
    for text in (PLAIN, OTHER):
        assert text.encode() not in everything
        assert text.encode("utf-16-le") not in everything


def test_a_diff_says_that_it_changed(bank: Toy) -> None:
    bank.api("POST", "/safes", {"code": PLAIN})
    bank.api("PATCH", "/safes/s1", {"code": OTHER, "spare": "7"}, etag="r1")
    (change,) = bank.api("GET", "/revisions/1/diff/2").json["changes"]
    assert change["fields"] == [
        {"field": "spare", "old": None, "new": {"set": True}},
        {"field": "code", "old": "set", "new": "changed"},
    ]


def test_a_command_takes_it_from_a_file_or_standard_input(bank: Toy) -> None:
    (bank.folder / "code").write_text(f"{PLAIN}\n")
    bank.weir("safe", "add", str(bank.folder / "code"))
    assert texts(bank) == {"code": PLAIN}
    bank.weir("safe", "set", "s1", "--code", "-", stdin=f"{OTHER}\n")
    assert texts(bank) == {"code": OTHER}
    assert "cannot be read" in bank.weir("safe", "set", "s1", "--code", PLAIN, code=2)
    assert "set" in bank.weir("safe", "show", "s1")


def test_without_the_agent_nothing_is_sealed_and_the_rest_works(bank: Toy) -> None:
    bank.world.agent.__exit__(None, None, None)
    assert bank.api("POST", "/safes?candidate=1", {"code": PLAIN}).status_code == 503
    refused = bank.api("POST", "/safes?candidate=1", {"code": 7})
    assert refused.status_code == 422
    bank.world.agent.__enter__()


def send(api: Any, path: str, data: bytes, passphrase: str | None = None) -> Any:
    from urllib.parse import quote

    headers = {} if passphrase is None else {"Weir-Backup-Passphrase": quote(passphrase)}
    return api("POST", path, data=data, content_type="application/octet-stream", headers=headers)


def head_of(data: bytes) -> dict[str, Any]:
    return dict(json.loads(data.partition(b"\n")[0]))


def test_a_backup_names_what_it_leaves_out(bank: Toy, tmp_path: Path) -> None:
    bank.api("POST", "/safes", {"code": PLAIN})
    data = bank.api("GET", "/backup").data
    assert head_of(data)["secrets_left_out"] == ["safe/s1/code"]
    assert b'"sealed": "lost"' in data.replace(b'":"', b'": "')
    assert "1 secrets were left out: safe/s1/code" in bank.weir("backup", "save", str(tmp_path / "b"))
    bank.api("PATCH", "/safes/s1", {"comment": "x"}, etag="r1")
    assert send(bank.api, "/backup/restore", data).status_code == 200
    assert texts(bank) == {"code": PLAIN}, "the router that made the file keeps its own"


def test_another_router_says_what_has_to_be_entered_again(bank: Toy, tmp_path: Path) -> None:
    bank.api("POST", "/safes", {"code": PLAIN})
    data = bank.api("GET", "/backup").data
    (tmp_path / "other").mkdir()
    with toy(tmp_path / "other", SAFE) as other:
        (found,) = send(other.api, "/backup/check", data).json["findings"]
        assert (found["code"], found["kind"], found["id"]) == ("secret-missing", "safe", "s1")
        assert send(other.api, "/backup/restore", data).status_code == 200
        shown = other.api("GET", "/safes/s1").json
        assert shown["code"] == {"set": False} and shown["warnings"][0]["code"] == "secret-missing"
        assert "entered again" in other.weir("safe", "show", "s1")
        assert texts(other) == {}
        other.api("PATCH", "/safes/s1", {"comment": "y"}, etag=shown["etag"])
        entered = other.api("PATCH", "/safes/s1", {"code": OTHER}, etag="r2")
        assert entered.json["code"] == {"set": True} and entered.json["warnings"] == []
        assert texts(other) == {"code": OTHER}


def test_a_passphrase_takes_them_to_another_router(bank: Toy, tmp_path: Path) -> None:
    api = bank.api
    api("POST", "/safes", {"code": PLAIN, "spare": "7"})
    assert api("GET", "/backup?secrets=1").json["code"] == "no-passphrase"
    assert api("PUT", "/backup/passphrase", {"passphrase": PASSPHRASE}).status_code == 204
    data = api("GET", "/backup?secrets=1").data
    assert head_of(data)["secrets_left_out"] == [] and PLAIN.encode() not in data
    (tmp_path / "other").mkdir()
    with toy(tmp_path / "other", SAFE) as other:
        wrong = send(other.api, "/backup/restore", data, "not the passphrase")
        assert (wrong.status_code, wrong.json["code"]) == (403, "wrong-passphrase")
        assert other.api("GET", "/safes").json["total"] == 0
        (tmp_path / "file").write_bytes(data)
        (tmp_path / "phrase").write_text(PASSPHRASE)
        given = ("--passphrase", str(tmp_path / "phrase"), "--yes")
        other.weir("backup", "restore", str(tmp_path / "file"), *given)
        assert texts(other) == {"code": PLAIN, "spare": "7"}


def test_another_passphrase_needs_the_present_one(bank: Toy) -> None:
    api = bank.api
    bank.weir("backup", "passphrase", stdin=f"{PASSPHRASE}\n")
    refused = api("PUT", "/backup/passphrase", {"passphrase": "one of the thief"})
    assert (refused.status_code, refused.json["code"]) == (403, "wrong-passphrase")
    both = {"passphrase": "another of the owner", "old": PASSPHRASE}
    assert api("PUT", "/backup/passphrase", both).status_code == 204
    assert api("PUT", "/backup/passphrase", {"passphrase": "short"}).status_code == 422


def test_what_is_sealed_opens_at_its_place_with_its_key_only() -> None:
    key = Key.new()
    sealed = seal(key.public, "safe/s1/code", PLAIN)
    assert key.open("safe/s1/code", sealed) == PLAIN
    assert len(sealed) == len(seal(key.public, "safe/s1/code", "x")), "its length tells little"
    assert sealed != seal(key.public, "safe/s1/code", PLAIN), "who has the public half cannot compare"
    with pytest.raises(Invalid, match="another place"):
        key.open("safe/s2/code", sealed)
    with pytest.raises(Conflict, match="another router"):
        Key.new().open("safe/s1/code", sealed)
    with pytest.raises(Invalid, match="damaged"):
        key.open("safe/s1/code", sealed[:-8] + "AAAAAAA=")
    assert repr(key.private) not in repr(key)


def test_the_key_is_in_a_file_of_roots_own(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    public = Secrets(folder).key.public
    assert Secrets(folder).key.public == public
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(b"cut")
    with pytest.raises(Unavailable, match="is damaged"):
        _ = Secrets(folder).key


DOOR = {"word": "open sesame", "lock": {"pin": "20-07-1969", "maker": "Yale"}, "colour": "red"}
INSIDE = {"door.word": "open sesame", "door.lock.pin": "20-07-1969"}


def test_one_in_a_group_is_sealed_and_kept_as_any(bank: Toy) -> None:
    made = bank.api("POST", "/safes", {"code": PLAIN, "door": DOOR})
    assert made.status_code == 201, made.json
    known = {"set": True}
    assert made.json["door"] == {
        "word": known,
        "lock": {"pin": known, "key": known, "maker": "Yale"},
        "colour": "red",
    }
    assert typed(bank) == {"code": PLAIN, **INSIDE}
    shown = bank.api("PATCH", "/safes/s1", {"door": {"colour": "blue"}}, etag=made.json["etag"]).json
    assert typed(bank) == {"code": PLAIN, **INSIDE}
    patch = {"door": {"word": None, "lock": {"pin": "another"}}}
    shown = bank.api("PATCH", "/safes/s1", patch, etag=shown["etag"]).json
    assert typed(bank) == {"code": PLAIN, "door.lock.pin": "another"}
    refused = bank.api("PATCH", "/safes/s1", {"door": {"word": {"set": True}}}, etag=shown["etag"])
    assert [(item["code"], item["field"]) for item in refused.json["findings"]] == [
        ("secret-not-set", "door.word")
    ]
    refused = bank.api("PATCH", "/safes/s1", {"door": {"lock": {"pin": "xyz"}}}, etag=shown["etag"])
    assert [(item["code"], item["field"]) for item in refused.json["findings"]] == [
        ("bad-secret", "door.lock.pin")
    ]
    assert bank.api("PATCH", "/safes/s1", {"door": None}, etag=shown["etag"]).json["door"] is None
    assert texts(bank) == {"code": PLAIN}


def test_one_in_a_group_is_in_no_answer_or_file(bank: Toy) -> None:
    api = bank.api
    api("POST", "/safes", {"code": PLAIN, "door": DOOR})
    api("PATCH", "/safes/s1?candidate=1", {"door": {"lock": {"pin": "22-11-1963"}}}, etag="r1")
    (change,) = api("GET", "/candidate/diff").json["changes"]
    assert change["fields"] == [{"field": "door.lock.pin", "old": "set", "new": "changed"}]
    assert "set" in bank.weir("safe", "show", "s1")
    everything = b"".join(
        api("GET", path).data for path in ("/safes", "/candidate", "/revisions/0/diff/1", "/backup")
    )
    everything += b"".join(path.read_bytes() for path in bank.folder.rglob("*") if path.is_file())
    for text in (*INSIDE.values(), "22-11-1963"):
        assert text.encode() not in everything


def test_one_in_a_group_is_an_option_and_a_field(bank: Toy) -> None:
    bank.weir("safe", "add", "-", "--door-lock-pin", str(_file(bank, "20-07-1969")), stdin=f"{PLAIN}\n")
    key = texts(bank)["door.lock.key"]
    assert texts(bank) == {"code": PLAIN, "door.lock.pin": "20-07-1969", "door.lock.key": key}
    bank.weir("safe", "set", "s1", "--door-word", "-", stdin="open sesame\n")
    assert texts(bank) == {"code": PLAIN, **INSIDE, "door.lock.key": key}
    (door,) = (field for field in fields_of(SAFE) if field["name"] == "door")
    assert texts(bank)["door.lock.key"] == key
    (word, lock, _) = door["fields"]
    assert [field["type"] for field in (word, *lock["fields"])] == ["secret", "secret", "secret", "text"]


def typed(bank: Toy) -> dict[str, str]:
    """What people gave, without what the router made."""
    return {path: text for path, text in texts(bank).items() if path != "door.lock.key"}


def test_the_router_makes_one_that_nobody_gives(bank: Toy) -> None:
    key = "door.lock.key"
    made = bank.api("POST", "/safes", {"code": PLAIN, "door": DOOR}).json
    first = texts(bank)[key]
    assert len(first) == 44 and first.encode() not in bank.world.database.read_bytes()
    kept = {"code": PLAIN, "door": DOOR}
    made = bank.api("PUT", "/safes/s1", kept, etag=made["etag"]).json
    assert texts(bank)[key] == first, "what is replaced without one keeps its own"
    patch = {"door": {"lock": {"key": {"new": True}}}}
    made = bank.api("PATCH", "/safes/s1", patch, etag=made["etag"]).json
    assert texts(bank)[key] not in (first, None)
    patch = {"door": {"lock": {"key": first}}}
    assert bank.api("PATCH", "/safes/s1", patch, etag=made["etag"]).json["door"]["lock"]["key"] == {
        "set": True
    }
    assert texts(bank)[key] == first
    refused = bank.api("PATCH", "/safes/s1", {"code": {"new": True}}, etag="r4")
    assert refused.json["findings"][0]["code"] == "bad-secret", "nobody makes a code"


def _file(bank: Toy, text: str) -> Path:
    path = bank.folder / "typed"
    path.write_text(text)
    return path


def test_a_backup_takes_those_in_groups_under_a_passphrase_only(bank: Toy, tmp_path: Path) -> None:
    bank.api("POST", "/safes", {"code": PLAIN, "door": DOOR})
    data = bank.api("GET", "/backup").data
    assert head_of(data)["secrets_left_out"] == [
        "safe/s1/code",
        "safe/s1/door.lock.key",
        "safe/s1/door.lock.pin",
        "safe/s1/door.word",
    ]
    bank.api("PUT", "/backup/passphrase", {"passphrase": PASSPHRASE})
    with_secrets = bank.api("GET", "/backup?secrets=1").data
    (tmp_path / "other").mkdir()
    with toy(tmp_path / "other", SAFE) as other:
        assert send(other.api, "/backup/restore", data).status_code == 200
        shown = other.api("GET", "/safes/s1").json
        assert shown["door"]["lock"]["pin"] == {"set": False}
        assert "door.lock.pin" in {item["field"] for item in shown["warnings"]}
        assert texts(other) == {}
        assert send(other.api, "/backup/restore", with_secrets, PASSPHRASE).status_code == 200
        assert texts(other) == texts(bank) and typed(other) == {"code": PLAIN, **INSIDE}


def test_a_list_of_groups_has_no_secrets() -> None:
    with pytest.raises(TypeError, match="Door is in a list, so it cannot hold a secret"):
        Rows(Door, 8, by="colour")
