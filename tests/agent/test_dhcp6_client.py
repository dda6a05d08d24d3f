# SPDX-License-Identifier: Apache-2.0
"""A DHCPv6 client against a server made here, in a network in which time passes only by waiting."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from weir.adapters.dhcp6_packets import Kind, Question, duid, message, read_answer
from weir.agent.delegations import Delegations
from weir.agent.dhcp6_client import SILENT, Delegation, Dhcp6Client
from weir.agent.lease_client import since_boot_s
from weir.agent.subnets import assigned
from weir.model.delegation import Delegated, Dhcpv6
from weir.parts.announcing import AnnounceSpec, PrefixSpec
from weir.parts.network import NetworkSpec
from weir.parts.routes import RouteSpec

MAC = "02:00:00:00:00:01"
SERVER = bytes.fromhex("00020000118b87abef")
FIRST, SECOND = "2001:db8:f000::/56", "2001:db8:e000::/56"


def option(code: int, value: bytes) -> bytes:
    return struct.pack("!HH", code, len(value)) + value


def prefix(text: str, preferred_s: int = 1000, valid_s: int = 2000) -> bytes:
    network = IPv6Network(text)
    packed = network.network_address.packed
    return option(26, struct.pack("!IIB16s", preferred_s, valid_s, network.prefixlen, packed))


def status(number: int, words: str = "") -> bytes:
    return option(13, struct.pack("!H", number) + words.encode())


class Server:
    """Answers by `say(kind, iaid)`, which gives options; None: silence. `asked` are kinds of questions."""

    def __init__(self, say: Callable[[int, bytes], bytes | None]) -> None:
        self.say = say
        self.asked: list[int] = []
        self.now = 100.0
        self.ended_at = 0.0
        self._waiting: list[bytes] = []

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        self._waiting.clear()

    def send(self, data: bytes) -> None:
        self.asked.append(data[0])
        iaid = data[data.index(struct.pack("!H", 25), 4) :][4:8]
        options = self.say(data[0], iaid)
        if options is not None:
            kind = Kind.ADVERTISE if data[0] == Kind.SOLICIT else Kind.REPLY
            ids = option(1, duid(bytes.fromhex(MAC.replace(":", "")))) + option(2, SERVER)
            self._waiting.append(bytes((kind,)) + data[1:4] + ids + options)

    def receive(self, timeout_s: float) -> bytes | None:
        if self._waiting:
            return self._waiting.pop(0)
        self.now += timeout_s
        return None

    def wait(self, timeout_s: float) -> None:
        self.now += timeout_s

    def wake(self) -> None: ...


def gives(*prefixes: bytes, renew_s: int = 0, rebind_s: int = 0) -> Callable[[int, bytes], bytes]:
    return lambda _kind, iaid: option(25, iaid + struct.pack("!II", renew_s, rebind_s) + b"".join(prefixes))


def refuses(number: int) -> Callable[[int, bytes], bytes]:
    return lambda _kind, iaid: option(25, iaid + bytes(8) + status(number, "no\x1bway"))


def silent(_kind: int, _iaid: bytes) -> None:
    """Nobody answers."""


def client(server: Server, told: list[Any], **more: Any) -> Dhcp6Client:
    def take(held: Delegation | None, failure: str) -> None:
        told.append((held.prefix if held else None, failure))
        server.ended_at = server.ended_at or (0.0 if held else server.now)

    return Dhcp6Client(
        *("wan0", MAC, Dhcpv6(), server, take), now=lambda: server.now, jitter=lambda: 1.0, **more
    )


def test_a_prefix_is_asked_for_and_prolonged_at_half_its_time() -> None:
    server, told = Server(gives(prefix(FIRST))), []
    one = client(server, told)
    one.step()
    assert server.asked == [Kind.SOLICIT, Kind.REQUEST] and told == [(FIRST, "")]
    one.step()
    assert server.now == pytest.approx(100 + 1 + 500), "half of the preferred lifetime"
    one.step()
    assert server.asked[-1] == Kind.RENEW and told[-1] == (FIRST, "")


def test_silence_prolongs_nothing_and_ends_nothing_early() -> None:
    server, told = Server(gives(prefix(FIRST), renew_s=100, rebind_s=300)), []
    one = client(server, told)
    one.step()
    server.say = lambda _kind, _iaid: None
    while told[-1][0] is not None:
        one.step()
    assert server.ended_at == pytest.approx(101 + 2000, abs=1)
    kinds = [kind for kind in server.asked[2:] if kind != Kind.SOLICIT]
    assert kinds == sorted(kinds) and {Kind.RENEW, Kind.REBIND} == set(kinds) and len(kinds) < 20
    assert (FIRST, SILENT) in told and "time is over" in str(told)


@pytest.mark.parametrize(
    "answer",
    [gives(prefix(FIRST, 0, 0), prefix(SECOND)), gives(prefix(FIRST, 0, 900), prefix(SECOND))],
)
def test_another_prefix_in_answer_to_a_renewal_takes_its_place(answer: Callable[[int, bytes], bytes]) -> None:
    server, told = Server(gives(prefix(FIRST))), []
    one = client(server, told)
    for _ in range(2):
        one.step()
    server.say = answer
    one.step()
    assert told == [(FIRST, ""), (SECOND, "")]


def test_a_server_that_forgot_is_asked_again_and_the_prefix_stays_until_it_answers() -> None:
    server, told = Server(gives(prefix(FIRST))), []
    one = client(server, told)
    for _ in range(2):
        one.step()
    server.say = lambda kind, iaid: (refuses(3) if kind == Kind.RENEW else gives(prefix(SECOND)))(kind, iaid)
    one.step()
    assert server.asked[-3:] == [Kind.RENEW, Kind.SOLICIT, Kind.REQUEST]
    assert told == [(FIRST, ""), (SECOND, "")]


def test_a_server_that_forgot_and_says_no_more_ends_nothing_and_one_that_has_none_does() -> None:
    for later, told_last in ((silent, (FIRST, SILENT)), (refuses(6), (None, "has no prefix"))):
        server, told = Server(gives(prefix(FIRST))), []
        one = client(server, told)
        for _ in range(2):
            one.step()
        server.say = lambda kind, iaid, later=later: (
            refuses(3)(kind, iaid) if kind == Kind.RENEW else later(kind, iaid)
        )
        one.step()
        assert told[-1][0] == told_last[0] and told_last[1] in told[-1][1], told


def test_why_there_is_none_is_told_in_words() -> None:
    for say, words in (
        (refuses(6), "the server has no prefix for this line: noway"),
        (gives(prefix("2001:db8::/72")), "2001:db8::/72, which is too small"),
        (gives(prefix("fe80::/56")), "the server named no prefix"),
        (lambda _kind, _iaid: None, SILENT),
    ):
        server, told = Server(say), []
        client(server, told).step()
        assert told[-1][0] is None and words in told[-1][1], told
        assert Kind.REQUEST not in server.asked


def test_one_that_is_stopped_while_it_asks_ends_at_once() -> None:
    server, told = Server(lambda _kind, _iaid: one.stop()), []
    one = client(server, told)
    one.run()
    assert server.now < 102 and not told


def test_one_that_starts_again_asks_whether_all_holds() -> None:
    known = Delegation(FIRST, SERVER.hex(), 1100.0, 2100.0, 600.0, 900.0, 100.0)
    server, told = Server(gives(prefix(FIRST))), []
    client(server, told, known=known).step()
    assert server.asked == [Kind.REBIND] and told == [(FIRST, "")]


def test_mangled_answers_are_no_answers() -> None:
    question = Question(Kind.REQUEST, b"abc", bytes(6), b"\0\0\0\1", "::/56", "::")
    ids = option(1, duid(bytes(6))) + option(2, SERVER)
    address = struct.pack("!16sII", IPv6Address("2001:db8::5").packed, 10, 20)
    body = ids + option(25, b"\0\0\0\1" + bytes(8) + prefix(FIRST))
    body += option(3, b"\0\0\0\1" + bytes(8) + option(5, address))
    whole = bytes((Kind.REPLY,)) + b"abc" + body
    answer = read_answer(whole, question)
    assert answer is not None and answer.prefix is not None and answer.address is not None
    assert (answer.prefix.text, answer.address.text, answer.server) == (FIRST, "2001:db8::5", SERVER)
    assert message(question)[1:4] == b"abc" and len(message(question)) < 200
    for length in range(len(whole) - 1):
        read_answer(whole[:length], question)
    chance = random.Random(8415)
    for _ in range(3000):
        mangled = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            mangled[chance.randrange(len(mangled))] = chance.randrange(256)
        found = read_answer(bytes(mangled), question)
        assert found is None or found.prefix is None or IPv6Network(found.prefix.text).prefixlen <= 64


# -- who has which part -------------------------------------------------------------------------------------


def test_each_keeps_its_part_as_others_come_and_go() -> None:
    assert assigned({"a": None, "b": None, "c": 0}, 256, {}) == {"c": 0, "a": 1, "b": 2}
    assert assigned({"a": None, "b": None}, 256, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert assigned({"a": None, "A": None}, 256, {"a": 0}) == {"a": 0, "A": 1}
    assert assigned({"new": None, "b": None}, 256, {"gone": 0, "b": 1}) == {"new": 2, "b": 1}
    assert assigned({"new": None}, 1, {"gone": 0}) == {"new": 0}, "there is no other one"
    assert assigned({"a": None, "c": 1}, 256, {"a": 1}) == {"a": 0, "c": 1}, "a configured one goes first"
    assert assigned({"a": 7, "b": None}, 1, {}) == {"b": 0}, "the provider gave less"
    assert assigned({"a": None}, 0, {}) == {}


NETWORK = {
    "wan0": NetworkSpec("wan0", True, (), None, "", dhcpv6=Dhcpv6()),
    "lan0": NetworkSpec("lan0", True, ("10.0.0.1/24",), None, "", delegated=Delegated("wan0", 3)),
}
ANNOUNCING = {"lan0": AnnounceSpec("lan0", (), (), None, False, False, 1800, (2700, 5400))}


def held(prefix: str = FIRST, lasts_s: float = 86_400.0) -> Delegation:
    now = since_boot_s()
    return Delegation(prefix, "00", now + lasts_s, now + lasts_s, now + lasts_s / 2, now + lasts_s, now)


def test_what_follows_from_a_prefix() -> None:
    delegations = Delegations(None)
    assert delegations.announced(ANNOUNCING, NETWORK)["lan0"].is_awaited, (
        "nothing is ended before it is known"
    )
    one = held()
    assert delegations.note("wan0", one, "") and not delegations.note("wan0", one, SILENT)
    assert delegations.on(NETWORK)["lan0"].addresses == ("10.0.0.1/24", "2001:db8:f000:3::1/64")
    (spec,) = delegations.announced(ANNOUNCING, NETWORK).values()
    assert spec.prefixes == (PrefixSpec("2001:db8:f000:3::/64", True, 2700, 5400),) and not spec.is_awaited
    (route,) = delegations.routes(NETWORK, {}).values()
    assert route == RouteSpec(f"dhcpv6/wan0/{FIRST}", FIRST, None, None, False, 254, reject=True)
    assert delegations.note("wan0", None, SILENT)
    spec = delegations.announced(ANNOUNCING, NETWORK)["lan0"]
    assert not spec.is_awaited and spec.router_lifetime_s == 0, "it is no gateway to anywhere"
    assert delegations.on(NETWORK) == NETWORK and not delegations.routes(NETWORK, {})


def test_a_part_that_the_prefix_does_not_have_is_told() -> None:
    delegations = Delegations(None)
    delegations.note("wan0", held("2001:db8:f000::/64"), "")
    delegations.remember(NETWORK)
    assert "no room" in delegations.learn(["lan0"])["lan0"]["delegated_failure"]
    assert delegations.on(NETWORK)["lan0"] == NETWORK["lan0"]


def test_what_was_given_and_who_has_which_part_last(tmp_path: Path) -> None:
    taken = NetworkSpec("lan1", True, (), None, "", delegated=Delegated("wan0"))
    network = {**NETWORK, "lan1": taken}
    first = Delegations(tmp_path / "held.json", tmp_path / "numbers.json")
    one = held()
    first.note("wan0", one, "")
    first.remember(network)
    again = Delegations(tmp_path / "held.json", tmp_path / "numbers.json")
    assert again.held() == {"wan0": one}
    more = {**network, "a0": NetworkSpec("a0", True, (), None, "", delegated=Delegated("wan0"))}
    assert again.part("lan1", more) == first.part("lan1", network)
    for content in ("{", "[]", '{"wan0": {"prefix": 5}}', '{"wan0": [1]}'):
        for name in ("held.json", "numbers.json"):
            (tmp_path / name).write_text(content)
        broken = Delegations(tmp_path / "held.json", tmp_path / "numbers.json")
        assert not broken.held() and broken.on(NETWORK) == NETWORK
