# SPDX-License-Identifier: Apache-2.0
"""How the router's own web interface and API are served, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Ref, Text, Whole
from weir.kinds.admitted import networks
from weir.kinds.certificate import Certificate
from weir.kinds.declaration import Declaration
from weir.kinds.identity import Identity
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, warning
from weir.model.x509 import covers, read_chain


@dataclass(frozen=True, slots=True)
class Management(ConfigObject):
    """Which certificate browsers and scripts see, and from where they may come."""

    kind: ClassVar[Kind] = "management"
    id: str = "management"
    certificate: Annotated[
        str | None,
        Ref(
            "certificate",
            help="What the web interface and the API show. Empty: one that the router made at its first "
            "start.",
        ),
    ] = None
    sources: Annotated[
        tuple[str, ...],
        networks(
            "Networks from which the web interface and the API may be reached, of IPv4 and IPv6: the rest is "
            "dropped before any other rule. Empty: from wherever the firewall lets in."
        ),
    ] = ()


def names_of(item: Certificate) -> tuple[str, ...]:
    """What it is good for, as far as that is configured."""
    if item.type == "upload":
        chain = read_chain(item.chain or "")
        return chain[0].names if chain else ()
    return item.names


def certificate_names_the_router(view: View, management: Management) -> Iterator[Finding]:
    """A host name without a dot is none that a certificate has to have."""
    name = view.document.single(Identity).hostname
    found = view.document.of_kind("certificate").get(management.certificate or "")
    if name is None or "." not in name or not isinstance(found, Certificate):
        return
    names = names_of(found)
    if names and not covers(names, name):
        text = f"certificate {found.id} is for {', '.join(names[:3])}, and the router is called {name}"
        yield warning("certificate-name", management, "certificate", text)


KIND = Declaration(
    Management,
    singular="management",
    plural="managements",
    short="management",
    about="How the web interface and the API are served (`/ip service` of RouterOS).",
    is_single=True,
    area="System",
    rules=(
        Rule(
            "certificate-name",
            "management",
            certificate_names_the_router,
            all_after("management", "certificate", "identity"),
            False,
        ),
    ),
    state={
        "shown_sha256": Text(
            95, label="Shown SHA-256", help="Fingerprint of the certificate that it answers with now."
        ),
        "not_served": Text(200, help="Why no certificate is in use here. Nothing where one is."),
        "refused_packets": Whole(0, MAX_EXACT, help="That came to its ports from outside of `sources`."),
    },
)
