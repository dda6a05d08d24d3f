# SPDX-License-Identifier: Apache-2.0
"""What is said of certificates before anybody uses them."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.agent.pki import Pair, Pki, openssl
from weir.agent.secrets import Secrets
from weir.fields.secret import LOST, Unfit
from weir.kinds import DECLARED
from weir.kinds.certificate import Certificate
from weir.kinds.identity import Identity
from weir.kinds.management import Management
from weir.kinds.secrets import place_of
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.problem import Invalid
from weir.model.rules import validate_all
from weir.model.x509 import covers, parse_chain, parse_private_key, read_chain
from weir.parts.certificates import CERTIFICATES, CertificateSpec
from weir.redaction import without_secrets
from weir.sealing import seal


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


def uploaded(*chain: Pair) -> Certificate:
    text = "".join(item.certificate for item in chain)
    return Certificate(id="web", type="upload", chain=text, key="x" * 100)


def found(*items: Any) -> list[tuple[str, str, str | None]]:
    return [(item.severity, item.code, item.field) for item in validate_all(Document(items))]


def test_what_openssl_wrote_is_read(pki: Pki) -> None:
    names = "subjectAltName=DNS:a.example,DNS:*.b.example,IP:192.0.2.1,IP:2001:db8::1,email:x@y.example"
    pair = pki.make("ä router", (names,), by=pki.issuing, key=("rsa:3072",))
    (read,) = read_chain(pair.certificate)
    assert read.names == ("a.example", "*.b.example", "192.0.2.1", "2001:db8::1")
    assert (read.subject, read.issuer, read.key) == ("CN=ä router", "CN=issuing", "RSA 3072")
    assert not read.weak_signature and not read.is_self_signed
    said = dict(
        line.split("=", 1)
        for line in openssl(
            *("openssl", "x509", "-in", str(pair.file), "-noout", "-dates", "-fingerprint", "-sha256"),
        ).splitlines()
    )
    assert read.sha256 == said["sha256 Fingerprint"]
    for name, value in (("notBefore", read.not_before_s), ("notAfter", read.not_after_s)):
        wanted = datetime.strptime(said[name], "%b %d %H:%M:%S %Y %Z").replace(tzinfo=UTC)
        assert wanted.timestamp() == value


def test_a_chain_in_order_is_taken_whatever_stands_around_it(pki: Pki) -> None:
    leaf = pki.leaf()
    text = f"Bag Attributes\r\n{leaf.certificate}\n# issuer\n{pki.issuing.certificate}"
    assert parse_chain(text) == leaf.certificate + pki.issuing.certificate
    assert not found(uploaded(leaf, pki.issuing, pki.root))


def test_a_chain_out_of_order_names_whose_issuer_is_missing(pki: Pki) -> None:
    leaf = pki.leaf()
    assert ("error", "chain-order", "chain") in found(uploaded(leaf, pki.root, pki.issuing))
    (said,) = validate_all(Document([uploaded(leaf, pki.root)]))
    assert said.path == "certificate/web/chain"
    assert "CN=router" in said.message and "issued by CN=issuing" in said.message


def test_what_clients_refuse_is_refused(pki: Pki) -> None:
    short = pki.make("short", by=pki.issuing, key=("rsa:1024",))
    assert found(uploaded(short)) == [("error", "weak-certificate", "chain")]
    sha1 = pki.make("sha1", by=pki.issuing, digest="-sha1")
    assert found(uploaded(sha1)) == [("error", "weak-certificate", "chain")]
    nameless = pki.make("nameless", ("basicConstraints=CA:FALSE",), by=pki.issuing)
    assert found(uploaded(nameless)) == [("warning", "no-names", "chain")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hello", "bad-certificate"),
        ("-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----", "bad-certificate"),
        ("-----BEGIN CERTIFICATE REQUEST-----\nTUlJ\n-----END CERTIFICATE REQUEST-----", "bad-certificate"),
        ("x" * 40_000, "bad-certificate"),
        (None, "bad-certificate"),
    ],
)
def test_what_is_no_certificate_is_refused(text: object, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_chain(text)
    assert refused.value.code == code


def test_a_cut_certificate_is_refused_wherever_it_was_cut(pki: Pki) -> None:
    (whole,) = read_chain(pki.leaf().certificate)
    for length in range(0, len(whole.der), 7):
        body = base64.b64encode(whole.der[:length]).decode()
        with pytest.raises(Invalid):
            parse_chain(f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----")


def test_a_key_among_the_certificates_is_refused_and_not_repeated(pki: Pki) -> None:
    leaf = pki.leaf()
    with pytest.raises(Invalid) as refused:
        from_json("certificate", {"id": "web", "type": "upload", "chain": leaf.certificate + leaf.key})
    (said,) = refused.value.findings
    assert (said.code, said.field) == ("key-in-chain", "chain")
    assert leaf.key.splitlines()[1] not in said.message


def test_a_key_with_a_password_or_none_at_all_is_refused(pki: Pki, tmp_path: Path) -> None:
    leaf, file = pki.leaf(), tmp_path / "key"
    openssl("openssl", "pkey", "-in", str(leaf.key_file), "-aes128", "-passout", "pass:x", "-out", str(file))
    for text, code in ((file.read_text(), "key-encrypted"), (leaf.certificate, "bad-key"), ("x", "bad-key")):
        with pytest.raises(Invalid) as refused:
            parse_private_key(text)
        assert refused.value.code == code
    parse_private_key(leaf.key)
    field = DECLARED["certificate"].secrets["key"]
    assert field.why_unfit(leaf.key) is None, "it has several lines"
    assert isinstance(field.why_unfit("a\x00" * 100), Unfit)


def test_each_type_has_its_fields_and_no_others() -> None:
    assert found(Certificate(id="a", names=("a.example",))) == []
    assert found(Certificate(id="a")) == [("error", "certificate-incomplete", "names")]
    assert {field for _, _, field in found(Certificate(id="a", type="upload"))} == {"chain", "key"}
    mixed = Certificate(id="a", names=("a.example",), key="x" * 100)
    assert found(mixed) == [("error", "certificate-excess", "key")]


def test_an_authority_is_asked_by_https_for_names_in_the_dns() -> None:
    asked = Certificate(id="a", type="acme", names=("r.example.net",), directory="https://ca.example/dir")
    assert found(asked) == []
    assert found(replace(asked, email="noc@example.net")) == []
    assert found(replace(asked, directory=None)) == [("error", "certificate-incomplete", "directory")]
    in_the_clear = replace(asked, directory="http://ca.example/dir")
    assert found(in_the_clear) == [("error", "authority-in-the-clear", "directory")]
    for name in ("192.0.2.1", "router", "2001:db8::1"):
        wrong = replace(asked, names=("r.example.net", name))
        assert found(wrong) == [("error", "name-not-public", "names[1]")]


@pytest.mark.parametrize(
    ("names", "name", "is_covered"),
    [
        (["router.example.net"], "Router.example.net", True),
        (["*.example.net"], "router.example.net", True),
        (["*.example.net"], "a.router.example.net", False),
        (["*.example.net"], "example.net", False),
        (["example.net"], "router.example.net", False),
        ([], "router.example.net", False),
    ],
)
def test_a_star_is_one_label(names: list[str], name: str, is_covered: bool) -> None:
    assert covers(names, name) is is_covered


def test_a_certificate_for_another_name_is_a_warning_at_who_uses_it(pki: Pki) -> None:
    own = Certificate(id="own", names=("other.example.net",))
    using, called = Management(certificate="own"), Identity(hostname="router.example.net")
    assert found(own, using, called) == [("warning", "certificate-name", "certificate")]
    assert found(own, using, Identity(hostname="router")) == []
    assert found(uploaded(pki.leaf()), Management(certificate="web"), called) == []


def test_one_that_is_not_there_is_an_error() -> None:
    ((severity, _, field),) = found(Management(certificate="gone"))
    assert (severity, field) == ("error", "certificate")


def test_steps_say_what_is_shown_and_repeat_no_key(pki: Pki) -> None:
    document = Document([uploaded(pki.leaf()), Management(certificate="web")])
    wanted = CERTIFICATES.wanted(document)
    steps = [step.text for step in CERTIFICATES.made(CERTIFICATES.delta({}, wanted))]
    assert steps == ["web: CN=router", "the web interface shows web"]


def test_a_key_that_this_router_does_not_know_is_asked_for(pki: Pki) -> None:
    item = Certificate(id="web", type="upload", chain=pki.leaf().certificate, key=LOST)
    assert found(item) == [("warning", "secret-missing", "key")]
    (spec,) = CERTIFICATES.wanted(Document([item])).values()
    assert isinstance(spec, CertificateSpec) and spec.key is None


def test_each_line_of_a_key_is_taken_out_of_logs(pki: Pki, tmp_path: Path) -> None:
    leaf, secrets = pki.leaf(), Secrets(tmp_path)
    sealed = seal(secrets.key.public, place_of("certificate", "web", "key"), leaf.key)
    item = Certificate(id="web", type="upload", chain=leaf.certificate, key=sealed)
    taken = list(secrets.all_texts(Document([item])))
    assert taken == leaf.key.splitlines()[1:-1]
    logged = f"nginx: cannot read {taken[1]}"
    assert without_secrets(logged, taken) == "nginx: cannot read ***"
