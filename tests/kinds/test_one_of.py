# SPDX-License-Identifier: Apache-2.0
"""An interface is made as one of several things: in JSON, patches, schemas and on the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.http.world import Client, World
from weir.cli.main import main
from weir.fields import Case, OneOf
from weir.http.app import describe
from weir.http.forms import described
from weir.kinds import DECLARED
from weir.model.codec import from_json, patched, to_json, to_stored_json
from weir.model.interface import Interface, Vlan
from weir.model.problem import Invalid

VLAN = {"parent": "eth1", "id": 7, "protocol": "802.1Q"}
ONE_OF = DECLARED["interface"].one_of
assert ONE_OF is not None


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Client]:
    with World(tmp_path) as world:
        yield world.client()


def refusals(body: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(Invalid) as refused:
        from_json("interface", body, "x", **options)
    return [f"{found.code} {found.field}" for found in refused.value.findings]


@pytest.mark.parametrize(
    ("body", "case"),
    [({}, "ethernet"), ({"vlan": VLAN}, "vlan"), ({"vrf_table": 0}, "vrf"), ({"vrf_table": 9}, "vrf")],
)
def test_what_it_is_follows_from_its_fields_and_may_be_said(body: dict[str, Any], case: str) -> None:
    item = from_json("interface", body, "x")
    full = to_json(item)
    assert list(full)[:2] == ["id", "type"] and full["type"] == case
    assert from_json("interface", full) == item == from_json("interface", {**body, "type": case}, "x")
    assert "type" not in to_stored_json(item) and from_json("interface", to_stored_json(item)) == item


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"type": "vlan"}, ["missing vlan"]),
        ({"type": "vrf", "vrf_table": None}, ["missing vrf_table"]),
        ({"type": "ethernet", "vlan": VLAN}, ["not-one-of vlan"]),
        ({"type": "vlan", "vlan": VLAN, "vrf_table": 3}, ["not-one-of vrf_table"]),
        ({"vlan": VLAN, "vrf_table": 3}, ["not-one-of vrf_table"]),
        ({"type": "team"}, ["bad-choice type"]),
        ({"type": 7}, ["bad-choice type"]),
        ({"type": "vlan", "vlan": {"id": 9999, "tag": 1}}, ["unknown-field vlan.tag", "missing vlan.parent"]),
    ],
)
def test_two_at_once_or_half_of_one_are_refused(body: dict[str, Any], said: list[str]) -> None:
    assert refusals(body)[: len(said)] == said


def test_what_was_stored_is_read_although_it_says_two_things() -> None:
    item = from_json("interface", {"vlan": VLAN, "vrf_table": 3}, "x", is_stored=True)
    assert isinstance(item, Interface) and (item.vlan, item.vrf_table) == (Vlan("eth1", 7), 3)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (Interface("x"), {"vlan": VLAN}, Interface("x", vlan=Vlan("eth1", 7))),
        (Interface("x", vlan=Vlan("eth1", 7)), {"vlan": None}, Interface("x")),
        (Interface("x", vlan=Vlan("eth1", 7)), {"vlan": {"id": 8}}, Interface("x", vlan=Vlan("eth1", 8))),
        (Interface("x", vlan=Vlan("eth1", 7)), {"type": "ethernet"}, Interface("x")),
        (Interface("x", vlan=Vlan("eth1", 7)), {"type": "vrf", "vrf_table": 0}, Interface("x", vrf_table=0)),
        (Interface("x", vrf_table=0), {"type": None, "mtu": 1400}, Interface("x", vrf_table=0, mtu=1400)),
    ],
)
def test_a_patch_changes_what_it_is(before: Interface, patch: dict[str, Any], after: Interface) -> None:
    assert patched(before, patch) == after


def test_a_patch_that_adds_another_case_is_refused() -> None:
    with pytest.raises(Invalid, match="vrf_table belongs to the type vrf, and this is vlan"):
        patched(Interface("x", vlan=Vlan("eth1", 7)), {"vrf_table": 0})


@pytest.mark.parametrize("name", ["Interface", "InterfaceInput", "InterfaceObject"])
def test_the_schemas_are_one_of_the_cases(name: str) -> None:
    schemas = json.loads(describe())["components"]["schemas"]
    said = schemas[name]["discriminator"]
    assert said["propertyName"] == "type" and tuple(said["mapping"]) == ONE_OF.names
    found = {case: schemas[place.rpartition("/")[2]] for case, place in said["mapping"].items()}
    for case, schema in found.items():
        assert schema["properties"]["type"]["enum"] == [case]
        own = next(item.member for item in ONE_OF.cases if item.name == case)
        for member in ONE_OF.members:
            assert (schema["properties"][member] == {"type": "null"}) is (member != own)
        assert own == "" or own in schema["required"]


def test_the_api_answers_what_an_interface_is(api: Client) -> None:
    assert api("PUT", "/interfaces/eth1", {}).json["type"] == "ethernet"
    made = api("PUT", "/interfaces/x", {"type": "vlan", "vlan": VLAN})
    assert (made.status_code, made.json["type"]) == (201, "vlan")
    refused = api("PATCH", "/interfaces/x", {"vrf_table": 5}, etag=made.json["etag"])
    assert (refused.status_code, refused.json["code"]) == (422, "not-one-of")
    changed = api("PATCH", "/interfaces/x", {"type": "ethernet"}, etag=made.json["etag"])
    assert (changed.json["type"], changed.json["vlan"]) == ("ethernet", None)


def test_the_command_line_has_an_option_for_each_field_of_a_case() -> None:
    interface = main.commands["interface"]
    assert isinstance(interface, click.Group)
    for verb in ("set", "add"):
        options = {name for item in interface.commands[verb].params for name in item.opts}
        assert options >= {"--type", "--vlan-parent", "--vlan-id", "--vlan-protocol", "--vrf-table"}


def test_a_form_shows_a_field_where_its_case_is_chosen() -> None:
    kind = described()["interface"]
    fields = {field["name"]: field for field in kind["fields"]}
    assert fields["type"]["choices"] == list(ONE_OF.names)
    assert kind["oneOf"]["field"] == "type"
    members = {case["name"]: case["member"] for case in kind["oneOf"]["cases"]}
    assert members == {"ethernet": "", "vlan": "vlan", "vrf": "vrf_table"} | {
        name: name for name in ("wireguard", "vxlan", "gre", "pppoe", "bridge", "bond", "loopback")
    }
    inner = {field["name"]: field for field in fields["vlan"]["fields"]}
    assert list(inner) == ["parent", "id", "protocol"]
    assert (inner["id"]["label"], inner["protocol"]["default"]) == ("ID", "802.1Q")
    assert "default" not in inner["parent"], "it is required"


@pytest.mark.parametrize("cases", [(), (Case("a", "", "a"),), (Case("a", ""), Case("b", ""))])
def test_a_declaration_that_does_not_tell_its_cases_apart_is_refused(cases: tuple[Case, ...]) -> None:
    with pytest.raises(TypeError, match="the first case has no member"):
        OneOf("type", *cases)
