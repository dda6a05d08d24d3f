# SPDX-License-Identifier: Apache-2.0
"""Imports by REST: report first, commit exactly that, nothing dropped in silence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World

EXPORT = b"""# 2024-05-02 10:00:00 by RouterOS 7.14.3
/queue type
add kind=pcq name=pcq-10M pcq-classifier=dst-address pcq-rate=10M
/queue simple
add max-limit=1G/1G name="ALL" target="198.51.100.0/24"
add max-limit=7M/7M name="ACME" parent="ALL" queue=pcq-10M/pcq-10M target=198.51.100.10/32
set [ find name=x ] comment=y
"""
DEVICES = b"""Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,\
Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment
1,Acme,1,cpe,Tower,,203.0.113.10,,10,5,100,20,
"""
FIXTURES = Path(__file__).parents[1] / "formats/fixtures/routeros"
NETWORK = b'{"Tower": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "site"}}'


def upload(api: Client, kind: str, data: bytes, query: str = "") -> Any:
    return api("POST", f"/import/{kind}{query}", data=data, content_type="text/plain")


def test_a_report_changes_nothing_and_its_commit_is_one_revision(api: Client) -> None:
    made = upload(api, "routeros", EXPORT)
    assert made.status_code == 201, made.json
    report = made.json
    assert report["counts"] == {"added": 3, "changed": 0, "removed": 0}
    assert report["summary"]["left_out"] == 1
    left = [line for line in report["lines"] if line["fate"] == "left_out"]
    assert "set [ find" in left[0]["source"]
    assert left[0]["line"] == 7
    assert report["can_commit"] is True
    assert report["kernel"]["available"] is True
    assert api("GET", "/queues").json["total"] == 0

    done = api("POST", f"/import/reports/{report['id']}/commit", {"message": "moving in"})
    assert done.status_code == 200, done.json
    assert done.json["revision"] == 1
    names = {item["name"]: item for item in api("GET", "/queues").json["items"]}
    assert names["ACME"]["path"][0]["name"] == "ALL"
    assert api("GET", "/revisions/1").json["message"] == "moving in"
    assert api("GET", f"/import/reports/{report['id']}").status_code == 404


@pytest.mark.parametrize("name", ["home", "tower", "branch"])
def test_a_whole_router_is_committed_as_one_revision_and_again_changes_nothing(
    api: Client, name: str
) -> None:
    data = (FIXTURES / name / "export.rsc").read_bytes()
    report = upload(api, "routeros", data).json
    errors = [found for found in report["findings"] if found["severity"] == "error"]
    assert (report["can_commit"], errors) == (True, [])
    kinds = {item["kind"]: item["added"] for item in report["kinds"]}
    assert sum(kinds.values()) == report["counts"]["added"]
    assert {"interface", "firewall-rule", "nat-rule", "dns"} <= kinds.keys()
    done = api("POST", f"/import/reports/{report['id']}/commit", {})
    assert done.status_code == 200, done.json
    assert api("GET", "/firewall-rules").json["total"] == kinds["firewall-rule"]
    again = upload(api, "routeros", data).json
    assert (again["counts"], again["kinds"]) == ({"added": 0, "changed": 0, "removed": 0}, [])


def test_an_import_that_is_already_there_changes_nothing(api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    api("POST", f"/import/reports/{report['id']}/commit", {})
    again = upload(api, "routeros", EXPORT).json
    assert again["counts"] == {"added": 0, "changed": 0, "removed": 0}
    assert again["can_commit"] is False
    refused = api("POST", f"/import/reports/{again['id']}/commit", {})
    assert (refused.status_code, refused.json["code"]) == (409, "nothing-to-commit")


def test_a_report_on_an_old_revision_is_refused(api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    api("POST", "/queues", {"name": "meanwhile"})
    refused = api("POST", f"/import/reports/{report['id']}/commit", {})
    assert (refused.status_code, refused.json["code"]) == (409, "report-outdated")


def test_a_report_can_be_staged(api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    timed = {"candidate": True, "confirm_within_s": 60}
    refused = api("POST", f"/import/reports/{report['id']}/commit", timed)
    assert (refused.status_code, refused.json["path"]) == (422, "confirm_within_s")
    staged = api("POST", f"/import/reports/{report['id']}/commit", {"candidate": True})
    assert staged.status_code == 202
    assert staged.json["candidate"]["change_count"] == 3
    assert api("GET", "/queues").json["total"] == 0


def test_replace_removes_what_the_file_does_not_name(api: Client) -> None:
    api("POST", "/queues", {"name": "old"})
    assert upload(api, "routeros", EXPORT).json["counts"]["removed"] == 0
    report = upload(api, "routeros", EXPORT, "?replace=1").json
    assert report["counts"]["removed"] == 1
    api("POST", f"/import/reports/{report['id']}/commit", {})
    assert {item["name"] for item in api("GET", "/queues").json["items"]} == {"ALL", "ACME"}


def test_lines_are_paged_and_filtered_by_fate(api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    path = f"/import/reports/{report['id']}/lines"
    assert api("GET", f"{path}?fate=left_out").json["total"] == 1
    assert api("GET", f"{path}?q=acme").json["total"] == 1
    first = api("GET", f"{path}?limit=1").json
    assert first["next_cursor"] == "1"
    assert api("GET", f"{path}?cursor=x").status_code == 422


def test_libreqos_takes_two_files_as_a_form(api: Client) -> None:
    files = {
        "devices": (io.BytesIO(DEVICES), "ShapedDevices.csv"),
        "network": (io.BytesIO(NETWORK), "network.json"),
    }
    made = api("POST", "/import/libreqos", data=files, content_type="multipart/form-data")
    assert made.status_code == 201, made.json
    assert made.json["file_names"] == ["ShapedDevices.csv", "network.json"]
    assert made.json["counts"]["added"] == 2


def test_what_is_exported_is_imported_without_a_change(api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    api("POST", f"/import/reports/{report['id']}/commit", {})
    for kind in ("csv", "routeros"):
        exported = api("GET", f"/export/{kind}")
        assert exported.status_code == 200
        assert "attachment" in exported.headers["Content-Disposition"]
        again = upload(api, kind, exported.data).json
        assert again["counts"] == {"added": 0, "changed": 0, "removed": 0}, (kind, again)


@pytest.mark.parametrize("kind", ["routeros", "libreqos", "csv"])
@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01\x02", b"\xff\xfe\xff", b"PK\x03\x04", b"x" * 10_000, b"\n\n"]
)
def test_any_bytes_give_a_report_or_a_problem(shared_api: Client, kind: str, data: bytes) -> None:
    answer = upload(shared_api, kind, data)
    assert answer.status_code in (201, 400, 422), answer.text


def test_a_report_is_its_makers_alone(world: World, api: Client) -> None:
    report = upload(api, "routeros", EXPORT).json
    made = api("POST", "/users", {"username": "ops", "scope": "write", "password": "a long pass phrase"})
    assert made.status_code == 201
    session = world.app.test_client()
    body = {"username": "ops", "password": "a long pass phrase"}
    session.post("/api/v1/auth/sign-in", json=body)
    assert session.get(f"/api/v1/import/reports/{report['id']}").status_code == 404
    assert api("DELETE", f"/import/reports/{report['id']}").status_code == 204


def test_unknown_formats_and_missing_files(api: Client) -> None:
    assert api("POST", "/import/winbox", data=b"x", content_type="text/plain").status_code == 404
    empty = api("POST", "/import/csv", data={"a": "b"}, content_type="multipart/form-data")
    assert (empty.status_code, empty.json["code"]) == (400, "no-file")
    assert api("POST", "/import/csv", {"a": "b"}).status_code == 415


def test_what_is_said_of_a_file_comes_first(api: Client) -> None:
    report = upload(api, "routeros", b'/queue simple\nadd name=a burst-limit=1M/1M\nadd name="b').json
    assert [finding["code"] for finding in report["findings"]][:1] == ["file-cut"]
    assert report["findings"][0]["kind"] == "file"


def test_half_of_a_surrogate_pair_in_a_network_can_be_answered(api: Client) -> None:
    data = b'{"A\\ud800": {"downloadBandwidthMbps": 1, "uploadBandwidthMbps": 1, "type": "\\udfff"}}'
    made = upload(api, "libreqos", data)
    assert made.status_code == 201, made.text
    assert api("POST", f"/import/reports/{made.json['id']}/commit", {}).status_code == 200


@pytest.mark.parametrize(("name", "status"), [(b"\xf0\x9f\x8d\xba.rsc", 201), (b"x\x80.rsc", 400)])
def test_any_file_name_can_be_answered(api: Client, name: bytes, status: int) -> None:
    head = b'--cut\r\nContent-Disposition: form-data; name="f"; filename="' + name
    body = head + b'"\r\n\r\n' + EXPORT + b"\r\n--cut--\r\n"
    made = api("POST", "/import/routeros", data=body, content_type="multipart/form-data; boundary=cut")
    assert made.status_code == status, made.text
    assert status == 201 or "not UTF-8" in made.json["detail"]
