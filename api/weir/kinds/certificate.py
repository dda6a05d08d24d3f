# SPDX-License-Identifier: Apache-2.0
"""Certificates by which the router shows who it is: those it signs itself, and those it is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, HostName, Many, Moment, Pem, Secret, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning
from weir.model.x509 import MIN_RSA_BITS, X509, parse_private_key, read_chain

MAX_NAMES = 32
MAX_KEY_CHARS = 8192
"""Of an RSA key of 8192 bits: 6,400 in PEM."""
MAX_NAME_CHARS = 500
_SELF, _UPLOAD = When("type", ("self",)), When("type", ("upload",))


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
            help="`self`: the router signs it, and makes a new one in time. `upload`: you give "
            "both certificate and key.",
        ),
    ] = "self"
    names: Annotated[
        tuple[str, ...],
        Many(
            HostName(),
            MAX_NAMES,
            when=_SELF,
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
            when=_SELF,
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
    comment: Comment = ""


def has_what_it_needs(_view: View, item: Certificate) -> Iterator[Finding]:
    needed = {"self": ("names",), "upload": ("chain", "key")}[item.type]
    for name in needed:
        if not getattr(item, name):
            text = f"certificate {item.id} is of the type {item.type}, which needs it"
            yield error("certificate-incomplete", item, name, text)
    for name in ("names", "chain", "key"):
        if name not in needed and getattr(item, name):
            text = f"a certificate of the type {item.type} has no {name}: leave it out"
            yield error("certificate-excess", item, name, text)


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
        Rule("chain", "certificate", chain_is_sound, own("certificate"), True),
    ),
    state={
        "status": Choice(
            "valid",
            "expiring",
            "expired",
            "not-yet-valid",
            help="By the router's clock; `expiring`: within 14 days.",
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
        "used_by": Text(40, help="What shows it. Nothing: it is kept only."),
    },
)
