# SPDX-License-Identifier: Apache-2.0
"""Certificates by which the router shows who it is: those it signs itself, and those it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, HostName, Mailbox, Many, Moment, Pem, Secret, Text, Url, When, Whole
from weir.kinds.declaration import Declaration
from weir.model.address import is_dns_name
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning
from weir.model.x509 import MIN_RSA_BITS, X509, parse_private_key, read_chain

MAX_NAMES = 32
MAX_KEY_CHARS = 8192
"""Of an RSA key of 8192 bits: 6,400 in PEM."""
MAX_NAME_CHARS = 500
_MADE, _UPLOAD, _ACME = (When("type", types) for types in (("self", "acme"), ("upload",), ("acme",)))


@dataclass(frozen=True, slots=True)
class Certificate(ConfigObject):
    """One certificate with its key. Which fields it needs depends on its type."""

    kind: ClassVar[Kind] = "certificate"
    id: str
    type: Annotated[
        str,
        Choice(
            "self",
            "upload",
            "acme",
            help="`self`: the router signs it, and makes a new one in time. `acme`: an authority makes it, "
            "in time again; you agree to its terms. `upload`: you give both certificate and key.",
        ),
    ] = "self"
    names: Annotated[
        tuple[str, ...],
        Many(
            HostName(),
            MAX_NAMES,
            when=_MADE,
            option="name",
            help="Names and addresses by which it is reached.",
            example="router.example.net",
        ),
    ] = ()
    key_type: Annotated[
        str,
        Choice(
            "p256",
            "p384",
            "rsa2048",
            "rsa4096",
            when=_MADE,
            importance="folded",
            help="Of the key that the router makes. RSA is for very old clients.",
        ),
    ] = "p256"
    chain: Annotated[
        str | None,
        Pem(
            when=_UPLOAD,
            help="In PEM: the certificate, then what issued it, up to the one before the root.",
        ),
    ] = None
    key: Annotated[
        str | None,
        Secret(
            64,
            MAX_KEY_CHARS,
            check=parse_private_key,
            lines=True,
            when=_UPLOAD,
            help="Its private key in PEM, without a password.",
        ),
    ] = None
    directory: Annotated[
        str | None,
        Url(
            when=_ACME,
            help="The authority's ACME directory, by HTTPS. It has to reach port 80 of the router by each "
            "of the names.",
            example="https://acme.example.net/directory",
        ),
    ] = None
    email: Annotated[
        str | None, Mailbox(when=_ACME, label="E-mail", help="Whom the authority may write to.")
    ] = None
    comment: Comment = ""


NEEDS: Mapping[str, tuple[str, ...]] = {
    "self": ("names",),
    "upload": ("chain", "key"),
    "acme": ("names", "directory"),
}
ALLOWS: Mapping[str, tuple[str, ...]] = {"acme": ("email",)}


def has_what_it_needs(_view: View, item: Certificate) -> Iterator[Finding]:
    needed = NEEDS[item.type]
    for name in needed:
        if not getattr(item, name):
            text = f"certificate {item.id} is of the type {item.type}, which needs it"
            yield error("certificate-incomplete", item, name, text)
    for name in ("names", "chain", "key", "directory", "email"):
        if name not in (*needed, *ALLOWS.get(item.type, ())) and getattr(item, name):
            text = f"a certificate of the type {item.type} has no {name}: leave it out"
            yield error("certificate-excess", item, name, text)


def authority_can_be_asked(_view: View, item: Certificate) -> Iterator[Finding]:
    if item.directory is not None and not item.directory.startswith("https://"):
        text = "an authority that is asked without TLS could be anybody: the address begins with https://"
        yield error("authority-in-the-clear", item, "directory", text)
    for number, name in enumerate(item.names if item.type == "acme" else ()):
        if not is_dns_name(name) or "." not in name:
            text = f"{name} is no name in the DNS that an authority could look at"
            yield error("name-not-public", item, f"names[{number}]", text)


def chain_is_sound(_view: View, item: Certificate) -> Iterator[Finding]:
    """What can be said without the key and the time; the rest is said where it is put to use."""
    chain = read_chain(item.chain or "")
    for number, (this, issuer) in enumerate(pairwise(chain), 1):
        if this.issued_by != issuer.issued_to:
            text = (
                f"certificate {number} ({this.subject}) was issued by {this.issuer}, and the one behind it "
                f"is {issuer.subject}: put each issuer behind what it issued, the router's own first"
            )
            yield error("chain-order", item, "chain", text)
    for number, this in enumerate(chain, 1):
        for weakness in _weaknesses(this):
            yield error(
                "weak-certificate", item, "chain", f"certificate {number} ({this.subject}) {weakness}"
            )
    if chain and not chain[0].names:
        text = f"{chain[0].subject} names no host (subjectAltName), so no browser accepts it for any"
        yield warning("no-names", item, "chain", text)


def _weaknesses(this: X509) -> Iterator[str]:
    if this.key.startswith("RSA") and this.key_bits < MIN_RSA_BITS:
        yield f"has a key of {this.key}, which clients refuse: {MIN_RSA_BITS} bits are the least"
    if this.key == "EC P-224":
        yield "has a key on P-224, which clients refuse: P-256 is the least"
    if this.weak_signature and not this.is_self_signed:
        yield f"is signed by {this.weak_signature}, which clients refuse"


KIND = Declaration(
    Certificate,
    singular="certificate",
    plural="certificates",
    short="certificate",
    about="Certificates with their keys (`/certificate` of RouterOS).",
    columns=("type", "subject", "not_after", "status", "used_by", "comment"),
    area="System",
    purpose="A certificate shows a browser that it talks to this router. The management says which one the "
    "web interface has.",
    rules=(
        Rule("has-what-it-needs", "certificate", has_what_it_needs, own("certificate"), True),
        Rule("authority", "certificate", authority_can_be_asked, own("certificate"), True),
        Rule("chain", "certificate", chain_is_sound, own("certificate"), True),
    ),
    state={
        "status": Choice(
            "valid",
            "expiring",
            "expired",
            "not-yet-valid",
            "not-made",
            help="By the router's clock; `expiring`: within 14 days; `not-made`: by its authority yet.",
        ),
        "subject": Text(MAX_NAME_CHARS, help="Whom it names."),
        "issuer": Text(MAX_NAME_CHARS, help="Who signed it."),
        "certified": Many(
            HostName(), 1000, label="Valid for", help="Names and addresses that it is good for."
        ),
        "algorithm": Text(40, help="Of its key."),
        "not_before": Moment(label="Valid from", help="Not good before."),
        "not_after": Moment(label="Valid until", help="Not good after."),
        "days_left": Whole(-MAX_EXACT, MAX_EXACT, help="Days until then."),
        "sha256": Text(95, label="SHA-256", help="Its fingerprint, as browsers show it."),
        "last_try_at": Moment(label="Last try", help="When its authority was asked last."),
        "last_error": Text(1000, help="Why it was not made then. What there is stays in use."),
        "next_try_at": Moment(label="Next try", help="When it is asked again after an error."),
        "used_by": Text(40, help="What shows it. Nothing: it is kept only."),
    },
)
