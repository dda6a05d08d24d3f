# SPDX-License-Identifier: Apache-2.0
"""What a check hears from real sockets of the loopback interface, and what is concluded from it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.polling import until
from weir.agent.uplink_rounds import Round, Rounds, best, judged
from weir.parts.uplinks import CheckSpec, UplinkSpec

HERE = "127.0.0.1"


def spec(check: CheckSpec, fail_after: int = 3, recover_after: int = 2) -> UplinkSpec:
    return UplinkSpec("u", "lo", None, 1, fail_after, recover_after, True, (check,))


def heard(kind: str, port: int = 0, *, timeout_ms: int = 1000, host: str = "") -> Round:
    """One question to this machine, and what came of it."""
    check = CheckSpec("c", kind, HERE, port, host, 3600, timeout_ms)
    rounds = Rounds(lambda _: True)
    rounds.follow({"u": spec(check)}, lambda _: False)
    (one,) = rounds.every()

    def is_over() -> bool:
        rounds.step(0.1)
        return bool(one.heard)

    until("it is over", is_over, 10)
    rounds.close()
    return one


@contextmanager
def serving(kind: int, answer: Callable[[socket.socket], None]) -> Iterator[int]:
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind((HERE, 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.settimeout(5)

        def serve() -> None:
            with suppress(OSError):
                if kind == socket.SOCK_DGRAM:
                    answer(server)
                else:
                    with server.accept()[0] as peer:
                        answer(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def saying(status: bytes) -> Callable[[socket.socket], None]:
    def answer(peer: socket.socket) -> None:
        assert b"Host: portal.example" in peer.recv(1000)
        peer.send(status)

    return answer


def test_this_machine_answers_a_ping() -> None:
    one = heard("ping")
    assert (one.verdict, one.said, one.loss_percent) == (True, "answers", 0)
    assert one.round_trip_us is not None and 0 < one.round_trip_us < 1_000_000


def told(kind: str, *took_us: int | None) -> Round:
    """One that was answered after so many microseconds; None: not answered."""
    check = CheckSpec("c", kind, HERE, 0, "", 3600, 1000)
    one = Round(spec(check), check)
    for took in took_us:
        one.note("answers", took)
    return one


def test_the_round_trip_of_an_uplink_is_that_of_its_fastest_check_without_a_late_answer() -> None:
    ping, tcp = told("ping", 9_000, 9_000, 700_000), told("tcp", 30_000)
    assert dict(best([ping, tcp]))["round_trip_us"] == 9_000
    assert dict(best([told("ping", 9_000, None), tcp]))["round_trip_us"] == 30_000
    assert dict(best([told("ping", *[700_000] * 5, *[9_000] * 3)]))["round_trip_us"] == 9_000


def test_what_waits_for_a_server_too_is_no_round_trip() -> None:
    rounds = [told("http", 350_000), told("dns", 2_000)]
    assert dict(best(rounds)) == {"round_trip_us": None, "loss_percent": 0}


def test_a_port_that_is_open_and_one_that_is_not() -> None:
    with serving(socket.SOCK_STREAM, lambda _: None) as port:
        assert heard("tcp", port).said == "accepts connections"
    one = heard("tcp", port)
    assert (one.heard[-1], one.said, one.round_trip_us) == (False, "Connection refused", None)


@pytest.mark.parametrize(
    ("answer", "said", "is_good"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", "answers 204", True),
        (b"HTTP/1.0 301 Moved\r\n\r\n", "answers 301", True),
        (b"HTTP/1.1 503 No\r\n\r\n", "answers 503", False),
        (b"SSH-2.0-x\r\n", "what came is no answer of HTTP", False),
        (b"HTTP/1.1 99999 x\n", "what came is no answer of HTTP", False),
        (b"", "what came is no answer of HTTP", False),
        (b"x" * 4000, "what came is no answer of HTTP", False),
    ],
)
def test_a_site_is_well_with_a_status_below_400(answer: bytes, said: str, is_good: bool) -> None:
    with serving(socket.SOCK_STREAM, saying(answer)) as port:
        one = heard("http", port, host="portal.example")
    assert (one.said, one.heard[-1]) == (said, is_good)


def test_a_name_server_is_well_whatever_it_says() -> None:
    def answer(server: socket.socket) -> None:
        data, back = server.recvfrom(512)
        server.sendto(b"\0\0" + data[2:], back)  # of another question
        server.sendto(data, back)  # no answer
        server.sendto(data[:2] + b"\x81\x83" + data[4:], back)  # no such name

    with serving(socket.SOCK_DGRAM, answer) as port:
        assert heard("dns", port, host="www.example.com").said == "answers"


def test_who_is_silent_has_failed_in_time() -> None:
    with serving(socket.SOCK_DGRAM, lambda server: None) as port:
        one = heard("dns", port)
    assert (one.said, one.heard[-1]) in ((("no answer in 1000 ms"), False), (("Connection refused"), False))
    with socket.socket() as mute:
        mute.bind((HERE, 0))
        mute.listen()
        one = heard("http", mute.getsockname()[1])
    assert (one.said, one.heard[-1], one.loss_percent) == ("no answer in 1000 ms", False, 100)


def test_what_is_missing_is_said() -> None:
    check = CheckSpec("c", "ping", HERE, 0, "", 1, 1000)
    rounds = Rounds(lambda _: False)
    rounds.follow({"u": spec(check)}, lambda _: False)
    rounds.step(0.0)
    assert [one.text for one in rounds.every()] == ["there is no gateway"]
    gone = UplinkSpec("u", "gone0", None, 1, 3, 2, True, (check,))
    rounds = Rounds(lambda _: True)
    rounds.follow({"u": gone}, lambda _: False)
    rounds.step(0.0)
    assert [one.text for one in rounds.every()] == ["No such device"]


CHECK = CheckSpec("c", "ping", HERE, 0, "", 1, 1000)


def after(answers: str, begins: bool | None = None) -> bool | None:
    """The verdict after answers (+) and failures (-)."""
    one = Round(spec(CHECK), CHECK, begins)
    for sign in answers:
        one.note("", 1 if sign == "+" else None)
    return one.verdict


@pytest.mark.parametrize(
    ("answers", "begins", "verdict"),
    [
        ("", None, None),
        ("+", None, True),
        ("--", None, None),
        ("---", None, False),
        ("--+--", True, True),
        ("+---", True, False),
        ("+", False, False),
        ("++", False, True),
        ("+-+-+", False, False),
    ],
)
def test_a_check_fails_and_recovers_after_so_many_in_a_row(
    answers: str, begins: bool | None, verdict: bool | None
) -> None:
    assert after(answers, begins) is verdict


def test_an_uplink_is_down_when_all_its_checks_have_failed() -> None:
    def by(*verdicts: bool | None, before: str = "up") -> str:
        return judged([Round(spec(CHECK), CHECK, verdict) for verdict in verdicts], before)

    assert by(True, False) == "up"
    assert by(False, False) == "down"
    assert by(False, None) == "up"
    assert by(None, before="down") == "down"
    assert by() == "unknown"
    assert by(None, before="unknown") == "unknown"


def test_a_check_of_an_uplink_that_is_down_begins_as_failed_and_a_changed_one_is_not_known() -> None:
    rounds = Rounds(lambda _: True)
    rounds.follow({"u": spec(CHECK)}, lambda _: True)
    (one,) = rounds.every()
    assert one.verdict is False
    rounds.follow({"u": spec(CHECK, fail_after=9)}, lambda _: True)
    assert rounds.every() == [one] and one.uplink.fail_after == 9
    rounds.follow({"u": spec(CheckSpec("c", "ping", "127.0.0.2", 0, "", 1, 1000))}, lambda _: False)
    assert rounds.every() != [one] and rounds.every()[0].verdict is None
    rounds.follow({}, lambda _: False)
    assert rounds.every() == []


def test_after_a_failure_it_is_asked_without_a_pause_until_it_has_failed() -> None:
    now_s = [100.0]
    check = CheckSpec("c", "tcp", HERE, 1, "", 10, 500)
    rounds = Rounds(lambda _: True, lambda: now_s[0])
    rounds.follow({"u": spec(check)}, lambda _: False)
    (one,) = rounds.every()
    asked_s = []
    while len(asked_s) < 5:
        before = len(one.heard)
        rounds.step(0.0)
        asked_s += [now_s[0]] * (len(one.heard) - before)
        now_s[0] += 0.25
    assert [at - 100 for at in asked_s] == [0.0, 0.5, 1.0, 11.0, 21.0]
