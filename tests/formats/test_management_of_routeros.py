# SPDX-License-Identifier: Apache-2.0
"""Who reaches the router, where its logs go, its time zone: /ip service, /user, /system logging and clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.formats.routeros import import_of, of_kind, only
from weir.formats import routeros
from weir.kinds.identity import Identity
from weir.kinds.management import Management
from weir.kinds.ssh_server import SshServer
from weir.model.document import Document

BOUNDED = (
    "/ip service\n"
    "set telnet disabled=yes\n"
    "set www address=192.168.88.0/24,2001:db8::/64\n"
    "set winbox address=10.0.0.0/8,192.168.88.0/24\n"
)


def test_who_could_come_by_web_or_winbox_may_come_here() -> None:
    report = import_of(BOUNDED)
    assert only(report, "management")["sources"] == ["10.0.0.0/8", "192.168.88.0/24", "2001:db8::/64"]
    assert [line.code for line in report.lines] == ["no-service", "ok", "ok"]


def test_who_may_come_is_written_and_read_back() -> None:
    here = Management(sources=("10.0.0.0/8", "192.168.88.0/24", "2001:db8::/64"))
    text = routeros.write(Document([here]))
    assert text.count(" address=10.0.0.0/8,192.168.88.0/24,2001:db8::/64\n") == 5
    assert Document(import_of(text).others).single(Management) == here
    assert "/ip service" not in routeros.write(Document([Management()]))
    shown = routeros.write(Document([Management(certificate="c1")]))
    assert "# Not written: the certificate of management: its key is a secret.\n" in shown


def test_programs_that_are_named_may_come_as_well() -> None:
    report = import_of(BOUNDED + "set api-ssl address=198.51.100.5 certificate=none\n")
    assert "198.51.100.5/32" in only(report, "management")["sources"]  # type: ignore[operator]


@pytest.mark.parametrize(
    "text",
    [
        "set www address=192.168.88.0/24\n",  # WinBox is on, and answers everybody
        "set www address=192.168.88.0/24\nset winbox disabled=yes\nset www-ssl disabled=no\n",
        'set winbox address=""\nset www address=192.168.88.0/24\n',
    ],
)
def test_a_way_that_was_open_bounds_nothing(text: str) -> None:
    report = import_of(f"/ip service\n{text}", Document([Management(sources=("10.9.0.0/16",))]))
    assert of_kind(report, "management") == []
    (line,) = (line for line in report.lines if "192.168.88.0/24" in line.source)
    assert line.code == "sources" and "from everywhere" in line.reason


def test_a_service_that_is_off_says_nothing() -> None:
    report = import_of(
        "/ip service\nset www disabled=yes address=10.1.0.0/16\nset winbox address=10.2.0.0/16 port=8391\n"
    )
    assert only(report, "management")["sources"] == ["10.2.0.0/16"]
    assert [line.code for line in report.lines] == ["service-off", "port"]


def test_ssh_and_an_address_that_is_none_are_named() -> None:
    report = import_of("/ip service\nset ssh address=10.0.0.0/8 port=2222\nset www address=office\n")
    assert [line.code for line in report.lines] == ["ssh", "bad-value"]
    assert of_kind(report, "management") == []
    server = only(report, "ssh-server")
    assert (server["sources"], server["port"]) == (["10.0.0.0/8"], 2222) and not server.get("enabled")


@pytest.mark.parametrize("said", ["disabled=yes port=2222", "vrf=main", "port=443"])
def test_an_ssh_server_that_is_off_or_cannot_be_so_is_left_out(said: str) -> None:
    report = import_of(f"/ip service\nset ssh {said}\n")
    assert of_kind(report, "ssh-server") == []
    assert [line.fate for line in report.lines] == ["left-out"]


def test_an_ssh_server_comes_back_but_for_being_on() -> None:
    server = SshServer(enabled=True, port=2222, sources=("10.0.0.0/8",), idle_timeout_s=600)
    text = routeros.write(Document((server,)))
    assert "set ssh address=10.0.0.0/8 disabled=no port=2222\n" in text and "set strong-crypto=yes" in text
    assert "# Not written: that ssh-server takes keys alone" in text
    assert "# Not written: the idle timeout of ssh-server" in text
    (found,) = (item for item in import_of(text).others if isinstance(item, SshServer))
    assert found == replace(server, enabled=False, idle_timeout_s=1800)
    off = routeros.write(Document((SshServer(),)))
    assert 'set ssh address="" disabled=yes port=22\n' in off
    assert "set ssh" not in routeros.write(Document())


def test_a_server_that_rules_send_to_gets_the_least_severe_of_them() -> None:
    report = import_of(
        "/system logging action\n"
        "set 3 remote=192.0.2.14 syslog-facility=local0\n"
        "add name=noc remote=192.0.2.15 remote-port=5514 target=remote\n"
        "add name=unused remote=192.0.2.16 target=remote\n"
        "add name=many memory-lines=9999 target=memory\n"
        "/system logging\n"
        "add action=remote topics=error\n"
        "add action=remote topics=firewall,warning\n"
        "add action=noc\n"
        "add action=many topics=debug\n"
        "set 0 topics=info,!firewall\n"
    )
    found = {str(body["address"]): body for body in of_kind(report, "syslog-target")}
    assert found["192.0.2.14"]["severity"] == "warning" and found["192.0.2.14"]["facility"] == "local0"
    assert found["192.0.2.15"]["port"] == 5514 and found["192.0.2.15"].get("severity", "info") == "info"
    assert found["192.0.2.16"]["disabled"] is True and len(found) == 3
    codes = [line.code for line in report.lines]
    assert codes == ["ok", "ok", "no-rule", "no-server", "ok", "topics", "ok", "own-log", "own-log"]
    assert "firewall" in report.lines[5].reason


def test_a_facility_that_syslog_does_not_have_is_refused_with_its_line() -> None:
    report = import_of(
        "/system logging action\nadd name=a remote=192.0.2.1 syslog-facility=x target=remote\n"
    )
    assert report.lines[0].fate in ("left-out", "warning") and of_kind(report, "syslog-target") == []


def test_the_time_zone_is_taken_and_comes_back_in_an_export() -> None:
    before = Document([Identity(hostname="core")])
    report = import_of("/system clock\nset time-zone-autodetect=no time-zone-name=Europe/Berlin\n", before)
    assert only(report, "identity") == {"id": "identity", "hostname": "core", "time_zone": "Europe/Berlin"}
    assert "/system clock\nset time-zone-name=Europe/Berlin\n" in routeros.write(Document(report.others))
    for zone in ("manual", "Moon/Sea"):
        report = import_of(f"/system clock\nset time-zone-name={zone}\n", before)
        assert [line.fate for line in report.lines] == ["left-out"] and not list(report.others)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("name=Anna group=full password=hunter2", "weir user add anna --scope admin"),
        ("name=noc group=write", "weir user add noc --scope write"),
        ('name="the desk" group=read comment=x', "weir user add the-desk --scope read"),
        ("name=api group=api", "choose the scope admin, write or read"),
        ("name=a group=full address=10.0.0.0/8", "the management says that of all accounts"),
        ("name=a group=full disabled=yes", "It was disabled"),
        ('name="--" group=full', "no name that an account can have"),
    ],
)
def test_an_account_is_not_made_and_its_line_says_how(said: str, told: str) -> None:
    report = import_of(f"/user\nadd {said}\n")
    (line,) = report.lines
    assert line.fate == "left-out" and told in line.reason, line.reason
    assert not list(report.others) and "hunter2" not in repr(line)
