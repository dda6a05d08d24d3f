# SPDX-License-Identifier: Apache-2.0
"""Alerts of a real agent to a real mail server and a real web server, which also misbehave."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.receivers import certificate, mail_server, web_server
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.alert_rule import AlertRule
from weir.kinds.alert_target import AlertTarget
from weir.kinds.secrets import place_of
from weir.model.problem import Conflict
from weir.sealing import seal

SERVER, OTHER = "203.0.113.1", "203.0.113.9"
PASSWORD = "ju8-password-of-the-router"
NOBODY = "65534"


@dataclass
class Made:
    rig: Rig
    trusted: ssl.SSLContext
    strange: ssl.SSLContext
    misnamed: ssl.SSLContext


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("certificates")
    trusted, context = certificate(folder, "trusted", SERVER)
    other, misnamed = certificate(folder, "misnamed", OTHER)
    _, strange = certificate(folder, "strange", SERVER)
    bundle = Path(f"/run/weir-alerts-test-{os.getpid()}.pem")
    bundle.write_text(trusted.read_text() + other.read_text())
    try:
        with running("--look-interval-s", "0.2", "--ca-bundle", str(bundle)) as rig:
            rig.commit(lan(), wan())
            yield Made(rig, context, strange, misnamed)
    finally:
        bundle.unlink()


def sealed(rig: Rig, target: str, path: str, text: str) -> str:
    key = base64.b64decode(rig.agent.call("secrets_key")["key"])
    return seal(key, place_of("alert-target", target, path), text)


def mail(port: int, **more: Any) -> AlertTarget:
    said = {"security": "none", "sender": "router@example.net", "recipients": ("noc@example.net",)}
    return AlertTarget("noc", "mail", **{"server": SERVER, "port": port, **said, **more})


def hook(port: int, scheme: str = "http", **more: Any) -> AlertTarget:
    return AlertTarget("chat", "webhook", url=f"{scheme}://{SERVER}:{port}/hooks/1?a=b", **more)


def asked(rig: Rig, target: str) -> dict[str, Any]:
    return rig.agent.call("alert_test", {"id": target, "by": "admin"})


def refused(rig: Rig, target: str) -> str:
    answer = asked(rig, target)
    assert not answer["delivered"], answer
    return str(answer["answer"])


def state(rig: Rig, target: str) -> dict[str, Any]:
    found = rig.agent.call("state", {"kind": "alert-target", "ids": [target]})["objects"]
    return dict(found.get(target, {}))


def sick(rig: Rig) -> None:
    """A port with one lock for four queues: the finding `one-lock` of spare0, a notice."""
    rig.run("ip", "link", "add", "spare0", "numtxqueues", "4", "type", "veth", "peer", "name", "spare1")
    rig.run("ip", "link", "set", "spare0", "up")
    rig.run("tc", "qdisc", "replace", "dev", "spare0", "root", "pfifo")


def healed(rig: Rig) -> None:
    rig.run("ip", "link", "delete", "spare0")


def forget(rig: Rig) -> None:
    """No targets and rules, so that each test begins with none."""
    rules = [("alert-rule", name) for name in ("all", "worse", "other", "off")]
    targets = [("alert-target", name) for name in ("noc", "chat")]
    with rig.store.write() as transaction:
        held = [key for key in (*rules, *targets) if transaction.stored(*key) is not None]
    rig.commit(delete=held)


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


# -- findings -------------------------------------------------------------------------------------------


def test_a_finding_is_told_once_when_it_begins_and_once_when_it_ends(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with mail_server(rig.internet, SERVER) as post, web_server(rig.internet, SERVER) as web:
        rules = (
            AlertRule("all", severity="notice", targets=("noc", "chat")),
            AlertRule("worse", severity="warning", targets=("noc",)),
            AlertRule("other", severity="notice", codes=("ring-overrun",), targets=("noc",)),
            AlertRule("off", severity="notice", targets=("noc",), disabled=True),
        )
        rig.commit(mail(post.port), hook(web.port), *rules)
        sick(rig)
        until("both are told", lambda: post.mails and web.posts)
        samples = rig.agent.call("findings")["samples"]
        until("it lasts", lambda: rig.agent.call("findings")["samples"] > samples + 10)
        assert (len(post.mails), len(web.posts)) == (1, 1), "it is told once"
        healed(rig)
        until("the end is told", lambda: len(post.mails) == 2 and len(web.posts) == 2)
        until("nothing waits", lambda: state(rig, "noc")["waiting"] == 0)
    begins, ends = (json.loads(body) for _, _, body in web.posts)
    assert (begins["event"], begins["code"], begins["subject"]) == ("begins", "one-lock", "spare0")
    assert (begins["severity"], ends["event"]) == ("notice", "ends")
    assert begins["remedies"] and begins["since"] == ends["since"]
    first, last = (email.message_from_string(text, policy=email.policy.SMTP) for text in post.mails)
    assert "A port has one lock for all cores (spare0)" in first["Subject"]
    assert "is not seen any more" in last.get_content()


def events(posts: list[Any]) -> list[str]:
    return [json.loads(body)["event"] for _, _, body in posts]


def test_a_target_that_joins_a_rule_is_told_what_lasts_and_nobody_else_again(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with mail_server(rig.internet, SERVER) as post, web_server(rig.internet, SERVER) as web:
        rule = AlertRule("all", severity="notice", targets=("chat",))
        rig.commit(mail(post.port), hook(web.port), rule)
        sick(rig)
        until("the first is told", lambda: web.posts)
        rig.commit(replace(rule, targets=("chat", "noc")))
        until("the one that joined is told", lambda: post.mails, 10.0)
        rig.commit(mail(post.port, disabled=True))
        rig.commit(mail(post.port))
        until("who is back is told again", lambda: len(post.mails) == 2, 10.0)
        rig.commit(rule)
        looks_pass(rig)
        healed(rig)
        until("the end is told", lambda: len(web.posts) > 1)
        looks_pass(rig)
    assert events(web.posts) == ["begins", "ends"]
    assert len(post.mails) == 2, "no rule names it at the end"


def test_of_several_rules_for_one_target_each_finding_is_told_once(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with web_server(rig.internet, SERVER) as web:
        rules = (
            AlertRule("all", severity="notice", targets=("chat",)),
            AlertRule("other", severity="notice", targets=("chat",), repeat_after_s=1),
            AlertRule("worse", severity="notice", targets=("chat",), repeat_after_s=600),
        )
        rig.commit(hook(web.port), *rules)
        sick(rig)
        until("it is told again, by the rule that repeats soonest", lambda: len(web.posts) >= 3)
        healed(rig)
        until("the end is told", lambda: "ends" in events(web.posts))
        looks_pass(rig)
    told = events(web.posts)
    assert told == ["begins", *["continues"] * (len(told) - 2), "ends"]


def looks_pass(rig: Rig) -> None:
    before = rig.agent.call("findings")["samples"]
    until("it looked at things", lambda: rig.agent.call("findings")["samples"] > before + 5)


def test_a_target_that_hangs_delays_neither_another_nor_the_agent(made: Made) -> None:
    rig = made.rig
    forget(rig)
    rule = AlertRule("all", severity="notice", targets=("noc", "chat"))
    with mail_server(rig.internet, SERVER, way="hangs") as post, web_server(rig.internet, SERVER) as web:
        rig.commit(mail(post.port), hook(web.port), rule)
        sick(rig)
        try:
            until("the other is told", lambda: web.posts)
            assert state(rig, "noc")["waiting"] == 1
            before = rig.agent.call("findings")["samples"]
            until("it goes on looking", lambda: rig.agent.call("findings")["samples"] > before + 5, 5.0)
            until(
                "the hang is told", lambda: state(rig, "noc")["last_error"] == "it did not answer within 8 s"
            )
            assert state(rig, "noc")["waiting"] == 1, "it is tried again"
            post.way = "takes"
            rig.commit(mail(post.port, comment="mended", recipients=("other@example.net",)))
            until("a change of the target tries at once", lambda: post.mails, 8.0)
            assert "To: other@example.net" in post.mails[0]
            until("nothing waits", lambda: state(rig, "noc")["waiting"] == 0)
        finally:
            healed(rig)


def test_a_disabled_target_is_not_tried(made: Made) -> None:
    rig = made.rig
    rig.commit(mail(25, disabled=True))
    with pytest.raises(Conflict, match="is disabled"):
        asked(rig, "noc")
    assert state(rig, "noc") == {}, "nothing is known of it"


def test_who_sends_has_no_rights_and_the_secret_is_in_no_list_of_processes(made: Made) -> None:
    rig = made.rig
    token = sealed(rig, "chat", "token", PASSWORD)
    with web_server(rig.internet, SERVER, way="hangs") as server:
        rig.commit(hook(server.port, token=token))
        with rig.agent.connection() as connection:
            asking = threading.Thread(
                target=lambda: connection.call("alert_test", {"id": "chat", "by": "admin"}, timeout_s=30)
            )
            asking.start()
            until("it is under way", lambda: server.connections)
            (pid,) = couriers(rig)
            held = dict(
                line.split(":\t", 1)
                for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                if ":\t" in line
            )
            assert set(held["Uid"].split()) == {NOBODY} and set(held["Gid"].split()) == {NOBODY}
            assert {int(held[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {0}
            assert held["NoNewPrivs"] == "1"
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
            with pytest.raises(Conflict, match="another test is under way"):
                asked(rig, "chat")
            asking.join()
    until("it ended", lambda: not couriers(rig))


def test_how_the_process_that_sends_ended_is_told(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with web_server(rig.internet, SERVER, way="hangs") as server:
        rig.commit(hook(server.port))
        answers: list[str] = []
        with rig.agent.connection() as connection:

            def ask() -> None:
                asked_for = {"id": "chat", "by": "admin"}
                answers.append(connection.call("alert_test", asked_for, timeout_s=30)["answer"])

            asking = threading.Thread(target=ask)
            asking.start()
            until("it is under way", lambda: server.connections)
            (pid,) = couriers(rig)
            os.kill(pid, signal.SIGKILL)
            asking.join()
    assert answers == ["the process for it failed: it was ended by signal 9"]


def couriers(rig: Rig) -> list[int]:
    assert rig.agent_process is not None
    agent, found = str(rig.agent_process.pid).encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"weir.courier" in words and agent in words:
            found.append(int(path.name))
    return found


def test_a_target_whose_password_was_lost_says_so(made: Made) -> None:
    made.rig.commit(mail(25, username="weir", password="lost"))
    assert refused(made.rig, "noc") == "its password is unknown to this router: enter it again"


def test_what_is_in_force_is_explained(made: Made) -> None:
    rig = made.rig
    rig.commit(mail(25), AlertRule("all", targets=("noc",)))
    (line,) = rig.explain("noc", "alert-target")["lines"]
    assert line["compiled"] == f"target noc: mail to noc@example.net by {SERVER} port 25"
    assert line["agrees"] is True
