# SPDX-License-Identifier: Apache-2.0
"""What browsers and security keys say, the signatures under it, challenges, and by which names the router is
itself."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.service.soft_key import HOST, ORIGIN, Passing, private_key, public_key, signed, soft
from weir import signatures
from weir.accounts.challenges import LIFE_S, MOST_OF_ONE, SIGN_IN, Challenges
from weir.accounts.sites import site_of
from weir.accounts.webauthn import Site, Unfit, check_new
from weir.kinds.certificate import Certificate
from weir.kinds.identity import Identity
from weir.kinds.management import Management
from weir.model.document import Document
from weir.model.problem import Conflict
from weir.service.own_names import own_names
from weir.signatures import EDDSA, ES256, RS256


def test_a_hundred_thousand_challenges_take_no_memory_and_keep_nobody_else_out() -> None:
    passing = Passing()
    challenges = Challenges(passing)
    site = Site(ORIGIN, HOST)
    theirs = challenges.make(1, SIGN_IN, site)
    tracemalloc.start()
    try:
        for _ in range(100_000):
            newest = challenges.make(2, SIGN_IN, site)
        assert tracemalloc.get_traced_memory()[0] < 64_000
    finally:
        tracemalloc.stop()
    assert len(challenges) == 1 + MOST_OF_ONE
    for user_id, made in ((1, theirs), (2, newest)):
        assert challenges.redeem(user_id, SIGN_IN, soft().client_data("webauthn.get", made)) == site
    passing.now_s += LIFE_S
    challenges.make(3, SIGN_IN, site)
    assert len(challenges) == 1, "those of others are forgotten when their time is over"


garbage = some.binary(max_size=200)


@settings(max_examples=300, deadline=None)
@given(garbage, garbage, garbage, garbage, some.integers(-70_000, 0))
def test_any_bytes_are_refused_in_words(a: bytes, b: bytes, c: bytes, d: bytes, algorithm: int) -> None:
    challenges = Challenges()
    site = Site(ORIGIN, HOST)
    made = challenges.make(1, "s", site)
    good = soft().new(made)
    for new in (
        replace(good, authenticator_data=a),
        replace(good, authenticator_data=good.authenticator_data[:37] + b),
        replace(good, public_key=c),
        replace(good, public_key=good.public_key[:27] + d),
        replace(good, algorithm=algorithm) if algorithm != ES256 else replace(good, public_key=a),
    ):
        with pytest.raises(Unfit):
            check_new(new, site)
    for client_data in (
        a,
        b"{" + b,
        good.client_data + c + b"\xff",
        b"[" * 4000,
        b'{"type":"webauthn.create"}',
    ):
        with pytest.raises(Unfit):
            challenges.redeem(1, "s", client_data)
    assert not signatures.is_signed(good.public_key, ES256, a, b)
    assert not signatures.is_signed(c, algorithm, a, b)


def test_every_changed_bit_of_what_was_signed_is_found() -> None:
    private = private_key(ES256)
    data = bytes(range(69))
    signature = signed(private, ES256, data)
    assert signatures.is_signed(public_key(private), ES256, signature, data)
    for at in range(len(data) * 8):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        assert not signatures.is_signed(public_key(private), ES256, signature, bytes(changed))
    assert not signatures.is_signed(public_key(private_key(ES256, 1)), ES256, signature, data)


@pytest.mark.parametrize(
    ("algorithm", "option"),
    [(ES256, "ec_paramgen_curve:P-384"), (RS256, "rsa_keygen_bits:1024"), (RS256, "rsa_keygen_bits:8192")],
)
def test_keys_of_other_curves_and_lengths_are_not_taken(algorithm: int, option: str) -> None:
    spki = big_rsa(8192) if "8192" in option else public_key(private_key(algorithm, 0, option))
    assert not signatures.is_usable(spki, algorithm)


def big_rsa(bits: int) -> bytes:
    """The form of a key that long, without the minutes that making one takes."""
    modulus = b"\x00" + b"\xff" * (bits // 8)
    number = b"\x02\x82" + len(modulus).to_bytes(2, "big") + modulus + b"\x02\x03\x01\x00\x01"
    inner = b"\x00\x30\x82" + len(number).to_bytes(2, "big") + number
    body = (
        bytes.fromhex("300d06092a864886f70d0101010500") + b"\x03\x82" + len(inner).to_bytes(2, "big") + inner
    )
    return b"\x30\x82" + len(body).to_bytes(2, "big") + body


def test_a_key_of_one_algorithm_is_none_of_another() -> None:
    spkis = {algorithm: public_key(private_key(algorithm)) for algorithm in (ES256, EDDSA, RS256)}
    for algorithm in spkis:
        for other, spki in spkis.items():
            assert signatures.is_usable(spki, algorithm) is (algorithm == other)
            assert not signatures.is_usable(spki + b"\0", algorithm)
            assert not signatures.is_usable(spki[:-1], algorithm)


CERTIFICATE = Certificate("web", names=(f"Web.{HOST}", "*.example.org", "192.0.2.1", "2001:db8::1"))


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([], set()),
        ([Identity(hostname="Tower-7.Example.net")], {HOST}),
        ([Identity(hostname="tower-7"), CERTIFICATE], {"tower-7"}),
        ([CERTIFICATE, Management(certificate="web")], {f"web.{HOST}"}),
        ([Identity(hostname=HOST), CERTIFICATE, Management(certificate="web")], {HOST, f"web.{HOST}"}),
    ],
)
def test_names_are_the_configured_ones(objects: list[object], names: set[str]) -> None:
    assert own_names(Document(objects)) == names  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scheme", "host", "site"),
    [
        ("https", HOST, Site(ORIGIN, HOST)),
        ("https", f"{HOST.upper()}:8443", Site(f"{ORIGIN}:8443", HOST)),
        ("http", "localhost:8080", Site("http://localhost:8080", "localhost")),
    ],
)
def test_a_key_is_bound_to_the_name_and_the_port(scheme: str, host: str, site: Site) -> None:
    assert site_of(scheme, host, {HOST}) == site


@pytest.mark.parametrize(
    ("scheme", "host", "said"),
    [
        ("http", HOST, f"over HTTPS only; open https://{HOST}"),
        ("https", "192.168.88.1", f"not with the address 192.168.88.1; open https://{HOST},"),
        ("https", "[2001:db8::1]:8443", "not with the address 2001:db8::1; open"),
        ("http", "127.0.0.1:8080", "not with the address 127.0.0.1; open"),
        ("https", "evil.example", f"evil.example is none; open https://{HOST},"),
        ("https", f"evil.{HOST}", f"is none; open https://{HOST},"),
        ("https", f"{HOST}.", f"is none; open https://{HOST},"),
        ("https", "example.net", "example.net is none"),
        ("https", f"{HOST}@evil.example", "evil.example is none"),
        ("https", "[", "this is none"),
        ("https", "", "this is none"),
    ],
)
def test_elsewhere_keys_are_not_offered_and_it_says_what_to_do(scheme: str, host: str, said: str) -> None:
    with pytest.raises(Conflict) as caught:
        site_of(scheme, host, {HOST})
    assert caught.value.code == "keys-not-offered" and said in caught.value.message


def test_a_router_without_a_name_says_that_it_needs_one() -> None:
    with pytest.raises(Conflict, match=r"give it a host name .* \(System > Identity\) and a certificate"):
        site_of("https", "192.168.88.1", set())
