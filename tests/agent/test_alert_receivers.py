# SPDX-License-Identifier: Apache-2.0
"""One alert of a real agent to a real mail server and a real web server, which also misbehave."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.alert_rig import (
    PASSWORD,
    SERVER,
    Made,
    alerting,
    asked,
    hook,
    mail,
    refused,
    sealed,
    state,
)
from tests.agent.receivers import mail_server, web_server
from tests.polling import until


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with alerting(tmp_path_factory.mktemp("certificates")) as found:
        yield found


# -- mail -----------------------------------------------------------------------------------------------


def test_a_test_mail_arrives_and_the_answer_is_the_servers(made: Made) -> None:
    rig = made.rig
    with mail_server(rig.internet, SERVER) as server:
        rig.commit(mail(server.port, recipients=("noc@example.net", "boss@example.net")))
        answer = asked(rig, "noc")
        assert (answer["delivered"], answer["answer"]) == (True, "250 2.0.0 Ok: queued as 4711")
        (text,) = server.mails
    found = email.message_from_string(text, policy=email.policy.SMTP)
    assert (found["From"], found["To"]) == ("router@example.net", "noc@example.net, boss@example.net")
    assert found["Subject"] == f"{os.uname().nodename}: test"
    assert found["Auto-Submitted"] == "auto-generated" and found["Message-ID"]
    assert "admin asked the router to send this" in found.get_content()
    assert state(rig, "noc")["last_delivery"] is not None
    assert state(rig, "noc") | {"last_delivery": None} == {
        "last_delivery": None, "last_error": None, "last_error_at": None, "waiting": 0, "lost": 0,
    }  # fmt: skip


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_login_goes_encrypted_and_only_to_who_has_the_certificate(made: Made, security: str) -> None:
    rig, login = made.rig, ("weir", PASSWORD)
    way = {"login": login, "from_the_start": security == "tls"}
    said = {"security": security, "username": "weir", "password": sealed(rig, "noc", "password", PASSWORD)}
    with mail_server(rig.internet, SERVER, encrypts=made.trusted, **way) as server:
        rig.commit(mail(server.port, **said))
        assert asked(rig, "noc")["delivered"] and len(server.mails) == 1
    for context, why in ((made.strange, "self-signed certificate"), (made.misnamed, "IP address mismatch")):
        with mail_server(rig.internet, SERVER, encrypts=context, **way) as server:
            rig.commit(mail(server.port, **said))
            text = refused(rig, "noc")
            assert text.startswith("its certificate is not accepted: ") and why in text
            assert not server.mails and not any(line.startswith("AUTH") for line in server.commands)
    assert state(rig, "noc")["last_error"].startswith("its certificate is not accepted")


def test_a_server_without_starttls_gets_neither_password_nor_mail(made: Made) -> None:
    rig = made.rig
    password = sealed(rig, "noc", "password", PASSWORD)
    with mail_server(rig.internet, SERVER, login=("weir", PASSWORD)) as server:
        rig.commit(mail(server.port, security="starttls", username="weir", password=password))
        assert "STARTTLS" in refused(rig, "noc")
        assert not any(line.upper().startswith(("AUTH", "MAIL", "DATA")) for line in server.commands)


def test_a_wrong_password_is_told_and_never_shown(made: Made) -> None:
    rig = made.rig
    password = sealed(rig, "noc", "password", PASSWORD)
    with mail_server(rig.internet, SERVER, encrypts=made.trusted, login=("weir", "another")) as server:
        rig.commit(mail(server.port, security="starttls", username="weir", password=password))
        assert refused(rig, "noc") == "it answered 535 5.7.8 *** is not it"
    assert PASSWORD not in rig.agent_log() and PASSWORD not in json.dumps(state(rig, "noc"))
    assert PASSWORD not in json.dumps(rig.explain("noc", "alert-target"))


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("cuts", "it cut off the connection"),
        ("hangs", "it did not answer within 8 s"),
        ("drips", "it was not done in time: the server answers too slowly"),
        ("refuses", "it refused noc@example.net: 550 5.1.1 no such mailbox"),
        ("not now", "it answered 451 4.3.0 come back later"),
    ],
)
def test_a_mail_server_that_misbehaves_is_told_in_plain_words(made: Made, way: str, words: str) -> None:
    rig = made.rig
    with mail_server(rig.internet, SERVER, way=way) as server:
        rig.commit(mail(server.port))
        begun_s = time.monotonic()
        assert refused(rig, "noc") == words
        assert time.monotonic() - begun_s < 22
        assert not server.mails


@pytest.mark.parametrize("way", ["parts badly", "never parts"])
def test_a_mail_that_was_taken_is_delivered_however_the_server_parts(made: Made, way: str) -> None:
    """It would be sent again otherwise."""
    rig = made.rig
    with mail_server(rig.internet, SERVER, way=way) as server:
        rig.commit(mail(server.port))
        begun_s = time.monotonic()
        answer = asked(rig, "noc")
        assert (answer["delivered"], answer["answer"]) == (True, "250 2.0.0 Ok: queued as 4711")
        assert time.monotonic() - begun_s < 7
        assert (len(server.mails), server.commands[-1].upper()) == (1, "QUIT")


def test_of_two_recipients_one_may_be_refused(made: Made) -> None:
    rig = made.rig
    with mail_server(rig.internet, SERVER, way="refuses one") as server:
        rig.commit(mail(server.port, recipients=("noc@example.net", "nobody@example.net")))
        answer = asked(rig, "noc")
        assert answer["delivered"] and len(server.mails) == 1
        assert answer["answer"].endswith("but it refused nobody@example.net: 550 5.1.1 no such mailbox")


def test_nobody_there_is_told(made: Made) -> None:
    rig = made.rig
    with mail_server(rig.internet, SERVER) as server:
        gone = server.port
    rig.commit(mail(gone))
    assert refused(rig, "noc") == f"{SERVER} port {gone}: it refused the connection"
    rig.commit(mail(25, server="192.0.2.77"))
    assert "192.0.2.77 port 25" in refused(rig, "noc")
    rig.commit(mail(25, server="no-such-host.invalid"))
    assert "no-such-host.invalid is not known to the name servers" in refused(rig, "noc")


def test_the_routers_own_programs_get_no_commands_from_a_configuration(made: Made) -> None:
    for own in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0"):
        made.rig.commit(mail(25, server=own))
        assert refused(made.rig, "noc") == f"{own} is this router itself"
    addresses = ("203.0.113.2", "10.64.0.1", "2001:db8:64::1", "::ffff:10.64.0.1")
    until(
        "none is tentative", lambda: "tentative" not in made.rig.run("ip", "address", "show", "dev", "lan0")
    )
    with (
        netns.inside(made.rig.router),
        socket.create_server(("::", 2525), family=socket.AF_INET6, dualstack_ipv6=True),
    ):
        for own in addresses:
            made.rig.commit(mail(2525, server=own))
            assert refused(made.rig, "noc") == f"{own} is this router itself"


def test_a_webhook_in_a_private_network_is_reached(made: Made) -> None:
    with web_server(made.rig.client_ns, "10.64.0.2") as server:
        made.rig.commit(replace(hook(server.port), url=f"http://10.64.0.2:{server.port}/"))
        assert asked(made.rig, "chat")["delivered"]


# -- webhook --------------------------------------------------------------------------------------------


def test_a_test_by_webhook_arrives_with_its_token(made: Made) -> None:
    rig = made.rig
    token = sealed(rig, "chat", "token", f"Bearer {PASSWORD}")
    with web_server(rig.internet, SERVER, made.trusted) as server:
        rig.commit(hook(server.port, "https", token=token))
        assert (asked(rig, "chat")["answer"], len(server.posts)) == ("204 No Content", 1)
        path, headers, body = server.posts[0]
        place = f"{SERVER}:{server.port}"
    assert (path, headers["Authorization"]) == ("/hooks/1?a=b", f"Bearer {PASSWORD}")
    assert (headers["Content-Type"], headers["Host"]) == ("application/json", place)
    said = json.loads(body)
    assert (said["event"], said["text"]) == ("test", f"{os.uname().nodename}: test")


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("cuts", "it cut off the connection"),
        ("hangs", "it did not answer within 8 s"),
        ("moves", "it answered 302 Found: it moved to http://192.0.2.1/elsewhere, which is not followed"),
        ("babbles", "what it answered is no HTTP: BadStatusLine"),
    ],
)
def test_a_web_server_that_misbehaves_is_told_in_plain_words(made: Made, way: str, words: str) -> None:
    with web_server(made.rig.internet, SERVER, way=way) as server:
        made.rig.commit(hook(server.port))
        assert refused(made.rig, "chat") == words


def test_a_server_that_repeats_what_it_was_sent_does_not_make_the_token_known(made: Made) -> None:
    rig = made.rig
    with web_server(rig.internet, SERVER, way="fails") as server:
        rig.commit(hook(server.port, token=sealed(rig, "chat", "token", PASSWORD)))
        answer = refused(rig, "chat")
    assert answer.startswith("it answered 500 Internal Server Error: ") and "Authorization: ***" in answer
    assert PASSWORD not in rig.agent_log() and PASSWORD not in json.dumps(state(rig, "chat"))


@pytest.mark.parametrize(
    "says",
    [
        PASSWORD,
        base64.b64encode(PASSWORD.encode()).decode(),
        *("." * (end - len(PASSWORD) // 2) + PASSWORD + "." * 9000 for end in (300, 400, 4096)),
        " " * (4096 - len(PASSWORD) // 2) + PASSWORD,
    ],
    ids=["bare", "base64", "over 300", "over 400", "over 4096", "over 4096 after blanks"],
)
def test_no_part_of_a_token_is_shown_wherever_an_answer_has_it(made: Made, says: str) -> None:
    rig = made.rig
    with web_server(rig.internet, SERVER, way="fails") as server:
        server.says = says.encode()
        rig.commit(hook(server.port, token=sealed(rig, "chat", "token", f"Bearer {PASSWORD}")))
        answer = refused(rig, "chat")
    assert answer.startswith("it answered 500 Internal Server Error")
    assert PASSWORD[:3] not in answer and says[:12] not in answer.replace(".", "")


def test_a_password_is_not_shown_as_a_login_sends_it(made: Made) -> None:
    rig = made.rig
    password = sealed(rig, "noc", "password", PASSWORD)
    way = {"login": ("weir", PASSWORD), "way": "repeats"}
    with mail_server(rig.internet, SERVER, encrypts=made.trusted, **way) as server:
        rig.commit(mail(server.port, security="starttls", username="weir", password=password))
        assert refused(rig, "noc") == "it answered 535 5.7.8 AUTH PLAIN *** is not it"


def test_a_webhook_with_a_bad_certificate_gets_nothing(made: Made) -> None:
    for context in (made.strange, made.misnamed):
        with web_server(made.rig.internet, SERVER, context) as server:
            made.rig.commit(hook(server.port, "https"))
            assert refused(made.rig, "chat").startswith("its certificate is not accepted")
            assert server.connections == 0
